//! Calls of ops that crashed others: each gives the stated error, or the stated result, called directly and in a session, with
//! constants and with values that no shape rule sees. The letters and numbers are the rows of the crash corpus.

mod common;

use common::{Example, Inputs, options, registry, step};
use thalweg_core::attr::Attr;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Code::{self, *};
use thalweg_core::error::{Error, Result};
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_runtime::Session;

/// Nothing that these calls say may allocate more than this.
const LIMIT: usize = 1 << 30;

fn example(op: &str, inputs: Vec<Tensor>, attrs: Vec<(&'static str, Attr)>) -> Option<Example> {
    thalweg_core::buffer::set_limit(LIMIT);
    // The table is still growing; its rows here are ready for the rest.
    let Some(op) = registry().get(op) else {
        println!("{op} is not there yet");
        return None;
    };
    Some(Example {
        op,
        label: op.name.into(),
        inputs,
        attrs: attrs.into_iter().collect(),
        no_difference: vec![],
    })
}

/// The call in every way there is.
fn every_way(example: &Example) -> Vec<(String, Result<Vec<Tensor>>)> {
    let mut ways = vec![("direct".to_string(), example.call(&step(2)))];
    for how in [Inputs::Constants, Inputs::Unknown] {
        for optimise in [true, false] {
            ways.push((format!("{how:?}, optimise {optimise}"), in_session(example, how, optimise)));
        }
    }
    ways
}

fn in_session(example: &Example, how: Inputs, optimise: bool) -> Result<Vec<Tensor>> {
    let wired = example.wire(how)?;
    let s = Session::of(&wired.graph, options(optimise, 2))?;
    let (feeds, values) = match how {
        Inputs::Constants => (vec![], vec![]),
        _ => (wired.inputs.clone(), example.inputs.clone()),
    };
    let run = || s.callable(&feeds, &wired.outputs(), &[wired.node])?.run(values.clone());
    let (first, again) = (run(), run());
    // A failed step leaves nothing behind that changes the next.
    assert_eq!(
        first.as_ref().map(Vec::len).map_err(Error::code),
        again.as_ref().map(Vec::len).map_err(Error::code)
    );
    first
}

fn check_refused(op: &str, inputs: Vec<Tensor>, attrs: Vec<(&'static str, Attr)>, codes: &[Code]) {
    let Some(example) = example(op, inputs, attrs) else { return };
    for (way, result) in every_way(&example) {
        let e = match result {
            Err(e) => e,
            Ok(r) => panic!("{op}, {way}: accepted: {r:?}"),
        };
        assert!(codes.contains(&e.code()), "{op}, {way}: {e}");
        assert!(e.node().is_some(), "{op}, {way}: no node is named: {e}");
    }
}

fn check_allowed(op: &str, inputs: Vec<Tensor>, attrs: Vec<(&'static str, Attr)>, want: Option<Tensor>) {
    let Some(example) = example(op, inputs, attrs) else { return };
    for (way, result) in every_way(&example) {
        let got = result.unwrap_or_else(|e| panic!("{op}, {way}: {e}"));
        if let Some(want) = &want {
            assert!(got[0].same_bits(want), "{op}, {way}: {:?}", got[0]);
        }
    }
}

/// Rows: `name: "Op", [inputs], attr = value => codes;`
macro_rules! refused {
    ($($name:ident: $op:literal, [$($input:expr),*] $(, $attr:ident = $value:expr)* => $($code:ident)|+;)*) => { $(
        #[test]
        fn $name() {
            check_refused($op, vec![$($input),*], vec![$((stringify!($attr), $value.into())),*], &[$($code),+]);
        }
    )* };
}

/// Rows: `name: "Op", [inputs], attr = value => first output;`
macro_rules! allowed {
    ($($name:ident: $op:literal, [$($input:expr),*] $(, $attr:ident = $value:expr)* => $want:expr;)*) => { $(
        #[test]
        fn $name() {
            check_allowed($op, vec![$($input),*], vec![$((stringify!($attr), $value.into())),*], $want);
        }
    )* };
}

/// Any float tensor of this shape.
fn f(dims: &[usize]) -> Tensor {
    Tensor::full(Shape::new(dims).unwrap(), 1f32).unwrap()
}

fn i(dims: &[usize], values: &[i32]) -> Tensor {
    Tensor::from_slice(Shape::new(dims).unwrap(), values).unwrap()
}

fn v(values: &[i32]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn l(values: &[i64]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn n(value: i32) -> Tensor {
    Tensor::scalar(value)
}

fn x(value: f32) -> Tensor {
    Tensor::scalar(value)
}

fn s(text: &str) -> Tensor {
    Tensor::string(text)
}

fn ints(values: &[i64]) -> Attr {
    Attr::ints(values)
}

const BIG: i64 = 1 << 62;

refused! {
    a01_reshape_to_255_dimensions: "Reshape", [f(&[1, 1]), l(&[0; 255])] => InvalidArgument;
    a02_tile_to_1e24_elements: "Tile", [f(&[1, 1, 1]), v(&[100_000_000; 3])] => InvalidArgument;
    a03_range_from_minus_1e38: "Range", [x(-1e38), x(1.0), x(1.0)] => InvalidArgument | ResourceExhausted;
    a04_range_of_all_int64: "Range", [Tensor::scalar(0i64), Tensor::scalar(i64::MAX), Tensor::scalar(1i64)] => ResourceExhausted | InvalidArgument;
    a05_range_by_zero: "Range", [n(0), n(1), n(0)] => InvalidArgument;
    a05_range_by_nan: "Range", [x(0.0), x(1.0), x(f32::NAN)] => InvalidArgument;
    a06_fill_2_to_the_80: "Fill", [l(&[1 << 40, 1 << 40]), x(1.0)] => InvalidArgument;
    a07_fill_negative: "Fill", [v(&[-1]), x(1.0)] => InvalidArgument;
    a07_random_uniform_negative: "RandomUniform", [v(&[-2, 3])], dtype = DataType::Float => InvalidArgument;
    a07_random_normal_negative: "RandomStandardNormal", [v(&[-2, 3])], dtype = DataType::Float => InvalidArgument;
    a07_stateless_uniform_negative: "StatelessRandomUniform", [v(&[-2, 3]), l(&[1, 2])] => InvalidArgument;
    a08_sparse_split_overflow: "SparseSplit", [Tensor::scalar(0i64), i2(&[[0, 0]]), f(&[1]), l(&[(1 << 60) - 1; 2])], num_split = 2i64 => InvalidArgument | ResourceExhausted;
    a09_segment_sum_far_id: "SegmentSum", [f(&[1, 10, 1]), l(&[1676240524292489355])] => InvalidArgument | ResourceExhausted;
    a10_unsorted_segment_sum_negative: "UnsortedSegmentSum", [f(&[2]), v(&[0, 1]), n(-5)] => InvalidArgument;
    a10_unsorted_segment_sum_many: "UnsortedSegmentSum", [f(&[2]), v(&[0, 1]), Tensor::scalar(1i64 << 40)] => InvalidArgument | ResourceExhausted;
    a11_unravel_negative: "UnravelIndex", [n(-0x100000), v(&[0x100000, 0x100000])] => InvalidArgument;
    a12_space_to_batch_nd_overflow: "SpaceToBatchND", [f(&[1, 1, 1, 1]), v(&[-1879048192; 2]), i(&[2, 2], &[0; 4])] => InvalidArgument;
    a13_pad_by_2_to_the_62: "Pad", [f(&[1]), Tensor::from_slice(Shape::new(&[1, 2]).unwrap(), &[BIG, BIG]).unwrap()] => InvalidArgument | ResourceExhausted;
    a13_pad_negative: "Pad", [f(&[1]), i(&[1, 2], &[-1, 0])] => InvalidArgument;
    a14_mirror_pad_grad_overflow: "MirrorPadGrad", [f(&[1]), i(&[1, 2], &[0x77f00000, 0xa000000])], mode = "REFLECT" => InvalidArgument;
    a15_scatter_nd_2_to_the_62: "ScatterNd", [i(&[1, 1], &[0]), f(&[1]), l(&[BIG])] => InvalidArgument | ResourceExhausted;
    a17_resize_bilinear_huge: "ResizeBilinear", [f(&[1, 1, 1, 1]), v(&[i32::MAX; 2])] => InvalidArgument | ResourceExhausted;
    a17_resize_nearest_grad_huge: "ResizeNearestNeighborGrad", [f(&[1, 1, 1, 1]), v(&[i32::MAX; 2])] => InvalidArgument | ResourceExhausted;
    a19_random_gamma_huge: "RandomGamma", [v(&[i32::MAX, i32::MAX]), f(&[1000])] => InvalidArgument | ResourceExhausted;
    a19_random_poisson_huge: "RandomPoissonV2", [v(&[i32::MAX, i32::MAX]), f(&[1000])] => InvalidArgument | ResourceExhausted;
    a19_random_poisson_over_the_limit: "RandomPoissonV2", [v(&[1 << 30]), f(&[4])] => InvalidArgument | ResourceExhausted;
    a19_random_poisson_rate_past_the_type: "RandomPoissonV2", [v(&[3]), x(1e12)], dtype = DataType::Int32 => InvalidArgument;
    a19_stateless_poisson_rate_past_the_type: "StatelessRandomPoisson", [v(&[3]), l(&[1, 2]), x(1e6)], dtype = DataType::Half => InvalidArgument;
    a20_broadcast_huge: "BroadcastTo", [f(&[1]), v(&[1 << 20, 1 << 12])] => ResourceExhausted;
    a20_broadcast_past_64_bits: "BroadcastTo", [f(&[1]), l(&[1 << 40, 1 << 40])] => InvalidArgument;
    a20_add_of_a_row_and_a_column_too_large: "AddV2", [f(&[1 << 16, 1]), f(&[1, 1 << 16])] => ResourceExhausted;

    b01_conv2d_all_empty: "Conv2D", [f(&[0, 0, 0, 0]), f(&[0, 0, 0, 0])], strides = ints(&[1, 1, 1, 1]), padding = "VALID" => InvalidArgument;
    b02_conv2d_stride_0: "Conv2D", [f(&[1, 4, 4, 1]), f(&[2, 2, 1, 1])], strides = ints(&[1, 0, 0, 1]), padding = "VALID" => InvalidArgument;
    b07_max_pool_window_larger: "MaxPool", [f(&[1, 2, 2, 1])], ksize = ints(&[1, 9, 9, 1]), strides = ints(&[1, 1, 1, 1]), padding = "VALID" => InvalidArgument;
    b09_max_pool_grad_empty: "MaxPoolGrad", [f(&[1, 4, 4, 1]), f(&[1, 2, 2, 1]), f(&[0])], ksize = ints(&[1, 2, 2, 1]), strides = ints(&[1, 2, 2, 1]), padding = "VALID" => InvalidArgument;
    b12_avg_pool_negative: "AvgPool", [f(&[1, 2, 2, 1])], ksize = ints(&[1, -1, 1, 1]), strides = ints(&[1, 1, 1, 1]), padding = "SAME" => InvalidArgument;
    b13_avg_pool_grad_negative: "AvgPoolGrad", [v(&[-536870912; 4]), f(&[1, 2, 2, 1])], ksize = ints(&[1, 2, 2, 1]), strides = ints(&[1, 2, 2, 1]), padding = "VALID" => InvalidArgument;
    b19_bias_of_another_length: "BiasAdd", [f(&[2, 3]), f(&[4])] => InvalidArgument;

    c01_gather_past_the_end: "GatherV2", [f(&[3]), v(&[7]), n(0)] => InvalidArgument;
    c01_gather_before_the_start: "GatherV2", [f(&[3]), v(&[-1]), n(0)] => InvalidArgument;
    c01_gather_axis: "GatherV2", [f(&[3]), v(&[0]), n(5)] => InvalidArgument;
    c01_old_gather_past_the_end: "Gather", [f(&[3]), v(&[7])] => InvalidArgument;
    c04_gather_nd_from_empty: "GatherNd", [f(&[0, 2]), i(&[1, 1], &[0])] => InvalidArgument;
    c04_gather_nd_too_deep: "GatherNd", [f(&[2, 2]), i(&[1, 3], &[0; 3])] => InvalidArgument;
    c07_floor_div_by_0: "FloorDiv", [v(&[1, 2]), v(&[1, 0])] => InvalidArgument;
    c07_floor_mod_by_0: "FloorMod", [v(&[1, 2]), n(0)] => InvalidArgument;
    c07_div_by_0: "Div", [v(&[1, 2]), v(&[1, 0])] => InvalidArgument;
    c07_truncate_mod_by_0: "TruncateMod", [v(&[1, 2]), v(&[1, 0])] => InvalidArgument;
    c08_sqrt_grad_lengths: "SqrtGrad", [f(&[2]), f(&[0])] => InvalidArgument;
    c08_tanh_grad_lengths: "TanhGrad", [f(&[2]), f(&[3])] => InvalidArgument;
    c08_sigmoid_grad_lengths: "SigmoidGrad", [f(&[2]), f(&[1, 2])] => InvalidArgument;
    c09_unravel_through_0: "UnravelIndex", [n(3), v(&[1, 0, 2])] => InvalidArgument;
    c10_transpose_axis: "Transpose", [f(&[1]), v(&[-10])] => InvalidArgument;
    c10_transpose_twice: "Transpose", [f(&[2, 2]), v(&[0, 0])] => InvalidArgument;
    c11_concat_axis: "ConcatV2", [f(&[1]), f(&[1]), Tensor::scalar(0xb500005b_i64)], N = 2i64 => InvalidArgument;
    c12_split_v_two_unknown: "SplitV", [f(&[3]), v(&[-1, -2]), n(0)], num_split = 2i64 => InvalidArgument;
    c12_split_v_sum: "SplitV", [f(&[3]), v(&[1, 1]), n(0)], num_split = 2i64 => InvalidArgument;
    c12_split_uneven: "Split", [n(0), f(&[3])], num_split = 2i64 => InvalidArgument;
    c13_reverse_sequence_dims: "ReverseSequence", [f(&[2, 2]), l(&[1, 1])], seq_dim = -10i64, batch_dim = -10i64 => InvalidArgument;
    c13_reverse_sequence_long: "ReverseSequence", [f(&[2, 2]), l(&[1, 9])], seq_dim = 1i64 => InvalidArgument;
    c14_reverse_axis: "ReverseV2", [f(&[2]), v(&[4])] => InvalidArgument;
    c14_reverse_axis_twice: "ReverseV2", [f(&[2, 2]), v(&[0, -2])] => InvalidArgument;
    c15_stitch_negative: "DynamicStitch", [v(&[0xdeadbeef_u32 as i32]), f(&[1])], N = 1i64 => InvalidArgument;
    c15_stitch_huge: "DynamicStitch", [v(&[i32::MAX]), f(&[1])], N = 1i64 => InvalidArgument | ResourceExhausted;
    c16_partition_past_the_end: "DynamicPartition", [f(&[2]), v(&[0, 9])], num_partitions = 2i64 => InvalidArgument;
    c17_strided_slice_by_0: "StridedSlice", [f(&[3]), v(&[0]), v(&[3]), v(&[0])] => InvalidArgument;
    c17_slice_before_the_start: "Slice", [f(&[3]), v(&[-1]), v(&[1])] => InvalidArgument;
    c17_slice_past_the_end: "Slice", [f(&[3]), v(&[2]), v(&[2])] => InvalidArgument;
    c17_slice_overflow: "Slice", [f(&[3]), l(&[1]), l(&[i64::MAX])] => InvalidArgument;
    c18_top_k_negative: "TopKV2", [f(&[3]), n(-1)] => InvalidArgument;
    c18_top_k_too_many: "TopKV2", [f(&[3]), n(4)] => InvalidArgument;
    c19_label_past_the_classes: "SparseSoftmaxCrossEntropyWithLogits", [f(&[1, 3]), v(&[7])] => InvalidArgument;
    c21_one_hot_negative: "OneHot", [v(&[0]), n(-3), x(1.0), x(0.0)] => InvalidArgument;
    c21_one_hot_huge: "OneHot", [v(&[0; 64]), n(i32::MAX), x(1.0), x(0.0)] => InvalidArgument | ResourceExhausted;
    c22_sparse_to_dense_outside: "SparseToDense", [v(&[7]), v(&[3]), f(&[1]), x(0.0)] => InvalidArgument;
    c26_sparse_reshape_to_0: "SparseReshape", [i2(&[[0, 0]]), l(&[2, 3]), l(&[-1, 0])] => InvalidArgument;
    c28_sampler_class: "UniformCandidateSampler", [Tensor::from_slice(Shape::new(&[1, 1]).unwrap(), &[0x100000i64]).unwrap()], num_true = 1i64, num_sampled = 1i64, unique = true, range_max = 2i64 => InvalidArgument;
    c29_sampler_never_done: "UniformCandidateSampler", [Tensor::from_slice(Shape::new(&[1, 1]).unwrap(), &[0i64]).unwrap()], num_true = 1i64, num_sampled = 10i64, unique = true, range_max = 3i64 => InvalidArgument;
    c31_histogram_of_nan: "HistogramFixedWidth", [x(f32::NAN), Tensor::vector(&[0f32, 1.0]).unwrap(), n(5)] => InvalidArgument;

    d01_fill_value_not_scalar: "Fill", [v(&[2]), f(&[12])] => InvalidArgument;
    d01_concat_axis_empty: "ConcatV2", [f(&[1]), f(&[1]), v(&[])], N = 2i64 => InvalidArgument;
    d01_split_axis_long: "Split", [v(&[0, 0]), f(&[2])], num_split = 2i64 => InvalidArgument;
    d01_one_hot_depth_long: "OneHot", [v(&[0]), v(&[1; 12]), x(1.0), x(0.0)] => InvalidArgument;
    d01_one_hot_values_empty: "OneHot", [v(&[0]), n(2), f(&[0]), x(0.0)] => InvalidArgument;
    d01_pad_value_long: "PadV2", [f(&[1]), i(&[1, 2], &[0; 2]), f(&[12])] => InvalidArgument;
    d01_clip_bound_long: "ClipByValue", [f(&[2]), f(&[5]), x(1.0)] => InvalidArgument;
    d01_gather_axis_empty: "GatherV2", [f(&[3]), v(&[0]), v(&[])] => InvalidArgument;
    d01_range_limit_long: "Range", [n(0), v(&[1; 12]), n(1)] => InvalidArgument;
    d01_expand_dims_long: "ExpandDims", [f(&[3]), v(&[0, 0])] => InvalidArgument;
    d01_multinomial_samples_long: "Multinomial", [f(&[1, 2]), v(&[1; 12])] => InvalidArgument;
    d01_assert_condition_long: "Assert", [Tensor::vector(&[true, true]).unwrap(), x(1.0)] => InvalidArgument;
    d01_scalar_summary_tags: "ScalarSummary", [s("a"), f(&[12])] => InvalidArgument;
    d04_png_of_garbage: "DecodePng", [s("\u{89}PNG\r\n\u{1a}\ngarbage")] => InvalidArgument;
    d07_decode_raw_cut: "DecodeRaw", [s("abc")], out_type = DataType::Int32 => InvalidArgument;

    e07_queue_handle_not_one: "QueueSizeV2", [s("x")] => InvalidArgument;
    e10_forged_handle: "ReadVariableOp", [forged("v")], dtype = DataType::Float => FailedPrecondition | InvalidArgument | NotFound;
    e10_forged_handle_gather: "ResourceGather", [forged("v"), v(&[0])], dtype = DataType::Float => FailedPrecondition | InvalidArgument | NotFound;
    e10_forged_handle_assign: "AssignVariableOp", [forged("v"), x(1.0)] => FailedPrecondition | InvalidArgument | NotFound;
    e10_forged_queue_handle: "QueueSizeV2", [forged("q")] => FailedPrecondition | InvalidArgument | NotFound;
    e10_no_handle_at_all: "ReadVariableOp", [no_handles()], dtype = DataType::Float => InvalidArgument | FailedPrecondition;
}

allowed! {
    a22_cast_nan_and_1e30: "Cast", [Tensor::vector(&[f32::NAN, 1e30, -1e30, 1.9]).unwrap()], DstT = DataType::Int32 => None;
    a23_int_min_by_minus_1: "FloorDiv", [n(i32::MIN), n(-1)] => Some(n(i32::MIN));
    a23_int_min_modulo_minus_1: "FloorMod", [n(i32::MIN), n(-1)] => Some(n(0));
    a23_long_min_by_minus_1: "TruncateDiv", [Tensor::scalar(i64::MIN), Tensor::scalar(-1i64)] => Some(Tensor::scalar(i64::MIN));
    a23_minus_int_min: "Neg", [n(i32::MIN)] => Some(n(i32::MIN));
    a23_absolute_int_min: "Abs", [n(i32::MIN)] => Some(n(i32::MIN));
    a23_shift_by_more_than_there_is: "LeftShift", [n(1), n(99)] => None;
    a23_shift_by_less_than_none: "RightShift", [n(1), n(-99)] => None;
    c14_reverse_of_nothing: "ReverseV2", [f(&[0, 1, 1]), v(&[0])] => Some(f(&[0, 1, 1]));
    d11_print_of_nothing: "Print", [f(&[2]), f(&[2])], summarize = 0i64 => None;
    d11_print_of_everything: "Print", [f(&[2]), f(&[2])], summarize = -1i64 => None;
}

fn i2(rows: &[[i64; 2]]) -> Tensor {
    Tensor::from_slice(Shape::new(&[rows.len(), 2]).unwrap(), rows.as_flattened()).unwrap()
}

/// A handle of a resource that was never made.
fn forged(name: &str) -> Tensor {
    let handle = thalweg_core::resource::ResourceHandle {
        device: "/job:localhost/replica:0/task:0/device:CPU:0".into(),
        container: "localhost".into(),
        name: name.into(),
        hash_code: 0xdead_beef,
        type_name: "Var".into(),
        values: vec![],
        target: None,
    };
    Tensor::from_object(handle)
}

fn no_handles() -> Tensor {
    Tensor::uninit(DataType::Resource, Shape::vector(0)).unwrap()
}
