//! The window of a pooling, from attrs or from inputs.

use crate::nn::batch_norm::Channels;
use crate::prelude::*;
use crate::windows::{Layout, Sliding};
use thalweg_math::window::Grid;

#[derive(Clone, Copy)]
pub struct Pool {
    sliding: Sliding,
    size: [usize; 3],
    /// Channels pooled together; 1 unless only channels are pooled.
    pub depth: usize,
}

impl Pool {
    /// From the attrs `ksize`, `strides`, `padding` and so on.
    pub fn of(attrs: &Attrs) -> Result<Pool> {
        Pool::new(attrs, &attrs.ints("ksize")?, &attrs.ints("strides")?)
    }

    fn new(attrs: &Attrs, size: &[i64], strides: &[i64]) -> Result<Pool> {
        let layout = Layout::of(attrs)?;
        let rank = layout.rank();
        if size.len() != rank || strides.len() != rank {
            return Err(invalid!(
                "ksize and strides must specify {rank} dimensions, got {size:?} and {strides:?}"
            ));
        }
        if size.iter().chain(strides).any(|v| *v < 1 || *v > i32::MAX as i64) {
            return Err(invalid!(
                "ksize and strides must be positive 32-bit numbers, got {size:?} and {strides:?}"
            ));
        }
        if size[0] != 1 {
            return Err(unimplemented(format_args!(
                "Pooling is not yet supported on the batch dimension: ksize {size:?}"
            )));
        }
        let depth = size[layout.channels];
        let mut along = strides.to_vec();
        if depth > 1 {
            let alone =
                layout.space().into_iter().flatten().all(|axis| size[axis] == 1 && strides[axis] == 1);
            if !alone || strides[layout.channels] != depth || rank == 5 {
                return Err(unimplemented(format_args!(
                    "Pooling across depth needs windows of 1 in the other dimensions, and the window as stride: \
                     ksize {size:?}, strides {strides:?}"
                )));
            }
            along[layout.channels] = 1;
        }
        let pool = Pool {
            sliding: Sliding::with_strides(attrs, &along)?,
            size: layout.space().map(|axis| axis.map_or(1, |axis| size[axis] as usize)),
            depth: depth as usize,
        };
        pool.sliding.check_padding_inside(pool.size)?;
        Ok(pool)
    }

    /// Of volumes, with channels last; and the layout that they have.
    pub fn of_volumes(attrs: &Attrs) -> Result<(Pool, Channels)> {
        let mut pool = Pool::of(attrs)?;
        let channels = Channels { first: !pool.sliding.layout.channels_last(), rank: 5 };
        pool.sliding.layout = Layout::NDHWC;
        Ok((pool, channels))
    }

    /// The rank of the images or volumes.
    pub fn rank(&self) -> usize {
        self.sliding.layout.rank()
    }

    /// The number of channels.
    pub fn channels(&self, images: &Shape) -> Result<usize> {
        images.dim(self.sliding.layout.channels)
    }

    /// The window over images of this shape, with channels innermost.
    pub fn grid(&self, images: &Shape) -> Result<Grid> {
        if !self.sliding.layout.channels_last() {
            return Err(unimplemented("pooling on the CPU needs data_format NHWC"));
        }
        self.sliding.grid(images.dims(), self.size)
    }

    pub fn output(&self, images: &Shape) -> Result<Shape> {
        let (grid, channels) = (self.grid(images)?, self.channels(images)?);
        if channels % self.depth != 0 {
            return Err(unimplemented(format_args!(
                "Pooling across depth requires the depth window to evenly divide the input depth: {channels} by {}",
                self.depth
            )));
        }
        let (depth, Grid { batch, planes, rows, cols }) = (channels / self.depth, grid);
        match self.sliding.layout.planes {
            Some(_) => Shape::new(&[batch, planes.output, rows.output, cols.output, depth]),
            None => Shape::new(&[batch, rows.output, cols.output, depth]),
        }
    }

    pub fn known_output(&self, images: &PartialShape) -> Result<PartialShape> {
        let channels = images.dim(self.sliding.layout.channels);
        let depth = if channels < 0 { -1 } else { channels / self.depth as i64 };
        self.sliding.shape(images, self.size.map(|n| n as i64), depth)
    }

    /// As `grid`; rejects pooling of channels.
    pub fn grid_of_planes(&self, images: &Shape) -> Result<Grid> {
        if self.depth != 1 {
            return Err(unimplemented("this pooling is not supported on the depth dimension"));
        }
        self.grid(images)
    }
}

/// The source of a kernel's window.
pub enum Source {
    Fixed(Pool),
    /// Inputs from this index: `ksize` and `strides`.
    Inputs(Attrs, usize),
}

impl Source {
    /// From attr `ksize` if the op has it, else from inputs from `input` on.
    pub fn of(attrs: &Attrs, input: usize) -> Result<Source> {
        match attrs.get("ksize") {
            Some(_) => Pool::of(attrs).map(Source::Fixed),
            None => Ok(Source::Inputs(attrs.clone(), input)),
        }
    }

    pub fn pool(&self, c: &OpCall<'_>) -> Result<Pool> {
        match self {
            Source::Fixed(pool) => Ok(*pool),
            Source::Inputs(attrs, i) => Pool::new(attrs, &c.int_vector(*i)?, &c.int_vector(i + 1)?),
        }
    }

    /// Shape rules: the window, if it is known.
    pub fn known(c: &ShapeCall<'_>, input: usize) -> Result<Option<Pool>> {
        if c.attrs.get("ksize").is_some() {
            return Pool::of(c.attrs).map(Some);
        }
        c.rank(input, 1)?;
        c.rank(input + 1, 1)?;
        match (c.ints(input), c.ints(input + 1)) {
            (Some(size), Some(strides)) => Pool::new(c.attrs, &size, &strides).map(Some),
            _ => Ok(None),
        }
    }
}

/// A case with this window, stride and padding along rows and columns.
pub fn with_window(case: Case, size: [i64; 2], strides: [i64; 2], padding: &str) -> Case {
    let four = |[h, w]: [i64; 2]| Attr::ints(&[1, h, w, 1]);
    case.attr("ksize", four(size)).attr("strides", four(strides)).attr("padding", padding)
}

/// Attrs shared by a pooling and its gradients.
pub fn window_attrs(attrs: &Attrs, names: &[&'static str]) -> Vec<(&'static str, Attr)> {
    names.iter().filter_map(|name| Some((*name, attrs.get(name)?.clone()))).collect()
}

/// Rejects a gradient that has not the shape of the result.
pub fn check_shape(what: &str, got: &Shape, want: &Shape) -> Result<()> {
    if got == want { Ok(()) } else { Err(invalid!("Expected {what} shape to be {want}, but got {got}")) }
}
