//! The common ops as methods of `Scope`. Any other op of the table is made with [`Scope::op`].

use crate::output::{Operation, Output};
use crate::scope::Scope;
use crate::value::IntoTensor;
use std::borrow::Borrow;
use std::panic::Location;
use thalweg_core::dtype::DataType;
use thalweg_core::shape::{PartialShape, Shape};

/// Unary ops.
macro_rules! unary {
    ($($method:ident = $op:literal;)*) => {
        impl Scope { $(
            #[doc = concat!("Op `", $op, "`, elementwise or over the last dimension.")]
            #[track_caller]
            pub fn $method(&self, x: impl Borrow<Output>) -> Output { self.op($op).input(x).output() }
        )* }
    };
}
unary! {
    identity = "Identity"; neg = "Neg"; abs = "Abs"; square = "Square"; sqrt = "Sqrt"; rsqrt = "Rsqrt"; exp = "Exp"; log = "Log";
    tanh = "Tanh"; sigmoid = "Sigmoid"; relu = "Relu"; softmax = "Softmax"; log_softmax = "LogSoftmax"; floor = "Floor"; ceil = "Ceil";
    sin = "Sin"; cos = "Cos"; sign = "Sign"; log1p = "Log1p"; l2_loss = "L2Loss"; zeros_like = "ZerosLike"; ones_like = "OnesLike"; logical_not = "LogicalNot";
    stop_gradient = "StopGradient"; shape = "Shape"; rank = "Rank"; size = "Size";
}

/// Binary ops.
macro_rules! binary {
    ($($method:ident = $op:literal;)*) => {
        impl Scope { $(
            #[doc = concat!("Op `", $op, "`.")]
            #[track_caller]
            pub fn $method(&self, x: impl Borrow<Output>, y: impl Borrow<Output>) -> Output {
                self.op($op).input(x).input(y).output()
            }
        )* }
    };
}
binary! {
    sub = "Sub"; div = "RealDiv"; div_no_nan = "DivNoNan"; maximum = "Maximum"; minimum = "Minimum"; squared_difference = "SquaredDifference";
    less = "Less"; less_equal = "LessEqual"; greater = "Greater"; greater_equal = "GreaterEqual"; equal = "Equal"; not_equal = "NotEqual";
    logical_and = "LogicalAnd"; logical_or = "LogicalOr"; floor_div = "FloorDiv"; floor_mod = "FloorMod"; reshape_to = "Reshape"; bias_add = "BiasAdd"; broadcast_to = "BroadcastTo"; tile = "Tile";
}

impl Scope {
    /// A constant tensor.
    #[track_caller]
    pub fn constant(&self, value: impl IntoTensor) -> Output {
        self.constant_named("Const", value)
    }

    /// As [`Scope::constant`], with a name.
    #[track_caller]
    pub fn constant_named(&self, name: &str, value: impl IntoTensor) -> Output {
        match value.into_tensor() {
            Ok(t) => self.op("Const").name(name).attr("dtype", t.dtype()).attr("value", t).output(),
            Err(e) => {
                self.fail(e, Location::caller());
                Output::new(self, None)
            }
        }
    }

    /// A number as a constant of a given type: `g.number(0.5, x.dtype())`.
    #[track_caller]
    pub fn number(&self, value: f64, dtype: DataType) -> Output {
        self.number_named("Const", value, dtype)
    }

    /// As [`Scope::number`], with a name.
    #[track_caller]
    pub fn number_named(&self, name: &str, value: f64, dtype: DataType) -> Output {
        match thalweg_core::tensor::Tensor::number(value, dtype) {
            Ok(t) => self.constant_named(name, t),
            Err(e) => {
                self.fail(e, Location::caller());
                Output::new(self, None)
            }
        }
    }

    /// x + y, elementwise with broadcasting; the node is named `Add`, as `tf.add` names it.
    #[track_caller]
    pub fn add(&self, x: impl Borrow<Output>, y: impl Borrow<Output>) -> Output {
        self.op("AddV2").name("Add").input(x).input(y).output()
    }

    /// x * y, elementwise with broadcasting.
    #[track_caller]
    pub fn mul(&self, x: impl Borrow<Output>, y: impl Borrow<Output>) -> Output {
        self.op("Mul").input(x).input(y).output()
    }

    /// x to the power of y, elementwise with broadcasting.
    #[track_caller]
    pub fn pow(&self, x: impl Borrow<Output>, y: impl Borrow<Output>) -> Output {
        self.op("Pow").input(x).input(y).output()
    }

    /// A placeholder, fed in each run. Sizes of -1 are unknown.
    #[track_caller]
    pub fn placeholder(&self, dtype: DataType, dims: &[i64]) -> Output {
        self.placeholder_named("Placeholder", dtype, Some(dims))
    }

    /// `dims: None` for any shape.
    #[track_caller]
    pub fn placeholder_named(&self, name: &str, dtype: DataType, dims: Option<&[i64]>) -> Output {
        let shape = match dims.map(PartialShape::new).transpose() {
            Ok(s) => s.unwrap_or_default(),
            Err(e) => {
                self.fail(e, Location::caller());
                return Output::new(self, None);
            }
        };
        self.op("Placeholder").name(name).attr("dtype", dtype).attr("shape", shape).output()
    }

    /// A constant of zeros.
    #[track_caller]
    pub fn zeros(&self, dtype: DataType, dims: &[usize]) -> Output {
        match Shape::new(dims).and_then(|s| thalweg_core::tensor::Tensor::zeros(dtype, s)) {
            Ok(t) => self.constant_named("zeros", t),
            Err(e) => {
                self.fail(e, Location::caller());
                Output::new(self, None)
            }
        }
    }

    /// Uniform random floats in [0, 1), or between the bounds of `random_uniform_between`.
    #[track_caller]
    pub fn random_uniform(&self, dims: &[i32], seed: i64) -> Output {
        let shape = self.constant_named("random_uniform/shape", dims.to_vec());
        self.op("RandomUniform")
            .name("random_uniform/RandomUniform")
            .input(shape)
            .attr("dtype", DataType::Float)
            .seeds((seed != 0).then_some(seed))
            .output()
    }

    /// Uniform random floats in [low, high).
    #[track_caller]
    pub fn random_uniform_between(&self, dims: &[i32], low: f32, high: f32, seed: i64) -> Output {
        self.random_uniform(dims, seed) * (high - low) + low
    }

    /// Normally distributed random floats. A seed of 0 means none.
    #[track_caller]
    pub fn random_normal(&self, dims: &[i32], mean: f32, stddev: f32, seed: i64) -> Output {
        let shape = self.constant_named("random_normal/shape", dims.to_vec());
        let unit = self
            .op("RandomStandardNormal")
            .name("random_normal/RandomStandardNormal")
            .input(shape)
            .attr("dtype", DataType::Float)
            .seeds((seed != 0).then_some(seed))
            .output();
        unit * stddev + mean
    }

    /// One operation that depends on all of these.
    #[track_caller]
    pub fn group<O: Borrow<Operation>>(&self, ops: &[O]) -> Operation {
        self.control_dependencies(ops).op("NoOp").name("group_deps").build()
    }

    /// Op `Cast`: the elements converted to another type.
    #[track_caller]
    pub fn cast(&self, x: impl Borrow<Output>, to: DataType) -> Output {
        self.op("Cast").input(x).attr("DstT", to).output()
    }

    /// The same elements in another shape; a size of -1 is inferred.
    #[track_caller]
    pub fn reshape(&self, x: impl Borrow<Output>, dims: &[i32]) -> Output {
        let shape = self.constant_named("Reshape/shape", dims.to_vec());
        self.reshape_to(x, shape)
    }

    /// A dimension of size 1 inserted before `axis`; a negative axis counts from behind the last.
    #[track_caller]
    pub fn expand_dims(&self, x: impl Borrow<Output>, axis: i32) -> Output {
        let axis = self.constant(axis);
        self.op("ExpandDims").input(x).input(axis).output()
    }

    /// Permutes the dimensions; reverses them if none is given.
    #[track_caller]
    pub fn transpose(&self, x: impl Borrow<Output>, perm: &[i32]) -> Output {
        let perm = self.constant_named("transpose/perm", perm.to_vec());
        self.op("Transpose").name("transpose").input(x).input(perm).output()
    }

    #[track_caller]
    fn reduce(&self, op: &str, x: &Output, axes: &[i32], keep_dims: bool) -> Output {
        let axes: Vec<i32> = match (axes, x.shape().rank()) {
            ([], Some(rank)) => (0..rank as i32).collect(),
            (given, _) => given.to_vec(),
        };
        let axes = self.constant(axes);
        self.op(op).input(x).input(axes).attr("keep_dims", keep_dims).output()
    }

    /// The sum over some axes; over all of them if none is given.
    #[track_caller]
    pub fn reduce_sum(&self, x: impl Borrow<Output>, axes: &[i32]) -> Output {
        self.reduce("Sum", x.borrow(), axes, false)
    }

    /// The sum over some axes, with `keep_dims`.
    #[track_caller]
    pub fn reduce_sum_kept(&self, x: impl Borrow<Output>, axes: &[i32]) -> Output {
        self.reduce("Sum", x.borrow(), axes, true)
    }

    /// The mean over some axes; over all of them if none is given.
    #[track_caller]
    pub fn reduce_mean(&self, x: impl Borrow<Output>, axes: &[i32]) -> Output {
        self.reduce("Mean", x.borrow(), axes, false)
    }

    /// The mean over some axes, with `keep_dims`.
    #[track_caller]
    pub fn reduce_mean_kept(&self, x: impl Borrow<Output>, axes: &[i32]) -> Output {
        self.reduce("Mean", x.borrow(), axes, true)
    }

    /// `size[i]` elements from `begin[i]` on, in each dimension; -1 for all remaining.
    #[track_caller]
    pub fn slice(&self, x: impl Borrow<Output>, begin: &[i32], size: &[i32]) -> Output {
        let (begin, size) = (self.constant(begin.to_vec()), self.constant(size.to_vec()));
        self.op("Slice").input(x).input(begin).input(size).output()
    }

    /// The maximum over some axes; over all of them if none is given.
    #[track_caller]
    pub fn reduce_max(&self, x: impl Borrow<Output>, axes: &[i32]) -> Output {
        self.reduce("Max", x.borrow(), axes, false)
    }

    /// The index of the largest element along an axis, as int64.
    #[track_caller]
    pub fn argmax(&self, x: impl Borrow<Output>, axis: i32) -> Output {
        let axis = self.constant(axis);
        self.op("ArgMax").input(x).input(axis).output()
    }

    /// Concatenates tensors along an existing axis.
    #[track_caller]
    pub fn concat<O: Borrow<Output>>(&self, parts: &[O], axis: i32) -> Output {
        let axis = self.constant_named("concat/axis", axis);
        self.op("ConcatV2").name("concat").inputs(parts).input(axis).output()
    }

    /// Stacks tensors of one shape along a new axis.
    #[track_caller]
    pub fn stack<O: Borrow<Output>>(&self, parts: &[O], axis: i64) -> Output {
        self.op("Pack").name("stack").inputs(parts).attr("axis", axis).output()
    }

    /// The slices of `params` along `axis` at `indices`.
    #[track_caller]
    pub fn gather(&self, params: impl Borrow<Output>, indices: impl Borrow<Output>, axis: i32) -> Output {
        let axis = self.constant(axis);
        self.op("GatherV2").input(params).input(indices).input(axis).output()
    }

    /// `x` where `cond` is true, else `y`, elementwise with broadcasting.
    #[track_caller]
    pub fn select(
        &self,
        cond: impl Borrow<Output>,
        x: impl Borrow<Output>,
        y: impl Borrow<Output>,
    ) -> Output {
        self.op("SelectV2").input(cond).input(x).input(y).output()
    }

    /// The sum of tensors of one shape.
    #[track_caller]
    pub fn add_n<O: Borrow<Output>>(&self, parts: &[O]) -> Output {
        self.op("AddN").inputs(parts).output()
    }
}
