//! `LookupTableSizeV2`, `LookupTableExportV2`: the contents of a table.

use super::table::Table;
use crate::named::resource_input;
use crate::prelude::*;

pub static LOOKUP_TABLE_SIZE_V2: Op = Op {
    name: "LookupTableSizeV2",
    doc: "The number of entries.",
    inputs: &["table_handle: resource"],
    outputs: &["size: int64"],
    shape: shape_call::scalar,
    kernels: cpu!(size),
    ..Op::STATEFUL
};

fn size(c: &mut OpCall<'_>) -> Result<()> {
    let n = resource_input::<Table>(c)?.len();
    c.set(0, Tensor::scalar(n as i64));
    Ok(())
}

pub static LOOKUP_TABLE_EXPORT_V2: Op = Op {
    name: "LookupTableExportV2",
    doc: "All keys and values.",
    outputs: &["keys: Tkeys", "values: Tvalues"],
    attrs: &["Tkeys: type", "Tvalues: type"],
    // A dense table gives its buckets as a matrix.
    shape: shape_call::unknown,
    kernels: cpu!(export),
    ..LOOKUP_TABLE_SIZE_V2
};

fn export(c: &mut OpCall<'_>) -> Result<()> {
    let table = resource_input::<Table>(c)?;
    if (c.output_type(0)?, c.output_type(1)?) != (table.key, table.value) {
        return Err(invalid!("table {} maps {} to {}, asked for others", table.name, table.key, table.value));
    }
    let (keys, values) = table.export()?;
    c.set(0, keys);
    c.set(1, values);
    Ok(())
}
