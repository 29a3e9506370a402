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
