//! Predictions for image files.

use super::{Args, Target, checkpoint};
use crate::failure::Outcome;
use crate::images::{Decoder, ImageModel, files, folders};
use crate::output;
use crate::table::CsvWriter;
use std::path::{Path, PathBuf};
use thalweg::prelude::*;
use thalweg::train::saver::Saver;
use thalweg_core::invalid;

pub fn run(args: &Args, model: &ImageModel) -> Outcome {
    args.format.check_unused("images")?;
    let images = images(&args.data, model)?;
    if images.is_empty() {
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
    let (mut right, mut labelled) = (0, 0);
    for (path, label) in &images {
        let found = step.run(vec![decoder.read(path)?])?;
        let all = found.first().map_or(Ok(&[][..]), |t| t.as_slice::<f32>())?;
        let best = all.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let (class, probability) = best.map_or((0, 0.0), |(i, p)| (i, *p));
        labelled += usize::from(label.is_some());
        right += usize::from(*label == Some(class));
        out.field(path.display().to_string().as_bytes())?;
        out.field(model.classes.get(class).map_or("", |c| c.as_str()).as_bytes())?;
        out.field(format!("{probability:.4}").as_bytes())?;
        out.end_row()?;
        to.write(&std::mem::take(&mut out.bytes))?;
    }
    to.finish()?;
    let Some(path) = &args.out else { return Ok(()) };
    let mut told = format!("{} images in {}\n", images.len(), path.display());
    if labelled > 0 {
        let share = right as f64 / labelled as f64;
        told.push_str(&format!("accuracy {share:.3} ({right} of {labelled} in a folder of their class)\n"));
    }
    output::print(&told)
}

/// The image, or those of a folder; or of the folders in it, each with the class that its folder is named for.
fn images(data: &Path, model: &ImageModel) -> Result<Vec<(PathBuf, Option<usize>)>> {
    if !data.is_dir() {
        return Ok(vec![(data.to_path_buf(), None)]);
    }
    let mut all: Vec<_> = files(data)?.into_iter().map(|path| (path, None)).collect();
    if all.is_empty() {
        for folder in folders(data)? {
            let label = model.classes.iter().position(|c| folder.file_name().is_some_and(|n| **c == *n));
            all.extend(files(&folder)?.into_iter().map(|path| (path, label)));
        }
    }
    Ok(all)
}
