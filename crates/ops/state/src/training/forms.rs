//! The forms of an update: on reference or resource variables, by a dense or sparse gradient. All four signatures follow
//! from the constants of an optimizer.

use super::update::shapes;
use crate::prelude::*;
use std::marker::PhantomData;

/// An optimizer: its slots, scalars and attrs, and the kernel with its formula.
pub trait Optimizer {
    /// The formula.
    const DOC: &'static str;
    /// The slot variables that follow the trained one, `var`.
    const SLOTS: Slots;
    /// Scalars before the gradient: `"lr: T"`.
    const SCALARS: &'static [&'static str];
    /// The gradient of the dense forms; in sparse ones it is always `grad`.
    const DENSE_GRAD: &'static str = GRAD;
    const SCALARS_AFTER_GRAD: &'static [&'static str] = &[];
    /// Attrs besides `T`, `Tindices` and `use_locking`.
    const ATTRS: &'static [&'static str] = &[];
    const KERNELS: &'static [KernelRow];

    /// The trained variable and its slots: the first inputs.
    const VARIABLES: usize = 1 + Self::SLOTS.refs.len();
    /// Which input is the gradient.
    const GRAD_INPUT: usize = Self::VARIABLES + Self::SCALARS.len();
}

const GRAD: &str = "grad: T";

/// Slot arguments, as references and as resources.
pub struct Slots {
    pub refs: &'static [&'static str],
    pub resources: &'static [&'static str],
}

/// `slots!["m", "v"]`.
macro_rules! slots {
    ($($name:literal),*) => {
        $crate::training::forms::Slots {
            refs: &[$(concat!($name, ": Ref(T)")),*],
            resources: &[$(concat!($name, ": resource")),*],
        }
    };
}
pub(super) use slots;

/// `ApplyX`: reference variables, dense gradient.
pub const fn apply<O: Optimizer>(name: &'static str) -> Op {
    Op {
        name,
        doc: O::DOC,
        inputs: Signature::<O>::REF.as_slice(),
        outputs: &["out: Ref(T)"],
        attrs: Signature::<O>::ATTRS.as_slice(),
        shape: shapes::<O>,
        kernels: O::KERNELS,
        ..Op::STATEFUL
    }
}

/// `ResourceApplyX`: resource variables, dense gradient.
pub const fn resource_apply<O: Optimizer>(name: &'static str) -> Op {
    Op { inputs: Signature::<O>::RESOURCE.as_slice(), outputs: &[], ..apply::<O>(name) }
}

/// `SparseApplyX`: reference variables, sparse gradient.
pub const fn sparse_apply<O: Optimizer>(name: &'static str) -> Op {
    Op {
        doc: "As the dense form, for the rows `indices` of the variable.",
        inputs: Signature::<O>::SPARSE_REF.as_slice(),
        attrs: Signature::<O>::SPARSE_ATTRS.as_slice(),
        ..apply::<O>(name)
    }
}

/// `ResourceSparseApplyX`: resource variables, sparse gradient.
pub const fn resource_sparse_apply<O: Optimizer>(name: &'static str) -> Op {
    Op { inputs: Signature::<O>::SPARSE_RESOURCE.as_slice(), outputs: &[], ..sparse_apply::<O>(name) }
}

/// The lists of arguments and attrs of an optimizer's forms.
struct Signature<O>(PhantomData<O>);

impl<O: Optimizer> Signature<O> {
    const REF: &Joined = &Self::dense("var: Ref(T)", O::SLOTS.refs);
    const RESOURCE: &Joined = &Self::dense("var: resource", O::SLOTS.resources);
    const SPARSE_REF: &Joined = &Self::sparse("var: Ref(T)", O::SLOTS.refs);
    const SPARSE_RESOURCE: &Joined = &Self::sparse("var: resource", O::SLOTS.resources);
    const ATTRS: &Joined = &Joined::of(&[&["T: numbertype", "use_locking: bool = false"], O::ATTRS]);
    const SPARSE_ATTRS: &Joined =
        &Joined::of(&[&["T: numbertype", "Tindices: {int32, int64}", "use_locking: bool = false"], O::ATTRS]);

    const fn dense(var: &'static str, slots: &[&'static str]) -> Joined {
        Joined::of(&[&[var], slots, O::SCALARS, &[O::DENSE_GRAD], O::SCALARS_AFTER_GRAD])
    }

    const fn sparse(var: &'static str, slots: &[&'static str]) -> Joined {
        Joined::of(&[&[var], slots, O::SCALARS, &[GRAD, "indices: Tindices"], O::SCALARS_AFTER_GRAD])
    }
}

/// Lists concatenated at compile time. No update has more arguments than fit.
struct Joined {
    items: [&'static str; 16],
    len: usize,
}

impl Joined {
    const fn of(lists: &[&[&'static str]]) -> Joined {
        let mut joined = Joined { items: [""; 16], len: 0 };
        let mut l = 0;
        while l < lists.len() {
            let mut i = 0;
            while i < lists[l].len() {
                joined.items[joined.len] = lists[l][i];
                joined.len += 1;
                i += 1;
            }
            l += 1;
        }
        joined
    }

    const fn as_slice(&'static self) -> &'static [&'static str] {
        self.items.split_at(self.len).0
    }
}
