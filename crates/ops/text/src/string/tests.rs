//! Facts recorded from TensorFlow 2.21, and bad input.

use super::hash::{fingerprint, sip};
use super::mapped::words;
use crate::prelude::*;
use crate::testing::{call, code, floats, ints};
use thalweg_math::hash::murmur64;

fn strings(op: &str, inputs: &[Tensor], attrs: &[(&'static str, Attr)]) -> Vec<String> {
    let got = call(op, inputs, attrs).unwrap();
    got[0].strings().unwrap().iter().map(|s| String::from_utf8_lossy(s).into_owned()).collect()
}

#[test]
fn hashes_are_tensorflows() {
    let upto = |n: u8| (0..n).collect::<Vec<u8>>();
    let text: Vec<Vec<u8>> =
        [&b""[..], b"a", b"abc", b"abcd", b"abcdefg", b"abcdefgh", b"0123456789abcdef", b"0123456789abcdefg"]
            .iter()
            .map(|s| s.to_vec())
            .chain([32, 33, 64, 65, 200, 128, 129].map(upto))
            .collect();
    let all = |hash: &dyn Fn(&[u8]) -> u64| -> Vec<u64> {
        text.iter().map(|s| hash(s) % i64::MAX as u64).collect()
    };
    let fast = [
        1936946117179621456,
        3694432073954588132,
        2640714258260161385,
        1897425971756105985,
        4341691227789030229,
        9145071594317031690,
        6105018409752412263,
        2800675501336285771,
        1917831512995979081,
        7527044130840859215,
        8468179876952591436,
        5089956174350597567,
        525935771297148851,
        2037963038260878803,
        5659797075620071487,
    ];
    assert_eq!(all(&fingerprint), fast);
    let strong = [
        1583518726171341606,
        3067518542778738979,
        7078110304451063422,
        4776545272365901657,
        3861425695378547027,
        573758819942051249,
        5267834257617729861,
        5978552332227512135,
        3622666260162018087,
        4680467514200586734,
        8196857026578144456,
        7256890585524113882,
        1628908359408303812,
        4647928700677329518,
        3777151989610632363,
    ];
    assert_eq!(all(&|s| sip([1, -2i64 as u64], s)), strong);
    let first = [
        105434511174508092,
        2996632905371535868,
        5658311696057142710,
        5015987189207562374,
        2960345911509200449,
        3429851175771700306,
        1490712428580208487,
        6397438232669942879,
        235957890591632321,
        5573693374195701004,
        2192457456962414805,
        2525959834624391444,
        8797224591143368235,
        5351668349314526951,
        2161695753874938690,
    ];
    assert_eq!(all(&murmur64), first);
}

#[test]
fn numbers_are_written_as_tensorflow_writes_them() {
    let x = floats(&[4], &[-2.5, 1.0 / 3.0, 1e10, f32::NAN]);
    let text = |attrs: &[(&'static str, Attr)]| strings("AsString", &[x.clone()], attrs);
    let (width, fill) = (("width", Attr::Int(10)), |f: &str| ("fill", Attr::str(f)));
    assert_eq!(text(&[]), ["-2.500000", "0.333333", "10000000000.000000", "nan"]);
    assert_eq!(text(&[("shortest", Attr::Bool(true))]), ["-2.5", "0.333333", "1e+10", "nan"]);
    assert_eq!(
        text(&[width.clone(), fill("0")]),
        ["-02.500000", "000.333333", "10000000000.000000", "       nan"]
    );
    assert_eq!(
        text(&[width.clone(), fill("+")]),
        [" -2.500000", " +0.333333", "+10000000000.000000", "      +nan"]
    );
    assert_eq!(text(&[width, fill("-")])[0], "-2.500000 ");
    for bad in [vec![fill("n")], vec![fill("%s")], vec![("width", Attr::Int(i64::MAX))]] {
        assert_eq!(code(call("AsString", &[x.clone()], &bad)), Code::InvalidArgument);
    }
    let precise = [("precision", Attr::Int(2))];
    assert_eq!(code(call("AsString", &[ints(&[1], &[1])], &precise)), Code::InvalidArgument);
    for bad in ["", "abc", "1_0", "1d", "- 1"] {
        assert_eq!(code(call("StringToNumber", &[words(&[1], &[bad])], &[])), Code::InvalidArgument, "{bad}");
    }
    let got = call("StringToNumber", &[words(&[4], &["0x10", "1e400", "-Inf", "1."])], &[]).unwrap();
    assert_eq!(got[0].as_slice::<f32>().unwrap(), [16., f32::INFINITY, f32::NEG_INFINITY, 1.]);
}

#[test]
fn parts_of_strings() {
    let part = |s: &'static str, pos: i32, len: i32| {
        call("Substr", &[words(&[1], &[s]), Tensor::scalar(pos), Tensor::scalar(len)], &[])
    };
    assert_eq!(&part("hello", 1, -1).unwrap()[0].strings().unwrap()[0][..], b"ello");
    assert_eq!(&part("hello", 5, 1).unwrap()[0].strings().unwrap()[0][..], b"");
    assert!(part("hello", 6, 1).is_err() && part("hello", -6, 1).is_err());
    let uneven = [words(&[], &["12345"]), ints(&[2], &[1, -1]), ints(&[], &[1])];
    assert_eq!(code(call("Substr", &uneven, &[])), Code::InvalidArgument);
    let wide = [("unit", Attr::str("UTF8_CHAR"))];
    let x = [words(&[1], &["héllo wörld"]), Tensor::scalar(-4i32), Tensor::scalar(3i32)];
    assert_eq!(strings("Substr", &x, &wide), ["örl"]);
    let max = [("maxsplit", Attr::Int(1))];
    let got = call("StringSplitV2", &[words(&[2], &[" a b  c ", "d"]), words(&[], &[""])], &max).unwrap();
    assert!(got[1].same_bits(&words(&[4], &["a", "b  c ", "d", ""])));
    for bad in ["YQ=", "YQ===", "Y", "Y+", "Y W"] {
        assert_eq!(code(call("DecodeBase64", &[words(&[1], &[bad])], &[])), Code::InvalidArgument, "{bad}");
    }
    let short = [("out_type", Attr::Type(DataType::Int16))];
    assert_eq!(code(call("DecodeRaw", &[words(&[1], &["abc"])], &short)), Code::InvalidArgument);
    assert_eq!(code(call("DecodeRaw", &[words(&[2], &["ab", "a"])], &short)), Code::InvalidArgument);
    let grid = words(&[2, 2], &["a", "b", "c", "d"]);
    let join = |axes: &[i32]| call("ReduceJoin", &[grid.clone(), int_vector(axes)], &[]);
    assert_eq!(&join(&[0, 1]).unwrap()[0].strings().unwrap()[0][..], b"acbd");
    assert_eq!(&join(&[1, 0]).unwrap()[0].strings().unwrap()[0][..], b"abcd");
    assert_eq!((code(join(&[2])), code(join(&[0, 0]))), (Code::OutOfRange, Code::InvalidArgument));
}

#[test]
fn patterns_are_re2s() {
    let matches = |pattern: &'static str, s: &'static str| {
        call("RegexFullMatch", &[words(&[1], &[s]), words(&[], &[pattern])], &[]).unwrap()[0]
            .to_scalar::<bool>()
            .unwrap()
    };
    assert!(matches(r"\d+", "12") && !matches(r"\d+", "١٢") && matches(r"[\W]", "é") && matches(".", "é"));
    assert!(matches(r"\Qa.b\E", "a.b") && !matches(r"\Qa.b\E", "axb"));
    assert!(
        matches("[[&&-]", "[") && matches("[[&&-]", "&") && matches("[]a]", "]") && matches("[^]a]", "b")
    );
    assert!(matches("(?i)k|é", "\u{212a}") && matches("[[:alpha:]_]", "_") && !matches("a|ab", "abc"));
    let replace = |s: &'static str, pattern: &'static str, rewrite: &'static str, global: bool| {
        strings(
            "RegexReplace",
            &[words(&[1], &[s]), words(&[], &[pattern]), words(&[], &[rewrite])],
            &[("replace_global", Attr::Bool(global))],
        )
        .remove(0)
    };
    assert_eq!(replace("abc", "(b)(c)", r"\2\1\\", false), r"acb\");
    assert_eq!(replace("baaac", "a*", "-", true), "-b-c-");
    assert_eq!(replace("abc", "a", r"\1", true), "abc");
    assert_eq!(replace("abc", "a", r"\x", true), "bc");
    assert_eq!(replace("aaa", "a", "b", false), "baa");
    let bad = call("RegexReplace", &[words(&[1], &["a"]), words(&[], &["("]), words(&[], &[""])], &[]);
    assert!(bad.unwrap_err().message().starts_with("Invalid pattern: (, error:"));
}
