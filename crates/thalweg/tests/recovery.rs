//! Training on a server that is restarted.

use std::sync::Arc;
use std::time::Duration;
use thalweg::prelude::*;
use thalweg::train::estimator::{Input, LinearRegressor};
use thalweg::train::feature_column::numeric_columns;
use thalweg::train::get_or_create_global_step;
use thalweg::train::hooks::{CheckpointSaverHook, Every, Hook, RunContext, StopAtStepHook};
use thalweg::train::monitored::{ChiefSessionCreator, MonitoredSession};
use thalweg::train::optimizers::GradientDescent;
use thalweg_dist::{Server, ServerOptions};

fn start(address: Option<std::net::SocketAddr>) -> Server {
    let mut options = ServerOptions { drain: Duration::ZERO, ..Default::default() };
    options.address = address.unwrap_or(options.address);
    Server::start(Arc::new(thalweg_ops::registry()), options).unwrap()
}

fn folder(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("thalweg-recovery-{}-{name}", std::process::id()));
    drop(std::fs::remove_dir_all(&path));
    path
}

/// Stops the server after some steps, and starts a new one without state at the same address.
struct Restarts {
    server: Option<Server>,
    at: Vec<i64>,
    sessions: u32,
}

impl Hook for Restarts {
    fn after_create_session(&mut self, _: &mut RunContext<'_>) -> Result<()> {
        self.sessions += 1;
        Ok(())
    }

    fn after_run(&mut self, run: &mut RunContext<'_>, _: &[Tensor]) -> Result<()> {
        if self.at.first() == Some(&run.step) {
            self.at.remove(0);
            let server = self.server.take().unwrap();
            let address = server.address();
            server.stop();
            self.server = Some(start(Some(address)));
        }
        Ok(())
    }

    fn end(&mut self, _: &mut RunContext<'_>) -> Result<()> {
        assert_eq!((self.at.len(), self.sessions), (0, 3));
        Ok(())
    }
}

#[test]
fn training_goes_on_when_its_server_is_started_again() {
    let (server, folder, g) = (start(None), folder("session"), Scope::new());
    let target = format!("grpc://{}", server.address());
    let w = g.variable("w", &g.constant(0f32));
    let step = get_or_create_global_step(&g);
    let train = g.group(&[&w.assign_add(g.constant(1f32)), &step.assign_add(g.constant(1i64))]);
    let hooks: Vec<Box<dyn Hook>> = vec![
        Box::new(CheckpointSaverHook::new(&folder, Every::Steps(4))),
        Box::new(StopAtStepHook::last_step(12)),
        Box::new(Restarts { server: Some(server), at: vec![6, 8], sessions: 0 }),
    ];
    let creator = ChiefSessionCreator::new().target(&target).checkpoint_dir(&folder);
    let mut session = MonitoredSession::new(&g, creator, hooks).unwrap();
    while session.run(&train, &[]).unwrap().is_some() {}
    assert_eq!(session.session().run(&w.value, &[]).unwrap().to_scalar::<f32>().unwrap(), 12.0);
    session.close().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_server_that_never_answers_is_told_when_patience_ends() {
    let (server, g) = (start(None), Scope::new());
    let target = format!("grpc://{}", server.address());
    server.stop();
    g.variable("w", &g.constant(0f32));
    let creator = ChiefSessionCreator::new().target(&target).timeout(Duration::from_millis(50));
    let e = MonitoredSession::new(&g, creator, vec![]).map(|_| ()).unwrap_err();
    assert_eq!(e.code(), Code::Unavailable);
    assert!(e.message().contains(&target), "{e}");
}

#[test]
fn an_estimator_trains_evaluates_and_predicts_on_a_server() {
    let server = start(None);
    let line = LinearRegressor::new()
        .columns(numeric_columns(["x"]))
        .optimizer(GradientDescent::new(0.1))
        .target(&format!("grpc://{}", server.address()));
    let input = |g: &Scope| Input::of(g, [("x", [0f32, 1.0, 2.0])], [1f32, 3.0, 5.0]).with(|d| d.batch(3));
    line.train(|g| input(g).with(|d| d.repeat(None)), 200).unwrap();
    assert!(line.evaluate(input).unwrap()["average_loss"] < 1e-4);
    let found: Vec<f32> = line.predict(input).unwrap().map(|p| p.unwrap().value().unwrap()).collect();
    assert!((found[2] - 5.0).abs() < 0.05, "{found:?}");
}
