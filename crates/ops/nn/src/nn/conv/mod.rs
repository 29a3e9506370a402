//! Convolutions and depthwise convolutions, with their gradients.

mod conv2d;
mod conv2d_backprop_filter;
mod conv2d_backprop_input;
mod conv3d;
mod depthwise;
mod direct;
mod general;
mod padded_conv2d;
mod product;
mod sizes;

pub use conv2d::{CONV2D, convolved, convolved_tensors};
pub use depthwise::{DEPTHWISE_CONV2D_NATIVE, convolved_by_channel, output_shape as output_shape_by_channel};

use crate::narrow::in_float;
use crate::prelude::*;
use crate::windows::Sliding;
pub use product::Multiplied;
pub use sizes::{channels_last, output_shape};

pub static OPS: &[&Op] = &[
    &general::CONV,
    &CONV2D,
    &conv2d_backprop_filter::CONV2D_BACKPROP_FILTER,
    &conv2d_backprop_input::CONV2D_BACKPROP_INPUT,
    &conv3d::CONV3D,
    &conv3d::CONV3D_BACKPROP_FILTER,
    &conv3d::CONV3D_BACKPROP_FILTER_V2,
    &conv3d::CONV3D_BACKPROP_INPUT,
    &conv3d::CONV3D_BACKPROP_INPUT_V2,
    &DEPTHWISE_CONV2D_NATIVE,
    &padded_conv2d::FUSED_PAD_CONV2D,
    &padded_conv2d::FUSED_RESIZE_AND_PAD_CONV2D,
    &depthwise::DEPTHWISE_CONV2D_NATIVE_BACKPROP_FILTER,
    &depthwise::DEPTHWISE_CONV2D_NATIVE_BACKPROP_INPUT,
];

/// Attrs shared by a convolution and its gradients.
fn shared_attrs(attrs: &Attrs) -> Vec<(&'static str, Attr)> {
    ["strides", "use_cudnn_on_gpu", "padding", "explicit_paddings", "data_format", "dilations"]
        .iter()
        .filter_map(|name| Some((*name, attrs.get(name)?.clone())))
        .collect()
}

/// A case with these strides, dilations and padding along rows and columns.
pub fn with_windows(case: Case, strides: [i64; 2], dilations: [i64; 2], padding: &str) -> Case {
    let four = |[h, w]: [i64; 2]| Attr::ints(&[1, h, w, 1]);
    case.attr("strides", four(strides)).attr("dilations", four(dilations)).attr("padding", padding)
}

/// Builds a convolution's gradient ops, from inputs and attrs.
struct Gradients<'a, 'b> {
    g: &'a mut GradCall<'b>,
    attrs: Vec<(&'static str, Attr)>,
    /// The op, and its input and filter gradients.
    ops: [&'static str; 3],
}

impl<'a, 'b> Gradients<'a, 'b> {
    fn new(g: &'a mut GradCall<'b>, ops: [&'static str; 3]) -> Self {
        let attrs = shared_attrs(g.attrs);
        Gradients { g, attrs, ops }
    }

    fn output(&mut self, images: Output, filter: Output) -> Result<Grad> {
        Ok(self.g.op(self.ops[0], [images.into(), filter.into()], &self.attrs)?.into())
    }

    fn images(&mut self, like: Output, filter: Output, dy: Output) -> Result<Grad> {
        let sizes = self.g.shape_of(like)?;
        Ok(self.g.op(self.ops[1], [sizes.into(), filter.into(), dy.into()], &self.attrs)?.into())
    }

    fn filter(&mut self, images: Output, like: Output, dy: Output) -> Result<Grad> {
        let sizes = self.g.shape_of(like)?;
        Ok(self.g.op(self.ops[2], [images.into(), sizes.into(), dy.into()], &self.attrs)?.into())
    }

    /// Of the convolution: to images and filter.
    fn of_output(mut self) -> Result<Vec<Grad>> {
        let (x, f, dy) = (self.g.x[0], self.g.x[1], self.g.dy()?);
        Ok(vec![self.images(x, f, dy)?, self.filter(x, f, dy)?])
    }

    /// Of its input gradient: to filter and gradient.
    fn of_images(mut self) -> Result<Vec<Grad>> {
        let (f, dout, d) = (self.g.x[1], self.g.x[2], self.g.dy()?);
        Ok(vec![Grad::None, self.filter(d, f, dout)?, self.output(d, f)?])
    }

    /// Of its filter gradient: to images and gradient.
    fn of_filter(mut self) -> Result<Vec<Grad>> {
        let (x, dout, d) = (self.g.x[0], self.g.x[2], self.g.dy()?);
        Ok(vec![self.images(x, d, dout)?, Grad::None, self.output(x, d)?])
    }
}

/// A kernel, given the window parameters from the attrs.
type Run = fn(&mut OpCall<'_>, &Sliding) -> Result<()>;

fn kernel(node: &KernelNode, run: Run) -> Result<Box<dyn Kernel>> {
    let sliding = channels_last(Sliding::of(&node.attrs)?)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run(c, &sliding)))
}

/// As `kernel`, for halves: `run` is for float.
fn narrow_kernel<T: Float>(node: &KernelNode, run: Run) -> Result<Box<dyn Kernel>> {
    let sliding = channels_last(Sliding::of(&node.attrs)?)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_float::<T>(c, &|c| run(c, &sliding))))
}
