use super::*;
use std::sync::mpsc;

fn pool(threads: usize) -> Arc<Pool> {
    Pool::new(threads).unwrap()
}

/// How often `run_ranges` visits each index.
fn visits(par: &dyn Parallel, n: usize, grain: usize) -> Vec<usize> {
    let counts: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
    par.run_ranges(n, grain, &|range| {
        assert!(range.start.is_multiple_of(grain.max(1)), "{range:?} of {n}, grain {grain}");
        assert!(range.len() >= grain || range.end == n, "{range:?} of {n}, grain {grain}");
        for i in range {
            counts[i].fetch_add(1, Ordering::Relaxed);
        }
    });
    counts.into_iter().map(AtomicUsize::into_inner).collect()
}

#[test]
fn every_index_is_visited_once() {
    for threads in [1, 2, 3, 8] {
        let pool = pool(threads);
        for n in [0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1000, 4097] {
            for grain in [0, 1, 2, 5, 64, 1000, 5000] {
                assert_eq!(visits(&*pool, n, grain), vec![1; n], "threads {threads}, n {n}, grain {grain}");
            }
        }
    }
}

#[test]
fn small_loops_stay_on_the_caller() {
    let (me, pool) = (thread::current().id(), pool(4));
    let calls = AtomicUsize::new(0);
    pool.run_ranges(100, 100, &|range| {
        assert_eq!((range, thread::current().id()), (0..100, me));
        calls.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(calls.into_inner(), 1);
}

#[test]
fn workers_take_part() {
    let pool = pool(2);
    let both = std::sync::Barrier::new(2);
    // Two chunks that each wait for the other can only end on two threads.
    pool.run_ranges(2, 1, &|_| {
        both.wait();
    });
}

#[test]
fn loops_nest() {
    for threads in [2, 3, 5] {
        let pool = pool(threads);
        for _ in 0..100 {
            let total = AtomicUsize::new(0);
            pool.run_ranges(6, 1, &|outer| {
                for _ in outer {
                    pool.run_ranges(5, 1, &|middle| {
                        for _ in middle {
                            pool.run_ranges(7, 1, &|inner| {
                                total.fetch_add(inner.len(), Ordering::Relaxed);
                            });
                        }
                    });
                }
            });
            assert_eq!(total.into_inner(), 6 * 5 * 7);
        }
    }
}

#[test]
fn many_callers_at_once() {
    let pool = pool(3);
    thread::scope(|scope| {
        for caller in 0..8 {
            let pool = &pool;
            scope.spawn(move || {
                for round in 0..300 {
                    let n = caller * 37 + round;
                    assert_eq!(visits(&**pool, n, 3), vec![1; n]);
                }
            });
        }
    });
}

#[test]
fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
    let pool = pool(3);
    for bad in 0..12 {
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.run_ranges(12, 1, &|range| {
                if range.contains(&bad) {
                    std::panic::panic_any(bad);
                }
            });
        }));
        assert_eq!(*result.unwrap_err().downcast::<usize>().unwrap(), bad);
        assert_eq!(visits(&*pool, 100, 1), vec![1; 100]);
    }
}

#[test]
fn a_panic_in_a_nested_loop_reaches_the_outer_caller() {
    let pool = pool(3);
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.run_ranges(4, 1, &|_| pool.run_ranges(4, 1, &|_| std::panic::panic_any("inner")));
    }));
    assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "inner");
    assert_eq!(visits(&*pool, 100, 1), vec![1; 100]);
}

#[test]
fn spawned_tasks_run_even_in_a_pool_of_one() {
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        let (send, receive) = mpsc::channel();
        for i in 0..100 {
            let send = send.clone();
            pool.spawn(Box::new(move || send.send(i).unwrap()));
        }
        let mut got: Vec<i32> = receive.iter().take(100).collect();
        got.sort();
        assert_eq!(got, (0..100).collect::<Vec<_>>());
    }
}

#[test]
fn a_panicking_task_does_not_take_its_worker_along() {
    let pool = pool(2);
    let (send, receive) = mpsc::channel();
    pool.spawn(Box::new(|| std::panic::panic_any("task")));
    pool.spawn(Box::new(move || send.send(()).unwrap()));
    receive.recv().unwrap();
}

#[test]
fn loops_finish_while_all_workers_are_in_tasks() {
    let pool = pool(3);
    let (release, held) = mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    for _ in 0..2 {
        let held = held.clone();
        pool.spawn(Box::new(move || assert!(held.lock().unwrap().recv().is_err())));
    }
    assert_eq!(visits(&*pool, 1000, 1), vec![1; 1000]);
    drop(release);
}

#[test]
fn tasks_run_loops_on_their_own_pool() {
    let pool = pool(2);
    let (send, receive) = mpsc::channel();
    for _ in 0..20 {
        let (send, inner) = (send.clone(), pool.clone());
        pool.spawn(Box::new(move || send.send(visits(&*inner, 500, 1).len()).unwrap()));
    }
    assert_eq!(receive.iter().take(20).sum::<usize>(), 20 * 500);
}

#[test]
fn dropping_runs_what_is_queued() {
    let ran = Arc::new(AtomicUsize::new(0));
    let pool = pool(3);
    for _ in 0..200 {
        let ran = ran.clone();
        pool.spawn(Box::new(move || {
            ran.fetch_add(1, Ordering::Relaxed);
        }));
    }
    drop(pool);
    assert_eq!(ran.load(Ordering::Relaxed), 200);
}

#[test]
fn the_last_owner_may_be_a_task() {
    let pool = pool(2);
    let (send, receive) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let inner = pool.clone();
    pool.spawn(Box::new(move || {
        wait.recv().unwrap();
        drop(inner);
        send.send(()).unwrap();
    }));
    drop(pool);
    go.send(()).unwrap();
    receive.recv_timeout(Duration::from_secs(10)).unwrap();
}

#[test]
fn senseless_sizes_are_errors() {
    assert!(Pool::new(0).is_err());
    assert!(Pool::new(MAX_THREADS + 1).is_err());
}

#[test]
fn tasks_for_later_run_in_the_order_of_their_times() {
    let pool = pool(1);
    let (send, receive) = mpsc::channel();
    let start = Instant::now();
    for (n, millis) in [(2, 60), (1, 30), (0, 0)] {
        let send = send.clone();
        let when = start + Duration::from_millis(millis);
        pool.spawn_at(when, Box::new(move || send.send((n, when)).unwrap()));
    }
    for want in 0..3 {
        let (n, when) = receive.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!(n, want);
        assert!(Instant::now() >= when, "too early");
    }
    pool.spawn_at(start + Duration::from_secs(3600), Box::new(|| ()));
    drop(pool); // It does not wait for that.
}
