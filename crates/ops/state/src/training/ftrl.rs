//! `ApplyFtrl`, `ApplyFtrlV2` and their other forms: follow the regularised leader (McMahan and others, 2013).

use super::elements::{Root, not_negative, positive, sign};
use super::forms::{Optimizer, Slots, apply, resource_apply, resource_sparse_apply, slots, sparse_apply};
use super::update::Update;
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &apply::<Ftrl>("ApplyFtrl"),
    &resource_apply::<Ftrl>("ResourceApplyFtrl"),
    &sparse_apply::<Ftrl>("SparseApplyFtrl"),
    &resource_sparse_apply::<Ftrl>("ResourceSparseApplyFtrl"),
    &apply::<FtrlV2>("ApplyFtrlV2"),
    &resource_apply::<FtrlV2>("ResourceApplyFtrlV2"),
    &sparse_apply::<FtrlV2>("SparseApplyFtrlV2"),
    &resource_sparse_apply::<FtrlV2>("ResourceSparseApplyFtrlV2"),
];

struct Ftrl;

impl Optimizer for Ftrl {
    const DOC: &str = "With p(x) = x^-lr_power and accum' = accum + grad * grad: linear += grad - (p(accum') - p(accum)) / lr * var; var = (sign(linear) * l1 - linear) / (p(accum') / lr + 2 * l2) if |linear| > l1, else 0; accum = accum'.";
    const SLOTS: Slots = slots!["accum", "linear"];
    const SCALARS: &[&str] = &[];
    const SCALARS_AFTER_GRAD: &[&str] = &["lr: T", "l1: T", "l2: T", "lr_power: T"];
    const ATTRS: &[&str] = &["multiply_linear_by_lr: bool = false"];
    const KERNELS: &[KernelRow] = cpu!(run: T in f32, f64, f16, bf16);
}

fn run<T: Float + Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<Ftrl>(c);
    let [lr, l1, l2, lr_power] = update.scalars(c)?;
    ftrl(c, update, Settings { lr, l1, l2, l2_shrinkage: T::ZERO, lr_power })
}

struct FtrlV2;

impl Optimizer for FtrlV2 {
    const DOC: &str = "As ApplyFtrl, with the gradient grad + 2 * l2_shrinkage * var added to linear.";
    const SLOTS: Slots = Ftrl::SLOTS;
    const SCALARS: &[&str] = &[];
    const SCALARS_AFTER_GRAD: &[&str] = &["lr: T", "l1: T", "l2: T", "l2_shrinkage: T", "lr_power: T"];
    const ATTRS: &[&str] = Ftrl::ATTRS;
    const KERNELS: &[KernelRow] = cpu!(run_v2: T in f32, f64, f16, bf16);
}

fn run_v2<T: Float + Root>(c: &mut OpCall<'_>) -> Result<()> {
    let update = Update::of::<FtrlV2>(c);
    let [lr, l1, l2, l2_shrinkage, lr_power] = update.scalars(c)?;
    ftrl::<T>(c, update, Settings { lr, l1, l2, l2_shrinkage, lr_power })
}

struct Settings<T> {
    lr: T,
    l1: T,
    l2: T,
    l2_shrinkage: T,
    lr_power: T,
}

impl<T: Real> Settings<T> {
    /// What TensorFlow requires in the sparse forms.
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
