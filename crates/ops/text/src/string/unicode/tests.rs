use crate::prelude::*;
use crate::testing::{call, code};

fn decoded(bytes: &[u8], encoding: &str) -> (Vec<i32>, Vec<i64>) {
    let got =
        call("UnicodeDecodeWithOffsets", &[Tensor::string(bytes)], &[("input_encoding", encoding.into())])
            .unwrap();
    (got[1].as_slice::<i32>().unwrap().to_vec(), got[2].to_i64s().unwrap())
}

/// What TensorFlow 2.21 decodes.
#[test]
fn encodings_are_decoded_with_offsets_as_tensorflow_does() {
    const BAD: i32 = 0xFFFD;
    let bad_utf8 = b"a\xffb\xe2\x82c\xf0\x9f\x98";
    assert_eq!(decoded(bad_utf8, "UTF-8"), (vec![97, BAD, 98, BAD, 99, BAD], vec![0, 1, 2, 3, 5, 6]));
    assert_eq!(decoded(b"a\xed\xa0\x80b", "utf8"), (vec![97, BAD, BAD, BAD, 98], vec![0, 1, 2, 3, 4]));
    assert_eq!(decoded(b"\xff\xfea\0\xe9\0", "UTF-16"), (vec![97, 233], vec![0, 4]));
    assert_eq!(decoded(b"\0a\0", "UTF-16-BE"), (vec![97, BAD], vec![0, 2]));
    assert_eq!(decoded(b"\xd8\0\0a\xdc\0", "UTF-16-BE"), (vec![BAD, 97, BAD], vec![0, 2, 4]));
    assert_eq!(
        decoded(b"\0\x11\0\0\0\0\0a\0\0\xd8\0\0\0", "UTF-32-BE"),
        (vec![BAD, 97, BAD, BAD], vec![0, 4, 8, 12])
    );
    assert_eq!(decoded(b"a\x80b", "US-ASCII"), (vec![97, BAD, 98], vec![0, 1, 2]));
    assert_eq!(decoded(b"a\x80\x81\xe9", "windows-1252"), (vec![97, 8364, 129, 233], vec![0, 1, 2, 3]));
    assert_eq!(decoded(b"a\xdd\x80", "ISO-8859-9"), (vec![97, 304, 128], vec![0, 1, 2]));
    assert_eq!(decoded(b"a\xb0\x80", "ISO_8859-5"), (vec![97, 1040, 128], vec![0, 1, 2]));
    assert_eq!(decoded(b"\x93\xfa\x96\x7b\x81", "Shift_JIS"), (vec![26085, 26412, BAD], vec![0, 2, 4]));
    assert_eq!(decoded(b"\xc6\xfc\xcb\xdc\xa4", "EUC-JP"), (vec![26085, 26412, BAD], vec![0, 2, 4]));
    assert_eq!(decoded(b"\x80\x81", "cp437"), (vec![199, 252], vec![0, 1]));
}

#[test]
fn unknown_encodings_and_replacements_are_errors() {
    let with = |attrs: &[(&'static str, Attr)]| code(call("UnicodeDecode", &[Tensor::string("a")], attrs));
    assert_eq!(with(&[("input_encoding", "nope".into())]), Code::InvalidArgument);
    for replacement in [-1, 0x110000] {
        let attrs = [("input_encoding", "UTF-8".into()), ("replacement_char", Attr::Int(replacement))];
        assert_eq!(with(&attrs), Code::InvalidArgument);
    }
    let strict = [("input_encoding", "UTF-8".into()), ("errors", "strict".into())];
    assert_eq!(code(call("UnicodeDecode", &[Tensor::string(vec![0xFF])], &strict)), Code::InvalidArgument);
}
