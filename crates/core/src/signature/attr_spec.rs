//! `AttrSpec`: one attr of a signature, in TensorFlow's notation: `N: int >= 1 = 2`, `T: {float, double}`,
//! `padding: {'SAME', 'VALID'}`, `strides: list(int) = [1, 1]`, `shape: shape = { unknown_rank: true }`.

use crate::attr::Attr;
use crate::dtype::DataType;
use crate::error::{Lossy, Result};
use crate::invalid;
use crate::shape::PartialShape;
use crate::tensor::Tensor;

#[derive(Debug, Clone, PartialEq)]
pub struct AttrSpec {
    pub name: &'static str,
    pub kind: AttrKind,
    /// Types allowed, where the signature limits them.
    pub types: Option<Vec<DataType>>,
    /// Strings allowed, where the signature limits them.
    pub strings: Option<Vec<String>>,
    /// Least value of an int, least length of a list.
    pub minimum: Option<i64>,
    pub default: Option<Attr>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AttrKind {
    Str,
    Int,
    Float,
    Bool,
    Type,
    Shape,
    Tensor,
    Func,
    List(Box<AttrKind>),
}

use DataType::{
    Bfloat16, Complex64, Complex128, Double, Float, Half, Int8, Int16, Int32, Int64, Qint8, Qint16, Qint32,
    Quint8, Quint16, Uint8, Uint16, Uint32, Uint64,
};
const NUMBER_TYPES: &[DataType] = &[
    Float, Double, Int32, Uint8, Int16, Int8, Complex64, Int64, Qint8, Quint8, Qint32, Bfloat16, Qint16,
    Quint16, Uint16, Complex128, Half, Uint32, Uint64,
];
const REAL_NUMBER_TYPES: &[DataType] =
    &[Float, Double, Int32, Uint8, Int16, Int8, Int64, Bfloat16, Uint16, Half, Uint32, Uint64];
const QUANTIZED_TYPES: &[DataType] = &[Qint8, Quint8, Qint32, Qint16, Quint16];

impl AttrSpec {
    pub fn parse(text: &'static str) -> Result<AttrSpec> {
        let (name, rest) = text.split_once(':').ok_or_else(|| invalid!("an attr is written 'name: kind'"))?;
        let (decl, default) = split_default(rest);
        let (decl, minimum) = match decl.split_once(">=") {
            Some((d, m)) => (d.trim(), Some(m.trim().parse().map_err(|_| invalid!("bad minimum '{m}'"))?)),
            None => (decl.trim(), None),
        };
        let mut spec = AttrSpec {
            name: name.trim(),
            kind: AttrKind::Int,
            types: None,
            strings: None,
            minimum,
            default: None,
        };
        spec.kind = spec.parse_kind(decl)?;
        if let Some(d) = default {
            spec.default = Some(parse_value(&spec.kind, d.trim())?);
        }
        Ok(spec)
    }

    fn parse_kind(&mut self, text: &str) -> Result<AttrKind> {
        if let Some(inner) = text.strip_prefix("list(").and_then(|t| t.strip_suffix(')')) {
            return Ok(AttrKind::List(Box::new(self.parse_kind(inner.trim())?)));
        }
        if let Some(inner) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            let items: Vec<&str> = inner.split(',').map(str::trim).filter(|s| !s.is_empty()).collect();
            if items.iter().all(|i| i.starts_with('\'')) {
                self.strings = Some(items.iter().map(|i| i.trim_matches('\'').to_string()).collect());
                return Ok(AttrKind::Str);
            }
            let types: Option<Vec<DataType>> = items.iter().map(|i| DataType::from_name(i)).collect();
            self.types = Some(types.ok_or_else(|| invalid!("unknown type in '{text}'"))?);
            return Ok(AttrKind::Type);
        }
        let kind = match text {
            "string" => AttrKind::Str,
            "int" => AttrKind::Int,
            "float" => AttrKind::Float,
            "bool" => AttrKind::Bool,
            "type" => AttrKind::Type,
            "shape" => AttrKind::Shape,
            "tensor" => AttrKind::Tensor,
            "func" => AttrKind::Func,
            "numbertype" | "realnumbertype" | "quantizedtype" => {
                self.types = Some(
                    match text {
                        "numbertype" => NUMBER_TYPES,
                        "realnumbertype" => REAL_NUMBER_TYPES,
                        _ => QUANTIZED_TYPES,
                    }
                    .to_vec(),
                );
                AttrKind::Type
            }
            other => return Err(invalid!("unknown attr kind '{other}'")),
        };
        Ok(kind)
    }

    /// Validates a value. An empty list is untyped on the wire: it matches every list type.
    /// Returns a replacement where the value must be converted.
    pub fn check(&self, value: &Attr) -> Result<Option<Attr>> {
        if matches!(value, Attr::Placeholder(_)) {
            return Ok(None);
        }
        let wrong = |got: &str| invalid!("attr '{}' must be {}, got {got}", self.name, self.describe());
        let items: &[Attr] = match (&self.kind, value) {
            (AttrKind::List(_), Attr::List(items)) => items,
            (AttrKind::List(_), other) => return Err(wrong(&format!("a {}", other.kind()))),
            (_, one) => std::slice::from_ref(one),
        };
        let kind = if let AttrKind::List(inner) = &self.kind { inner } else { &self.kind };
        for item in items {
            if !kind_matches(kind, item) {
                return Err(wrong(&format!("a {}", item.kind())));
            }
            if let (Some(types), Attr::Type(t)) = (&self.types, item)
                && !types.contains(t)
            {
                return Err(wrong(t.name()));
            }
            if let (Some(strings), Attr::Str(s)) = (&self.strings, item)
                && !strings.iter().any(|allowed| allowed.as_bytes() == s.as_ref())
            {
                return Err(wrong(&format!("'{}'", Lossy(s))));
            }
        }
        if let Some(minimum) = self.minimum {
            let got = match value {
                Attr::Int(i) => *i,
                _ => items.len() as i64,
            };
            if got < minimum {
                return Err(wrong(&got.to_string()));
            }
        }
        Ok(None)
    }

    /// The rule in words: `int >= 1`, `one of {float, double}`.
    pub fn describe(&self) -> String {
        let mut text = match (&self.types, &self.strings) {
            (Some(types), _) => {
                format!("{{{}}}", types.iter().map(|t| t.name()).collect::<Vec<_>>().join(", "))
            }
            (_, Some(strings)) => format!("{{'{}'}}", strings.join("', '")),
            _ => if let AttrKind::List(inner) = &self.kind { inner } else { &self.kind }.name().to_string(),
        };
        if matches!(self.kind, AttrKind::List(_)) {
            text = format!("list({text})");
        }
        match self.minimum {
            Some(m) => format!("{text} >= {m}"),
            None => text,
        }
    }
}

impl AttrKind {
    /// As signatures write it; `list` whatever it holds.
    pub fn name(&self) -> &'static str {
        match self {
            AttrKind::Str => "string",
            AttrKind::Int => "int",
            AttrKind::Float => "float",
            AttrKind::Bool => "bool",
            AttrKind::Type => "type",
            AttrKind::Shape => "shape",
            AttrKind::Tensor => "tensor",
            AttrKind::Func => "func",
            AttrKind::List(_) => "list",
        }
    }
}

fn kind_matches(kind: &AttrKind, value: &Attr) -> bool {
    kind.name() == value.kind()
}

/// The part after a `=` that is not part of `>=`.
fn split_default(text: &str) -> (&str, Option<&str>) {
    let bytes = text.as_bytes();
    let at = (0..bytes.len()).find(|i| bytes[*i] == b'=' && (*i == 0 || bytes[i - 1] != b'>'));
    match at {
        Some(i) => (text[..i].trim(), Some(&text[i + 1..])),
        None => (text.trim(), None),
    }
}

fn parse_value(kind: &AttrKind, text: &str) -> Result<Attr> {
    let bad = || invalid!("cannot read '{text}' as a default");
    Ok(match kind {
        AttrKind::Str => Attr::str(text.trim_matches(|c| c == '\'' || c == '"')),
        AttrKind::Int => Attr::Int(text.parse().map_err(|_| bad())?),
        AttrKind::Float => Attr::Float(text.parse().map_err(|_| bad())?),
        AttrKind::Bool => Attr::Bool(text.parse().map_err(|_| bad())?),
        AttrKind::Type => Attr::Type(DataType::from_name(text).ok_or_else(bad)?),
        AttrKind::Shape if text.contains("unknown_rank") => Attr::Shape(PartialShape::unknown()),
        AttrKind::Shape if text == "{}" => Attr::Shape(PartialShape::scalar()),
        // The bytes of a vector, as a colour: `uint8 [255, 0, 0, 255]`.
        AttrKind::Tensor => {
            let items = text.strip_prefix("uint8 [").and_then(|t| t.strip_suffix(']')).ok_or_else(bad)?;
            let bytes: Vec<u8> =
                items.split(',').map(|i| i.trim().parse().map_err(|_| bad())).collect::<Result<_>>()?;
            Attr::Tensor(Tensor::vector(&bytes)?)
        }
        AttrKind::Func if text.is_empty() || text == "''" => Attr::Func(Default::default()),
        AttrKind::List(inner) => {
            let items = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).ok_or_else(bad)?;
            let items = items.split(',').map(str::trim).filter(|s| !s.is_empty());
            Attr::List(items.map(|i| parse_value(inner, i)).collect::<Result<_>>()?)
        }
        _ => return Err(bad()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation_of_signatures() {
        let n = AttrSpec::parse("N: int >= 1 = 2").unwrap();
        assert_eq!((n.minimum, n.default.clone()), (Some(1), Some(Attr::Int(2))));
        assert!(n.check(&Attr::Int(0)).is_err());
        assert!(n.check(&Attr::Bool(true)).is_err());
        let t = AttrSpec::parse("T: {float, int32} = DT_FLOAT").unwrap();
        assert!(t.check(&Attr::Type(Double)).is_err());
        assert_eq!(t.describe(), "{float, int32}");
        let p = AttrSpec::parse("padding: {'SAME', 'VALID'}").unwrap();
        assert!(p.check(&Attr::str("SAME")).is_ok() && p.check(&Attr::str("X")).is_err());
        let l = AttrSpec::parse("strides: list(int) >= 2 = [1, 1]").unwrap();
        assert_eq!(l.default, Some(Attr::ints(&[1, 1])));
        assert!(l.check(&Attr::ints(&[1])).is_err());
        let s = AttrSpec::parse("shape: shape = { unknown_rank: true }").unwrap();
        assert_eq!(s.default, Some(Attr::Shape(PartialShape::unknown())));
        assert!(AttrSpec::parse("x: nonsense").is_err());
    }
}
