//! `NearestNeighbors`: the centers nearest to each point.

use crate::prelude::*;
use std::cmp::Ordering;

pub static NEAREST_NEIGHBORS: Op = Op {
    name: "NearestNeighbors",
    doc: "The `k` centers nearest to each point, nearest first, and the squares of their distances.",
    inputs: &["points: float", "centers: float", "k: int64"],
    outputs: &["nearest_center_indices: int64", "nearest_center_distances: float"],
    shape: |c| {
        let (points, centers) = (c.rank(0, 2)?, c.rank(1, 2)?);
        merge_dim(points.dim(1), centers.dim(1))?;
        let k = match (c.constant(2).map(|k| k.to_scalar::<i64>()).transpose()?, centers.dim(0)) {
            (Some(k @ 0..), n @ 0..) => k.min(n),
            _ => -1,
        };
        let found: PartialShape = [points.dim(0), k].into_iter().collect();
        Ok(vec![found.clone(), found])
    },
    grad: Stops,
    kernels: cpu!(run),
    cases: |r| {
        let mut case = |k: i64| Case::new(vec![r.tensor(&[4, 3]), r.tensor(&[5, 3]), Tensor::scalar(k)]);
        vec![case(2), case(9), case(0)]
    },
    expensive: true,
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (&[n, size], &[count, of_centers]) = (c.shape(0)?.dims(), c.shape(1)?.dims()) else {
        return Err(invalid!("points and centers must be matrices, got {} and {}", c.shape(0)?, c.shape(1)?));
    };
    if n == 0 {
        return Err(invalid!("Expected points.rows() > 0."));
    }
    if size != of_centers {
        return Err(invalid!("Expected point_dimensions == center_dimensions: {size} vs {of_centers}."));
    }
    let k = c.scalar::<i64>(2)?;
    let k = usize::try_from(k).map_err(|_| invalid!("k must not be negative, got {k}"))?.min(count);
    let (points, centers) = (c.slice::<f32>(0)?, c.slice::<f32>(1)?);
    let shape = Shape::new(&[n, k])?;
    let mut indices = Tensor::zeros(DataType::Int64, shape.clone())?;
    let mut distances = Tensor::zeros(DataType::Float, shape)?;
    let (near, far) = (indices.as_mut_slice::<i64>()?, distances.as_mut_slice::<f32>()?);
    let mut all: Vec<(f32, i64)> = reserve::with_capacity(count)?;
    let order = |a: &(f32, i64), b: &(f32, i64)| -> Ordering { a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)) };
    for i in (0..n).take_while(|_| k > 0) {
        c.step.check()?;
        let point = &points[i * size..][..size];
        let distance = |at: usize| {
            let center = &centers[at * size..][..size];
            point.iter().zip(center).map(|(a, b)| (a - b) * (a - b)).sum::<f32>()
        };
        all.clear();
        all.extend((0..count).map(|at| (distance(at), at as i64)));
        all.select_nth_unstable_by(k - 1, order);
        all[..k].sort_unstable_by(order);
        let row = near[i * k..].iter_mut().zip(&mut far[i * k..]);
        for ((index, distance), found) in row.zip(&all[..k]) {
            (*distance, *index) = *found;
        }
    }
    c.set(0, indices);
    c.set(1, distances);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats};

    #[test]
    fn nearest_first_and_the_lower_of_two_as_near() {
        let points = floats(&[3, 2], &[0.0, 0.0, 1.0, 1.0, 5.0, 5.0]);
        let centers = floats(&[4, 2], &[0.0, 1.0, 5.0, 4.0, 2.0, 2.0, 0.0, 1.0]);
        let found =
            |k: i64| call("NearestNeighbors", &[points.clone(), centers.clone(), Tensor::scalar(k)], &[]);
        let two = found(2).unwrap();
        assert_eq!(two[0].as_slice::<i64>().unwrap(), [0, 3, 0, 3, 1, 2]);
        assert_eq!(two[1].as_slice::<f32>().unwrap(), [1.0, 1.0, 1.0, 1.0, 1.0, 18.0]);
        assert_eq!(found(9).unwrap()[0].shape().dims(), [3, 4]);
        assert_eq!(code(found(-1)), Code::InvalidArgument);
        let narrow = floats(&[1, 1], &[0.0]);
        let wrong = [points.clone(), narrow, Tensor::scalar(1i64)];
        assert_eq!(code(call("NearestNeighbors", &wrong, &[])), Code::InvalidArgument);
    }
}
