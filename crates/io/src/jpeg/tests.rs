//! Round trips, and files that are broken. That the bits are libjpeg's is tested against TensorFlow (`tests/interop/differential`).

use super::*;
use thalweg_core::tensor::Tensor;

fn options(progressive: bool, optimize: bool, downsample: bool) -> Encode<'static> {
    Encode { quality: 95, progressive, optimize, downsample, density_unit: 1, density: [300, 300], xmp: b"" }
}

fn image(rows: usize, cols: usize, channels: usize) -> Vec<u8> {
    let wave =
        |i: usize| ((i / channels % cols) as f32 / 5.0).sin() * 90.0 + (i / channels / cols * 3) as f32;
    (0..rows * cols * channels).map(|i| (wave(i) + 100.0) as u8).collect()
}

fn pixels(t: &Tensor) -> &[u8] {
    t.as_slice::<u8>().unwrap()
}

#[test]
fn images_are_read_back_close_to_what_they_were() {
    for (rows, cols) in [(1, 1), (8, 8), (17, 33), (40, 23)] {
        for channels in [1, 3] {
            let from = image(rows, cols, channels);
            let baseline = encode(&from, [rows, cols, channels], &options(false, false, true)).unwrap();
            let plain = decode(&baseline, &Decode::default()).unwrap();
            assert_eq!(plain.shape().dims(), [rows, cols, channels]);
            let far = pixels(&plain).iter().zip(&from).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
            assert!(far < 40, "{rows} by {cols}, {channels} channels: {far} off");
            // The same coefficients, coded in other ways.
            for (progressive, optimize) in [(false, true), (true, false)] {
                let file =
                    encode(&from, [rows, cols, channels], &options(progressive, optimize, true)).unwrap();
                assert!(decode(&file, &Decode::default()).unwrap().same_bits(&plain));
                assert_eq!(dimensions(&file).unwrap(), [rows, cols, channels]);
            }
        }
    }
}

#[test]
fn a_window_is_what_the_whole_image_has_there() {
    let file = encode(&image(40, 50, 3), [40, 50, 3], &options(false, false, true)).unwrap();
    // Smooth upsampling sees nothing beyond a window, and differs at its edges.
    let plain = Decode { fancy: false, ..Decode::default() };
    let whole = decode(&file, &plain).unwrap();
    let crop = Crop { top: 7, left: 11, rows: 20, cols: 13 };
    let part = decode(&file, &Decode { crop: Some(crop), ..plain }).unwrap();
    for row in 0..20 {
        let want = &pixels(&whole)[((7 + row) * 50 + 11) * 3..][..13 * 3];
        assert_eq!(&pixels(&part)[row * 13 * 3..][..13 * 3], want);
    }
    for (top, rows) in [(-1, 2), (30, 11), (0, 0), (i64::MAX, 1)] {
        let crop = Crop { top, left: 0, rows, cols: 5 };
        assert!(decode(&file, &Decode { crop: Some(crop), ..Decode::default() }).is_err());
    }
}

#[test]
fn files_cut_anywhere_are_refused_or_completed() {
    for progressive in [false, true] {
        let file = encode(&image(24, 24, 3), [24, 24, 3], &options(progressive, false, true)).unwrap();
        let whole = decode(&file, &Decode::default()).unwrap();
        for end in 0..file.len() {
            assert!(decode(&file[..end], &Decode::default()).is_err(), "cut at {end}");
            let recovered = decode(&file[..end], &Decode { recover: true, ..Decode::default() });
            if let Ok(image) = recovered {
                assert_eq!(image.shape(), whole.shape());
            }
        }
        let without_end = &file[..file.len() - 2];
        let recovered = decode(without_end, &Decode { recover: true, ..Decode::default() }).unwrap();
        assert!(recovered.same_bits(&whole));
    }
}

#[test]
fn files_with_any_bit_flipped_do_no_harm() {
    for progressive in [false, true] {
        let file = encode(&image(17, 9, 3), [17, 9, 3], &options(progressive, true, true)).unwrap();
        for bit in 0..file.len() * 8 {
            let mut bytes = file.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(&bytes, &Decode { recover: true, ratio: 1 << (bit % 4), ..Decode::default() });
            let _ = decode(&bytes, &Decode::default());
        }
    }
}

/// A header that promises millions of pixels takes no memory for them.
#[test]
fn large_images_need_large_files() {
    let mut file = encode(&image(8, 8, 1), [8, 8, 1], &options(false, false, true)).unwrap();
    let frame = file.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
    file[frame + 5..frame + 9].fill(0x4f);
    assert!(decode(&file, &Decode { recover: true, ..Decode::default() }).is_err());
}
