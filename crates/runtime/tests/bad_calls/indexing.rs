//! Rows C: indices that point outside, and lists of another length.

use crate::*;

refused! {
    c01_gather_past_the_end: "GatherV2", [f(&[3]), v(&[7]), n(0)] => InvalidArgument;
    c01_gather_before_the_start: "GatherV2", [f(&[3]), v(&[-1]), n(0)] => InvalidArgument;
    c01_gather_axis: "GatherV2", [f(&[3]), v(&[0]), n(5)] => InvalidArgument;
    c01_old_gather_past_the_end: "Gather", [f(&[3]), v(&[7])] => InvalidArgument;
    c04_gather_nd_from_empty: "GatherNd", [f(&[0, 2]), i(&[1, 1], &[0])] => InvalidArgument;
    c04_gather_nd_too_deep: "GatherNd", [f(&[2, 2]), i(&[1, 3], &[0; 3])] => InvalidArgument;
    c07_floor_div_by_0: "FloorDiv", [v(&[1, 2]), v(&[1, 0])] => InvalidArgument;
    c07_floor_mod_by_0: "FloorMod", [v(&[1, 2]), n(0)] => InvalidArgument;
    c07_div_by_0: "Div", [v(&[1, 2]), v(&[1, 0])] => InvalidArgument;
    c07_truncate_mod_by_0: "TruncateMod", [v(&[1, 2]), v(&[1, 0])] => InvalidArgument;
    c08_sqrt_grad_lengths: "SqrtGrad", [f(&[2]), f(&[0])] => InvalidArgument;
    c08_tanh_grad_lengths: "TanhGrad", [f(&[2]), f(&[3])] => InvalidArgument;
    c08_sigmoid_grad_lengths: "SigmoidGrad", [f(&[2]), f(&[1, 2])] => InvalidArgument;
    c09_unravel_through_0: "UnravelIndex", [n(3), v(&[1, 0, 2])] => InvalidArgument;
    c10_transpose_axis: "Transpose", [f(&[1]), v(&[-10])] => InvalidArgument;
    c10_transpose_twice: "Transpose", [f(&[2, 2]), v(&[0, 0])] => InvalidArgument;
    c11_concat_axis: "ConcatV2", [f(&[1]), f(&[1]), Tensor::scalar(0xb500005b_i64)], N = 2i64 => InvalidArgument;
    c12_split_v_two_unknown: "SplitV", [f(&[3]), v(&[-1, -2]), n(0)], num_split = 2i64 => InvalidArgument;
    c12_split_v_sum: "SplitV", [f(&[3]), v(&[1, 1]), n(0)], num_split = 2i64 => InvalidArgument;
    c12_split_uneven: "Split", [n(0), f(&[3])], num_split = 2i64 => InvalidArgument;
    c13_reverse_sequence_dims: "ReverseSequence", [f(&[2, 2]), l(&[1, 1])], seq_dim = -10i64, batch_dim = -10i64 => InvalidArgument;
    c13_reverse_sequence_long: "ReverseSequence", [f(&[2, 2]), l(&[1, 9])], seq_dim = 1i64 => InvalidArgument;
    c14_reverse_axis: "ReverseV2", [f(&[2]), v(&[4])] => InvalidArgument;
    c14_reverse_axis_twice: "ReverseV2", [f(&[2, 2]), v(&[0, -2])] => InvalidArgument;
    c15_stitch_negative: "DynamicStitch", [v(&[0xdeadbeef_u32 as i32]), f(&[1])], N = 1i64 => InvalidArgument;
    c15_stitch_huge: "DynamicStitch", [v(&[i32::MAX]), f(&[1])], N = 1i64 => InvalidArgument | ResourceExhausted;
    c16_partition_past_the_end: "DynamicPartition", [f(&[2]), v(&[0, 9])], num_partitions = 2i64 => InvalidArgument;
    c17_strided_slice_by_0: "StridedSlice", [f(&[3]), v(&[0]), v(&[3]), v(&[0])] => InvalidArgument;
    c17_slice_before_the_start: "Slice", [f(&[3]), v(&[-1]), v(&[1])] => InvalidArgument;
    c17_slice_past_the_end: "Slice", [f(&[3]), v(&[2]), v(&[2])] => InvalidArgument;
    c17_slice_overflow: "Slice", [f(&[3]), l(&[1]), l(&[i64::MAX])] => InvalidArgument;
    c18_top_k_negative: "TopKV2", [f(&[3]), n(-1)] => InvalidArgument;
    c18_top_k_too_many: "TopKV2", [f(&[3]), n(4)] => InvalidArgument;
    c19_label_past_the_classes: "SparseSoftmaxCrossEntropyWithLogits", [f(&[1, 3]), v(&[7])] => InvalidArgument;
    c20_in_top_k_of_other_lengths: "InTopKV2", [f(&[2, 3]), v(&[0]), n(1)] => InvalidArgument;
    c21_one_hot_negative: "OneHot", [v(&[0]), n(-3), x(1.0), x(0.0)] => InvalidArgument;
    c21_one_hot_huge: "OneHot", [v(&[0; 64]), n(i32::MAX), x(1.0), x(0.0)] => InvalidArgument | ResourceExhausted;
    c22_sparse_to_dense_outside: "SparseToDense", [v(&[7]), v(&[3]), f(&[1]), x(0.0)] => InvalidArgument;
    c26_sparse_reshape_to_0: "SparseReshape", [i2(&[[0, 0]]), l(&[2, 3]), l(&[-1, 0])] => InvalidArgument;
    c27_edit_distance_far_outside: "EditDistance", [i2(&[[-1250999896764, 0]]), l(&[1]), l(&[2, 2]), i2(&[[0, 0]]), l(&[1]), l(&[2, 2])] => InvalidArgument;
    c27_edit_distance_past_the_end: "EditDistance", [i2(&[[0, 0]]), l(&[1]), l(&[2, 2]), i2(&[[7, 0]]), l(&[1]), l(&[2, 2])] => InvalidArgument;
    c27_edit_distance_of_a_negative_shape: "EditDistance", [i2(&[[0, 0]]), l(&[1]), l(&[-2, 2]), i2(&[[0, 0]]), l(&[1]), l(&[-2, 2])] => InvalidArgument;
    c27_edit_distance_of_2_to_the_62_groups: "EditDistance", [i2(&[[0, 0]]), l(&[1]), l(&[BIG, 2]), i2(&[[0, 0]]), l(&[1]), l(&[BIG, 2])] => InvalidArgument | ResourceExhausted;
    c27_edit_distance_indices_of_a_column: "EditDistance", [Tensor::from_slice(Shape::new(&[1, 1]).unwrap(), &[0i64]).unwrap(), l(&[1]), l(&[2, 2]), i2(&[[0, 0]]), l(&[1]), l(&[2, 2])] => InvalidArgument;
    c28_sampler_class: "UniformCandidateSampler", [Tensor::from_slice(Shape::new(&[1, 1]).unwrap(), &[0x100000i64]).unwrap()], num_true = 1i64, num_sampled = 1i64, unique = true, range_max = 2i64 => InvalidArgument;
    c29_sampler_never_done: "UniformCandidateSampler", [Tensor::from_slice(Shape::new(&[1, 1]).unwrap(), &[0i64]).unwrap()], num_true = 1i64, num_sampled = 10i64, unique = true, range_max = 3i64 => InvalidArgument;
    c31_histogram_of_nan: "HistogramFixedWidth", [x(f32::NAN), Tensor::vector(&[0f32, 1.0]).unwrap(), n(5)] => InvalidArgument;
    c32_bincount_weights_of_another_shape: "DenseBincount", [i(&[2, 2], &[0, 1, 2, 3]), n(4), f(&[4])] => InvalidArgument;
    c32_bincount_weights_too_few: "DenseBincount", [v(&[0, 1, 2]), n(4), f(&[2])] => InvalidArgument;
    c32_bincount_of_a_cube: "DenseBincount", [i(&[1, 1, 1], &[0]), n(4), f(&[0])] => InvalidArgument;
    c32_old_bincount_weights_of_another_shape: "Bincount", [v(&[0, 1, 2]), n(4), f(&[2])] => InvalidArgument;
    c32_bincount_of_2_to_the_62: "DenseBincount", [l(&[0]), Tensor::scalar(BIG), f(&[0])] => InvalidArgument | ResourceExhausted;
}

allowed! {
    c20_in_top_k_of_no_class: "InTopK", [f(&[2, 3]), v(&[-1, 3])], k = 2i64 => Some(Tensor::vector(&[false, false]).unwrap());
    c20_in_top_k_of_less_than_none: "InTopKV2", [f(&[2, 3]), v(&[0, 1]), n(-1)] => Some(Tensor::vector(&[false, false]).unwrap());
    c14_reverse_of_nothing: "ReverseV2", [f(&[0, 1, 1]), v(&[0])] => Some(f(&[0, 1, 1]));
}
