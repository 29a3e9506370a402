//! `CombinedNonMaxSuppression`: for each image of a batch, the best boxes of all classes, those of one class without overlaps.

use super::non_max_suppression::overlap;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&COMBINED_NON_MAX_SUPPRESSION];

static COMBINED_NON_MAX_SUPPRESSION: Op = Op {
    name: "CombinedNonMaxSuppression",
    doc: "The boxes of the highest scores in each image, with their scores and classes; boxes of one class do not overlap much.",
    inputs: &[
        "boxes: float",
        "scores: float",
        "max_output_size_per_class: int32",
        "max_total_size: int32",
        "iou_threshold: float",
        "score_threshold: float",
    ],
    outputs: &[
        "nmsed_boxes: float",
        "nmsed_scores: float",
        "nmsed_classes: float",
        "valid_detections: int32",
    ],
    attrs: &["pad_per_class: bool = false", "clip_boxes: bool = true"],
    shape: |c| {
        let (boxes, scores) = (c.rank(0, 4)?, c.rank(1, 3)?);
        let batch = merge_dim(boxes.dim(0), scores.dim(0))?;
        merge_dim(boxes.dim(1), scores.dim(1))?;
        merge_dim(boxes.dim(3), 4)?;
        (2..6).try_for_each(|i| c.scalar(i))?;
        let value = |i: usize| c.ints(i).and_then(|v| v.first().copied()).filter(|v| *v > 0);
        let classes = Some(scores.dim(2)).filter(|n| *n >= 0);
        let size = match c.attrs.bool("pad_per_class")? {
            false => value(3),
            true => match (value(2), classes, value(3)) {
                (Some(of_class), Some(classes), Some(total)) => {
                    Some(total.min(of_class.saturating_mul(classes)))
                }
                _ => None,
            },
        }
        .unwrap_or(-1);
        let of = |dims: &[i64]| dims.iter().copied().collect::<PartialShape>();
        Ok(vec![of(&[batch, size, 4]), of(&[batch, size]), of(&[batch, size]), of(&[batch])])
    },
    grad: Missing,
    kernels: cpu!(run),
    cases: |r| {
        let mut case = |shared: usize| {
            let n = |v: i32| Tensor::scalar(v);
            let (boxes, scores) = (r.range(&[2, 5, shared, 4], -0.2, 1.2), r.range(&[2, 5, 3], 0.0, 1.0));
            let thresholds = [Tensor::scalar(0.3f32), Tensor::scalar(0.2f32)];
            Case::new([boxes, scores, n(2), n(8)].into_iter().chain(thresholds).collect())
        };
        vec![case(1), case(3), case(1).attr("pad_per_class", true).attr("clip_boxes", false)]
    },
    expensive: true,
    ..Op::PURE
};

/// A box that was selected.
#[derive(Clone, Copy)]
struct Found {
    score: f32,
    class: usize,
    index: usize,
    corners: [f32; 4],
}

struct Limits {
    of_class: usize,
    overlap: f32,
    score: f32,
}

fn positive(c: &OpCall<'_>, i: usize, name: &str) -> Result<usize> {
    if !c.shape(i)?.is_scalar() {
        return Err(invalid!("{name} must be 0-D, got shape {}", c.shape(i)?));
    }
    match c.scalar::<i32>(i)? {
        n if n > 0 => Ok(n as usize),
        n => Err(invalid!("{name} must be > 0, got {n}")),
    }
}

fn threshold(c: &OpCall<'_>, i: usize, name: &str) -> Result<f32> {
    if !c.shape(i)?.is_scalar() {
        return Err(invalid!("{name} must be 0-D, got shape {}", c.shape(i)?));
    }
    c.scalar(i)
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (of_class, total) = (positive(c, 2, "max_size_per_class")?, positive(c, 3, "max_total_size")?);
    let limits = Limits {
        of_class,
        overlap: threshold(c, 4, "iou_threshold")?,
        score: threshold(c, 5, "score_threshold")?,
    };
    if !(0.0..=1.0).contains(&limits.overlap) {
        return Err(invalid!("iou_threshold must be in [0, 1]"));
    }
    let (batch, count, sets, classes) = match (c.shape(0)?.dims(), c.shape(1)?.dims()) {
        ([batch, count, sets, 4], [b, n, classes])
            if (b, n) == (batch, count) && matches!(sets, s if s == classes || *s == 1) =>
        {
            (*batch, *count, *sets, *classes)
        }
        (boxes, scores) => {
            return Err(invalid!(
                "boxes must be 4-D, scores 3-D, with as many boxes, and third dimension of boxes must be either 1 or num \
                 classes: got {boxes:?} and {scores:?}"
            ));
        }
    };
    let size = match c.attrs().bool("pad_per_class")? {
        true => total.min(of_class.saturating_mul(classes)),
        false => total,
    };
    let clip = c.attrs().bool("clip_boxes")?;
    let mut out_boxes = Tensor::zeros(DataType::Float, Shape::new(&[batch, size, 4])?)?;
    let mut out_scores = Tensor::zeros(DataType::Float, Shape::new(&[batch, size])?)?;
    let mut out_classes = Tensor::zeros(DataType::Float, Shape::new(&[batch, size])?)?;
    let mut valid = reserve::with_capacity(batch)?;
    let (boxes, scores) = (c.slice::<f32>(0)?, c.slice::<f32>(1)?);
    for image in 0..batch {
        let boxes = &boxes[image * count * sets * 4..][..count * sets * 4];
        let scores = &scores[image * count * classes..][..count * classes];
        let mut found = Vec::new();
        for class in 0..classes {
            let corners = |i: usize| {
                let at = (i * sets + if sets > 1 { class } else { 0 }) * 4;
                [boxes[at], boxes[at + 1], boxes[at + 2], boxes[at + 3]]
            };
            let of_class = best_of_class(count, class, &limits, |i| scores[i * classes + class], corners)?;
            reserve::extend(&mut found, &of_class)?;
        }
        // Equal scores: in the order of classes, and of boxes.
        found.sort_unstable_by(|a: &Found, b| {
            b.score.total_cmp(&a.score).then((a.class, a.index).cmp(&(b.class, b.index)))
        });
        found.truncate(size);
        valid.push(found.len() as i32);
        for (i, found) in found.iter().enumerate() {
            let at = image * size + i;
            let corners = found.corners.map(|v| if clip { v.clamp(0.0, 1.0) } else { v });
            out_boxes.as_mut_slice::<f32>()?[4 * at..4 * at + 4].copy_from_slice(&corners);
            out_scores.as_mut_slice::<f32>()?[at] = found.score;
            out_classes.as_mut_slice::<f32>()?[at] = found.class as f32;
        }
    }
    c.set(0, out_boxes);
    c.set(1, out_scores);
    c.set(2, out_classes);
    c.set(3, Tensor::vector(&valid)?);
    Ok(())
}

fn best_of_class(
    count: usize,
    class: usize,
    limits: &Limits,
    score: impl Fn(usize) -> f32,
    corners: impl Fn(usize) -> [f32; 4],
) -> Result<Vec<Found>> {
    let mut order = reserve::collect((0..count).filter(|i| score(*i) > limits.score))?;
    order.sort_unstable_by(|a, b| score(*b).total_cmp(&score(*a)).then(a.cmp(b)));
    let mut found: Vec<Found> = Vec::new();
    for i in order {
        if found.len() >= limits.of_class {
            break;
        }
        let corners = corners(i);
        if !found.iter().rev().any(|f| overlap(&corners, &f.corners) > limits.overlap) {
            reserve::push(&mut found, Found { score: score(i), class, index: i, corners })?;
        }
    }
    Ok(found)
}
