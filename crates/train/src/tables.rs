//! Lookup tables from words to ids, and the op that initialises them.

use std::path::Path;
use thalweg_client::{Attr, DataType, Operation, Output, Scope, Tensor, keys};

/// A lookup table from keys to ids: the index of a key in a vocabulary.
#[derive(Clone, Debug)]
pub struct IndexTable {
    handle: Output,
    /// How many keys the vocabulary has.
    size: usize,
    default: i64,
    oov_buckets: usize,
}

/// One op that initialises all tables and iterators made so far.
#[track_caller]
pub fn tables_initializer(g: &Scope) -> Operation {
    let all = g.operations_in_collection(keys::TABLE_INITIALIZERS);
    g.control_dependencies(&all).op("NoOp").name("init_all_tables").build()
}

impl IndexTable {
    /// From a vector of strings or int64s. Out-of-vocabulary keys get `default`, or are hashed into `oov_buckets` ids after the last.
    #[track_caller]
    pub fn from_tensor(g: &Scope, keys: Tensor, default: i64, oov_buckets: usize) -> IndexTable {
        let table = IndexTable::empty(g, keys.dtype(), keys.elements(), default, oov_buckets);
        let ids: Vec<i64> = (0..keys.elements() as i64).collect();
        let (keys, ids) = (g.constant_named("keys", keys), g.constant_named("ids", ids));
        let init = g.op("InitializeTableV2").name("table_init").input(&table.handle).input(&keys).input(&ids);
        g.add_operation_to_collection(keys::TABLE_INITIALIZERS, &init.build());
        table
    }

    /// From the first `size` lines of a text file, each a key.
    #[track_caller]
    pub fn from_file(
        g: &Scope,
        file: &Path,
        size: usize,
        dtype: DataType,
        default: i64,
        oov_buckets: usize,
    ) -> IndexTable {
        const WHOLE_LINE: i64 = -2;
        const LINE_NUMBER: i64 = -1;
        let table = IndexTable::empty(g, dtype, size, default, oov_buckets);
        let name = g.constant_named("filename", file.display().to_string());
        g.add_to_collection(keys::ASSET_FILEPATHS, &name);
        let init = g
            .op("InitializeTableFromTextFileV2")
            .name("table_init")
            .input(&table.handle)
            .input(&name)
            .attr("key_index", WHOLE_LINE)
            .attr("value_index", LINE_NUMBER)
            .attr("vocab_size", size as i64);
        g.add_operation_to_collection(keys::TABLE_INITIALIZERS, &init.build());
        table
    }

    fn empty(g: &Scope, key: DataType, size: usize, default: i64, oov_buckets: usize) -> IndexTable {
        let table = g.op("HashTableV2").name("hash_table");
        let table = table.attr("key_dtype", key).attr("value_dtype", DataType::Int64);
        IndexTable { handle: table.attr("shared_name", Attr::str("")).output(), size, default, oov_buckets }
    }

    /// The ids of keys.
    #[track_caller]
    pub fn lookup(&self, g: &Scope, keys: &Output) -> Output {
        let missing = if self.oov_buckets > 0 { -1 } else { self.default };
        let default = g.constant(missing);
        let found = g.op("LookupTableFindV2").input(&self.handle).input(keys).input(&default).output();
        if self.oov_buckets == 0 {
            return found;
        }
        let texts = match keys.dtype() {
            DataType::String => keys.clone(),
            _ => g.op("AsString").input(keys).output(),
        };
        let hash = g.op("StringToHashBucketFast").input(&texts).attr("num_buckets", self.oov_buckets as i64);
        let after = g.add(hash.output(), g.constant(self.size as i64));
        g.select(g.not_equal(&found, default), &found, after)
    }

    /// How many ids there are.
    pub fn ids(&self) -> usize {
        self.size.saturating_add(self.oov_buckets)
    }
}
