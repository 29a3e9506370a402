//! OpDef: an op's signature as a message.

use super::attr_to_proto;
use thalweg_core::attr::Attr;
use thalweg_core::error::Result;
use thalweg_core::op::Op;
use thalweg_core::signature::{ArgSpec, ArgType, AttrKind, AttrSpec, Signature};
use thalweg_proto::OpDef;
use thalweg_proto::op_def::{ArgDef, AttrDef};

pub fn op_to_proto(op: &Op, signature: &Signature) -> Result<OpDef> {
    Ok(OpDef {
        name: op.name.to_string(),
        summary: op.doc.to_string(),
        input_arg: signature.inputs.iter().map(argument).collect(),
        output_arg: signature.outputs.iter().map(argument).collect(),
        attr: signature.attrs.iter().map(attr).collect::<Result<_>>()?,
        is_stateful: op.stateful,
        is_commutative: op.commutative,
        ..Default::default()
    })
}

fn argument(arg: &ArgSpec) -> ArgDef {
    let mut p = ArgDef {
        name: arg.name.to_string(),
        number_attr: arg.number.unwrap_or_default().to_string(),
        is_ref: arg.is_ref,
        ..Default::default()
    };
    match &arg.ty {
        ArgType::Fixed(t) => p.r#type = t.wire(),
        ArgType::Attr(name) => p.type_attr = name.to_string(),
        ArgType::List(name) => p.type_list_attr = name.to_string(),
    }
    p
}

fn attr(spec: &AttrSpec) -> Result<AttrDef> {
    let types = spec.types.as_ref().map(|types| Attr::types(types));
    let strings = spec.strings.as_ref().map(|all| Attr::List(all.iter().map(|s| Attr::str(s)).collect()));
    Ok(AttrDef {
        name: spec.name.to_string(),
        r#type: kind_name(&spec.kind),
        default_value: spec.default.as_ref().map(attr_to_proto).transpose()?,
        has_minimum: spec.minimum.is_some(),
        minimum: spec.minimum.unwrap_or_default(),
        allowed_values: types.or(strings).as_ref().map(attr_to_proto).transpose()?,
        ..Default::default()
    })
}

fn kind_name(kind: &AttrKind) -> String {
    match kind {
        AttrKind::List(inner) => format!("list({})", inner.name()),
        one => one.name().to_string(),
    }
}
