//! The Huffman code of RFC 7541, appendix B.

/// Code lengths. The code is canonical: ordered by length, then by byte.
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6,
    6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7,
    8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7,
    15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24,
    23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23,
    23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26,
    26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20,
    21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27,
    27, 27, 26,
];

const LONGEST: usize = 30;

/// For each length: the first code, the number of codes, and their offset in `bytes`.
struct Codes {
    first: [u32; LONGEST + 1],
    count: [u32; LONGEST + 1],
    start: [usize; LONGEST + 1],
    bytes: [u8; 256],
}

static CODES: Codes = codes();

const fn codes() -> Codes {
    let mut c =
        Codes { first: [0; LONGEST + 1], count: [0; LONGEST + 1], start: [0; LONGEST + 1], bytes: [0; 256] };
    let (mut length, mut code, mut placed) = (1, 0, 0);
    while length <= LONGEST {
        code <<= 1;
        (c.first[length], c.start[length]) = (code, placed);
        let mut byte = 0;
        while byte < 256 {
            if LENGTHS[byte] as usize == length {
                c.bytes[placed] = byte as u8;
                placed += 1;
                c.count[length] += 1;
                code += 1;
            }
            byte += 1;
        }
        length += 1;
    }
    c
}

/// Decodes a string; `None` if it is not valid.
pub fn decode(coded: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (mut code, mut length) = (0u32, 0usize);
    for byte in coded {
        for bit in (0..8).rev() {
            code = code << 1 | u32::from(byte >> bit & 1);
            length += 1;
            if length > LONGEST {
                return None;
            }
            let place = code.wrapping_sub(CODES.first[length]);
            if place < CODES.count[length] {
                out.push(CODES.bytes[CODES.start[length] + place as usize]);
                (code, length) = (0, 0);
            }
        }
    }
    // Padding is the most significant bits of EOS: ones, fewer than eight.
    (length < 8 && code == (1 << length) - 1).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541, C.4 and C.6.
    #[test]
    fn the_examples_of_the_standard() {
        let cases: [(&[u8], &str); 4] = [
            (&[0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff], "www.example.com"),
            (&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf], "no-cache"),
            (&[0x64, 0x02], "302"),
            (&[0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf], "custom-value"),
        ];
        for (coded, text) in cases {
            let mut out = Vec::new();
            assert!(decode(coded, &mut out).is_some(), "{text}");
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn what_is_no_code_is_refused() {
        // EOS, padding of zeros, and padding of a whole byte.
        for bad in [&[0xff, 0xff, 0xff, 0xff][..], &[0x00], &[0x64, 0x02, 0xff]] {
            assert!(decode(bad, &mut Vec::new()).is_none(), "{bad:?}");
        }
    }

    /// The canonical codes as strings of bits, by length and then by byte (RFC 7541, appendix B).
    fn codes_as_text() -> Vec<String> {
        let mut order: Vec<usize> = (0..256).collect();
        order.sort_by_key(|byte| (LENGTHS[*byte], *byte));
        let (mut texts, mut code, mut before) = (vec![String::new(); 256], 0u64, 0);
        for byte in order {
            let length = usize::from(LENGTHS[byte]);
            code <<= length - before;
            texts[byte] = format!("{code:0length$b}");
            (code, before) = (code + 1, length);
        }
        texts
    }

    fn packed(bits: &str) -> Vec<u8> {
        let filled = format!("{bits}{}", "1".repeat(bits.len().next_multiple_of(8) - bits.len()));
        let byte = |b: &[u8]| u8::from_str_radix(std::str::from_utf8(b).unwrap(), 2).unwrap();
        filled.as_bytes().chunks(8).map(byte).collect()
    }

    #[test]
    fn every_byte_has_its_code() {
        let codes = codes_as_text();
        // Codes of RFC 7541, of all lengths.
        for (byte, code) in [
            (b'0', "00000"),
            (b't', "01001"),
            (b' ', "010100"),
            (b':', "1011100"),
            (b'&', "11111000"),
            (b'Z', "11111101"),
            (b'!', "1111111000"),
            (0, "1111111111000"),
            (b'\\', "1111111111111110000"),
            (128, "11111111111111100110"),
            (249, "1111111111111111111111111110"),
            (22, "111111111111111111111111111110"),
        ] {
            assert_eq!(codes[usize::from(byte)], code, "byte {byte}");
        }
        for byte in 0..=255u8 {
            for more in ["", "0"] {
                let (mut out, mut want) = (Vec::new(), vec![byte]);
                want.extend(more.bytes());
                let bits: String = want.iter().map(|b| &codes[usize::from(*b)][..]).collect();
                assert!(decode(&packed(&bits), &mut out).is_some(), "byte {byte}");
                assert_eq!(out, want);
            }
        }
    }

    #[test]
    fn a_text_is_filled_up_with_ones_and_with_fewer_than_eight() {
        // "0" is 00000: padded with three ones; other padding is invalid.
        for (coded, good) in
            [(0b0000_0111, true), (0b0000_0110, false), (0b0000_0101, false), (0b0000_0011, false)]
        {
            assert_eq!(decode(&[coded], &mut Vec::new()).is_some(), good, "{coded:08b}");
        }
        // "&" has eight bits: no padding is needed, and eight ones are too many.
        assert!(decode(&[0xf8], &mut Vec::new()).is_some());
        assert!(decode(&[0xf8, 0xff], &mut Vec::new()).is_none());
        assert!(decode(&[], &mut Vec::new()).is_some());
        // "a" three times is 15 bits: one is padding. ":" is seven bits, then seven ones.
        assert!(decode(&packed("000110001100011"), &mut Vec::new()).is_some());
        assert!(decode(&packed("10111001111111"), &mut Vec::new()).is_none());
    }
}
