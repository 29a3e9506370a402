//! Which elements are shown, and the layout: brackets, lines.

use crate::shape::Shape;

/// Above this many elements only the edges are shown, three at each end of a dimension.
const SUMMARISE_ABOVE: usize = 1000;
const EDGE: usize = 3;
const LINE: usize = 75;
const GAP: &str = "...";

/// The positions shown of each dimension; `None` is the ellipsis.
pub struct Window {
    dims: Vec<Vec<Option<usize>>>,
    strides: Vec<usize>,
}

impl Window {
    pub fn of(shape: &Shape) -> Window {
        let short = shape.elements() > SUMMARISE_ABOVE;
        let shown = |n: &usize| match *n {
            n if short && n > 2 * EDGE => {
                (0..EDGE).map(Some).chain([None]).chain((n - EDGE..n).map(Some)).collect()
            }
            n => (0..n).map(Some).collect(),
        };
        Window { dims: shape.iter().map(shown).collect(), strides: shape.strides().to_vec() }
    }

    /// Row-major indices of the shown elements.
    pub fn indices(&self) -> Vec<usize> {
        let mut places = vec![0];
        for (dim, stride) in self.dims.iter().zip(&self.strides) {
            let shown: Vec<usize> = dim.iter().flatten().map(|at| at * stride).collect();
            places = places.iter().flat_map(|from| shown.iter().map(move |at| from + at)).collect();
        }
        places
    }

    /// The text of the array with these elements.
    pub fn lay_out(&self, cells: Vec<String>) -> String {
        let mut out = String::new();
        self.put(0, &mut cells.into_iter(), &mut out);
        out
    }

    /// Appends dimension `axis` and all within it. The rank is at most 254, and so is the depth.
    fn put(&self, axis: usize, cells: &mut std::vec::IntoIter<String>, out: &mut String) {
        out.push('[');
        if axis + 1 == self.dims.len() {
            self.put_row(axis, cells, out);
        } else {
            for (i, at) in self.dims[axis].iter().enumerate() {
                if i > 0 {
                    out.extend(std::iter::repeat_n('\n', self.dims.len() - axis - 1));
                    out.extend(std::iter::repeat_n(' ', axis + 1));
                }
                match at {
                    Some(_) => self.put(axis + 1, cells, out),
                    None => out.push_str(GAP),
                }
            }
        }
        out.push(']');
    }

    /// Elements of the last dimension, broken into lines.
    fn put_row(&self, axis: usize, cells: &mut std::vec::IntoIter<String>, out: &mut String) {
        let (indent, limit) = (axis + 1, LINE - axis.min(LINE - 2) - 1);
        let mut line = indent;
        for (i, at) in self.dims[axis].iter().enumerate() {
            let cell = match at {
                Some(_) => cells.next().unwrap_or_default(),
                None => GAP.to_string(),
            };
            let width = cell.chars().count();
            line += usize::from(i > 0);
            if line + width > limit && line > indent {
                out.truncate(out.trim_end_matches(' ').len());
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                line = indent;
            } else if i > 0 {
                out.push(' ');
            }
            out.push_str(&cell);
            line += width;
        }
    }
}
