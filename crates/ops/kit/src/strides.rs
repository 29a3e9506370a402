//! Strided positions along a dimension that may begin outside of it.

/// The `i` below `steps` for which `start + i * stride` is in 0 .. `size`: the first, and how many.
pub fn steps_inside(steps: usize, start: isize, stride: usize, size: usize) -> (usize, usize) {
    let stride = stride.max(1);
    let first = if start < 0 { start.unsigned_abs().div_ceil(stride) } else { 0 };
    let room = size as isize - start;
    let end = if room > 0 { (room as usize).div_ceil(stride).min(steps) } else { 0 };
    (first, end.saturating_sub(first))
}

#[cfg(test)]
mod tests {
    use super::steps_inside;

    #[test]
    fn agrees_with_trying_every_step() {
        for (steps, start, stride, size) in (0..5).flat_map(|a| {
            (-7..7).flat_map(move |b| (1..4).flat_map(move |c| (0..6).map(move |d| (a, b, c, d))))
        }) {
            let inside: Vec<usize> = (0..steps)
                .filter(|i| (0..size as isize).contains(&(start + (i * stride) as isize)))
                .collect();
            let (first, count) = steps_inside(steps, start, stride, size);
            assert_eq!(count, inside.len());
            assert!(count == 0 || first == inside[0]);
        }
    }
}
