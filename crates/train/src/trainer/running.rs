//! The loop.

use super::epoch::{Epoch, Measures, Next, Trained};
use super::progress::Progress;
use super::{Fit, Trainer};
use crate::get_or_create_global_step;
use crate::monitored::{ChiefSessionCreator, Scaffold, SessionCreator};
use crate::optimizers::Minimize;
use crate::patience::{Patience, Verdict};
use crate::saver::{CHECKPOINT_NAME, Keep};
use crate::summary::FileWriter;
use std::time::Instant;
use thalweg_client::data::Dataset;
use thalweg_client::{
    Callable, Code, Error, Operation, Output, Outputs, Result, Scope, Session, Variable, keys,
};
use thalweg_io::checkpoint::DirectoryLock;

/// The directory of the validation's event files, inside that of the model.
const VALIDATION: &str = "validation";
/// The variable that counts epochs, so that a resumed run knows how many are left.
const EPOCH: &str = "epoch";

/// Batches and what is computed from each: the measures, and in training the update.
struct Pass {
    restart: Operation,
    step: Callable,
    names: Vec<String>,
}

pub(super) struct Running<'a> {
    trainer: Trainer<'a>,
    session: Session,
    scaffold: Scaffold,
    training: Pass,
    validation: Option<Pass>,
    next_epoch: Operation,
    epoch: u64,
    writers: Option<(FileWriter, FileWriter)>,
    progress: Progress,
    _lock: Option<DirectoryLock>,
}

impl<'a> Running<'a> {
    #[track_caller]
    pub fn start(
        trainer: Trainer<'a>,
        g: &Scope,
        batches: &Dataset,
        model: impl Fn(&Scope, &Outputs, bool) -> Fit,
    ) -> Result<Running<'a>> {
        let lock = trainer.model_dir.as_deref().map(DirectoryLock::take).transpose()?;
        let step = get_or_create_global_step(g);
        let training = Nodes::new(g, batches, &model, true)?;
        let mut updates = g.operations_in_collection(keys::UPDATE_OPS);
        updates.push(trainer.optimizer.minimize(g, &training.fit.loss, Some(&step))?);
        let validation = match &trainer.validation {
            None => None,
            Some(batches) => {
                let shared = g.sharing_variables_of(g, VALIDATION).unwrap_or_else(|| g.clone());
                Some(Nodes::new(&shared, batches, &model, false)?)
            }
        };
        let epoch = epochs_done(g);
        let next_epoch = epoch.assign_add(g.constant(1i64));
        let scaffold = Scaffold::new(g, Keep::default())?;
        let creator = ChiefSessionCreator::new().options(trainer.options.clone());
        let session = match &trainer.model_dir {
            Some(dir) => creator.checkpoint_dir(dir).create_session(g, &scaffold)?,
            None => creator.create_session(g, &scaffold)?,
        };
        let done: i64 = session.run(&epoch.value, &[])?.to_scalar()?;
        let writers = match &trainer.model_dir {
            Some(dir) => Some((FileWriter::new(dir)?, FileWriter::new(dir.join(VALIDATION))?)),
            None => None,
        };
        Ok(Running {
            training: training.pass(&session, updates)?,
            validation: validation.map(|v| v.pass(&session, Vec::new())).transpose()?,
            progress: Progress::new(trainer.progress, trainer.epochs),
            epoch: u64::try_from(done).unwrap_or(0),
            trainer,
            session,
            scaffold,
            next_epoch,
            writers,
            _lock: lock,
        })
    }

    pub fn train(mut self) -> Result<Trained> {
        let mut history: Vec<Epoch> = Vec::new();
        let mut patience = match self.trainer.patience {
            Some(epochs) => Patience::lower_is_better().stop_after(epochs),
            None => Patience::lower_is_better(),
        };
        while self.epoch < self.trainer.epochs {
            let epoch = self.next()?;
            self.keep(&epoch)?;
            self.progress.epoch(&epoch);
            let mut next = match patience.report(epoch.step, epoch.loss()) {
                Verdict::Stop => Next::Stop,
                Verdict::Best | Verdict::Worse => Next::Continue,
            };
            for call in &mut self.trainer.callbacks {
                if call(&epoch) == Next::Stop {
                    next = Next::Stop;
                }
            }
            history.push(epoch);
            if next == Next::Stop {
                break;
            }
        }
        Ok(Trained { session: self.session, history })
    }

    fn next(&mut self) -> Result<Epoch> {
        let (began, number) = (Instant::now(), self.epoch + 1);
        let progress = &mut self.progress;
        let (training, steps) = self.training.run(&self.session, |step, loss| {
            progress.step(number, step, loss);
            if loss.is_nan() { Err(diverged(number, step)) } else { Ok(()) }
        })?;
        let validation = match &self.validation {
            Some(pass) => pass.run(&self.session, |_, _| Ok(()))?.0,
            None => Measures::default(),
        };
        self.session.run(&self.next_epoch, &[])?;
        self.epoch = number;
        let step = self.session.run(&self.scaffold.global_step.value, &[])?.to_scalar()?;
        Ok(Epoch { number, step, steps, training, validation, took: began.elapsed() })
    }

    /// A checkpoint, and the measures for TensorBoard.
    fn keep(&mut self, epoch: &Epoch) -> Result<()> {
        let (Some(dir), Some((training, validation))) = (&self.trainer.model_dir, &mut self.writers) else {
            return Ok(());
        };
        for (writer, measures) in [(training, &epoch.training), (validation, &epoch.validation)] {
            measures.0.iter().try_for_each(|(name, value)| writer.add_scalar(name, *value, epoch.step))?;
            writer.flush()?;
        }
        self.scaffold.saver.save(&self.session, &dir.join(CHECKPOINT_NAME), Some(epoch.step))?;
        Ok(())
    }
}

/// The nodes of a pass, before there is a session.
struct Nodes {
    restart: Operation,
    fit: Fit,
    /// How many examples the batch has.
    rows: Output,
}

impl Nodes {
    #[track_caller]
    fn new(
        g: &Scope,
        batches: &Dataset,
        model: &impl Fn(&Scope, &Outputs, bool) -> Fit,
        training: bool,
    ) -> Result<Nodes> {
        let iterator = batches.initializable_iterator(g);
        let batch = iterator.get_next();
        let fit = model(g, &batch, training);
        let scalar = batch[0].shape().rank() == Some(0);
        let rows =
            if scalar { g.constant(1i32) } else { g.reshape(g.slice(g.shape(&batch[0]), &[0], &[1]), &[]) };
        g.check()?;
        let restart = iterator.initializer().cloned();
        Ok(Nodes { restart: restart.unwrap_or_else(|| g.group::<Operation>(&[])), fit, rows })
    }

    fn pass(self, session: &Session, updates: Vec<Operation>) -> Result<Pass> {
        let mut names = vec!["loss".to_string()];
        let mut values = vec![self.rows, self.fit.loss];
        for (name, value) in self.fit.metrics {
            names.push(name);
            values.push(value);
        }
        Ok(Pass { restart: self.restart, step: session.callable(&[], &(values, updates))?, names })
    }
}

impl Pass {
    /// Runs all batches; returns the means, weighted by the batches' sizes, and the number of steps.
    fn run(
        &self,
        session: &Session,
        mut each: impl FnMut(u64, f32) -> Result<()>,
    ) -> Result<(Measures, u64)> {
        session.run(&self.restart, &[])?;
        let (mut sums, mut rows, mut steps) = (vec![0f64; self.names.len()], 0f64, 0);
        loop {
            let found = match self.step.run(Vec::new()) {
                Err(e) if e.code() == Code::OutOfRange => break,
                other => other?,
            };
            let mut values = found.iter();
            let size = match values.next() {
                Some(t) => f64::from(t.to_scalar::<i32>()?),
                None => 0.0,
            };
            let mut loss = f32::NAN;
            for (i, (sum, value)) in sums.iter_mut().zip(values).enumerate() {
                let value = value.to_scalar::<f32>().map_err(|e| e.context(self.names[i].as_str()))?;
                *sum += f64::from(value) * size;
                if i == 0 {
                    loss = value;
                }
            }
            (rows, steps) = (rows + size, steps + 1);
            each(steps, loss)?;
        }
        if steps == 0 {
            return Err(Error::new(Code::InvalidArgument, "the dataset has no batch".to_string()));
        }
        let means = self.names.iter().cloned().zip(sums.iter().map(|sum| (sum / rows.max(1.0)) as f32));
        Ok((Measures(means.collect()), steps))
    }
}

#[track_caller]
fn epochs_done(g: &Scope) -> Variable {
    g.find_variable(EPOCH)
        .unwrap_or_else(|| g.top_level().state_variable(EPOCH, &g.top_level().constant(0i64)))
}

fn diverged(epoch: u64, step: u64) -> Error {
    let text = format!(
        "the loss is NaN at step {step} of epoch {epoch}: training has diverged; try a smaller learning rate, or look for NaN in the \
         input"
    );
    Error::new(Code::InvalidArgument, text)
}

#[cfg(test)]
mod tests {
    use crate::layers::Dense;
    use crate::losses;
    use crate::optimizers::GradientDescent;
    use crate::trainer::{Fit, Next, Trained, Trainer};
    use thalweg_client::data::Dataset;
    use thalweg_client::{Result, Scope};
    use thalweg_io::scratch::Scratch;

    fn line(trainer: Trainer<'_>, rate: f32) -> Result<Trained> {
        let g = Scope::new();
        g.set_random_seed(1);
        let x: Vec<f32> = (0..50).map(|i| i as f32 / 50.0).collect();
        let y: Vec<f32> = x.iter().map(|x| x * rate + 1.0).collect();
        let points = Dataset::from_tensor_slices(&g, ((x, [50, 1]), (y, [50, 1])));
        trainer.validation(&points.skip(40).batch(10)).fit(&g, &points.take(40).batch(7), |g, batch, _| {
            let y = Dense::new(1).apply(g, &batch[0]);
            let error = g.reduce_mean(g.abs(&batch[1] - &y), &[]);
            Fit::new(losses::mean_squared_error(g, &batch[1], &y, None)).metric("error", error)
        })
    }

    #[test]
    fn epochs_are_measured_and_the_model_is_shared_with_the_validation() {
        let mut seen = Vec::new();
        let found = line(
            Trainer::new(GradientDescent::new(0.1)).epochs(30).callback(|epoch| {
                seen.push(epoch.number);
                if epoch.number == 25 { Next::Stop } else { Next::Continue }
            }),
            2.0,
        )
        .unwrap();
        assert_eq!((seen, found.history.len()), ((1..=25).collect(), 25));
        let (first, last) = (&found.history[0], found.last().unwrap());
        assert_eq!((first.steps, last.step), (6, 150));
        assert!(last.training["loss"] < first.training["loss"] / 5.0, "{first}\n{last}");
        assert!(last.validation["error"] < first.validation["error"], "{first}\n{last}");
        assert!(last.to_string().starts_with("epoch 25  loss 0."), "{last}");
    }

    #[test]
    fn a_run_goes_on_after_the_newest_checkpoint() {
        let dir = Scratch::new();
        let trainer = |epochs| Trainer::new(GradientDescent::new(0.1)).epochs(epochs).model_dir(dir.root());
        assert_eq!(line(trainer(3), 2.0).unwrap().last().unwrap().number, 3);
        let more = line(trainer(5), 2.0).unwrap().history;
        assert_eq!(more.iter().map(|e| (e.number, e.step)).collect::<Vec<_>>(), [(4, 24), (5, 30)]);
        assert!(line(trainer(5), 2.0).unwrap().last().is_err());
    }

    #[test]
    fn training_that_gets_no_better_or_diverges_ends() {
        let found = line(Trainer::new(GradientDescent::new(0.0)).epochs(30).early_stopping(3), 2.0).unwrap();
        assert_eq!(found.history.len(), 4);
        let e = line(Trainer::new(GradientDescent::new(0.1)), f32::NAN).err().unwrap();
        assert!(e.message().contains("step 1 of epoch 1: training has diverged"), "{e}");
    }
}
