//! Cache blocking in the manner of GotoBLAS, around the micro-kernels, and the split of a product into parallel tasks.
//!
//! A *task* is a range of rows of C by a range of its columns. Its loops, from the outside: cache blocks of A (mc rows by
//! kc of `k`); panels of B (kc by nr columns); register tiles (mr rows). The first micro-kernel call on a panel reads B in
//! place and, if more than one call follows, packs the panel into L1 for them: packing is nearly free, so tasks share no
//! packed data and need no barrier. A cache block of A is packed (into micro-panels of mr rows) only where many columns
//! amortise the cost.
//!
//! How `k` is split depends on `k` alone, so results do not depend on the number of threads.

use std::ops::Range;

use super::micro_kernel::{HasKernels, Kernel, Kernels, PREPACK_INTERVAL, Tile, packed_a_stride};
use super::pack::Block;
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
    pub a_row_runs: Runs,
    pub a_col_runs: Runs,
    pub b: *const T,
    pub b_row_stride: usize,
    pub b_col_stride: usize,
    pub c: *mut T,
    pub c_row_stride: usize,
    pub accumulate: bool,
    pub bias: *const T,
    pub relu: bool,
}

/// An axis of A in runs of constant stride: after every `length` steps, the address moves by `jump` elements more.
/// The axes of an im2col view are of this form.
#[derive(Clone, Copy)]
pub(super) struct Runs {
    pub length: usize,
    pub jump: isize,
}

impl Runs {
    /// One run: a constant stride.
    pub const ONE: Runs = Runs { length: usize::MAX, jump: 0 };

    /// The sum of the jumps before an index.
    fn before(self, at: usize) -> isize {
        (at / self.length) as isize * self.jump
    }

    /// Steps from an index to the next jump.
    fn left(self, at: usize) -> usize {
        self.length - at % self.length
    }
}

// SAFETY: the creator of a `Product` guarantees that `a`, `b` and `bias` are readable and `c`
// writable for its extents while it exists; tasks write disjoint parts of `c`.
unsafe impl<T: Send + Sync> Send for Product<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Product<T> {}

/// The largest kc: a panel of B of this length nearly fits in L1.
const MAX_KC: usize = 400;

/// A `k` up to this is one block: a second pass over C would cost more than the L1 misses.
const MAX_UNSPLIT_K: usize = 512;

/// The largest kc for an im2col view: A is then small and reused, and a panel of B fits in L1 beside it (4 to 14 %).
const MAX_KC_IM2COL: usize = 256;

/// Bytes of a cache block of A (mc by kc), which stays in L2 with two groups of panels.
const A_BLOCK_BYTES: usize = 256 << 10;

/// A cache block of A is packed if at least this many columns amortise the cost.
const PACK_A_MIN_COLS: usize = 896;

/// Multiply-adds for which waking one more thread pays.
const WORK_PER_THREAD: usize = 64 * 64 * 64;

/// The most panels of B that each mr rows of A are multiplied with in turn: the rows are
/// in L1 for all panels but the first. Two measured about 1 % better than four or more.
const PANELS_PER_GROUP: usize = 2;

/// From this kc on, a group is one panel, if A is not packed: all rows use it
/// while it is in L1 (1 to 3 % at 512x512x512 and 20x400x800).
const SINGLE_PANEL_KC: usize = 256;

/// The most tasks per thread. Packing is per task: two measured 1 to 4 % better than four at
/// 1024 and 2048, and the same elsewhere.
const TASKS_PER_THREAD: usize = 2;

/// # Safety
///
/// The pointers of the product are valid for its extents, and `c` does not alias the rest.
pub(super) unsafe fn multiply<T: HasKernels>(par: &dyn Parallel, product: &Product<T>, kernels: &Kernels<T>) {
    let grid = TaskGrid::choose(product, kernels, par.threads());
    par.run_ranges(grid.tasks(), 1, &|tasks| {
        for task in tasks {
            let (rows, cols) = grid.task(task);
            // SAFETY: the ranges are inside the product, and tasks are disjoint in C.
            unsafe { Task { product, kernels, rows, cols }.run() }
        }
    });
}

/// The split of C into tasks.
struct TaskGrid {
    m: usize,
    n: usize,
    /// Columns are split at multiples of this.
    nr: usize,
    row_parts: usize,
    col_parts: usize,
}

impl TaskGrid {
    fn choose<T>(p: &Product<T>, kernels: &Kernels<T>, threads: usize) -> TaskGrid {
        let work = p.m.saturating_mul(p.n).saturating_mul(p.k);
        let nr = kernels.panel_cols(p.m);
        let mut grid = TaskGrid { m: p.m, n: p.n, nr, row_parts: 1, col_parts: 1 };
        let threads = threads.min(work / WORK_PER_THREAD);
        if threads <= 1 {
            return grid;
        }
        let (row_blocks, panels) = (p.m.div_ceil(kernels.mr()), p.n.div_ceil(nr));
        let mut best = f64::INFINITY;
        for row_parts in 1..=row_blocks.min(threads * TASKS_PER_THREAD) {
            for col_parts in 1..=panels.min(threads * TASKS_PER_THREAD / row_parts).max(1) {
                let tried = TaskGrid { row_parts, col_parts, ..grid };
                let cost = tried.cost(p.k, threads);
                if cost < best {
                    (best, grid) = (cost, tried);
                }
            }
        }
        grid
    }

    /// An estimate of the time a product takes with this split.
    fn cost(&self, k: usize, threads: usize) -> f64 {
        let rows = self.m.div_ceil(self.row_parts) as f64;
        let cols = (self.n.div_ceil(self.nr).div_ceil(self.col_parts) * self.nr) as f64;
        // The multiply-adds; the first pass over each panel of B, and over A, which are
        // memory-bound; and the start of a task.
        let task = k as f64 * (rows * cols / 32.0 + 0.1 * cols + 0.3 * rows) + 1000.0;
        // The imbalance at the end: some threads idle while others run their last task.
        self.tasks().div_ceil(threads) as f64 * task + 0.05 * task
    }

    fn tasks(&self) -> usize {
        self.row_parts * self.col_parts
    }

    fn task(&self, index: usize) -> (Range<usize>, Range<usize>) {
        let (r, c) = (index % self.row_parts, index / self.row_parts);
        let panels = part(self.n.div_ceil(self.nr), self.col_parts, c);
        let cols = panels.start * self.nr..(panels.end * self.nr).min(self.n);
        (part(self.m, self.row_parts, r), cols)
    }
}

/// Whether `k` is one cache block: C is then updated once, so accumulating into it adds a single rounding.
pub fn is_single_k_block(k: usize) -> bool {
    k_blocks(k, false) == 1
}

/// How many cache blocks `k` is split into. At least one, also for `k = 0`: that block writes the zeros.
fn k_blocks(k: usize, im2col: bool) -> usize {
    match im2col {
        false if k <= MAX_UNSPLIT_K => 1,
        false => k.div_ceil(MAX_KC),
        true => k.div_ceil(MAX_KC_IM2COL).max(1),
    }
}

/// The `index`th of `parts` nearly equal parts of `0..n`.
fn part(n: usize, parts: usize, index: usize) -> Range<usize> {
    let (each, rest) = (n / parts, n % parts);
    let start = index * each + index.min(rest);
    start..start + each + usize::from(index < rest)
}

/// The part of a product that is computed by one thread.
struct Task<'a, T: 'static> {
    product: &'a Product<T>,
    kernels: &'a Kernels<T>,
    rows: Range<usize>,
    cols: Range<usize>,
}

impl<T: HasKernels> Task<'_, T> {
    /// # Safety
    ///
    /// The ranges are inside the product, and that part of C is not accessed by others.
    unsafe fn run(&self) {
        let p = self.product;
        let im2col = p.a_row_runs.jump != 0 || p.a_col_runs.jump != 0;
        let k_blocks = k_blocks(p.k, im2col);
        let kc = p.k.div_ceil(k_blocks);
        let mr = self.kernels.mr();
        let pack_a = self.cols.len() >= PACK_A_MIN_COLS && self.rows.len() > mr && !im2col;
        // Rows are split between micro-panels.
        let (height, a_stride) = if pack_a { (mr, packed_a_stride(mr)) } else { (1, 1) };
        let micro_panels = self.rows.len().div_ceil(height);
        let row_parts = (self.rows.len() * kc * size_of::<T>()).div_ceil(A_BLOCK_BYTES).max(1);
        let group = if !pack_a && kc >= SINGLE_PANEL_KC { 1 } else { PANELS_PER_GROUP };
        let panels_len = 2 * group * kc * self.kernels.panel_cols(p.m);
        let a_len = if pack_a { micro_panels.div_ceil(row_parts) * a_stride * kc } else { 0 };
        scratch::with(panels_len + a_len, |buffer: *mut T| {
            for r in 0..row_parts {
                let micro_panels = part(micro_panels, row_parts, r);
                let row = |micro_panel: usize| self.rows.end.min(self.rows.start + micro_panel * height);
                let rows = row(micro_panels.start)..row(micro_panels.end);
                for q in 0..k_blocks {
                    let ks = part(p.k, k_blocks, q);
                    let jumps = p.a_row_runs.before(rows.start) + p.a_col_runs.before(ks.start);
                    let start = rows.start * p.a_row_stride + ks.start * p.a_col_stride;
                    let mut a = Block {
                        at: p.a.wrapping_add(start).wrapping_offset(jumps),
                        row_stride: p.a_row_stride,
                        col_stride: p.a_col_stride,
                        micro_panel: None,
                    };
                    // SAFETY: the block is inside A, and the scratch buffer holds two groups of
                    // panels of B, followed by a packed block of A.
                    unsafe {
                        if pack_a {
                            a = self.pack_a(rows.len(), ks.len(), a, buffer.add(panels_len));
                        }
                        self.block(a, rows.clone(), ks, group, buffer);
                    }
                }
            }
        });
    }

    /// Packs a block of A into micro-panels of mr rows: a micro-kernel then reads one stream, not one per row.
    unsafe fn pack_a(&self, rows: usize, k: usize, from: Block<T>, packed: *mut T) -> Block<T> {
        let height = self.kernels.mr();
        let width = packed_a_stride(height);
        for (i, start) in (0..rows).step_by(height).enumerate() {
            let (rows, at) = (height.min(rows - start), from.at.wrapping_add(start * from.row_stride));
            // SAFETY: the rows are inside the block, and `packed` has room for all micro-panels.
            unsafe {
                let to = packed.add(i * k * width);
                (self.kernels.pack)(k, rows, at, from.col_stride, from.row_stride, to, width);
            }
        }
        Block { at: packed, row_stride: 1, col_stride: width, micro_panel: Some(k * width) }
    }

    /// All columns of the task, for a block of A, a group of panels at a time. `buffer`
    /// holds two groups: while the micro-kernels work on one, they pack the next.
    unsafe fn block(&self, a: Block<T>, rows: Range<usize>, ks: Range<usize>, group: usize, buffer: *mut T) {
        let width = self.kernels.panel_cols(rows.len());
        let panel_size = ks.len() * width;
        let (mut packed, mut next) = (buffer, buffer.wrapping_add(group * panel_size));
        let mut is_packed = false;
        let mut start = self.cols.start;
        while start < self.cols.end {
            let mut panels = [const { None }; PANELS_PER_GROUP];
            let mut end = start;
            for (i, panel) in panels.iter_mut().enumerate().take(group) {
                if end < self.cols.end {
                    let cols = end..end + self.kernels.next_cols(rows.len(), self.cols.end - end);
                    end = cols.end;
                    let packed = packed.wrapping_add(i * panel_size);
                    // SAFETY: the columns are of this task, and `packed` has room for the panel.
                    *panel = Some(unsafe { self.panel(a, &rows, &ks, cols, packed, is_packed) });
                }
            }
            is_packed = self.can_prepack(rows.len()) && end + group * width <= self.cols.end;
            if is_packed {
                for (i, panel) in panels.iter_mut().flatten().enumerate() {
                    panel.tile.prepack =
                        self.product.b.wrapping_add(ks.start * self.product.b_row_stride + end + i * width);
                    panel.tile.prepack_to = next.wrapping_add(i * panel_size);
                    panel.to_prepack = ks.len();
                }
            }
            // SAFETY: the caller's.
            unsafe { self.group(&mut panels, a, &rows) };
            std::mem::swap(&mut packed, &mut next);
            start = end;
        }
    }

    /// Whether a panel has micro-kernel calls enough to pack the next panel meanwhile, a row
    /// every [`PREPACK_INTERVAL`] steps.
    fn can_prepack(&self, rows: usize) -> bool {
        self.product.b_col_stride == 1 && rows.div_ceil(self.kernels.mr()) > PREPACK_INTERVAL
    }

    /// A panel of B, ready for its first micro-kernel call.
    unsafe fn panel(
        &self,
        a: Block<T>,
        rows: &Range<usize>,
        ks: &Range<usize>,
        cols: Range<usize>,
        packed: *mut T,
        is_packed: bool,
    ) -> Panel<T> {
        let p = self.product;
        let width = cols.len().next_multiple_of(self.kernels.lanes);
        let tile = self.tile(a, rows, ks, &cols);
        let mut panel = Panel { tile, packed, width, to_prepack: 0 };
        if is_packed {
            panel.use_packed();
        } else if p.b_col_stride != 1 {
            // SAFETY: the panel is inside B, and `packed` has room for it.
            unsafe {
                let b = panel.tile.b;
                (self.kernels.pack)(ks.len(), cols.len(), b, p.b_row_stride, p.b_col_stride, packed, width);
            }
            panel.use_packed();
        } else if rows.len() > 2 * self.kernels.mr() {
            // For a second call alone packing costs more than it saves (4 % at 20x400x800).
            panel.tile.packed = packed;
        }
        panel
    }

    /// All rows of a block by a group of panels.
    unsafe fn group(
        &self,
        panels: &mut [Option<Panel<T>>; PANELS_PER_GROUP],
        a: Block<T>,
        rows: &Range<usize>,
    ) {
        let runs = self.product.a_row_runs;
        let mut start = rows.start;
        while start < rows.end {
            let end = start + runs.left(start).min(rows.end - start);
            let jumps = runs.before(start) - runs.before(rows.start);
            let at = a.at.wrapping_add((start - rows.start) * a.row_stride).wrapping_offset(jumps);
            // SAFETY: the caller's; these rows are within one run.
            unsafe { self.strided_rows(panels, Block { at, ..a }, end - start) };
            start = end;
        }
    }

    /// Rows of one constant stride, by a group of panels.
    unsafe fn strided_rows(
        &self,
        panels: &mut [Option<Panel<T>>; PANELS_PER_GROUP],
        a: Block<T>,
        rows: usize,
    ) {
        let mr = self.kernels.mr();
        let parts = rows.div_ceil(mr);
        for i in 0..parts {
            let (here, at) = match a.micro_panel {
                Some(micro_panel) => (mr.min(rows - i * mr), i * micro_panel),
                None => {
                    let here = part(rows, parts, i);
                    (here.len(), here.start * a.row_stride)
                }
            };
            for panel in panels.iter_mut().flatten() {
                let kernel = match a.micro_panel {
                    Some(_) if here == mr && panel.tile.cols == self.kernels.nr() => self.kernels.packed_a,
                    _ => self.kernels.get(here, panel.tile.cols),
                };
                // SAFETY: rows of the block, and the micro-kernel for their number.
                unsafe { panel.step(kernel, here, a.at.wrapping_add(at)) };
            }
        }
    }

    /// The arguments that the micro-kernel calls of a panel share.
    fn tile(&self, a: Block<T>, rows: &Range<usize>, ks: &Range<usize>, cols: &Range<usize>) -> Tile<T> {
        let p = self.product;
        let last = ks.end == p.k;
        Tile {
            k: ks.len(),
            a: a.at,
            a_row_stride: a.row_stride,
            a_col_stride: a.col_stride,
            a_run_left: p.a_col_runs.left(ks.start),
            a_run: p.a_col_runs.length,
            a_jump: p.a_col_runs.jump,
            b: p.b.wrapping_add(ks.start * p.b_row_stride + cols.start * p.b_col_stride),
            b_row_stride: p.b_row_stride,
            b_packed: false,
            packed: std::ptr::null_mut(),
            prepack_rows: 0,
            prepack: std::ptr::null(),
            prepack_stride: p.b_row_stride,
            prepack_to: std::ptr::null_mut(),
            c: p.c.wrapping_add(rows.start * p.c_row_stride + cols.start),
            c_row_stride: p.c_row_stride,
            cols: cols.len(),
            add_to_c: p.accumulate || ks.start > 0,
            bias: if last && !p.bias.is_null() { p.bias.wrapping_add(cols.start) } else { std::ptr::null() },
            relu: p.relu && last,
        }
    }
}

/// One panel of B, and the progress of its micro-kernel calls through the rows.
struct Panel<T> {
    /// The arguments of the next micro-kernel call.
    tile: Tile<T>,
    packed: *mut T,
    width: usize,
    /// Rows of the next group's panel that are not packed yet.
    to_prepack: usize,
}

impl<T> Panel<T> {
    fn use_packed(&mut self) {
        (self.tile.b, self.tile.b_packed) = (self.packed, true);
        self.tile.packed = std::ptr::null_mut();
    }

    /// Calls the micro-kernel for the next rows, of A at `a`.
    ///
    /// # Safety
    ///
    /// The micro-kernel is for `rows` rows, which are inside A and C.
    unsafe fn step(&mut self, kernel: Kernel<T>, rows: usize, a: *const T) {
        let tile = &mut self.tile;
        tile.a = a;
        // The call that packs this panel does not pack another as well.
        tile.prepack_rows =
            if tile.packed.is_null() { tile.k.div_ceil(PREPACK_INTERVAL).min(self.to_prepack) } else { 0 };
        // SAFETY: the caller's, and `Task`'s for the pointers of the tile.
        unsafe { kernel(tile) };
        self.to_prepack -= tile.prepack_rows;
        tile.prepack = tile.prepack.wrapping_add(tile.prepack_rows * tile.prepack_stride);
        tile.prepack_to = tile.prepack_to.wrapping_add(tile.prepack_rows * self.width);
        tile.c = tile.c.wrapping_add(rows * tile.c_row_stride);
        if !tile.packed.is_null() {
            self.use_packed();
        }
    }
}
