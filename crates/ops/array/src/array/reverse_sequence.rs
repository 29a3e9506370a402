//! `ReverseSequence`: a prefix of each sequence reversed, by its own length.

use crate::moving::Block;
use crate::prelude::*;

pub static REVERSE_SEQUENCE: Op = Op {
    name: "ReverseSequence",
    doc: "For each entry i along `batch_dim`, reverses the first `seq_lengths[i]` elements along `seq_dim`.",
    inputs: &["input: T", "seq_lengths: Tlen"],
    outputs: &["output: T"],
    attrs: &["seq_dim: int", "batch_dim: int = 0", "T: type", "Tlen: {int32, int64} = DT_INT64"],
    shape,
    grad: Rule(|g| {
        let (lengths, dy) = (g.x[1], g.dy()?);
        let axes = ["seq_dim", "batch_dim"].map(|name| g.attrs.int(name).map(|axis| (name, axis.into())));
        let [seq, batch] = axes;
        Ok(vec![g.op(g.op, [dy.into(), lengths.into()], &[seq?, batch?])?.into(), Grad::None])
    }),
    kernels: cpu!(make prepare),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 4, 3]), int_vector(&[3, 0])]).attr("seq_dim", 1),
            Case::new(vec![r.tensor(&[3, 2]), int_vector(&[3, 2])]).attr("seq_dim", 0).attr("batch_dim", 1),
        ]
    },
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (x, lengths) = (c.input(0), c.rank(1, 1)?);
    let (seq, batch) = axes(c.attrs)?;
    let Some(dims) = x.dims() else { return Ok(vec![x]) };
    check_axes(seq, batch, dims.len())?;
    let mut dims = dims.to_vec();
    dims[batch] = merge_dim(dims[batch], lengths.dim(0))?;
    Ok(vec![dims.into_iter().collect()])
}

/// Attrs `seq_dim` and `batch_dim`.
fn axes(attrs: &Attrs) -> Result<(usize, usize)> {
    let axis = |name: &str| {
        let v = attrs.int(name)?;
        usize::try_from(v).map_err(|_| invalid!("Invalid {name} {v}"))
    };
    Ok((axis("seq_dim")?, axis("batch_dim")?))
}

fn check_axes(seq: usize, batch: usize, rank: usize) -> Result<()> {
    if seq == batch {
        return Err(invalid!("batch_dim == seq_dim == {seq}"));
    }
    if seq >= rank || batch >= rank {
        return Err(invalid!("seq_dim {seq} and batch_dim {batch} must be < input rank {rank}"));
    }
    Ok(())
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (seq, batch) = axes(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (x, lengths) = (c.input(0)?, c.int_vector(1)?);
        check_axes(seq, batch, x.rank())?;
        let (dims, strides) = (x.shape(), x.shape().strides());
        if lengths.len() != dims[batch] {
            return Err(invalid!(
                "Length of seq_lengths != input.dims({batch}), ({} vs. {})",
                lengths.len(),
                dims[batch]
            ));
        }
        if let Some(i) = lengths.iter().position(|n| *n < 0 || *n as usize > dims[seq]) {
            return Err(invalid!("seq_lens({i}) = {} is not in [0, {}]", lengths[i], dims[seq]));
        }
        let mut out = Tensor::uninit(x.dtype(), dims.clone())?;
        let n = x.elements();
        Block::at(0, 0).dim(n, 1, 1).copy(c.par(), x, &mut out)?;
        for (i, len) in lengths.iter().map(|n| *n as usize).enumerate() {
            if len < 2 {
                continue;
            }
            let start = i * strides[batch];
            let mut block = Block::at(start + (len - 1) * strides[seq], start);
            for (d, n) in dims.iter().enumerate().filter(|(d, _)| *d != batch) {
                let step = strides[d] as isize;
                block = if d == seq { block.dim(len, -step, step) } else { block.dim(*n, step, step) };
            }
            block.copy(c.par(), x, &mut out)?;
        }
        c.set(0, out);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn axes_and_lengths_outside_are_refused() {
        let run = |len: i32, seq: i64, batch: i64| {
            let inputs = [floats(&[1, 2], &[1.0, 2.0]), ints(&[1], &[len])];
            call("ReverseSequence", &inputs, &[("seq_dim", seq.into()), ("batch_dim", batch.into())])
        };
        for (len, seq, batch) in [(1, -10, -10), (1, 1, 1), (1, 2, 0), (3, 1, 0), (-1, 1, 0), (1, 0, 1)] {
            assert_eq!(code(run(len, seq, batch)), Code::InvalidArgument);
        }
        assert!(run(2, 1, 0).is_ok());
    }
}
