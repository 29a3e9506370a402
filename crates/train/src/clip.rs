//! Clipping of gradients.

use thalweg_client::{Gradient, IndexedSlices, Output, Scope};

/// Every element clipped to [low, high].
#[track_caller]
pub fn clip_by_value(g: &Scope, x: &Output, low: f64, high: f64) -> Output {
    let (low, high) = (g.number(low, x.dtype()), g.number(high, x.dtype()));
    g.op("ClipByValue").name("clip_by_value").input(x).input(low).input(high).output()
}

/// The tensor scaled down so that its 2-norm is at most `norm`.
#[track_caller]
pub fn clip_by_norm(g: &Scope, x: &Output, norm: f64) -> Output {
    let g = g.name_scope("clip_by_norm");
    let limit = g.number(norm, x.dtype());
    let length = g.sqrt(g.reduce_sum(x * x, &[]));
    let larger = g.maximum(length, &limit);
    x * limit / larger
}

/// The tensor scaled down so that its 2-norm divided by the number of its elements is at most `norm`.
#[track_caller]
pub fn clip_by_average_norm(g: &Scope, x: &Output, norm: f64) -> Output {
    let g = g.name_scope("clip_by_average_norm");
    let (limit, one) = (g.number(norm, x.dtype()), g.number(1.0, x.dtype()));
    let count = g.cast(g.size(x), x.dtype());
    let inverse = g.rsqrt(g.reduce_sum(x * x, &[]));
    let smaller = g.minimum(inverse * count, one / &limit);
    x * limit * smaller
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
        .map(|values| g.l2_loss(values))
        .collect();
    let total = g.add_n(&halves);
    let two = g.number(2.0, total.dtype());
    g.sqrt(total * two)
}

/// All gradients scaled so that their global norm is at most `norm`; and the global norm before.
#[track_caller]
pub fn clip_by_global_norm(g: &Scope, gradients: &[Gradient], norm: f64) -> (Vec<Gradient>, Output) {
    let had = global_norm(g, gradients);
    let g = g.name_scope("clip_by_global_norm");
    let limit = g.number(norm, had.dtype());
    let one = g.number(1.0, had.dtype());
    let inverse = &one / &had;
    let smaller = g.minimum(inverse, one / &limit);
    let factor = limit * smaller;
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
