//! A repeated step allocates no new memory for tensors: it reuses the buffers of earlier steps. Counted in the global
//! allocator, so this file has one test only.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use thalweg::prelude::*;
use thalweg::train::layers::{Activation, Dense};
use thalweg::train::losses;
use thalweg::train::optimizers::{Adam, GradientDescent, Minimize};

/// The system allocator, with counts.
struct Counting;

static BUFFERS: AtomicUsize = AtomicUsize::new(0);
static LARGE: AtomicUsize = AtomicUsize::new(0);
static ALL: AtomicUsize = AtomicUsize::new(0);

/// Larger than the scratch buffers of any kernel of the net (the softmax processes its rows in blocks of 5 KB); the net's layers are of 256 KB and more.
const LARGE_BYTES: usize = 16 << 10;

fn count(layout: Layout, zeroed: bool) {
    ALL.fetch_add(1, Ordering::Relaxed);
    LARGE.fetch_add(usize::from(layout.size() >= LARGE_BYTES), Ordering::Relaxed);
    // Buffers of tensors are zeroed and aligned to 16 bytes (core/buffer.rs); nothing else is.
    BUFFERS.fetch_add(usize::from(zeroed && layout.align() == 16), Ordering::Relaxed);
}

// SAFETY: forwards to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout, false);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout, true);
        // SAFETY: as the caller promised.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout, false);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn counts() -> [usize; 3] {
    [&BUFFERS, &LARGE, &ALL].map(|c| c.load(Ordering::Relaxed))
}

const WARM: usize = 10;
const STEPS: usize = 50;

/// Allocations of `STEPS` steps of the 784-512-512-10 net: buffers, large blocks, all blocks.
fn asked(optimizer: &impl Minimize, threads: usize) -> [usize; 3] {
    let g = Scope::new();
    g.set_random_seed(1);
    let x = g.placeholder_named("x", DataType::Float, Some(&[128, 784]));
    let y = g.placeholder_named("y", DataType::Int32, Some(&[128]));
    let mut last = x.clone();
    for _ in 0..2 {
        last = Dense::new(512).activation(Activation::Relu).apply(&g, &last);
    }
    let logits = Dense::new(10).apply(&g, &last);
    let loss = losses::sparse_softmax_cross_entropy(&g, &y, &logits, None);
    let train = optimizer.minimize(&g, &loss, None).unwrap();
    let session = Session::with_options(&g, SessionOptions { threads, ..Default::default() }).unwrap();
    session.run(&g.init(), &[]).unwrap();
    let step = session.callable(&[&x, &y], &(vec![loss], train)).unwrap();
    let images = Tensor::full(Shape::new(&[128, 784]).unwrap(), 0.5f32).unwrap();
    let labels = Tensor::vector(&(0..128).map(|i| i % 10).collect::<Vec<i32>>()).unwrap();
    let mut before = [0; 3];
    for i in 0..WARM + STEPS {
        if i == WARM {
            before = counts();
        }
        step.run(vec![images.clone(), labels.clone()]).unwrap();
    }
    let after = counts();
    [0, 1, 2].map(|i| after[i] - before[i])
}

#[test]
fn a_steady_step_of_the_mlp_makes_no_tensor_on_the_heap() {
    for threads in [1, 2] {
        for (name, found) in [
            ("SGD", asked(&GradientDescent::new(0.01), threads)),
            ("Adam", asked(&Adam::new(0.001), threads)),
        ] {
            let [buffers, large, all] = found;
            println!(
                "{name}, {threads} threads: {buffers} buffers, {large} large, {all} blocks in {STEPS} steps"
            );
            assert_eq!(
                [buffers, large],
                [0, 0],
                "{name}, {threads} threads, {STEPS} steps: {all} blocks in all"
            );
        }
    }
}
