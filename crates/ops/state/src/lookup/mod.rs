//! Lookup tables: keys to values.

mod dense;
mod dense_table;
mod find;
mod hash_table_v2;
mod initialize;
mod insert;
mod older;
mod size;
mod table;

pub use table::Table;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![OF_RESOURCES, older::OPS];

static OF_RESOURCES: &[&Op] = &[
    &dense_table::MUTABLE_DENSE_HASH_TABLE_V2,
    &dense_table::MUTABLE_DENSE_HASH_TABLE,
    &dense_table::ANONYMOUS_MUTABLE_DENSE_HASH_TABLE,
    &hash_table_v2::HASH_TABLE_V2,
    &hash_table_v2::MUTABLE_HASH_TABLE_V2,
    &hash_table_v2::MUTABLE_HASH_TABLE_OF_TENSORS_V2,
    &find::LOOKUP_TABLE_FIND_V2,
    &insert::LOOKUP_TABLE_INSERT_V2,
    &insert::LOOKUP_TABLE_IMPORT_V2,
    &insert::LOOKUP_TABLE_REMOVE_V2,
    &size::LOOKUP_TABLE_SIZE_V2,
    &size::LOOKUP_TABLE_EXPORT_V2,
    &initialize::INITIALIZE_TABLE_V2,
    &initialize::INITIALIZE_TABLE_FROM_TEXT_FILE_V2,
];

#[cfg(test)]
mod tests;
