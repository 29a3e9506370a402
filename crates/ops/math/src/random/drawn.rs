//! Shared by the random ops: signature templates, the stream of a node, and filling an output from it.

use super::stateless_key::example_key;
use crate::prelude::*;
use std::sync::Mutex;
use thalweg_core::sync::lock;
use thalweg_math::random::{self, Distribution, Philox, PhiloxState};

/// An op that draws from its node's own stream.
pub const SEEDED: Op = Op {
    inputs: &["shape: T"],
    outputs: &["output: dtype"],
    attrs: &[
        "seed: int = 0",
        "seed2: int = 0",
        "dtype: {half, bfloat16, float, double}",
        "T: {int32, int64}",
    ],
    shape: drawn_shape,
    cases: |_| {
        let seeded = |dtype: DataType| {
            Case::new(vec![int_vector(&[2, 3])]).attr("seed", 87654321).attr("seed2", 7).attr("dtype", dtype)
        };
        vec![seeded(DataType::Float), seeded(DataType::Double)]
    },
    expensive: true,
    ..Op::STATEFUL
};

/// An op whose stream is given by a seed.
pub const STATELESS: Op = Op {
    inputs: &["shape: T", "seed: Tseed"],
    outputs: &["output: dtype"],
    attrs: &[
        "dtype: {half, bfloat16, float, double} = DT_FLOAT",
        "T: {int32, int64} = DT_INT32",
        "Tseed: {int32, int64} = DT_INT64",
    ],
    shape: stateless_shape,
    grad: Stops,
    cases: |_| vec![Case::new(vec![int_vector(&[7]), int_vector(&[3, -9])])],
    expensive: true,
    ..Op::PURE
};

/// An op whose stream is given by a key and a counter.
pub const KEYED: Op = Op {
    inputs: &["shape: Tshape", "key: uint64", "counter: uint64", "alg: int32"],
    attrs: &["dtype: {half, bfloat16, float, double} = DT_FLOAT", "Tshape: {int32, int64} = DT_INT32"],
    shape: keyed_shape,
    cases: |_| vec![Case::new([vec![int_vector(&[2, 2])], example_key()].concat())],
    ..STATELESS
};

/// A real element type to be sampled.
pub trait RealElement: random::Real + Element {}
impl<T: random::Real + Element> RealElement for T {}

/// The stream of a stateful op, which advances with every run of its node.
pub struct Seeded {
    seeds: (i64, i64),
    state: Mutex<Option<PhiloxState>>,
}

impl Seeded {
    pub fn of(node: &KernelNode) -> Result<Seeded> {
        Ok(Seeded { seeds: (node.attrs.int("seed")?, node.attrs.int("seed2")?), state: Mutex::new(None) })
    }

    /// Reserves a range of the stream.
    pub fn reserve(&self, c: &OpCall<'_>, part: impl FnOnce(&mut PhiloxState) -> Philox) -> Philox {
        let mut state = lock(&self.state);
        let entropy = &c.step.device.entropy;
        part(state.get_or_insert_with(|| PhiloxState::new(self.seeds.0, self.seeds.1, || entropy())))
    }
}

/// A kernel that fills its output, of the shape in input 0, from the node's own stream.
pub fn seeded<D: Distribution + Default + Send + 'static>(node: &KernelNode) -> Result<Box<dyn Kernel>>
where
    D::Item: Element,
{
    let stream = Seeded::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let shape = wanted_shape(c, 0)?;
        let part = stream.reserve(c, |s| s.reserve_outputs(shape.elements() as u64));
        draw(c, shape, part, &D::default())
    }))
}

/// Fills output 0 from the stream of the seed in input 1.
pub fn stateless<D: Distribution + Default>(c: &mut OpCall<'_>) -> Result<()>
where
    D::Item: Element,
{
    let (shape, stream) = (wanted_shape(c, 0)?, seed_stream(c, 1)?);
    draw(c, shape, stream, &D::default())
}

/// Fills output 0 from the stream of the key, counter and algorithm in inputs 1 to 3.
pub fn keyed<D: Distribution + Default>(c: &mut OpCall<'_>) -> Result<()>
where
    D::Item: Element,
{
    let (shape, stream) = (wanted_shape(c, 0)?, key_stream(c, 1)?);
    draw(c, shape, stream, &D::default())
}

pub fn draw<D: Distribution>(c: &mut OpCall<'_>, shape: Shape, stream: Philox, dist: &D) -> Result<()>
where
    D::Item: Element,
{
    let mut out = Tensor::uninit(D::Item::DTYPE, shape)?;
    random::fill(c.par(), dist, stream, out.as_mut_slice::<D::Item>()?);
    c.set(0, out);
    Ok(())
}

/// The shape in input `i`.
pub fn wanted_shape(c: &OpCall<'_>, i: usize) -> Result<Shape> {
    let t = c.input(i)?;
    if t.rank() != 1 {
        return Err(invalid!("shape must be a vector of int32 or int64, got shape {}", t.shape()));
    }
    Shape::from_i64(&t.to_i64s()?)
}

/// The stream of a two-element seed.
pub fn seed_stream(c: &OpCall<'_>, i: usize) -> Result<Philox> {
    let t = c.input(i)?;
    let seed = match t.dtype() {
        DataType::Uint64 => reserve::collect(t.as_slice::<u64>()?.iter().map(|s| *s as i64))?,
        _ => t.to_i64s()?,
    };
    match (t.rank(), seed.as_slice()) {
        (1, [a, b]) => Ok(random::stateless([*a, *b])),
        _ => Err(invalid!("seed must have shape [2], not {}", t.shape())),
    }
}

/// The number of the Philox algorithm; TensorFlow also has ThreeFry (2), and 3 for whichever the device prefers.
pub const PHILOX: i32 = 1;
pub const AUTO_SELECT: i32 = 3;

/// The stream of a key, a counter and an algorithm, from input `i` on.
pub fn key_stream(c: &OpCall<'_>, i: usize) -> Result<Philox> {
    let alg = c.scalar::<i32>(i + 2)?;
    if alg != PHILOX && alg != AUTO_SELECT {
        return Err(invalid!("Unsupported algorithm id: {alg}; only Philox (1) runs on this device"));
    }
    let (key, counter) = (c.input(i)?, c.input(i + 1)?);
    let (key, counter) =
        match (key.rank(), key.as_slice::<u64>()?, counter.rank(), counter.as_slice::<u64>()?) {
            (1, [key], 1, [low, high, ..]) => (*key, [*low, *high]),
            (1, [_], ..) => {
                return Err(invalid!(
                    "counter must be a vector of at least 2, got shape {}",
                    counter.shape()
                ));
            }
            _ => return Err(invalid!("key must have shape [1], not {}", key.shape())),
        };
    Ok(Philox::from_key_counter(key, counter))
}

/// The output has the shape in input 0; input 1 is a two-element seed.
pub fn stateless_shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    PartialShape::vector(2).merge(&c.input(1))?;
    drawn_shape(c)
}

/// The output has the shape in input 0; key, counter and algorithm follow.
pub fn keyed_shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    check_key(c, 1)?;
    drawn_shape(c)
}

/// Inputs from `i` on are a key, a counter and an algorithm.
pub fn check_key(c: &ShapeCall<'_>, i: usize) -> Result<()> {
    PartialShape::vector(1).merge(&c.input(i))?;
    c.rank(i + 1, 1)?;
    c.scalar(i + 2)
}

/// The output has the shape in input 0.
pub fn drawn_shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    c.rank(0, 1)?;
    Ok(vec![c.as_shape(0)?])
}
