//! Kills tasks at random, to test recovery.

use super::task::Task;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

pub struct Chaos {
    left: u64,
    every: Duration,
    random: u64,
    last: Instant,
    killed: BTreeMap<String, u64>,
    /// Progress lines so far, and the time of the last one.
    seen: (u64, Instant),
    longest: Duration,
}

impl Chaos {
    pub fn new(kills: u64, every: f64, seed: u64) -> Chaos {
        Chaos {
            left: kills,
            every: Duration::try_from_secs_f64(every).unwrap_or(Duration::from_secs(3)),
            random: seed.wrapping_mul(2).wrapping_add(1),
            last: Instant::now(),
            killed: BTreeMap::new(),
            seen: (0, Instant::now()),
            longest: Duration::ZERO,
        }
    }

    /// Kills a task if one is due.
    pub fn strike(&mut self, tasks: &[Task]) {
        let progress: u64 = tasks.first().map_or(0, |t| t.progress.load(Ordering::Relaxed));
        if progress != self.seen.0 {
            // The start of the cluster does not count.
            if self.seen.0 > 0 {
                self.longest = self.longest.max(self.seen.1.elapsed());
            }
            self.seen = (progress, Instant::now());
        }
        if self.left == 0 || progress == 0 || self.last.elapsed() < self.every {
            return;
        }
        let running: Vec<&Task> = tasks.iter().filter(|t| t.is_running()).collect();
        let Some(victim) = self.pick(running.len()).and_then(|i| running.get(i)) else { return };
        victim.signal(rustix::process::Signal::KILL);
        eprintln!("chaos: killed {}", victim.plan.name);
        *self.killed.entry(victim.plan.name.clone()).or_default() += 1;
        self.left -= 1;
        self.last = Instant::now();
    }

    fn pick(&mut self, n: usize) -> Option<usize> {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.random >> 33) as usize).checked_rem(n)
    }

    /// The kills, if any.
    pub fn summary(&self) -> Option<String> {
        let kills: u64 = self.killed.values().sum();
        let by_task: Vec<String> = self.killed.iter().map(|(task, n)| format!("{task}: {n}")).collect();
        (kills > 0).then(|| {
            let longest = self.longest.as_secs_f64();
            format!("chaos: {kills} kills ({}), {} not made, longest time without a line of progress {longest:.1} s", by_task.join(", "), self.left)
        })
    }
}
