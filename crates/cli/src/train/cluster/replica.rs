//! A task that trains: the chief, or another worker.

use super::super::keep::{CHECKPOINTS, histograms_of_parameters, tell};
use super::super::program::{Model, Program, Trained};
use super::super::settings::Settings;
use super::super::summary;
use super::ClusterArgs;
use super::place::{Part, Place};
use super::report::Report;
use super::stop::Stop;
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

/// Whole attempts, each from the newest checkpoint on, before the cluster counts as lost.
const ATTEMPTS: u32 = 20;

pub fn train(place: &Place, program: &dyn Program, settings: &Settings, args: &ClusterArgs) -> Outcome {
    let stop = Stop::listen()?;
    let _lock = lock(place, settings)?;
    let server = place.serve(settings.threads, settings.logdir.as_deref(), args)?;
    let replica = Replica { place, program, settings, args, server: &server, stop: &stop };
    let mut attempt = 1;
    let outcome = loop {
        // Sessions recover by themselves; what is left is the loss of a task while the last is saved or tested.
        match replica.attempt() {
            Err(Failure::Run(e)) if is_lost(&e) && attempt < ATTEMPTS => {
                output::print(&format!("beginning again: {e}\n"))?;
                attempt += 1;
            }
            Err(Failure::Run(e)) if is_lost(&e) => break Err(Failure::Lost(e)),
            other => break other,
        }
    };
    server.stop();
    outcome
}

/// The chief alone saves. A lock that is held may be that of the chief's earlier life, which has not ended yet: the same may work later.
fn lock(place: &Place, settings: &Settings) -> Outcome<Option<DirectoryLock>> {
    let Some(folder) = settings.logdir.as_ref().filter(|_| place.part == Part::Chief) else {
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
    place: &'a Place,
    program: &'a dyn Program,
    settings: &'a Settings,
    args: &'a ClusterArgs,
    server: &'a Server,
    stop: &'a Stop,
}

impl Replica<'_> {
    /// From the opening of a session to the end of the training.
    fn attempt(&self) -> Outcome {
        let (settings, is_chief) = (self.settings, self.place.part == Part::Chief);
        let setter = ReplicaDeviceSetter::for_cluster(self.place.cluster())
            .worker_device(&self.place.device())
            .greedy();
        let g = Scope::new().device_function(setter.device_function());
        g.set_random_seed(settings.seed);
        let model = self.program.model(&g, settings)?;
        if is_chief {
            output::print(&summary::head(self.program, settings, &g))?;
        }
        let events = self.events()?;
        if is_chief && events.is_some() {
            histograms_of_parameters(&g);
        }
        let report = Report::new(&g, self.server, &model, settings, self.args.report_every, events.clone());
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
            session.close()?;
            output::print(&summary::tail(&curve.borrow(), &results, steps, began.elapsed()))?;
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
        match self.place.part {
            Part::Chief => SharedWriter::new(folder).map(Some),
            // TensorBoard shows it as a run of its own.
            _ => SharedWriter::new(folder.join(format!("worker-{}", self.place.number()))).map(Some),
        }
    }

    /// Our own server. Where there is a certificate, it has the name that the cluster knows this task by.
    fn target(&self) -> String {
        match (self.args.credentials.scheme(), self.place.address()) {
            ("grpcs", Some(address)) => format!("grpcs://{address}"),
            (scheme, _) => format!("{scheme}://{}", self.server.address()),
        }
    }

    fn creator(&self) -> Box<dyn SessionCreator> {
        let (target, config) = (self.target(), self.place.session_config());
        let credentials = self.args.credentials.credentials();
        if self.place.part == Part::Worker {
            return Box::new(
                WorkerSessionCreator::new(&target).config(config).credentials(credentials).tell(tell),
            );
        }
        let chief =
            ChiefSessionCreator::new().target(&target).config(config).credentials(credentials).tell(tell);
        Box::new(match &self.settings.logdir {
            Some(folder) => chief.checkpoint_dir(folder),
            None => chief,
        })
    }

    /// Trains until a hook says stop; how many steps were made here.
    fn steps(&self, session: &mut MonitoredSession<'_>, model: &Model) -> Result<u64> {
        let (number, replicas) = (self.place.number() as u64, self.place.replicas() as u64);
        let first = u64::try_from(session.global_step()).unwrap_or(0);
        let mut own = 0;
        loop {
            // Replicas that wait for each other share out the batches of each step; others go on, each with every n-th.
            let turn = match self.settings.replicas {
                Some(_) => u64::try_from(session.global_step()).unwrap_or(0).wrapping_mul(replicas),
                None => first.wrapping_add(replicas.wrapping_mul(own)),
            };
            let batch = self.program.batch(turn.wrapping_add(number), self.settings)?;
            let feeds: Vec<_> = model.feeds.iter().zip(&batch).map(|(o, t)| feed(o, t)).collect();
            match session.run(&model.train.step, &feeds)? {
                Some(()) => own += 1,
                None => return Ok(own),
            }
        }
    }
}
