//! `ApplyFtrl`, `ApplyFtrlV2` and their other forms: follow the regularised leader (McMahan and others, 2013).

use super::elements::{Root, not_negative, positive, sign};
use super::update::{Update, shapes};
use crate::prelude::*;

pub static APPLY_FTRL: Op = Op {
    name: "ApplyFtrl",
    doc: "With p(x) = x^-lr_power and accum' = accum + grad * grad: linear += grad - (p(accum') - p(accum)) / lr * var; var = (sign(linear) * l1 - linear) / (p(accum') / lr + 2 * l2) if |linear| > l1, else 0; accum = accum'.",
    inputs: &[
        "var: Ref(T)",
        "accum: Ref(T)",
        "linear: Ref(T)",
        "grad: T",
        "lr: T",
        "l1: T",
        "l2: T",
        "lr_power: T",
    ],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false", "multiply_linear_by_lr: bool = false"],
    shape: |c| shapes(c, 3, 3),
    kernels: cpu!(run: T in f32, f64, f16, bf16),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_FTRL: Op = Op {
    name: "ResourceApplyFtrl",
    inputs: &[
        "var: resource",
        "accum: resource",
        "linear: resource",
        "grad: T",
        "lr: T",
        "l1: T",
        "l2: T",
        "lr_power: T",
    ],
    outputs: &[],
    ..APPLY_FTRL
};

pub static SPARSE_APPLY_FTRL: Op = Op {
    name: "SparseApplyFtrl",
    doc: "As ApplyFtrl, for the rows `indices` of the variable.",
    inputs: &[
        "var: Ref(T)",
        "accum: Ref(T)",
        "linear: Ref(T)",
        "grad: T",
        "indices: Tindices",
        "lr: T",
        "l1: T",
        "l2: T",
        "lr_power: T",
    ],
    attrs: &[
        "T: numbertype",
        "Tindices: {int32, int64}",
        "use_locking: bool = false",
        "multiply_linear_by_lr: bool = false",
    ],
    shape: |c| shapes(c, 3, 3),
    ..APPLY_FTRL
};

pub static RESOURCE_SPARSE_APPLY_FTRL: Op = Op {
    name: "ResourceSparseApplyFtrl",
    inputs: &[
        "var: resource",
        "accum: resource",
        "linear: resource",
        "grad: T",
        "indices: Tindices",
        "lr: T",
        "l1: T",
        "l2: T",
        "lr_power: T",
    ],
    outputs: &[],
    ..SPARSE_APPLY_FTRL
};

pub static APPLY_FTRL_V2: Op = Op {
    name: "ApplyFtrlV2",
    doc: "As ApplyFtrl, with the gradient grad + 2 * l2_shrinkage * var added to linear.",
    inputs: &[
        "var: Ref(T)",
        "accum: Ref(T)",
        "linear: Ref(T)",
        "grad: T",
        "lr: T",
        "l1: T",
        "l2: T",
        "l2_shrinkage: T",
        "lr_power: T",
    ],
    outputs: &["out: Ref(T)"],
    attrs: &["T: numbertype", "use_locking: bool = false", "multiply_linear_by_lr: bool = false"],
    shape: |c| shapes(c, 3, 3),
    kernels: cpu!(run_v2: T in f32, f64, f16, bf16),
    ..Op::STATEFUL
};

pub static RESOURCE_APPLY_FTRL_V2: Op = Op {
    name: "ResourceApplyFtrlV2",
    inputs: &[
        "var: resource",
        "accum: resource",
        "linear: resource",
        "grad: T",
        "lr: T",
        "l1: T",
        "l2: T",
        "l2_shrinkage: T",
        "lr_power: T",
    ],
    outputs: &[],
    ..APPLY_FTRL_V2
};

pub static SPARSE_APPLY_FTRL_V2: Op = Op {
    name: "SparseApplyFtrlV2",
    doc: "As ApplyFtrlV2, for the rows `indices` of the variable.",
    inputs: &[
        "var: Ref(T)",
        "accum: Ref(T)",
        "linear: Ref(T)",
        "grad: T",
        "indices: Tindices",
        "lr: T",
        "l1: T",
        "l2: T",
        "l2_shrinkage: T",
        "lr_power: T",
    ],
    attrs: &[
        "T: numbertype",
        "Tindices: {int32, int64}",
        "use_locking: bool = false",
        "multiply_linear_by_lr: bool = false",
    ],
    shape: |c| shapes(c, 3, 3),
    ..APPLY_FTRL_V2
};

pub static RESOURCE_SPARSE_APPLY_FTRL_V2: Op = Op {
    name: "ResourceSparseApplyFtrlV2",
    inputs: &[
        "var: resource",
        "accum: resource",
        "linear: resource",
        "grad: T",
        "indices: Tindices",
        "lr: T",
        "l1: T",
        "l2: T",
        "l2_shrinkage: T",
        "lr_power: T",
    ],
    outputs: &[],
    ..SPARSE_APPLY_FTRL_V2
};

fn run<T: Float + Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<3>::new(c, 3);
    let [lr, l1, l2, lr_power] = update.scalars::<T, 4>(c, ["lr", "l1", "l2", "lr_power"])?;
    ftrl(c, update, Settings { lr, l1, l2, l2_shrinkage: T::ZERO, lr_power })
}

fn run_v2<T: Float + Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::<3>::new(c, 3);
    let names = ["lr", "l1", "l2", "l2_shrinkage", "lr_power"];
    let [lr, l1, l2, l2_shrinkage, lr_power] = update.scalars::<T, 5>(c, names)?;
    ftrl(c, update, Settings { lr, l1, l2, l2_shrinkage, lr_power })
}

struct Settings<T> {
    lr: T,
    l1: T,
    l2: T,
    l2_shrinkage: T,
    lr_power: T,
}

impl<T: Real> Settings<T> {
    /// What TensorFlow asks of the sparse forms.
    fn check(&self, lr_may_be_zero: bool) -> Result<()> {
        if !(lr_may_be_zero && self.lr == T::ZERO) {
            positive("lr", self.lr)?;
        }
        not_negative("l1 regularization strength", self.l1)?;
        not_negative("l2 regularization strength", self.l2)?;
        not_negative("l2 shrinkage regularization strength", self.l2_shrinkage)?;
        not_negative("the negative of lr_power", self.lr_power.neg())
    }
}

/// `multiply_linear_by_lr` keeps `linear` multiplied by the learning rate, so that the rate may be zero.
fn ftrl<T: Float + Root>(c: &mut OpCall<'_>, update: Update<3>, s: Settings<T>) -> Result<()> {
    let multiplied = c.attrs().bool("multiply_linear_by_lr")?;
    if update.sparse {
        s.check(multiplied)?;
    }
    let (scale, over) = if multiplied { (s.lr, T::ONE) } else { (T::ONE, s.lr) };
    let two = T::ONE.add(T::ONE);
    let (bound, damping, shrinkage) = (s.l1.mul(scale), two.mul(s.l2).mul(scale), two.mul(s.l2_shrinkage));
    let by_root = s.lr_power == T::from_f64(-0.5);
    let power = |x: T| if by_root { x.root() } else { x.via2(s.lr_power.neg(), f32::powf, f64::powf) };
    update.apply(c, move |[var, accum, linear], grad: T| {
        let seen = accum.add(grad.mul(grad));
        let new_power = power(seen);
        let sigma = new_power.sub(power(accum)).div(over);
        let linear = linear.add(grad.add(shrinkage.mul(var)).mul(scale).sub(sigma.mul(var)));
        let pulled = sign(linear).mul(bound).sub(linear).div(new_power.div(over).add(damping));
        [if linear.absolute() > bound { pulled } else { T::ZERO }, seen, linear]
    })
}
