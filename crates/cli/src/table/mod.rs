//! Tables of examples: files of rows, what their columns hold, and rows in memory.

mod column;
mod columns;
mod csv;
mod encoded;
mod examples;
mod infer;
#[cfg(feature = "parquet")]
mod parquet;

#[cfg(feature = "parquet")]
pub use self::parquet::{ParquetReader, is_parquet};
pub use columns::Schema;
pub use csv::{CsvFormat, CsvReader, CsvWriter, Record, RowReader};
pub use encoded::{Encoded, Part};
pub use examples::{ExampleReader, Layout, is_records};
pub use infer::{Choices, Scan, Task};

use thalweg_core::error::Result;
use thalweg_core::invalid;

/// How rows are divided: one of every so many, chosen by the seed, is held back for validation.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// 0 if none is held back.
    pub every: u64,
    pub seed: i64,
}

impl Split {
    /// A share of the rows as one of every so many.
    pub fn every(share: f64) -> Result<u64> {
        match share {
            0.0 => Ok(0),
            s if (1e-6..=0.5).contains(&s) => Ok((1.0 / s).round() as u64),
            s => Err(invalid!("--validation {s} must be 0, or up to 0.5: one of every two")),
        }
    }

    /// Whether the row with this number, counted from 0, is held back.
    pub fn holds_back(&self, row: u64) -> bool {
        let Some(block) = row.checked_div(self.every) else { return false };
        let mixed = mix(block ^ (self.seed as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        row % self.every == mixed % self.every
    }
}

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_every_so_many_rows_is_held_back() {
        let held = |seed| -> Vec<u64> {
            let split = Split { every: 5, seed };
            (0..1000).filter(|row| split.holds_back(*row)).collect()
        };
        assert_eq!(held(1).len(), 200);
        assert!(held(1).iter().enumerate().all(|(block, row)| row / 5 == block as u64));
        assert_ne!(held(1), held(2));
        assert!(!Split { every: 0, seed: 1 }.holds_back(0));
    }
}
