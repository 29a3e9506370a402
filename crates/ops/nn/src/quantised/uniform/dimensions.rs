//! What the dimensions of a uniformly quantised convolution are, and how its window slides, from attrs.

use crate::prelude::*;
use prost::Message;

/// The message in attr `dimension_numbers`.
#[derive(Clone, PartialEq, Message)]
struct DimensionNumbers {
    #[prost(int64, tag = "1")]
    input_batch: i64,
    #[prost(int64, tag = "2")]
    input_feature: i64,
    #[prost(int64, repeated, tag = "3")]
    input_spatial: Vec<i64>,
    #[prost(int64, tag = "4")]
    kernel_input_feature: i64,
    #[prost(int64, tag = "5")]
    kernel_output_feature: i64,
    #[prost(int64, repeated, tag = "6")]
    kernel_spatial: Vec<i64>,
    #[prost(int64, tag = "7")]
    output_batch: i64,
    #[prost(int64, tag = "8")]
    output_feature: i64,
    #[prost(int64, repeated, tag = "9")]
    output_spatial: Vec<i64>,
}

/// The dimensions of a tensor: its first two by meaning, and those of space.
#[derive(Clone, Debug)]
pub struct Order {
    /// The batch, or the filter's outputs.
    pub first: usize,
    /// The channels, or the filter's inputs.
    pub second: usize,
    pub space: Vec<usize>,
}

impl Order {
    fn new(rank: usize, first: i64, second: i64, space: &[i64]) -> Result<Order> {
        let at = |dim: i64| match usize::try_from(dim) {
            Ok(dim) if dim < rank => Ok(dim),
            _ => Err(invalid!(
                "Each dimension number must be in region [0, rank). Given rank {rank} and {dim}"
            )),
        };
        if space.len() + 2 != rank {
            return Err(invalid!(
                "Spatial dimensions size must be rank - 2. Given rank {rank} and {} spatial dimensions",
                space.len()
            ));
        }
        let space = space.iter().map(|dim| at(*dim)).collect::<Result<Vec<_>>>()?;
        let order = Order { first: at(first)?, second: at(second)?, space };
        let mut all: Vec<usize> = order.space.iter().copied().chain([order.first, order.second]).collect();
        all.sort_unstable();
        if all.into_iter().ne(0..rank) {
            return Err(invalid!("dimension numbers must name each dimension once, got {order:?}"));
        }
        Ok(order)
    }

    /// The tensor's sizes: the first two by meaning, and those of space.
    fn sizes(&self, dims: &[usize]) -> (usize, usize, Vec<usize>) {
        (dims[self.first], dims[self.second], self.space.iter().map(|dim| dims[*dim]).collect())
    }
}

/// A window along one dimension.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    pub stride: usize,
    /// Of the input, and of the filter.
    pub spread: usize,
    pub dilation: usize,
    pub input: usize,
    pub filter: usize,
    pub before: usize,
    /// The input, spread and padded.
    pub padded: usize,
    pub output: usize,
}

/// The sizes of a convolution.
#[derive(Clone, Debug)]
pub struct Dimensions {
    pub input: Order,
    pub kernel: Order,
    pub output: Order,
    pub axes: Vec<Axis>,
    pub batch: usize,
    pub depth: usize,
    pub outputs: usize,
    pub batch_groups: usize,
    pub feature_groups: usize,
}

/// The largest size of a dimension, and padding, stride or dilation.
const LARGEST: i64 = i32::MAX as i64;

/// Entry `i` of a list, which is 1 in an empty one.
fn entry(attrs: &Attrs, name: &str, count: usize, i: usize) -> Result<usize> {
    let list = attrs.ints(name)?;
    match (list.len(), list.get(i)) {
        (0, _) => Ok(1),
        (n, Some(v)) if n == count && (1..=LARGEST).contains(v) => Ok(*v as usize),
        _ => Err(invalid!("{name} must have {count} elements of at least 1, got {list:?}")),
    }
}

/// The size with `spread - 1` elements between each two.
fn spread(size: usize, spread: usize) -> Result<usize> {
    let size = size.saturating_sub(1).checked_mul(spread).and_then(|n| n.checked_add(size.min(1)));
    size.filter(|n| *n as u64 <= LARGEST as u64).ok_or_else(|| invalid!("a dilated size is too large"))
}

impl Dimensions {
    pub fn new(attrs: &Attrs, lhs: &[usize], rhs: &[usize]) -> Result<Dimensions> {
        let rank = lhs.len();
        if rhs.len() != rank || rank < 3 {
            return Err(invalid!("lhs and rhs must have the same dims, at least 3: got {lhs:?} and {rhs:?}"));
        }
        if rank > 5 {
            return Err(unimplemented("convolutions of more than 3 spatial dimensions are not supported"));
        }
        let [input, kernel, output] = orders(attrs, rank)?;
        let ((batch, depth, inputs), (outputs, taken, filters)) = (input.sizes(lhs), kernel.sizes(rhs));
        let groups = |name: &str| match attrs.int(name)? {
            n @ 1..=LARGEST => Ok(n as usize),
            n => Err(invalid!("{name} must be a positive integer, given: {n}")),
        };
        let (batch_groups, feature_groups) = (groups("batch_group_count")?, groups("feature_group_count")?);
        if depth % feature_groups != 0 || depth / feature_groups != taken || outputs % feature_groups != 0 {
            return Err(invalid!(
                "lhs feature dimension size divided by feature_group_count must equal the rhs input feature dimension size, and outputs be its multiple: {depth}, {feature_groups}, {taken}, {outputs}"
            ));
        }
        if batch % batch_groups != 0 || outputs % batch_groups != 0 {
            return Err(invalid!(
                "batch_group_count must divide lhs batch and rhs output dimension sizes: {batch_groups}, {batch}, {outputs}"
            ));
        }
        if batch_groups > 1 && feature_groups > 1 {
            return Err(unimplemented("groups of both batch and features are not supported"));
        }
        let axes = (0..rank - 2).map(|i| axis(attrs, rank - 2, i, inputs[i], filters[i]));
        let axes = axes.collect::<Result<Vec<_>>>()?;
        Ok(Dimensions { input, kernel, output, axes, batch, depth, outputs, batch_groups, feature_groups })
    }

    pub fn output_shape(&self) -> Result<Shape> {
        let mut dims = vec![0; self.axes.len() + 2];
        dims[self.output.first] = self.batch / self.batch_groups;
        dims[self.output.second] = self.outputs;
        for (dim, axis) in self.output.space.iter().zip(&self.axes) {
            dims[*dim] = axis.output;
        }
        Shape::new(&dims)
    }
}

/// The orders of input, filter and result. Without numbers, batch and channels come first.
pub fn orders(attrs: &Attrs, rank: usize) -> Result<[Order; 3]> {
    let bytes = attrs.bytes("dimension_numbers")?;
    let n = DimensionNumbers::decode(&bytes[..])
        .map_err(|_| invalid!("Error parsing convolution dimension numbers."))?;
    if n.input_spatial.is_empty() {
        let plain = Order { first: 0, second: 1, space: (2..rank).collect() };
        return Ok([plain.clone(), plain.clone(), plain]);
    }
    Ok([
        Order::new(rank, n.input_batch, n.input_feature, &n.input_spatial)?,
        Order::new(rank, n.kernel_output_feature, n.kernel_input_feature, &n.kernel_spatial)?,
        Order::new(rank, n.output_batch, n.output_feature, &n.output_spatial)?,
    ])
}

fn axis(attrs: &Attrs, count: usize, i: usize, input: usize, filter: usize) -> Result<Axis> {
    let stride = entry(attrs, "window_strides", count, i)?;
    let (apart, dilation) =
        (entry(attrs, "lhs_dilation", count, i)?, entry(attrs, "rhs_dilation", count, i)?);
    let (wide, reach) = (spread(input, apart)?, spread(filter, dilation)?);
    let explicit = attrs.ints("explicit_padding")?;
    let (before, after) = match attrs.str("padding")? {
        "EXPLICIT" => match explicit.get(2 * i..2 * i + 2) {
            Some(&[before, after])
                if explicit.len() == 2 * count && before.min(after) >= 0 && before.max(after) <= LARGEST =>
            {
                (before as usize, after as usize)
            }
            _ => {
                return Err(invalid!(
                    "explicit_padding must have {} elements of at least 0, got {explicit:?}",
                    2 * count
                ));
            }
        },
        padding if !explicit.is_empty() => {
            return Err(invalid!(
                "If padding Attr is not 'EXPLICIT', explicit_padding Attr must be empty, given {padding}"
            ));
        }
        "VALID" => (0, 0),
        "SAME" => {
            let total = (wide.div_ceil(stride).saturating_sub(1) * stride + reach).saturating_sub(wide);
            (total / 2, total - total / 2)
        }
        other => {
            return Err(invalid!(
                "padding Attr must be one of [EXPLICIT | SAME | VALID], but given: {other}"
            ));
        }
    };
    let padded = wide + before + after;
    if filter == 0 || padded < reach {
        return Err(invalid!("a window of {reach} does not fit in {padded} positions"));
    }
    let output = (padded - reach) / stride + 1;
    Ok(Axis { stride, spread: apart, dilation, input, filter, before, padded, output })
}
