use super::*;
use thalweg_core::dtype::DataType::{
    self, Bool, Complex64, Double, Float, Int8, Int32, Int64, Resource, Uint8, Uint64,
};

fn tensor(text: &str, dtype: DataType) -> Result<String> {
    let t = parse(text)?.to_tensor(dtype)?;
    Ok(format!("{} {}", t.shape(), t))
}

#[test]
fn values_take_the_type_of_the_tensor() {
    for (text, dtype, want) in [
        ("3", Int32, "[] 3"),
        ("3", Float, "[] 3.0"),
        ("-4.5", Double, "[] -4.5"),
        (" [1, 2,3 ,] ", Float, "[3] [1. 2. 3.]"),
        ("[[1,2],[3,4]]", Int64, "[2,2] [[1 2]\n [3 4]]"),
        ("[]", Float, "[0] []"),
        ("18446744073709551615", Uint64, "[] 18446744073709551615"),
        ("true", Bool, "[] True"),
        ("[1, False]", Bool, "[2] [ True False]"),
        ("inf", Float, "[] inf"),
        ("1-2e-1j", Complex64, "[] (1-0.2j)"),
        ("['a', \"b\\x00\\n'\"]", DataType::String, "[2] [b'a' b\"b\\x00\\n'\"]"),
    ] {
        assert_eq!(tensor(text, dtype).unwrap(), want, "{text}");
    }
}

#[test]
fn errors_say_what_is_wrong() {
    for (text, dtype, want) in [
        ("", Float, "but the value ends"),
        ("[1, 2", Float, "',' or ']' expected, but the value ends"),
        ("[1 2]", Float, "',' or ']' expected at column 4, got '2'"),
        ("1 2", Float, "nothing more expected at column 3"),
        ("[1,,2]", Float, "expected at column 4, got ','"),
        ("one", Float, "'one' is neither a number"),
        ("(1)", Float, "got '('"),
        ("__import__('os')", Float, "got '_'"),
        ("\"abc", DataType::String, "no closing \""),
        ("'\\q'", DataType::String, "after '\\'"),
        ("'\\x1'", DataType::String, "after '\\'"),
        ("[[1,2],[3]]", Float, "ragged"),
        ("[[1,2],3]", Float, "3 stands where a list stands"),
        ("[1,[2]]", Float, "a list stands where a number"),
        ("2.5", Int32, "2.5 is not a whole number"),
        ("300", Int8, "300 is out of the range of int8"),
        ("-1", Uint8, "-1 is out of the range of uint8"),
        ("true", Float, "true is not a float"),
        ("2", Bool, "2 is not a bool"),
        ("1j", Float, "1j is not a float"),
        ("3", DataType::String, "3 is not a string"),
        ("3", Resource, "cannot be given as a literal"),
    ] {
        let e = tensor(text, dtype).unwrap_err();
        assert!(e.message().contains(want), "{text}: {e}");
    }
    let deep = "[".repeat(100_000);
    assert!(parse(&deep).unwrap_err().message().contains("64 deep"));
}
