//! The sampling positions of image resizing.

use crate::prelude::*;

/// How positions in the resized image map to the original.
#[derive(Clone, Copy)]
pub struct Mapping {
    align_corners: bool,
    half_pixel_centers: bool,
}

impl Mapping {
    pub fn of(attrs: &Attrs) -> Result<Mapping> {
        let (align_corners, half_pixel_centers) =
            (attrs.bool("align_corners")?, attrs.bool("half_pixel_centers")?);
        if align_corners && half_pixel_centers {
            return Err(invalid!("If half_pixel_centers is True, align_corners must be False."));
        }
        Ok(Mapping { align_corners, half_pixel_centers })
    }

    pub fn scale(&self, old: usize, new: usize) -> f32 {
        if self.align_corners && new > 1 {
            (old - 1) as f32 / (new - 1) as f32
        } else {
            old as f32 / new as f32
        }
    }

    /// For each output position, its two input neighbours, and the weight of the second.
    pub fn linear(&self, old: usize, new: usize) -> Result<Vec<(usize, usize, f32)>> {
        let scale = self.scale(old, new);
        let tap = |i: usize| {
            let (x, last) = (self.place(i, scale), old - 1);
            let low = x.floor();
            ((low.max(0.0) as usize).min(last), (x.ceil().max(0.0) as usize).min(last), x - low)
        };
        reserve::collect((0..new).map(tap))
    }

    /// A mapping without half pixels.
    pub fn with_corners(attrs: &Attrs) -> Result<Mapping> {
        Ok(Mapping { align_corners: attrs.bool("align_corners")?, half_pixel_centers: false })
    }

    pub fn has_half_pixels(&self) -> bool {
        self.half_pixel_centers
    }

    /// The place in the input of output position `i`.
    pub fn place(&self, i: usize, scale: f32) -> f32 {
        match self.half_pixel_centers {
            true => (i as f32 + 0.5) * scale - 0.5,
            false => i as f32 * scale,
        }
    }

    /// For each output position, the nearest input.
    pub fn nearest(&self, old: usize, new: usize) -> Result<Vec<usize>> {
        let scale = self.scale(old, new);
        let at = |i: usize| {
            let x = if self.half_pixel_centers { (i as f32 + 0.5) * scale } else { i as f32 * scale };
            let x = if self.align_corners { x.round() } else { x.floor() };
            (x.max(0.0) as usize).min(old - 1)
        };
        reserve::collect((0..new).map(at))
    }
}

/// Images of this shape: batch, rows, columns, channels.
pub fn four(c: &OpCall<'_>, i: usize) -> Result<[usize; 4]> {
    let shape = c.shape(i)?;
    <[usize; 4]>::try_from(shape.dims())
        .map_err(|_| invalid!("{} must be 4-dimensional, got {shape}", c.input_name(i)))
}

/// Rows and columns, from input `i`.
pub fn size_input(c: &OpCall<'_>, i: usize) -> Result<[usize; 2]> {
    match c.int_vector(i)?[..] {
        [rows, cols] if rows > 0 && cols > 0 => Ok([rows as usize, cols as usize]),
        [rows, cols] => Err(invalid!("output dimensions must be positive, got {rows} by {cols}")),
        ref other => Err(invalid!("size must have 2 elements, got {}", other.len())),
    }
}

pub fn not_empty(dims: &[usize; 4]) -> Result<()> {
    if dims[1] == 0 || dims[2] == 0 {
        Err(invalid!("input image must be of non-zero size, got {dims:?}"))
    } else {
        Ok(())
    }
}

/// The shape of input 0 resized to the size in input 1.
pub fn resized_shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (x, size) = (c.rank(0, 4)?, c.as_shape(1)?.merge(&PartialShape::unknown_of_rank(2))?);
    Ok(vec![[x.dim(0), size.dim(0), size.dim(1), x.dim(3)].into_iter().collect()])
}

/// Rows and columns of images, as a tensor.
pub fn size_of(g: &mut GradCall<'_>, images: Output) -> Result<Output> {
    let shape = g.shape_of(images)?;
    let [from, to] = [g.constant(int_vector(&[1]))?, g.constant(int_vector(&[2]))?];
    g.op("Slice", [shape.into(), from.into(), to.into()], &[])
}

pub fn mapping_attrs(attrs: &Attrs) -> Vec<(&'static str, Attr)> {
    let names = ["align_corners", "half_pixel_centers"];
    names.iter().filter_map(|name| Some((*name, attrs.get(name)?.clone()))).collect()
}

/// Cases for each mapping.
pub fn with_each_mapping(mut case: impl FnMut() -> Case) -> Vec<Case> {
    vec![case(), case().attr("align_corners", true), case().attr("half_pixel_centers", true)]
}
