//! The product of large and small matrices of a type that has kernels: how the work is
//! cut into blocks that fit the caches, and shared out to threads.
//!
//! A *task* is a range of rows of C by a range of its columns. A task goes through `k` in
//! blocks; in each through panels of B as wide as a kernel; and in each through the rows,
//! a kernel's height at a time. The first kernel call on a panel reads B where it lies
//! and, if more than one follow, leaves a packed copy in the L1 cache for them: packing costs
//! next to nothing, so tasks share nothing and need no barrier. Where many columns share the
//! cost, blocks of A are copied into strips first.
//!
//! How `k` is cut depends on `k` alone, so results do not depend on the number of threads.

use std::ops::Range;

use super::kernel::{HasKernels, Kernel, Kernels, STEPS, Tile, strip_width};
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

/// Along one side of A: after every `length` steps, a jump of so many elements more.
#[derive(Clone, Copy)]
pub(super) struct Runs {
    pub length: usize,
    pub jump: isize,
}

impl Runs {
    /// No jumps at all.
    pub const ONE: Runs = Runs { length: usize::MAX, jump: 0 };

    /// The jumps before a place.
    fn before(self, at: usize) -> isize {
        (at / self.length) as isize * self.jump
    }

    /// Steps from a place to the next jump.
    fn left(self, at: usize) -> usize {
        self.length - at % self.length
    }
}

// SAFETY: whoever makes a `Product` vouches that `a`, `b` and `bias` are readable and `c`
// writable for its extents while it exists; tasks write disjoint parts of `c`.
unsafe impl<T: Send + Sync> Send for Product<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Product<T> {}

/// The longest stretch of `k` in one block: a panel of B this long nearly fits in L1.
const MAX_K: usize = 400;

/// What is not longer than this is not cut: a second pass over C would cost more.
const WHOLE_K: usize = 512;

/// The same where A lies in runs: it is then small, met again and again, and a panel of B has room in L1 beside it (4 to 14 %).
const MAX_K_IN_RUNS: usize = 256;

/// The size in bytes of a block of A, which stays in L2 with two groups of panels.
const A_BLOCK_BYTES: usize = 256 << 10;

/// A block of A is packed if at least this many columns of B share the cost.
const PACK_A_COLS: usize = 896;

/// The work, in multiply-adds, that makes one more thread worth waking.
const WORK_PER_THREAD: usize = 64 * 64 * 64;

/// The most panels of B that each few rows of A go through one after another: the rows are
/// then in L1 for all but the first. Two measured about 1 % better than four or more.
const GROUP: usize = 2;

/// A panel of B this long is better used up while it is in L1, by all rows at once, if A
/// is small enough to be left where it lies (1 to 3 % at 512x512x512 and 20x400x800).
const LONE_K: usize = 256;

/// The most tasks made for each thread. Each begins with a strip and panels of its own: two measured 1 to 4 % better than four at
/// 1024 and 2048, and the same elsewhere.
const TASKS_PER_THREAD: usize = 2;

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

/// Whether the terms of a sum over `k` are added up at once: what is accumulated is then rounded once more, no more often.
pub fn adds_up_at_once(k: usize) -> bool {
    k_parts(k, false) == 1
}

/// How many parts `k` is cut into. At least one, even of nothing: it is what writes the zeros.
fn k_parts(k: usize, in_runs: bool) -> usize {
    match in_runs {
        false if k <= WHOLE_K => 1,
        false => k.div_ceil(MAX_K),
        true => k.div_ceil(MAX_K_IN_RUNS).max(1),
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
        let in_runs = p.a_row_runs.jump != 0 || p.a_col_runs.jump != 0;
        let k_parts = k_parts(p.k, in_runs);
        let k_max = p.k.div_ceil(k_parts);
        let max_rows = self.kernels.max_rows();
        let pack_a = self.cols.len() >= PACK_A_COLS && self.rows.len() > max_rows && !in_runs;
        // Rows are cut between strips.
        let (height, width) = if pack_a { (max_rows, strip_width(max_rows)) } else { (1, 1) };
        let strips = self.rows.len().div_ceil(height);
        let row_parts = (self.rows.len() * k_max * size_of::<T>()).div_ceil(A_BLOCK_BYTES).max(1);
        let group = if !pack_a && k_max >= LONE_K { 1 } else { GROUP };
        let panel_room = 2 * group * k_max * self.kernels.width(p.m);
        let a_room = if pack_a { strips.div_ceil(row_parts) * width * k_max } else { 0 };
        scratch::with(panel_room + a_room, |room: *mut T| {
            for r in 0..row_parts {
                let strips = part(strips, row_parts, r);
                let row = |strip: usize| self.rows.end.min(self.rows.start + strip * height);
                let rows = row(strips.start)..row(strips.end);
                for q in 0..k_parts {
                    let ks = part(p.k, k_parts, q);
                    let jumps = p.a_row_runs.before(rows.start) + p.a_col_runs.before(ks.start);
                    let start = rows.start * p.a_row_stride + ks.start * p.a_col_stride;
                    let mut a = Block {
                        at: p.a.wrapping_add(start).wrapping_offset(jumps),
                        row_stride: p.a_row_stride,
                        col_stride: p.a_col_stride,
                        strip: None,
                    };
                    // SAFETY: the block lies inside A, and the scratch memory has room for a
                    // panel of B and after it for a block of A.
                    unsafe {
                        if pack_a {
                            a = self.strips(rows.len(), ks.len(), a, room.add(panel_room));
                        }
                        self.block(a, rows.clone(), ks, group, room);
                    }
                }
            }
        });
    }

    /// Copies a block of A into strips as high as a kernel: a kernel then reads A as one stream, not as one from each row.
    unsafe fn strips(&self, rows: usize, k: usize, from: Block<T>, packed: *mut T) -> Block<T> {
        let height = self.kernels.max_rows();
        let width = strip_width(height);
        for (i, start) in (0..rows).step_by(height).enumerate() {
            let (rows, at) = (height.min(rows - start), from.at.wrapping_add(start * from.row_stride));
            // SAFETY: the rows are inside the block, and there is room for all strips.
            unsafe {
                let to = packed.add(i * k * width);
                (self.kernels.pack)(k, rows, at, from.col_stride, from.row_stride, to, width);
            }
        }
        Block { at: packed, row_stride: 1, col_stride: width, strip: Some(k * width) }
    }

    /// All columns of the task, for a block of A, a group of panels at a time. `room` has
    /// room for two groups: while the kernels work on one, they copy the next.
    unsafe fn block(&self, a: Block<T>, rows: Range<usize>, ks: Range<usize>, group: usize, room: *mut T) {
        let width = self.kernels.width(rows.len());
        let panel_size = ks.len() * width;
        let (mut packed, mut next) = (room, room.wrapping_add(group * panel_size));
        let mut is_packed = false;
        let mut start = self.cols.start;
        while start < self.cols.end {
            let mut panels = [const { None }; GROUP];
            let mut end = start;
            for (i, panel) in panels.iter_mut().enumerate().take(group) {
                if end < self.cols.end {
                    let cols = end..end + self.kernels.cols(rows.len(), self.cols.end - end);
                    end = cols.end;
                    let packed = packed.wrapping_add(i * panel_size);
                    // SAFETY: the columns are of this task, and the room is for this panel.
                    *panel = Some(unsafe { self.panel(a, &rows, &ks, cols, packed, is_packed) });
                }
            }
            is_packed = self.can_copy_ahead(rows.len()) && end + group * width <= self.cols.end;
            if is_packed {
                for (i, panel) in panels.iter_mut().flatten().enumerate() {
                    panel.tile.ahead =
                        self.product.b.wrapping_add(ks.start * self.product.b_row_stride + end + i * width);
                    panel.tile.ahead_to = next.wrapping_add(i * panel_size);
                    panel.to_copy = ks.len();
                }
            }
            // SAFETY: passed on.
            unsafe { self.group(&mut panels, a, &rows) };
            std::mem::swap(&mut packed, &mut next);
            start = end;
        }
    }

    /// Whether there are kernel calls enough in a panel for a row of the next to be copied
    /// every so many steps.
    fn can_copy_ahead(&self, rows: usize) -> bool {
        self.product.b_col_stride == 1 && rows.div_ceil(self.kernels.max_rows()) > STEPS
    }

    /// A panel of B, ready for its first kernel call.
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
        let mut panel = Panel { tile, packed, width, to_copy: 0 };
        if is_packed {
            panel.use_packed();
        } else if p.b_col_stride != 1 {
            // SAFETY: the panel is inside B, and `packed` has room for it.
            unsafe {
                let b = panel.tile.b;
                (self.kernels.pack)(ks.len(), cols.len(), b, p.b_row_stride, p.b_col_stride, packed, width);
            }
            panel.use_packed();
        } else if rows.len() > 2 * self.kernels.max_rows() {
            // For a second call alone a copy costs more than it saves (4 % at 20x400x800).
            panel.tile.packed = packed;
        }
        panel
    }

    /// All rows of a block by a group of panels.
    unsafe fn group(&self, panels: &mut [Option<Panel<T>>; GROUP], a: Block<T>, rows: &Range<usize>) {
        let runs = self.product.a_row_runs;
        let mut start = rows.start;
        while start < rows.end {
            let end = start + runs.left(start).min(rows.end - start);
            let jumps = runs.before(start) - runs.before(rows.start);
            let at = a.at.wrapping_add((start - rows.start) * a.row_stride).wrapping_offset(jumps);
            // SAFETY: passed on; no jump is among these rows.
            unsafe { self.even_rows(panels, Block { at, ..a }, end - start) };
            start = end;
        }
    }

    /// Some rows, evenly far apart, by a group of panels.
    unsafe fn even_rows(&self, panels: &mut [Option<Panel<T>>; GROUP], a: Block<T>, rows: usize) {
        let max_rows = self.kernels.max_rows();
        let parts = rows.div_ceil(max_rows);
        for i in 0..parts {
            let (here, at) = match a.strip {
                Some(strip) => (max_rows.min(rows - i * max_rows), i * strip),
                None => {
                    let here = part(rows, parts, i);
                    (here.len(), here.start * a.row_stride)
                }
            };
            for panel in panels.iter_mut().flatten() {
                let kernel = match a.strip {
                    Some(_) if here == max_rows && panel.tile.cols == self.kernels.most_cols() => {
                        self.kernels.strip
                    }
                    _ => self.kernels.get(here, panel.tile.cols),
                };
                // SAFETY: rows of the block, and the kernel for as many.
                unsafe { panel.step(kernel, here, a.at.wrapping_add(at)) };
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
            a_run_left: p.a_col_runs.left(ks.start),
            a_run: p.a_col_runs.length,
            a_jump: p.a_col_runs.jump,
            b: p.b.wrapping_add(ks.start * p.b_row_stride + cols.start * p.b_col_stride),
            b_row_stride: p.b_row_stride,
            b_packed: false,
            packed: std::ptr::null_mut(),
            ahead_rows: 0,
            ahead: std::ptr::null(),
            ahead_stride: p.b_row_stride,
            ahead_to: std::ptr::null_mut(),
            c: p.c.wrapping_add(rows.start * p.c_row_stride + cols.start),
            c_row_stride: p.c_row_stride,
            cols: cols.len(),
            add_to_c: p.accumulate || ks.start > 0,
            bias: if last && !p.bias.is_null() { p.bias.wrapping_add(cols.start) } else { std::ptr::null() },
            relu: p.relu && last,
        }
    }
}

/// The columns of one panel of B, on their way through the rows.
struct Panel<T> {
    /// The next kernel call.
    tile: Tile<T>,
    packed: *mut T,
    width: usize,
    /// Rows of a later panel that are still to be copied.
    to_copy: usize,
}

impl<T> Panel<T> {
    fn use_packed(&mut self) {
        (self.tile.b, self.tile.b_packed) = (self.packed, true);
        self.tile.packed = std::ptr::null_mut();
    }

    /// Makes the kernel call for the next rows, of A at `a`.
    ///
    /// # Safety
    ///
    /// The kernel is for `rows` rows, and those are inside A and C.
    unsafe fn step(&mut self, kernel: Kernel<T>, rows: usize, a: *const T) {
        let tile = &mut self.tile;
        tile.a = a;
        // The call that packs this panel has no time to copy another.
        tile.ahead_rows = if tile.packed.is_null() { tile.k.div_ceil(STEPS).min(self.to_copy) } else { 0 };
        // SAFETY: the caller's, and `Task`'s for what the tile holds.
        unsafe { kernel(tile) };
        self.to_copy -= tile.ahead_rows;
        tile.ahead = tile.ahead.wrapping_add(tile.ahead_rows * tile.ahead_stride);
        tile.ahead_to = tile.ahead_to.wrapping_add(tile.ahead_rows * self.width);
        tile.c = tile.c.wrapping_add(rows * tile.c_row_stride);
        if !tile.packed.is_null() {
            self.use_packed();
        }
    }
}
