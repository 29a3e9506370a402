//! Rows B: convolution, pooling, normalisation.

use crate::*;

refused! {
    b01_conv2d_all_empty: "Conv2D", [f(&[0, 0, 0, 0]), f(&[0, 0, 0, 0])], strides = ints(&[1, 1, 1, 1]), padding = "VALID" => InvalidArgument;
    b02_conv2d_stride_0: "Conv2D", [f(&[1, 4, 4, 1]), f(&[2, 2, 1, 1])], strides = ints(&[1, 0, 0, 1]), padding = "VALID" => InvalidArgument;
    b07_max_pool_window_larger: "MaxPool", [f(&[1, 2, 2, 1])], ksize = ints(&[1, 9, 9, 1]), strides = ints(&[1, 1, 1, 1]), padding = "VALID" => InvalidArgument;
    b09_max_pool_grad_empty: "MaxPoolGrad", [f(&[1, 4, 4, 1]), f(&[1, 2, 2, 1]), f(&[0])], ksize = ints(&[1, 2, 2, 1]), strides = ints(&[1, 2, 2, 1]), padding = "VALID" => InvalidArgument;
    b12_avg_pool_negative: "AvgPool", [f(&[1, 2, 2, 1])], ksize = ints(&[1, -1, 1, 1]), strides = ints(&[1, 1, 1, 1]), padding = "SAME" => InvalidArgument;
    b13_avg_pool_grad_negative: "AvgPoolGrad", [v(&[-536870912; 4]), f(&[1, 2, 2, 1])], ksize = ints(&[1, 2, 2, 1]), strides = ints(&[1, 2, 2, 1]), padding = "VALID" => InvalidArgument;
    b19_bias_of_another_length: "BiasAdd", [f(&[2, 3]), f(&[4])] => InvalidArgument;
}
