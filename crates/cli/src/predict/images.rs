//! Predictions for image files.

use super::{Args, Target, checkpoint};
use crate::failure::Outcome;
use crate::images::{Decoder, ImageModel, files};
use crate::output;
use crate::table::CsvWriter;
use std::path::PathBuf;
use thalweg::prelude::*;
use thalweg::train::saver::Saver;
use thalweg_core::invalid;

pub fn run(args: &Args, model: &ImageModel) -> Outcome {
    let paths: Vec<PathBuf> = if args.data.is_dir() { files(&args.data)? } else { vec![args.data.clone()] };
    if paths.is_empty() {
        return Err(invalid!("{} has no images", args.data.display()).into());
    }
    let g = Scope::new();
    let (input, logits) = model.build(&g)?;
    let probabilities = g.softmax(&logits);
    let saver = Saver::new(&g);
    let options = SessionOptions { threads: args.threads, ..Default::default() };
    let session = Session::with_options(&g, options)?;
    saver.restore(&session, &checkpoint(args)?)?;
    let step = session.callable(&[&input], &vec![probabilities])?;
    let decoder = Decoder::new(model, args.threads)?;
    let mut to = Target::create(args.out.as_deref())?;
    let mut out = CsvWriter::new(b',');
    ["file", "prediction", "probability"].iter().try_for_each(|name| out.field(name.as_bytes()))?;
    out.end_row()?;
    for path in &paths {
        let found = step.run(vec![decoder.read(path)?])?;
        let all = found.first().map_or(Ok(&[][..]), |t| t.as_slice::<f32>())?;
        let best = all.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let (class, probability) = best.map_or((0, 0.0), |(i, p)| (i, *p));
        out.field(path.display().to_string().as_bytes())?;
        out.field(model.classes.get(class).map_or("", |c| c.as_str()).as_bytes())?;
        out.field(format!("{probability:.4}").as_bytes())?;
        out.end_row()?;
        to.write(&std::mem::take(&mut out.bytes))?;
    }
    to.finish()?;
    match &args.out {
        Some(path) => output::print(&format!("{} images in {}\n", paths.len(), path.display())),
        None => Ok(()),
    }
}
