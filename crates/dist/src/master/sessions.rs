//! Clients' sessions, by handle.

use super::cost_model::CostModel;
use super::session_cluster::SessionCluster;
use crate::auth::{Caller, Role};
use crate::threads::client_threads::{SessionPermits, drop_in_background};
use crate::wire::error::no_session;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use thalweg_core::error::{Code, Error, Result, cancelled, resource_exhausted};
use thalweg_core::sync::lock;
use thalweg_runtime::{Callable, PartialRun, RunOptions, Session};

/// A session, its callables and partial runs.
pub struct MasterSession {
    pub handle: String,
    /// The name of this task in it.
    pub task: String,
    /// Its owner.
    owner: Arc<str>,
    pub session: Session,
    /// The other tasks, if any.
    pub cluster: Option<Arc<SessionCluster>>,
    /// The number of ExtendSession calls; locked during one.
    pub version: Mutex<i64>,
    pub operation_timeout: Option<Duration>,
    pub cost_model: CostModel,
    pub callables: Mutex<Callables>,
    pub partial_runs: Mutex<PartialRuns>,
    pub permits: SessionPermits,
    busy: AtomicUsize,
    last_used: Mutex<Instant>,
}

/// Limit of callables in a session.
pub const MAX_CALLABLES: usize = 10_000;

#[derive(Default)]
pub struct Callables {
    pub next: i64,
    pub held: HashMap<i64, Arc<(Callable, RunOptions)>>,
}

#[derive(Default)]
pub struct PartialRuns {
    pub next: u64,
    pub held: HashMap<String, Arc<PartialRun>>,
}

impl MasterSession {
    pub fn new(
        handle: String,
        task: String,
        owner: Arc<str>,
        session: Session,
        cluster: Option<Arc<SessionCluster>>,
        operation_timeout: Option<Duration>,
        cost_model: CostModel,
    ) -> Self {
        MasterSession {
            handle,
            task,
            owner,
            session,
            cluster,
            version: Mutex::new(0),
            operation_timeout,
            cost_model,
            callables: Mutex::default(),
            partial_runs: Mutex::default(),
            permits: SessionPermits::default(),
            busy: AtomicUsize::new(0),
            last_used: Mutex::new(Instant::now()),
        }
    }

    fn close(&self) {
        self.session.close();
        let runs = std::mem::take(&mut lock(&self.partial_runs).held);
        for run in runs.into_values() {
            run.cancellation().cancel(cancelled("Session was closed"));
        }
        if let Some(cluster) = &self.cluster {
            cluster.end();
        }
        drop_in_background(std::mem::take(&mut lock(&self.callables).held));
    }

    /// Whether this caller may use it.
    fn check(&self, caller: &Caller) -> Result<()> {
        if self.owner == caller.identity || caller.role == Role::Admin {
            return Ok(());
        }
        let why = format!(
            "Session {} was opened by another client: only that one, or a client with the role admin, may use it",
            self.handle
        );
        Err(Error::new(Code::PermissionDenied, why))
    }

    /// How long it has been idle; `None` while a request runs.
    fn idle(&self) -> Option<Duration> {
        (self.busy.load(Ordering::Acquire) == 0).then(|| lock(&self.last_used).elapsed())
    }
}

/// A session in use: not idle while this lives.
pub struct InUse {
    used: Arc<MasterSession>,
    /// Dropped after the field above: fields drop in order.
    _use: Use,
}

struct Use(Option<Arc<MasterSession>>);

impl InUse {
    fn new(session: &Arc<MasterSession>) -> InUse {
        session.busy.fetch_add(1, Ordering::AcqRel);
        InUse { used: session.clone(), _use: Use(Some(session.clone())) }
    }
}

impl std::ops::Deref for InUse {
    type Target = Arc<MasterSession>;

    fn deref(&self) -> &Arc<MasterSession> {
        &self.used
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let Some(session) = self.0.take() else { return };
        *lock(&session.last_used) = Instant::now();
        session.busy.fetch_sub(1, Ordering::AcqRel);
        // It was closed meanwhile: freeing its graph and plans may take long, and would block the io thread.
        if let Some(closed) = Arc::into_inner(session) {
            drop_in_background(closed);
        }
    }
}

/// Limits of open sessions.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Sessions idle for longer are closed; never if `None`.
    pub idle: Option<Duration>,
    /// Sessions of all clients together.
    pub sessions: usize,
    /// Sessions of one client; one more evicts its longest idle one.
    pub share: usize,
}

pub struct Sessions {
    open: Mutex<HashMap<String, Arc<MasterSession>>>,
    limits: Limits,
    /// The session that ran a step last: its address.
    last: AtomicUsize,
}

impl Sessions {
    pub fn new(limits: Limits) -> Sessions {
        Sessions { open: Mutex::default(), limits, last: AtomicUsize::new(0) }
    }

    /// Whether another session has run a step since this one did: then clients share the machine, and a step should
    /// favour throughput over latency.
    pub fn is_shared(&self, session: &Arc<MasterSession>) -> bool {
        let this = Arc::as_ptr(session).addr();
        // Written only when it changes: a single client does not invalidate the cache line.
        self.last.load(Ordering::Relaxed) != this && self.last.swap(this, Ordering::Relaxed) != 0
    }

    /// Checks the quota of this caller, before the session is made.
    pub fn check_room(&self, caller: &Caller) -> Result<()> {
        self.in_the_way(&lock(&self.open), &caller.identity).map(drop)
    }

    /// The session to evict for one more of this owner: its own longest idle one. Those of others stay.
    fn in_the_way(
        &self,
        open: &HashMap<String, Arc<MasterSession>>,
        owner: &Arc<str>,
    ) -> Result<Option<Arc<MasterSession>>> {
        let own = || open.values().filter(|s| s.owner == *owner);
        if open.len() < self.limits.sessions && own().count() < self.limits.share {
            return Ok(None);
        }
        let oldest = own().filter_map(|s| Some((s.idle()?, s))).max_by_key(|s| s.0);
        let full = || {
            resource_exhausted(format_args!(
                "{} sessions are open, {} of them this client's, and none of those is idle; the limits are {} and {}: close some",
                open.len(),
                own().count(),
                self.limits.sessions,
                self.limits.share
            ))
        };
        oldest.map(|s| Some(s.1.clone())).ok_or_else(full)
    }

    /// Adds a session; returns the handle of the one evicted for it.
    pub fn add(&self, session: MasterSession) -> Result<Option<String>> {
        let mut open = lock(&self.open);
        let dropped = self.in_the_way(&open, &session.owner)?;
        dropped.iter().for_each(|s| drop(open.remove(&s.handle)));
        open.insert(session.handle.clone(), Arc::new(session));
        drop(open);
        Ok(dropped.map(|s| {
            s.close();
            s.handle.clone()
        }))
    }

    pub fn find(&self, handle: &str, caller: &Caller) -> Result<InUse> {
        let open = lock(&self.open);
        let found = open.get(handle).ok_or_else(|| no_session(handle))?;
        found.check(caller)?;
        Ok(InUse::new(found))
    }

    /// The name of this task in a session.
    pub fn task_of(&self, handle: &str) -> Option<String> {
        lock(&self.open).get(handle).map(|s| s.task.clone())
    }

    /// False if it is not found.
    pub fn close(&self, handle: &str, caller: &Caller) -> Result<bool> {
        let mut open = lock(&self.open);
        let Some(found) = open.get(handle) else { return Ok(false) };
        found.check(caller)?;
        let closed = open.remove(handle);
        drop(open);
        closed.iter().for_each(|s| s.close());
        // Freeing it may take long.
        drop_in_background(closed);
        Ok(true)
    }

    pub fn close_all(&self) -> usize {
        let closed = std::mem::take(&mut *lock(&self.open));
        closed.values().for_each(|s| s.close());
        closed.len()
    }

    /// Closes sessions idle for too long; returns their handles.
    pub fn collect(&self) -> Vec<String> {
        let Some(limit) = self.limits.idle else { return Vec::new() };
        let idle: Vec<_> = {
            let mut open = lock(&self.open);
            let handles: Vec<_> = open
                .values()
                .filter(|s| s.idle().is_some_and(|i| i > limit))
                .map(|s| s.handle.clone())
                .collect();
            handles.iter().filter_map(|h| open.remove(h)).collect()
        };
        idle.iter().for_each(|s| s.close());
        idle.iter().map(|s| s.handle.clone()).collect()
    }

    /// Running requests.
    pub fn active(&self) -> usize {
        lock(&self.open).values().map(|s| s.busy.load(Ordering::Acquire)).sum()
    }

    pub fn len(&self) -> usize {
        lock(&self.open).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_runtime::SessionOptions;

    fn caller(identity: &str) -> Caller {
        Caller { identity: identity.into(), ..Default::default() }
    }

    fn session(handle: &str, owner: &str) -> MasterSession {
        let options = SessionOptions { threads: 1, ..Default::default() };
        let session = Session::new(Arc::new(thalweg_ops::registry()), options).unwrap();
        MasterSession::new(
            handle.into(),
            "/job:a".into(),
            owner.into(),
            session,
            None,
            None,
            CostModel::default(),
        )
    }

    fn sessions(limits: Limits, of: &[(&str, &str)]) -> Sessions {
        let all = Sessions::new(limits);
        of.iter().for_each(|(handle, owner)| assert_eq!(all.add(session(handle, owner)).unwrap(), None));
        all
    }

    const FEW: Limits = Limits { idle: None, sessions: 3, share: 2 };

    /// Makes a session idle for so long.
    fn age(all: &Sessions, handle: &str, by: Duration) {
        let s = lock(&all.open)[handle].clone();
        let mut last = lock(&s.last_used);
        *last = last.checked_sub(by).unwrap();
    }

    #[test]
    fn one_more_than_the_share_closes_the_own_session_that_has_been_idle_longest() {
        let all = sessions(FEW, &[("a", "me"), ("b", "me")]);
        age(&all, "b", Duration::from_millis(10));
        all.check_room(&caller("me")).unwrap();
        assert_eq!(all.add(session("c", "me")).unwrap().as_deref(), Some("b"));
        // One in use is not evicted, whatever its age.
        let in_use = all.find("a", &caller("me")).unwrap();
        assert_eq!(all.add(session("d", "me")).unwrap().as_deref(), Some("c"));
        let also = all.find("d", &caller("me")).unwrap();
        assert_eq!(all.check_room(&caller("me")).err().unwrap().code(), Code::ResourceExhausted);
        assert!(all.add(session("e", "me")).is_err());
        assert_eq!((all.len(), all.active()), (2, 2));
        drop((in_use, also));
        assert_eq!(all.active(), 0);
    }

    #[test]
    fn a_full_server_closes_nothing_of_others() {
        let all = sessions(FEW, &[("a", "me"), ("b", "me"), ("c", "you")]);
        assert!(all.check_room(&caller("else")).is_err());
        assert!(all.add(session("d", "else")).is_err());
        assert_eq!(all.add(session("d", "you")).unwrap().as_deref(), Some("c"));
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn sessions_idle_for_longer_than_the_limit_are_closed() {
        let limits = Limits { idle: Some(Duration::from_secs(3600)), sessions: 9, share: 9 };
        let all = sessions(limits, &[("old", "me"), ("new", "me"), ("busy", "me")]);
        assert!(all.collect().is_empty());
        let long = Duration::from_secs(3601);
        // Soon after boot `Instant` cannot go back that far.
        if Instant::now().checked_sub(2 * long).is_none() {
            return;
        }
        age(&all, "old", long);
        age(&all, "busy", long);
        let in_use = all.find("busy", &caller("me")).unwrap();
        assert_eq!(all.collect(), ["old"]);
        drop(in_use);
        assert!(all.collect().is_empty(), "it was in use until now");
        let never = sessions(Limits { idle: None, ..limits }, &[("old", "me")]);
        age(&never, "old", long);
        assert!(never.collect().is_empty());
    }

    #[test]
    fn steps_are_serial_where_sessions_take_turns() {
        let all = sessions(FEW, &[("a", "me"), ("b", "me")]);
        let [a, b] = ["a", "b"].map(|handle| all.find(handle, &caller("me")).unwrap());
        let turns = [&a, &a, &b, &b, &a, &b].map(|session| all.is_shared(session));
        assert_eq!(turns, [false, false, true, false, true, true]);
    }

    #[test]
    fn a_session_is_its_owners_and_the_admins() {
        let all = sessions(FEW, &[("a", "me"), ("b", "me")]);
        let admin = Caller { identity: "root".into(), role: Role::Admin, ..Default::default() };
        assert_eq!(all.find("a", &caller("you")).err().unwrap().code(), Code::PermissionDenied);
        assert_eq!(all.close("a", &caller("you")).err().unwrap().code(), Code::PermissionDenied);
        assert!(all.find("a", &admin).is_ok());
        assert_eq!(all.task_of("a").as_deref(), Some("/job:a"));
        assert!(all.close("a", &caller("me")).unwrap() && !all.close("a", &admin).unwrap());
        assert_eq!((all.task_of("a"), all.len()), (None, 1));
        let b = all.find("b", &admin).unwrap();
        assert_eq!((all.close_all(), all.close_all(), all.len()), (1, 0, 0));
        assert!(b.session.run(&[], &[], &[]).is_err(), "it is closed");
    }
}
