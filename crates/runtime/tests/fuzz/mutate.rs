//! Edge cases and mutated messages.

use crate::common::cast;
use thalweg_core::attr::Attr;
use thalweg_core::case::CaseGen;
use thalweg_core::dtype::DataType;
use thalweg_core::shape::{PartialShape, Shape};
use thalweg_core::tensor::Tensor;
use thalweg_proto::attr_value::Value;
use thalweg_proto::tensor_shape_proto::Dim;
use thalweg_proto::{GraphDef, Message, NodeDef};

/// Numbers that cause overflow.
pub const EXTREMES: [i64; 12] =
    [0, -1, 1, 2, 7, -10, i32::MAX as i64, i32::MIN as i64, 1 << 31, 1 << 40, i64::MAX, i64::MIN];

/// The elements of `t`, repeated, another shape.
fn reshaped(t: &Tensor, dims: &[usize]) -> Option<Tensor> {
    let shape = Shape::new(dims).ok()?;
    if !t.dtype().is_plain() {
        return Tensor::zeros(t.dtype(), shape).ok().filter(|_| t.dtype() == DataType::String);
    }
    let bytes = t.bytes().ok()?;
    let want = shape.elements() * t.dtype().size();
    let source: Vec<u8> = if bytes.is_empty() { vec![0; t.dtype().size()] } else { bytes.to_vec() };
    let all: Vec<u8> = source.iter().copied().cycle().take(want).collect();
    Tensor::from_bytes(t.dtype(), shape, &all).ok()
}

/// The tensor filled with one value, cast to its type.
fn full_of(t: &Tensor, value: f64) -> Option<Tensor> {
    let one = Tensor::full(t.shape().clone(), value).ok()?;
    match t.dtype() {
        DataType::Int64 => Tensor::full(t.shape().clone(), value as i64).ok(),
        DataType::Uint64 => Tensor::full(t.shape().clone(), value as u64).ok(),
        d if d.is_float() || d.is_complex() || d.is_integer() => cast(&one, d).ok(),
        _ => None,
    }
}

/// Replacements of this tensor.
pub fn strange_tensors(t: &Tensor) -> Vec<Tensor> {
    let dims = t.shape().dims();
    let mut all: Vec<Option<Tensor>> =
        vec![reshaped(t, &[0]), reshaped(t, &[]), reshaped(t, &[12]), reshaped(t, &[1, 0, 2])];
    for extra in [0, 1, 2] {
        all.push(reshaped(t, &[dims, &[extra]].concat()));
        all.push(reshaped(t, &[&[extra], dims].concat()));
    }
    for axis in 0..dims.len() {
        for size in [0, 1, dims[axis] + 1, dims[axis].saturating_sub(1), dims[axis] * 2] {
            let mut other = dims.to_vec();
            other[axis] = size;
            all.push(reshaped(t, &other));
        }
        let mut fewer = dims.to_vec();
        fewer.remove(axis);
        all.push(reshaped(t, &fewer));
    }
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e300, 5e-324] {
        all.push(full_of(t, value));
    }
    all.extend(EXTREMES.iter().map(|v| full_of(t, *v as f64)));
    // The last element only: one invalid size or index.
    for v in EXTREMES {
        let mut other = t.clone();
        match t.dtype() {
            DataType::Int32 => {
                other.as_mut_slice::<i32>().ok().and_then(|s| s.last_mut()).map(|l| *l = v as i32)
            }
            DataType::Int64 => other.as_mut_slice::<i64>().ok().and_then(|s| s.last_mut()).map(|l| *l = v),
            _ => None,
        };
        all.push(Some(other));
    }
    for d in [
        DataType::Float,
        DataType::Int32,
        DataType::Int64,
        DataType::Bool,
        DataType::Uint8,
        DataType::Complex64,
        DataType::String,
    ] {
        all.push(cast(t, d).ok().filter(|_| d != t.dtype()));
    }
    all.push(Tensor::zeros(DataType::Resource, Shape::vector(0)).ok());
    all.into_iter().flatten().collect()
}

/// A tensor of a type with random shape and values.
pub fn any_tensor(dtype: DataType, r: &mut CaseGen) -> Tensor {
    let dims: Vec<usize> = (0..r.below(4)).map(|_| [0, 1, 1, 2, 2, 3, 5][r.below(7)]).collect();
    let shape = Shape::new(&dims).unwrap();
    let count = shape.elements();
    match dtype {
        DataType::String => {
            let texts: [&[u8]; 5] = [b"", b"a", b"/dev/null/none", b"\xff\xfe", b"%s%n"];
            let items = (0..count).map(|_| thalweg_proto::Bytes::from_static(texts[r.below(5)])).collect();
            Tensor::from_objects(shape, items).unwrap()
        }
        d if d.is_plain() && !d.is_quantized() => {
            let wild = r.below(4) == 0;
            let values: Vec<f64> = (0..count)
                .map(|_| if wild { EXTREMES[r.below(12)] as f64 } else { (r.unit() * 8.0 - 3.0).floor() })
                .collect();
            // There is no cast to some small floats (float8_e4m3fnuz), as in TensorFlow.
            let cast = cast(&Tensor::from_slice(shape.clone(), &values).unwrap(), d);
            cast.or_else(|_| Tensor::zeros(d, shape)).unwrap()
        }
        d => Tensor::zeros(d, shape).or_else(|_| Tensor::zeros(d, Shape::vector(0))).unwrap(),
    }
}

/// Replacements of an attr.
pub fn strange_attrs(attr: &Attr) -> Vec<Attr> {
    let shapes = || [&[][..], &[-1], &[0], &[1, 2, 3, 4, 5, 6], &[1 << 40], &[1 << 31, 1 << 31], &[i64::MAX]];
    match attr {
        Attr::Int(_) => EXTREMES.map(Attr::Int).to_vec(),
        Attr::Float(_) => [f32::NAN, f32::INFINITY, -1.0, 0.0, f32::MAX].map(Attr::Float).to_vec(),
        Attr::Bool(b) => vec![Attr::Bool(!b), Attr::Int(1)],
        Attr::Str(_) => ["", "x", "NHWC", "NCHW", "\u{0}", "%s%s", "$", "VALID"].map(Attr::str).to_vec(),
        Attr::Type(_) => DataType::all().map(Attr::Type).collect(),
        Attr::Shape(_) => {
            let mut all: Vec<Attr> =
                shapes().iter().filter_map(|d| PartialShape::new(d).ok()).map(Attr::Shape).collect();
            all.push(Attr::Shape(PartialShape::unknown()));
            all
        }
        Attr::Tensor(t) => strange_tensors(t).into_iter().map(Attr::Tensor).collect(),
        Attr::Func(_) | Attr::Placeholder(_) => vec![Attr::Int(1), Attr::Placeholder("T".into())],
        Attr::List(items) => {
            let mut all =
                vec![Attr::List(vec![]), Attr::Int(1), Attr::List([items.as_slice(), items].concat())];
            for (i, item) in items.iter().enumerate() {
                for strange in strange_attrs(item) {
                    let mut other = items.clone();
                    other[i] = strange;
                    all.push(Attr::List(other));
                }
            }
            all.push(Attr::List(items.iter().skip(1).cloned().collect()));
            all
        }
    }
}

/// One mutation of a graph. Bytes are mutated later.
pub fn break_graph(def: &mut GraphDef, r: &mut CaseGen) {
    let ops: Vec<String> = def.node.iter().map(|n| n.op.clone()).collect();
    let names: Vec<String> = def.node.iter().map(|n| n.name.clone()).collect();
    let functions = def.library.as_mut().map(|l| l.function.as_mut_slice()).unwrap_or_default();
    let in_body = !functions.is_empty() && r.below(2) == 0;
    let nodes: &mut Vec<NodeDef> = match in_body {
        true => {
            let at = r.below(functions.len());
            &mut functions[at].node_def
        }
        false => &mut def.node,
    };
    if nodes.is_empty() {
        return;
    }
    let at = r.below(nodes.len());
    match r.below(12) {
        0 => drop(nodes.remove(at)),
        1 => nodes[at].op = ops[r.below(ops.len())].clone(),
        2 => nodes[at].name = names[r.below(names.len())].clone(),
        3 => {
            let copy = nodes[at].clone();
            nodes.push(NodeDef { name: format!("{}_copy", copy.name), ..copy });
        }
        4..=6 => break_input(&mut nodes[at], &names, r),
        _ => break_attr(&mut nodes[at], r),
    }
}

fn break_input(node: &mut NodeDef, names: &[String], r: &mut CaseGen) {
    let other = names[r.below(names.len())].clone();
    let text = match r.below(5) {
        0 => format!("{other}:{}", EXTREMES[r.below(12)]),
        1 => format!("^{other}"),
        2 => String::new(),
        _ => other,
    };
    match (r.below(3), node.input.len()) {
        (_, 0) | (0, _) => node.input.push(text),
        (1, n) => drop(node.input.remove(r.below(n))),
        (_, n) => {
            let at = r.below(n);
            node.input[at] = text;
        }
    }
}

fn break_attr(node: &mut NodeDef, r: &mut CaseGen) {
    let keys: Vec<String> = node.attr.keys().cloned().collect();
    if keys.is_empty() {
        return;
    }
    let key = &keys[r.below(keys.len())];
    if r.below(6) == 0 {
        node.attr.remove(key);
        return;
    }
    let extreme = EXTREMES[r.below(12)];
    let Some(value) = node.attr.get_mut(key).and_then(|a| a.value.as_mut()) else { return };
    match value {
        Value::Type(t) => *t = if r.below(4) == 0 { extreme as i32 } else { r.below(24) as i32 },
        Value::I(i) => *i = extreme,
        Value::B(b) => *b = !*b,
        Value::F(f) => *f = f32::NAN,
        Value::S(s) => *s = thalweg_proto::Bytes::from_static(b"\xff"),
        Value::Shape(s) => s.dim = vec![Dim { size: extreme, ..Default::default() }; r.below(4)],
        Value::Func(f) => f.name.push('x'),
        Value::List(l) => {
            l.r#type.pop();
            l.i.push(extreme);
        }
        Value::Tensor(t) => match r.below(3) {
            0 => t.dtype = r.below(24) as i32,
            1 => t.tensor_content = t.tensor_content.slice(..t.tensor_content.len() / 2),
            _ => {
                if let Some(d) = t.tensor_shape.as_mut().and_then(|s| s.dim.first_mut()) {
                    d.size = extreme;
                }
            }
        },
        Value::Placeholder(p) => p.push('x'),
    }
}

/// The encoded graph with bytes truncated, flipped or duplicated.
pub fn broken_bytes(def: &GraphDef, r: &mut CaseGen) -> Vec<u8> {
    let mut bytes = def.encode_to_vec();
    if bytes.is_empty() {
        return bytes;
    }
    match r.below(4) {
        0 => bytes.truncate(r.below(bytes.len())),
        1 => {
            for _ in 0..1 + r.below(8) {
                let bit = r.below(bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
        2 => {
            let at = r.below(bytes.len());
            bytes[at] = r.bits() as u8;
        }
        _ => {
            let (from, to) = (r.below(bytes.len()), r.below(bytes.len()));
            let piece = bytes[from.min(to)..from.max(to)].to_vec();
            bytes.extend(piece);
        }
    }
    bytes
}
