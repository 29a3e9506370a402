//! The program `thalweg`.

use std::process::ExitCode;
use thalweg_core::memory::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    ExitCode::from(thalweg_cli::run_program(std::env::args_os()))
}
