//! `thalweg bench`.
use crate::failure::Outcome;
/// Measure
#[derive(clap::Args)]
pub struct Args {}
pub fn run(_: Args) -> Outcome {
    Ok(())
}
