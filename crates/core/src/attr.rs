//! `Attr`: a compile-time parameter of a node; `Attrs`: all those of one node.

use crate::dtype::DataType;
use crate::error::{Result, internal};
use crate::invalid;
use crate::shape::PartialShape;
use crate::tensor::Tensor;
use bytes::Bytes;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Attr of a node made by epilogue fusion: the name of the original product, for errors.
pub const FUSED_PRODUCT_NAME: &str = "_product";

/// Attr of a node that applies gradients to an accumulator: its replica, of which each sum takes one gradient.
pub const REPLICA: &str = "_replica";

#[derive(Clone, Debug)]
pub enum Attr {
    Str(Bytes),
    Int(i64),
    Float(f32),
    Bool(bool),
    Type(DataType),
    Shape(PartialShape),
    Tensor(Tensor),
    Func(Func),
    /// The `$T` of a polymorphic function body, replaced when the function is instantiated.
    Placeholder(String),
    List(Vec<Attr>),
}

/// A function's name with the attrs it is instantiated with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Func {
    pub name: String,
    pub attrs: Attrs,
}

impl Func {
    pub fn named(name: impl Into<String>) -> Self {
        Func { name: name.into(), attrs: Attrs::default() }
    }
}

impl Attr {
    pub fn str(s: &str) -> Attr {
        Attr::Str(Bytes::copy_from_slice(s.as_bytes()))
    }

    pub fn ints(v: &[i64]) -> Attr {
        Attr::List(v.iter().map(|i| Attr::Int(*i)).collect())
    }

    pub fn types(v: &[DataType]) -> Attr {
        Attr::List(v.iter().map(|t| Attr::Type(*t)).collect())
    }

    /// The kind of value, as signatures name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Attr::Str(_) => "string",
            Attr::Int(_) => "int",
            Attr::Float(_) => "float",
            Attr::Bool(_) => "bool",
            Attr::Type(_) => "type",
            Attr::Shape(_) => "shape",
            Attr::Tensor(_) => "tensor",
            Attr::Func(_) => "func",
            Attr::Placeholder(_) => "placeholder",
            Attr::List(_) => "list",
        }
    }
}

impl PartialEq for Attr {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Attr::Str(a), Attr::Str(b)) => a == b,
            (Attr::Int(a), Attr::Int(b)) => a == b,
            (Attr::Float(a), Attr::Float(b)) => a.to_bits() == b.to_bits(),
            (Attr::Bool(a), Attr::Bool(b)) => a == b,
            (Attr::Type(a), Attr::Type(b)) => a == b,
            (Attr::Shape(a), Attr::Shape(b)) => a == b,
            (Attr::Tensor(a), Attr::Tensor(b)) => a.same_bits(b),
            (Attr::Func(a), Attr::Func(b)) => a == b,
            (Attr::Placeholder(a), Attr::Placeholder(b)) => a == b,
            (Attr::List(a), Attr::List(b)) => a == b,
            _ => false,
        }
    }
}

macro_rules! attr_from {
    ($($t:ty => $variant:ident),*) => { $(
        impl From<$t> for Attr { fn from(v: $t) -> Attr { Attr::$variant(v) } }
    )* };
}
attr_from!(i64 => Int, f32 => Float, bool => Bool, DataType => Type, PartialShape => Shape, Tensor => Tensor, Func => Func);

impl From<&str> for Attr {
    fn from(v: &str) -> Attr {
        Attr::str(v)
    }
}

pub type Name = Cow<'static, str>;

/// Attrs of a node in the order they were set. There are few, so a search through them is the fastest look-up. Copies share them until one
/// is changed: a node is in the graph, in plans and in kernels.
#[derive(Clone, Default)]
pub struct Attrs(Option<Arc<Vec<(Name, Attr)>>>);

impl Attrs {
    pub fn new() -> Self {
        Attrs::default()
    }

    /// From attrs whose names are known to differ, as those of a map are: no search for duplicates.
    pub fn of_map<N: Into<Name>>(map: impl Iterator<Item = (N, Attr)>) -> Self {
        let all: Vec<(Name, Attr)> = map.map(|(n, a)| (n.into(), a)).collect();
        Attrs((!all.is_empty()).then(|| Arc::new(all)))
    }

    fn items(&self) -> &[(Name, Attr)] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    fn items_mut(&mut self) -> &mut Vec<(Name, Attr)> {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.items().iter().find(|(n, _)| n == name).map(|(_, a)| a)
    }

    pub fn set(&mut self, name: impl Into<Name>, value: impl Into<Attr>) {
        let (name, value) = (name.into(), value.into());
        let items = self.items_mut();
        match items.iter_mut().find(|(n, _)| *n == name) {
            Some(slot) => slot.1 = value,
            None => items.push((name, value)),
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<Attr> {
        let at = self.items().iter().position(|(n, _)| n == name)?;
        Some(self.items_mut().remove(at).1)
    }

    /// Interns a name: replaces it by the signature's own, which takes no memory.
    pub(crate) fn share_name(&mut self, name: &'static str) {
        let own = |n: &Name| matches!(n, Cow::Owned(n) if n == name);
        if let Some(at) = self.items().iter().position(|(n, _)| own(n)) {
            self.items_mut()[at].0 = Cow::Borrowed(name);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Attr)> {
        self.items().iter().map(|(n, a)| (n.as_ref(), a))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Attr)> {
        self.items_mut().iter_mut().map(|slot| (&*slot.0, &mut slot.1))
    }

    pub fn len(&self) -> usize {
        self.items().len()
    }

    pub fn is_empty(&self) -> bool {
        self.items().is_empty()
    }

    fn need<'a, T>(&'a self, name: &str, want: &str, pick: impl FnOnce(&'a Attr) -> Option<T>) -> Result<T> {
        let attr = self.get(name).ok_or_else(|| internal(format_args!("no attr '{name}' ({want})")))?;
        pick(attr).ok_or_else(|| invalid!("attr '{name}' must be a {want}, got a {}", attr.kind()))
    }

    pub fn bool(&self, name: &str) -> Result<bool> {
        self.need(name, "bool", |a| if let Attr::Bool(v) = a { Some(*v) } else { None })
    }

    pub fn int(&self, name: &str) -> Result<i64> {
        self.need(name, "int", |a| if let Attr::Int(v) = a { Some(*v) } else { None })
    }

    pub fn float(&self, name: &str) -> Result<f32> {
        self.need(name, "float", |a| if let Attr::Float(v) = a { Some(*v) } else { None })
    }

    pub fn bytes(&self, name: &str) -> Result<&Bytes> {
        self.need(name, "string", |a| if let Attr::Str(v) = a { Some(v) } else { None })
    }

    /// A string attr that must be text.
    pub fn str(&self, name: &str) -> Result<&str> {
        std::str::from_utf8(self.bytes(name)?).map_err(|_| invalid!("attr '{name}' is not UTF-8 text"))
    }

    pub fn dtype(&self, name: &str) -> Result<DataType> {
        self.need(name, "type", |a| if let Attr::Type(v) = a { Some(*v) } else { None })
    }

    pub fn shape(&self, name: &str) -> Result<&PartialShape> {
        self.need(name, "shape", |a| if let Attr::Shape(v) = a { Some(v) } else { None })
    }

    pub fn tensor(&self, name: &str) -> Result<&Tensor> {
        self.need(name, "tensor", |a| if let Attr::Tensor(v) = a { Some(v) } else { None })
    }

    pub fn func(&self, name: &str) -> Result<&Func> {
        self.need(name, "func", |a| if let Attr::Func(v) = a { Some(v) } else { None })
    }

    pub fn list(&self, name: &str) -> Result<&[Attr]> {
        self.need(name, "list", |a| if let Attr::List(v) = a { Some(v.as_slice()) } else { None })
    }

    fn list_of<'a, T>(
        &'a self,
        name: &str,
        want: &str,
        pick: impl Fn(&'a Attr) -> Option<T>,
    ) -> Result<Vec<T>> {
        let wrong = |a: &Attr| invalid!("attr '{name}' must be a list({want}), but holds a {}", a.kind());
        self.list(name)?.iter().map(|a| pick(a).ok_or_else(|| wrong(a))).collect()
    }

    pub fn ints(&self, name: &str) -> Result<Vec<i64>> {
        self.list_of(name, "int", |a| if let Attr::Int(v) = a { Some(*v) } else { None })
    }

    pub fn floats(&self, name: &str) -> Result<Vec<f32>> {
        self.list_of(name, "float", |a| if let Attr::Float(v) = a { Some(*v) } else { None })
    }

    pub fn types(&self, name: &str) -> Result<Vec<DataType>> {
        self.list_of(name, "type", |a| if let Attr::Type(v) = a { Some(*v) } else { None })
    }

    pub fn shapes(&self, name: &str) -> Result<Vec<PartialShape>> {
        self.list_of(name, "shape", |a| if let Attr::Shape(v) = a { Some(v.clone()) } else { None })
    }

    pub fn strs(&self, name: &str) -> Result<Vec<&Bytes>> {
        self.list_of(name, "string", |a| if let Attr::Str(v) = a { Some(v) } else { None })
    }

    pub fn funcs(&self, name: &str) -> Result<Vec<&Func>> {
        self.list_of(name, "func", |a| if let Attr::Func(v) = a { Some(v) } else { None })
    }
}

impl PartialEq for Attrs {
    fn eq(&self, other: &Self) -> bool {
        self.items() == other.items()
    }
}

impl fmt::Debug for Attrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Attrs").field(&self.items()).finish()
    }
}

impl<N: Into<Name>, A: Into<Attr>> FromIterator<(N, A)> for Attrs {
    fn from_iter<I: IntoIterator<Item = (N, A)>>(iter: I) -> Self {
        let mut attrs = Attrs::new();
        for (n, a) in iter {
            attrs.set(n, a);
        }
        attrs
    }
}
