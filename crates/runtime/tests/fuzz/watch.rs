//! The outcome of a call: it returned, it panicked (and where), it allocated far too much, or it hangs, which
//! aborts the process with its label.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

/// Checks of the same call before it counts as hung: far more than any takes, even on a busy machine. Checks, not time, as
/// the process may be suspended.
const HANGS: usize = 240;
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// Records the largest allocation.
struct Allocator;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: forwards everything to the system allocator.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The limit on tensors, plus overhead.
const TOO_MUCH: usize = crate::calls::LIMIT + (1 << 20);

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Panics are recorded instead of printed. Those on other threads are printed too: nothing else reports them.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let place = info.location().map(|l| format!("{}:{}", l.file(), l.line())).unwrap_or_default();
            if place.contains("runtime/tests/") {
                return usual(info);
            }
            let what = info.payload_as_str().unwrap_or("?");
            LAST.with(|l| *l.borrow_mut() = format!("{place}: {what}"));
            if std::thread::current().name().is_none_or(|n| n.starts_with("thalweg")) {
                eprintln!("panic on a pool thread at {place}: {what}");
            }
        }));
    });
}

pub struct Watch {
    /// The label of the call, and its number of checks.
    now: Arc<Mutex<Option<(String, usize)>>>,
}

impl Watch {
    pub fn new() -> Watch {
        quiet_panics();
        let now: Arc<Mutex<Option<(String, usize)>>> = Arc::default();
        let seen = Arc::downgrade(&now);
        std::thread::spawn(move || {
            while let Some(now) = seen.upgrade() {
                if let Some((label, looks)) = &mut *now.lock().unwrap() {
                    *looks += 1;
                    if *looks > HANGS {
                        eprintln!("hangs: {label}");
                        std::process::abort();
                    }
                }
                drop(now);
                std::thread::sleep(BETWEEN_LOOKS);
            }
        });
        Watch { now }
    }

    /// Runs the call; an error says where it panicked.
    pub fn run<R>(&self, label: impl FnOnce() -> String, work: impl FnOnce() -> R) -> Result<R, String> {
        let label = label();
        *self.now.lock().unwrap() = Some((label.clone(), 0));
        LARGEST.store(0, Ordering::Relaxed);
        let result = catch_unwind(AssertUnwindSafe(work));
        *self.now.lock().unwrap() = None;
        let largest = LARGEST.load(Ordering::Relaxed);
        if largest > TOO_MUCH {
            return Err(format!("{label}: panicked at asking for {largest} bytes"));
        }
        result.map_err(|_| format!("{label}: panicked at {}", LAST.with(|l| l.borrow().clone())))
    }
}

#[test]
fn panics_are_noticed() {
    let watch = Watch::new();
    assert_eq!(watch.run(|| "fine".into(), || 7), Ok(7));
    let e = watch.run(|| "not fine".into(), || Vec::<i32>::with_capacity(usize::MAX)).unwrap_err();
    assert!(e.starts_with("not fine: panicked at"), "{e}");
}
