//! `CompositeTensorVariantFromComponents`, `CompositeTensorVariantToComponents`: the tensors of a composite one (ragged,
//! sparse, or of an extension) in a variant.

use crate::prelude::*;
use crate::variants;
use std::any::Any;
use thalweg_core::tensor::VariantValue;
use thalweg_io::varint;

pub static OPS: &[&Op] =
    &[&COMPOSITE_TENSOR_VARIANT_FROM_COMPONENTS, &COMPOSITE_TENSOR_VARIANT_TO_COMPONENTS];

static COMPOSITE_TENSOR_VARIANT_FROM_COMPONENTS: Op = Op {
    name: "CompositeTensorVariantFromComponents",
    doc: "The components of a composite tensor in a variant; metadata says what it is.",
    inputs: &["components: Tcomponents"],
    outputs: &["encoded: variant"],
    attrs: &["metadata: string", "Tcomponents: list(type) >= 0"],
    shape: shape_call::scalar,
    grad: Rule(|g| {
        let dy = g.dy()?;
        let grads = g.ops("CompositeTensorVariantToComponents", [dy.into()], &attrs_of(g.attrs))?;
        Ok(grads.into_iter().map(Grad::from).collect())
    }),
    kernels: cpu!(make from_components),
    ..Op::PURE
};

static COMPOSITE_TENSOR_VARIANT_TO_COMPONENTS: Op = Op {
    name: "CompositeTensorVariantToComponents",
    doc: "The components of the composite tensor in a variant, which must be of the kind that metadata says.",
    inputs: &["encoded: variant"],
    outputs: &["components: Tcomponents"],
    attrs: &["metadata: string", "Tcomponents: list(type) >= 0"],
    shape: shape_call::unknown,
    grad: Rule(|g| {
        // Components without a gradient are passed as they are, to be complete.
        let each: Vec<Output> = g.y.iter().zip(g.dy).map(|(y, dy)| dy.unwrap_or(*y)).collect();
        Ok(vec![g.op("CompositeTensorVariantFromComponents", [each.into()], &attrs_of(g.attrs))?.into()])
    }),
    kernels: cpu!(make to_components),
    ..Op::PURE
};

fn attrs_of(attrs: &Attrs) -> Vec<(&'static str, Attr)> {
    ["metadata", "Tcomponents"].into_iter().filter_map(|n| Some((n, attrs.get(n)?.clone()))).collect()
}

struct Composite {
    class: u64,
    components: Vec<Tensor>,
}

impl VariantValue for Composite {
    fn type_name(&self) -> &'static str {
        "CompositeTensorVariant"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn zeros_like(&self, depth: u32) -> Result<Variant> {
        let zeros = reserve::try_collect(self.components.iter().map(|t| variants::zeros_like(t, depth)))?;
        Ok(Variant::new(Composite { class: self.class, components: zeros }))
    }
}

/// The class of the type spec in a CompositeTensorVariantMetadata: field 1 (varint) of its field 1 (message); 0, unknown,
/// if there is none.
fn class_of(metadata: &[u8]) -> Result<u64> {
    let inner = field(metadata, |number, wire| number == 1 && wire == 2)?;
    Ok(match inner {
        Some(Field::Bytes(spec)) => match field(spec, |number, wire| number == 1 && wire == 0)? {
            Some(Field::Varint(class)) => class,
            _ => 0,
        },
        _ => 0,
    })
}

enum Field<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
}

/// The last field of a message that is wanted, as in any message the last one counts.
fn field(mut bytes: &[u8], wanted: impl Fn(u64, u64) -> bool) -> Result<Option<Field<'_>>> {
    let bad = || invalid!("Error parsing metadata");
    let mut found = None;
    while !bytes.is_empty() {
        let key = varint::take(&mut bytes).ok_or_else(bad)?;
        let value = match key & 7 {
            0 => Field::Varint(varint::take(&mut bytes).ok_or_else(bad)?),
            wire @ (1 | 2 | 5) => {
                let n = match wire {
                    1 => 8,
                    5 => 4,
                    _ => varint::take_size(&mut bytes).ok_or_else(bad)?,
                };
                let (value, rest) = bytes.split_at_checked(n).ok_or_else(bad)?;
                bytes = rest;
                Field::Bytes(value)
            }
            _ => return Err(bad()),
        };
        if wanted(key >> 3, key & 7) {
            found = Some(value);
        }
    }
    Ok(found)
}

fn from_components(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let class = class_of(node.attrs.bytes("metadata")?)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let components = reserve::try_collect((0..c.inputs.len()).map(|i| c.take(i)))?;
        c.set(0, Tensor::from_object(Variant::new(Composite { class, components })));
        Ok(())
    }))
}

fn to_components(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let class = class_of(node.attrs.bytes("metadata")?)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let [one] = c.input(0)?.variants()? else {
            return Err(invalid!("`encoded` must be one variant, got shape {}", c.shape(0)?));
        };
        let Some(held) = one.get::<Composite>() else {
            return Err(invalid!("The input `encoded` holds no CompositeTensorVariant, but {one:?}"));
        };
        if held.class != class {
            return Err(invalid!(
                "Expected a type spec of class {class} (based on `type_spec`), but `encoded` contains one of class {}",
                held.class
            ));
        }
        if held.components.len() != c.node.outputs.len() {
            return Err(invalid!(
                "Encoded value has {} tensor components; expected {} components based on type_spec",
                held.components.len(),
                c.node.outputs.len()
            ));
        }
        for (i, (t, port)) in held.components.iter().zip(&c.node.outputs).enumerate() {
            if t.dtype() != port.dtype {
                return Err(invalid!(
                    "Tensor component {i} had dtype {}; expected dtype {}",
                    t.dtype(),
                    port.dtype
                ));
            }
        }
        let all = reserve::copied(&held.components)?;
        for (i, t) in all.into_iter().enumerate() {
            c.set(i, t);
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn what_comes_out_is_what_went_in_and_what_was_expected() {
        // A TypeSpecProto of class RAGGED_TENSOR_SPEC, with a field that is skipped.
        let meta = |class: u8| Attr::Str(vec![10, 4, 8, class, 18, 0].into());
        let types = |t: DataType| Attr::types(&[DataType::Float, t]);
        let inputs = [floats(&[2], &[1.0, 2.0]), ints(&[], &[7])];
        let attrs = [("metadata", meta(3)), ("Tcomponents", types(DataType::Int32))];
        let one = call("CompositeTensorVariantFromComponents", &inputs, &attrs).unwrap();
        let back = |class: u8, t: Attr| {
            call("CompositeTensorVariantToComponents", &one, &[("metadata", meta(class)), ("Tcomponents", t)])
        };
        let y = back(3, types(DataType::Int32)).unwrap();
        assert!(y[0].same_bits(&inputs[0]) && y[1].same_bits(&inputs[1]));
        assert_eq!(code(back(2, types(DataType::Int32))), Code::InvalidArgument);
        assert_eq!(code(back(3, types(DataType::Float))), Code::InvalidArgument);
        assert_eq!(code(back(3, Attr::types(&[DataType::Float]))), Code::InvalidArgument);
        let bad = [("metadata", Attr::Str(vec![255].into())), ("Tcomponents", types(DataType::Int32))];
        assert_eq!(code(call("CompositeTensorVariantFromComponents", &inputs, &bad)), Code::InvalidArgument);
    }
}
