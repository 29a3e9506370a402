//! `CTCGreedyDecoder` and `CTCBeamSearchDecoder`: the labels of sequences, as sparse matrices.

use super::Logits;
use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use thalweg_math::ctc::Beam;

pub static CTC_GREEDY_DECODER: Op = Op {
    name: "CTCGreedyDecoder",
    doc: "The most probable class of each step, without blanks; and the negative sum of their logits.",
    inputs: &["inputs: T", "sequence_length: int32"],
    outputs: &[
        "decoded_indices: int64",
        "decoded_values: int64",
        "decoded_shape: int64",
        "log_probability: T",
    ],
    attrs: &["merge_repeated: bool = false", "blank_index: int = -1", "T: {float, double} = DT_FLOAT"],
    shape: |c| {
        let batch = merge_dim(c.rank(0, 3)?.dim(1), c.rank(1, 1)?.dim(0))?;
        Ok(vec![
            [-1, 2].into_iter().collect(),
            PartialShape::vector(-1),
            PartialShape::vector(2),
            [batch, 1].into_iter().collect(),
        ])
    },
    grad: Stops,
    kernels: cpu!(make prepare_greedy: T in f32, f64),
    cases: |r| {
        let mut case = |merge: bool| {
            Case::new(vec![r.tensor(&[5, 2, 3]), int_vector(&[5, 3])]).attr("merge_repeated", merge)
        };
        vec![case(false), case(true).attr("blank_index", 0)]
    },
    expensive: true,
    ..Op::PURE
};

pub static CTC_BEAM_SEARCH_DECODER: Op = Op {
    name: "CTCBeamSearchDecoder",
    doc: "The most probable labels of sequences, by a beam search over logits; and their log probabilities.",
    outputs: &[
        "decoded_indices: top_paths * int64",
        "decoded_values: top_paths * int64",
        "decoded_shape: top_paths * int64",
        "log_probability: T",
    ],
    attrs: &[
        "beam_width: int >= 1",
        "top_paths: int >= 1",
        "merge_repeated: bool = true",
        "T: {float, double} = DT_FLOAT",
    ],
    shape: |c| {
        let batch = merge_dim(c.rank(0, 3)?.dim(1), c.rank(1, 1)?.dim(0))?;
        let paths = c.attrs.int("top_paths")?;
        let each = |shape: PartialShape| (0..paths).map(move |_| Ok(shape.clone()));
        let shapes = each([-1, 2].into_iter().collect()).chain(each(PartialShape::vector(-1)));
        let probability = [batch, paths].into_iter().collect();
        reserve::try_collect(shapes.chain(each(PartialShape::vector(2))).chain([Ok(probability)]))
    },
    kernels: cpu!(make prepare_beam: T in f32, f64),
    cases: |r| {
        let mut case = |merge: bool| {
            Case::new(vec![r.tensor(&[5, 2, 3]), int_vector(&[5, 3])])
                .attr("beam_width", 4)
                .attr("top_paths", 2)
                .attr("merge_repeated", merge)
        };
        vec![case(false), case(true)]
    },
    ..CTC_GREEDY_DECODER
};

/// The steps of each sequence; negative lengths are none.
fn lengths(c: &OpCall<'_>, logits: &Logits) -> Result<Vec<usize>> {
    let lengths = c.slice::<i32>(1)?;
    if c.shape(1)?.rank() != 1 {
        return Err(invalid!("sequence_length is not a vector: {}", c.shape(1)?));
    }
    if c.shape(1)?.dims() != [logits.batch] {
        return Err(failed_precondition(format_args!(
            "len(sequence_length) != batch_size: {} vs {}",
            c.shape(1)?,
            logits.batch
        )));
    }
    reserve::try_collect(lengths.iter().enumerate().map(|(b, n)| {
        let n = usize::try_from(*n).unwrap_or(0);
        match n <= logits.steps {
            true => Ok(n),
            false => Err(failed_precondition(format_args!(
                "sequence_length({b}) <= {} is needed, got {n}",
                logits.steps
            ))),
        }
    }))
}

/// Labels of each sequence as a sparse matrix: indices, values and shape.
fn sparse<'a>(labels: impl Iterator<Item = &'a [usize]> + Clone, batch: usize) -> Result<[Tensor; 3]> {
    let (count, longest) = labels.clone().fold((0, 0), |(n, most), l| (n + l.len(), most.max(l.len())));
    let indices = Tensor::build(Shape::new(&[count, 2])?, |out: &mut [i64]| {
        let places = labels.clone().enumerate().flat_map(|(b, l)| (0..l.len()).map(move |t| [b, t]));
        out.chunks_exact_mut(2).zip(places).for_each(|(out, at)| {
            (out[0], out[1]) = (at[0] as i64, at[1] as i64);
        });
    })?;
    let values = Tensor::build(Shape::vector(count), |out: &mut [i64]| {
        out.iter_mut().zip(labels.flatten()).for_each(|(out, label)| *out = *label as i64);
    })?;
    Ok([indices, values, Tensor::vector(&[batch as i64, longest as i64])?])
}

/// What was decoded of one sequence: paths of labels with log probabilities.
type Decoded = Vec<(Vec<usize>, f64)>;

/// Decodes each sequence, several at once.
fn decoded(
    c: &OpCall<'_>,
    logits: &Logits,
    one: &(dyn Fn(usize, usize) -> Decoded + Sync),
) -> Result<Vec<Decoded>> {
    let lengths = lengths(c, logits)?;
    let mut all: Vec<Decoded> = reserve::filled(logits.batch, Vec::new())?;
    for_chunks_of(c.par(), &mut all, 1, 1, &|range, out| {
        for (number, out) in range.zip(out) {
            *out = one(number, lengths[number]);
        }
    });
    Ok(all)
}

fn prepare_greedy<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (merge, blank) = (node.attrs.bool("merge_repeated")?, node.attrs.int("blank_index")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let logits = Logits::of(c)?;
        let classes = logits.classes as i64;
        let from_end = if blank < 0 { blank.saturating_add(classes) } else { blank };
        if !(0..classes).contains(&from_end) {
            return Err(invalid!(
                "blank_index expected to be between {} and {} but was {blank}",
                -classes,
                classes - 1
            ));
        }
        let x = c.slice::<T>(0)?;
        let all = decoded(c, &logits, &|number, steps| {
            let (mut labels, mut sum, mut last) = (scratch::with_capacity(steps), 0.0, usize::MAX);
            for t in 0..steps {
                let row = logits.row(x, t, number);
                let best = (1..row.len()).fold(0, |best, k| if row[k] > row[best] { k } else { best });
                sum -= row[best].to_f64();
                if best as i64 != from_end && !(merge && best == last) {
                    labels.push(best);
                }
                last = best;
            }
            scratch::collect([(labels, sum)])
        })?;
        let [indices, values, shape] = sparse(
            all.iter().map(|paths| paths.first().map_or(&[][..], |(labels, _)| labels)),
            logits.batch,
        )?;
        let sums = Tensor::build(Shape::new(&[logits.batch, 1])?, |out: &mut [T]| {
            let sums = all.iter().flatten().map(|(_, sum)| T::from_f64(*sum));
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum);
        })?;
        for (i, t) in [indices, values, shape, sums].into_iter().enumerate() {
            c.set(i, t);
        }
        Ok(())
    }))
}

fn prepare_beam<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (width, paths) = (node.attrs.int("beam_width")?, node.attrs.int("top_paths")?);
    let merge = node.attrs.bool("merge_repeated")?;
    if paths > width {
        return Err(invalid!("requested more paths than the beam width: {paths} and {width}"));
    }
    let (width, paths) = (width as usize, paths as usize);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let logits = Logits::of(c)?;
        if logits.classes == 0 {
            return Err(invalid!("there must be at least one class, got {}", c.shape(0)?));
        }
        let x = c.slice::<T>(0)?;
        let all = decoded(c, &logits, &|number, steps| {
            let mut beam = Beam::new(width, logits.classes);
            let mut row = scratch::filled(logits.classes, 0.0);
            for t in 0..steps {
                row.iter_mut().zip(logits.row(x, t, number)).for_each(|(to, x)| *to = x.to_f64());
                beam.step(&row);
            }
            beam.best(paths, merge)
        })?;
        if all.iter().any(|found| found.len() < paths) {
            return Err(invalid!("Less leaves in the beam search than requested: {paths}"));
        }
        for path in 0..paths {
            let labels = all.iter().map(|found| found[path].0.as_slice());
            for (i, t) in sparse(labels, logits.batch)?.into_iter().enumerate() {
                c.set(i * paths + path, t);
            }
        }
        let sums = Tensor::build(Shape::new(&[logits.batch, paths])?, |out: &mut [T]| {
            let sums = all.iter().flatten().map(|(_, sum)| T::from_f64(*sum));
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum);
        })?;
        c.set(3 * paths, sums);
        Ok(())
    }))
}
