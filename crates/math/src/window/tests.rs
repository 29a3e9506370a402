use super::*;
use crate::parallel::Serial;

fn spans() -> Vec<WindowAxis> {
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
            all.push(WindowAxis { input, output, size, stride, dilation, before });
        }
    }
    all
}

/// (output, tap, input) by brute force.
fn tried(s: &WindowAxis) -> Vec<(usize, usize, usize)> {
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
    let s = WindowAxis { input: 3, output: 3, size: 1 << 40, stride: 1, dilation: 1, before: 1 << 39 };
    assert_eq!(s.taps(0), (1 << 39)..(1 << 39) + 3);
    assert_eq!(s.covering(1).count(), 3);
}

/// <im2col(x), p> = <x, col2im(p)>.
#[test]
fn col2im_is_the_transpose_of_im2col() {
    for grid in grids().chain(volumes()) {
        let cols = &grid.cols;
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
    let line = |input| WindowAxis { input, output: 1, size: input, stride: 1, dilation: 1, before: 0 };
    let grid = Grid { batch: 1, planes: WindowAxis::ONE, rows: line(1), cols: line(4) };
    for (x, at) in [([1.0, 3.0, 3.0, 2.0], 1), ([f32::NAN, 1.0, f32::NAN, 0.0], 1), ([f32::NAN; 4], 0)] {
        let mut place = [-7];
        max_pool_argmax(&Serial, &grid, 1, &x, &mut place);
        assert_eq!(place, [at]);
    }
}

/// Some grids with stride, dilation and padding.
fn grids() -> impl Iterator<Item = Grid> {
    let pairs: Vec<_> =
        spans().into_iter().step_by(13).zip(spans().into_iter().skip(5).step_by(17)).collect();
    pairs.into_iter().map(|(rows, cols)| Grid { batch: 2, planes: WindowAxis::ONE, rows, cols })
}

/// As `grids`, over several planes.
fn volumes() -> impl Iterator<Item = Grid> {
    grids().zip(spans().into_iter().skip(9).step_by(19)).map(|(grid, planes)| Grid { planes, ..grid })
}

fn values(n: usize, seed: usize) -> Vec<f64> {
    (0..n).map(|i| ((i + seed) * 37 % 23) as f64 - 11.0).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// For a linear function, <f(x), g> = <x, gradient(g)>.
#[test]
fn gradients_of_linear_windows_are_their_transposes() {
    for grid in grids() {
        for multiplier in [1, 2] {
            let what = Depthwise { grid, channels: 5, multiplier };
            let x = values(grid.input_rows() * grid.cols.input * 5, 1);
            let g = values(grid.output_rows() * grid.cols.output * 5 * multiplier, 2);
            let filter = values(grid.taps() * 5 * multiplier, 3);
            let (mut y, mut dx, mut df) = (vec![0.0; g.len()], vec![0.0; x.len()], vec![0.0; filter.len()]);
            what.convolve(&Serial, &x, &filter, &mut y);
            what.input_gradient(&Serial, &g, &filter, &mut dx);
            what.filter_gradient(&Serial, &x, &g, &mut df);
            assert_eq!((dot(&y, &g), dot(&y, &g)), (dot(&x, &dx), dot(&filter, &df)), "{what:?}");
        }
    }
    for grid in grids().chain(volumes()) {
        let x = values(grid.input_rows() * grid.cols.input * 3, 4);
        let g = values(grid.output_rows() * grid.cols.output * 3, 5);
        let (mut y, mut dx) = (vec![0.0; g.len()], vec![0.0; x.len()]);
        avg_pool(&Serial, &grid, 3, &x, &mut y);
        avg_pool_gradient(&Serial, &grid, 3, &g, &mut dx);
        assert!((dot(&y, &g) - dot(&x, &dx)).abs() < 1e-9, "{grid:?}");
    }
}

#[test]
fn max_pool_is_the_element_at_the_argmax_and_gets_its_gradient() {
    for grid in grids() {
        let depth = 6;
        let pixels = grid.rows.input * grid.cols.input;
        let outputs = grid.output_rows() * grid.cols.output * depth;
        let x = values(grid.batch * pixels * depth, 6);
        let (mut y, mut argmax, mut dx) = (vec![0.0; outputs], vec![0i32; outputs], vec![0.0; x.len()]);
        let (lowest, g) = (f64::NEG_INFINITY, values(outputs, 7));
        max_pool(&Serial, &grid, depth, lowest, &x, &mut y);
        max_pool_argmax(&Serial, &grid, depth, &x, &mut argmax);
        max_pool_gradient(&Serial, &grid, depth, &argmax, &g, &mut dx);
        let mut expected = vec![0.0; x.len()];
        for (i, (y, pixel)) in y.iter().zip(&argmax).enumerate() {
            let image = i / (outputs / grid.batch);
            match usize::try_from(*pixel) {
                Ok(pixel) => {
                    let at = (image * pixels + pixel) * depth + i % depth;
                    assert_eq!(*y, x[at], "{grid:?}");
                    expected[at] += g[i];
                }
                Err(_) => assert_eq!(*y, lowest, "a window on padding: {grid:?}"),
            }
        }
        assert_eq!(dx, expected, "{grid:?}");
    }
}

#[test]
fn windows_over_a_padded_copy_read_what_im2col_reads() {
    for grid in grids() {
        let Grid { rows, cols, .. } = grid;
        let x: Vec<i32> = (1..=(rows.input * cols.input * 2) as i32).collect();
        let mut padded = vec![99; rows.padded_len() * cols.padded_len() * 2];
        grid.write_padded(2, &x, &mut padded);
        let inside = Grid {
            batch: 1,
            planes: WindowAxis::ONE,
            rows: WindowAxis { input: rows.padded_len(), before: 0, ..rows },
            cols: WindowAxis { input: cols.padded_len(), before: 0, ..cols },
        };
        assert!(inside.is_unpadded(), "{grid:?}");
        let read = |grid: Grid, x: &[i32]| {
            let what = Patches { grid, depth: 2, first_channel: 0, channels: 2 };
            let mut out = vec![77; rows.output * cols.output * what.len()];
            what.im2col(&Serial, x, 0..rows.output, &mut out);
            out
        };
        assert_eq!(read(Grid { batch: 1, ..grid }, &x), read(inside, &padded), "{grid:?}");
    }
}

#[test]
fn gradients_of_the_maximum_in_volumes_go_to_all_elements_that_equal_it() {
    for grid in volumes() {
        let (depth, n) = (3, grid.output_rows() * grid.cols.output * 3);
        let x = values(grid.input_rows() * grid.cols.input * depth, 6);
        let (v, g, lowest) = (values(x.len(), 8), values(n, 7), f64::NEG_INFINITY);
        let (mut y, mut dx, mut dg) = (vec![0.0; n], vec![0.0; x.len()], vec![0.0; n]);
        max_pool(&Serial, &grid, depth, lowest, &x, &mut y);
        max_places_gradient(&Serial, &grid, depth, [&x, &y, &g], &mut dx);
        max_places_gather(&Serial, &grid, depth, [&x, &y, &v], &mut dg);
        let what = Patches { grid, depth: 1, first_channel: 0, channels: 1 };
        for channel in 0..depth {
            // Numbers of pixels, 1 and up, under each window; 0 is padding.
            let pixels: Vec<usize> = (1..=x.len() / depth).collect();
            let mut under = vec![0; n / depth * what.len()];
            what.im2col(&Serial, &pixels, 0..grid.output_rows(), &mut under);
            let mut expected = vec![0.0; x.len() / depth];
            for (place, under) in under.chunks_exact(what.len()).enumerate() {
                let at = place * depth + channel;
                let inside = under.iter().filter(|p| **p > 0).map(|p| p - 1);
                let best = inside.clone().fold(lowest, |m, p| m.max(x[p * depth + channel]));
                assert_eq!(y[at], best, "{grid:?}");
                let mut ties = inside.filter(|p| x[p * depth + channel] == best);
                ties.clone().for_each(|p| expected[p] += g[at]);
                assert_eq!(dg[at], ties.next().map_or(0.0, |p| v[p * depth + channel]), "{grid:?}");
            }
            let got: Vec<f64> = dx.iter().skip(channel).step_by(depth).copied().collect();
            assert_eq!(got, expected, "{grid:?}");
        }
    }
}
