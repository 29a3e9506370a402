//! Changing a variable together with the slots that an optimizer keeps for it.

use crate::prelude::*;
use crate::state::target::{give_back, initialised, variable_shape};

/// Changes the `n` variables of the first inputs in one go: `change` gets their elements and those of the gradient, which
/// is input `grad`. All must have one shape. Nothing is changed otherwise.
pub fn update<T: Element, const N: usize>(
    c: &mut OpCall<'_>,
    grad: usize,
    change: impl FnOnce([&mut [T]; N], &[T]),
) -> Result<()> {
    let mut vars = Vec::with_capacity(N);
    for i in 0..N {
        vars.push(initialised(c, i)?.0);
    }
    let grad = c.input(grad)?;
    let deltas = grad.as_slice::<T>()?;
    // Locked in the order of their addresses, so that two updates never wait for each other.
    let mut order: Vec<usize> = (0..N).collect();
    order.sort_by_key(|i| Arc::as_ptr(&vars[*i]));
    if order.windows(2).any(|w| Arc::ptr_eq(&vars[w[0]], &vars[w[1]])) {
        return Err(invalid!("the variable and its slots must be different variables"));
    }
    let mut values: [Option<Tensor>; N] = std::array::from_fn(|_| None);
    let mut change = Some(change);
    with_all(&vars, &order, &mut values, &mut |values| {
        for (v, value) in vars.iter().zip(values.iter().flatten()) {
            if value.shape() != grad.shape() {
                return Err(invalid!(
                    "{} and the gradient do not have the same shape{} {}",
                    v.name,
                    value.shape(),
                    grad.shape()
                ));
            }
            value.as_slice::<T>()?;
        }
        let mut slices = Vec::with_capacity(N);
        for value in values.iter_mut().flatten() {
            slices.push(value.as_mut_slice::<T>()?);
        }
        match (slices.try_into(), change.take()) {
            (Ok(slices), Some(change)) => {
                change(slices, deltas);
                Ok(())
            }
            _ => Err(internal("a variable went missing")),
        }
    })?;
    give_back(c, vars.swap_remove(0));
    Ok(())
}

/// Calls `work` with the values of all variables, taken out under their locks, and puts them back.
fn with_all(
    vars: &[Arc<Variable>],
    order: &[usize],
    values: &mut [Option<Tensor>],
    work: &mut dyn FnMut(&mut [Option<Tensor>]) -> Result<()>,
) -> Result<()> {
    let Some((first, rest)) = order.split_first() else { return work(values) };
    vars[*first].update(|t| {
        values[*first] = Some(std::mem::replace(t, Tensor::scalar(0u8)));
        let result = with_all(vars, rest, values, work);
        if let Some(back) = values[*first].take() {
            *t = back;
        }
        result
    })
}

/// A hyperparameter: input `i`, a scalar.
pub fn scalar<T: Element>(c: &OpCall<'_>, i: usize, name: &str) -> Result<T> {
    let t = c.input(i)?;
    if !t.shape().is_scalar() {
        return Err(invalid!("{name} is not a scalar: {}", t.shape()));
    }
    t.to_scalar()
}

/// Shape rule: the `slots` first inputs and the gradient have one shape, the inputs in between are scalars.
pub fn shapes(c: &ShapeCall<'_>, slots: usize, grad: usize) -> Result<Vec<PartialShape>> {
    let of = |i: usize| if c.outputs > 0 { c.input(i) } else { variable_shape(c, i) };
    let mut shape = c.input(grad);
    for i in 0..slots {
        shape = shape.merge(&of(i))?;
    }
    for i in (slots..c.inputs.len()).filter(|i| *i != grad) {
        c.scalar(i)?;
    }
    c.all(shape)
}
