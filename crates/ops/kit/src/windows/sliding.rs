//! Strides, dilations and padding, and the output sizes that follow from them.

use super::Layout;
use crate::prelude::*;
use thalweg_math::window::{Grid, WindowAxis};

/// The padding along one dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Padding {
    Valid,
    Same,
    Explicit(usize, usize),
}

/// A window along one dimension.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub size: usize,
    pub stride: usize,
    pub dilation: usize,
    pub padding: Padding,
}

impl Window {
    /// The window over a dimension of `input` positions.
    pub fn over(&self, input: usize) -> Result<WindowAxis> {
        let too_large = || invalid!("a window of {} with dilation {} is too large", self.size, self.dilation);
        let reach = match self.size {
            0 => return Err(invalid!("a window must have at least one element")),
            n => (n - 1).checked_mul(self.dilation).and_then(|r| r.checked_add(1)).ok_or_else(too_large)?,
        };
        let (before, output) = match self.padding {
            Padding::Same => {
                let output = input.div_ceil(self.stride);
                let needed =
                    (output.saturating_sub(1) * self.stride).checked_add(reach).ok_or_else(too_large)?;
                (needed.saturating_sub(input) / 2, output)
            }
            Padding::Valid => (0, self.places(input, reach)?),
            Padding::Explicit(before, after) => {
                let padded = input.checked_add(before).and_then(|n| n.checked_add(after));
                let padded = padded
                    .ok_or_else(|| invalid!("{input} positions with {before} and {after} are too many"))?;
                (before, self.places(padded, reach)?)
            }
        };
        let (size, stride, dilation) = (self.size, self.stride, self.dilation);
        Ok(WindowAxis { input, output, size, stride, dilation, before })
    }

    /// Output positions for `n` elements. As in TensorFlow, a window too large by less than its stride has none, by more it is an
    /// error.
    fn places(&self, n: usize, reach: usize) -> Result<usize> {
        if reach >= n.saturating_add(self.stride.saturating_mul(2)) {
            return Err(invalid!(
                "Computed output size would be negative: [input_size: {n}, effective_filter_size: {reach}, stride: {}]",
                self.stride
            ));
        }
        Ok((n + self.stride).saturating_sub(reach) / self.stride)
    }

    /// The output size of `over`, for a dimension that may be unknown (-1).
    pub fn known_places(&self, input: i64) -> Result<i64> {
        if input < 0 { Ok(-1) } else { self.over(input as usize).map(|s| s.output as i64) }
    }
}

/// How a window slides over planes, rows and columns: all but its size. Over images it stays on their one plane.
#[derive(Clone, Copy, Debug)]
pub struct Sliding {
    pub layout: Layout,
    strides: [usize; 3],
    dilations: [usize; 3],
    padding: [Padding; 3],
}

impl Sliding {
    /// From the attrs `strides`, `dilations`, `padding`, `explicit_paddings` and `data_format`, as far as the op has them.
    pub fn of(attrs: &Attrs) -> Result<Sliding> {
        Sliding::with_strides(attrs, &attrs.ints("strides")?)
    }

    /// As `of`, with these strides.
    pub fn with_strides(attrs: &Attrs, strides: &[i64]) -> Result<Sliding> {
        Sliding::over(Layout::of(attrs)?, attrs, strides)
    }

    /// As `with_strides`, for this layout.
    pub fn over(layout: Layout, attrs: &Attrs, strides: &[i64]) -> Result<Sliding> {
        let strides = along("strides", strides, &layout)?;
        let dilations = match attrs.ints("dilations").or_else(|_| attrs.ints("rates")) {
            Ok(dilations) if dilations.is_empty() => [1; 3],
            Ok(dilations) => along("dilations", &dilations, &layout)?,
            Err(_) => [1; 3],
        };
        let explicit = attrs.ints("explicit_paddings").unwrap_or_default();
        let padding = match attrs.str("padding")? {
            "VALID" => [Padding::Valid; 3],
            "SAME" => [Padding::Same; 3],
            _ => explicit_paddings(&explicit, &layout)?,
        };
        if padding.iter().all(|p| !matches!(p, Padding::Explicit(..))) && !explicit.is_empty() {
            return Err(invalid!(
                "explicit_paddings must be empty if padding is not EXPLICIT, got {explicit:?}"
            ));
        }
        Ok(Sliding { layout, strides, dilations, padding })
    }

    /// The windows along planes, rows and columns, for this size.
    pub fn windows(&self, size: [usize; 3]) -> [Window; 3] {
        [0, 1, 2].map(|i| Window {
            size: size[i],
            stride: self.strides[i],
            dilation: self.dilations[i],
            padding: self.padding[i],
        })
    }

    /// A window of that size over images or volumes of this shape.
    pub fn grid(&self, images: &[usize], size: [usize; 3]) -> Result<Grid> {
        let [planes, rows, cols] = self.windows(size);
        let sizes = self.layout.sizes(images)?;
        Ok(Grid {
            batch: images[0],
            planes: planes.over(sizes[0])?,
            rows: rows.over(sizes[1])?,
            cols: cols.over(sizes[2])?,
        })
    }

    /// The output shape for images of this shape and a window of that size (-1: unknown), with `depth` channels.
    pub fn shape(&self, images: &PartialShape, size: [i64; 3], depth: i64) -> Result<PartialShape> {
        let mut dims = [images.dim(0); 5];
        for (i, axis) in self.layout.space().into_iter().enumerate() {
            let Some(axis) = axis else { continue };
            dims[axis] = match (self.padding[i], size[i]) {
                // With SAME padding the output does not depend on the window's size.
                (Padding::Same, -1) => self.windows([1; 3])[i].known_places(images.dim(axis))?,
                (_, -1) => -1,
                (_, n) => self.windows([n as usize; 3])[i].known_places(images.dim(axis))?,
            };
        }
        dims[self.layout.channels] = depth;
        Ok(dims.into_iter().take(self.layout.rank()).collect())
    }

    /// Padding must be less than the window.
    pub fn check_padding_inside(&self, size: [usize; 3]) -> Result<()> {
        for (padding, size) in self.padding.iter().zip(size) {
            if let Padding::Explicit(before, after) = padding
                && (*before >= size || *after >= size)
            {
                return Err(invalid!(
                    "padding {before} and {after} needs to be smaller than the window size {size}"
                ));
            }
        }
        Ok(())
    }
}

/// Rejects values other than 1 for the batch and the channels.
fn check_one(what: &str, values: &[i64], layout: &Layout) -> Result<()> {
    match (values.first(), values.get(layout.channels)) {
        _ if values.len() != layout.rank() => {
            Err(invalid!("{what} must specify {} dimensions, got {values:?}", layout.rank()))
        }
        (Some(1), Some(1)) => Ok(()),
        // TensorFlow's classes of error.
        _ if layout.planes.is_some() => {
            Err(invalid!("{what} in the batch and depth dimensions must be 1, got {values:?}"))
        }
        _ => Err(unimplemented(format_args!(
            "{what} in the batch and depth dimensions must be 1, as others are not supported, got {values:?}"
        ))),
    }
}

/// The entries for planes, rows and columns.
fn along(what: &str, values: &[i64], layout: &Layout) -> Result<[usize; 3]> {
    if values.len() == layout.rank() && values.iter().any(|v| *v < 1 || *v > i32::MAX as i64) {
        return Err(invalid!("{what} must be positive 32-bit numbers, got {values:?}"));
    }
    check_one(what, values, layout)?;
    Ok(layout.space().map(|axis| axis.map_or(1, |axis| values[axis] as usize)))
}

fn explicit_paddings(values: &[i64], layout: &Layout) -> Result<[Padding; 3]> {
    if values.len() != 2 * layout.rank() {
        return Err(invalid!(
            "explicit_paddings must contain {} values if padding is EXPLICIT, got {values:?}",
            2 * layout.rank()
        ));
    }
    if values.iter().any(|v| *v < 0 || *v > i32::MAX as i64) {
        return Err(invalid!(
            "All elements of explicit_paddings must be nonnegative 32-bit numbers, got {values:?}"
        ));
    }
    let of = |axis: usize| (values[2 * axis] as usize, values[2 * axis + 1] as usize);
    if of(0) != (0, 0) || of(layout.channels) != (0, 0) {
        return Err(invalid!("explicit_paddings must be 0 for the batch and the channels, got {values:?}"));
    }
    let padding = |(before, after)| Padding::Explicit(before, after);
    Ok(layout.space().map(|axis| axis.map_or(Padding::Valid, |axis| padding(of(axis)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(size: usize, stride: usize, padding: Padding) -> Window {
        Window { size, stride, dilation: 1, padding }
    }

    #[test]
    fn places_and_padding_are_tensorflows() {
        // input, window, stride, padding: output, padding before.
        for (input, size, stride, padding, output, before) in [
            (4, 3, 1, Padding::Valid, 2, 0),
            (4, 3, 2, Padding::Valid, 1, 0),
            (2, 3, 2, Padding::Valid, 0, 0),
            (4, 3, 1, Padding::Same, 4, 1),
            (4, 2, 1, Padding::Same, 4, 0),
            (5, 3, 2, Padding::Same, 3, 1),
            (4, 3, 2, Padding::Same, 2, 0),
            (0, 3, 2, Padding::Same, 0, 1),
            (4, 3, 1, Padding::Explicit(5, 1), 8, 5),
        ] {
            let span = window(size, stride, padding).over(input).unwrap();
            assert_eq!((span.output, span.before), (output, before), "{input} {size} {stride} {padding:?}");
        }
    }

    #[test]
    fn windows_that_overflow_or_stick_out_are_refused() {
        assert!(window(5, 1, Padding::Valid).over(2).is_err());
        assert!(window(0, 1, Padding::Same).over(2).is_err());
        assert!(window(usize::MAX, 2, Padding::Same).over(usize::MAX / 2).is_err());
        assert!(window(1, 1, Padding::Explicit(usize::MAX, 1)).over(2).is_err());
        let wide = Window { dilation: usize::MAX, ..window(3, 1, Padding::Valid) };
        assert!(wide.over(2).is_err());
    }
}
