//! Decoding of messages within the memory limit.

use thalweg_core::error::{Result, resource_exhausted};
use thalweg_core::memory;
use thalweg_proto::text::{self, TextError};
use thalweg_proto::{Bytes, DecodeError, Message, Name, Pieces, max_decoded_size};

/// A message, or the error of its bytes.
pub type Decoded<M> = std::result::Result<M, DecodeError>;

/// Decodes a message. The outer error is ResourceExhausted: the decoded message would exceed the memory limit. Its byte fields are
/// slices of `bytes`, not copies.
pub fn decode<M: Message + Name + Default>(bytes: impl Into<Bytes>) -> Result<Decoded<M>> {
    decode_pieces(Pieces::from(bytes.into()))
}

/// The same for bytes in several segments.
pub fn decode_pieces<M: Message + Name + Default>(pieces: Pieces) -> Result<Decoded<M>> {
    let _promise =
        memory::promise(max_decoded_size::<M>(&pieces)).map_err(|e| e.context("reading a message"))?;
    Ok(M::decode(pieces))
}

/// Parses a message in text format. The outer error is ResourceExhausted, as that of `decode`.
pub fn parse_text<M: Message + Name + Default>(text: &str) -> Result<std::result::Result<M, TextError>> {
    let wire = match text::to_wire::<M>(text) {
        Err(e) if e.is_out_of_memory => return Err(resource_exhausted(e.message)),
        Err(e) => return Ok(Err(e)),
        Ok(wire) => wire,
    };
    // The parser writes well-formed encodings only.
    let damaged =
        |e: DecodeError| TextError { line: 1, column: 1, message: e.to_string(), is_out_of_memory: false };
    Ok(decode(wire)?.map_err(damaged))
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::{GraphDef, encode};

    #[test]
    fn text_and_segments_decode_to_the_same_message() {
        let graph: GraphDef =
            parse_text("node { name: 'a' op: 'NoOp' } versions { producer: 7 }").unwrap().unwrap();
        assert_eq!((graph.node[0].name.as_str(), graph.node.len()), ("a", 1));
        let bytes = encode(&graph);
        let mut pieces = Pieces::default();
        bytes.chunks(3).for_each(|chunk| pieces.push(Bytes::copy_from_slice(chunk)));
        assert_eq!(decode_pieces::<GraphDef>(pieces).unwrap().unwrap(), graph);
        assert!(decode::<GraphDef>(bytes[..bytes.len() - 1].to_vec()).unwrap().is_err());
        let e = parse_text::<GraphDef>("node {\n  nmae: 'a' }").unwrap().unwrap_err();
        assert_eq!((e.line, e.is_out_of_memory), (2, false));
    }
}
