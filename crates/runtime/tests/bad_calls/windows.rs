//! Rows B: convolution, pooling, normalisation.

use crate::*;

refused! {
    b01_conv2d_all_empty: "Conv2D", [f(&[0, 0, 0, 0]), f(&[0, 0, 0, 0])], strides = ints(&[1, 1, 1, 1]), padding = "VALID" => InvalidArgument;
    b02_conv2d_stride_0: "Conv2D", [f(&[1, 4, 4, 1]), f(&[2, 2, 1, 1])], strides = ints(&[1, 0, 0, 1]), padding = "VALID" => InvalidArgument;
    b02_conv2d_dilation_0: "Conv2D", [f(&[1, 4, 4, 1]), f(&[2, 2, 1, 1])], strides = ints(&[1, 1, 1, 1]), dilations = ints(&[1, 0, 1, 1]), padding = "VALID" => InvalidArgument;
    b02_conv2d_stride_past_32_bits: "Conv2D", [f(&[1, 4, 4, 1]), f(&[2, 2, 1, 1])], strides = ints(&[1, i64::MAX, 1, 1]), padding = "SAME" => InvalidArgument;
    b02_conv2d_two_strides: "Conv2D", [f(&[1, 4, 4, 1]), f(&[2, 2, 1, 1])], strides = ints(&[1, 1]), padding = "SAME" => InvalidArgument;
    b02_conv2d_padding_negative: "Conv2D", [f(&[1, 4, 4, 1]), f(&[2, 2, 1, 1])], strides = ints(&[1, 1, 1, 1]), padding = "EXPLICIT", explicit_paddings = ints(&[0, 0, -1, 1, 0, 0, 0, 0]) => InvalidArgument;
    b02_conv2d_padding_of_2_to_the_31: "Conv2D", [f(&[1, 4, 4, 1]), f(&[2, 2, 1, 1])], strides = ints(&[1, 1, 1, 1]), padding = "EXPLICIT", explicit_paddings = ints(&[0, 0, i32::MAX as i64, i32::MAX as i64, i32::MAX as i64, i32::MAX as i64, 0, 0]) => InvalidArgument | ResourceExhausted;
    b02_conv2d_filter_larger_than_image: "Conv2D", [f(&[1, 2, 2, 1]), f(&[5, 3, 1, 1])], strides = ints(&[1, 1, 1, 1]), padding = "VALID" => InvalidArgument;
    b02_conv2d_groups_that_do_not_divide: "Conv2D", [f(&[1, 2, 2, 4]), f(&[1, 1, 2, 3])], strides = ints(&[1, 1, 1, 1]), padding = "VALID" => InvalidArgument;
    b04_conv2d_backprop_input_scalar_gradient: "Conv2DBackpropInput", [v(&[65534, 65534]), f(&[1, 1, 1, 1]), x(1.0)], strides = ints(&[1, 1, 1, 1]), padding = "VALID" => InvalidArgument;
    b04_conv2d_backprop_input_huge: "Conv2DBackpropInput", [v(&[1, 65534, 65534, 1]), f(&[1, 1, 1, 1]), f(&[1, 1, 1, 1])], strides = ints(&[1, 65534, 65534, 1]), padding = "SAME" => ResourceExhausted;
    b04_conv2d_backprop_input_negative: "Conv2DBackpropInput", [v(&[1, -4, 4, 2]), f(&[3, 3, 2, 1]), f(&[1, 4, 4, 1])], strides = ints(&[1, 1, 1, 1]), padding = "SAME" => InvalidArgument;
    b04_conv2d_backprop_input_of_another_size: "Conv2DBackpropInput", [v(&[1, 5, 4, 2]), f(&[3, 3, 2, 1]), f(&[1, 4, 4, 1])], strides = ints(&[1, 1, 1, 1]), padding = "SAME" => InvalidArgument;
    b04_conv2d_backprop_filter_of_another_size: "Conv2DBackpropFilter", [f(&[1, 4, 4, 2]), v(&[3, 3, 2, 1]), f(&[1, 4, 5, 1])], strides = ints(&[1, 1, 1, 1]), padding = "SAME" => InvalidArgument;
    b04_conv2d_backprop_filter_huge: "Conv2DBackpropFilter", [f(&[1, 1, 1, 1]), v(&[65534, 65534, 1, 1]), f(&[1, 1, 1, 1])], strides = ints(&[1, 1, 1, 1]), padding = "SAME" => ResourceExhausted;
    b04_depthwise_backprop_input_negative: "DepthwiseConv2dNativeBackpropInput", [v(&[1, -4, 4, 2]), f(&[3, 3, 2, 1]), f(&[1, 4, 4, 2])], strides = ints(&[1, 1, 1, 1]), padding = "SAME" => InvalidArgument;
    b04_depthwise_backprop_filter_of_another_depth: "DepthwiseConv2dNativeBackpropFilter", [f(&[1, 4, 4, 2]), v(&[3, 3, 3, 1]), f(&[1, 4, 4, 3])], strides = ints(&[1, 1, 1, 1]), padding = "SAME" => InvalidArgument;
    b05_conv3d_empty_filter: "Conv3D", [f(&[2, 2, 2, 2, 2]), f(&[0, 1, 1, 2, 1])], strides = ints(&[1, 56, 39, 34, 1]), padding = "VALID" => InvalidArgument;
    b05_conv3d_stride_0: "Conv3D", [f(&[1, 2, 2, 2, 1]), f(&[1, 1, 1, 1, 1])], strides = ints(&[1, 0, 1, 1, 1]), padding = "SAME" => InvalidArgument;
    b05_conv3d_groups: "Conv3D", [f(&[1, 2, 2, 2, 4]), f(&[1, 1, 1, 2, 4])], strides = ints(&[1; 5]), padding = "SAME" => InvalidArgument;
    b05_conv_of_four_dimensions: "Conv", [f(&[1, 2, 2, 2, 2, 1]), f(&[1, 1, 1, 1, 1, 1])], strides = ints(&[1; 6]), padding = "SAME" => InvalidArgument;
    b05_conv_batch_dims_negative: "Conv", [f(&[1, 2, 2, 1]), f(&[1, 1, 1, 1])], strides = ints(&[1; 4]), padding = "SAME", batch_dims = i64::MIN => InvalidArgument;
    b06_conv3d_backprop_input_of_another_size: "Conv3DBackpropInputV2", [v(&[2, 2, 2, 2, 2]), f(&[1, 1, 1, 2, 1]), f(&[2, 3, 2, 2, 1])], strides = ints(&[1; 5]), padding = "SAME" => InvalidArgument;
    b06_conv3d_backprop_input_negative: "Conv3DBackpropInputV2", [v(&[1, -2, 2, 2, 2]), f(&[1, 1, 1, 2, 1]), f(&[1, 2, 2, 2, 1])], strides = ints(&[1; 5]), padding = "SAME" => InvalidArgument;
    b06_conv3d_backprop_input_huge: "Conv3DBackpropInputV2", [v(&[1, 65534, 65534, 65534, 1]), f(&[1, 1, 1, 1, 1]), f(&[1, 1, 1, 1, 1])], strides = ints(&[1, 65534, 65534, 65534, 1]), padding = "SAME" => InvalidArgument | ResourceExhausted;
    b06_conv3d_backprop_input_v1_of_another_rank: "Conv3DBackpropInput", [f(&[2, 2, 2, 2]), f(&[1, 1, 1, 2, 1]), f(&[2, 2, 2, 2, 1])], strides = ints(&[1; 5]), padding = "SAME" => InvalidArgument;
    b06_conv3d_backprop_filter_of_another_depth: "Conv3DBackpropFilterV2", [f(&[1, 2, 2, 2, 2]), v(&[1, 1, 1, 3, 1]), f(&[1, 2, 2, 2, 1])], strides = ints(&[1; 5]), padding = "SAME" => InvalidArgument;
    b08_max_pool3d_window_0: "MaxPool3D", [f(&[1, 2, 2, 2, 1])], ksize = ints(&[1, 2, 2, 0, 1]), strides = ints(&[1; 5]), padding = "SAME" => InvalidArgument;
    b08_max_pool3d_window_larger: "MaxPool3D", [f(&[1, 2, 2, 2, 1])], ksize = ints(&[1, 9, 2, 2, 1]), strides = ints(&[1; 5]), padding = "VALID" => InvalidArgument;
    b08_max_pool3d_grad_of_another_output: "MaxPool3DGrad", [f(&[1, 2, 2, 2, 1]), f(&[1, 9, 2, 2, 1]), f(&[1, 2, 2, 2, 1])], ksize = ints(&[1; 5]), strides = ints(&[1; 5]), padding = "SAME" => InvalidArgument;
    b08_avg_pool3d_grad_of_another_size: "AvgPool3DGrad", [v(&[1, 2, 2, 3, 1]), f(&[1, 2, 2, 2, 1])], ksize = ints(&[1; 5]), strides = ints(&[1; 5]), padding = "SAME" => InvalidArgument;
    b08_avg_pool3d_grad_negative: "AvgPool3DGrad", [v(&[1, -2, 2, 2, 1]), f(&[1, 2, 2, 2, 1])], ksize = ints(&[1; 5]), strides = ints(&[1; 5]), padding = "SAME" => InvalidArgument;
    b08_avg_pool3d_of_channels: "AvgPool3D", [f(&[1, 2, 2, 2, 2])], ksize = ints(&[1, 1, 1, 1, 2]), strides = ints(&[1, 1, 1, 1, 2]), padding = "SAME" => InvalidArgument | Unimplemented;
    b08_fractional_avg_pool_grad_negative: "FractionalAvgPoolGrad", [l(&[1, 4, 4, 1]), f(&[1, 2, 2, 1]), l(&[-1, 2, 4]), l(&[0, 2, 4])] => InvalidArgument;
    b08_fractional_avg_pool_grad_short: "FractionalAvgPoolGrad", [l(&[1, 4, 4, 1]), f(&[1, 2, 2, 1]), l(&[0, 2]), l(&[0, 2, 4])] => InvalidArgument;
    b08_fractional_max_pool_grad_outside: "FractionalMaxPoolGrad", [f(&[1, 2, 2, 1]), f(&[1, 1, 1, 1]), f(&[1, 1, 1, 1]), l(&[9, 10]), l(&[0, 2])] => InvalidArgument;
    b08_fractional_max_pool_ratio: "FractionalMaxPool", [f(&[1, 2, 2, 1])], pooling_ratio = Attr::List(vec![Attr::Float(1.0), Attr::Float(f32::NAN), Attr::Float(3.0), Attr::Float(1.0)]) => InvalidArgument;
    b22_dilation_of_another_depth: "Dilation2D", [f(&[1, 2, 2, 2]), f(&[1, 1, 3])], strides = ints(&[1; 4]), rates = ints(&[1; 4]), padding = "SAME" => InvalidArgument;
    b22_dilation_backprop_filter_of_another_size: "Dilation2DBackpropFilter", [f(&[1, 2, 2, 2]), f(&[1, 1, 2]), f(&[1, 3, 2, 2])], strides = ints(&[1; 4]), rates = ints(&[1; 4]), padding = "SAME" => InvalidArgument;
    b22_dilation_backprop_input_empty_filter: "Dilation2DBackpropInput", [f(&[1, 1, 1, 1]), f(&[0, 0, 1]), f(&[1, 1, 1, 1])], strides = ints(&[1; 4]), rates = ints(&[1; 4]), padding = "SAME" => InvalidArgument;
    b07_max_pool_window_larger: "MaxPool", [f(&[1, 2, 2, 1])], ksize = ints(&[1, 9, 9, 1]), strides = ints(&[1, 1, 1, 1]), padding = "VALID" => InvalidArgument;
    b07_max_pool_window_0: "MaxPool", [f(&[1, 2, 2, 1])], ksize = ints(&[1, 0, 1, 1]), strides = ints(&[1, 1, 1, 1]), padding = "SAME" => InvalidArgument;
    b07_max_pool_padding_past_the_window: "MaxPool", [f(&[1, 4, 4, 1])], ksize = ints(&[1, 2, 2, 1]), strides = ints(&[1, 2, 2, 1]), padding = "EXPLICIT", explicit_paddings = ints(&[0, 0, 3, 3, 3, 3, 0, 0]) => InvalidArgument;
    b07_max_pool_v2_window_not_four: "MaxPoolV2", [f(&[1, 4, 4, 1]), v(&[2]), v(&[1, 1, 1, 1])], padding = "SAME" => InvalidArgument;
    b09_max_pool_grad_empty: "MaxPoolGrad", [f(&[1, 4, 4, 1]), f(&[1, 2, 2, 1]), f(&[0])], ksize = ints(&[1, 2, 2, 1]), strides = ints(&[1, 2, 2, 1]), padding = "VALID" => InvalidArgument;
    b09_max_pool_grad_of_another_output: "MaxPoolGrad", [f(&[1, 4, 4, 1]), f(&[1, 9, 9, 1]), f(&[1, 2, 2, 1])], ksize = ints(&[1, 2, 2, 1]), strides = ints(&[1, 2, 2, 1]), padding = "VALID" => InvalidArgument;
    b09_max_pool_grad_grad_of_another_size: "MaxPoolGradGrad", [f(&[1, 4, 4, 1]), f(&[1, 2, 2, 1]), f(&[1, 2, 2, 1])], ksize = ints(&[1, 2, 2, 1]), strides = ints(&[1, 2, 2, 1]), padding = "VALID" => InvalidArgument;
    b10_argmax_gradient_of_another_shape: "MaxPoolGradWithArgmax", [f(&[1, 1, 3, 1]), f(&[1, 1, 1, 4]), Tensor::from_slice(Shape::new(&[1, 1, 1, 1]).unwrap(), &[1i64]).unwrap()], ksize = ints(&[1, 1, 1, 1]), strides = ints(&[1, 1, 1, 1]), padding = "VALID" => InvalidArgument;
    b10_argmax_outside: "MaxPoolGradWithArgmax", [f(&[1, 1, 1, 1]), f(&[1, 1, 1, 1]), Tensor::from_slice(Shape::new(&[1, 1, 1, 1]).unwrap(), &[20i64]).unwrap()], ksize = ints(&[1, 1, 1, 1]), strides = ints(&[1, 1, 1, 1]), padding = "VALID" => InvalidArgument;
    b12_avg_pool_negative: "AvgPool", [f(&[1, 2, 2, 1])], ksize = ints(&[1, -1, 1, 1]), strides = ints(&[1, 1, 1, 1]), padding = "SAME" => InvalidArgument;
    b13_avg_pool_grad_negative: "AvgPoolGrad", [v(&[-536870912; 4]), f(&[1, 2, 2, 1])], ksize = ints(&[1, 2, 2, 1]), strides = ints(&[1, 2, 2, 1]), padding = "VALID" => InvalidArgument;
    b14_avg_pool_grad_strides_on_channels: "AvgPoolGrad", [v(&[11, 9, 78, 9]), f(&[16, 16, 16, 16])], ksize = ints(&[1, 128, 66, 1]), strides = ints(&[1, 1, 1, 30]), padding = "SAME" => InvalidArgument | Unimplemented;
    b14_avg_pool_grad_of_another_size: "AvgPoolGrad", [v(&[1, 3, 3, 1]), f(&[1, 1, 2, 1])], ksize = ints(&[1, 2, 2, 1]), strides = ints(&[1, 2, 2, 1]), padding = "SAME" => InvalidArgument;
    b15_batch_norm_scale_of_another_length: "FusedBatchNorm", [f(&[10, 10, 10, 6]), f(&[1]), f(&[6]), f(&[6]), f(&[6])] => InvalidArgument;
    b15_batch_norm_v3_mean_of_another_length: "FusedBatchNormV3", [f(&[2, 2, 2, 6]), f(&[6]), f(&[6]), f(&[1]), f(&[6])], is_training = false => InvalidArgument;
    b15_batch_norm_v3_mixed_mean_missing: "FusedBatchNormV3", [f(&[2, 2, 2, 6]), f(&[6]), f(&[6]), f(&[0]), f(&[0])], exponential_avg_factor = 0.5f32 => InvalidArgument;
    b15_batch_norm_v3_of_a_vector: "FusedBatchNormV3", [f(&[6]), f(&[6]), f(&[6]), f(&[0]), f(&[0])] => InvalidArgument;
    b17_batch_norm_grad_of_another_shape: "FusedBatchNormGradV3", [f(&[2, 2, 2, 2]), f(&[2, 2, 2, 3]), f(&[3]), f(&[3]), f(&[3]), f(&[0])] => InvalidArgument;
    b17_batch_norm_grad_reserve_of_another_length: "FusedBatchNormGradV3", [f(&[2, 2, 2, 3]), f(&[2, 2, 2, 3]), f(&[3]), f(&[1]), f(&[3]), f(&[0])] => InvalidArgument;
    b18_lrn_grad_of_six_dimensions: "LRNGrad", [f(&[1, 1, 1, 2]), f(&[1, 1, 1, 2]), f(&[1, 1, 1, 1, 1, 2])] => InvalidArgument;
    b18_lrn_grad_of_another_shape: "LRNGrad", [f(&[1, 1, 1, 2]), f(&[1, 1, 2, 1]), f(&[1, 1, 1, 2])] => InvalidArgument;
    b18_lrn_radius_negative: "LRN", [f(&[1, 1, 1, 2])], depth_radius = -1i64 => InvalidArgument;
    b18_lrn_of_a_matrix: "LRN", [f(&[1, 2])] => InvalidArgument;
    b19_bias_of_another_length: "BiasAdd", [f(&[2, 3]), f(&[4])] => InvalidArgument;
}

allowed! {
    b02_conv2d_that_sticks_out_by_less_than_its_stride: "Conv2D", [f(&[1, 2, 2, 1]), f(&[3, 3, 1, 1])], strides = ints(&[1, 2, 2, 1]), padding = "VALID" => Some(f(&[1, 0, 0, 1]));
    b02_conv2d_of_no_images: "Conv2D", [f(&[0, 4, 4, 2]), f(&[1, 1, 2, 3])], strides = ints(&[1, 1, 1, 1]), padding = "SAME" => Some(f(&[0, 4, 4, 3]));
    b03_conv2d_backprop_filter_of_nothing: "Conv2DBackpropFilter", [f(&[0, 0, 1, 0]), v(&[1, 1, 0, 1]), f(&[0, 0, 1, 1])], strides = ints(&[1, 66, 18, 1]), padding = "SAME" => Some(f(&[1, 1, 0, 1]));
    b03_conv2d_backprop_filter_of_no_images: "Conv2DBackpropFilter", [f(&[0, 4, 4, 1]), v(&[1, 1, 1, 1]), f(&[0, 4, 4, 1])], strides = ints(&[1, 1, 1, 1]), padding = "SAME" => Some(Tensor::zeros(DataType::Float, Shape::new(&[1, 1, 1, 1]).unwrap()).unwrap());
    b11_argmax_gradient_of_nothing: "MaxPoolGradWithArgmax", [f(&[0, 0, 0, 0]), f(&[0, 0, 0, 0]), Tensor::from_slice(Shape::new(&[0, 0, 0, 0]).unwrap(), &[0i64; 0]).unwrap()], ksize = ints(&[1, 2, 2, 1]), strides = ints(&[1, 2, 2, 1]), padding = "SAME" => Some(f(&[0, 0, 0, 0]));
    b12_avg_pool_of_2_to_the_31: "AvgPool", [f(&[1, 2, 2, 1])], ksize = ints(&[1, i32::MAX as i64, i32::MAX as i64, 1]), strides = ints(&[1, 1, 1, 1]), padding = "SAME" => Some(f(&[1, 2, 2, 1]));
    b12_avg_pool_grad_of_2_to_the_31: "AvgPoolGrad", [v(&[1, 2, 2, 1]), f(&[1, 2, 2, 1])], ksize = ints(&[1, i32::MAX as i64, i32::MAX as i64, 1]), strides = ints(&[1, 1, 1, 1]), padding = "SAME" => Some(f(&[1, 2, 2, 1]));
    b12_max_pool_of_2_to_the_31: "MaxPool", [f(&[1, 2, 2, 1])], ksize = ints(&[1, i32::MAX as i64, i32::MAX as i64, 1]), strides = ints(&[1, 1, 1, 1]), padding = "SAME" => Some(f(&[1, 2, 2, 1]));
    b18_lrn_radius_of_all_int64: "LRN", [f(&[1, 1, 1, 1])], depth_radius = i64::MAX, alpha = 0f32 => Some(f(&[1, 1, 1, 1]));
    b16_batch_norm_of_no_channels: "FusedBatchNorm", [f(&[2, 2, 2, 0]), f(&[0]), f(&[0]), f(&[0]), f(&[0])] => Some(f(&[2, 2, 2, 0]));
    b16_batch_norm_of_no_images: "FusedBatchNormV3", [f(&[0, 2, 2, 3]), f(&[3]), f(&[3]), f(&[0]), f(&[0])] => Some(f(&[0, 2, 2, 3]));
    b16_batch_norm_grad_of_no_channels: "FusedBatchNormGradV3", [f(&[2, 2, 2, 0]), f(&[2, 2, 2, 0]), f(&[0]), f(&[0]), f(&[0]), f(&[0])] => Some(f(&[2, 2, 2, 0]));
}
