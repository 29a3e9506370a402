//! Transposition of one tile, in SSE registers on x86-64.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::ops::Range;

/// A transposed tile of elements of `SIZE` bytes.
pub(super) type Tile<const SIZE: usize, const TILE: usize> = [[[u8; SIZE]; TILE]; TILE];

/// Fills a tile: its columns are rows of the input, with leading dimension `stride`.
#[inline(always)]
pub(super) fn fill<const SIZE: usize, const TILE: usize>(
    input: &[[u8; SIZE]],
    stride: usize,
    tile: &mut Tile<SIZE, TILE>,
    [rows, columns]: [usize; 2],
) {
    #[cfg(target_arch = "x86_64")]
    match SIZE {
        1 => return fill_squares::<SIZE, TILE, 16>(input, stride, tile, [rows, columns]),
        2 => return fill_squares::<SIZE, TILE, 8>(input, stride, tile, [rows, columns]),
        4 => return fill_squares::<SIZE, TILE, 4>(input, stride, tile, [rows, columns]),
        8 => return fill_squares::<SIZE, TILE, 2>(input, stride, tile, [rows, columns]),
        _ => {}
    }
    fill_scalar(input, stride, tile, 0..rows, 0..columns);
}

#[inline(always)]
fn fill_scalar<const SIZE: usize, const TILE: usize>(
    input: &[[u8; SIZE]],
    stride: usize,
    tile: &mut Tile<SIZE, TILE>,
    rows: Range<usize>,
    columns: Range<usize>,
) {
    for column in columns {
        let line = &input[column * stride..][rows.clone()];
        for (row, &element) in tile[rows.clone()].iter_mut().zip(line) {
            row[column] = element;
        }
    }
}

/// In squares of `N` by `N` elements, a row of which fills a register; the
/// edges one by one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fill_squares<const SIZE: usize, const TILE: usize, const N: usize>(
    input: &[[u8; SIZE]],
    stride: usize,
    tile: &mut Tile<SIZE, TILE>,
    [rows, columns]: [usize; 2],
) {
    let (whole_rows, whole_columns) = (rows / N * N, columns / N * N);
    for column in (0..whole_columns).step_by(N) {
        let lines: [&[[u8; SIZE]]; N] =
            std::array::from_fn(|n| &input[(column + n) * stride..][..whole_rows]);
        for row in (0..whole_rows).step_by(N) {
            let square = lines.map(|line| load(&line[row..row + N]));
            let square = transpose_square::<SIZE, N>(square);
            for (line, register) in tile[row..row + N].iter_mut().zip(square) {
                store(register, &mut line[column..column + N]);
            }
        }
    }
    fill_scalar(input, stride, tile, whole_rows..rows, 0..whole_columns);
    fill_scalar(input, stride, tile, 0..rows, whole_columns..columns);
}

/// Each round interleaves the first half of the rows with the second (a perfect
/// shuffle); after log2(`N`) rounds the square is transposed.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transpose_square<const SIZE: usize, const N: usize>(mut rows: [__m128i; N]) -> [__m128i; N] {
    for _ in 0..N.ilog2() {
        let mut next = rows;
        for n in 0..N / 2 {
            (next[2 * n], next[2 * n + 1]) = interleave::<SIZE>(rows[n], rows[n + N / 2]);
        }
        rows = next;
    }
    rows
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn interleave<const SIZE: usize>(a: __m128i, b: __m128i) -> (__m128i, __m128i) {
    // SAFETY: every x86-64 machine has SSE2.
    unsafe {
        match SIZE {
            1 => (_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)),
            2 => (_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b)),
            4 => (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)),
            _ => (_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b)),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn load<const SIZE: usize>(elements: &[[u8; SIZE]]) -> __m128i {
    let bytes: [u8; 16] = *elements.as_flattened().first_chunk().expect("a register full");
    bytemuck::cast(bytes)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn store<const SIZE: usize>(register: __m128i, elements: &mut [[u8; SIZE]]) {
    let bytes: [u8; 16] = bytemuck::cast(register);
    *elements.as_flattened_mut().first_chunk_mut().expect("a register full") = bytes;
}
