//! `LookupTableFindV2`: the values of keys.

use super::table::Table;
use crate::named::resource_input;
use crate::prelude::*;

pub static LOOKUP_TABLE_FIND_V2: Op = Op {
    name: "LookupTableFindV2",
    doc: "The value of each key, or the default for keys that the table does not have.",
    inputs: &["table_handle: resource", "keys: Tin", "default_value: Tout"],
    outputs: &["values: Tout"],
    attrs: &["Tin: type", "Tout: type"],
    shape: |c| match (c.input(1), c.input(2)) {
        // The default has the shape of a value.
        (keys, default) if keys.rank() == Some(0) => Ok(vec![default]),
        (keys, default) if default.rank() == Some(0) => Ok(vec![keys]),
        _ => shape_call::unknown(c),
    },
    kernels: cpu!(run),
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let table = resource_input::<Table>(c)?;
    let values = table.find(c.input(1)?, c.input(2)?)?;
    c.set(0, values);
    Ok(())
}
