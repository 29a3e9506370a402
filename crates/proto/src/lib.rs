//! The messages and services of TensorFlow's protocols, compatible with it on the wire, in files and in
//! text form.
//!
//! The messages are generated at build time from the `.proto` files of this crate and stand at its root,
//! under TensorFlow's own names: [`GraphDef`], [`TensorProto`], [`SavedModel`]. Byte fields are
//! [`bytes::Bytes`], so a message decoded from `Bytes` shares its memory, and maps are `BTreeMap`s, so equal
//! messages have equal encodings. [`text`] reads and writes the text form (`.pbtxt`).
//!
//! This crate encodes and decodes messages. It does not interpret them and does no I/O.
//!
//! ```
//! use thalweg_proto::{GraphDef, Message, decode, text};
//!
//! let graph = text::parse_graph_def("node { name: 'c' op: 'NoOp' } versions { producer: 2474 }")?;
//! assert_eq!(graph.node[0].op, "NoOp");
//! assert_eq!(decode::<GraphDef>(graph.encode_to_vec())?, graph);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decoded_size;
mod pieces;
mod schema;
pub mod text;

pub use bytes::Bytes;
pub use decoded_size::max_decoded_size;
pub use pieces::Pieces;
pub use prost::{DecodeError, Message, Name};
pub use tensorflow::*;

/// Package `tensorflow`.
#[allow(clippy::all)]
pub mod tensorflow {
    include!(concat!(env!("OUT_DIR"), "/tensorflow.rs"));

    /// Package `tensorflow.error`.
    pub mod error {
        include!(concat!(env!("OUT_DIR"), "/tensorflow.error.rs"));
    }
}

/// Package `tensorboard`: the data of TensorBoard's plugins.
#[allow(clippy::all)]
pub mod tensorboard {
    include!(concat!(env!("OUT_DIR"), "/tensorboard.rs"));

    /// Package `tensorboard.hparams`.
    pub mod hparams {
        include!(concat!(env!("OUT_DIR"), "/tensorboard.hparams.rs"));
    }

    /// Package `tensorboard.mesh`.
    pub mod mesh {
        include!(concat!(env!("OUT_DIR"), "/tensorboard.mesh.rs"));
    }

    /// Package `tensorboard.projector`.
    pub mod projector {
        include!(concat!(env!("OUT_DIR"), "/tensorboard.projector.rs"));
    }
}

/// Protobuf's well-known types that TensorFlow's messages refer to.
#[allow(clippy::all)]
pub mod google {
    /// Package `google.protobuf`.
    pub mod protobuf {
        include!(concat!(env!("OUT_DIR"), "/google.protobuf.rs"));
    }
}

/// The descriptors of all messages and services, as an encoded `google.protobuf.FileDescriptorSet`.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// Decodes a message. Its byte fields are slices of `bytes`, not copies.
///
/// Input may be hostile: nesting deeper than 100 is an error, and no length is trusted before its bytes
/// are read. The decoded message may be many times larger: see [`max_decoded_size`].
pub fn decode<M: Message + Default>(bytes: impl Into<Bytes>) -> Result<M, DecodeError> {
    M::decode(Pieces::from(bytes.into()))
}

/// Encodes a message. As [`Message::encode_to_vec`], but to the buffer type of messages to peers, so that the code is instantiated once.
pub fn encode(message: &impl Message) -> Vec<u8> {
    let mut bytes = bytes::BytesMut::with_capacity(message.encoded_len());
    // Fails only if the buffer is too small, and it has the encoded length.
    let _ = message.encode(&mut bytes);
    bytes.into()
}
