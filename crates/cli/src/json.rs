//! Writing JSON: enough for op tables and traces.

use std::fmt;

pub enum Json {
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    /// Keys in the order given.
    Object(Vec<(&'static str, Json)>),
}

impl From<&str> for Json {
    fn from(s: &str) -> Json {
        Json::Text(s.to_string())
    }
}

impl From<f64> for Json {
    fn from(v: f64) -> Json {
        Json::Number(v)
    }
}

impl From<bool> for Json {
    fn from(v: bool) -> Json {
        Json::Bool(v)
    }
}

impl<T: Into<Json>> FromIterator<T> for Json {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Json {
        Json::List(items.into_iter().map(Into::into).collect())
    }
}

/// On one line; `{:#}` puts the items of the outermost list on lines of their own.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Bool(v) => write!(f, "{v}"),
            Json::Number(v) if v.is_finite() => write!(f, "{v}"),
            Json::Number(_) => f.write_str("null"),
            Json::Text(s) => write_text(f, s),
            Json::List(items) => {
                let between = if f.alternate() { ",\n" } else { ", " };
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i > 0 { between } else { "" })?;
                }
                f.write_str("]")
            }
            Json::Object(fields) => {
                f.write_str("{")?;
                for (i, (key, value)) in fields.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    write_text(f, key)?;
                    write!(f, ": {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_text(f: &mut fmt::Formatter<'_>, s: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in s.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            c if (c as u32) < 0x20 => write!(f, "\\u{:04x}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_and_numbers_are_plain() {
        let j = Json::Object(vec![
            ("a\"", Json::from("x\n\u{1}\\")),
            ("b", Json::from_iter([1.0, 2.5, f64::NAN])),
        ]);
        assert_eq!(j.to_string(), r#"{"a\"": "x\n\u0001\\", "b": [1, 2.5, null]}"#);
    }
}
