//! Measuring, aggregating and formatting times.

use std::time::Instant;
use thalweg_core::error::Result;

/// Runs `f` repeatedly for about so many seconds; returns seconds per run. The first run is a warm-up, as with the
/// peers.
pub fn per_run(mut f: impl FnMut() -> Result<()>, seconds: f64) -> Result<f64> {
    f()?;
    let mut n = 1u64;
    loop {
        let start = Instant::now();
        for _ in 0..n {
            f()?;
        }
        let took = start.elapsed().as_secs_f64();
        if took >= seconds / 2.0 {
            return Ok(took / n as f64);
        }
        // At most tenfold: the first runs may be slow ones.
        let times = (seconds / took.max(1e-9)).clamp(2.0, 10.0);
        n = (n as f64 * times) as u64;
    }
}

pub fn median(v: &mut [f64]) -> f64 {
    v.sort_by(f64::total_cmp);
    match v.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => v[n / 2],
        n => (v[n / 2 - 1] + v[n / 2]) / 2.0,
    }
}

/// Three digits and a unit: `1.23 ms`.
pub fn shown(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let places = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.places$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        let cases = [(2.5e-8, "25.0 ns"), (1.234e-6, "1.23 µs"), (0.123, "123 ms"), (12.34, "12.3 s")];
        for (seconds, text) in cases {
            assert_eq!(shown(seconds), text);
        }
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
