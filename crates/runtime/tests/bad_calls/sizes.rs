//! Rows A: sizes that overflow or exceed memory.

use crate::*;

refused! {
    a01_reshape_to_255_dimensions: "Reshape", [f(&[1, 1]), l(&[0; 255])] => InvalidArgument;
    a02_tile_to_1e24_elements: "Tile", [f(&[1, 1, 1]), v(&[100_000_000; 3])] => InvalidArgument;
    a03_range_from_minus_1e38: "Range", [x(-1e38), x(1.0), x(1.0)] => InvalidArgument | ResourceExhausted;
    a04_range_of_all_int64: "Range", [Tensor::scalar(0i64), Tensor::scalar(i64::MAX), Tensor::scalar(1i64)] => ResourceExhausted | InvalidArgument;
    a05_range_by_zero: "Range", [n(0), n(1), n(0)] => InvalidArgument;
    a05_range_by_nan: "Range", [x(0.0), x(1.0), x(f32::NAN)] => InvalidArgument;
    a06_fill_2_to_the_80: "Fill", [l(&[1 << 40, 1 << 40]), x(1.0)] => InvalidArgument;
    a07_fill_negative: "Fill", [v(&[-1]), x(1.0)] => InvalidArgument;
    a07_random_uniform_negative: "RandomUniform", [v(&[-2, 3])], dtype = DataType::Float => InvalidArgument;
    a07_random_normal_negative: "RandomStandardNormal", [v(&[-2, 3])], dtype = DataType::Float => InvalidArgument;
    a07_stateless_uniform_negative: "StatelessRandomUniform", [v(&[-2, 3]), l(&[1, 2])] => InvalidArgument;
    a08_sparse_split_overflow: "SparseSplit", [Tensor::scalar(0i64), i2(&[[0, 0]]), f(&[1]), l(&[(1 << 60) - 1; 2])], num_split = 2i64 => InvalidArgument | ResourceExhausted;
    a09_segment_sum_far_id: "SegmentSum", [f(&[1, 10, 1]), l(&[1676240524292489355])] => InvalidArgument | ResourceExhausted;
    a10_unsorted_segment_sum_negative: "UnsortedSegmentSum", [f(&[2]), v(&[0, 1]), n(-5)] => InvalidArgument;
    a10_unsorted_segment_sum_many: "UnsortedSegmentSum", [f(&[2]), v(&[0, 1]), Tensor::scalar(1i64 << 40)] => InvalidArgument | ResourceExhausted;
    a11_unravel_negative: "UnravelIndex", [n(-0x100000), v(&[0x100000, 0x100000])] => InvalidArgument;
    a12_space_to_batch_nd_overflow: "SpaceToBatchND", [f(&[1, 1, 1, 1]), v(&[-1879048192; 2]), i(&[2, 2], &[0; 4])] => InvalidArgument;
    a13_pad_by_2_to_the_62: "Pad", [f(&[1]), Tensor::from_slice(Shape::new(&[1, 2]).unwrap(), &[BIG, BIG]).unwrap()] => InvalidArgument | ResourceExhausted;
    a13_pad_negative: "Pad", [f(&[1]), i(&[1, 2], &[-1, 0])] => InvalidArgument;
    a14_mirror_pad_grad_overflow: "MirrorPadGrad", [f(&[1]), i(&[1, 2], &[0x77f00000, 0xa000000])], mode = "REFLECT" => InvalidArgument;
    a15_scatter_nd_2_to_the_62: "ScatterNd", [i(&[1, 1], &[0]), f(&[1]), l(&[BIG])] => InvalidArgument | ResourceExhausted;
    a16_ragged_range_to_1e20: "RaggedRange", [Tensor::vector(&[0f32, 0.0]).unwrap(), Tensor::vector(&[10f32, 1e20]).unwrap(), Tensor::vector(&[1f32, 1.0]).unwrap()] => InvalidArgument;
    a16_ragged_range_of_too_much: "RaggedRange", [n(0), v(&[i32::MAX; 3]), n(1)] => InvalidArgument | ResourceExhausted;
    a17_resize_bilinear_huge: "ResizeBilinear", [f(&[1, 1, 1, 1]), v(&[i32::MAX; 2])] => InvalidArgument | ResourceExhausted;
    a17_resize_nearest_grad_huge: "ResizeNearestNeighborGrad", [f(&[1, 1, 1, 1]), v(&[i32::MAX; 2])] => InvalidArgument | ResourceExhausted;
    a18_sparse_map_of_a_shape_that_overflows: "AddManySparseToTensorsMap", [at(55, &[0; 55]), f(&[1]), l(&[1 << 40; 55])] => InvalidArgument;
    a18_sparse_map_of_2_to_the_40_rows: "AddManySparseToTensorsMap", [i2(&[[0, 0]]), f(&[1]), l(&[1 << 40, 1])] => ResourceExhausted;
    a18_sparse_map_of_one_that_overflows: "AddSparseToTensorsMap", [i2(&[[0, 0]]), f(&[1]), l(&[1 << 40, 1 << 40])] => InvalidArgument;
    a18_sparse_map_without_what_is_taken: "TakeManySparseFromTensorsMap", [l(&[7])], dtype = DataType::Float => InvalidArgument;
    serialized_rows_of_2_to_the_40: "SerializeManySparse", [i2(&[[0, 0]]), f(&[1]), l(&[1 << 40, 1])] => ResourceExhausted;
    sparse_sum_of_2_to_the_62: "SparseReduceSum", [i2(&[[0, 0]]), f(&[1]), l(&[1 << 31, 1 << 31]), v(&[0])] => ResourceExhausted;
    sparse_slice_from_the_end_of_the_range: "SparseSlice", [i2(&[[0, 0]]), f(&[1]), l(&[2, -1]), l(&[0, 0]), l(&[1, 1])] => InvalidArgument;
    set_sizes_of_2_to_the_62: "SetSize", [i2(&[]), v(&[]), l(&[BIG, 1])] => ResourceExhausted | InvalidArgument;
    ragged_rows_that_end_past_the_values: "RaggedTensorToTensor", [Tensor::scalar(-1i64), f(&[3]), x(0.0), l(&[0, 5])], num_row_partition_tensors = 1i64, row_partition_types = row_splits() => InvalidArgument;
    ragged_rows_that_end_far_past_the_values: "RaggedTensorToTensor", [l(&[1, 1]), f(&[3]), x(0.0), l(&[0, BIG])], num_row_partition_tensors = 1i64, row_partition_types = row_splits() => ResourceExhausted | InvalidArgument;
    ragged_rows_that_fall: "RaggedTensorToSparse", [l(&[0, 4, 2, 3]), f(&[3])], RAGGED_RANK = 1i64 => InvalidArgument;
    ragged_rows_past_the_last: "RaggedGather", [l(&[0, 2, 3]), f(&[3]), v(&[2])], PARAMS_RAGGED_RANK = 1i64, OUTPUT_RAGGED_RANK = 1i64 => InvalidArgument;
    ragged_fill_of_2_to_the_62_rows: "RaggedFillEmptyRows", [l(&[]), f(&[0]), Tensor::scalar(BIG), x(1.0)] => ResourceExhausted;
    a19_random_gamma_huge: "RandomGamma", [v(&[i32::MAX, i32::MAX]), f(&[1000])] => InvalidArgument | ResourceExhausted;
    a19_random_poisson_huge: "RandomPoissonV2", [v(&[i32::MAX, i32::MAX]), f(&[1000])] => InvalidArgument | ResourceExhausted;
    a19_random_poisson_over_the_limit: "RandomPoissonV2", [v(&[1 << 30]), f(&[4])] => InvalidArgument | ResourceExhausted;
    a19_random_poisson_rate_past_the_type: "RandomPoissonV2", [v(&[3]), x(1e12)], dtype = DataType::Int32 => InvalidArgument;
    a19_stateless_poisson_rate_past_the_type: "StatelessRandomPoisson", [v(&[3]), l(&[1, 2]), x(1e6)], dtype = DataType::Half => InvalidArgument;
    a21_thread_pool_of_a_negative_size: "ThreadPoolHandle", [], num_threads = -1, display_name = "pool" => InvalidArgument;
    a20_broadcast_huge: "BroadcastTo", [f(&[1]), v(&[1 << 20, 1 << 12])] => ResourceExhausted;
    a20_broadcast_past_64_bits: "BroadcastTo", [f(&[1]), l(&[1 << 40, 1 << 40])] => InvalidArgument;
    reduce_join_of_2_to_the_40_rows_of_nothing_aborted: "ReduceJoin", [nothing(&[1 << 40, 0]), n(1)] => ResourceExhausted;
    reduce_join_that_keeps_rows_of_nothing_aborted: "ReduceJoin", [nothing(&[1 << 40, 0]), v(&[1])], keep_dims = true, separator = "," => ResourceExhausted;
    sparse_fill_empty_rows_of_2_to_the_31_rows_aborted: "SparseFillEmptyRows", [i2(&[]), f(&[0]), l(&[1 << 31, 1]), x(1.0)] => ResourceExhausted;
    a_pattern_of_a_megabyte_aborted: "RegexReplace", [s("a"), s(&"(a|b)*".repeat(1 << 18)), s("b")] => InvalidArgument;
    a20_add_of_a_row_and_a_column_too_large: "AddV2", [f(&[1 << 16, 1]), f(&[1, 1 << 16])] => ResourceExhausted;
}

fn row_splits() -> Attr {
    Attr::List(vec![Attr::str("ROW_SPLITS")])
}

allowed! {
    a22_cast_nan_and_1e30: "Cast", [Tensor::vector(&[f32::NAN, 1e30, -1e30, 1.9]).unwrap()], DstT = DataType::Int32 => None;
    a23_int_min_by_minus_1: "FloorDiv", [n(i32::MIN), n(-1)] => Some(n(i32::MIN));
    a23_int_min_modulo_minus_1: "FloorMod", [n(i32::MIN), n(-1)] => Some(n(0));
    a23_long_min_by_minus_1: "TruncateDiv", [Tensor::scalar(i64::MIN), Tensor::scalar(-1i64)] => Some(Tensor::scalar(i64::MIN));
    a23_minus_int_min: "Neg", [n(i32::MIN)] => Some(n(i32::MIN));
    a23_absolute_int_min: "Abs", [n(i32::MIN)] => Some(n(i32::MIN));
    a23_shift_by_more_than_there_is: "LeftShift", [n(1), n(99)] => None;
    a23_shift_by_less_than_none: "RightShift", [n(1), n(-99)] => None;
}
