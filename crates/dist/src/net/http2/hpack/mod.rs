//! HPACK header compression (RFC 7541).

mod decoder;
mod encoder;
mod head;
mod huffman;
mod static_table;

pub use decoder::Decoder;
pub use encoder::Encoder;
pub use head::{Head, MAX_HEADERS};

/// The default size of a dynamic table.
pub const TABLE: usize = 4096;
/// Overhead of an entry (RFC 7541, 4.1).
const ENTRY: usize = 32;
/// Entries of the static table.
const KNOWN: usize = static_table::FIELDS.len();

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;

    #[test]
    fn what_is_encoded_is_decoded_and_short_the_second_time() {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        let mut lengths = Vec::new();
        for round in 0..3 {
            let mut block = BytesMut::new();
            encoder.begin(&mut block);
            encoder.field(&mut block, ":method", b"POST");
            encoder.field(&mut block, ":path", b"/tensorflow.WorkerService/RunGraph");
            encoder.field(&mut block, "content-type", b"application/grpc");
            encoder.passing(&mut block, "grpc-message", format!("round {round}").as_bytes());
            lengths.push(block.len());
            let head = decoder.decode(&block).unwrap();
            assert_eq!(head.path.as_deref(), Some(&b"/tensorflow.WorkerService/RunGraph"[..]));
            assert_eq!(head.grpc_message.as_deref(), Some(format!("round {round}").as_bytes()));
        }
        assert!(lengths[1] < 30 && lengths[2] == lengths[1], "{lengths:?}");
    }

    #[test]
    fn a_peer_that_remembers_nothing_gets_all_in_full() {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for table in [TABLE, 0, 0, TABLE] {
            encoder.peer_table(table);
            for _ in 0..2 {
                let mut block = BytesMut::new();
                encoder.begin(&mut block);
                encoder.field(&mut block, ":path", b"/a");
                encoder.field(&mut block, "user-agent", b"thalweg");
                assert_eq!(decoder.decode(&block).unwrap().path.as_deref(), Some(&b"/a"[..]));
            }
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused() {
        let mut random = 1u64;
        for _ in 0..20_000 {
            let mut decoder = Decoder::default();
            let bytes: Vec<u8> = (0..40)
                .map(|_| {
                    random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (random >> 33) as u8
                })
                .collect();
            let _ = decoder.decode(&bytes);
            let _ = decoder.decode(&bytes[7..]);
        }
    }
}
