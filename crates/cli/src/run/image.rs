//! An image file as the tensor that a graph takes: decoded, resized and batched as the shape asks.

use thalweg::{Attr, Output, Scope, Session};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::shape::{PartialShape, Shape};
use thalweg_core::tensor::Tensor;

/// Pixels from 0 to 255. An input of strings gets the file's bytes, for graphs that decode images themselves.
pub fn tensor(bytes: Vec<u8>, dtype: DataType, shape: &PartialShape) -> Result<Tensor> {
    if dtype == DataType::String {
        return file(bytes, shape);
    }
    let g = Scope::new();
    let contents = g.constant(Tensor::string(bytes));
    // The last dimensions of the input: height, width and channels.
    let dims = shape.dims().unwrap_or(&[-1, -1, -1, 0]);
    let image_dims = dims.get(dims.len().saturating_sub(3)..).unwrap_or_default();
    let (size, channels) = match image_dims {
        [height, width, channels] => (Some((*height, *width)), (*channels).max(0)),
        _ => (None, 0),
    };
    let decoded = g
        .op("DecodeImage")
        .input(&contents)
        .attr("channels", Attr::Int(channels))
        .attr("dtype", DataType::Uint8)
        .attr("expand_animations", false)
        .output();
    let mut image = resized(&g, &g.op("ExpandDims").input(&decoded).input(g.constant(0)).output(), size);
    if dims.len() < 4 {
        image = g.op("Squeeze").input(&image).attr("squeeze_dims", Attr::ints(&[0])).output();
    }
    let cast = g.op("Cast").input(&image).attr("DstT", dtype).output();
    Session::new(&g)?.run(&cast, &[])
}

/// To the height and width that the input has, if it has them; bilinear, as `tf.image.resize`.
fn resized(g: &Scope, image: &Output, size: Option<(i64, i64)>) -> Output {
    let side = |n: i64| i32::try_from(n).ok().filter(|n| *n > 0);
    let sides = size.and_then(|(height, width)| Some([side(height)?, side(width)?]));
    let Some(sides) = sides else { return image.clone() };
    let bilinear = g.op("ResizeBilinear").input(image).input(g.constant(sides));
    bilinear.attr("half_pixel_centers", true).output()
}

fn file(bytes: Vec<u8>, shape: &PartialShape) -> Result<Tensor> {
    match shape.rank() {
        Some(1) => Tensor::from_objects(Shape::vector(1), vec![bytes::Bytes::from(bytes)]),
        _ => Ok(Tensor::string(bytes)),
    }
}
