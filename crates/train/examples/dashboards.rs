//! Something for each of TensorBoard's dashboards: `dashboards DIR`, then `tensorboard --logdir DIR`. The directories in it are runs:
//! `values` has what a program gives to a writer, `graph` what summary ops make, `search` hyperparameters.

use std::f32::consts::TAU;
use std::path::Path;
use thalweg_client::{Code, Error, IntoTensor, Result, Scope, Session, Tensor};
use thalweg_train::get_or_create_global_step;
use thalweg_train::layers::{Activation, Dense};
use thalweg_train::optimizers::{Adam, Minimize};
use thalweg_train::saver::Saver;
use thalweg_train::summary::{
    self, Chart, Embedding, Experiment, FileWriter, HParams, Layout, Mesh, Status, write_projector,
};

const STEPS: i64 = 10;

/// A number in [0, 1) that looks random.
fn random(i: usize) -> f32 {
    let mixed = (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed >> 40) as f32 / (1u64 << 24) as f32
}

fn values(dir: &Path) -> Result<()> {
    let mut w = FileWriter::new(dir)?;
    w.describe("loss", "Falls by a *tenth* each step.");
    w.describe("text/notes", "What is thought of it.");
    for step in 0..=STEPS {
        let at = step as f32;
        let loss = 0.9f32.powf(at);
        w.add_scalar("loss", loss, step)?;
        w.add_scalar("loss_low", loss * 0.8, step)?;
        w.add_scalar("loss_high", loss * 1.2, step)?;
        let normal: Vec<f32> =
            (0..1000).map(|i| (0..12).map(|j| random(i * 12 + j)).sum::<f32>() - 6.0 + at * 0.2).collect();
        w.add_histogram("weights", &normal.into_tensor()?, step)?;
        w.add_images("pictures", gradients(at / STEPS as f32)?, step)?;
        w.add_text("text/notes", format!("Step **{step}** has a loss of `{loss:.3}`."), step)?;
        let labels: Vec<bool> = (0..100).map(|i| i % 3 == 0).collect();
        let guess = |(i, is): (usize, &bool)| {
            let right = if *is { 1.0 } else { 0.0 };
            random(i) * (1.0 - at / 20.0) + right * at / 20.0
        };
        let guesses: Vec<f32> = labels.iter().enumerate().map(guess).collect();
        w.add_pr_curve("thirds", &labels, &guesses, step)?;
        w.add_audio("tones", tones(220.0 + 22.0 * at)?, 8000, step)?;
        w.add_mesh("torus", &torus(0.1 + at / 20.0)?, step)?;
    }
    let table = (["name", "value", "one", "1", "two", "2"].map(String::from).to_vec().into_tensor()?)
        .reshape(thalweg_client::Shape::new(&[3, 2])?)?;
    w.add_text("text/table", table, 0)?;
    w.add_custom_scalars(&Layout::new().category(
        "losses",
        [
            Chart::lines("all of them", ["loss.*"]),
            Chart::margins("with a margin", [["loss", "loss_low", "loss_high"]]),
        ],
    ))?;
    w.flush()?;
    let points: Vec<f32> =
        (0..60).flat_map(|i| (0..4).map(move |j| (i % 3 * (j + 1)) as f32 + random(i * 4 + j))).collect();
    let sprites: Vec<u8> = (0..60).flat_map(|i| [(i % 3) as u8 * 100 + 55; 64]).collect();
    let points = Embedding::values("points", (points, [60, 4]).into_tensor()?)
        .column("cluster", (0..60).map(|i| format!("cluster {}", i % 3)))
        .column("number", (0..60).map(|i| i.to_string()))
        .sprites((sprites, [60, 8, 8, 1]).into_tensor()?);
    write_projector(dir, &[points])
}

/// Two images: one grey, brighter to the right; the other the other way round.
fn gradients(most: f32) -> Result<Tensor> {
    let (height, width) = (16usize, 32usize);
    let pixel = |i: usize| {
        let across = (i % width) as f32 / (width - 1) as f32;
        if i < height * width { across * most } else { (1.0 - across) * most }
    };
    let pixels: Vec<f32> = (0..2 * height * width).map(pixel).collect();
    (pixels, [2, height, width, 1]).into_tensor()
}

/// A second of a tone, and of its octave.
fn tones(hertz: f32) -> Result<Tensor> {
    let sample = |i: usize| {
        let octave = if i < 8000 { 1.0 } else { 2.0 };
        0.5 * (TAU * hertz * octave * (i % 8000) as f32 / 8000.0).sin()
    };
    ((0..16000).map(sample).collect::<Vec<f32>>(), [2, 8000]).into_tensor()
}

fn torus(thick: f32) -> Result<Mesh> {
    let (around, across) = (24usize, 12usize);
    let (mut vertices, mut colors, mut faces) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..around {
        for j in 0..across {
            let (a, b) = (TAU * i as f32 / around as f32, TAU * j as f32 / across as f32);
            let r = 1.0 + thick * b.cos();
            vertices.extend([r * a.cos(), r * a.sin(), thick * b.sin()]);
            colors.extend([(i * 10) as u8, (j * 20) as u8, 128]);
            let corner = |i: usize, j: usize| (i % around * across + j % across) as i32;
            faces.extend([corner(i, j), corner(i + 1, j), corner(i, j + 1)]);
            faces.extend([corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)]);
        }
    }
    let n = around * across;
    let (vertices, colors) = ((vertices, [1, n, 3]).into_tensor()?, (colors, [1, n, 3]).into_tensor()?);
    Ok(Mesh::new(vertices).colors(colors).faces((faces, [1, 2 * n, 3]).into_tensor()?))
}

/// A small net, with a summary op of each kind, its graph, and the metadata of a step.
fn graph(dir: &Path) -> Result<()> {
    let g = Scope::new();
    g.set_random_seed(1);
    let points: Vec<f32> = (0..512).map(|i| random(i) * 2.0 - 1.0).collect();
    let above: Vec<f32> = points.chunks(2).map(|p| if p[0] * p[1] > 0.0 { 1.0 } else { 0.0 }).collect();
    let x = g.name_scope("data").constant_named("x", (points, [256, 2]));
    let y = g.name_scope("data").constant_named("y", (above, [256, 1]));
    let hidden = Dense::new(32).activation(Activation::Relu).apply(&g, &x);
    let logits = Dense::new(1).name("logits").apply(&g, &hidden);
    let loss = g.reduce_mean(g.op("SquaredDifference").input(g.sigmoid(&logits)).input(&y).output(), &[]);
    let step = get_or_create_global_step(&g);
    let train = Adam::new(0.02).minimize(&g, &loss, Some(&step))?;
    summary::scalar(&g, "loss", &loss);
    summary::histogram(&g, "hidden", &hidden);
    summary::image(&g, "hidden_units", &g.reshape(&hidden, &[1, 256, 32, 1]), 1);
    let sound = g.constant((tones(440.0)?.as_slice::<f32>()?[..8000].to_vec(), [1, 8000]));
    summary::audio(&g, "tone", &sound, 8000.0, 1);
    summary::text(&g, "remark", &g.constant("Made by an *op*."));
    let is_above = g.cast(&y, thalweg_client::DataType::Bool);
    summary::pr_curve(&g, "above", &is_above, &g.sigmoid(&logits), 51);
    let all = summary::merge_all(&g);
    let saver = Saver::new(&g);
    let session = Session::new(&g)?;
    session.run(&g.init(), &[])?;
    let mut w = FileWriter::new(dir)?;
    w.add_session_graph(&session)?;
    for i in 1..=STEPS {
        let ((), metadata) = session.trace(&train, &[])?;
        if i % 5 == 0 {
            w.add_run_metadata(&metadata, &format!("step {i}"), i)?;
        }
        if let Some(all) = &all {
            w.add_summary(&session.run(all, &[])?, i)?;
        }
    }
    w.flush()?;
    saver.save(&session, &dir.join("model.ckpt"), Some(STEPS))?;
    let units = Embedding::variable("dense/kernel").column("input", ["x", "y"]);
    write_projector(dir, &[units])
}

/// Runs that differ in their hyperparameters.
fn search(dir: &Path) -> Result<()> {
    let experiment = Experiment::new("Three runs.")
        .hparam("optimizer", ["sgd", "adam"])
        .interval("rate", 0.0, 1.0)
        .hparam("nesterov", [true, false])
        .metric("", "accuracy", "accuracy");
    FileWriter::new(dir)?.add_experiment(&experiment)?;
    for (i, (optimizer, rate)) in [("sgd", 0.1), ("adam", 0.01), ("adam", 0.001)].into_iter().enumerate() {
        let mut w = FileWriter::new(dir.join(i.to_string()))?;
        let hparams = HParams::new().set("optimizer", optimizer).set("rate", rate).set("nesterov", i == 0);
        w.add_session_start(&hparams)?;
        for step in 1..=3 {
            w.add_scalar("accuracy", 0.5 + 0.1 * i as f32 + 0.01 * step as f32, step)?;
        }
        w.add_session_end(if i == 2 { Status::Failure } else { Status::Success })?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let Some(dir) = std::env::args().nth(1) else {
        return Err(Error::new(Code::InvalidArgument, "dashboards DIR"));
    };
    let dir = Path::new(&dir);
    values(&dir.join("values"))?;
    graph(&dir.join("graph"))?;
    search(&dir.join("search"))
}
