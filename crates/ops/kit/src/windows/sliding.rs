//! Strides, dilations and padding, and the output sizes that follow from them.

use super::Layout;
use crate::prelude::*;
use thalweg_math::window::{Grid, Span};

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
    pub fn over(&self, input: usize) -> Result<Span> {
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
        Ok(Span { input, output, size, stride, dilation, before })
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

/// How a window slides over rows and columns: all but its size.
#[derive(Clone, Copy, Debug)]
pub struct Sliding {
    pub layout: Layout,
    strides: [usize; 2],
    dilations: [usize; 2],
    padding: [Padding; 2],
}

impl Sliding {
    /// From the attrs `strides`, `dilations`, `padding`, `explicit_paddings` and `data_format`, as far as the op has them.
    pub fn of(attrs: &Attrs) -> Result<Sliding> {
        Sliding::with_strides(attrs, &attrs.ints("strides")?)
    }

    /// As `of`, with these strides.
    pub fn with_strides(attrs: &Attrs, strides: &[i64]) -> Result<Sliding> {
        let layout = Layout::of(attrs)?;
        let strides = pair("strides", strides, &layout)?;
        let dilations = match attrs.ints("dilations") {
            Ok(dilations) => pair("dilations", &dilations, &layout)?,
            Err(_) => [1, 1],
        };
        let explicit = attrs.ints("explicit_paddings").unwrap_or_default();
        let padding = match attrs.str("padding")? {
            "VALID" => [Padding::Valid; 2],
            "SAME" => [Padding::Same; 2],
            _ => explicit_paddings(&explicit, &layout)?,
        };
        if padding.iter().all(|p| !matches!(p, Padding::Explicit(..))) && !explicit.is_empty() {
            return Err(invalid!(
                "explicit_paddings must be empty if padding is not EXPLICIT, got {explicit:?}"
            ));
        }
        Ok(Sliding { layout, strides, dilations, padding })
    }

    /// The windows along rows and columns, for this size.
    pub fn windows(&self, size: [usize; 2]) -> [Window; 2] {
        [0, 1].map(|i| Window {
            size: size[i],
            stride: self.strides[i],
            dilation: self.dilations[i],
            padding: self.padding[i],
        })
    }

    /// A window of that size over images of this shape, which has four dimensions.
    pub fn grid(&self, images: &[usize; 4], size: [usize; 2]) -> Result<Grid> {
        let [rows, cols] = self.windows(size);
        Ok(Grid {
            batch: images[0],
            rows: rows.over(images[self.layout.height])?,
            cols: cols.over(images[self.layout.width])?,
        })
    }

    /// The output shape for images of this shape and a window of that size (-1: unknown), with `depth` channels.
    pub fn shape(&self, images: &PartialShape, size: [i64; 2], depth: i64) -> Result<PartialShape> {
        let mut dims = [images.dim(0); 4];
        let axes = self.layout.image();
        for (i, axis) in axes.into_iter().enumerate() {
            dims[axis] = match (self.padding[i], size[i]) {
                // With SAME padding the output does not depend on the window's size.
                (Padding::Same, -1) => self.windows([1, 1])[i].known_places(images.dim(axis))?,
                (_, -1) => -1,
                (_, n) => self.windows([n as usize; 2])[i].known_places(images.dim(axis))?,
            };
        }
        dims[self.layout.channels] = depth;
        Ok(dims.into_iter().collect())
    }

    /// Padding must be less than the window.
    pub fn check_padding_inside(&self, size: [usize; 2]) -> Result<()> {
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
    match (values.len(), values.first(), values.get(layout.channels)) {
        (4, Some(1), Some(1)) => Ok(()),
        (4, ..) => Err(unimplemented(format_args!(
            "{what} in the batch and depth dimensions must be 1, as others are not supported, got {values:?}"
        ))),
        _ => Err(invalid!("{what} must specify 4 dimensions, got {values:?}")),
    }
}

/// The entries for rows and columns, of four.
fn pair(what: &str, values: &[i64], layout: &Layout) -> Result<[usize; 2]> {
    if values.len() == 4 && values.iter().any(|v| *v < 1 || *v > i32::MAX as i64) {
        return Err(invalid!("{what} must be positive 32-bit numbers, got {values:?}"));
    }
    check_one(what, values, layout)?;
    Ok(layout.image().map(|axis| values[axis] as usize))
}

fn explicit_paddings(values: &[i64], layout: &Layout) -> Result<[Padding; 2]> {
    if values.len() != 8 {
        return Err(invalid!(
            "explicit_paddings must contain 8 values if padding is EXPLICIT, got {values:?}"
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
    Ok(layout.image().map(|axis| Padding::Explicit(of(axis).0, of(axis).1)))
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
