//! `SampleDistortedBoundingBox`, `V2`, `StatelessSampleDistortedBoundingBox`: a random window of an image that shows enough of an object.

use crate::prelude::*;
use std::sync::Mutex;
use thalweg_core::sync::lock;
use thalweg_math::random::{Philox, PhiloxState, Words, stateless};

pub static OPS: &[&Op] = &[
    &SAMPLE_DISTORTED_BOUNDING_BOX,
    &SAMPLE_DISTORTED_BOUNDING_BOX_V2,
    &STATELESS_SAMPLE_DISTORTED_BOUNDING_BOX,
];

static SAMPLE_DISTORTED_BOUNDING_BOX: Op = Op {
    name: "SampleDistortedBoundingBox",
    doc: "A random window of an image, of an area and aspect ratio in given ranges, that covers enough of one of the boxes.",
    inputs: &["image_size: T", "bounding_boxes: float"],
    outputs: &["begin: T", "size: T", "bboxes: float"],
    attrs: &[
        "T: {uint8, int8, int16, int32, int64}",
        "seed: int = 0",
        "seed2: int = 0",
        "min_object_covered: float = 0.1",
        "aspect_ratio_range: list(float) = [0.75, 1.33]",
        "area_range: list(float) = [0.05, 1.0]",
        "max_attempts: int = 100",
        "use_image_if_no_bounding_boxes: bool = false",
    ],
    shape: |c| {
        PartialShape::vector(3).merge(&c.input(0))?;
        merge_dim(c.rank(1, 3)?.dim(2), 4)?;
        let window = [1, 1, 4].into_iter().collect();
        Ok(vec![PartialShape::vector(3), PartialShape::vector(3), window])
    },
    grad: Stops,
    kernels: cpu!(make seeded: T in u8, i8, i16, i32, i64),
    cases: |_| vec![Case::new(example()).attr("seed", 3i64).attr("seed2", 5i64)],
    ..Op::STATEFUL
};

static SAMPLE_DISTORTED_BOUNDING_BOX_V2: Op = Op {
    name: "SampleDistortedBoundingBoxV2",
    inputs: &["image_size: T", "bounding_boxes: float", "min_object_covered: float"],
    attrs: &[
        "T: {uint8, int8, int16, int32, int64}",
        "seed: int = 0",
        "seed2: int = 0",
        "aspect_ratio_range: list(float) = [0.75, 1.33]",
        "area_range: list(float) = [0.05, 1.0]",
        "max_attempts: int = 100",
        "use_image_if_no_bounding_boxes: bool = false",
    ],
    shape: |c| {
        c.scalar(2)?;
        (SAMPLE_DISTORTED_BOUNDING_BOX.shape)(c)
    },
    cases: |_| {
        let inputs = [example(), vec![Tensor::scalar(0.4f32)]].concat();
        vec![Case::new(inputs).attr("seed", 3i64).attr("seed2", 5i64)]
    },
    ..SAMPLE_DISTORTED_BOUNDING_BOX
};

static STATELESS_SAMPLE_DISTORTED_BOUNDING_BOX: Op = Op {
    name: "StatelessSampleDistortedBoundingBox",
    inputs: &["image_size: T", "bounding_boxes: float", "min_object_covered: float", "seed: Tseed"],
    attrs: &[
        "T: {uint8, int8, int16, int32, int64}",
        "Tseed: {int32, int64}",
        "aspect_ratio_range: list(float) = [0.75, 1.33]",
        "area_range: list(float) = [0.05, 1.0]",
        "max_attempts: int = 100",
        "use_image_if_no_bounding_boxes: bool = false",
    ],
    shape: |c| {
        PartialShape::vector(2).merge(&c.input(3))?;
        (SAMPLE_DISTORTED_BOUNDING_BOX_V2.shape)(c)
    },
    grad: Missing,
    kernels: cpu!(make by_seed: T in u8, i8, i16, i32, i64),
    cases: |_| {
        let case =
            |seed: i32| Case::new([example(), vec![Tensor::scalar(0.4f32), int_vector(&[seed, 7])]].concat());
        vec![case(1), case(2), case(3)]
    },
    stateful: false,
    ..SAMPLE_DISTORTED_BOUNDING_BOX_V2
};

/// Attempts between two looks at whether the step goes on.
const CHECK_EVERY: u64 = 1 << 12;

/// An image of 40 by 50 pixels, with two boxes.
fn example() -> Vec<Tensor> {
    let boxes = [0.1f32, 0.2, 0.7, 0.9, 0.4, 0.4, 0.6, 0.5];
    let boxes = Shape::new(&[1, 2, 4]).and_then(|s| Tensor::from_slice(s, &boxes));
    vec![int_vector(&[40, 50, 3]), boxes.unwrap_or_else(|_| Tensor::scalar(0f32))]
}

struct Rule {
    /// As an attr; else an input.
    covered: Option<f32>,
    aspects: [f32; 2],
    areas: [f32; 2],
    attempts: u64,
    whole_if_none: bool,
}

impl Rule {
    fn of(attrs: &Attrs) -> Result<Rule> {
        let covered = match attrs.get("min_object_covered") {
            Some(_) => Some(attrs.float("min_object_covered")?),
            None => None,
        };
        if covered.is_some_and(|v| v < 0.0 || v.is_nan()) {
            return Err(invalid!("Min object covered must be non-negative: {covered:?}"));
        }
        let pair = |name: &str, what: &str| match attrs.floats(name)?[..] {
            [low, high] if low > 0.0 && high > 0.0 => Ok([low, high]),
            [low, high] => Err(invalid!("{what} range must be non-negative: [{low}, {high}]")),
            _ => Err(invalid!("{what} range field must specify 2 dimensions")),
        };
        let (aspects, areas) = (pair("aspect_ratio_range", "Aspect ratio")?, pair("area_range", "Area")?);
        if areas[0] > 1.0 || areas[1] > 1.0 {
            return Err(invalid!("Area range must be less then or equal to 1.0: {areas:?}"));
        }
        let attempts = match attrs.int("max_attempts")? {
            n @ 1..=0x7fff_ffff => n as u64,
            n => return Err(invalid!("Max attempts must be non-negative: {n}")),
        };
        let whole_if_none = attrs.bool("use_image_if_no_bounding_boxes")?;
        Ok(Rule { covered, aspects, areas, attempts, whole_if_none })
    }
}

/// Pixels from the first to before the last, across and down.
#[derive(Clone, Copy)]
struct Window {
    left: i64,
    top: i64,
    right: i64,
    bottom: i64,
}

impl Window {
    fn area(&self) -> f32 {
        ((self.right - self.left) * (self.bottom - self.top)) as f32
    }

    /// The area shared with another.
    fn shared(&self, other: &Window) -> f32 {
        let wide = self.right.min(other.right) - self.left.max(other.left);
        let tall = self.bottom.min(other.bottom) - self.top.max(other.top);
        if wide < 0 || tall < 0 { 0.0 } else { (wide * tall) as f32 }
    }

    fn shows_enough(&self, boxes: &[Window], least: f32) -> bool {
        let enough = |b: &Window| b.area() >= 1.0 && self.shared(b) / b.area() >= least;
        self.area() >= 1.0 && boxes.iter().any(enough)
    }
}

/// A number in [0, 1), of 23 bits.
fn unit(words: &mut Words) -> f32 {
    f32::from_bits(words.next_word() & 0x7f_ffff | 0x3f80_0000) - 1.0
}

/// A number below `n`, by rejection sampling.
fn below(words: &mut Words, n: i64) -> i64 {
    let n = n.clamp(1, i64::from(u32::MAX)) as u32;
    if n.is_power_of_two() {
        return (words.next_word() & (n - 1)).into();
    }
    let spare = u32::MAX % n + 1;
    loop {
        let word = words.next_word();
        if word >= spare {
            return (word % n).into();
        }
    }
}

fn whole(v: f32) -> i64 {
    v.round_ties_even() as i64
}

/// A window of this aspect ratio whose area is in the range, if there is one.
fn propose(rule: &Rule, width: i64, height: i64, aspect: f32, words: &mut Words) -> Option<Window> {
    let [low, high] = rule.areas.map(|part| part * width as f32 * height as f32);
    if width <= 0 || height <= 0 || rule.areas[0] > rule.areas[1] {
        return None;
    }
    let wide = |tall: i64| whole(tall as f32 * aspect);
    let mut tall = whole((low / aspect).sqrt());
    let mut tallest = whole((high / aspect).sqrt());
    if wide(tallest) > width {
        // The tallest whose width still rounds to what there is.
        tallest = ((width as f64 + 0.5 - f64::from(0.0000001f32)) / f64::from(aspect)) as i64;
        if wide(tallest) > width {
            tallest -= 1;
        }
    }
    tallest = tallest.min(height);
    tall = tall.min(tallest);
    if tall < tallest {
        tall += below(words, tallest - tall + 1);
    }
    // Rounding may have taken the area out of the range: one more, or one less, may bring it back.
    let area = |tall: i64| (wide(tall) * tall) as f32;
    if area(tall) < low {
        tall += 1;
    }
    if area(tall) > high {
        tall -= 1;
    }
    let (area, wide) = (area(tall), wide(tall));
    if area < low || area > high || wide > width || tall > height || wide <= 0 || tall <= 0 {
        return None;
    }
    let top = if tall < height { below(words, height - tall) } else { 0 };
    let left = if wide < width { below(words, width - wide) } else { 0 };
    Some(Window { left, top, right: left + wide, bottom: top + tall })
}

fn sample<T: Integer>(c: &mut OpCall<'_>, rule: &Rule, stream: Philox) -> Result<()> {
    let (height, width) = match c.int_vector(0)?[..] {
        [height, width, _] => (height, width),
        ref other => return Err(invalid!("image_size must contain 3 elements, got {}", other.len())),
    };
    if [height, width].iter().any(|v| !(0..i64::from(i32::MAX)).contains(v)) {
        return Err(invalid!(
            "image height and width cannot be >= int32 max, or negative: {height}, {width}"
        ));
    }
    let boxes = match c.shape(1)?.dims() {
        [_, _, 4] => c.slice::<f32>(1)?,
        [_, _, _] => {
            return Err(invalid!("bounding boxes must have shape [4] or [*, 4], got {}", c.shape(1)?));
        }
        _ => {
            return Err(invalid!(
                "input boxes must be 3-dimensional [batch, num_boxes, coords]: {}",
                c.shape(1)?
            ));
        }
    };
    if let Some(odd) = boxes.iter().find(|v| !(0.0..=1.0).contains(*v)) {
        return Err(invalid!("All bounding box coordinates must be in [0.0, 1.0]: {odd}"));
    }
    let least = match rule.covered {
        Some(least) => least,
        None if !c.shape(2)?.is_scalar() => {
            return Err(invalid!("min_object_covered must be 0-D, got shape {}", c.shape(2)?));
        }
        None => c.scalar::<f32>(2)?,
    };
    if least < 0.0 || least.is_nan() {
        return Err(invalid!("Min object covered must be non-negative: {least}"));
    }
    let image = Window { left: 0, top: 0, right: width, bottom: height };
    let scaled = |v: f32, size: i64| (v * size as f32) as i64;
    let of_box = |b: &[f32; 4]| Window {
        left: scaled(b[1], width),
        top: scaled(b[0], height),
        right: scaled(b[3], width),
        bottom: scaled(b[2], height),
    };
    let mut objects = reserve::collect(boxes.as_chunks::<4>().0.iter().map(of_box))?;
    if objects.is_empty() {
        if !rule.whole_if_none {
            return Err(invalid!(
                "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to not \
                 provide any bounding boxes."
            ));
        }
        reserve::push(&mut objects, image)?;
    }
    let mut words = Words::new(stream);
    let mut found = image;
    for attempt in 0..rule.attempts {
        // Attempts may be many, and no proposal ever show enough.
        if attempt % CHECK_EVERY == CHECK_EVERY - 1 {
            c.step.check()?;
        }
        let aspect = unit(&mut words) * (rule.aspects[1] - rule.aspects[0]) + rule.aspects[0];
        let proposed = propose(rule, width, height, aspect, &mut words);
        if let Some(window) = proposed.filter(|w| w.shows_enough(&objects, least)) {
            found = window;
            break;
        }
    }
    let numbers = |values: [i64; 3]| Tensor::vector(&values.map(T::from_i64));
    let begin = numbers([found.top, found.left, 0])?;
    let size = numbers([found.bottom - found.top, found.right - found.left, -1])?;
    let part = |v: i64, size: i64| v as f32 / size as f32;
    let corners = [
        part(found.top, height),
        part(found.left, width),
        part(found.bottom, height),
        part(found.right, width),
    ];
    c.set(0, begin);
    c.set(1, size);
    c.set(2, Tensor::from_slice(Shape::new(&[1, 1, 4])?, &corners)?);
    Ok(())
}

fn seeded<T: Integer>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (rule, seeds) = (Rule::of(&node.attrs)?, (node.attrs.int("seed")?, node.attrs.int("seed2")?));
    let state: Mutex<Option<PhiloxState>> = Mutex::new(None);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let entropy = &c.step.device.entropy;
        let stream = lock(&state)
            .get_or_insert_with(|| PhiloxState::new(seeds.0, seeds.1, || entropy()))
            .reserve_words(rule.attempts.saturating_mul(4));
        sample::<T>(c, &rule, stream)
    }))
}

fn by_seed<T: Integer>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let rule = Rule::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| match c.int_vector(3)?[..] {
        [a, b] => sample::<T>(c, &rule, stateless([a, b])),
        _ => Err(invalid!("seed must have shape [2], not {}", c.shape(3)?)),
    }))
}
