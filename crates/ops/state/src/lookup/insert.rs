//! `LookupTableInsertV2`, `LookupTableImportV2`, `LookupTableRemoveV2`: table updates.

use super::table::Table;
use crate::named::resource_input;
use crate::prelude::*;

pub static LOOKUP_TABLE_INSERT_V2: Op = Op {
    name: "LookupTableInsertV2",
    doc: "Adds entries to the table, replacing those of the same keys.",
    inputs: &["table_handle: resource", "keys: Tin", "values: Tout"],
    attrs: &["Tin: type", "Tout: type"],
    shape: |_| Ok(vec![]),
    kernels: cpu!(insert),
    ..Op::STATEFUL
};

fn insert(c: &mut OpCall<'_>) -> Result<()> {
    let table = changeable(c, "Insert")?;
    table.insert(c.input(1)?, c.input(2)?, false)
}

pub static LOOKUP_TABLE_IMPORT_V2: Op = Op {
    name: "LookupTableImportV2",
    doc: "Replaces all entries of the table.",
    kernels: cpu!(import),
    ..LOOKUP_TABLE_INSERT_V2
};

fn import(c: &mut OpCall<'_>) -> Result<()> {
    let table = resource_input::<Table>(c)?;
    if table.fixed && c.input(1)?.elements() == 0 {
        return Err(invalid!("keys and values cannot be empty tensors."));
    }
    match table.fixed {
        true => table.initialize(c.input(1)?, c.input(2)?),
        false => table.insert(c.input(1)?, c.input(2)?, true),
    }
}

pub static LOOKUP_TABLE_REMOVE_V2: Op = Op {
    name: "LookupTableRemoveV2",
    doc: "Removes the entries of these keys; keys that the table does not have are ignored.",
    inputs: &["table_handle: resource", "keys: Tin"],
    attrs: &["Tin: type"],
    kernels: cpu!(remove),
    ..LOOKUP_TABLE_INSERT_V2
};

fn remove(c: &mut OpCall<'_>) -> Result<()> {
    changeable(c, "Remove")?.remove(c.input(1)?)
}

fn changeable(c: &OpCall<'_>, what: &str) -> Result<Arc<Table>> {
    let table = resource_input::<Table>(c)?;
    if table.fixed {
        return Err(unimplemented(format_args!(
            "{what} not supported by InitializableLookupTable implementations"
        )));
    }
    Ok(table)
}
