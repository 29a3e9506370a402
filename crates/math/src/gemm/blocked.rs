//! The product of large and small matrices of a type that has kernels: how the work is
//! cut into blocks that fit the caches, and shared out to threads.
//!
//! A *task* is a range of rows of C by a range of its columns. A task goes through `k` in
//! blocks; in each through panels of B as wide as a kernel; and in each through the rows,
//! a kernel's height at a time. The first kernel call on a panel reads B where it lies
//! and leaves a packed copy in the L1 cache for the calls after it: packing costs next to
//! nothing, so tasks share nothing and need no barrier.
//!
//! How `k` is cut depends on `k` alone, so results do not depend on the number of threads.

use std::ops::Range;

use super::kernel::{HasKernels, Kernels, Tile};
use super::scratch;
use crate::parallel::Parallel;

/// A product whose sizes and pointers have been checked. `m`, `n` and `k` are not 0.
#[derive(Clone, Copy)]
pub(super) struct Product<T> {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: *const T,
    pub a_row_stride: usize,
    pub a_col_stride: usize,
    pub b: *const T,
    pub b_row_stride: usize,
    pub b_col_stride: usize,
    pub c: *mut T,
    pub c_row_stride: usize,
    pub accumulate: bool,
    pub bias: *const T,
    pub relu: bool,
}

// SAFETY: whoever makes a `Product` vouches that `a`, `b` and `bias` are readable and `c`
// writable for its extents while it exists; tasks write disjoint parts of `c`.
unsafe impl<T: Send + Sync> Send for Product<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Product<T> {}

/// The longest stretch of `k` in one block: a panel of B this long fits in L1 with room to spare.
const MAX_K: usize = 384;

/// The size in bytes of a block of A, which should stay in L2.
const A_BLOCK_BYTES: usize = 768 << 10;

/// The work, in multiply-adds, that makes one more thread worth waking.
const WORK_PER_THREAD: usize = 64 * 64 * 24;

/// # Safety
///
/// The pointers of the product are valid for its extents, and `c` is apart from the rest.
pub(super) unsafe fn multiply<T: HasKernels>(par: &dyn Parallel, product: &Product<T>, kernels: &Kernels<T>) {
    let grid = Grid::choose(product, kernels, par.threads());
    par.run_ranges(grid.tasks(), 1, &|tasks| {
        for task in tasks {
            let (rows, cols) = grid.task(task);
            // SAFETY: the ranges are inside the product and no two tasks share an element of C.
            unsafe { Task { product, kernels, rows, cols }.run() }
        }
    });
}

/// How C is cut into tasks.
struct Grid {
    m: usize,
    n: usize,
    /// Columns are cut at multiples of this.
    width: usize,
    row_parts: usize,
    col_parts: usize,
}

impl Grid {
    fn choose<T>(p: &Product<T>, kernels: &Kernels<T>, threads: usize) -> Grid {
        let work = p.m * p.n * p.k;
        let width = kernels.max_cols();
        let panels = p.n.div_ceil(width);
        let row_blocks = p.m.div_ceil(kernels.max_rows());
        let threads = threads.min(work.div_ceil(WORK_PER_THREAD));
        let mut grid = Grid { m: p.m, n: p.n, width, row_parts: 1, col_parts: 1 };
        if threads > 1 {
            let mut best = f64::INFINITY;
            for row_parts in 1..=row_blocks.min(threads * 4) {
                for col_parts in 1..=panels.min(threads * 4 / row_parts).max(1) {
                    let cost = cost(p, row_parts, panels, col_parts, threads, work);
                    if cost < best {
                        best = cost;
                        (grid.row_parts, grid.col_parts) = (row_parts, col_parts);
                    }
                }
            }
        }
        grid
    }

    fn tasks(&self) -> usize {
        self.row_parts * self.col_parts
    }

    fn task(&self, index: usize) -> (Range<usize>, Range<usize>) {
        let (r, c) = (index % self.row_parts, index / self.row_parts);
        let panels = part(self.n.div_ceil(self.width), self.col_parts, c);
        (
            part(self.m, self.row_parts, r),
            panels.start * self.width..(panels.end * self.width).min(self.n),
        )
    }
}

/// An estimate of the time of a product cut this way.
fn cost<T>(p: &Product<T>, row_parts: usize, panels: usize, col_parts: usize, threads: usize, work: usize) -> f64 {
    let rounds = (row_parts * col_parts).div_ceil(threads);
    let rows = p.m.div_ceil(row_parts);
    let cols = panels.div_ceil(col_parts) as f64 / panels as f64 * p.n as f64;
    // A kernel call has some overhead per row and per column: small parts cost more.
    let overhead = 1.0 + 0.6 / rows as f64 + 2.0 / cols;
    let spread = rounds as f64 * rows as f64 * cols * overhead;
    let _ = work;
    spread
}

/// The `index`th of `parts` nearly equal parts of `0..n`.
fn part(n: usize, parts: usize, index: usize) -> Range<usize> {
    let (each, rest) = (n / parts, n % parts);
    let start = index * each + index.min(rest);
    start..start + each + usize::from(index < rest)
}

struct Task<'a, T: 'static> {
    product: &'a Product<T>,
    kernels: &'a Kernels<T>,
    rows: Range<usize>,
    cols: Range<usize>,
}

impl<T: HasKernels> Task<'_, T> {
    /// # Safety
    ///
    /// The ranges are inside the product, and nobody else writes that part of C.
    unsafe fn run(&self) {
        let p = self.product;
        let k_parts = p.k.div_ceil(MAX_K);
        let k_max = p.k.div_ceil(k_parts);
        let row_parts = (self.rows.len() * k_max * size_of::<T>()).div_ceil(A_BLOCK_BYTES);
        let panel = k_max * self.kernels.max_cols();
        scratch::with(panel, |packed: *mut T| {
            for r in 0..row_parts {
                let rows = part(self.rows.len(), row_parts, r);
                let rows = self.rows.start + rows.start..self.rows.start + rows.end;
                for q in 0..k_parts {
                    // SAFETY: `packed` has room for a panel of `k_max` rows.
                    unsafe { self.block(rows.clone(), part(p.k, k_parts, q), packed) }
                }
            }
        });
    }

    unsafe fn block(&self, rows: Range<usize>, ks: Range<usize>, packed: *mut T) {
        let mut start = self.cols.start;
        while start < self.cols.end {
            let end = (start + self.kernels.max_cols()).min(self.cols.end);
            // SAFETY: passed on.
            unsafe { self.panel(rows.clone(), ks.clone(), start..end, packed) };
            start = end;
        }
    }

    unsafe fn panel(&self, rows: Range<usize>, ks: Range<usize>, cols: Range<usize>, packed: *mut T) {
        let p = self.product;
        let parts = rows.len().div_ceil(self.kernels.max_rows());
        let width = cols.len().div_ceil(self.kernels.lanes) * self.kernels.lanes;
        let last_k = ks.end == p.k;
        // SAFETY: all offsets are of elements inside the matrices.
        unsafe {
            let mut tile = Tile {
                k: ks.len(),
                a: p.a,
                a_row_stride: p.a_row_stride,
                a_col_stride: p.a_col_stride,
                b: p.b.add(ks.start * p.b_row_stride + cols.start * p.b_col_stride),
                b_row_stride: p.b_row_stride,
                b_full: cols.len() == width,
                packed: if parts > 1 { packed } else { std::ptr::null_mut() },
                c: p.c,
                c_row_stride: p.c_row_stride,
                cols: cols.len(),
                add_to_c: p.accumulate || ks.start > 0,
                bias: if last_k && !p.bias.is_null() { p.bias.add(cols.start) } else { std::ptr::null() },
                relu: p.relu && last_k,
            };
            if p.b_col_stride != 1 {
                super::pack::transpose(ks.len(), cols.len(), tile.b, p.b_row_stride, p.b_col_stride, packed, width);
                (tile.b, tile.b_row_stride, tile.b_full) = (packed, width, true);
                tile.packed = std::ptr::null_mut();
            }
            for i in 0..parts {
                let rows_here = part(rows.len(), parts, i);
                let row = rows.start + rows_here.start;
                tile.a = p.a.add(row * p.a_row_stride + ks.start * p.a_col_stride);
                tile.c = p.c.add(row * p.c_row_stride + cols.start);
                self.kernels.get(rows_here.len(), cols.len())(&tile);
                if !tile.packed.is_null() {
                    (tile.b, tile.b_row_stride, tile.b_full) = (packed, width, true);
                    tile.packed = std::ptr::null_mut();
                }
            }
        }
    }
}
