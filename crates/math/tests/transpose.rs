//! Transpositions against a plain loop over coordinates.

use bytemuck::Pod;
use thalweg_math::parallel::Serial;
use thalweg_math::pool::Pool;
use thalweg_math::transpose::transpose;

fn plainly<T: Pod>(shape: &[usize], perm: &[usize], input: &[T]) -> Vec<T> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    let element = |index: usize| {
        let mut rest = index;
        let offsets = perm.iter().rev().map(|&axis| {
            let coordinate = rest % shape[axis];
            rest /= shape[axis];
            coordinate * strides[axis]
        });
        input[offsets.sum::<usize>()]
    };
    (0..input.len()).map(element).collect()
}

fn check<T: Pod + PartialEq + Send + Sync>(shape: &[usize], perm: &[usize], of: impl Fn(usize) -> T) {
    let input: Vec<T> = (0..shape.iter().product()).map(of).collect();
    let expected = plainly(shape, perm, &input);
    let mut out = vec![T::zeroed(); input.len()];
    transpose(&Serial, shape, perm, &input, &mut out);
    assert!(out == expected, "{shape:?} {perm:?} {}", size_of::<T>());
    out.fill(T::zeroed());
    transpose(&*Pool::new(3).unwrap(), shape, perm, &input, &mut out);
    assert!(out == expected, "{shape:?} {perm:?} {} on threads", size_of::<T>());
}

fn permutations(rank: usize) -> Vec<Vec<usize>> {
    if rank == 0 {
        return vec![vec![]];
    }
    let mut all = Vec::new();
    for shorter in permutations(rank - 1) {
        for at in 0..rank {
            let mut perm = shorter.clone();
            perm.insert(at, rank - 1);
            all.push(perm);
        }
    }
    all
}

#[test]
fn every_permutation_and_size() {
    let shapes: &[&[usize]] = &[
        &[],
        &[1],
        &[9],
        &[1, 1, 1],
        &[70, 65],
        &[130, 3],
        &[2, 33, 40],
        &[17, 1, 70],
        &[3, 4, 5, 6],
        &[2, 19, 18, 3],
        &[2, 3, 2, 5, 7],
        &[4, 0, 3],
    ];
    for shape in shapes {
        for perm in permutations(shape.len()) {
            check(shape, &perm, |i| (i * 7) as u8);
            check(shape, &perm, |i| (i * 7) as u16);
            check(shape, &perm, |i| i as u32);
            check(shape, &perm, |i| i as u64);
            check(shape, &perm, |i| i as u128);
        }
    }
}
