//! `StopGradient`, `PreventGradient`: identities without a gradient.

use super::identity::IDENTITY;
use crate::prelude::*;

pub static STOP_GRADIENT: Op = Op {
    name: "StopGradient",
    doc: "The input; gradients do not flow back through it.",
    grad: Stops,
    identity: false,
    partial_value: None,
    ..IDENTITY
};

pub static PREVENT_GRADIENT: Op = Op {
    name: "PreventGradient",
    doc: "The input; requesting its gradient is an error.",
    attrs: &["T: type", "message: string = ''"],
    grad: Rule(|g| Err(invalid!("Gradient explicitly disabled. Reason: {}", g.attrs.str("message")?))),
    cases: |_| Vec::new(),
    identity: false,
    partial_value: None,
    ..IDENTITY
};
