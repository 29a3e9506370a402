//! Initial values of variables.

use thalweg_client::{DataType, Initializer, Output, Scope, Slice};

/// All zeros.
pub struct Zeros;
/// All ones.
pub struct Ones;

/// The same number everywhere.
pub struct Constant(pub f64);

/// Uniform in [low, high).
pub struct RandomUniform {
    /// The lower bound, included.
    pub low: f64,
    /// The upper bound, excluded.
    pub high: f64,
    /// The op seed; `None`: the graph's seed alone.
    pub seed: Option<i64>,
}

/// A normal distribution.
pub struct RandomNormal {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub stddev: f64,
    /// As in [`RandomUniform`].
    pub seed: Option<i64>,
}

/// A normal distribution truncated at two standard deviations.
pub struct TruncatedNormal {
    /// The mean.
    pub mean: f64,
    /// The standard deviation before truncation.
    pub stddev: f64,
    /// As in [`RandomUniform`].
    pub seed: Option<i64>,
}

/// Scaled by fan-in, fan-out, or both, so that signals keep their variance from layer to layer.
pub struct VarianceScaling {
    /// The variance is this divided by the fan.
    pub scale: f64,
    /// Which fan.
    pub mode: FanMode,
    /// Of the values.
    pub distribution: Distribution,
    /// As in [`RandomUniform`].
    pub seed: Option<i64>,
}

/// What [`VarianceScaling`] divides by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FanMode {
    /// Fan-in.
    In,
    /// Fan-out.
    Out,
    /// The mean of both.
    Average,
}

/// What [`VarianceScaling`] draws from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distribution {
    /// Truncated at two standard deviations.
    TruncatedNormal,
    /// Not truncated.
    Normal,
    /// With the same variance.
    Uniform,
}

/// A matrix whose rows or columns are orthonormal, times `gain`.
pub struct Orthogonal {
    /// A factor.
    pub gain: f64,
    /// As in [`RandomUniform`].
    pub seed: Option<i64>,
}

/// Ones on the diagonal, times `gain`.
pub struct Identity {
    /// The value on the diagonal.
    pub gain: f64,
}

/// Uniform with variance `2 / (inputs + outputs)`: the default of layers.
pub fn glorot_uniform(seed: Option<i64>) -> VarianceScaling {
    VarianceScaling { scale: 1.0, mode: FanMode::Average, distribution: Distribution::Uniform, seed }
}

/// Truncated normal with variance `2 / (inputs + outputs)`.
pub fn glorot_normal(seed: Option<i64>) -> VarianceScaling {
    VarianceScaling { scale: 1.0, mode: FanMode::Average, distribution: Distribution::TruncatedNormal, seed }
}

/// Uniform with variance `2 / inputs`, for ReLU.
pub fn he_uniform(seed: Option<i64>) -> VarianceScaling {
    VarianceScaling { scale: 2.0, mode: FanMode::In, distribution: Distribution::Uniform, seed }
}

/// Truncated normal with variance `2 / inputs`, for ReLU.
pub fn he_normal(seed: Option<i64>) -> VarianceScaling {
    VarianceScaling { scale: 2.0, mode: FanMode::In, distribution: Distribution::TruncatedNormal, seed }
}

/// Dimensions as int32, for shape tensors.
fn int32s(dims: &[usize]) -> Vec<i32> {
    dims.iter().map(|d| i32::try_from(*d).unwrap_or(i32::MAX)).collect()
}

/// A value everywhere, as a Fill: a constant of that size would make the graph as large as the variable.
fn filled(g: &Scope, name: &str, value: f64, dtype: DataType, dims: &[usize]) -> Output {
    let one = g.number_named(&format!("{name}/Const"), value, dtype);
    if dims.is_empty() {
        return one;
    }
    let shape = g.constant_named(&format!("{name}/shape_as_tensor"), int32s(dims));
    g.op("Fill").name(name).input(shape).input(one).output()
}

impl Initializer for Zeros {
    fn build(&self, g: &Scope, dtype: DataType, dims: &[usize]) -> Output {
        filled(g, self.name(), 0.0, dtype, dims)
    }
    fn name(&self) -> &'static str {
        "zeros"
    }
}

impl Initializer for Ones {
    fn build(&self, g: &Scope, dtype: DataType, dims: &[usize]) -> Output {
        filled(g, self.name(), 1.0, dtype, dims)
    }
    fn name(&self) -> &'static str {
        "ones"
    }
}

impl Initializer for Constant {
    fn build(&self, g: &Scope, dtype: DataType, dims: &[usize]) -> Output {
        filled(g, self.name(), self.0, dtype, dims)
    }
    fn name(&self) -> &'static str {
        "Const"
    }
}

/// Random numbers from an op that takes a shape.
fn drawn(g: &Scope, name: &str, op: &str, seed: Option<i64>, dtype: DataType, dims: &[usize]) -> Output {
    let shape = g.constant_named(&format!("{name}/shape"), int32s(dims));
    g.op(op).name(&format!("{name}/{op}")).input(shape).attr("dtype", dtype).seeds(seed).output()
}

/// `x * scale + shift`, with TensorFlow's names.
fn scaled(g: &Scope, name: &str, x: &Output, scale: &Output, shift: &Output) -> Output {
    let product = g.op("Mul").name(&format!("{name}/mul")).input(x).input(scale).output();
    g.op("AddV2").name(name).input(product).input(shift).output()
}

impl Initializer for RandomUniform {
    fn build(&self, g: &Scope, dtype: DataType, dims: &[usize]) -> Output {
        let name = self.name();
        let low = g.number_named(&format!("{name}/min"), self.low, dtype);
        let high = g.number_named(&format!("{name}/max"), self.high, dtype);
        let unit = drawn(g, name, "RandomUniform", self.seed, dtype, dims);
        let width = g.op("Sub").name(&format!("{name}/sub")).input(&high).input(&low).output();
        scaled(g, name, &unit, &width, &low)
    }
    fn name(&self) -> &'static str {
        "random_uniform"
    }
}

fn normal(
    g: &Scope,
    (name, op): (&str, &str),
    (mean, stddev): (f64, f64),
    seed: Option<i64>,
    dtype: DataType,
    dims: &[usize],
) -> Output {
    let mean = g.number_named(&format!("{name}/mean"), mean, dtype);
    let stddev = g.number_named(&format!("{name}/stddev"), stddev, dtype);
    let unit = drawn(g, name, op, seed, dtype, dims);
    scaled(g, name, &unit, &stddev, &mean)
}

impl Initializer for RandomNormal {
    fn build(&self, g: &Scope, dtype: DataType, dims: &[usize]) -> Output {
        normal(g, (self.name(), "RandomStandardNormal"), (self.mean, self.stddev), self.seed, dtype, dims)
    }
    fn name(&self) -> &'static str {
        "random_normal"
    }
}

impl Initializer for TruncatedNormal {
    fn build(&self, g: &Scope, dtype: DataType, dims: &[usize]) -> Output {
        normal(g, (self.name(), "TruncatedNormal"), (self.mean, self.stddev), self.seed, dtype, dims)
    }
    fn name(&self) -> &'static str {
        "truncated_normal"
    }
}

/// Fan-in and fan-out of a layer with weights of this shape.
fn fans(dims: &[usize]) -> (f64, f64) {
    match dims {
        [] => (1.0, 1.0),
        [n] => (*n as f64, *n as f64),
        [receptive @ .., fan_in, fan_out] => {
            let field: f64 = receptive.iter().map(|d| *d as f64).product();
            (field * *fan_in as f64, field * *fan_out as f64)
        }
    }
}

impl VarianceScaling {
    /// Weights of shape `dims`, a part of a partitioned variable of shape `whole`.
    fn scaled_to(&self, g: &Scope, dtype: DataType, dims: &[usize], whole: &[usize]) -> Output {
        let (fan_in, fan_out) = fans(whole);
        let fan = match self.mode {
            FanMode::In => fan_in,
            FanMode::Out => fan_out,
            FanMode::Average => (fan_in + fan_out) / 2.0,
        };
        let variance = self.scale / fan.max(1.0);
        let seed = self.seed;
        match self.distribution {
            Distribution::Uniform => {
                let limit = (3.0 * variance).sqrt();
                RandomUniform { low: -limit, high: limit, seed }.build(g, dtype, dims)
            }
            Distribution::Normal => {
                RandomNormal { mean: 0.0, stddev: variance.sqrt(), seed }.build(g, dtype, dims)
            }
            // Truncation reduces the standard deviation by this factor.
            Distribution::TruncatedNormal => {
                let stddev = variance.sqrt() / 0.879_625_661_034_239_78;
                TruncatedNormal { mean: 0.0, stddev, seed }.build(g, dtype, dims)
            }
        }
    }
}

impl Initializer for VarianceScaling {
    fn build(&self, g: &Scope, dtype: DataType, dims: &[usize]) -> Output {
        self.scaled_to(g, dtype, dims, dims)
    }
    fn build_part(&self, g: &Scope, dtype: DataType, part: &Slice) -> Output {
        self.scaled_to(g, dtype, &part.dims, &part.full_dims)
    }
    fn name(&self) -> &'static str {
        "variance_scaling"
    }
}

impl Initializer for Orthogonal {
    fn build(&self, g: &Scope, dtype: DataType, dims: &[usize]) -> Output {
        let columns = dims.last().copied().unwrap_or(1);
        let rows: usize = dims.iter().rev().skip(1).product();
        let (tall, wide) = (rows.max(columns), rows.min(columns));
        let drawn = RandomNormal { mean: 0.0, stddev: 1.0, seed: self.seed }.build(g, dtype, &[tall, wide]);
        let qr = g.op("Qr").input(&drawn).attr("full_matrices", false).outputs();
        let (Some(q), Some(r)) = (qr.first(), qr.get(1)) else { return drawn };
        // Signs from R's diagonal make the result uniform over all such matrices.
        let q = q * g.sign(g.op("MatrixDiagPart").input(r).output());
        let q = if rows < columns { g.transpose(q, &[1, 0]) } else { q };
        g.reshape(q, &int32s(dims)) * g.number(self.gain, dtype)
    }
    fn name(&self) -> &'static str {
        "orthogonal"
    }
}

impl Initializer for Identity {
    fn build(&self, g: &Scope, dtype: DataType, dims: &[usize]) -> Output {
        let (rows, columns) = (dims.first().copied().unwrap_or(1), dims.get(1).copied().unwrap_or(1));
        let ones = filled(g, "eye/ones", self.gain, dtype, &[rows.min(columns)]);
        let zeros = filled(g, "eye/zeros", 0.0, dtype, &[rows, columns]);
        g.op("MatrixSetDiag").name("eye").input(zeros).input(ones).output()
    }
    fn build_part(&self, g: &Scope, dtype: DataType, part: &Slice) -> Output {
        g.slice(self.build(g, dtype, &part.full_dims), &int32s(&part.offset), &int32s(&part.dims))
    }
    fn name(&self) -> &'static str {
        "identity"
    }
}
