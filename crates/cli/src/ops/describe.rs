//! Descriptions of one op, as text and as JSON.

use serde::{Serialize, Serializer};
use std::fmt::Write;
use thalweg_core::attr::Attr;
use thalweg_core::dtype::DataType::{
    self, Bfloat16, Complex64, Complex128, Double, Float, Half, Int8, Int16, Int32, Int64, Uint8, Uint16,
    Uint32, Uint64,
};
use thalweg_core::error::Result;
use thalweg_core::op::{Class, Gradient, KernelRow, Make, Op};
use thalweg_core::registry::Registry;

/// `a: T, b: T -> product: T`
pub fn signature(op: &Op) -> String {
    let (inputs, outputs) = (op.inputs.join(", "), op.outputs.join(", "));
    match (inputs.is_empty(), outputs.is_empty()) {
        (_, true) => inputs,
        (true, _) => format!("-> {outputs}"),
        _ => format!("{inputs} -> {outputs}"),
    }
}

pub fn gradient(op: &Op) -> &'static str {
    match op.grad {
        Gradient::Rule(_) => "yes",
        Gradient::Stops => "stops",
        Gradient::Missing => "no",
    }
}

/// Types that are named together when an op takes all of them.
const GROUPS: [(&str, &[DataType]); 3] = [
    ("floats", &[Half, Bfloat16, Float, Double]),
    ("ints", &[Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64]),
    ("complex", &[Complex64, Complex128]),
];

/// The types that have kernels, of the attr that the first row names.
pub fn dtypes(op: &Op) -> String {
    let Some(first) = op.kernels.first() else { return "-".into() };
    let Some((attr, _)) = first.types.first() else { return "any".into() };
    let of_row = |row: &KernelRow| row.types.iter().find(|t| t.0 == *attr).map(|t| t.1);
    let mut left: Vec<DataType> = op.kernels.iter().filter_map(of_row).collect();
    left.sort_unstable();
    left.dedup();
    let mut names = Vec::new();
    for (name, group) in GROUPS {
        if group.iter().all(|t| left.contains(t)) {
            left.retain(|t| !group.contains(t));
            names.push(name);
        }
    }
    names.extend(left.iter().map(|t| t.name()));
    names.join(" ")
}

pub fn flags(op: &Op) -> Vec<&'static str> {
    let class = match op.class {
        Class::Plain => None,
        Class::Constant => Some("constant"),
        Class::Placeholder => Some("placeholder"),
        Class::Call(_) => Some("calls"),
        Class::Argument | Class::Return => Some("function"),
        Class::Send | Class::Recv => Some("transfer"),
        Class::Switch
        | Class::Merge
        | Class::Enter
        | Class::Exit
        | Class::NextIteration
        | Class::LoopCond => Some("control-flow"),
    };
    let is_async = op.kernels.iter().any(|k| matches!(k.make, Make::Async(_)));
    let flags = [
        (op.stateful, "stateful"),
        (op.commutative, "commutative"),
        (op.expensive, "expensive"),
        (is_async, "async"),
        (!op.tiles.is_empty(), "fuses"),
    ];
    class.into_iter().chain(flags.into_iter().filter(|f| f.0).map(|f| f.1)).collect()
}

/// The description as text.
pub fn text(registry: &Registry, op: &'static Op) -> Result<String> {
    let spec = registry.signature(op)?;
    let mut out = format!("{}({}) -> ({})\n", op.name, op.inputs.join(", "), op.outputs.join(", "));
    if !op.doc.is_empty() {
        let _ = writeln!(out, "  {}", op.doc);
    }
    if !spec.attrs.is_empty() {
        out.push_str("\nattrs\n");
        let width = spec.attrs.iter().map(|a| a.name.len()).max().unwrap_or(0);
        for a in &spec.attrs {
            let default = a.default.as_ref().map(|d| format!(" = {}", value(d))).unwrap_or_default();
            let _ = writeln!(out, "  {:width$}  {}{default}", a.name, a.describe());
        }
    }
    out.push_str("\nkernels\n");
    if op.kernels.is_empty() {
        out.push_str("  none\n");
    }
    for line in kernel_lines(op) {
        let _ = writeln!(out, "  {line}");
    }
    let flags = flags(op);
    let _ = writeln!(out, "\ngradient  {}", gradient(op));
    let _ = writeln!(out, "flags     {}", if flags.is_empty() { "none".into() } else { flags.join(", ") });
    for (what, args) in [("inputs", op.host_inputs), ("outputs", op.host_outputs)] {
        if !args.is_empty() {
            let _ = writeln!(out, "{what} in host memory: {}", args.join(", "));
        }
    }
    Ok(out)
}

/// Kernels of one attr share a line, `CPU  T in float, double`; others have their own.
fn kernel_lines(op: &Op) -> Vec<String> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for row in op.kernels {
        let kind = match row.make {
            Make::Async(_) => "  (async)",
            _ => "",
        };
        match row.types {
            [] => lines.push((format!("{}  any types{kind}", row.device), String::new())),
            [(attr, t)] => {
                let head = format!("{}{kind}  {attr} in ", row.device);
                match lines.iter_mut().find(|l| l.0 == head) {
                    Some(line) => {
                        let _ = write!(line.1, ", {t}");
                    }
                    None => lines.push((head, t.to_string())),
                }
            }
            several => {
                let types: Vec<_> = several.iter().map(|(a, t)| format!("{a} = {t}")).collect();
                lines.push((format!("{}{kind}  {}", row.device, types.join(", ")), String::new()));
            }
        }
    }
    lines.into_iter().map(|(head, types)| head + &types).collect()
}

/// A default value as in signatures.
fn value(a: &Attr) -> String {
    match a {
        Attr::Str(s) => format!("'{}'", s.escape_ascii()),
        Attr::Int(v) => v.to_string(),
        Attr::Float(v) => v.to_string(),
        Attr::Bool(v) => v.to_string(),
        Attr::Type(t) => t.to_string(),
        Attr::Shape(s) => s.to_string(),
        Attr::Tensor(t) => t.to_string(),
        Attr::Func(f) => format!("'{}'", f.name),
        Attr::Placeholder(p) => format!("${p}"),
        Attr::List(items) => format!("[{}]", items.iter().map(value).collect::<Vec<_>>().join(", ")),
    }
}

/// The description as JSON.
#[derive(Serialize)]
pub struct Description {
    name: &'static str,
    doc: &'static str,
    inputs: &'static [&'static str],
    outputs: &'static [&'static str],
    attrs: &'static [&'static str],
    gradient: &'static str,
    flags: Vec<&'static str>,
    kernels: Vec<Kernel>,
}

#[derive(Serialize)]
struct Kernel {
    device: &'static str,
    #[serde(serialize_with = "types")]
    types: &'static [(&'static str, DataType)],
    priority: i32,
}

/// An object with the attrs as keys.
fn types<S: Serializer>(types: &[(&str, DataType)], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(types.iter().map(|(attr, t)| (attr, t.name())))
}

impl Description {
    pub fn of(op: &'static Op) -> Description {
        let kernel =
            |row: &KernelRow| Kernel { device: row.device, types: row.types, priority: row.priority };
        Description {
            name: op.name,
            doc: op.doc,
            inputs: op.inputs,
            outputs: op.outputs,
            attrs: op.attrs,
            gradient: gradient(op),
            flags: flags(op),
            kernels: op.kernels.iter().map(kernel).collect(),
        }
    }
}
