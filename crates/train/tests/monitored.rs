//! Monitored sessions: the order of hooks, the end of the input, and recovery.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use thalweg_client::data::Dataset;
use thalweg_client::{Code, Error, Operation, Output, Result, Scope, Session, Tensor, Variable};
use thalweg_io::scratch::Scratch;
use thalweg_train::hooks::*;
use thalweg_train::monitored::*;
use thalweg_train::{get_or_create_global_step, summary};

/// A step that increments `w` and the global step.
fn counting(g: &Scope) -> (Variable, Operation) {
    let w = g.variable("w", &g.constant(0f32));
    let step = get_or_create_global_step(g);
    let train = g.group(&[&w.assign_add(g.constant(1f32)), &step.assign_add(g.constant(1i64))]);
    (w, train)
}

#[derive(Clone, Default)]
struct Diary(Rc<RefCell<Vec<String>>>);

struct Writes(Diary, &'static str, Option<Output>);

impl Writes {
    fn note(&self, what: String) {
        self.0.0.borrow_mut().push(format!("{} {what}", self.1));
    }
}

impl Hook for Writes {
    fn begin(&mut self, _: &Scope) -> Result<()> {
        self.note("begin".into());
        Ok(())
    }
    fn after_create_session(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        self.note(format!("created {}", run.step));
        Ok(())
    }
    fn before_run(&mut self, step: i64) -> Vec<Output> {
        self.note(format!("before {step}"));
        self.2.iter().cloned().collect()
    }
    fn after_run(&mut self, run: &mut RunContext<'_>, values: &[Tensor]) -> Result<()> {
        self.note(format!("after {} {}", run.step, values.len()));
        Ok(())
    }
    fn end(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        self.note(format!("end {}", run.step));
        Ok(())
    }
}

#[test]
fn hooks_are_called_in_their_order_and_get_what_they_asked_for() {
    let (g, diary) = (Scope::new(), Diary::default());
    let (w, train) = counting(&g);
    let hooks: Vec<Box<dyn Hook>> = vec![
        Box::new(Writes(diary.clone(), "a", None)),
        Box::new(Writes(diary.clone(), "b", Some(w.value.clone()))),
        Box::new(StopAtStepHook::last_step(1)),
    ];
    let mut session = MonitoredSession::new(&g, ChiefSessionCreator::new(), hooks).unwrap();
    while session.run(&train, &[]).unwrap().is_some() {}
    session.close().unwrap();
    let expected = [
        "a begin",
        "b begin",
        "a created 0",
        "b created 0",
        "a before 0",
        "b before 0",
        "a after 1 0",
        "b after 1 1",
        "a end 1",
        "b end 1",
    ];
    assert_eq!(*diary.0.borrow(), expected);
}

#[test]
fn the_end_of_the_input_ends_the_loop() {
    let g = Scope::new();
    let (_, train) = counting(&g);
    let next = Dataset::range(&g, 0, 3, 1).one_shot_iterator(&g).get_next();
    let mut session = MonitoredSession::new(&g, ChiefSessionCreator::new(), vec![]).unwrap();
    let mut seen = Vec::new();
    while let Some((next, ())) = session.run(&(&next[0], &train), &[]).unwrap() {
        seen.push(next.to_scalar::<i64>().unwrap());
    }
    assert_eq!((seen, session.should_stop()), (vec![0, 1, 2], true));
}

/// Loses its session at some step: the hook returns the error of a run on a lost server.
struct Loses {
    at: i64,
    code: Code,
    times: u32,
}

impl Hook for Loses {
    fn after_run(&mut self, run: &mut RunContext<'_>, _: &[Tensor]) -> Result<()> {
        if run.step == self.at && self.times > 0 {
            self.times -= 1;
            return Err(Error::new(self.code, "the connection was lost"));
        }
        Ok(())
    }
}

/// Counts the sessions that another creator makes.
struct Counts<'a>(ChiefSessionCreator, &'a Cell<u32>);

impl SessionCreator for Counts<'_> {
    fn create_session(&self, g: &Scope, scaffold: &Scaffold) -> Result<Session> {
        self.1.set(self.1.get() + 1);
        self.0.create_session(g, scaffold)
    }
}

fn run_to_ten(loses: Loses) -> (Result<f32>, u32) {
    let (dir, g, made) = (Scratch::new(), Scope::new(), Cell::new(0));
    let (w, train) = counting(&g);
    let hooks: Vec<Box<dyn Hook>> = vec![
        Box::new(CheckpointSaverHook::new(dir.root(), Every::Steps(3))),
        Box::new(StopAtStepHook::num_steps(10)),
        Box::new(loses),
    ];
    let creator = Counts(ChiefSessionCreator::new().checkpoint_dir(dir.root()), &made);
    let mut session = MonitoredSession::new(&g, creator, hooks).unwrap();
    let done = loop {
        match session.run(&train, &[]) {
            Ok(Some(())) => continue,
            Ok(None) => break session.session().run(&w.value, &[]).and_then(|w| w.to_scalar()),
            Err(e) => break Err(e),
        }
    };
    (done, made.get())
}

#[test]
fn a_lost_session_is_made_anew_from_the_newest_checkpoint() {
    for code in [Code::Unavailable, Code::Aborted] {
        let (w, sessions) = run_to_ten(Loses { at: 5, code, times: 2 });
        // Restores the checkpoint at 3 twice, and makes ten steps in all.
        assert_eq!((w.unwrap(), sessions), (10.0, 3));
    }
}

#[test]
fn other_errors_and_losses_without_end_are_told() {
    let (e, sessions) = run_to_ten(Loses { at: 5, code: Code::Internal, times: 1 });
    assert_eq!((e.unwrap_err().code(), sessions), (Code::Internal, 1));
    let (e, sessions) = run_to_ten(Loses { at: 4, code: Code::Unavailable, times: u32::MAX });
    assert_eq!(e.unwrap_err().code(), Code::Unavailable);
    assert!(sessions > 1);
}

#[test]
fn the_log_is_written_every_so_many_steps() {
    let (g, lines) = (Scope::new(), RefCell::new(Vec::new()));
    let (w, train) = counting(&g);
    let log = LoggingHook::new([("w", &w.value)], Every::Steps(2))
        .to(|line| lines.borrow_mut().push(line.to_string()));
    let hooks: Vec<Box<dyn Hook + '_>> = vec![Box::new(log), Box::new(StopAtStepHook::last_step(4))];
    let mut session = MonitoredSession::new(&g, ChiefSessionCreator::new(), hooks).unwrap();
    while session.run(&train, &[]).unwrap().is_some() {}
    drop(session);
    let lines = lines.into_inner();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("w = ") && lines[0].ends_with(", step = 1"), "{lines:?}");
    assert!(lines[1].contains(", step = 3 (") && lines[1].ends_with(" sec)"), "{lines:?}");
}

#[test]
fn a_nan_stops_or_fails() {
    let run = |hook: fn(&Output) -> NanGuardHook| {
        let g = Scope::new();
        let (w, train) = counting(&g);
        let loss = &g.sqrt(&(&w.value * -1f32)) + &w.read(&g.control_dependencies(&[&train]));
        let mut session =
            MonitoredSession::new(&g, ChiefSessionCreator::new(), vec![Box::new(hook(&loss))]).unwrap();
        while session.run(&train, &[])?.is_some() {}
        Ok::<i64, Error>(session.global_step())
    };
    assert!(run(NanGuardHook::new).unwrap_err().message().contains("is NaN"));
    assert!(run(|loss| NanGuardHook::new(loss).stop_only()).unwrap() <= 3);
}

#[test]
fn local_variables_are_not_saved() {
    let (dir, g) = (Scratch::new(), Scope::new());
    let (w, train) = counting(&g);
    let mean = thalweg_train::metrics::mean(&g, &w.value, None);
    let writer = summary::SharedWriter::new(dir.root()).unwrap();
    let hooks: Vec<Box<dyn Hook>> = vec![
        Box::new(CheckpointSaverHook::new(dir.root(), Every::Steps(1))),
        Box::new(SummarySaverHook::new(&writer, Every::Steps(1))),
        Box::new(StopAtStepHook::num_steps(2)),
    ];
    let mut session = MonitoredSession::new(&g, ChiefSessionCreator::new(), hooks).unwrap();
    while session.run(&(&train, &mean.update), &[]).unwrap().is_some() {}
    session.close().unwrap();
    let newest = thalweg_train::saver::latest_checkpoint(dir.root()).unwrap().unwrap();
    let reader = thalweg_io::bundle::BundleReader::open(&newest).unwrap();
    assert_eq!(reader.names().collect::<Vec<_>>(), ["global_step", "w"]);
}
