//! Tables of older graphs, whose handles are references to container and name, and anonymous tables.

use super::{find, hash_table_v2, initialize, insert, size};
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &HASH_TABLE,
    &Op { name: "MutableHashTable", kernels: hash_table_v2::MUTABLE_HASH_TABLE_V2.kernels, ..HASH_TABLE },
    &Op {
        name: "MutableHashTableOfTensors",
        kernels: hash_table_v2::MUTABLE_HASH_TABLE_OF_TENSORS_V2.kernels,
        attrs: hash_table_v2::MUTABLE_HASH_TABLE_OF_TENSORS_V2.attrs,
        ..HASH_TABLE
    },
    &ANONYMOUS_HASH_TABLE,
    &Op {
        name: "AnonymousMutableHashTable",
        kernels: hash_table_v2::MUTABLE_HASH_TABLE_V2.kernels,
        ..ANONYMOUS_HASH_TABLE
    },
    &Op {
        name: "AnonymousMutableHashTableOfTensors",
        attrs: &["key_dtype: type", "value_dtype: type", "value_shape: shape = {}"],
        kernels: hash_table_v2::MUTABLE_HASH_TABLE_OF_TENSORS_V2.kernels,
        ..ANONYMOUS_HASH_TABLE
    },
    &Op {
        name: "LookupTableFind",
        inputs: &["table_handle: Ref(string)", "keys: Tin", "default_value: Tout"],
        ..find::LOOKUP_TABLE_FIND_V2
    },
    &Op {
        name: "LookupTableInsert",
        inputs: &["table_handle: Ref(string)", "keys: Tin", "values: Tout"],
        ..insert::LOOKUP_TABLE_INSERT_V2
    },
    &Op {
        name: "LookupTableImport",
        inputs: &["table_handle: Ref(string)", "keys: Tin", "values: Tout"],
        ..insert::LOOKUP_TABLE_IMPORT_V2
    },
    &Op { name: "LookupTableSize", inputs: BY_REFERENCE, ..size::LOOKUP_TABLE_SIZE_V2 },
    &Op { name: "LookupTableExport", inputs: BY_REFERENCE, ..size::LOOKUP_TABLE_EXPORT_V2 },
    &Op {
        name: "InitializeTable",
        inputs: &["table_handle: Ref(string)", "keys: Tkey", "values: Tval"],
        ..initialize::INITIALIZE_TABLE_V2
    },
    &Op {
        name: "InitializeTableFromTextFile",
        inputs: &["table_handle: Ref(string)", "filename: string"],
        ..initialize::INITIALIZE_TABLE_FROM_TEXT_FILE_V2
    },
];

const BY_REFERENCE: &[&str] = &["table_handle: Ref(string)"];

static HASH_TABLE: Op = Op {
    name: "HashTable",
    outputs: BY_REFERENCE,
    shape: |_| Ok(vec![PartialShape::vector(2)]),
    ..hash_table_v2::HASH_TABLE_V2
};

static ANONYMOUS_HASH_TABLE: Op = Op {
    name: "AnonymousHashTable",
    doc: "A handle to a new table, freed with its last handle.",
    attrs: &["key_dtype: type", "value_dtype: type"],
    ..hash_table_v2::HASH_TABLE_V2
};
