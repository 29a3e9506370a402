//! A file read whole.

use crate::durable;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use thalweg_core::buffer;
use thalweg_core::error::{Error, Result, resource_exhausted};
use thalweg_core::invalid;
use thalweg_core::reserve;

/// All bytes of a file, which must be one: a device has no end, a pipe makes whoever reads it wait. No more than a tensor may have.
/// Errors name the file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    read_nameless(path).map_err(|e| durable::at(path, e))
}

fn read_nameless(path: &Path) -> Result<Vec<u8>> {
    // Before it is opened, for that may wait too.
    let kind = std::fs::metadata(path).map_err(Error::from)?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return Err(invalid!("is neither a file nor a directory, but a device, a pipe or a socket"));
    }
    let limit = buffer::limit();
    let mut bytes = Vec::new();
    // Files may grow, and those of the system say that they are empty.
    read_up_to(&mut File::open(path)?, limit.saturating_add(1), &mut bytes)?;
    if bytes.len() > limit {
        return Err(resource_exhausted(format_args!("is over the limit of {limit} bytes")));
    }
    Ok(bytes)
}

/// Up to `count` bytes more. Memory grows with the bytes that are there, not with what is asked for, and is asked for before:
/// `read_to_end` alone ends the process where memory ends.
pub fn read_up_to(input: &mut impl Read, mut count: usize, out: &mut Vec<u8>) -> std::io::Result<()> {
    while count > 0 {
        let room = count.min(out.len().max(FIRST));
        reserve::room(out, room).map_err(reserve::as_io)?;
        let read = input.by_ref().take(room as u64).read_to_end(out)?;
        if read < room {
            break;
        }
        count -= read;
    }
    Ok(())
}

/// Bytes read at first.
const FIRST: usize = 64 << 10;

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use thalweg_core::error::Code;

    /// Reading `/dev/zero` went on until there was no memory left.
    #[test]
    fn a_device_is_not_read_to_its_end() {
        let e = read(Path::new("/dev/zero")).unwrap_err();
        assert!(e.code() == Code::InvalidArgument && e.message().contains("/dev/zero"), "{e}");
    }

    #[test]
    fn files_are_read_and_others_named() {
        let dir = Scratch::new();
        std::fs::write(dir.path("f"), b"abc").unwrap();
        assert_eq!(read(&dir.path("f")).unwrap(), b"abc");
        let e = read(&dir.path("none")).unwrap_err();
        assert!(e.code() == Code::NotFound && e.message().contains("none"), "{e}");
        assert!(read(dir.root()).is_err());
    }
}
