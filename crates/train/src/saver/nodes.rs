//! The nodes of a saver, named as TensorFlow names them.

use thalweg_client::{Attr, DataType, Operation, Output, PartialShape, Scope, Variable};

pub(super) struct Nodes {
    /// Fed with the prefix of the checkpoint.
    pub filename: Output,
    /// Saves, and outputs the prefix.
    pub save: Output,
    pub restore: Operation,
}

impl Nodes {
    #[track_caller]
    pub fn new(g: &Scope, variables: &[(String, Variable)]) -> Nodes {
        let g = g.root().name_scope("save");
        let default = g.constant_named("filename/input", "model");
        let with_default = |name, input: &Output| {
            g.op("PlaceholderWithDefault")
                .name(name)
                .input(input)
                .attr("shape", PartialShape::scalar())
                .output()
        };
        let filename = with_default("Const", &with_default("filename", &default));
        let save = save(&g, &filename, variables);
        let restore = restore(&g, &filename, variables);
        Nodes { filename, save, restore }
    }
}

/// The second and third inputs of SaveV2 and RestoreV2: names, and slices for parts of partitioned variables.
#[track_caller]
fn names(g: &Scope, op: &str, variables: &[(String, Variable)]) -> [Output; 2] {
    let names: Vec<&str> = variables.iter().map(|(name, _)| name.as_str()).collect();
    let slice = |v: &Variable| v.slice.as_ref().map_or(String::new(), |s| s.spec());
    let slices: Vec<String> = variables.iter().map(|(_, v)| slice(v)).collect();
    let slices: Vec<&str> = slices.iter().map(String::as_str).collect();
    [
        g.constant_named(&format!("{op}/tensor_names"), names),
        g.constant_named(&format!("{op}/shape_and_slices"), slices),
    ]
}

#[track_caller]
fn save(g: &Scope, filename: &Output, variables: &[(String, Variable)]) -> Output {
    let [names, slices] = names(g, "SaveV2", variables);
    let values: Vec<&Output> = variables.iter().map(|(_, v)| &v.value).collect();
    let saved = g.op("SaveV2").input(filename).input(&names).input(&slices).inputs(&values).build();
    g.control_dependencies(&[&saved]).op("Identity").name("control_dependency").input(filename).output()
}

#[track_caller]
fn restore(g: &Scope, filename: &Output, variables: &[(String, Variable)]) -> Operation {
    let cpu = g.device("/device:CPU:0");
    let [names, slices] = names(&cpu, "RestoreV2", variables);
    let types: Vec<DataType> = variables.iter().map(|(_, v)| v.dtype()).collect();
    let restore = cpu.op("RestoreV2").input(filename).input(&names).input(&slices);
    let restored = restore.attr("dtypes", Attr::types(&types)).outputs();
    let assigned: Vec<Operation> = variables
        .iter()
        .zip(&restored)
        .map(|((_, v), value)| {
            let value = g.op("Identity").input(value).output();
            g.op("AssignVariableOp").input(&v.handle).input(&value).build()
        })
        .collect();
    g.control_dependencies(&assigned).op("NoOp").name("restore_all").build()
}
