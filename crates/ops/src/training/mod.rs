//! Updates of variables by optimizers, in place. `forms` has the four forms that an update may have, `update` the loops; each other file
//! is an optimizer, or a few that share their formula.

mod adadelta;
mod adagrad;
mod adam;
mod elements;
mod forms;
mod ftrl;
mod gradient_descent;
mod momentum;
mod rms_prop;
mod sign;
mod update;

use adadelta::Adadelta;
use adagrad::{Adagrad, AdagradDa, AdagradV2, ProximalAdagrad};
use adam::{AdaMax, Adam};
use forms::{apply, resource_apply, resource_sparse_apply, sparse_apply};
use ftrl::{Ftrl, FtrlV2};
use gradient_descent::{GradientDescent, ProximalGradientDescent};
use momentum::{KerasMomentum, Momentum};
use rms_prop::{CenteredRmsProp, RmsProp};
use sign::{AddSign, PowerSign};
use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &apply::<GradientDescent>("ApplyGradientDescent"),
    &resource_apply::<GradientDescent>("ResourceApplyGradientDescent"),
    &apply::<ProximalGradientDescent>("ApplyProximalGradientDescent"),
    &resource_apply::<ProximalGradientDescent>("ResourceApplyProximalGradientDescent"),
    &sparse_apply::<ProximalGradientDescent>("SparseApplyProximalGradientDescent"),
    &resource_sparse_apply::<ProximalGradientDescent>("ResourceSparseApplyProximalGradientDescent"),
    &apply::<Momentum>("ApplyMomentum"),
    &resource_apply::<Momentum>("ResourceApplyMomentum"),
    &sparse_apply::<Momentum>("SparseApplyMomentum"),
    &resource_sparse_apply::<Momentum>("ResourceSparseApplyMomentum"),
    &resource_apply::<KerasMomentum>("ResourceApplyKerasMomentum"),
    &resource_sparse_apply::<KerasMomentum>("ResourceSparseApplyKerasMomentum"),
    &apply::<Adagrad>("ApplyAdagrad"),
    &resource_apply::<Adagrad>("ResourceApplyAdagrad"),
    &sparse_apply::<Adagrad>("SparseApplyAdagrad"),
    &resource_sparse_apply::<Adagrad>("ResourceSparseApplyAdagrad"),
    &apply::<AdagradV2>("ApplyAdagradV2"),
    &resource_apply::<AdagradV2>("ResourceApplyAdagradV2"),
    &sparse_apply::<AdagradV2>("SparseApplyAdagradV2"),
    &resource_sparse_apply::<AdagradV2>("ResourceSparseApplyAdagradV2"),
    &apply::<AdagradDa>("ApplyAdagradDA"),
    &resource_apply::<AdagradDa>("ResourceApplyAdagradDA"),
    &sparse_apply::<AdagradDa>("SparseApplyAdagradDA"),
    &resource_sparse_apply::<AdagradDa>("ResourceSparseApplyAdagradDA"),
    &apply::<ProximalAdagrad>("ApplyProximalAdagrad"),
    &resource_apply::<ProximalAdagrad>("ResourceApplyProximalAdagrad"),
    &sparse_apply::<ProximalAdagrad>("SparseApplyProximalAdagrad"),
    &resource_sparse_apply::<ProximalAdagrad>("ResourceSparseApplyProximalAdagrad"),
    &apply::<Adadelta>("ApplyAdadelta"),
    &resource_apply::<Adadelta>("ResourceApplyAdadelta"),
    &sparse_apply::<Adadelta>("SparseApplyAdadelta"),
    &resource_sparse_apply::<Adadelta>("ResourceSparseApplyAdadelta"),
    &apply::<Adam>("ApplyAdam"),
    &resource_apply::<Adam>("ResourceApplyAdam"),
    &apply::<AdaMax>("ApplyAdaMax"),
    &resource_apply::<AdaMax>("ResourceApplyAdaMax"),
    &apply::<RmsProp>("ApplyRMSProp"),
    &resource_apply::<RmsProp>("ResourceApplyRMSProp"),
    &sparse_apply::<RmsProp>("SparseApplyRMSProp"),
    &resource_sparse_apply::<RmsProp>("ResourceSparseApplyRMSProp"),
    &apply::<CenteredRmsProp>("ApplyCenteredRMSProp"),
    &resource_apply::<CenteredRmsProp>("ResourceApplyCenteredRMSProp"),
    &sparse_apply::<CenteredRmsProp>("SparseApplyCenteredRMSProp"),
    &resource_sparse_apply::<CenteredRmsProp>("ResourceSparseApplyCenteredRMSProp"),
    &apply::<Ftrl>("ApplyFtrl"),
    &resource_apply::<Ftrl>("ResourceApplyFtrl"),
    &sparse_apply::<Ftrl>("SparseApplyFtrl"),
    &resource_sparse_apply::<Ftrl>("ResourceSparseApplyFtrl"),
    &apply::<FtrlV2>("ApplyFtrlV2"),
    &resource_apply::<FtrlV2>("ResourceApplyFtrlV2"),
    &sparse_apply::<FtrlV2>("SparseApplyFtrlV2"),
    &resource_sparse_apply::<FtrlV2>("ResourceSparseApplyFtrlV2"),
    &apply::<AddSign>("ApplyAddSign"),
    &resource_apply::<AddSign>("ResourceApplyAddSign"),
    &apply::<PowerSign>("ApplyPowerSign"),
    &resource_apply::<PowerSign>("ResourceApplyPowerSign"),
];

#[cfg(test)]
mod tests;
