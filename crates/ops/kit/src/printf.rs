//! Numbers as C's printf writes them.

/// `%.{precision}e`: at least two digits of exponent.
pub fn scientific(v: f64, precision: usize) -> String {
    match special(v) {
        Some(text) => text.into(),
        None => {
            let text = format!("{v:.precision$e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{digits}{}", exponent_text(exponent.parse().unwrap_or(0)))
        }
    }
}

/// `%.{precision}f`.
pub fn fixed(v: f64, precision: usize) -> String {
    special(v).map_or_else(|| format!("{v:.precision$}"), str::to_string)
}

/// `%.{precision}g`: the shorter of the two above, without trailing zeros.
pub fn general(v: f64, precision: usize) -> String {
    if let Some(text) = special(v) {
        return text.into();
    }
    let precision = precision.max(1);
    let text = format!("{v:.*e}", precision - 1);
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= precision as i32 {
        return format!("{}{}", trimmed(digits), exponent_text(exponent));
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    trimmed(&format!("{v:.decimals$}")).to_string()
}

/// As TensorFlow writes floats into messages: six digits if they are exact, else nine.
pub fn shortest_f32(v: f32) -> String {
    let short = general(v.into(), 6);
    if v.is_nan() || short.parse() == Ok(v) { short } else { general(v.into(), 9) }
}

/// As `shortest_f32`, with 15 or 17 digits.
pub fn shortest_f64(v: f64) -> String {
    let short = general(v, 15);
    if v.is_nan() || short.parse() == Ok(v) { short } else { general(v, 17) }
}

fn exponent_text(exponent: i32) -> String {
    format!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs())
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

fn special(v: f64) -> Option<&'static str> {
    match v {
        v if v.is_nan() => Some("nan"),
        f64::INFINITY => Some("inf"),
        f64::NEG_INFINITY => Some("-inf"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_c_writes_them() {
        let got: Vec<String> =
            [1.0, 0.1, 1.0 / 3.0, 1e10, 1e-10, 123456789.0, 16777216.0, 1e5, 1e6, 123456.7]
                .iter()
                .map(|v| shortest_f32(*v))
                .collect();
        let want = [
            "1",
            "0.1",
            "0.333333343",
            "1e+10",
            "1e-10",
            "123456792",
            "16777216",
            "100000",
            "1e+06",
            "123456.703",
        ];
        assert_eq!(got, want);
        assert_eq!(shortest_f64(1.0 / 3.0), "0.33333333333333331");
        assert_eq!(shortest_f64(1e10), "10000000000");
        assert_eq!(scientific(-0.000123, 3), "-1.230e-04");
        assert_eq!(fixed(2.5, 6), "2.500000");
        assert_eq!(general(0.0, 6), "0");
        assert_eq!(general(f64::NEG_INFINITY, 6), "-inf");
    }
}
