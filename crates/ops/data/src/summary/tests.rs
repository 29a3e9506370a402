use crate::prelude::*;
use crate::testing::{call, floats};

fn message(r: Result<Vec<Tensor>>) -> String {
    let e = r.map(|_| ()).unwrap_err();
    assert_eq!(e.code(), Code::InvalidArgument);
    e.message().to_string()
}

#[test]
fn values_that_are_not_finite_have_no_histogram() {
    let histogram = |v: f32| call("HistogramSummary", &[Tensor::string("t"), floats(&[1], &[v])], &[]);
    assert!(message(histogram(f32::NAN)).contains("Nan in summary histogram for: "));
    assert!(message(histogram(f32::NEG_INFINITY)).contains("Infinity in summary histogram for: "));
}

#[test]
fn summaries_with_a_tag_twice_or_that_are_none_do_not_merge() {
    let a = call("ScalarSummary", &[Tensor::string("a"), Tensor::scalar(1f32)], &[]).unwrap().remove(0);
    let merge =
        |x: &Tensor, y: &Tensor| call("MergeSummary", &[x.clone(), y.clone()], &[("N", Attr::Int(2))]);
    assert!(message(merge(&a, &a)).contains("Duplicate tag a found in summary inputs"));
    assert!(
        message(merge(&a, &Tensor::string("garbage"))).contains("Could not parse one of the summary inputs")
    );
}

#[test]
fn the_name_of_a_tensor_summary_is_before_its_tensor_as_tensorflow_writes_it() {
    let summary = call("TensorSummary", &[floats(&[2], &[1.0, 2.0])], &[]).unwrap().remove(0);
    let [bytes] = summary.strings().unwrap() else { panic!() };
    // The length of the name is its own; the message of TensorFlow for this tensor follows it.
    let name = usize::from(bytes[3]);
    assert_eq!((bytes[0], usize::from(bytes[1]), bytes[2]), (0x0A, bytes.len() - 2, 0x3A));
    assert_eq!(&bytes[4 + name..], b"B\x12\x08\x01\x12\x04\x12\x02\x08\x02\"\x08\x00\x00\x80?\x00\x00\x00@");
}

#[test]
fn a_long_tensor_summary_has_the_lengths_of_its_parts() {
    for n in [1, 25, 26, 27, 28, 4000] {
        let summary = call("TensorSummary", &[floats(&[n], &vec![1.0; n])], &[]).unwrap().remove(0);
        let message: thalweg_proto::Summary =
            thalweg_io::message::decode(summary.strings().unwrap()[0].clone()).unwrap().unwrap();
        assert_eq!(thalweg_proto::encode(&message).len(), summary.strings().unwrap()[0].len());
        assert!(matches!(message.value[0].value, Some(thalweg_proto::summary::value::Value::Tensor(_))));
    }
}
