//! Intersections of slices of one tensor, and copies of them.

use std::ops::Range;

/// Start and end along each dimension.
pub type Ranges = Vec<(usize, usize)>;

/// The intersection of two regions; `None` if empty.
pub fn intersection(a: &Ranges, b: &Ranges) -> Option<Ranges> {
    overlap(a, b).then(|| a.iter().zip(b).map(|(x, y)| (x.0.max(y.0), x.1.min(y.1))).collect())
}

/// Whether two regions intersect.
pub fn overlap(a: &Ranges, b: &Ranges) -> bool {
    a.iter().zip(b).all(|(x, y)| x.0.max(y.0) < x.1.min(y.1))
}

pub fn elements(region: &Ranges) -> usize {
    region.iter().map(|(start, end)| end - start).product()
}

/// Calls `copy(from, to)` for each contiguous run of region `part`, with its ranges in row-major arrays of the regions `from` and
/// `to`, both of which contain it.
pub fn runs(part: &Ranges, from: &Ranges, to: &Ranges, mut copy: impl FnMut(Range<usize>, Range<usize>)) {
    let rank = part.len();
    let Some((last, outer)) = part.split_last() else { return copy(0..1, 0..1) };
    let run = last.1 - last.0;
    let position = |index: &[usize], within: &Ranges| {
        let place = index.iter().chain([&last.0]).zip(within);
        place.fold(0, |at, (i, (start, end))| at * (end - start) + (i - start))
    };
    let mut index: Vec<usize> = outer.iter().map(|r| r.0).collect();
    loop {
        let (a, b) = (position(&index, from), position(&index, to));
        copy(a..a + run, b..b + run);
        let mut axis = rank - 1;
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            index[axis] += 1;
            if index[axis] < outer[axis].1 {
                break;
            }
            index[axis] = outer[axis].0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_the_offsets_of_both_arrays() {
        let (from, to) = (vec![(1, 4), (0, 3)], vec![(0, 3), (1, 5)]);
        let part = intersection(&from, &to).unwrap();
        assert_eq!((&part, elements(&part)), (&vec![(1, 3), (1, 3)], 4));
        let source: Vec<usize> = (1..4).flat_map(|r| (0..3).map(move |c| r * 10 + c)).collect();
        let mut target = vec![0; 12];
        runs(&part, &from, &to, |a, b| target[b].copy_from_slice(&source[a]));
        assert_eq!(target, [0, 0, 0, 0, 11, 12, 0, 0, 21, 22, 0, 0]);
        assert_eq!(intersection(&vec![(0, 2)], &vec![(2, 3)]), None);
    }
}
