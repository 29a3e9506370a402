//! y = 0.1 x + 0.3, found by Momentum, with summaries and checkpoints: `line train DIR STEPS` continues from the newest checkpoint
//! in DIR; `line show PREFIX` prints the variables of a checkpoint, as the graph's own saver restores them.

use std::path::Path;
use thalweg_client::{Error, Output, Result, Scope, Session, Variable};
use thalweg_train::optimizers::{Minimize, Momentum};
use thalweg_train::saver::{Saver, latest_checkpoint};
use thalweg_train::summary::{self, FileWriter};
use thalweg_train::{get_or_create_global_step, initializers};

struct Line {
    g: Scope,
    loss: Output,
    train: thalweg_client::Operation,
    step: Variable,
    summaries: Option<Output>,
    saver: Saver,
}

fn line() -> Result<Line> {
    let g = Scope::new();
    let xs: Vec<f32> = (0..100).map(|i| i as f32 / 100.0).collect();
    let ys: Vec<f32> = xs.iter().map(|x| x * 0.1 + 0.3).collect();
    let (x, y) = (g.constant(xs), g.constant(ys));
    let w = g.get_variable("w", &[1], &initializers::RandomUniform { low: -1.0, high: 1.0, seed: Some(7) });
    let b = g.get_variable("b", &[1], &initializers::Zeros);
    let error = &(&(&w.value * &x) + &b.value) - &y;
    let loss = g.reduce_mean(g.square(&error), &[]);
    let step = get_or_create_global_step(&g);
    let train = Momentum::new(0.1, 0.9).minimize(&g, &loss, Some(&step))?;
    summary::scalar(&g, "loss", &loss);
    summary::histogram(&g, "error", &error);
    let summaries = summary::merge_all(&g);
    let saver = Saver::new(&g).max_to_keep(3);
    Ok(Line { g, loss, train, step, summaries, saver })
}

fn train(dir: &Path, steps: usize) -> Result<()> {
    let line = line()?;
    let session = Session::new(&line.g)?;
    match latest_checkpoint(dir)? {
        Some(newest) => line.saver.restore(&session, &newest)?,
        None => session.run(&line.g.init(), &[])?,
    }
    let mut writer = FileWriter::new(dir)?;
    writer.add_graph(&line.g)?;
    for i in 0..steps {
        session.run(&line.train, &[])?;
        let step = session.run(&line.step.value, &[])?.to_scalar::<i64>()?;
        if let Some(summaries) = &line.summaries {
            writer.add_summary(&session.run(summaries, &[])?, step)?;
        }
        if (i + 1) % 10 == 0 {
            line.saver.save(&session, &dir.join("model"), Some(step))?;
        }
    }
    writer.flush()?;
    println!("loss {}", session.run(&line.loss, &[])?);
    Ok(())
}

fn show(prefix: &Path) -> Result<()> {
    let line = line()?;
    let session = Session::new(&line.g)?;
    line.saver.restore(&session, prefix)?;
    for v in line.g.global_variables() {
        println!("{} {}", v.name(), session.run(&v.value, &[])?);
    }
    Ok(())
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["train", dir, steps] => train(Path::new(dir), steps.parse().unwrap_or(100)),
        ["show", prefix] => show(Path::new(prefix)),
        _ => {
            Err(Error::new(thalweg_client::Code::InvalidArgument, "line train DIR STEPS | line show PREFIX"))
        }
    }
}
