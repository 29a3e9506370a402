use super::*;
use crate::parallel::Serial;

fn spans() -> Vec<Span> {
    let mut all = Vec::new();
    for (input, size, stride, dilation, before, after) in (1..6usize).flat_map(|i| {
        (1..4).flat_map(move |k| {
            (1..4).flat_map(move |s| {
                (1..3).flat_map(move |d| (0..3).flat_map(move |b| (0..2).map(move |a| (i, k, s, d, b, a))))
            })
        })
    }) {
        let reach = (size - 1) * dilation + 1;
        if input + before + after >= reach {
            let output = (input + before + after - reach) / stride + 1;
            all.push(Span { input, output, size, stride, dilation, before });
        }
    }
    all
}

/// (output, tap, input) by brute force.
fn tried(s: &Span) -> Vec<(usize, usize, usize)> {
    let mut all = Vec::new();
    for place in 0..s.output {
        for tap in 0..s.size {
            let at = (place * s.stride + tap * s.dilation) as isize - s.before as isize;
            if (0..s.input as isize).contains(&at) {
                all.push((place, tap, at as usize));
            }
        }
    }
    all
}

#[test]
fn taps_and_covering_agree_with_trying_every_tap() {
    for s in spans() {
        let want = tried(&s);
        let by_place: Vec<_> =
            (0..s.output).flat_map(|o| s.taps(o).map(move |k| (o, k, s.at(o, k)))).collect();
        assert_eq!(by_place, want, "{s:?}");
        let mut by_position: Vec<_> =
            (0..s.input).flat_map(|i| s.covering(i).map(move |(o, k)| (o, k, i))).collect();
        by_position.sort();
        assert_eq!(by_position, want, "{s:?}");
    }
}

#[test]
fn a_window_far_larger_than_the_image_takes_no_longer() {
    let s = Span { input: 3, output: 3, size: 1 << 40, stride: 1, dilation: 1, before: 1 << 39 };
    assert_eq!(s.taps(0), (1 << 39)..(1 << 39) + 3);
    assert_eq!(s.covering(1).count(), 3);
}

/// <im2col(x), p> = <x, col2im(p)>.
#[test]
fn col2im_is_the_transpose_of_im2col() {
    for (rows, cols) in spans().iter().step_by(7).zip(spans().iter().skip(3).step_by(11)) {
        let grid = Grid { batch: 2, rows: *rows, cols: *cols };
        for (first_channel, channels) in [(0, 3), (1, 2)] {
            let what = Patches { grid, depth: 3, first_channel, channels };
            let n = grid.input_rows() * cols.input * 3;
            let images: Vec<i32> = (0..n as i32).map(|i| i * 7 % 31 - 15).collect();
            let all = grid.output_rows();
            let width = cols.output * what.len();
            let weights: Vec<i32> = (0..(all * width) as i32).map(|i| i * 5 % 23 - 11).collect();
            let (mut dot, mut back) = (0i64, vec![0; n]);
            // In two parts, so that rows of one image are apart.
            for part in [0..all / 2, all / 2..all] {
                let mut patches = vec![99; part.len() * width];
                what.im2col(&Serial, &images, part.clone(), &mut patches);
                let weights = &weights[part.start * width..part.end * width];
                dot += patches.iter().zip(weights).map(|(a, b)| (a * b) as i64).sum::<i64>();
                col2im(&Serial, &what, weights, part, &mut back);
            }
            let other = images.iter().zip(&back).map(|(a, b)| (a * b) as i64).sum::<i64>();
            assert_eq!(dot, other, "{what:?}");
        }
    }
}

#[test]
fn argmax_is_the_first_of_equal_elements_and_never_nan_among_numbers() {
    let line = |input| Span { input, output: 1, size: input, stride: 1, dilation: 1, before: 0 };
    let grid = Grid { batch: 1, rows: line(1), cols: line(4) };
    for (x, at) in [([1.0, 3.0, 3.0, 2.0], 1), ([f32::NAN, 1.0, f32::NAN, 0.0], 1), ([f32::NAN; 4], 0)] {
        let mut place = [-7];
        max_pool_argmax(&Serial, &grid, 1, &x, &mut place);
        assert_eq!(place, [at]);
    }
}
