//! Elementwise ops on single numbers: a graph that counts or computes a rate has hundreds of them, and a kernel call around each costs
//! more than the number.

use crate::plan::{Operand, StraightNode};
use thalweg_core::dtype::Element;
use thalweg_core::kernel::Value;
use thalweg_core::op::Tile;
use thalweg_core::tensor::Tensor;

/// Runs a node on numbers, if that is what its inputs are; whether they were. A slot that was read for the last time keeps its number
/// until another value gets it, which costs no memory.
#[inline]
pub fn run(tile: Tile, node: &StraightNode, constants: &[Value], slots: &mut [Option<Value>]) -> bool {
    match tile {
        Tile::F32Unary(f) => unary(f, node, constants, slots),
        Tile::F32Binary(f) => binary(f, node, constants, slots),
        Tile::F64Unary(f) => unary(f, node, constants, slots),
        Tile::F64Binary(f) => binary(f, node, constants, slots),
    }
}

#[inline]
fn unary<T: Element>(
    f: fn(&[T], &mut [T]),
    node: &StraightNode,
    constants: &[Value],
    slots: &mut [Option<Value>],
) -> bool {
    let [a] = *node.inputs.as_slice() else { return false };
    let Some(a) = number::<T>(a, constants, slots) else { return false };
    let mut y = [T::default()];
    f(&[a], &mut y);
    put(node, y[0], slots);
    true
}

#[inline]
fn binary<T: Element>(
    f: fn(&[T], &[T], &mut [T]),
    node: &StraightNode,
    constants: &[Value],
    slots: &mut [Option<Value>],
) -> bool {
    let [a, b] = *node.inputs.as_slice() else { return false };
    let Some(a) = number::<T>(a, constants, slots) else { return false };
    let Some(b) = number::<T>(b, constants, slots) else { return false };
    let mut y = [T::default()];
    f(&[a], &[b], &mut y);
    put(node, y[0], slots);
    true
}

#[inline]
fn number<T: Element>(operand: Operand, constants: &[Value], slots: &[Option<Value>]) -> Option<T> {
    let value = match operand {
        Operand::Constant(c) => constants.get(c as usize),
        Operand::Take(s) | Operand::Keep(s) => slots.get(s as usize)?.as_ref(),
    };
    match value {
        Some(Value::Tensor(t)) => t.as_scalar(),
        _ => None,
    }
}

#[inline]
fn put<T: Element>(node: &StraightNode, y: T, slots: &mut [Option<Value>]) {
    let Some(place) = node.outputs.first().and_then(|s| slots.get_mut(*s as usize)) else { return };
    // Mostly the number that was read.
    if let Some(Value::Tensor(t)) = place
        && t.set_scalar(y)
    {
        return;
    }
    *place = Some(Value::Tensor(Tensor::scalar(y)));
}
