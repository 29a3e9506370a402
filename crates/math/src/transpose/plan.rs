//! A transposition with axes collapsed.

/// Element sizes that are moved as one value.
const SINGLE: [usize; 8] = [1, 2, 3, 4, 6, 8, 12, 16];

/// A transposition in which axes that stay adjacent are merged, and an innermost
/// axis that stays innermost is part of the element.
pub(super) struct Plan {
    /// Bytes of an element.
    pub(super) size: usize,
    /// Bytes of the whole array.
    pub(super) bytes: usize,
    /// The axes in the order of the output. The last one is not the innermost
    /// of the input, or there is none.
    pub(super) axes: Vec<Axis>,
}

/// Strides are in elements of the plan's size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) len: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Plan {
    pub(super) fn new(size: usize, shape: &[usize], perm: &[usize]) -> Self {
        assert_eq!(shape.len(), perm.len());
        let mut axes = collapse(shape, perm);
        let bytes = size * shape.iter().product::<usize>();
        let mut size = size;
        if let Some(last) = axes.pop_if(|last| last.from == 1) {
            size *= last.len;
            for axis in &mut axes {
                axis.from /= last.len;
                axis.to /= last.len;
            }
        }
        if axes.is_empty() && SINGLE.contains(&size) {
            // A single element: left to `runs`.
            axes.push(Axis { len: 1, from: 1, to: 1 });
        }
        Self { size, bytes, axes }
    }
}

/// The axes in output order, merged where they stay adjacent.
fn collapse(shape: &[usize], perm: &[usize]) -> Vec<Axis> {
    let mut from = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        from[axis - 1] = from[axis] * shape[axis];
    }
    let mut seen = vec![false; shape.len()];
    let mut axes: Vec<Axis> = Vec::new();
    let mut to = 1;
    for &axis in perm.iter().rev() {
        assert!(!std::mem::replace(&mut seen[axis], true), "an axis occurs twice");
        let len = shape[axis];
        if len == 1 {
            continue;
        }
        match axes.last_mut() {
            Some(inner) if from[axis] == inner.from * inner.len => inner.len *= len,
            _ => axes.push(Axis { len, from: from[axis], to }),
        }
        to *= len;
    }
    axes.reverse();
    axes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_that_stay_together_are_joined() {
        let plan = Plan::new(4, &[2, 3, 1, 5, 7], &[3, 2, 4, 0, 1]);
        assert_eq!(plan.size, 4);
        assert_eq!(plan.axes, [Axis { len: 35, from: 1, to: 6 }, Axis { len: 6, from: 35, to: 1 }]);
    }

    #[test]
    fn an_inner_axis_that_stays_inner_enlarges_the_element() {
        let plan = Plan::new(4, &[5, 7, 3], &[1, 0, 2]);
        assert_eq!(plan.size, 12);
        assert_eq!(plan.axes, [Axis { len: 7, from: 1, to: 5 }, Axis { len: 5, from: 7, to: 1 }]);
        assert_eq!(Plan::new(4, &[5, 7, 3], &[0, 1, 2]).size, 420);
    }
}
