//! Keeping gradients within bounds.

use thalweg_client::{Gradient, IndexedSlices, Output, Scope};

/// Every element between `low` and `high`.
#[track_caller]
pub fn clip_by_value(g: &Scope, x: &Output, low: f64, high: f64) -> Output {
    let (low, high) = (g.number(low, x.dtype()), g.number(high, x.dtype()));
    g.op("ClipByValue").name("clip_by_value").input(x).input(&low).input(&high).output()
}

/// The tensor scaled down so that its 2-norm is at most `norm`.
#[track_caller]
pub fn clip_by_norm(g: &Scope, x: &Output, norm: f64) -> Output {
    let g = g.name_scope("clip_by_norm");
    let limit = g.number(norm, x.dtype());
    let length = g.op("Sqrt").input(&g.reduce_sum(&(x * x), &[])).output();
    let larger = g.op("Maximum").input(&length).input(&limit).output();
    &(x * &limit) / &larger
}

/// The tensor scaled down so that its 2-norm divided by the number of its elements is at most `norm`.
#[track_caller]
pub fn clip_by_average_norm(g: &Scope, x: &Output, norm: f64) -> Output {
    let g = g.name_scope("clip_by_average_norm");
    let (limit, one) = (g.number(norm, x.dtype()), g.number(1.0, x.dtype()));
    let count = g.cast(&g.op("Size").input(x).output(), x.dtype());
    let inverse = g.op("Rsqrt").input(&g.reduce_sum(&(x * x), &[])).output();
    let smaller = g.op("Minimum").input(&(&inverse * &count)).input(&(&one / &limit)).output();
    &(x * &limit) * &smaller
}

/// The 2-norm of all gradients taken as one vector.
#[track_caller]
pub fn global_norm(g: &Scope, gradients: &[Gradient]) -> Output {
    let g = g.name_scope("global_norm");
    let halves: Vec<Output> = gradients
        .iter()
        .filter_map(|d| match d {
            Gradient::None => None,
            Gradient::Dense(o) => Some(o),
            Gradient::Slices(s) => Some(&s.values),
        })
        .map(|values| g.op("L2Loss").input(values).output())
        .collect();
    let total = g.add_n(&halves.iter().collect::<Vec<_>>());
    let two = g.number(2.0, total.dtype());
    g.op("Sqrt").input(&(&total * &two)).output()
}

/// All gradients scaled by one factor so that their common norm is at most `norm`; and the norm they had.
#[track_caller]
pub fn clip_by_global_norm(g: &Scope, gradients: &[Gradient], norm: f64) -> (Vec<Gradient>, Output) {
    let had = global_norm(g, gradients);
    let g = g.name_scope("clip_by_global_norm");
    let limit = g.number(norm, had.dtype());
    let one = g.number(1.0, had.dtype());
    let inverse = &one / &had;
    let smaller = g.op("Minimum").input(&inverse).input(&(&one / &limit)).output();
    let factor = &limit * &smaller;
    let scale = |values: &Output| values * &factor;
    let clipped = gradients
        .iter()
        .map(|d| match d {
            Gradient::None => Gradient::None,
            Gradient::Dense(o) => Gradient::Dense(scale(o)),
            Gradient::Slices(s) => Gradient::Slices(IndexedSlices { values: scale(&s.values), ..s.clone() }),
        })
        .collect();
    (clipped, had)
}
