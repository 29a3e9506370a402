//! Broadcasting: how two shapes are aligned, and the iteration over their rows.

use crate::prelude::*;
use smallvec::SmallVec;

/// Two shapes broadcast to one, with neighbouring dimensions of the same strides merged.
pub struct BroadcastPlan {
    shape: Shape,
    /// Merged dimensions, outermost first: size, and the stride of each input (0: broadcast).
    dims: SmallVec<[(usize, usize, usize); 4]>,
    simple: bool,
}

impl BroadcastPlan {
    pub fn new(a: &Shape, b: &Shape) -> Result<Self> {
        if a == b {
            let n = a.elements();
            return Ok(BroadcastPlan {
                shape: a.clone(),
                dims: smallvec::smallvec![(n, 1, 1)],
                simple: true,
            });
        }
        let shape = broadcast_shape(a, b)?;
        let simple = (a.elements() == 1 && *b == shape) || (b.elements() == 1 && *a == shape);
        let dims = merged_dims(&shape, a, b);
        Ok(BroadcastPlan { shape, dims, simple })
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Same shapes, or one input is a single element: no strides are needed.
    pub fn is_simple(&self) -> bool {
        self.simple
    }

    /// Elements of the innermost merged dimension.
    pub fn row(&self) -> usize {
        self.dims.last().map_or(1, |d| d.0)
    }

    /// The stride of each input along a row.
    pub fn row_steps(&self) -> (usize, usize) {
        self.dims.last().map_or((0, 0), |d| (d.1.min(1), d.2.min(1)))
    }

    pub fn walk(&self) -> RowWalk<'_> {
        self.walk_from(0)
    }

    /// The rows from number `first` on.
    pub fn walk_from(&self, mut first: usize) -> RowWalk<'_> {
        let outer = &self.dims[..self.dims.len().saturating_sub(1)];
        let mut at = SmallVec::from_elem(0, outer.len());
        let mut offsets = (0, 0);
        for (d, (n, a, b)) in outer.iter().enumerate().rev() {
            at[d] = first % (*n).max(1);
            first /= (*n).max(1);
            offsets = (offsets.0 + at[d] * a, offsets.1 + at[d] * b);
        }
        RowWalk { outer, at, offsets, started: false }
    }
}

/// The shape of two broadcast together.
pub fn broadcast_shape(a: &Shape, b: &Shape) -> Result<Shape> {
    let rank = a.rank().max(b.rank());
    let at = |s: &Shape, i: usize| (i + s.rank()).checked_sub(rank).map_or(1, |j| s[j]);
    let dims: Result<SmallVec<[usize; 4]>> = (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (1, d) | (d, 1) => Ok(d),
            (d, e) if d == e => Ok(d),
            _ => Err(invalid!("Incompatible shapes: {a} vs. {b}")),
        })
        .collect();
    Shape::new(&dims?)
}

fn merged_dims(shape: &Shape, a: &Shape, b: &Shape) -> SmallVec<[(usize, usize, usize); 4]> {
    let rank = shape.rank();
    let step = |s: &Shape, i: usize| -> usize {
        match (i + s.rank()).checked_sub(rank) {
            Some(j) if s[j] != 1 => s[j + 1..].iter().product(),
            _ => 0,
        }
    };
    let mut dims: SmallVec<[(usize, usize, usize); 4]> = SmallVec::new();
    for i in 0..rank {
        if shape[i] == 1 {
            continue;
        }
        let (n, sa, sb) = (shape[i], step(a, i), step(b, i));
        // An outer dimension merges with an inner one if its stride is the extent of the inner.
        match dims.last_mut() {
            Some(last)
                if last.1 == sa * n
                    && last.2 == sb * n
                    && (last.1 == 0) == (sa == 0)
                    && (last.2 == 0) == (sb == 0) =>
            {
                *last = (last.0 * n, sa, sb);
            }
            _ => dims.push((n, sa, sb)),
        }
    }
    if dims.is_empty() {
        dims.push((shape.elements(), 0, 0));
    }
    dims
}

/// Offsets of the rows of both inputs, in the order of the output.
pub struct RowWalk<'a> {
    outer: &'a [(usize, usize, usize)],
    at: SmallVec<[usize; 4]>,
    offsets: (usize, usize),
    started: bool,
}

impl RowWalk<'_> {
    /// Offsets of the next row; called once per row of the output.
    pub fn next_offsets(&mut self) -> (usize, usize) {
        if !self.started {
            self.started = true;
            return self.offsets;
        }
        for (d, (n, sa, sb)) in self.outer.iter().enumerate().rev() {
            self.at[d] += 1;
            self.offsets.0 += sa;
            self.offsets.1 += sb;
            if self.at[d] < *n {
                break;
            }
            self.at[d] = 0;
            self.offsets.0 -= sa * n;
            self.offsets.1 -= sb * n;
        }
        self.offsets
    }
}
