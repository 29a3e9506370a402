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

use super::kernel::{HasKernels, Kernels, STEPS, Tile};
use super::pack::{self, Block};
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

/// The longest stretch of `k` in one block: the kernels stream a panel of B this long from
/// the caches next to the core, and longer ones mean fewer passes over C.
const MAX_K: usize = 512;

/// The size in bytes of a block of A, which should stay in L2.
const A_BLOCK_BYTES: usize = 768 << 10;

/// A block of A is packed if at least this many columns of B share the cost.
const PACK_A_COLS: usize = 512;

/// The work, in multiply-adds, that makes one more thread worth waking.
const WORK_PER_THREAD: usize = 64 * 64 * 64;

/// The most tasks made for each thread.
const TASKS_PER_THREAD: usize = 4;

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
        let work = p.m.saturating_mul(p.n).saturating_mul(p.k);
        let width = kernels.width(p.m);
        let mut grid = Grid { m: p.m, n: p.n, width, row_parts: 1, col_parts: 1 };
        let threads = threads.min(work / WORK_PER_THREAD);
        if threads <= 1 {
            return grid;
        }
        let (row_blocks, panels) = (p.m.div_ceil(kernels.max_rows()), p.n.div_ceil(width));
        let mut best = f64::INFINITY;
        for row_parts in 1..=row_blocks.min(threads * TASKS_PER_THREAD) {
            for col_parts in 1..=panels.min(threads * TASKS_PER_THREAD / row_parts).max(1) {
                let tried = Grid { row_parts, col_parts, ..grid };
                let cost = tried.cost(p.k, threads);
                if cost < best {
                    (best, grid) = (cost, tried);
                }
            }
        }
        grid
    }

    /// An estimate of the time a product takes when cut this way.
    fn cost(&self, k: usize, threads: usize) -> f64 {
        let rows = self.m.div_ceil(self.row_parts) as f64;
        let cols = (self.n.div_ceil(self.width).div_ceil(self.col_parts) * self.width) as f64;
        // The products themselves; the first pass over each panel of B, and over A, which
        // wait for memory; and the start of a task.
        let task = k as f64 * (rows * cols / 32.0 + 0.1 * cols + 0.3 * rows) + 1000.0;
        // At the end, some threads are out of work while the others do their last task.
        self.tasks().div_ceil(threads) as f64 * task + 0.05 * task
    }

    fn tasks(&self) -> usize {
        self.row_parts * self.col_parts
    }

    fn task(&self, index: usize) -> (Range<usize>, Range<usize>) {
        let (r, c) = (index % self.row_parts, index / self.row_parts);
        let panels = part(self.n.div_ceil(self.width), self.col_parts, c);
        let cols = panels.start * self.width..(panels.end * self.width).min(self.n);
        (part(self.m, self.row_parts, r), cols)
    }
}

/// The `index`th of `parts` nearly equal parts of `0..n`.
fn part(n: usize, parts: usize, index: usize) -> Range<usize> {
    let (each, rest) = (n / parts, n % parts);
    let start = index * each + index.min(rest);
    start..start + each + usize::from(index < rest)
}

/// The part of a product that one thread computes.
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
        // At least one part, even of nothing: it is what writes the zeros.
        let k_parts = p.k.div_ceil(MAX_K).max(1);
        let k_max = p.k.div_ceil(k_parts);
        let row_parts = (self.rows.len() * k_max * size_of::<T>()).div_ceil(A_BLOCK_BYTES).max(1);
        let panel_room = k_max * self.kernels.width(p.m);
        let pack_a = self.cols.len() >= PACK_A_COLS && self.rows.len() > self.kernels.max_rows();
        let a_room = if pack_a { pack::block_room(self.rows.len().div_ceil(row_parts), k_max) } else { 0 };
        scratch::with(panel_room + a_room, |room: *mut T| {
            for r in 0..row_parts {
                let rows = part(self.rows.len(), row_parts, r);
                let rows = self.rows.start + rows.start..self.rows.start + rows.end;
                for q in 0..k_parts {
                    let ks = part(p.k, k_parts, q);
                    let mut a = Block {
                        at: p.a.wrapping_add(rows.start * p.a_row_stride + ks.start * p.a_col_stride),
                        row_stride: p.a_row_stride,
                        col_stride: p.a_col_stride,
                    };
                    // SAFETY: the block lies inside A, and the scratch memory has room for a
                    // panel of B and after it for a block of A.
                    unsafe {
                        if pack_a {
                            a = pack::block(rows.len(), ks.len(), a, room.add(panel_room));
                        }
                        self.block(a, rows.clone(), ks, room);
                    }
                }
            }
        });
    }

    /// All columns of the task, for a block of A.
    unsafe fn block(&self, a: Block<T>, rows: Range<usize>, ks: Range<usize>, packed: *mut T) {
        let mut start = self.cols.start;
        while start < self.cols.end {
            let end = start + self.kernels.cols(rows.len(), self.cols.end - start);
            // SAFETY: passed on.
            unsafe { self.panel(a, rows.clone(), ks.clone(), start..end, packed) };
            start = end;
        }
    }

    /// The columns of one panel of B.
    unsafe fn panel(
        &self,
        a: Block<T>,
        rows: Range<usize>,
        ks: Range<usize>,
        cols: Range<usize>,
        packed: *mut T,
    ) {
        // SAFETY: all offsets are of elements inside the matrices, and `packed` has room for the panel.
        unsafe {
            let mut tile = self.tile(a, &rows, &ks, &cols);
            let width = cols.len().next_multiple_of(self.kernels.lanes);
            let parts = rows.len().div_ceil(self.kernels.max_rows());
            let packed_b = |tile: &mut Tile<T>| {
                (tile.b, tile.b_row_stride, tile.b_full) = (packed, width, true);
                tile.packed = std::ptr::null_mut();
            };
            if self.product.b_col_stride != 1 {
                let p = self.product;
                (self.kernels.pack)(
                    ks.len(),
                    cols.len(),
                    tile.b,
                    p.b_row_stride,
                    p.b_col_stride,
                    packed,
                    width,
                );
                packed_b(&mut tile);
            } else if parts > 1 {
                tile.packed = packed;
            }
            for i in 0..parts {
                let rows_here = part(rows.len(), parts, i);
                tile.a = a.at.add(rows_here.start * a.row_stride);
                tile.c = self.product.c.add((rows.start + rows_here.start) * tile.c_row_stride + cols.start);
                (tile.ahead, tile.ahead_stride) = self.ahead(i, &ks, cols.end);
                self.kernels.get(rows_here.len(), cols.len())(&tile);
                if !tile.packed.is_null() {
                    packed_b(&mut tile);
                }
            }
        }
    }

    /// What the kernel calls of a panel have in common.
    fn tile(&self, a: Block<T>, rows: &Range<usize>, ks: &Range<usize>, cols: &Range<usize>) -> Tile<T> {
        let p = self.product;
        let last = ks.end == p.k;
        Tile {
            k: ks.len(),
            a: a.at,
            a_row_stride: a.row_stride,
            a_col_stride: a.col_stride,
            b: p.b.wrapping_add(ks.start * p.b_row_stride + cols.start * p.b_col_stride),
            b_row_stride: p.b_row_stride,
            b_full: cols.len().is_multiple_of(self.kernels.lanes),
            packed: std::ptr::null_mut(),
            ahead: std::ptr::null(),
            ahead_stride: 0,
            c: p.c.wrapping_add(rows.start * p.c_row_stride + cols.start),
            c_row_stride: p.c_row_stride,
            cols: cols.len(),
            add_to_c: p.accumulate || ks.start > 0,
            bias: if last && !p.bias.is_null() { p.bias.wrapping_add(cols.start) } else { std::ptr::null() },
            relu: p.relu && last,
        }
    }

    /// Where in the next panel of B the `i`th kernel call on this one looks ahead, and the
    /// stride. Calls look at one vector of every row, a part of the rows each.
    fn ahead(&self, i: usize, ks: &Range<usize>, next: usize) -> (*const T, usize) {
        let p = self.product;
        let looks = ks.len().div_ceil(STEPS);
        let vectors = self.kernels.forms.len();
        let (row, vector) = (i / vectors * looks, i % vectors);
        if p.b_col_stride != 1 || row >= ks.len() || next >= self.cols.end {
            // All seen: look at what is near anyway.
            return (p.a, 0);
        }
        let from = (ks.start + row) * p.b_row_stride + next + vector * self.kernels.lanes;
        (p.b.wrapping_add(from), p.b_row_stride)
    }
}
