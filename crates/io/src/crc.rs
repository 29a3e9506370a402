//! Masked CRC32C, as TensorFlow stores it: a CRC over data that contains CRCs would be weak without the mask.

const MASK_DELTA: u32 = 0xa282_ead8;

/// The masked checksum of some bytes.
pub fn masked(bytes: &[u8]) -> u32 {
    mask(crc32c::crc32c(bytes))
}

/// An incremental CRC32C.
#[derive(Clone, Copy, Default)]
pub struct Crc(u32);

impl Crc {
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 = crc32c::crc32c_append(self.0, bytes);
    }

    pub fn masked(self) -> u32 {
        mask(self.0)
    }
}

/// Whether a checksum equals the stored one (little-endian). A fuzzer cannot find a valid CRC and would never reach the code
/// behind it, so fuzzing builds accept any.
#[allow(unexpected_cfgs, reason = "cargo fuzz sets it")]
pub fn agrees(stored: &[u8], got: u32) -> bool {
    cfg!(fuzzing) || *stored == got.to_le_bytes()
}

fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(MASK_DELTA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_checksums() {
        // The check value of the polynomial's definition.
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
        // Lengths 1 and 2 of a string tensor that TensorFlow saved.
        assert_eq!(masked(&[1, 0, 0, 0, 2, 0, 0, 0]).to_le_bytes(), [0xbf, 0xdf, 0xdb, 0x7a]);
        let mut pieces = Crc::default();
        pieces.add(b"1234");
        pieces.add(b"56789");
        assert_eq!(pieces.masked(), masked(b"123456789"));
        assert!(agrees(&[4, 3, 2, 1], 0x0102_0304) && !agrees(&[4, 3, 2, 2], 0x0102_0304));
        assert!(!agrees(&[4, 3, 2], 0x0102_0304));
    }
}
