//! `--memory-limit`: how much memory the process may use.

use thalweg_core::memory;

#[derive(clap::Args)]
pub struct Args {
    /// Memory that the process may use, such as 2GiB or 300MiB [default: what its cgroup, its address space and the machine allow]
    #[arg(long, value_name = "BYTES", global = true, value_parser = bytes)]
    memory_limit: Option<usize>,
}

impl Args {
    pub fn apply(&self) {
        memory::start(self.memory_limit);
    }
}

const UNITS: [(&str, u32); 9] = [
    ("KiB", 10),
    ("MiB", 20),
    ("GiB", 30),
    ("TiB", 40),
    ("K", 10),
    ("M", 20),
    ("G", 30),
    ("T", 40),
    ("B", 0),
];

/// What the program itself needs.
const MIN: usize = 64 << 20;

fn bytes(text: &str) -> Result<usize, String> {
    let (number, shift) =
        UNITS.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift))).unwrap_or((text, 0));
    let number: usize = number
        .trim()
        .parse()
        .map_err(|_| format!("'{text}' is not a number of bytes; write it as 2GiB, 300MiB or 1073741824"))?;
    let bytes =
        number.checked_mul(1 << shift).ok_or_else(|| format!("{text} is more than an address space has"))?;
    match bytes < MIN {
        true => Err(format!("{text} is too little to run in; give it 64MiB or more")),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        assert_eq!(bytes("2GiB"), Ok(2 << 30));
        assert_eq!(bytes("300M"), Ok(300 << 20));
        assert_eq!(bytes("104857600"), Ok(100 << 20));
        for bad in ["", "2 gigabytes", "-5MiB", "10KiB", "99999999TiB"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }
}
