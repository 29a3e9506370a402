//! `CTCLoss`: the loss, and its gradient as a second output.

use super::Logits;
use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use thalweg_math::ctc;

pub static CTC_LOSS: Op = Op {
    name: "CTCLoss",
    doc: "The negative log probability of each sequence of labels, given logits for each step; and its gradient.",
    inputs: &["inputs: T", "labels_indices: int64", "labels_values: int32", "sequence_length: int32"],
    outputs: &["loss: T", "gradient: T"],
    attrs: &[
        "preprocess_collapse_repeated: bool = false",
        "ctc_merge_repeated: bool = true",
        "ignore_longer_outputs_than_inputs: bool = false",
        "T: {float, double} = DT_FLOAT",
    ],
    shape: |c| {
        let (x, indices, values, lengths) = (c.rank(0, 3)?, c.rank(1, 2)?, c.rank(2, 1)?, c.rank(3, 1)?);
        merge_dim(indices.dim(0), values.dim(0))?;
        let batch = merge_dim(x.dim(1), lengths.dim(0))?;
        Ok(vec![PartialShape::vector(batch), [x.dim(0), batch, x.dim(2)].into_iter().collect()])
    },
    grad: Rule(|g| {
        // The second output is the gradient of the sum of the losses.
        let (dy, axis) = (g.dy()?, g.constant(Tensor::scalar(-1i32))?);
        let dy = g.op("ExpandDims", [dy.into(), axis.into()], &[])?;
        let gradient = g.op("PreventGradient", [g.y[1].into()], &[])?;
        Ok(vec![g.binary("Mul", dy, gradient)?.into(), Grad::None, Grad::None, Grad::None])
    }),
    kernels: cpu!(make prepare: T in f32, f64),
    cases: |r| {
        let indices = Tensor::from_slice(Shape::new(&[3, 2]).unwrap_or_default(), &[0i64, 0, 0, 1, 1, 0]);
        let mut case = |merge: bool| {
            let mut inputs = vec![r.tensor(&[4, 2, 3])];
            inputs.extend(indices.clone());
            inputs.extend([int_vector(&[0, 1, 1]), int_vector(&[4, 3])]);
            // The second output is no part of the loss.
            Case::new(inputs).attr("ctc_merge_repeated", merge).without_difference(&[0])
        };
        vec![case(true), case(false)]
    },
    expensive: true,
    ..Op::PURE
};

#[derive(Clone, Copy)]
struct Options {
    collapse: bool,
    merge_repeated: bool,
    ignore_longer: bool,
}

fn prepare<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let options = Options {
        collapse: node.attrs.bool("preprocess_collapse_repeated")?,
        merge_repeated: node.attrs.bool("ctc_merge_repeated")?,
        ignore_longer: node.attrs.bool("ignore_longer_outputs_than_inputs")?,
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| run::<T>(c, options)))
}

/// A sequence of the batch: its steps, and its labels. None has no loss.
struct Sequence {
    steps: usize,
    labels: Vec<usize>,
}

fn run<T: Float>(c: &mut OpCall<'_>, options: Options) -> Result<()> {
    let logits = Logits::of(c)?;
    let sequences = sequences(c, &logits, options)?;
    let Logits { steps, batch, classes } = logits;
    let mut losses = Tensor::zeros(T::DTYPE, Shape::vector(batch))?;
    // By sequence, so that each is in one place.
    let each = steps * classes;
    let mut gradients = Tensor::zeros(T::DTYPE, Shape::new(&[batch, each + 1])?)?;
    let x = c.slice::<T>(0)?;
    for_chunks_of(c.par(), gradients.as_mut_slice::<T>()?, each + 1, 1, &|range, out| {
        for (number, out) in range.zip(out.chunks_exact_mut(each + 1)) {
            let Some(sequence) = &sequences[number] else { continue };
            let rows = (0..sequence.steps).flat_map(|t| logits.row(x, t, number)).map(|x| x.to_f64());
            let mut rows: Vec<f64> = scratch::collect(rows);
            let what =
                ctc::Loss { labels: &sequence.labels, classes, merge_repeated: options.merge_repeated };
            let loss = ctc::loss(&what, &mut rows);
            out.iter_mut().zip(&rows).for_each(|(out, x)| *out = T::from_f64(*x));
            out[each] = T::from_f64(loss);
        }
    });
    let by_sequence = gradients.as_slice::<T>()?;
    let mut out = Tensor::uninit(T::DTYPE, c.shape(0)?.clone())?;
    for (row, out) in out.as_mut_slice::<T>()?.chunks_exact_mut(classes).enumerate() {
        let (t, number) = (row / batch, row % batch);
        out.copy_from_slice(&by_sequence[number * (each + 1) + t * classes..][..classes]);
    }
    for (loss, row) in losses.as_mut_slice::<T>()?.iter_mut().zip(by_sequence.chunks_exact(each + 1)) {
        *loss = row[each];
    }
    c.set(0, losses);
    c.set(1, out);
    Ok(())
}

/// The validated sequences; `None` where there is nothing to compute.
fn sequences(c: &OpCall<'_>, logits: &Logits, options: Options) -> Result<Vec<Option<Sequence>>> {
    let (indices, values) = (c.shape(1)?, c.shape(2)?);
    let (&[count, 2], &[values]) = (indices.dims(), values.dims()) else {
        return Err(invalid!(
            "labels_indices must be a matrix of two columns and labels_values a vector, got {indices} and {values}"
        ));
    };
    if count != values {
        return Err(invalid!(
            "labels_indices and labels_values must contain the same number of rows, but saw {count} and {values}"
        ));
    }
    let lengths = lengths(c, 3, logits)?;
    if logits.batch == 0 || logits.classes == 0 {
        return Err(invalid!("batch_size and the number of classes must not be 0, got {}", c.shape(0)?));
    }
    let labels = labels(c, logits)?;
    let mut sequences = reserve::with_capacity(logits.batch)?;
    for (number, (labels, steps)) in labels.into_iter().zip(lengths).enumerate() {
        let labels = cleaned(labels, logits.classes, options.collapse, number)?;
        if labels.len() > steps && !options.ignore_longer {
            return Err(invalid!(
                "Not enough time for target transition sequence (required: {}, available: {steps})",
                labels.len()
            ));
        }
        let computed = steps > 0 && labels.len() <= steps;
        sequences.push(computed.then_some(Sequence { steps, labels }));
    }
    Ok(sequences)
}

/// The steps of each sequence.
fn lengths(c: &OpCall<'_>, i: usize, logits: &Logits) -> Result<Vec<usize>> {
    let lengths = c.slice::<i32>(i)?;
    if c.shape(i)?.dims() != [logits.batch] {
        return Err(invalid!("len(sequence_length) != batch_size: {} vs {}", c.shape(i)?, logits.batch));
    }
    reserve::try_collect(lengths.iter().enumerate().map(|(b, n)| match usize::try_from(*n) {
        Ok(n) if n <= logits.steps => Ok(n),
        Ok(n) => Err(invalid!("sequence_length({b}) <= {} is needed, got {n}", logits.steps)),
        Err(_) => Err(invalid!("seq_len({b}) < 0: {n}")),
    }))
}

/// The labels of each sequence, from a sparse matrix whose indices ascend.
fn labels(c: &OpCall<'_>, logits: &Logits) -> Result<Vec<Vec<i32>>> {
    let (indices, values) = (c.slice::<i64>(1)?, c.slice::<i32>(2)?);
    let mut labels = reserve::filled(logits.batch, Vec::new())?;
    let mut last = (-1, -1);
    for (at, value) in indices.chunks_exact(2).zip(values) {
        let at = (at[0], at[1]);
        let Some(row) = usize::try_from(at.0).ok().and_then(|row| labels.get_mut(row)) else {
            return Err(invalid!("label SparseTensor is not valid: index {at:?} is out of bounds"));
        };
        if at.1 < 0 || at <= last {
            return Err(invalid!("label SparseTensor is not valid: index {at:?} is out of order or bounds"));
        }
        last = at;
        reserve::push(row, *value)?;
    }
    Ok(labels)
}

/// The labels before the first that is the blank or past it.
fn cleaned(labels: Vec<i32>, classes: usize, collapse: bool, number: usize) -> Result<Vec<usize>> {
    if labels.is_empty() {
        return Err(invalid!("Labels length is zero in batch {number}"));
    }
    let (mut clean, mut ended) = (reserve::with_capacity(labels.len())?, false);
    for (i, label) in labels.iter().enumerate() {
        let Ok(class) = usize::try_from(*label) else {
            return Err(invalid!("All labels must be nonnegative integers, batch: {number}, got {label}"));
        };
        if collapse && i > 0 && labels[i - 1] == *label {
            continue;
        }
        match class + 1 >= classes {
            true => ended = true,
            false if ended => {
                return Err(invalid!(
                    "Saw a non-null label following a null label, batch: {number}: {label}"
                ));
            }
            false => clean.push(class),
        }
    }
    Ok(clean)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, ints};

    fn loss(labels: &[i32], lengths: &[i32], ignore: bool) -> Result<Vec<Tensor>> {
        let x = CaseGen::new(1).tensor(&[4, 2, 3]);
        let indices = Tensor::from_slice(Shape::new(&[3, 2]).unwrap(), &[0i64, 0, 0, 1, 1, 0]).unwrap();
        let attrs = [("ignore_longer_outputs_than_inputs", Attr::Bool(ignore))];
        call("CTCLoss", &[x, indices, ints(&[3], labels), ints(&[lengths.len()], lengths)], &attrs)
    }

    #[test]
    fn what_tensorflow_refuses_is_refused() {
        for (labels, lengths) in [
            ([0, 1, 1], [-1, 3]),
            ([0, 1, 1], [5, 3]),
            ([0, -1, 1], [4, 3]),
            ([2, 1, 1], [4, 3]),
            ([0, 1, 1], [1, 3]),
        ] {
            assert_eq!(code(loss(&labels, &lengths, false)), Code::InvalidArgument);
        }
    }

    #[test]
    fn sequences_that_are_too_short_have_no_loss_if_ignored() {
        let out = loss(&[0, 1, 1], &[1, 3], true).unwrap();
        assert_eq!(out[0].as_slice::<f32>().unwrap()[0], 0.0);
        // Repeated labels need a blank between them.
        let out = loss(&[1, 1, 1], &[2, 3], true).unwrap();
        assert_eq!(out[0].as_slice::<f32>().unwrap()[0], f32::INFINITY);
    }
}
