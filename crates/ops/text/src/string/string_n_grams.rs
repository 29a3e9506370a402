//! `StringNGrams`: runs of neighbouring strings of a ragged tensor, joined.

use super::mapped::words;
use crate::prelude::*;
use bytes::Bytes;

pub static STRING_N_GRAMS: Op = Op {
    name: "StringNGrams",
    doc: "The runs of each width of neighbouring strings in each row, joined by the separator; rows may be padded.",
    inputs: &["data: string", "data_splits: Tsplits"],
    outputs: &["ngrams: string", "ngrams_splits: Tsplits"],
    attrs: &[
        "separator: string",
        "ngram_widths: list(int) >= 0",
        "left_pad: string",
        "right_pad: string",
        "pad_width: int",
        "preserve_short_sequences: bool",
        "Tsplits: {int32, int64} = DT_INT64",
    ],
    shape: |c| {
        c.rank(0, 1)?;
        Ok(vec![PartialShape::vector(-1), c.rank(1, 1)?])
    },
    grad: Stops,
    kernels: cpu!(make prepare),
    cases: |_| {
        let case = |widths: &[i64], pad: i64, short: bool| {
            Case::new(vec![words(&[5], &["a", "b", "c", "d", "e"]), int_vector(&[0, 3, 4, 4, 5])])
                .attr("separator", "-")
                .attr("ngram_widths", Attr::ints(widths))
                .attr("left_pad", "<")
                .attr("right_pad", ">")
                .attr("pad_width", pad)
                .attr("preserve_short_sequences", short)
        };
        vec![case(&[2], 0, false), case(&[1, 3], -1, false), case(&[3], 1, true), case(&[4], 0, true)]
    },
    ..Op::PURE
};

struct NGrams {
    separator: Bytes,
    left: Bytes,
    right: Bytes,
    widths: Vec<usize>,
    /// Pads on each side at most; `None`: as many as a width needs.
    pad: Option<usize>,
    keep_short: bool,
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let attrs = &node.attrs;
    let width = |w: i64| usize::try_from(w).ok().filter(|w| *w > 0);
    let widths = attrs.ints("ngram_widths")?.into_iter().map(width).collect::<Option<Vec<usize>>>();
    let grams = NGrams {
        separator: attrs.bytes("separator")?.clone(),
        left: attrs.bytes("left_pad")?.clone(),
        right: attrs.bytes("right_pad")?.clone(),
        widths: widths.ok_or_else(|| invalid!("ngram_widths must contain positive values"))?,
        pad: usize::try_from(attrs.int("pad_width")?).ok(),
        keep_short: attrs.bool("preserve_short_sequences")?,
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| grams.run(c)))
}

impl NGrams {
    fn run(&self, c: &mut OpCall<'_>) -> Result<()> {
        let (data, splits, dtype) = (c.input(0)?.strings()?, c.int_vector(1)?, c.input(1)?.dtype());
        check_splits(&splits, data.len())?;
        if splits.is_empty() {
            let (data, splits) = (Tensor::uninit(DataType::String, c.shape(0)?.clone())?, c.take(1)?);
            c.set(0, data);
            c.set(1, splits);
            return Ok(());
        }
        let mut grams = Vec::new();
        let mut ends = reserve::with_capacity(splits.len())?;
        ends.push(0i64);
        for row in splits.windows(2) {
            let row = data.get(row[0] as usize..row[1] as usize).unwrap_or_default();
            self.row(row, &mut grams)?;
            ends.push(grams.len() as i64);
        }
        let splits = match dtype {
            DataType::Int64 => Tensor::vector(&ends)?,
            _ => {
                let narrow =
                    |v: &i64| i32::try_from(*v).map_err(|_| invalid!("{v} n-grams for int32 splits"));
                Tensor::vector(&reserve::try_collect(ends.iter().map(narrow))?)?
            }
        };
        c.set(0, Tensor::from_objects(Shape::vector(grams.len()), grams)?);
        c.set(1, splits);
        Ok(())
    }

    fn row(&self, row: &[Bytes], grams: &mut Vec<Bytes>) -> Result<()> {
        let before = grams.len();
        for width in &self.widths {
            let pad = self.pad_of(*width);
            let length = row.len().saturating_add(pad.saturating_mul(2));
            for start in 0..length.saturating_add(1).saturating_sub(*width) {
                reserve::push(grams, self.gram(row, pad, start, *width)?)?;
            }
        }
        // A row too short for every width is one n-gram, unless there is nothing in it.
        if self.keep_short && grams.len() == before && !row.is_empty() {
            let pad = self.pad.unwrap_or(0);
            let width = row.len().saturating_add(pad.saturating_mul(2));
            reserve::push(grams, self.gram(row, pad, 0, width)?)?;
        }
        Ok(())
    }

    fn pad_of(&self, width: usize) -> usize {
        self.pad.unwrap_or(usize::MAX).min(width - 1)
    }

    /// `width` strings from `start` on in the row between its pads.
    fn gram(&self, row: &[Bytes], pad: usize, start: usize, width: usize) -> Result<Bytes> {
        // Pads take time even where they are empty.
        if width > thalweg_core::buffer::limit() {
            return Err(resource_exhausted(format_args!("an n-gram of {width} strings is over the limit")));
        }
        let part = |i: usize| match i.checked_sub(pad) {
            None => &self.left[..],
            Some(i) => row.get(i).map_or(&self.right[..], |s| &s[..]),
        };
        reserve::join((start..start + width).map(part), &self.separator).map(Bytes::from)
    }
}

fn check_splits(splits: &[i64], data: usize) -> Result<()> {
    let Some(first) = splits.first() else { return Ok(()) };
    if *first != 0 {
        return Err(invalid!("First split value must be 0, got {first}"));
    }
    for w in splits.windows(2) {
        if w[1] < w[0] || w[1] > data as i64 {
            return Err(invalid!("Invalid split value {}, must be in [{}, {data}]", w[1], w[0]));
        }
    }
    match splits.last() {
        Some(last) if *last != data as i64 => {
            Err(invalid!("Last split value must be data size. Expected {data}, got {last}"))
        }
        _ => Ok(()),
    }
}
