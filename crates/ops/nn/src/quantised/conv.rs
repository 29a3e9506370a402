//! `QuantizedConv2D`, `QuantizedDepthwiseConv2D` and the forms that oneDNN has of them, with bias, ReLU and requantisation.
//!
//! Of two unsigned factors each has a level for 0, relative to which it is taken; the others are quantised around 0. The forms with a
//! summand are not here: TensorFlow 2.21 ends with a segmentation fault in them.

use super::exact::convolved;
use super::onednn::Form;
use super::products::{finish, relative};
use super::requantize::row;
use crate::levels::{Levels, bounds, integers, quantised};
use crate::nn::conv::{
    channels_last, convolved_by_channel, output_shape, output_shape_by_channel, with_windows,
};
use crate::prelude::*;
use crate::windows::Sliding;

pub static OPS: &[&Op] = &[
    &QUANTIZED_CONV2D,
    &QUANTIZED_CONV2D_PER_CHANNEL,
    &QUANTIZED_CONV2D_AND_RELU,
    &QUANTIZED_CONV2D_AND_REQUANTIZE,
    &QUANTIZED_CONV2D_AND_RELU_AND_REQUANTIZE,
    &QUANTIZED_CONV2D_WITH_BIAS,
    &QUANTIZED_CONV2D_WITH_BIAS_AND_RELU,
    &QUANTIZED_CONV2D_WITH_BIAS_AND_REQUANTIZE,
    &QUANTIZED_CONV2D_WITH_BIAS_AND_RELU_AND_REQUANTIZE,
    &QUANTIZED_DEPTHWISE_CONV2D,
    &QUANTIZED_DEPTHWISE_CONV2D_WITH_BIAS,
    &QUANTIZED_DEPTHWISE_CONV2D_WITH_BIAS_AND_RELU,
    &QUANTIZED_DEPTHWISE_CONV2D_WITH_BIAS_AND_RELU_AND_REQUANTIZE,
];

const TINPUT: &str = "Tinput: {qint8, quint8, qint32, qint16, quint16}";
const TFILTER: &str = "Tfilter: {qint8, quint8, qint32, qint16, quint16}";
const TBIAS: &str = "Tbias: {float, qint32}";
const SUMS: &str = "out_type: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32";
const SIGNED: &str = "out_type: {qint8, quint8, qint32, qint16, quint16} = DT_QINT8";
const UNSIGNED: &str = "out_type: {qint8, quint8, qint32, qint16, quint16} = DT_QUINT8";
const STRIDES: &str = "strides: list(int)";
const PADDING: &str = "padding: {'SAME', 'VALID'}";
const DILATIONS: &str = "dilations: list(int) = [1, 1, 1, 1]";
const PADDING_LIST: &str = "padding_list: list(int) = []";

/// Filters of the cases.
const FILTER: [usize; 4] = [3, 2, 3, 4];
const BY_CHANNEL: [usize; 4] = [3, 2, 3, 2];

use DataType::{Float, Qint8, Qint32, Quint8};

/// The types of a row: of input, filter and result.
macro_rules! types {
    ($input:ident, $filter:ident, $out:ident $(, $bias:ident)?) => {
        &[("Tinput", $input), ("Tfilter", $filter), ("out_type", $out) $(, ("Tbias", $bias))?]
    };
}

static QUANTIZED_CONV2D: Op = Op {
    name: "QuantizedConv2D",
    doc: "The 2-D convolution of images with filters in 8 bits, in 32 bits.",
    inputs: &[
        "input: Tinput",
        "filter: Tfilter",
        "min_input: float",
        "max_input: float",
        "min_filter: float",
        "max_filter: float",
    ],
    outputs: &["output: out_type", "min_output: float", "max_output: float"],
    attrs: &[TINPUT, TFILTER, SUMS, STRIDES, PADDING, DILATIONS],
    shape: |c| {
        for i in 2..6 {
            c.scalar(i)?;
        }
        shape(c, 2, false)
    },
    grad: Missing,
    kernels: &[
        row(types!(Quint8, Quint8, Qint32), unsigned),
        row(types!(Quint8, Qint8, Qint32), convolution),
    ],
    cases: |r| {
        let signed = fused_case(r, Quint8, FILTER, 4, None, 0);
        let unsigned =
            replaced(fused_case(r, Quint8, FILTER, 4, None, 0), 1, r.ints(&FILTER, 0, 255), Quint8);
        vec![
            with_windows(unsigned.clone(), [1, 1], [1, 1], "VALID"),
            with_windows(unsigned, [2, 2], [1, 1], "SAME"),
            with_windows(signed, [1, 2], [1, 1], "SAME"),
        ]
    },
    expensive: true,
    ..Op::PURE
};

static QUANTIZED_CONV2D_PER_CHANNEL: Op = Op {
    name: "QuantizedConv2DPerChannel",
    doc: "QuantizedConv2D by filters with a range for each output channel.",
    shape: |c| shape(c, 2, false),
    kernels: &[row(types!(Quint8, Qint8, Qint32), convolution)],
    cases: |r| {
        let case = fused_case(r, Quint8, FILTER, 4, None, 0);
        let (low, high) = (r.range(&[4], -2.0, -1.0), r.range(&[4], 1.0, 2.0));
        let inputs = [&case.inputs[..4], &[low, high]].concat();
        vec![with_windows(Case { inputs, ..case }, [1, 1], [1, 1], "SAME")]
    },
    ..QUANTIZED_CONV2D
};

static QUANTIZED_CONV2D_AND_RELU: Op = Op {
    name: "QuantizedConv2DAndRelu",
    doc: "QuantizedConv2D, then ReLU.",
    attrs: &[TINPUT, TFILTER, SUMS, STRIDES, PADDING, DILATIONS, PADDING_LIST],
    cases: |r| {
        let case = fused_case(r, Quint8, FILTER, 4, None, 0);
        let padded = with_windows(case.clone(), [1, 1], [1, 1], "VALID");
        vec![
            with_windows(case, [1, 1], [1, 1], "SAME"),
            padded.attr("padding_list", Attr::ints(&[0, 0, 1, 1, 1, 0, 0, 0])),
        ]
    },
    ..QUANTIZED_CONV2D_PER_CHANNEL
};

static QUANTIZED_CONV2D_AND_REQUANTIZE: Op = Op {
    name: "QuantizedConv2DAndRequantize",
    doc: "QuantizedConv2D in 8 bits, of the range given.",
    inputs: &[
        "input: Tinput",
        "filter: Tfilter",
        "min_input: float",
        "max_input: float",
        "min_filter: float",
        "max_filter: float",
        "min_freezed_output: float",
        "max_freezed_output: float",
    ],
    attrs: &[TINPUT, TFILTER, SIGNED, STRIDES, PADDING, DILATIONS, PADDING_LIST],
    kernels: &[row(types!(Quint8, Qint8, Qint8), convolution)],
    cases: |r| same_windows(fused_case(r, Quint8, FILTER, 4, None, 2)),
    ..QUANTIZED_CONV2D_PER_CHANNEL
};

static QUANTIZED_CONV2D_AND_RELU_AND_REQUANTIZE: Op = Op {
    name: "QuantizedConv2DAndReluAndRequantize",
    doc: "QuantizedConv2D, then ReLU, in 8 bits of the range given.",
    attrs: &[TINPUT, TFILTER, UNSIGNED, STRIDES, PADDING, DILATIONS, PADDING_LIST],
    kernels: &[row(types!(Quint8, Qint8, Quint8), convolution)],
    ..QUANTIZED_CONV2D_AND_REQUANTIZE
};

static QUANTIZED_CONV2D_WITH_BIAS: Op = Op {
    name: "QuantizedConv2DWithBias",
    doc: "QuantizedConv2D and a bias of floats.",
    inputs: &[
        "input: Tinput",
        "filter: Tfilter",
        "bias: float",
        "min_input: float",
        "max_input: float",
        "min_filter: float",
        "max_filter: float",
    ],
    attrs: &[TINPUT, TFILTER, SUMS, STRIDES, PADDING, DILATIONS, PADDING_LIST],
    shape: |c| shape(c, 3, false),
    kernels: &[
        row(types!(Quint8, Qint8, Qint32), convolution),
        row(types!(Qint8, Qint8, Qint32), convolution),
    ],
    cases: |r| {
        let mut of = |t| same_windows(fused_case(r, t, FILTER, 4, Some(Float), 0));
        [of(Quint8), of(Qint8)].concat()
    },
    ..QUANTIZED_CONV2D
};

static QUANTIZED_CONV2D_WITH_BIAS_AND_RELU: Op = Op {
    name: "QuantizedConv2DWithBiasAndRelu",
    doc: "QuantizedConv2D and a bias of floats, then ReLU.",
    ..QUANTIZED_CONV2D_WITH_BIAS
};

static QUANTIZED_CONV2D_WITH_BIAS_AND_REQUANTIZE: Op = Op {
    name: "QuantizedConv2DWithBiasAndRequantize",
    doc: "QuantizedConv2D and a bias, in 8 bits of the range given.",
    inputs: &[
        "input: Tinput",
        "filter: Tfilter",
        "bias: Tbias",
        "min_input: float",
        "max_input: float",
        "min_filter: float",
        "max_filter: float",
        "min_freezed_output: float",
        "max_freezed_output: float",
    ],
    attrs: &[TINPUT, TFILTER, TBIAS, SIGNED, STRIDES, PADDING, DILATIONS, PADDING_LIST],
    kernels: &[
        row(types!(Quint8, Qint8, Qint8, Float), convolution),
        row(types!(Qint8, Qint8, Qint8, Float), convolution),
        row(types!(Quint8, Qint8, Qint8, Qint32), convolution),
        row(types!(Qint8, Qint8, Qint8, Qint32), convolution),
    ],
    cases: |r| {
        let mut of = |t, bias| same_windows(fused_case(r, t, FILTER, 4, Some(bias), 2));
        [of(Quint8, Float), of(Qint8, Float), of(Quint8, Qint32), of(Qint8, Qint32)].concat()
    },
    ..QUANTIZED_CONV2D_WITH_BIAS
};

static QUANTIZED_CONV2D_WITH_BIAS_AND_RELU_AND_REQUANTIZE: Op = Op {
    name: "QuantizedConv2DWithBiasAndReluAndRequantize",
    doc: "QuantizedConv2D and a bias, then ReLU, in 8 bits of the range given.",
    attrs: &[TINPUT, TFILTER, TBIAS, UNSIGNED, STRIDES, PADDING, DILATIONS, PADDING_LIST],
    kernels: &[
        row(types!(Quint8, Qint8, Quint8, Float), convolution),
        row(types!(Qint8, Qint8, Quint8, Float), convolution),
        row(types!(Quint8, Qint8, Quint8, Qint32), convolution),
        row(types!(Qint8, Qint8, Quint8, Qint32), convolution),
    ],
    ..QUANTIZED_CONV2D_WITH_BIAS_AND_REQUANTIZE
};

static QUANTIZED_DEPTHWISE_CONV2D: Op = Op {
    name: "QuantizedDepthwiseConv2D",
    doc: "The depthwise convolution of images with filters in 8 bits, in 32 bits.",
    shape: |c| shape(c, 2, true),
    kernels: &[row(types!(Quint8, Qint8, Qint32), by_channel)],
    cases: |r| same_windows(fused_case(r, Quint8, BY_CHANNEL, 6, None, 0)),
    ..QUANTIZED_CONV2D
};

static QUANTIZED_DEPTHWISE_CONV2D_WITH_BIAS: Op = Op {
    name: "QuantizedDepthwiseConv2DWithBias",
    doc: "QuantizedDepthwiseConv2D and a bias of floats.",
    attrs: QUANTIZED_CONV2D.attrs,
    shape: |c| shape(c, 3, true),
    kernels: &[row(types!(Quint8, Qint8, Qint32), by_channel)],
    cases: |r| same_windows(fused_case(r, Quint8, BY_CHANNEL, 6, Some(Float), 0)),
    ..QUANTIZED_CONV2D_WITH_BIAS
};

static QUANTIZED_DEPTHWISE_CONV2D_WITH_BIAS_AND_RELU: Op = Op {
    name: "QuantizedDepthwiseConv2DWithBiasAndRelu",
    doc: "QuantizedDepthwiseConv2D and a bias of floats, then ReLU.",
    attrs: QUANTIZED_CONV2D_WITH_BIAS.attrs,
    ..QUANTIZED_DEPTHWISE_CONV2D_WITH_BIAS
};

static QUANTIZED_DEPTHWISE_CONV2D_WITH_BIAS_AND_RELU_AND_REQUANTIZE: Op = Op {
    name: "QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize",
    doc: "QuantizedDepthwiseConv2D and a bias, then ReLU, in 8 bits of the range given.",
    shape: |c| shape(c, 3, true),
    kernels: &[
        row(types!(Quint8, Qint8, Quint8, Float), by_channel),
        row(types!(Quint8, Qint8, Quint8, Qint32), by_channel),
    ],
    cases: |r| {
        let mut of = |bias| same_windows(fused_case(r, Quint8, BY_CHANNEL, 6, Some(bias), 2));
        [of(Float), of(Qint32)].concat()
    },
    ..QUANTIZED_CONV2D_WITH_BIAS_AND_RELU_AND_REQUANTIZE
};

/// A case of images of a type and of signed filters: with a bias, and with `frozen` bounds of the result.
fn fused_case(
    r: &mut CaseGen,
    t: DataType,
    filter: [usize; 4],
    outputs: usize,
    bias: Option<DataType>,
    frozen: usize,
) -> Case {
    let least = if t == Quint8 { 0 } else { -128 };
    let factors = [
        quantised(r.ints(&[2, 5, 4, 3], least, least + 255), t),
        quantised(r.ints(&filter, -128, 127), Qint8),
    ];
    let bias = bias.and_then(|t| match t {
        Float => Some(r.tensor(&[outputs])),
        _ => quantised(r.ints(&[outputs], -900, 900), t).ok(),
    });
    let bounds = [-1f32, 2.0, -3.0, 3.0, -40.0, 50.0].into_iter().take(4 + frozen).map(Tensor::scalar);
    Case::new(factors.into_iter().flatten().chain(bias).chain(bounds).collect())
}

fn replaced(case: Case, input: usize, stored: Tensor, dtype: DataType) -> Case {
    let mut inputs = case.inputs.clone();
    if let (Some(old), Ok(new)) = (inputs.get_mut(input), quantised(stored, dtype)) {
        *old = new;
    }
    Case { inputs, ..case }
}

fn same_windows(case: Case) -> Vec<Case> {
    vec![with_windows(case, [1, 1], [1, 1], "SAME")]
}

/// How the window slides. Paddings in a list take the place of the padding by name.
fn sliding(attrs: &Attrs) -> Result<Sliding> {
    let list = attrs.ints("padding_list").unwrap_or_default();
    if list.iter().all(|n| *n == 0) {
        return channels_last(Sliding::of(attrs)?);
    }
    let mut explicit = attrs.clone();
    explicit.set("padding", "EXPLICIT");
    explicit.set("explicit_paddings", Attr::ints(&list));
    channels_last(Sliding::of(&explicit)?)
}

/// The shapes of a convolution and of its bounds, given the first of the four bounds of the factors.
fn shape(c: &ShapeCall<'_>, bounds: usize, by_channel: bool) -> Result<Vec<PartialShape>> {
    let (images, filter, sliding) = (c.rank(0, 4)?, c.rank(1, 4)?, sliding(c.attrs)?);
    let rule = if by_channel { output_shape_by_channel } else { output_shape };
    let out = rule(&sliding, &images, &filter)?;
    let range = match c.attrs.dtype("out_type")? {
        Qint32 => c.input(bounds + 2),
        _ => PartialShape::scalar(),
    };
    Ok(vec![out, range.clone(), range])
}

/// Both factors relative to their levels of 0, as TensorFlow's own kernel has it.
fn unsigned(c: &mut OpCall<'_>) -> Result<()> {
    let sliding = sliding(c.attrs())?;
    let strides = c.attrs().ints("strides")?;
    if strides.get(1) != strides.get(2) {
        return Err(invalid!(
            "Current implementation only supports equal length strides in the row and column dimensions, got {strides:?}"
        ));
    }
    let (by_input, by_filter) = (Levels::new(Quint8, bounds(c, 2)?)?, Levels::new(Quint8, bounds(c, 4)?)?);
    let (images, filter) = (relative(c.input(0)?, &by_input)?, relative(c.input(1)?, &by_filter)?);
    let out = convolved(c.par(), &sliding, &images, &filter)?;
    finish(c, out, &by_input, &by_filter)
}

fn convolution(c: &mut OpCall<'_>) -> Result<()> {
    let (images, filter) = (integers(c.input(0)?)?, integers(c.input(1)?)?);
    let sums = convolved(c.par(), &sliding(c.attrs())?, &images, &filter)?;
    Form::of(c.node.op).finish_convolution(c, sums)
}

fn by_channel(c: &mut OpCall<'_>) -> Result<()> {
    let (images, filter) = (integers(c.input(0)?)?, integers(c.input(1)?)?);
    let sums = convolved_by_channel::<i32>(c.par(), &sliding(c.attrs())?, &images, &filter)?;
    Form::of(c.node.op).finish_convolution(c, sums)
}
