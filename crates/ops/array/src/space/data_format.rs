//! `DataFormatVecPermute`, `DataFormatDimMap`: sizes and axes converted to another data format.

use crate::convert::int_tensor;
use crate::prelude::*;

pub static DATA_FORMAT_VEC_PERMUTE: Op = Op {
    name: "DataFormatVecPermute",
    doc: "A vector (or the rows of a matrix) with an entry for each dimension in `src_format`, in the order of `dst_format`.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {int32, int64} = DT_INT32", "src_format: string = 'NHWC'", "dst_format: string = 'NCHW'"],
    shape: |c| {
        let x = c.input(0);
        if let Some(r @ (0 | 3..)) = x.rank() {
            return Err(invalid!("input must be a vector or 2D tensor, but got rank {r}"));
        }
        Ok(vec![x])
    },
    grad: Stops,
    kernels: cpu!(make prepare_permute),
    cases: |r| {
        vec![
            Case::new(vec![int_vector(&[1, 2, 3, 4])]),
            Case::new(vec![int_vector(&[5, 6])]),
            Case::new(vec![r.ints(&[4, 2], 0, 9)]).attr("src_format", "NCHW").attr("dst_format", "NHWC"),
        ]
    },
    host_inputs: &["x"],
    host_outputs: &["y"],
    ..Op::PURE
};

pub static DATA_FORMAT_DIM_MAP: Op = Op {
    name: "DataFormatDimMap",
    doc: "For each axis in `src_format`, which axis of `dst_format` it is.",
    shape: same_as_input,
    kernels: cpu!(make prepare_map),
    cases: |_| vec![Case::new(vec![int_vector(&[0, 1, 2, 3, -1, -4])])],
    ..DATA_FORMAT_VEC_PERMUTE
};

/// The permutation from one format to the other: `to[i] = from[map[i]]`.
fn places(from: &str, to: &str) -> Result<Vec<usize>> {
    let map: Option<Vec<usize>> = to.chars().map(|c| from.find(c)).collect();
    let mut sorted = map.clone().unwrap_or_default();
    sorted.sort_unstable();
    match map {
        Some(map) if from.is_ascii() && sorted.iter().copied().eq(0..from.len()) => Ok(map),
        _ => Err(invalid!("Destination and source format must determine a permutation, got {from} and {to}")),
    }
}

fn formats(attrs: &Attrs) -> Result<(String, String)> {
    let (src, dst) = (attrs.str("src_format")?, attrs.str("dst_format")?);
    for (format, what, attr) in [(src, "Source", "src_format"), (dst, "Destination", "dst_format")] {
        if !(4..=5).contains(&format.len()) {
            return Err(invalid!("{what} format must be of length 4 or 5, received {attr} = {format}"));
        }
    }
    Ok((src.to_string(), dst.to_string()))
}

fn prepare_permute(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (src, dst) = formats(&node.attrs)?;
    let all = places(&src, &dst)?;
    let spatial = |s: &str| s.replace(['N', 'C'], "");
    let inner = places(&spatial(&src), &spatial(&dst))?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let x = c.input(0)?;
        let n = x.shape().first().copied().unwrap_or(0);
        // Sizes of all dimensions, or of the spatial ones.
        let map = if n == all.len() { &all } else { &inner };
        let good = match x.shape().dims() {
            [n] => *n == map.len(),
            [n, 2] => *n == map.len(),
            _ => false,
        };
        if !good {
            return Err(invalid!(
                "input must have {} or {} entries, or rows of 2, but got shape {}",
                inner.len(),
                all.len(),
                x.shape()
            ));
        }
        let (values, row) = (x.to_i64s()?, x.elements() / n.max(1));
        let moved: Vec<i64> =
            map.iter().flat_map(|i| values[i * row..(i + 1) * row].iter().copied()).collect();
        let out = int_tensor(x.dtype(), &moved)?.reshape(x.shape().clone())?;
        c.set(0, out);
        Ok(())
    }))
}

fn prepare_map(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (src, dst) = formats(&node.attrs)?;
    let map = places(&dst, &src)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let x = c.input(0)?;
        let place = |axis| Ok(map[axis_in_range(axis, map.len())?] as i64);
        let mapped = reserve::try_collect(x.to_i64s()?.into_iter().map(place))?;
        let out = int_tensor(x.dtype(), &mapped)?.reshape(x.shape().clone())?;
        c.set(0, out);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, ints};

    #[test]
    fn formats_and_sizes_that_do_not_match_are_refused() {
        let x = ints(&[4], &[1, 2, 3, 4]);
        let format = |f: &str| [("src_format", f.into())];
        assert_eq!(code(call("DataFormatVecPermute", &[x.clone()], &format("NHWX"))), Code::InvalidArgument);
        let short = call("DataFormatVecPermute", &[x.clone()], &format("NHW")).unwrap_err().to_string();
        assert!(
            short.contains("Source format must be of length 4 or 5, received src_format = NHW"),
            "{short}"
        );
        assert_eq!(code(call("DataFormatVecPermute", &[x], &format("NNCC"))), Code::InvalidArgument);
        assert_eq!(code(call("DataFormatVecPermute", &[ints(&[3], &[1, 2, 3])], &[])), Code::InvalidArgument);
        assert_eq!(code(call("DataFormatDimMap", &[ints(&[], &[4])], &[])), Code::InvalidArgument);
    }
}
