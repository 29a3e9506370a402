//! The variable that an op updates, by reference or by resource handle.

use crate::prelude::*;

/// The variable in input `i`.
pub fn variable(c: &OpCall<'_>, i: usize) -> Result<Arc<Variable>> {
    match c.inputs.get(i) {
        Some(Input::Ref(v)) => Ok(v.clone()),
        _ => c.resource::<Variable>(i),
    }
}

/// As `variable`, for an op that reads it: an uninitialised one is an error here.
pub fn initialised(c: &OpCall<'_>, i: usize) -> Result<(Arc<Variable>, Tensor)> {
    let v = variable(c, i)?;
    let value = v.read().map_err(|e| match c.inputs.get(i) {
        Some(Input::Ref(_)) => e,
        _ => missing(&v.name),
    })?;
    Ok((v, value))
}

/// The error of reading a resource variable without a value.
pub fn missing(name: &str) -> Error {
    failed_precondition(format_args!(
        "Could not find variable {name}. This could mean that the variable has been deleted, or was never initialized: run the \
         initializer first (Scope::init, tf.global_variables_initializer), made after all variables."
    ))
}

/// Forwards the reference, for the ops that output it.
pub fn forward_ref(c: &mut OpCall<'_>, v: Arc<Variable>) {
    if c.node.outputs.first().is_some_and(|p| p.is_ref) {
        c.set(0, Value::Ref(v));
    }
}

/// The known shape of the variable in input `i`.
pub fn variable_shape(c: &ShapeCall<'_>, i: usize) -> PartialShape {
    match c.handle(i) {
        Some((_, shape)) => shape,
        None => PartialShape::unknown(),
    }
}
