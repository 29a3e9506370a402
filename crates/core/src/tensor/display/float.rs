//! Floats as numpy prints them, alone and in columns.

use crate::dtype::f16;

/// Maximum digits after the point in a column.
const PRECISION: usize = 8;

/// A float type: exact as `f64`, with its own shortest digits.
pub trait Float: Copy {
    /// Columns with larger values use an exponent.
    const COLUMN_LIMIT: f64;
    /// The same for scalars.
    const SCALAR_LIMIT: f64;

    fn to_f64(self) -> f64;
    /// The nearest value of the type, as `f64`.
    fn round(v: f64) -> f64;
    /// The fewest digits that round-trip: `-1.25e-3`.
    fn shortest(self) -> String;

    /// As Python prints one number.
    fn scalar(self) -> String {
        let text = self.plain_scalar();
        if text.contains(['.', 'e', 'n']) { text } else { text + ".0" }
    }

    /// As `scalar`, whole numbers without a point.
    fn plain_scalar(self) -> String {
        let v = self.to_f64();
        if !v.is_finite() {
            return special(v).to_string();
        }
        let digits = Digits::of(&self.shortest());
        if v == 0.0 || (1e-4..Self::SCALAR_LIMIT).contains(&v.abs()) {
            digits.positional()
        } else {
            digits.scientific(2)
        }
    }
}

impl Float for f32 {
    const COLUMN_LIMIT: f64 = 1e6;
    const SCALAR_LIMIT: f64 = 1e6;
    fn to_f64(self) -> f64 {
        self as f64
    }
    fn round(v: f64) -> f64 {
        v as f32 as f64
    }
    fn shortest(self) -> String {
        even(format!("{self:e}"), self as f64, |text| text.parse() == Ok(self))
    }
}

impl Float for f64 {
    const COLUMN_LIMIT: f64 = 1e8;
    const SCALAR_LIMIT: f64 = 1e16;
    fn to_f64(self) -> f64 {
        self
    }
    fn round(v: f64) -> f64 {
        v
    }
    fn shortest(self) -> String {
        even(format!("{self:e}"), self, |text| text.parse() == Ok(self))
    }
}

impl Float for f16 {
    const COLUMN_LIMIT: f64 = 1e3;
    const SCALAR_LIMIT: f64 = 1e3;
    fn to_f64(self) -> f64 {
        f16::to_f64(self)
    }
    fn round(v: f64) -> f64 {
        f16::from_f64(v).to_f64()
    }
    fn shortest(self) -> String {
        // Five digits always round-trip.
        let v = f16::to_f64(self);
        let means_it = |text: &String| text.parse().is_ok_and(|back: f64| f16::from_f64(back) == self);
        (0..5).map(|places| format!("{v:.places$e}")).find(means_it).unwrap_or_else(|| format!("{v:.5e}"))
    }
}

/// Of two shortest forms at equal distance, the one that ends in an even digit.
fn even(shortest: String, v: f64, means_it: impl Fn(&str) -> bool) -> String {
    let places =
        shortest.bytes().take_while(|b| *b != b'e').filter(u8::is_ascii_digit).count().saturating_sub(1);
    let exact = format!("{v:.places$e}");
    if means_it(&exact) { exact } else { shortest }
}

/// With so many digits after the point.
pub fn fixed(v: f64, places: usize) -> String {
    if v.is_finite() { format!("{v:.places$}") } else { special(v).to_string() }
}

fn special(v: f64) -> &'static str {
    match v {
        v if v.is_nan() => "nan",
        v if v > 0.0 => "inf",
        _ => "-inf",
    }
}

/// A parsed decimal number: `0.d1d2d3… × 10^(exponent + 1)`.
struct Digits {
    negative: bool,
    digits: String,
    exponent: i32,
}

impl Digits {
    /// From `-1.25e-3`.
    fn of(text: &str) -> Digits {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        Digits {
            negative: mantissa.starts_with('-'),
            digits: match digits.trim_end_matches('0') {
                "" => "0".into(),
                trimmed => trimmed.into(),
            },
            exponent: exponent.parse().unwrap_or(0),
        }
    }

    /// Digits after the point when written without an exponent.
    fn places(&self) -> usize {
        (self.digits.len() as i32 - 1 - self.exponent).max(0) as usize
    }

    /// Without an exponent: `0.00125`, `3`.
    fn positional(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let point = self.exponent + 1;
        if point <= 0 {
            let zeros = "0".repeat(point.unsigned_abs() as usize);
            return if self.digits == "0" {
                format!("{sign}0")
            } else {
                format!("{sign}0.{zeros}{}", self.digits)
            };
        }
        match self.digits.split_at_checked(point as usize) {
            Some((whole, "")) => format!("{sign}{whole}"),
            Some((whole, part)) => format!("{sign}{whole}.{part}"),
            None => format!("{sign}{:0<width$}", self.digits, width = point as usize),
        }
    }

    /// With an exponent of at least so many digits: `1.25e-03`, `1e+20`.
    fn scientific(&self, exponent_digits: usize) -> String {
        let sign = if self.negative { "-" } else { "" };
        let (first, rest) = self.digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        format!("{sign}{first}{point}{rest}{}", exponent_text(self.exponent, exponent_digits))
    }
}

fn exponent_text(exponent: i32, digits: usize) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:0digits$}", exponent.abs())
}

/// `(1+2j)`, `2j`.
pub fn complex<T: Float>(re: T, im: T) -> String {
    let imaginary = im.plain_scalar();
    let r = re.to_f64();
    if r == 0.0 && r.is_sign_positive() {
        return format!("{imaginary}j");
    }
    let plus = if imaginary.starts_with('-') { "" } else { "+" };
    format!("({}{plus}{imaginary}j)", re.plain_scalar())
}

/// Six significant digits, as C's `%g`: how bfloat16 is printed.
pub fn general(v: f64) -> String {
    if !v.is_finite() {
        return special(v).to_string();
    }
    let digits = Digits::of(&format!("{v:.5e}"));
    if (-4..6).contains(&digits.exponent) { digits.positional() } else { digits.scientific(2) }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Sign {
    WhereNegative,
    Always,
}

/// The format of the floats of one array, aligned at the point.
pub struct Column {
    sign: Sign,
    /// Characters before the point and after it.
    left: usize,
    right: usize,
    /// Digits of the exponent, if any.
    exponent: Option<usize>,
}

impl Column {
    pub fn new<T: Float>(values: &[T], sign: Sign) -> Column {
        let finite: Vec<T> = values.iter().copied().filter(|v| v.to_f64().is_finite()).collect();
        let mut column = Column { sign, left: 0, right: 0, exponent: needs_exponent(&finite).then_some(2) };
        let mut places = 0;
        for v in &finite {
            let text = if column.exponent.is_some() { scientific(*v) } else { positional(*v) };
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, ""));
            let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
            let plus = usize::from(sign == Sign::Always && !whole.starts_with('-'));
            column.left = column.left.max(whole.len() + plus);
            places = places.max(part.len());
            column.exponent = column.exponent.map(|e| e.max(exponent.len().saturating_sub(1)));
        }
        column.right = places;
        if finite.len() < values.len() {
            let negative = sign == Sign::Always || values.iter().any(|v| v.to_f64() == f64::NEG_INFINITY);
            let taken = column.after_point() + 1;
            column.left = column.left.max((3 + usize::from(negative)).saturating_sub(taken));
        }
        column
    }

    /// Characters after the point, including the exponent.
    fn after_point(&self) -> usize {
        self.right + self.exponent.map_or(0, |e| e + 2)
    }

    pub fn cell<T: Float>(&self, value: T) -> String {
        let v = value.to_f64();
        let mut text = if !v.is_finite() {
            special(v).to_string()
        } else if let Some(exponent) = self.exponent {
            let exact = format!("{v:.places$e}", places = self.right);
            let (mantissa, power) = exact.split_once('e').unwrap_or((&exact, "0"));
            let point = if self.right == 0 { "." } else { "" };
            format!("{mantissa}{point}{}", exponent_text(power.parse().unwrap_or(0), exponent))
        } else {
            positional(value)
        };
        if self.sign == Sign::Always && !text.starts_with('-') {
            text.insert(0, '+');
        }
        if !v.is_finite() {
            return format!("{text:>width$}", width = self.left + self.after_point() + 1);
        }
        let (before, after) = text.split_at(text.find('.').unwrap_or(text.len()));
        format!("{before:>left$}{after:<right$}", left = self.left, right = self.after_point() + 1)
    }
}

/// Whether some value is too large or too small, or the range too wide, to print positionally.
fn needs_exponent<T: Float>(finite: &[T]) -> bool {
    let sizes = || finite.iter().map(|v| v.to_f64().abs()).filter(|v| *v != 0.0);
    let Some(most) = sizes().reduce(f64::max) else { return false };
    let least = sizes().reduce(f64::min).unwrap_or(most);
    most >= T::COLUMN_LIMIT || least < T::round(0.0001) || T::round(most / least) > 1000.0
}

/// The shortest digits, rounded to eight places: `2.5`, `3.`
fn positional<T: Float>(value: T) -> String {
    let digits = Digits::of(&value.shortest());
    let text = if digits.places() > PRECISION {
        let cut = format!("{:.PRECISION$}", value.to_f64());
        cut.trim_end_matches('0').to_string()
    } else {
        digits.positional()
    };
    if text.contains('.') { text } else { text + "." }
}

/// As `positional`, with an exponent: `2.5e-10`, `3.e+00`
fn scientific<T: Float>(value: T) -> String {
    let mut digits = Digits::of(&value.shortest());
    if digits.digits.len() > PRECISION + 1 {
        digits = Digits::of(&format!("{:.PRECISION$e}", value.to_f64()));
    }
    digits.scientific(2)
}
