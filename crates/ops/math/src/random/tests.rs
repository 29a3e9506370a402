//! Facts recorded from TensorFlow 2.21, and bad input.

use crate::prelude::*;
use crate::testing::{call, code, floats, ints, runs};

#[test]
fn bad_input_is_refused() {
    let float = [("dtype", Attr::Type(DataType::Float))];
    assert_eq!(code(call("RandomUniform", &[ints(&[2], &[-2, 3])], &float)), Code::InvalidArgument);
    assert_eq!(code(call("RandomUniform", &[ints(&[], &[3])], &float)), Code::InvalidArgument);
    let huge = Tensor::vector(&[1i64 << 40, 1 << 40]).unwrap();
    let rate = Tensor::vector(&[1f32; 3]).unwrap();
    assert_eq!(code(call("RandomPoissonV2", &[huge.clone(), rate.clone()], &[])), Code::InvalidArgument);
    assert_eq!(code(call("RandomGamma", &[huge, rate], &[])), Code::InvalidArgument);
    let bounds = |low: i32, high: i32| [ints(&[1], &[2]), Tensor::scalar(low), Tensor::scalar(high)];
    assert_eq!(code(call("RandomUniformInt", &bounds(5, 5), &[])), Code::InvalidArgument);
    assert!(call("RandomUniformInt", &bounds(i32::MIN, i32::MAX), &[]).is_ok());
    let seed = [ints(&[1], &[2]), ints(&[3], &[1, 2, 3])];
    assert_eq!(code(call("StatelessRandomUniform", &seed, &[])), Code::InvalidArgument);
    let no_classes =
        [Tensor::zeros(DataType::Float, Shape::new(&[2, 0]).unwrap()).unwrap(), Tensor::scalar(3i32)];
    assert_eq!(code(call("Multinomial", &no_classes, &[])), Code::InvalidArgument);
}

#[test]
fn impossible_rates_give_nan_or_infinity_and_end() {
    let rates = Tensor::vector(&[f32::NAN, -1.0, f32::INFINITY, 2.0]).unwrap();
    let got = call("RandomPoissonV2", &[ints(&[1], &[2]), rates], &[("dtype", Attr::Type(DataType::Float))])
        .unwrap();
    let got = got[0].as_slice::<f32>().unwrap();
    assert!(got[..2].iter().all(|v| v.is_nan()) && got[2] == f32::INFINITY && !got[3].is_nan());
}

/// The first output of two runs of one node, as hexadecimal bytes.
fn two_runs(op: &str, inputs: &[Tensor], attrs: &[(&'static str, Attr)]) -> [String; 2] {
    let seeds = [("seed", Attr::Int(5)), ("seed2", Attr::Int(6))];
    runs(op, inputs, &[&seeds, attrs].concat()).map(|t| hex(&t))
}

fn hex(t: &Tensor) -> String {
    t.bytes().unwrap().iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn two_runs_of_a_seeded_node_are_those_of_tensorflow() {
    let dtype = |t: DataType| [("dtype", Attr::Type(t))];
    assert_eq!(
        two_runs("RandomUniform", &[ints(&[1], &[3])], &dtype(DataType::Float)),
        ["d6cc353f4c35ad3e2a252f3f", "80d8e43e541c4a3f905e093f"]
    );
    assert_eq!(
        two_runs("RandomStandardNormal", &[ints(&[1], &[2])], &dtype(DataType::Double)),
        ["8748352826bcc23f5d69fd468ca4ebbf", "c13ad902fd7b8fbf6d8953b752f8f13f"]
    );
    assert_eq!(
        two_runs("TruncatedNormal", &[ints(&[1], &[3])], &dtype(DataType::Half)),
        ["a039f9b694ba", "ecbcfd34cbba"]
    );
    assert_eq!(
        two_runs("RandomUniformInt", &[ints(&[1], &[3]), ints(&[], &[-5]), ints(&[], &[100])], &[]),
        ["feffffff3e00000056000000", "610000002b0000005f000000"]
    );
    assert_eq!(
        two_runs("RandomShuffle", &[ints(&[5, 2], &[1, 1, 2, 2, 3, 3, 4, 4, 5, 5])], &[]),
        [
            "04000000040000000500000005000000010000000100000002000000020000000300000003000000",
            "02000000020000000500000005000000010000000100000004000000040000000300000003000000"
        ]
    );
    let logits = floats(&[2, 3], &[1., 2., 3., 0., 0., 0.]);
    assert_eq!(
        two_runs("Multinomial", &[logits, ints(&[], &[5])], &[("output_dtype", Attr::Type(DataType::Int32))]),
        [
            "02000000020000000200000002000000020000000000000002000000020000000200000002000000",
            "00000000020000000200000002000000020000000000000000000000020000000200000001000000"
        ]
    );
    assert_eq!(
        two_runs("RandomGamma", &[ints(&[1], &[2]), floats(&[2], &[0.5, 3.0])], &[]),
        ["0cf6993ea5819e40aae98c3d381f0f40", "c127013f5f285a4031b80b395314a340"]
    );
    assert_eq!(
        two_runs("RandomPoissonV2", &[ints(&[1], &[2]), floats(&[2], &[0.5, 30.0])], &dtype(DataType::Int32)),
        ["0000000024000000010000001a000000", "02000000190000000000000028000000"]
    );
}

#[test]
fn stateless_draws_are_those_of_tensorflow() {
    let one = |op: &str, inputs: &[Tensor], attrs: &[(&'static str, Attr)]| {
        hex(&call(op, inputs, attrs).unwrap()[0])
    };
    let (three, seed) = (ints(&[1], &[3]), ints(&[2], &[3, -9]));
    assert_eq!(
        one("StatelessRandomUniform", &[three.clone(), seed.clone()], &[]),
        "10b9573e60db1d3e9ece273f"
    );
    assert_eq!(
        one(
            "StatelessRandomUniformInt",
            &[three.clone(), seed.clone(), ints(&[], &[-7]), ints(&[], &[1000])],
            &[]
        ),
        "aa0100001d03000077020000"
    );
    let key = call("StatelessRandomGetKeyCounter", &[seed.clone()], &[]).unwrap();
    assert_eq!(hex(&key[0]), "f9f0bc1321a822d2");
    assert_eq!(hex(&key[1]), "000000000000000039f103b1e28b9aba");
    for alg in [1, 3] {
        let inputs = [three.clone(), key[0].clone(), key[1].clone(), ints(&[], &[alg])];
        assert_eq!(one("StatelessRandomNormalV2", &inputs, &[]), "bd2bba3fa6ef7f3f20440dbc");
    }
    let rows = ints(&[6], &[0, 1, 2, 3, 4, 5]);
    assert_eq!(
        one("StatelessShuffle", &[rows, key[0].clone(), key[1].clone(), ints(&[], &[1])], &[]),
        "020000000100000005000000030000000400000000000000"
    );
    let logits = floats(&[2, 3], &[1., 2., 3., 0., 0., 0.]);
    assert_eq!(
        one("StatelessMultinomial", &[logits, ints(&[], &[5]), seed.clone()], &[]),
        "0200000000000000010000000000000002000000000000000100000000000000010000000000000002000000000000000100000000000000010000000000000001000000000000000100000000000000"
    );
    let two = ints(&[2], &[2, 2]);
    assert_eq!(
        one("StatelessRandomGammaV2", &[two.clone(), seed.clone(), floats(&[2], &[0.5, 3.0])], &[]),
        "708a5e3f15cb5240f732cb3d50d5863f"
    );
    let int = [("dtype", Attr::Type(DataType::Int32))];
    assert_eq!(
        one("StatelessRandomPoisson", &[two, seed, floats(&[2], &[0.5, 30.0])], &int),
        "0000000019000000000000001f000000"
    );
}
