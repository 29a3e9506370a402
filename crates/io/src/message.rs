//! Messages decoded within the memory that there is.

use thalweg_core::error::{Result, resource_exhausted};
use thalweg_core::memory;
use thalweg_proto::text::{self, TextError};
use thalweg_proto::{Bytes, DecodeError, Message, Name, Pieces, room_for};

/// A message, or what is wrong with its bytes.
pub type Decoded<M> = std::result::Result<M, DecodeError>;

/// Decodes a message. The outer error is ResourceExhausted: what the message would become has no room. Its byte fields are slices of
/// `bytes`, not copies.
pub fn decode<M: Message + Name + Default>(bytes: impl Into<Bytes>) -> Result<Decoded<M>> {
    decode_pieces(Pieces::from(bytes.into()))
}

/// The same for bytes that came in pieces.
pub fn decode_pieces<M: Message + Name + Default>(pieces: Pieces) -> Result<Decoded<M>> {
    let _room = memory::promise(room_for::<M>(&pieces)).map_err(|e| e.context("reading a message"))?;
    Ok(M::decode(pieces))
}

/// Reads a message in text form. The outer error is ResourceExhausted, as that of `decode`.
pub fn parse_text<M: Message + Name + Default>(text: &str) -> Result<std::result::Result<M, TextError>> {
    let wire = match text::to_wire::<M>(text) {
        Err(e) if e.is_out_of_memory => return Err(resource_exhausted(e.message)),
        Err(e) => return Ok(Err(e)),
        Ok(wire) => wire,
    };
    // Only what is well formed is written.
    let damaged =
        |e: DecodeError| TextError { line: 1, column: 1, message: e.to_string(), is_out_of_memory: false };
    Ok(decode(wire)?.map_err(damaged))
}
