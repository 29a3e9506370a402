//! What happened to a piece of work: it ended, it panicked (and where), it asked for far too much memory, or it hangs, which
//! ends the process by name.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

/// Looks at the same piece of work before it is said to hang: far beyond what any takes, even on a busy machine. Looks, not time, for
/// the process may be stopped and go on.
const HANGS: usize = 240;
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// The largest piece of memory that anything asked for.
struct Allocator;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: forwards everything to the system's allocator.
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

/// More than the limit on tensors, and room for what goes with one.
const TOO_MUCH: usize = crate::calls::LIMIT + (1 << 20);

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Panics are noted instead of printed. Those on other threads are printed too: nothing else would tell of them.
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
    /// What is being done, and how often it was looked at.
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

    /// Does the work; says where it panicked if it did.
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
