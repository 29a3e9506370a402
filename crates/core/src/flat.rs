//! Drops nested values iteratively: recursive drops would overflow the stack.
//!
//! A list may be an element of a list, a dataset of an optional, an iterator's handle of a dataset. A loop of a graph can nest them once
//! in each iteration.

use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// Values to drop after the current one; `None` outside of `drop_flat`.
    static PENDING: RefCell<Option<Vec<Box<dyn Send>>>> = const { RefCell::new(None) };
}

/// Drops one reference to a value, and then, if it was the last, whatever the value held.
pub fn drop_flat<T: ?Sized + Send + Sync + 'static>(value: Arc<T>) {
    // A shared value is not freed here, unless its other owners drop it concurrently: then it nests one level deeper.
    if Arc::strong_count(&value) > 1 {
        return drop(value);
    }
    let mut value = Some(value);
    let outermost = PENDING.try_with(|pending| match &mut *pending.borrow_mut() {
        Some(list) => {
            list.extend(value.take().map(|v| Box::new(v) as Box<dyn Send>));
            false
        }
        none => {
            *none = Some(Vec::new());
            true
        }
    });
    // An error: the thread is exiting, its thread-locals are destroyed; drop in place.
    if outermost.unwrap_or(false) {
        let _end = End;
        drop(value);
        while let Some(next) = PENDING.with(|pending| pending.borrow_mut().as_mut().and_then(Vec::pop)) {
            drop(next);
        }
    }
}

/// Ends `drop_flat`, also on panic.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        let left = PENDING.with(|pending| pending.borrow_mut().take());
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use crate::tensor::{Tensor, Variant, VariantValue};
    use std::any::Any;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Nest(#[expect(dead_code)] Option<Tensor>, Arc<AtomicUsize>);

    impl VariantValue for Nest {
        fn type_name(&self) -> &'static str {
            "nest"
        }
        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    impl Drop for Nest {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Recursive drops overflowed the stack.
    #[test]
    fn a_million_values_inside_each_other_are_dropped() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut inner = None;
        for _ in 0..1_000_000 {
            inner = Some(Tensor::from_object(Variant::new(Nest(inner, dropped.clone()))));
        }
        let shared = inner.clone();
        drop(inner);
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        drop(shared);
        assert_eq!(dropped.load(Ordering::Relaxed), 1_000_000);
    }
}
