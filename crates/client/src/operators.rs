//! `&a + &b`, `x * 2.0`, `-x`: arithmetic on outputs makes nodes.

use crate::context::innermost;
use crate::output::Output;
use crate::value::IntoTensor;
use std::ops;
use std::panic::Location;

impl Output {
    #[track_caller]
    fn binary(&self, op: &'static str, name: &'static str, right: &Output) -> Output {
        innermost(&self.scope, &right.scope).op(op).name(name).input(self).input(right).output()
    }

    /// A Rust value as a constant in this output's scope; a plain number gets this output's type.
    #[track_caller]
    fn constant_like(&self, value: impl IntoTensor) -> Output {
        let location = Location::caller();
        let tensor = value.into_tensor().and_then(|t| {
            let number = t.shape().is_scalar() && t.dtype() != self.dtype();
            let as_f64 = || {
                t.to_scalar::<f64>()
                    .ok()
                    .or(t.to_scalar::<f32>().ok().map(f64::from))
                    .or(t.to_scalar::<i32>().ok().map(f64::from))
            };
            match (number, as_f64()) {
                (true, Some(v)) => thalweg_core::tensor::Tensor::number(v, self.dtype()),
                _ => Ok(t),
            }
        });
        match tensor {
            Ok(t) => self.scope.constant(t),
            Err(e) => {
                self.scope.fail(e, location);
                Output::new(&self.scope, None)
            }
        }
    }
}

macro_rules! operators {
    ($($trait:ident, $method:ident, $op:literal, $name:literal;)*) => { $(
        impl ops::$trait<&Output> for &Output {
            type Output = Output;
            #[track_caller]
            fn $method(self, right: &Output) -> Output { self.binary($op, $name, right) }
        }
        impl ops::$trait<Output> for &Output {
            type Output = Output;
            #[track_caller]
            fn $method(self, right: Output) -> Output { self.binary($op, $name, &right) }
        }
        impl ops::$trait<&Output> for Output {
            type Output = Output;
            #[track_caller]
            fn $method(self, right: &Output) -> Output { self.binary($op, $name, right) }
        }
        impl ops::$trait<Output> for Output {
            type Output = Output;
            #[track_caller]
            fn $method(self, right: Output) -> Output { self.binary($op, $name, &right) }
        }
        operators!(@number $trait, $method, $op, $name, f32, f64, i32, i64);
    )* };
    (@number $trait:ident, $method:ident, $op:literal, $name:literal, $($t:ty),*) => { $(
        impl ops::$trait<$t> for &Output {
            type Output = Output;
            #[track_caller]
            fn $method(self, right: $t) -> Output { self.binary($op, $name, &self.constant_like(right)) }
        }
        impl ops::$trait<$t> for Output {
            type Output = Output;
            #[track_caller]
            fn $method(self, right: $t) -> Output { self.binary($op, $name, &self.constant_like(right)) }
        }
        impl ops::$trait<&Output> for $t {
            type Output = Output;
            #[track_caller]
            fn $method(self, right: &Output) -> Output { right.constant_like(self).binary($op, $name, right) }
        }
        impl ops::$trait<Output> for $t {
            type Output = Output;
            #[track_caller]
            fn $method(self, right: Output) -> Output { right.constant_like(self).binary($op, $name, &right) }
        }
    )* };
}

// Named as TensorFlow's own operators name their nodes.
operators! {
    Add, add, "AddV2", "Add";
    Sub, sub, "Sub", "Sub";
    Mul, mul, "Mul", "Mul";
    Div, div, "RealDiv", "truediv";
    Rem, rem, "FloorMod", "floormod";
}

impl ops::Neg for &Output {
    type Output = Output;
    #[track_caller]
    fn neg(self) -> Output {
        self.scope.op("Neg").input(self).output()
    }
}

impl ops::Neg for Output {
    type Output = Output;
    #[track_caller]
    fn neg(self) -> Output {
        -&self
    }
}
