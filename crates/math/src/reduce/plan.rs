//! The shape of a reduction, with adjacent axes collapsed.

/// The mapping from the elements of an array to the outputs.
#[derive(Clone, Debug)]
pub struct Plan {
    input_len: usize,
    output_len: usize,
    pub(super) inner: Inner,
    /// The other axes, outside of the inner ones.
    pub(super) kept: Axes,
    pub(super) reduced: Axes,
}

/// The innermost axes, which are contiguous in memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inner {
    /// A row reduction, over a contiguous axis of this length.
    Reduced { len: usize },
    /// A column reduction: `rows` consecutive rows of `width` elements are reduced to one.
    Kept { rows: usize, width: usize },
}

/// Some axes of an array, the outermost first.
#[derive(Clone, Debug, Default)]
pub(super) struct Axes(Vec<Axis>);

#[derive(Clone, Copy, Debug)]
struct Axis {
    size: usize,
    stride: usize,
}

impl Plan {
    /// A plan for arrays of this shape; `reduced` says which axes are reduced.
    pub fn new(shape: &[usize], reduced: &[bool]) -> Self {
        assert_eq!(shape.len(), reduced.len());
        let sizes = |kept| shape.iter().zip(reduced).filter(move |&(_, r)| *r != kept).map(|(size, _)| size);
        let (mut inner, mut axes) = (Inner::Reduced { len: 1 }, collapse(shape, reduced));
        match axes.pop() {
            None => {}
            Some((axis, true)) => inner = Inner::Reduced { len: axis.size },
            // After collapsing, kept and reduced axes alternate.
            Some((axis, false)) => {
                let rows = axes.pop().map_or(1, |(rows, _)| rows.size);
                inner = Inner::Kept { rows, width: axis.size };
            }
        }
        let of_kind = |kind| Axes(axes.iter().filter(|&&(_, r)| r == kind).map(|&(axis, _)| axis).collect());
        Self {
            input_len: shape.iter().product(),
            output_len: sizes(true).product(),
            inner,
            kept: of_kind(false),
            reduced: of_kind(true),
        }
    }

    pub fn input_len(&self) -> usize {
        self.input_len
    }

    pub fn output_len(&self) -> usize {
        self.output_len
    }

    /// Elements that are reduced to one output.
    pub fn reduced_len(&self) -> usize {
        self.input_len.checked_div(self.output_len).unwrap_or(0)
    }
}

/// Merges adjacent axes of one kind and drops axes of size one.
fn collapse(shape: &[usize], reduced: &[bool]) -> Vec<(Axis, bool)> {
    let mut axes: Vec<(Axis, bool)> = Vec::new();
    let mut stride = 1;
    for (&size, &reduced) in shape.iter().zip(reduced).rev().filter(|&(&size, _)| size != 1) {
        match axes.last_mut() {
            Some((inner, kind)) if *kind == reduced => inner.size *= size,
            _ => axes.push((Axis { size, stride }, reduced)),
        }
        stride *= size;
    }
    axes.reverse();
    axes
}

impl Axes {
    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|axis| axis.size).product()
    }

    /// The offset in the array of the `index`-th combination of coordinates.
    #[inline]
    pub(super) fn offset(&self, mut index: usize) -> usize {
        let mut offset = 0;
        for axis in self.0.iter().rev() {
            offset += index % axis.size * axis.stride;
            index /= axis.size;
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_kind_become_one_axis() {
        let plan = Plan::new(&[2, 1, 3, 4, 5, 1, 6], &[true, false, true, false, false, true, true]);
        assert!(matches!(plan.inner, Inner::Reduced { len: 6 }));
        assert_eq!((plan.kept.count(), plan.reduced.count()), (20, 6));
        assert_eq!((plan.input_len(), plan.output_len(), plan.reduced_len()), (720, 20, 36));
        assert_eq!([0, 1, 2].map(|i| plan.kept.offset(i)), [0, 6, 12]);
        assert_eq!([0, 1, 2].map(|i| plan.reduced.offset(i)), [0, 120, 240]);
    }

    #[test]
    fn an_inner_kept_axis_takes_the_rows_around_it() {
        let plan = Plan::new(&[2, 3, 4, 5], &[false, true, true, false]);
        assert!(matches!(plan.inner, Inner::Kept { rows: 12, width: 5 }));
        assert_eq!((plan.kept.count(), plan.reduced.count()), (2, 1));
    }
}
