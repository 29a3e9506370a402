//! Percent-encoding of `grpc-message`.

/// Percent-encodes.
pub fn percent_encoded(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut coded = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' | ..b' ' | 0x7f.. => {
                coded.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
            }
            plain => coded.push(plain),
        }
    }
    coded
}

/// Percent-decodes.
pub fn percent_decoded(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let coded = after.get(..2).and_then(|h| std::str::from_utf8(h).ok());
        match coded.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_decoded() {
        assert_eq!(percent_decoded(b"a%20b%0Ac%"), "a b\nc%");
        assert_eq!(percent_decoded(b"100%zz"), "100%zz");
    }

    #[test]
    fn texts_come_back_and_have_no_signs_that_headers_may_not_have() {
        for text in ["plain text", "100 % {{node a}}\n\tline", "größe \u{7f}\u{1f600}", ""] {
            let coded = percent_encoded(text);
            assert!(coded.iter().all(|b| (b' '..0x7f).contains(b)), "{text}");
            assert_eq!(percent_decoded(&coded), text);
        }
    }

    #[test]
    fn each_sign_is_written_as_it_should_be() {
        assert_eq!(percent_encoded("a b~%\n\u{7f}\u{e9}"), b"a b~%25%0A%7F%C3%A9");
        assert_eq!(percent_decoded(b"x41%41%4"), "x41A%4");
    }
}
