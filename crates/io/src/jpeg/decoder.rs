//! `decode`: a file to pixels.

use super::frame::{Frame, Markers, Reached, Space};
use super::inverse::Inverse;
use super::scan::{Plane, read_scan};
use super::upsample::{Samples, Upsampling, sums};
use super::{BLOCK, color};
use std::ops::Range;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_core::{invalid, reserve};

/// A window of the image.
#[derive(Clone, Copy, Debug)]
pub struct Crop {
    pub top: i64,
    pub left: i64,
    pub rows: i64,
    pub cols: i64,
}

#[derive(Clone, Copy, Debug)]
pub struct Decode {
    /// 1 or 3; 0 for those of the file.
    pub channels: usize,
    /// 1, 2, 4 or 8: the image is so much smaller.
    pub ratio: usize,
    /// Smooth upsampling of chrominance.
    pub fancy: bool,
    /// The fast transform, instead of the accurate one.
    pub fast: bool,
    /// A file that ends early is completed with grey.
    pub recover: bool,
    /// How much of the rows must have come.
    pub fraction: f32,
    pub crop: Option<Crop>,
}

impl Default for Decode {
    fn default() -> Decode {
        Decode { channels: 0, ratio: 1, fancy: true, fast: false, recover: false, fraction: 1.0, crop: None }
    }
}

/// Images of so many samples or more are refused.
const MOST: usize = 1 << 29;

/// A block of a complete file takes a bit or more. Files that lack this part of their data are refused, before memory is taken for them.
const LEAST_FILLED: usize = 128;

/// Rows, columns and channels of a file.
pub fn dimensions(data: &[u8]) -> Result<[usize; 3]> {
    let mut markers = Markers::new(data)?;
    let reached = markers.next(None)?;
    match (&markers.frame, reached) {
        (Some(frame), Reached::Scan(_)) => {
            let channels = frame.components.len();
            Ok([frame.rows, frame.cols, channels])
        }
        _ => Err(invalid!("the JPEG file has no image")),
    }
}

/// The image in a file, of shape [rows, columns, channels].
pub fn decode(data: &[u8], options: &Decode) -> Result<Tensor> {
    let mut markers = Markers::new(data)?;
    let Reached::Scan(mut scan) = markers.next(None)? else {
        return Err(invalid!("the JPEG file has no image"));
    };
    let space = markers.space();
    let Some(frame) = markers.frame.take() else { return Err(invalid!("the JPEG file has no frame")) };
    let layout = Layout::new(space, markers.adobe.is_some(), &frame, options)?;
    check_size(&frame, &layout, data.len())?;
    let single = !frame.progressive && scan.components.len() == frame.components.len();
    let mut planes = Plane::all(&frame)?;
    let mut complete = layout.rows;
    markers.frame = Some(frame);
    // The frame changes hands: scan headers set the tables of its components.
    while let Some(frame) = markers.frame.take() {
        let done = read_scan(data, &markers, &frame, &scan, &mut planes, options.recover)?;
        markers.frame = Some(frame);
        if done.ended && single {
            complete = layout.complete_rows(done.rows);
            break;
        }
        if done.ended {
            return Err(invalid!("the JPEG file ends early"));
        }
        markers.at = done.at;
        match markers.next(done.marker)? {
            Reached::Scan(_) if single => return Err(invalid!("a JPEG file with too many scans")),
            Reached::Scan(next) => scan = next,
            Reached::End => break,
            Reached::Cut if options.recover => break,
            Reached::Cut => return Err(invalid!("the JPEG file ends early")),
        }
    }
    let Some(frame) = markers.frame else { return Err(invalid!("the JPEG file has no frame")) };
    layout.pixels(&frame, &planes, complete, options)
}

fn check_size(frame: &Frame, layout: &Layout, bytes: usize) -> Result<()> {
    let samples = layout.rows.saturating_mul(layout.cols).saturating_mul(frame.components.len());
    if samples >= MOST {
        return Err(invalid!("the JPEG image is too large: {} by {} pixels", layout.rows, layout.cols));
    }
    let blocks = frame.rows.div_ceil(8).saturating_mul(frame.cols.div_ceil(8));
    if blocks > bytes.saturating_mul(LEAST_FILLED) {
        return Err(invalid!(
            "{bytes} bytes are too little for a JPEG image of {} by {} pixels",
            frame.rows,
            frame.cols
        ));
    }
    Ok(())
}

/// Pixels across a unit.
fn unit_width(frame: &Frame, size: usize) -> usize {
    if frame.components.len() == 1 { size } else { frame.max_h * size }
}

/// The samples of component `i`, with blocks of `own` pixels, for a range of pixels that begins at a unit. The upsampling of a window sees
/// nothing beyond it, as in libjpeg.
fn columns(frame: &Frame, i: usize, own: usize, size: usize, pixels: &Range<usize>) -> Range<usize> {
    let (all, part) = (frame.max_h * size, frame.components[i].h * own);
    let first = pixels.start * part / all;
    let last = (frame.cols * part).div_ceil(all * 8 / size);
    first..last.min(first + (pixels.len() * part).div_ceil(all))
}

/// What the image will be.
struct Layout {
    rows: usize,
    cols: usize,
    channels: usize,
    space: Space,
    inverted: bool,
    /// Pixels of a block's side, by component; the smallest is the image's.
    sizes: Vec<usize>,
    size: usize,
    upsampling: Vec<Upsampling>,
    window: Crop,
    /// Columns of pixels that are made: a window's, from the unit that it begins in.
    made: Range<usize>,
    max_v: usize,
}

impl Layout {
    fn new(space: Space, inverted: bool, frame: &Frame, options: &Decode) -> Result<Layout> {
        let channels = if options.channels == 0 { frame.components.len().min(3) } else { options.channels };
        if !matches!(channels, 1 | 3) || !color::allowed(space, channels) {
            return Err(invalid!(
                "a JPEG image of {} components in {channels} channels",
                frame.components.len()
            ));
        }
        if !matches!(options.ratio, 1 | 2 | 4 | 8) {
            return Err(invalid!("ratio must be 1, 2, 4, or 8, got {}", options.ratio));
        }
        let size = 8 / options.ratio;
        let (rows, cols) = ((frame.rows * size).div_ceil(8), (frame.cols * size).div_ceil(8));
        let fancy = options.fancy && size > 1;
        let (mut sizes, mut upsampling) = (Vec::new(), Vec::new());
        for c in &frame.components {
            // Components with fewer samples may come from larger blocks instead of being upsampled.
            let mut own = size;
            let fits =
                |max: usize, sampling: usize, own: usize| (max * size).is_multiple_of(sampling * own * 2);
            while own < 8 && fits(frame.max_h, c.h, own) && fits(frame.max_v, c.v, own) {
                own *= 2;
            }
            let cols = (frame.cols * c.h * own).div_ceil(8 * frame.max_h);
            let group = [c.h * own / size, c.v * own / size];
            upsampling.push(Upsampling::of(group, [frame.max_h, frame.max_v], fancy, cols)?);
            sizes.push(own);
        }
        let window = options.crop.unwrap_or(Crop { top: 0, left: 0, rows: rows as i64, cols: cols as i64 });
        let inside = |start: i64, length: i64, all: usize| {
            start >= 0 && length > 0 && start.checked_add(length).is_some_and(|end| end <= all as i64)
        };
        if !inside(window.top, window.rows, rows) || !inside(window.left, window.cols, cols) {
            return Err(invalid!("Invalid JPEG data or crop window: {window:?} of {rows} by {cols} pixels"));
        }
        let made = match (window.left as usize, window.cols as usize) {
            (_, all) if all == cols => 0..cols,
            (left, some) => left / unit_width(frame, size) * unit_width(frame, size)..left + some,
        };
        let part = |i: usize, made: &Range<usize>| columns(frame, i, sizes[i], size, made).len();
        // Of windows of single samples, libjpeg chooses again how they are upsampled.
        if (0..sizes.len()).any(|i| part(i, &made) < 2 && part(i, &(0..cols)) >= 2) {
            for (i, c) in frame.components.iter().enumerate() {
                let group = [c.h * sizes[i] / size, c.v * sizes[i] / size];
                upsampling[i] = Upsampling::of(group, [frame.max_h, frame.max_v], fancy, part(i, &made))?;
            }
        }
        Ok(Layout {
            made,
            rows,
            cols,
            channels,
            space,
            inverted,
            sizes,
            size,
            upsampling,
            window,
            max_v: frame.max_v,
        })
    }

    /// How many rows of pixels come from so many rows of units.
    fn complete_rows(&self, units: usize) -> usize {
        let group = self.max_v;
        let groups = units * self.size;
        let waits = self.upsampling.iter().any(|u| u.needs_rows_around());
        (if waits { groups.saturating_sub(1) } else { groups } * group).min(self.rows)
    }

    fn pixels(&self, frame: &Frame, planes: &[Plane], complete: usize, options: &Decode) -> Result<Tensor> {
        let (top, left) = (self.window.top as usize, self.window.left as usize - self.made.start);
        let (rows, cols) = (self.window.rows as usize, self.window.cols as usize);
        let come = complete.saturating_sub(top).min(rows);
        if (come as f32) / (rows as f32) < options.fraction.min(1.0) {
            return Err(invalid!("the JPEG file ends early: {come} of {rows} rows"));
        }
        let mut samples = Vec::new();
        for (i, plane) in planes.iter().enumerate() {
            samples.push(self.samples(frame, plane, i, options)?);
        }
        let mut out = Tensor::zeros(DataType::Uint8, Shape::new(&[rows, cols, self.channels])?)?;
        let mut lines = Vec::new();
        for _ in &samples {
            lines.push(reserve::filled(self.made.len(), 0u8)?);
        }
        let mut sums = sums(&samples)?;
        let width = cols * self.channels;
        let mut whole = reserve::filled(self.made.len() * self.channels, 0u8)?;
        for (row, out) in out.as_mut_slice::<u8>()?.chunks_exact_mut(width).enumerate().take(come) {
            for ((line, from), up) in lines.iter_mut().zip(&samples).zip(&self.upsampling) {
                up.row(from, top + row, &mut sums, line);
            }
            color::row(self.space, self.inverted, &lines, self.channels, &mut whole);
            out.copy_from_slice(&whole[left * self.channels..][..width]);
        }
        Ok(out)
    }

    /// The samples of a component, from its coefficients.
    fn samples(&self, frame: &Frame, plane: &Plane, i: usize, options: &Decode) -> Result<Samples> {
        let (c, size) = (&frame.components[i], self.sizes[i]);
        // A component that no scan had stays empty.
        let quantisation = c.quantisation.unwrap_or([0; BLOCK]);
        let inverse = Inverse::new(size, options.fast, &quantisation);
        let stride = plane.blocks_across * size;
        let mut values = reserve::filled(stride * plane.blocks_down * size, 0u8)?;
        for (b, block) in plane.coefficients.chunks_exact(BLOCK).enumerate() {
            let at = (b / plane.blocks_across * stride + b % plane.blocks_across) * size;
            inverse.run(block, &mut values[at..], stride);
        }
        let rows = (frame.rows * c.v * size).div_ceil(8 * frame.max_v);
        let part = columns(frame, i, size, self.size, &self.made);
        Ok(Samples { rows, cols: part.len(), first: part.start, stride, values })
    }
}
