//! The gradient of `Einsum`, by other equations.

use super::equation::{Equation, Term};
use crate::gradients::conj_x;
use crate::prelude::*;

pub fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let equation = Equation::of(g.attrs)?;
    let mut grads = Vec::new();
    for i in 0..equation.inputs.len() {
        grads.push(one(g, &equation, i)?.into());
    }
    Ok(grads)
}

fn einsum(g: &mut GradCall<'_>, from: &[(&Term, Output)], to: &Term) -> Result<Output> {
    let terms: Vec<String> = from.iter().map(|(term, _)| term.text()).collect();
    let equation = format!("{}->{}", terms.join(","), to.text());
    let attrs = [("equation", Attr::from(equation.as_str())), ("N", Attr::Int(from.len() as i64))];
    let args = vec![Arg::List(from.iter().map(|(_, x)| *x).collect())];
    let made = g.graph.add("Einsum", args, attrs.into_iter().collect())?;
    made.first().copied().ok_or_else(|| internal("Einsum has no output"))
}

/// The gradient of input `i`: the product of the output's with the other input, over all labels that `i` has and these have too;
/// then what was broadcast is summed, what was summed is broadcast, and diagonals are put in their places.
fn one(g: &mut GradCall<'_>, equation: &Equation, i: usize) -> Result<Output> {
    let (x, dy, term) = (g.x[i], g.dy()?, &equation.inputs[i]);
    let other = match equation.inputs.len() {
        1 => None,
        _ => Some((&equation.inputs[1 - i], conj_x(g, 1 - i)?)),
    };
    let elsewhere = |label: u8| equation.output.has(label) || other.is_some_and(|(t, _)| t.has(label));
    let mut labels = Vec::new();
    let mut complete = true;
    for label in term.labels() {
        if !elsewhere(label) {
            complete = false;
        } else if !labels.contains(&label) {
            labels.push(label);
        }
    }
    // The ellipsis comes first, where broadcasting expects it. One that the output does not have is of no axes.
    let with = |ellipsis: bool| match ellipsis {
        true => Term { before: Vec::new(), after: Some(labels.clone()) },
        false => Term { before: labels.clone(), after: None },
    };
    let (all, kept) = (with(equation.output.has_ellipsis()), with(term.has_ellipsis()));
    let from: Vec<(&Term, Output)> = [(&equation.output, dy)].into_iter().chain(other).collect();
    let mut dx = einsum(g, &from, &all)?;
    if equation.output.has_ellipsis() && other.is_some() {
        let like = einsum(g, &[(term, x)], &kept)?;
        dx = crate::gradients::sum_to_shape_of(g, dx, like, dx)?;
    }
    if complete {
        return if kept == *term { Ok(dx) } else { einsum(g, &[(&kept, dx)], term) };
    }
    let ones = g.unary("OnesLike", x)?;
    einsum(g, &[(&kept, dx), (term, ones)], term)
}
