//! Prints `.npy` files as tensors, each followed by a line with a form feed: `show a.npy b.npy`, or names on standard input.

use std::io::BufRead;
use std::path::Path;
use thalweg_io::npy;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let show = |name: &str| npy::read_file(Path::new(name)).map(|t| println!("{t}\n\u{c}"));
    std::env::args().skip(1).try_for_each(|name| show(&name))?;
    if std::env::args().len() == 1 {
        for name in std::io::stdin().lock().lines() {
            show(&name?)?;
        }
    }
    Ok(())
}
