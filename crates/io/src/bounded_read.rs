//! Reading whole files, within the limit of a tensor's size.

use crate::durable;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use thalweg_core::buffer;
use thalweg_core::error::{Error, Result, resource_exhausted};
use thalweg_core::invalid;
use thalweg_core::reserve;

/// The bytes of a regular file: a device has no end, and a pipe blocks its reader. No more than a tensor may have.
/// Errors name the file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    read_without_context(path).map_err(|e| durable::with_path(path, e))
}

fn read_without_context(path: &Path) -> Result<Vec<u8>> {
    // Before `open`, which may block too.
    let kind = std::fs::metadata(path).map_err(Error::from)?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return Err(invalid!("is neither a file nor a directory, but a device, a pipe or a socket"));
    }
    let limit = buffer::limit();
    let mut bytes = Vec::new();
    // Not by the size of the metadata: files may grow, and those in /proc report 0.
    read_up_to(&mut File::open(path)?, limit.saturating_add(1), &mut bytes)?;
    if bytes.len() > limit {
        return Err(resource_exhausted(format_args!("is over the limit of {limit} bytes")));
    }
    Ok(bytes)
}

/// Appends up to `count` bytes. The buffer grows with the bytes read, not with `count`, and is reserved fallibly:
/// `read_to_end` alone would abort when out of memory.
pub fn read_up_to(input: &mut impl Read, mut count: usize, out: &mut Vec<u8>) -> std::io::Result<()> {
    while count > 0 {
        let room = count.min(out.len().max(FIRST_READ));
        reserve::room(out, room).map_err(reserve::as_io)?;
        let read = input.by_ref().take(room as u64).read_to_end(out)?;
        if read < room {
            break;
        }
        count -= read;
    }
    Ok(())
}

/// The size of the first read; later ones double.
const FIRST_READ: usize = 64 << 10;

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use thalweg_core::error::Code;

    /// Reading `/dev/zero` used to exhaust memory.
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

    #[test]
    fn no_more_than_count_is_read_and_what_was_there_stays() {
        let input: Vec<u8> = (0..200_000u32).map(|i| i as u8).collect();
        for (count, want) in [(0, 0), (10, 10), (FIRST_READ + 1, FIRST_READ + 1), (usize::MAX, input.len())] {
            let (mut source, mut out) = (&input[..], b"old".to_vec());
            read_up_to(&mut source, count, &mut out).unwrap();
            assert!(out.starts_with(b"old") && out[3..] == input[..want], "{count}");
            assert_eq!(source.len(), input.len() - want, "{count}");
        }
    }
}
