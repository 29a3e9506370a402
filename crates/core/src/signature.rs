//! Signatures: the strings of an op (`"a: T"`, `"values: N * T"`, `"T: {float, int32} = DT_FLOAT"`) parsed, attrs validated
//! against them, and the types of a node's inputs and outputs inferred.

mod attr_spec;

pub use attr_spec::{AttrKind, AttrSpec};

use crate::attr::{Attr, Attrs};
use crate::dtype::DataType;
use crate::error::Result;
use crate::invalid;
use crate::op::Op;
use std::ops::Range;

/// The parsed signature of an op.
#[derive(Debug, Clone, Default)]
pub struct Signature {
    pub inputs: Vec<ArgSpec>,
    pub outputs: Vec<ArgSpec>,
    pub attrs: Vec<AttrSpec>,
}

/// One argument: a tensor, `N` tensors of one type, or a list of tensors of listed types.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgSpec {
    pub name: &'static str,
    pub ty: ArgType,
    /// Name of the attr with the number of tensors.
    pub number: Option<&'static str>,
    /// A reference to a variable, not its value.
    pub is_ref: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ArgType {
    Fixed(DataType),
    /// The type in an attr.
    Attr(&'static str),
    /// One tensor for each type in an attr of kind list(type).
    List(&'static str),
}

/// The type of one input or output of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    pub dtype: DataType,
    pub is_ref: bool,
}

impl Signature {
    pub fn parse(op: &Op) -> Result<Signature> {
        let wrong = |what: &str, e: crate::error::Error| e.context(format_args!("op {}: {what}", op.name));
        let attrs: Vec<AttrSpec> = op
            .attrs
            .iter()
            .map(|text| AttrSpec::parse(text).map_err(|e| wrong(text, e)))
            .collect::<Result<_>>()?;
        let args = |texts: &[&'static str]| -> Result<Vec<ArgSpec>> {
            texts.iter().map(|text| ArgSpec::parse(text, &attrs).map_err(|e| wrong(text, e))).collect()
        };
        Ok(Signature { inputs: args(op.inputs)?, outputs: args(op.outputs)?, attrs })
    }

    pub fn attr(&self, name: &str) -> Option<&AttrSpec> {
        self.attrs.iter().find(|a| a.name == name)
    }

    /// Fills in defaults and validates declared attrs. Attrs that start with `_` are accepted,
    /// as are unknown ones: newer clients send attrs that older servers do not know.
    pub fn complete(&self, attrs: &mut Attrs) -> Result<()> {
        for spec in &self.attrs {
            attrs.share_name(spec.name);
            match attrs.get(spec.name) {
                Some(value) => {
                    if let Some(fixed) = spec.check(value)? {
                        attrs.set(spec.name, fixed);
                    }
                }
                None => match &spec.default {
                    Some(default) => attrs.set(spec.name, default.clone()),
                    None => {
                        return Err(invalid!(
                            "attr '{}' ({}) is missing and has no default",
                            spec.name,
                            spec.describe()
                        ));
                    }
                },
            }
        }
        Ok(())
    }

    /// Removes declared attrs that have their default value.
    pub fn strip_defaults(&self, attrs: &mut Attrs) {
        for spec in &self.attrs {
            if spec.default.is_some() && spec.default.as_ref() == attrs.get(spec.name) {
                attrs.remove(spec.name);
            }
        }
    }

    pub fn input_ports(&self, attrs: &Attrs) -> Result<Vec<Port>> {
        ports(&self.inputs, attrs)
    }

    pub fn output_ports(&self, attrs: &Attrs) -> Result<Vec<Port>> {
        ports(&self.outputs, attrs)
    }

    /// Which inputs belong to which input argument.
    pub fn input_ranges(&self, attrs: &Attrs) -> Result<Vec<Range<usize>>> {
        ranges(&self.inputs, attrs)
    }

    pub fn output_ranges(&self, attrs: &Attrs) -> Result<Vec<Range<usize>>> {
        ranges(&self.outputs, attrs)
    }
}

/// Most tensors in one argument of a node: larger numbers come from hostile graphs, not programs.
const MAX_LIST: i64 = 1 << 20;

fn ports(args: &[ArgSpec], attrs: &Attrs) -> Result<Vec<Port>> {
    let mut out = Vec::with_capacity(args.len());
    for arg in args {
        arg.each_type(attrs, |dtype| out.push(Port { dtype, is_ref: arg.is_ref }))?;
    }
    Ok(out)
}

fn ranges(args: &[ArgSpec], attrs: &Attrs) -> Result<Vec<Range<usize>>> {
    let mut at = 0;
    args.iter()
        .map(|arg| {
            let start = at;
            arg.each_type(attrs, |_| at += 1)?;
            Ok(start..at)
        })
        .collect()
}

impl ArgSpec {
    fn parse(text: &'static str, attrs: &[AttrSpec]) -> Result<ArgSpec> {
        let (name, rest) =
            text.split_once(':').ok_or_else(|| invalid!("an argument is written 'name: type'"))?;
        let (number, ty) = match rest.split_once('*') {
            Some((n, ty)) => (Some(n.trim()), ty.trim()),
            None => (None, rest.trim()),
        };
        let (is_ref, ty) = match ty.strip_prefix("Ref(").and_then(|r| r.strip_suffix(')')) {
            Some(inner) => (true, inner.trim()),
            None => (false, ty),
        };
        let ty = match attrs.iter().find(|a| a.name == ty) {
            Some(spec) if matches!(spec.kind, AttrKind::List(_)) => ArgType::List(ty),
            Some(_) => ArgType::Attr(ty),
            None => ArgType::Fixed(
                DataType::from_name(ty).ok_or_else(|| invalid!("'{ty}' is neither a type nor an attr"))?,
            ),
        };
        Ok(ArgSpec { name: name.trim(), ty, number, is_ref })
    }

    fn each_type(&self, attrs: &Attrs, mut add: impl FnMut(DataType)) -> Result<()> {
        let dtype = match &self.ty {
            ArgType::List(name) => {
                for t in attrs.types(name)? {
                    add(t);
                }
                return Ok(());
            }
            ArgType::Fixed(t) => *t,
            ArgType::Attr(name) => attrs.dtype(name)?,
        };
        let count = match &self.number {
            Some(name) => attrs.int(name)?,
            None => 1,
        };
        if !(0..=MAX_LIST).contains(&count) {
            return Err(invalid!(
                "'{}' would have {count} tensors; at most {MAX_LIST} can be given",
                self.name
            ));
        }
        (0..count).for_each(|_| add(dtype));
        Ok(())
    }
}

/// Infers unset type and number attrs from the inputs of each argument.
pub fn infer_attrs(signature: &Signature, given: &[Vec<DataType>], attrs: &mut Attrs) -> Result<()> {
    if given.len() != signature.inputs.len() {
        return Err(invalid!("takes {} arguments, got {}", signature.inputs.len(), given.len()));
    }
    for (arg, types) in signature.inputs.iter().zip(given) {
        if let Some(number) = &arg.number {
            set_or_check(attrs, number, Attr::Int(types.len() as i64), arg.name)?;
        } else if types.len() != 1 && !matches!(arg.ty, ArgType::List(_)) {
            return Err(invalid!("'{}' is one tensor, got {}", arg.name, types.len()));
        }
        match &arg.ty {
            ArgType::List(name) => set_or_check(attrs, name, Attr::types(types), arg.name)?,
            ArgType::Attr(name) => {
                for t in types {
                    set_or_check(attrs, name, Attr::Type(*t), arg.name)?;
                }
            }
            ArgType::Fixed(need) => {
                if let Some(got) = types.iter().find(|t| *t != need) {
                    return Err(invalid!("'{}' must be {need}, got {got}", arg.name));
                }
            }
        }
    }
    Ok(())
}

fn set_or_check(attrs: &mut Attrs, name: &'static str, value: Attr, arg: &str) -> Result<()> {
    match attrs.get(name) {
        None => attrs.set(name, value),
        Some(have) if *have == value => {}
        Some(have) => {
            return Err(invalid!(
                "'{arg}' has {name} = {}, but another input or attr says {}",
                show(&value),
                show(have)
            ));
        }
    }
    Ok(())
}

fn show(a: &Attr) -> String {
    match a {
        Attr::Type(t) => t.to_string(),
        Attr::Int(i) => i.to_string(),
        Attr::List(l) => format!("[{}]", l.iter().map(show).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}
