//! Rows D: non-scalars, strings and images.

use crate::*;

refused! {
    d01_fill_value_not_scalar: "Fill", [v(&[2]), f(&[12])] => InvalidArgument;
    d01_concat_axis_empty: "ConcatV2", [f(&[1]), f(&[1]), v(&[])], N = 2i64 => InvalidArgument;
    d01_split_axis_long: "Split", [v(&[0, 0]), f(&[2])], num_split = 2i64 => InvalidArgument;
    d01_one_hot_depth_long: "OneHot", [v(&[0]), v(&[1; 12]), x(1.0), x(0.0)] => InvalidArgument;
    d01_one_hot_values_empty: "OneHot", [v(&[0]), n(2), f(&[0]), x(0.0)] => InvalidArgument;
    d01_pad_value_long: "PadV2", [f(&[1]), i(&[1, 2], &[0; 2]), f(&[12])] => InvalidArgument;
    d01_clip_bound_long: "ClipByValue", [f(&[2]), f(&[5]), x(1.0)] => InvalidArgument;
    d01_gather_axis_empty: "GatherV2", [f(&[3]), v(&[0]), v(&[])] => InvalidArgument;
    d01_range_limit_long: "Range", [n(0), v(&[1; 12]), n(1)] => InvalidArgument;
    d01_expand_dims_long: "ExpandDims", [f(&[3]), v(&[0, 0])] => InvalidArgument;
    d01_multinomial_samples_long: "Multinomial", [f(&[1, 2]), v(&[1; 12])] => InvalidArgument;
    d01_assert_condition_long: "Assert", [Tensor::vector(&[true, true]).unwrap(), x(1.0)] => InvalidArgument;
    d01_scalar_summary_tags: "ScalarSummary", [s("a"), f(&[12])] => InvalidArgument;
    d01_num_segments_empty: "UnsortedSegmentSum", [f(&[2]), v(&[0, 1]), v(&[])] => InvalidArgument;
    d01_num_segments_long: "UnsortedSegmentSum", [f(&[2]), v(&[0, 1]), v(&[2; 12])] => InvalidArgument;
    d01_histogram_bins_long: "HistogramFixedWidth", [f(&[2]), Tensor::vector(&[0f32, 1.0]).unwrap(), v(&[5; 12])] => InvalidArgument;
    d01_bincount_size_empty: "Bincount", [v(&[0, 1]), v(&[]), f(&[0])] => InvalidArgument;
    d01_tensor_array_size_long: "TensorArrayV3", [v(&[2; 12])], dtype = DataType::Float => InvalidArgument;
    d01_stack_size_empty: "StackV2", [v(&[])], elem_type = DataType::Float => InvalidArgument;
    d01_tensor_list_index_long: "TensorListReserve", [v(&[]), v(&[2; 12])], element_dtype = DataType::Float => InvalidArgument;
    d01_lin_space_count_long: "LinSpace", [x(0.0), x(1.0), v(&[2; 12])] => InvalidArgument;
    d02_tensor_list_of_less_than_nothing: "TensorListReserve", [v(&[]), n(-1)], element_dtype = DataType::Float => InvalidArgument;
    d02_tensor_list_of_2_to_the_31: "TensorListReserve", [v(&[]), n(i32::MAX)], element_dtype = DataType::Float => ResourceExhausted;
    d02_tensor_list_of_a_negative_shape: "TensorListReserve", [v(&[-2]), n(1)], element_dtype = DataType::Float => InvalidArgument;
    d02_tensor_array_of_less_than_nothing: "TensorArrayV3", [n(-1)], dtype = DataType::Float => InvalidArgument;
    d03_encode_png_of_no_pixels: "EncodePng", [Tensor::full(Shape::new(&[0, 0, 3]).unwrap(), 0u8).unwrap()] => InvalidArgument;
    d04_png_of_2_to_the_31_pixels: "DecodePng", [Tensor::string(png_header(i32::MAX, i32::MAX))] => InvalidArgument;
    d04_png_of_a_wide_row: "DecodePng", [Tensor::string(png_header(i32::MAX, 1))] => InvalidArgument;
    d04_png_of_nothing: "DecodePng", [s("")] => InvalidArgument;
    d04_png_of_garbage: "DecodePng", [s("\u{89}PNG\r\n\u{1a}\ngarbage")] => InvalidArgument;
    d05_gif_of_2_to_the_32_pixels: "DecodeGif", [Tensor::string(gif_header(65535, 65535))] => InvalidArgument | ResourceExhausted;
    d05_gif_of_no_frame: "DecodeGif", [s("GIF89a\u{1}\0\u{1}\0\0\0\0;")] => InvalidArgument;
    d06_bmp_taller_than_its_data: "DecodeBmp", [Tensor::string(bmp_header(1, i32::MAX))] => InvalidArgument;
    d06_bmp_of_the_least_height: "DecodeBmp", [Tensor::string(bmp_header(1, i32::MIN))] => InvalidArgument;
    d06_bmp_wider_than_its_data: "DecodeImage", [Tensor::string(bmp_header(i32::MAX, i32::MAX))] => InvalidArgument;
    d06_bmp_of_negative_width: "DecodeBmp", [Tensor::string(bmp_header(-5, 1))] => InvalidArgument;
    d06_jpeg_of_garbage: "DecodeJpeg", [Tensor::string(b"\xff\xd8\xff\xc0\0\x0b\x08\xff\xff\xff\xff\x01\x01\x44\0\xff\xda")] => InvalidArgument;
    d07_decode_raw_cut: "DecodeRaw", [s("abc")], out_type = DataType::Int32 => InvalidArgument;
    d08_substr_pos_of_another_shape_than_len: "Substr", [s("abc"), v(&[1, -1]), n(1)] => InvalidArgument;
    d08_substr_one_place_outside: "Substr", [s("ab"), v(&[1, -9]), v(&[1, 1])] => InvalidArgument;
    d08_substr_past_the_end: "Substr", [s("ab"), n(3), n(1)] => InvalidArgument;
    d08_substr_far_before_the_start: "Substr", [s("ab"), Tensor::scalar(i64::MIN), Tensor::scalar(i64::MAX)] => InvalidArgument;
    d09_as_string_fill_n: "AsString", [n(7)], fill = "n" => InvalidArgument;
    d09_as_string_fill_percent_s: "AsString", [n(7)], fill = "%s" => InvalidArgument;
    d09_as_string_width_of_2_to_the_31: "AsString", [n(7)], width = i32::MAX as i64 => InvalidArgument;
    d09_as_string_precision_of_2_to_the_31: "AsString", [x(7.0)], precision = i32::MAX as i64 => InvalidArgument;
}

allowed! {
    d11_print_of_nothing: "Print", [f(&[2]), f(&[2])], summarize = 0i64 => None;
    d11_print_of_everything: "Print", [f(&[2]), f(&[2])], summarize = -1i64 => None;
}

/// The header of a PNG file of grey pixels.
fn png_header(width: i32, height: i32) -> Vec<u8> {
    let header = [&b"IHDR"[..], &width.to_be_bytes(), &height.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
    let mut crc = u32::MAX;
    for byte in &header {
        crc ^= u32::from(*byte);
        (0..8).for_each(|_| crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 });
    }
    [b"\x89PNG\r\n\x1a\n\0\0\0\x0d", &header[..], &(!crc).to_be_bytes()].concat()
}

/// A frame of that size with one code.
fn gif_header(rows: u16, cols: u16) -> Vec<u8> {
    let size = [cols.to_le_bytes(), rows.to_le_bytes()].concat();
    [b"GIF89a", &size[..], b"\x80\0\0abcdef,\0\0\0\0", &size, b"\0\x02\x02D\x0a\0;"].concat()
}

/// A bitmap of 24 bits and four bytes of pixels.
fn bmp_header(cols: i32, rows: i32) -> Vec<u8> {
    let mut file = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
    file.extend(cols.to_le_bytes().into_iter().chain(rows.to_le_bytes()));
    file.extend(b"\x01\0\x18\0");
    file.resize(58, 0);
    file
}
