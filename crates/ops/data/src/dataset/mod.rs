//! Datasets: lazy sequences of elements, and iterators over them.
//!
//! `sequence` has the traits, `context` what iterators may use, `task` how they wait asynchronously, `iterator` the resource
//! that steps read from. Each other file is an op, or a few that share a template.

mod anonymous;
mod assert_cardinality;
mod batch;
mod batch_size;
mod cache;
mod checkpoint;
mod choose_fastest;
mod compress_element;
mod concatenate;
mod context;
mod csv;
mod dataset_graph;
mod dense_to_sparse_batch;
mod directed_interleave;
mod element_buffer;
mod file_cache;
pub(crate) mod files;
mod filter;
mod fixed_length_record;
mod flat_map;
mod function;
mod generator;
mod get_next;
mod global_shuffle;
mod group_by;
mod host;
mod index_flat_map;
mod initialize_table;
mod interleave;
mod iterator;
mod iterator_state;
mod iterator_v2;
mod list;
mod load_dataset;
mod make_iterator;
mod map;
mod map_defun;
mod matching_files;
mod one_shot_iterator;
mod optional;
mod options;
mod padded_batch;
mod parse_example;
mod pass_through;
mod prefetch;
mod random;
mod range;
mod rebatch;
mod reduce;
mod repeat;
mod sampling;
mod save_dataset;
mod scan;
mod seed_generator;
mod sequence;
mod shard;
mod shuffle;
mod skip;
mod sleep;
mod snapshot;
mod snapshot_files;
mod sparse_tensor_slice;
mod stats;
mod string_handle;
mod take;
mod task;
mod tensors;
mod text_line;
mod tf_record;
mod thread_pool;
mod unbatch;
mod unique;
mod weighted_flat_map;
mod window;
mod zip;

#[cfg(test)]
mod tests;

pub use host::host_dataset;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &tensors::TENSOR_DATASET,
    &tensors::TENSOR_SLICE_DATASET,
    &range::RANGE_DATASET,
    &text_line::TEXT_LINE_DATASET,
    &tf_record::TF_RECORD_DATASET,
    &tf_record::TF_RECORD_DATASET_V2,
    &fixed_length_record::FIXED_LENGTH_RECORD_DATASET,
    &fixed_length_record::FIXED_LENGTH_RECORD_DATASET_V2,
    &csv::CSV_DATASET,
    &csv::CSV_DATASET_V2,
    &zip::ZIP_DATASET,
    &concatenate::CONCATENATE_DATASET,
    &repeat::REPEAT_DATASET,
    &take::TAKE_DATASET,
    &skip::SKIP_DATASET,
    &shard::SHARD_DATASET,
    &batch::BATCH_DATASET,
    &batch::BATCH_DATASET_V2,
    &padded_batch::PADDED_BATCH_DATASET,
    &padded_batch::PADDED_BATCH_DATASET_V2,
    &shuffle::SHUFFLE_DATASET,
    &shuffle::SHUFFLE_DATASET_V2,
    &shuffle::SHUFFLE_DATASET_V3,
    &shuffle::SHUFFLE_AND_REPEAT_DATASET,
    &shuffle::SHUFFLE_AND_REPEAT_DATASET_V2,
    &seed_generator::DUMMY_SEED_GENERATOR,
    &seed_generator::ANONYMOUS_SEED_GENERATOR,
    &seed_generator::DELETE_SEED_GENERATOR,
    &cache::CACHE_DATASET,
    &cache::CACHE_DATASET_V2,
    &cache::DUMMY_MEMORY_CACHE,
    &cache::ANONYMOUS_MEMORY_CACHE,
    &cache::DELETE_MEMORY_CACHE,
    &prefetch::PREFETCH_DATASET,
    &map::MAP_DATASET,
    &map::PARALLEL_MAP_DATASET,
    &map::PARALLEL_MAP_DATASET_V2,
    &map::MAP_AND_BATCH_DATASET,
    &filter::FILTER_DATASET,
    &filter::TAKE_WHILE_DATASET,
    &flat_map::FLAT_MAP_DATASET,
    &interleave::INTERLEAVE_DATASET,
    &interleave::PARALLEL_INTERLEAVE_DATASET_V2,
    &interleave::PARALLEL_INTERLEAVE_DATASET_V3,
    &interleave::PARALLEL_INTERLEAVE_DATASET_V4,
    &pass_through::OPTIONS_DATASET,
    &pass_through::MODEL_DATASET,
    &pass_through::FINALIZE_DATASET,
    &global_shuffle::GLOBAL_SHUFFLE_DATASET,
    &global_shuffle::GET_ELEMENT_AT_INDEX,
    &window::WINDOW_DATASET,
    &rebatch::REBATCH_DATASET_V2,
    &rebatch::REBATCH_DATASET,
    &rebatch::EXPERIMENTAL_REBATCH_DATASET,
    &unbatch::UNBATCH_DATASET,
    &unbatch::EXPERIMENTAL_UNBATCH_DATASET,
    &scan::SCAN_DATASET,
    &scan::EXPERIMENTAL_SCAN_DATASET,
    &directed_interleave::DIRECTED_INTERLEAVE_DATASET,
    &directed_interleave::EXPERIMENTAL_DIRECTED_INTERLEAVE_DATASET,
    &random::RANDOM_DATASET,
    &random::EXPERIMENTAL_RANDOM_DATASET,
    &random::RANDOM_DATASET_V2,
    &unique::UNIQUE_DATASET,
    &unique::EXPERIMENTAL_UNIQUE_DATASET,
    &unique::IGNORE_ERRORS_DATASET,
    &unique::EXPERIMENTAL_IGNORE_ERRORS_DATASET,
    &pass_through::REWRITE_DATASET,
    &batch::PARALLEL_BATCH_DATASET,
    &interleave::PARALLEL_INTERLEAVE_DATASET,
    &interleave::EXPERIMENTAL_PARALLEL_INTERLEAVE_DATASET,
    &interleave::LEGACY_PARALLEL_INTERLEAVE_DATASET_V2,
    &filter::EXPERIMENTAL_TAKE_WHILE_DATASET,
    &map::EXPERIMENTAL_MAP_DATASET,
    &map::EXPERIMENTAL_MAP_AND_BATCH_DATASET,
    &csv::EXPERIMENTAL_CSV_DATASET,
    &reduce::EXPERIMENTAL_DATASET_CARDINALITY,
    &sparse_tensor_slice::SPARSE_TENSOR_SLICE_DATASET,
    &group_by::GROUP_BY_REDUCER_DATASET,
    &group_by::EXPERIMENTAL_GROUP_BY_REDUCER_DATASET,
    &group_by::GROUP_BY_WINDOW_DATASET,
    &group_by::EXPERIMENTAL_GROUP_BY_WINDOW_DATASET,
    &reduce::DATASET_CARDINALITY,
    &reduce::REDUCE_DATASET,
    &reduce::DATASET_TO_SINGLE_ELEMENT,
    &save_dataset::SAVE_DATASET,
    &save_dataset::SAVE_DATASET_V2,
    &save_dataset::DATASET_TO_TF_RECORD,
    &save_dataset::EXPERIMENTAL_DATASET_TO_TF_RECORD,
    &load_dataset::LOAD_DATASET,
    &map_defun::MAP_DEFUN,
    &compress_element::COMPRESS_ELEMENT,
    &compress_element::UNCOMPRESS_ELEMENT,
    &initialize_table::INITIALIZE_TABLE_FROM_DATASET,
    &parse_example::PARSE_EXAMPLE_DATASET,
    &parse_example::PARSE_EXAMPLE_DATASET_V2,
    &parse_example::EXPERIMENTAL_PARSE_EXAMPLE_DATASET,
    &dense_to_sparse_batch::DENSE_TO_SPARSE_BATCH_DATASET,
    &dense_to_sparse_batch::EXPERIMENTAL_DENSE_TO_SPARSE_BATCH_DATASET,
    &list::LIST_DATASET,
    &matching_files::MATCHING_FILES_DATASET,
    &assert_cardinality::ASSERT_CARDINALITY_DATASET,
    &sampling::SAMPLING_DATASET,
    &generator::GENERATOR_DATASET,
    &snapshot::SNAPSHOT_DATASET_V2,
    &snapshot::SNAPSHOT_DATASET_READER,
    &snapshot::SNAPSHOT_CHUNK_DATASET,
    &snapshot::SNAPSHOT_NESTED_DATASET_READER,
    &dataset_graph::DATASET_TO_GRAPH,
    &dataset_graph::DATASET_TO_GRAPH_V2,
    &dataset_graph::DATASET_FROM_GRAPH,
    &filter::PARALLEL_FILTER_DATASET,
    &pass_through::NON_SERIALIZABLE_DATASET,
    &pass_through::OPTIMIZE_DATASET,
    &pass_through::OPTIMIZE_DATASET_V2,
    &pass_through::MAX_INTRA_OP_PARALLELISM_DATASET,
    &pass_through::PRIVATE_THREAD_POOL_DATASET,
    &pass_through::ASSERT_NEXT_DATASET,
    &pass_through::EXPERIMENTAL_ASSERT_NEXT_DATASET,
    &pass_through::ASSERT_PREV_DATASET,
    &pass_through::WRAP_DATASET_VARIANT,
    &pass_through::UNWRAP_DATASET_VARIANT,
    &seed_generator::ANONYMOUS_RANDOM_SEED_GENERATOR,
    &seed_generator::DELETE_RANDOM_SEED_GENERATOR,
    &pass_through::EXPERIMENTAL_NON_SERIALIZABLE_DATASET,
    &pass_through::EXPERIMENTAL_MAX_INTRA_OP_PARALLELISM_DATASET,
    &pass_through::EXPERIMENTAL_PRIVATE_THREAD_POOL_DATASET,
    &matching_files::EXPERIMENTAL_MATCHING_FILES_DATASET,
    &string_handle::EXPERIMENTAL_ITERATOR_GET_DEVICE,
    &options::GET_OPTIONS,
    &batch_size::COMPUTE_BATCH_SIZE,
    &sleep::SLEEP_DATASET,
    &sleep::EXPERIMENTAL_SLEEP_DATASET,
    &thread_pool::THREAD_POOL_HANDLE,
    &thread_pool::EXPERIMENTAL_THREAD_POOL_HANDLE,
    &thread_pool::THREAD_POOL_DATASET,
    &thread_pool::EXPERIMENTAL_THREAD_POOL_DATASET,
    &window::SLIDING_WINDOW_DATASET,
    &window::EXPERIMENTAL_SLIDING_WINDOW_DATASET,
    &index_flat_map::INDEX_FLAT_MAP_DATASET,
    &weighted_flat_map::WEIGHTED_FLAT_MAP_DATASET,
    &shard::AUTO_SHARD_DATASET,
    &shard::EXPERIMENTAL_AUTO_SHARD_DATASET,
    &choose_fastest::CHOOSE_FASTEST_DATASET,
    &choose_fastest::EXPERIMENTAL_CHOOSE_FASTEST_DATASET,
    &choose_fastest::CHOOSE_FASTEST_BRANCH_DATASET,
    &snapshot::SNAPSHOT_DATASET,
    &dataset_graph::DATASET_FINGERPRINT,
    &stats::LATENCY_STATS_DATASET,
    &stats::EXPERIMENTAL_LATENCY_STATS_DATASET,
    &stats::BYTES_PRODUCED_STATS_DATASET,
    &stats::EXPERIMENTAL_BYTES_PRODUCED_STATS_DATASET,
    &stats::SET_STATS_AGGREGATOR_DATASET,
    &stats::EXPERIMENTAL_SET_STATS_AGGREGATOR_DATASET,
    &stats::STATS_AGGREGATOR_HANDLE,
    &stats::STATS_AGGREGATOR_HANDLE_V2,
    &stats::EXPERIMENTAL_STATS_AGGREGATOR_HANDLE,
    &iterator_v2::ITERATOR_V2,
    &iterator_v2::ITERATOR,
    &iterator_v2::ANONYMOUS_ITERATOR,
    &iterator_v2::ANONYMOUS_ITERATOR_V2,
    &iterator_v2::ANONYMOUS_ITERATOR_V3,
    &iterator_v2::DELETE_ITERATOR,
    &one_shot_iterator::ONE_SHOT_ITERATOR,
    &make_iterator::MAKE_ITERATOR,
    &get_next::ITERATOR_GET_NEXT,
    &get_next::ITERATOR_GET_NEXT_SYNC,
    &get_next::ITERATOR_GET_NEXT_AS_OPTIONAL,
    &iterator_state::SERIALIZE_ITERATOR,
    &iterator_state::DESERIALIZE_ITERATOR,
    &string_handle::ITERATOR_GET_DEVICE,
    &string_handle::ITERATOR_TO_STRING_HANDLE,
    &string_handle::ITERATOR_FROM_STRING_HANDLE_V2,
    &string_handle::ITERATOR_FROM_STRING_HANDLE,
    &optional::OPTIONAL_FROM_VALUE,
    &optional::OPTIONAL_NONE,
    &optional::OPTIONAL_HAS_VALUE,
    &optional::OPTIONAL_GET_VALUE,
];
