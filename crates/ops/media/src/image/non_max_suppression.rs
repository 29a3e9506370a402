//! `NonMaxSuppression`, its versions, and `NonMaxSuppressionWithOverlaps`: the boxes of the highest scores that do not overlap much.

use crate::prelude::*;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

pub static OPS: &[&Op] = &[
    &NON_MAX_SUPPRESSION,
    &NON_MAX_SUPPRESSION_V2,
    &NON_MAX_SUPPRESSION_V3,
    &NON_MAX_SUPPRESSION_V4,
    &NON_MAX_SUPPRESSION_V5,
    &NON_MAX_SUPPRESSION_WITH_OVERLAPS,
];

static NON_MAX_SUPPRESSION: Op = Op {
    name: "NonMaxSuppression",
    doc: "The indices of boxes in order of their scores, without those that overlap one before them.",
    inputs: &["boxes: float", "scores: float", "max_output_size: int32"],
    outputs: &["selected_indices: int32"],
    attrs: &["iou_threshold: float = 0.5"],
    shape: |c| {
        check_boxes(c)?;
        c.scalar(2)?;
        Ok(vec![PartialShape::vector(-1)])
    },
    grad: Stops,
    kernels: cpu!(first),
    cases: |_| vec![Case::new(vec![boxes(), scores(), Tensor::scalar(3i32)])],
    expensive: true,
    ..Op::PURE
};

static NON_MAX_SUPPRESSION_V2: Op = Op {
    name: "NonMaxSuppressionV2",
    inputs: &["boxes: T", "scores: T", "max_output_size: int32", "iou_threshold: T_threshold"],
    attrs: &["T: {half, float} = DT_FLOAT", "T_threshold: {half, float} = DT_FLOAT"],
    kernels: cpu!(second: T in f16, f32),
    cases: |_| vec![Case::new(vec![boxes(), scores(), Tensor::scalar(3i32), Tensor::scalar(0.5f32)])],
    ..NON_MAX_SUPPRESSION
};

static NON_MAX_SUPPRESSION_V3: Op = Op {
    name: "NonMaxSuppressionV3",
    inputs: &[
        "boxes: T",
        "scores: T",
        "max_output_size: int32",
        "iou_threshold: T_threshold",
        "score_threshold: T_threshold",
    ],
    grad: Missing,
    kernels: cpu!(third: T in f16, f32),
    cases: |_| vec![Case::new(with_thresholds())],
    ..NON_MAX_SUPPRESSION_V2
};

static NON_MAX_SUPPRESSION_V4: Op = Op {
    name: "NonMaxSuppressionV4",
    doc: "As NonMaxSuppressionV3; with pad_to_max_output_size, zeros follow, and the number of those that are meant.",
    outputs: &["selected_indices: int32", "valid_outputs: int32"],
    attrs: &[
        "T: {half, float} = DT_FLOAT",
        "T_threshold: {half, float} = DT_FLOAT",
        "pad_to_max_output_size: bool = false",
    ],
    shape: |c| Ok(vec![padded(c)?, PartialShape::scalar()]),
    kernels: cpu!(fourth: T in f16, f32),
    cases: |_| {
        vec![Case::new(with_thresholds()), Case::new(with_thresholds()).attr("pad_to_max_output_size", true)]
    },
    ..NON_MAX_SUPPRESSION_V3
};

static NON_MAX_SUPPRESSION_V5: Op = Op {
    name: "NonMaxSuppressionV5",
    doc: "As NonMaxSuppressionV4; with a sigma, boxes that overlap have their scores lowered instead of being left out.",
    inputs: &[
        "boxes: T",
        "scores: T",
        "max_output_size: int32",
        "iou_threshold: T",
        "score_threshold: T",
        "soft_nms_sigma: T",
    ],
    outputs: &["selected_indices: int32", "selected_scores: T", "valid_outputs: int32"],
    attrs: &["T: {half, float} = DT_FLOAT", "pad_to_max_output_size: bool = false"],
    shape: |c| {
        c.scalar(5)?;
        let selected = padded(c)?;
        Ok(vec![selected.clone(), selected, PartialShape::scalar()])
    },
    kernels: cpu!(fifth: T in f16, f32),
    cases: |_| {
        let case = |sigma: f32| {
            let mut inputs = with_thresholds();
            inputs.push(Tensor::scalar(sigma));
            Case::new(inputs)
        };
        vec![case(0.0), case(0.5), case(0.5).attr("pad_to_max_output_size", true)]
    },
    ..NON_MAX_SUPPRESSION_V4
};

static NON_MAX_SUPPRESSION_WITH_OVERLAPS: Op = Op {
    name: "NonMaxSuppressionWithOverlaps",
    doc: "As NonMaxSuppressionV3, of boxes whose overlaps are given.",
    inputs: &[
        "overlaps: float",
        "scores: float",
        "max_output_size: int32",
        "overlap_threshold: float",
        "score_threshold: float",
    ],
    attrs: &[],
    shape: |c| {
        let (overlaps, scores) = (c.rank(0, 2)?, c.rank(1, 1)?);
        merge_dim(merge_dim(overlaps.dim(0), overlaps.dim(1))?, scores.dim(0))?;
        (2..5).try_for_each(|i| c.scalar(i))?;
        Ok(vec![PartialShape::vector(-1)])
    },
    kernels: cpu!(with_overlaps),
    cases: |r| {
        let n = |v: f32| Tensor::scalar(v);
        vec![Case::new(vec![r.range(&[6, 6], 0.0, 1.0), scores(), Tensor::scalar(4i32), n(0.5), n(0.2)])]
    },
    ..NON_MAX_SUPPRESSION
};

fn of(dims: &[usize], values: &[f32]) -> Tensor {
    Shape::new(dims).and_then(|s| Tensor::from_slice(s, values)).unwrap_or_else(|_| Tensor::scalar(0f32))
}

fn boxes() -> Tensor {
    let corners = [
        [0.0, 0.0, 1.0, 1.0],
        [0.0, 0.125, 1.0, 1.125],
        [0.0, -0.125, 1.0, 0.875],
        [0.0, 10.0, 1.0, 11.0],
        [1.0, 11.125, 0.0, 10.125],
        [0.0, 100.0, 1.0, 101.0],
    ];
    of(&[6, 4], corners.as_flattened())
}

fn scores() -> Tensor {
    of(&[6], &[0.875, 0.75, 0.625, 0.9375, 0.5, 0.25])
}

fn with_thresholds() -> Vec<Tensor> {
    vec![boxes(), scores(), Tensor::scalar(5i32), Tensor::scalar(0.5f32), Tensor::scalar(0.375f32)]
}

fn check_boxes(c: &ShapeCall<'_>) -> Result<()> {
    let (boxes, scores) = (c.rank(0, 2)?, c.rank(1, 1)?);
    merge_dim(boxes.dim(0), scores.dim(0))?;
    merge_dim(boxes.dim(1), 4)?;
    // Thresholds, where there are some.
    (3..c.inputs.len()).try_for_each(|i| c.scalar(i))
}

/// The shape of the selection: known if it is padded.
fn padded(c: &ShapeCall<'_>) -> Result<PartialShape> {
    check_boxes(c)?;
    c.scalar(2)?;
    let size = match (c.attrs.bool("pad_to_max_output_size")?, c.ints(2).as_deref()) {
        (true, Some([size])) if *size < 0 => {
            return Err(invalid!("max_output_size must be non-negative, got {size}"));
        }
        (true, Some([size])) => *size,
        _ => -1,
    };
    Ok(PartialShape::vector(size))
}

/// How much two boxes overlap: the area of what they share, of the area of both.
pub fn overlap(a: &[f32], b: &[f32]) -> f32 {
    let along = |r: &[f32], k: usize| (r[k].min(r[k + 2]), r[k].max(r[k + 2]));
    let area = |r: &[f32]| {
        let ((top, bottom), (left, right)) = (along(r, 0), along(r, 1));
        (bottom - top) * (right - left)
    };
    let (of_a, of_b) = (area(a), area(b));
    if of_a <= 0.0 || of_b <= 0.0 {
        return 0.0;
    }
    let shared = |k: usize| {
        let ((low, high), (other_low, other_high)) = (along(a, k), along(b, k));
        (high.min(other_high) - low.max(other_low)).max(0.0)
    };
    let both = shared(0) * shared(1);
    both / (of_a + of_b - both)
}

struct Candidate<T> {
    index: usize,
    score: T,
    /// Selected boxes before this one have lowered its score already.
    compared: usize,
}

impl<T: Real> Ord for Candidate<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.partial_cmp(&other.score).unwrap_or(Ordering::Equal);
        by_score.then(other.index.cmp(&self.index))
    }
}

impl<T: Real> PartialOrd for Candidate<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Real> PartialEq for Candidate<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T: Real> Eq for Candidate<T> {}

/// What a selection depends on, beside boxes and scores.
struct Rule<T> {
    most: usize,
    overlap: T,
    score: T,
    /// 0 to leave out what overlaps; else how wide the bell is that lowers its score.
    sigma: T,
}

impl<T: Float> Rule<T> {
    fn weight(&self, similarity: T) -> T {
        let soft = self.sigma > T::ZERO;
        let scale = if soft { T::from_f64(-0.5).div(self.sigma) } else { T::ZERO };
        if soft || similarity <= self.overlap {
            scale.mul(similarity).mul(similarity).via(f32::exp, f64::exp)
        } else {
            T::ZERO
        }
    }

    /// The boxes selected, and their scores.
    fn select(&self, scores: &[T], similarity: impl Fn(usize, usize) -> f32) -> Result<(Vec<i32>, Vec<T>)> {
        let hard = self.sigma.partial_cmp(&T::ZERO) != Some(Ordering::Greater);
        let of_box = |(index, score): (usize, &T)| Candidate { index, score: *score, compared: 0 };
        let above = scores.iter().enumerate().filter(|(_, score)| **score > self.score).map(of_box);
        let mut queue = BinaryHeap::from(reserve::collect(above)?);
        let (mut selected, mut kept) = (Vec::new(), Vec::new());
        while selected.len() < self.most {
            let Some(mut next) = queue.pop() else { break };
            let before = next.score;
            let mut left_out = false;
            for other in selected[next.compared..].iter().rev() {
                let similarity = T::from_f64(similarity(next.index, *other as usize).into());
                next.score = next.score.mul(self.weight(similarity));
                if hard && similarity > self.overlap {
                    left_out = true;
                    break;
                }
                if next.score <= self.score {
                    break;
                }
            }
            next.compared = selected.len();
            if left_out {
                continue;
            }
            if next.score == before {
                reserve::push(&mut selected, next.index as i32)?;
                reserve::push(&mut kept, next.score)?;
            } else if next.score > self.score {
                // There is room: it was taken out.
                queue.push(next);
            }
        }
        Ok((selected, kept))
    }
}

/// A scalar input of type half or float.
fn threshold<T: Float>(c: &OpCall<'_>, i: usize, name: &str) -> Result<T> {
    let t = c.input(i)?;
    if !t.shape().is_scalar() {
        return Err(invalid!("{name} must be 0-D, got shape {}", t.shape()));
    }
    Ok(T::from_f64(match t.dtype() {
        DataType::Half => t.to_scalar::<f16>()?.to_f64(),
        _ => t.to_scalar::<f32>()?.into(),
    }))
}

fn most(c: &OpCall<'_>) -> Result<usize> {
    if !c.shape(2)?.is_scalar() {
        return Err(invalid!("max_output_size must be 0-D, got shape {}", c.shape(2)?));
    }
    let most = c.scalar::<i32>(2)?;
    usize::try_from(most).map_err(|_| invalid!("output size must be non-negative, got {most}"))
}

/// The scores of the boxes: a vector that is as long as there are boxes.
fn scores_of<'a, T: Element>(c: &'a OpCall<'_>, boxes: usize) -> Result<&'a [T]> {
    match c.shape(1)?.dims() {
        [n] if *n == boxes => c.slice::<T>(1),
        [n] => Err(invalid!("scores has incompatible shape: {n} scores of {boxes} boxes")),
        _ => Err(invalid!("scores must be 1-D, got shape {}", c.shape(1)?)),
    }
}

fn check_overlap<T: Float>(overlap: T) -> Result<T> {
    if overlap >= T::ZERO && overlap <= T::ONE {
        Ok(overlap)
    } else {
        Err(invalid!("iou_threshold must be in [0, 1]"))
    }
}

fn select<T: Float>(c: &OpCall<'_>, rule: &Rule<T>) -> Result<(Vec<i32>, Vec<T>)> {
    let count = match c.shape(0)?.dims() {
        [n, 4] => *n,
        [_, _] => return Err(invalid!("boxes must have 4 columns, got shape {}", c.shape(0)?)),
        _ => return Err(invalid!("boxes must be 2-D, got shape {}", c.shape(0)?)),
    };
    let scores = scores_of::<T>(c, count)?;
    let boxes = reserve::collect(c.slice::<T>(0)?.iter().map(|v| v.to_f64() as f32))?;
    rule.select(scores, |a, b| overlap(&boxes[4 * a..4 * a + 4], &boxes[4 * b..4 * b + 4]))
}

fn first(c: &mut OpCall<'_>) -> Result<()> {
    let overlap = check_overlap(c.attrs().float("iou_threshold")?)?;
    let rule = Rule { most: most(c)?, overlap, score: f32::MIN, sigma: 0.0 };
    c.set(0, Tensor::vector(&select(c, &rule)?.0)?);
    Ok(())
}

fn second<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let overlap = check_overlap(threshold::<T>(c, 3, "iou_threshold")?)?;
    let rule = Rule { most: most(c)?, overlap, score: T::least_finite(), sigma: T::ZERO };
    c.set(0, Tensor::vector(&select(c, &rule)?.0)?);
    Ok(())
}

/// The rule of ops with a threshold for scores.
fn rule<T: Float>(c: &OpCall<'_>, sigma: T) -> Result<Rule<T>> {
    let overlap = check_overlap(threshold::<T>(c, 3, "iou_threshold")?)?;
    Ok(Rule { most: most(c)?, overlap, score: threshold(c, 4, "score_threshold")?, sigma })
}

fn third<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    c.set(0, Tensor::vector(&select(c, &rule(c, T::ZERO)?)?.0)?);
    Ok(())
}

/// A vector with zeros after it where the op pads.
fn pad<T: Number>(c: &OpCall<'_>, values: &[T], most: usize) -> Result<Tensor> {
    if !c.attrs().bool("pad_to_max_output_size")? {
        return Tensor::vector(values);
    }
    let mut all = Tensor::full(Shape::vector(most), T::ZERO)?;
    all.as_mut_slice::<T>()?[..values.len()].copy_from_slice(values);
    Ok(all)
}

fn fourth<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let rule = rule(c, T::ZERO)?;
    let (selected, _) = select(c, &rule)?;
    c.set(0, pad(c, &selected, rule.most)?);
    c.set(1, Tensor::scalar(selected.len() as i32));
    Ok(())
}

fn fifth<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let sigma = threshold::<T>(c, 5, "soft_nms_sigma")?;
    if sigma < T::ZERO {
        return Err(invalid!("soft_nms_sigma_val must be >= 0, got {}", sigma.to_f64()));
    }
    let rule = rule(c, sigma)?;
    let (selected, scores) = select(c, &rule)?;
    c.set(0, pad(c, &selected, rule.most)?);
    c.set(1, pad(c, &scores, rule.most)?);
    c.set(2, Tensor::scalar(selected.len() as i32));
    Ok(())
}

fn with_overlaps(c: &mut OpCall<'_>) -> Result<()> {
    let count = match c.shape(0)?.dims() {
        [n, m] if n == m => *n,
        [_, _] => return Err(invalid!("overlaps must be square, got shape {}", c.shape(0)?)),
        _ => return Err(invalid!("overlaps must be 2-D, got shape {}", c.shape(0)?)),
    };
    let rule = Rule {
        most: most(c)?,
        overlap: threshold(c, 3, "overlap_threshold")?,
        score: threshold(c, 4, "score_threshold")?,
        sigma: 0f32,
    };
    let (scores, overlaps) = (scores_of::<f32>(c, count)?, c.slice::<f32>(0)?);
    let (selected, _) = rule.select(scores, |a, b| overlaps[a * count + b])?;
    c.set(0, Tensor::vector(&selected)?);
    Ok(())
}
