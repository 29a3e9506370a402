//! A task that trains: the chief, or another worker.

use super::super::board::histograms_of_parameters;
use super::super::keep::{CHECKPOINTS, log};
use super::super::program::{Model, Program, Trained};
use super::super::settings::Settings;
use super::super::summary::{self, Outcomes};
use super::ClusterArgs;
use super::report::Report;
use super::stop::Stop;
use super::task::{ClusterTask, Role};
use crate::failure::{Failure, Outcome};
use crate::output;
use std::time::Instant;
use thalweg::prelude::*;
use thalweg::train::ReplicaDeviceSetter;
use thalweg::train::hooks::{CheckpointSaverHook, Every, Hook, StopAtStepHook, SummarySaverHook};
use thalweg::train::monitored::{
    ChiefSessionCreator, MonitoredSession, SessionCreator, WorkerSessionCreator,
};
use thalweg::train::summary::SharedWriter;
use thalweg_dist::Server;
use thalweg_io::checkpoint::DirectoryLock;

/// Attempts, each from the newest checkpoint, before the cluster counts as lost.
const ATTEMPTS: u32 = 20;

pub fn train(task: &ClusterTask, program: &dyn Program, settings: &Settings, args: &ClusterArgs) -> Outcome {
    let stop = Stop::listen()?;
    let _lock = lock(task, settings)?;
    let server = task.serve(settings.threads, settings.logdir.as_deref(), args)?;
    let replica = Replica { task, program, settings, args, server: &server, stop: &stop };
    let mut attempt = 1;
    let outcome = loop {
        // Sessions recover by themselves; what remains is the loss of a task during the final save or evaluation.
        match replica.attempt() {
            Err(Failure::Run(e)) if is_lost(&e) && attempt < ATTEMPTS => {
                output::print(&format!("restarting from the newest checkpoint: {e}\n"))?;
                attempt += 1;
            }
            Err(Failure::Run(e)) if is_lost(&e) => break Err(Failure::Lost(e)),
            other => break other,
        }
    };
    server.stop();
    outcome
}

/// Only the chief saves. The lock may still be held by the chief's previous process, which has not exited yet: a retry may succeed.
fn lock(task: &ClusterTask, settings: &Settings) -> Outcome<Option<DirectoryLock>> {
    let Some(folder) = settings.logdir.as_ref().filter(|_| task.role == Role::Chief) else {
        return Ok(None);
    };
    DirectoryLock::take(folder).map(Some).map_err(|e| match e.code() {
        Code::Aborted => Failure::Lost(e),
        _ => e.into(),
    })
}

fn is_lost(e: &Error) -> bool {
    matches!(e.code(), Code::Unavailable | Code::Aborted | Code::DeadlineExceeded)
}

struct Replica<'a> {
    task: &'a ClusterTask,
    program: &'a dyn Program,
    settings: &'a Settings,
    args: &'a ClusterArgs,
    server: &'a Server,
    stop: &'a Stop,
}

impl Replica<'_> {
    /// From the opening of a session to the end of the training.
    fn attempt(&self) -> Outcome {
        let (settings, is_chief) = (self.settings, self.task.role == Role::Chief);
        let setter =
            ReplicaDeviceSetter::for_cluster(self.task.cluster()).worker_device(&self.task.device()).greedy();
        let g = settings.precision.scope(&Scope::new().device_function(setter.device_function()));
        g.set_random_seed(settings.seed);
        let model = self.program.model(&g, settings)?;
        if is_chief {
            output::print(&summary::head(self.program, settings, &g))?;
        }
        let events = self.events()?;
        if is_chief && events.is_some() {
            histograms_of_parameters(&g);
        }
        let report = Report::new(&g, self.server, &model, settings, self.args.report_every(), events.clone());
        let curve = report.curve();
        let mut hooks: Vec<Box<dyn Hook + '_>> = Vec::new();
        if let Some(sync) = &model.train.sync {
            hooks.push(Box::new(sync.hook(&g, is_chief)?));
        }
        hooks.push(Box::new(self.stop.hook()));
        hooks.push(Box::new(report));
        let every = Every::Steps(settings.save_every.unwrap_or((settings.steps / CHECKPOINTS).max(1)));
        if let Some(events) = &events {
            hooks.push(Box::new(SummarySaverHook::new(events, every)));
        }
        if let (true, Some(folder)) = (is_chief, &settings.logdir) {
            hooks.push(Box::new(CheckpointSaverHook::new(folder, every)));
        }
        hooks.push(Box::new(StopAtStepHook::last_step(settings.steps)));
        let mut session = MonitoredSession::new(&g, self.creator(), hooks)?;
        let (began, first) = (Instant::now(), session.global_step());
        let own = self.steps(&mut session, &model)?;
        if let Some(stopped) = self.stop.asked() {
            let step = session.global_step();
            session.close()?;
            output::print(&format!("stopped after step {step}\n"))?;
            return Err(stopped);
        }
        if is_chief {
            let trained = Trained { session: session.session(), model: &model, settings };
            let results = self.program.results(&trained)?;
            let steps = u64::try_from(session.global_step() - first).unwrap_or(0);
            let details = self.program.details();
            session.close()?;
            let (curve, took) = (curve.borrow(), began.elapsed());
            let outcomes = Outcomes { curve: &curve, results, details, steps, took };
            output::print(&outcomes.text(output::width()))?;
        } else {
            let step = session.global_step();
            session.close()?;
            output::print(&format!("done at step {step}, {own} of them here\n"))?;
        }
        Ok(())
    }

    /// The event file of this task, if there is a folder for it.
    fn events(&self) -> Result<Option<SharedWriter>> {
        let Some(folder) = &self.settings.logdir else { return Ok(None) };
        match self.task.role {
            Role::Chief => SharedWriter::new(folder).map(Some),
            // TensorBoard shows it as a run of its own.
            _ => SharedWriter::new(folder.join(format!("worker-{}", self.task.number()))).map(Some),
        }
    }

    /// The address of our own server. With TLS it is the name in the cluster, as the certificate is issued to that.
    fn target(&self) -> String {
        match (self.args.credentials.scheme(), self.task.address()) {
            ("grpcs", Some(address)) => format!("grpcs://{address}"),
            (scheme, _) => format!("{scheme}://{}", self.server.address()),
        }
    }

    fn creator(&self) -> Box<dyn SessionCreator> {
        let (target, config) = (self.target(), self.task.session_config());
        let credentials = self.args.credentials.credentials();
        if self.task.role == Role::Worker {
            return Box::new(
                WorkerSessionCreator::new(&target).config(config).credentials(credentials).log(log),
            );
        }
        let chief =
            ChiefSessionCreator::new().target(&target).config(config).credentials(credentials).log(log);
        Box::new(match &self.settings.logdir {
            Some(folder) => chief.checkpoint_dir(folder),
            None => chief,
        })
    }

    /// Trains until a hook requests a stop; returns the number of local steps.
    fn steps(&self, session: &mut MonitoredSession<'_>, model: &Model) -> Result<u64> {
        let (number, replicas) = (self.task.number() as u64, self.task.replicas() as u64);
        let first = u64::try_from(session.global_step()).unwrap_or(0);
        let mut own = 0;
        loop {
            // Synchronous replicas divide the batches of each step; asynchronous ones take every n-th batch.
            let first_batch = match self.settings.replicas {
                Some(_) => u64::try_from(session.global_step()).unwrap_or(0).wrapping_mul(replicas),
                None => first.wrapping_add(replicas.wrapping_mul(own)),
            };
            let batch = self.program.batch(first_batch.wrapping_add(number), self.settings)?;
            let feeds: Vec<_> = model.feeds.iter().zip(&batch).map(|(o, t)| feed(o, t)).collect();
            match session.run(&model.train.step, &feeds)? {
                Some(()) => own += 1,
                None => return Ok(own),
            }
        }
    }
}
