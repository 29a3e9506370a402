//! Writes the descriptors of all messages to standard output, for `tests/check_against_tensorflow.py`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(thalweg_proto::FILE_DESCRIPTOR_SET)
}
