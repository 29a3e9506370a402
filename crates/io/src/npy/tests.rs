use super::*;
use thalweg_core::error::Code;

fn file(dict: &str, data: &[u8]) -> Vec<u8> {
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((dict.len() as u16).to_le_bytes());
    out.extend(dict.as_bytes());
    out.extend(data);
    out
}

fn code(bytes: &[u8]) -> Code {
    read(bytes).unwrap_err().code()
}

#[test]
fn every_plain_type_and_rank_comes_back_as_it_went() {
    // NumPy's format has no names for quantised types, and none for those that were added after uint64.
    let numpy = |t: &DataType| t.is_plain() && !t.is_quantized() && t.wire() <= DataType::Uint64.wire();
    for dtype in DataType::all().filter(numpy) {
        for dims in [&[][..], &[0], &[5], &[2, 3], &[2, 0, 4], &[1; 30]] {
            let mut t = Tensor::zeros(dtype, Shape::new(dims).unwrap()).unwrap();
            let mask = if dtype == DataType::Bool { 1 } else { 255 };
            t.bytes_mut().unwrap().iter_mut().enumerate().for_each(|(i, b)| *b = i as u8 & mask);
            let bytes = write(&t).unwrap();
            assert!(read(&bytes).unwrap().same_bits(&t), "{dtype} {dims:?}");
            assert_eq!((bytes.len() - t.byte_len()) % 64, 0);
        }
    }
}

#[test]
fn the_bytes_are_those_that_numpy_writes() {
    let t = Tensor::from_slice(Shape::new(&[1, 2]).unwrap(), &[1i32, -2]).unwrap();
    let head = "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2), }";
    let mut want = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    want.extend(format!("{head:<117}\n").as_bytes());
    want.extend([1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]);
    assert_eq!(write(&t).unwrap(), want);
}

#[test]
fn strings_are_padded_and_text_becomes_utf8() {
    let items = ["a", "", "h\u{e9}llo"].map(|s| s.as_bytes().to_vec().into()).to_vec();
    let t = Tensor::from_objects::<bytes::Bytes>(Shape::vector(3), items).unwrap();
    assert!(read(&write(&t).unwrap()).unwrap().same_bits(&t));
    let utf32: Vec<u8> = ['h', '\u{e9}', '\0'].iter().flat_map(|c| (*c as u32).to_le_bytes()).collect();
    let t = read(&file("{'descr': '<U3', 'fortran_order': False, 'shape': ()}", &utf32)).unwrap();
    assert_eq!(t.strings().unwrap()[0], "h\u{e9}".as_bytes());
    assert_eq!(write(&Tensor::string("x\0")).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn foreign_byte_order_and_fortran_order_are_put_right() {
    let data: Vec<u8> = [1i16, 2, 3, 4, 5, 6].iter().flat_map(|v| v.to_be_bytes()).collect();
    let t = read(&file("{'descr': '>i2', 'fortran_order': True, 'shape': (2L, 3L), }", &data)).unwrap();
    assert_eq!(t.as_slice::<i16>().unwrap(), [1, 3, 5, 2, 4, 6]);
    let t = read(&file("{\"shape\":(3,),'fortran_order':True,'descr':'|b1'}\n", &[0, 7, 1])).unwrap();
    assert_eq!(t.as_slice::<bool>().unwrap(), [false, true, true]);
}

#[test]
fn hostile_headers_are_errors() {
    let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
    let bytes = file(good, &[0; 8]);
    for len in 0..bytes.len() {
        assert_eq!(code(&bytes[..len]), Code::DataLoss, "{len} bytes");
    }
    assert_eq!(code(&file(good, &[0; 9])), Code::DataLoss);
    for (dict, want) in [
        ("", Code::DataLoss),
        ("{", Code::DataLoss),
        ("{}", Code::DataLoss),
        ("[1]", Code::DataLoss),
        ("{'descr': '<f4', 'fortran_order': 1, 'shape': (2,)}", Code::DataLoss),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", Code::DataLoss),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", Code::DataLoss),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': 2}", Code::DataLoss),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", Code::DataLoss),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8)}",
            Code::InvalidArgument,
        ),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904,)}", Code::DataLoss),
        ("{'descr': '|S0', 'fortran_order': False, 'shape': (999999999999,)}", Code::InvalidArgument),
        ("{'descr': '|S18446744073709551615', 'fortran_order': False, 'shape': (2,)}", Code::DataLoss),
        ("{'descr': '<U18446744073709551615', 'fortran_order': False, 'shape': (2,)}", Code::InvalidArgument),
        ("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", Code::InvalidArgument),
        ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", Code::InvalidArgument),
        ("{'descr': '<f16', 'fortran_order': False, 'shape': (2,)}", Code::InvalidArgument),
        ("{'descr': '\u{e9}', 'fortran_order': False, 'shape': (2,)}", Code::InvalidArgument),
    ] {
        assert_eq!(code(&file(dict, &[0; 8])), want, "{dict}");
    }
    let deep = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({})}}", "1,".repeat(300));
    assert_eq!(code(&file(&deep, &[0; 4])), Code::InvalidArgument);
    assert_eq!(code(b"\x93NUMPY\x09\x00"), Code::InvalidArgument);
    assert_eq!(code(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}"), Code::DataLoss);
}

#[test]
fn data_begins_at_a_multiple_of_64_whatever_the_shape() {
    let mut dims = Vec::new();
    while dims.len() < thalweg_core::shape::MAX_RANK {
        dims.push(1);
        let head = header::make("<f4", &Shape::new(&dims).unwrap());
        assert_eq!((head.len() % 64, head.last()), (0, Some(&b'\n')));
        let (dict, data) = header::split(&head).unwrap();
        assert_eq!((header::Header::parse(dict).unwrap().shape.len(), data.len()), (dims.len(), 0));
        assert!(head.len() - dict.trim_end().len() < 64 + 11, "more padding than is needed");
    }
}

#[test]
fn files_come_back_and_errors_name_them() {
    let dir = crate::scratch::Scratch::new();
    let (path, t) = (dir.path("t.npy"), Tensor::scalar(1.5f64));
    write_file(&path, &t).unwrap();
    assert!(read_file(&path).unwrap().same_bits(&t));
    for e in [write_file(&dir.path("none/t.npy"), &t).unwrap_err(), read_file(&dir.path("none")).unwrap_err()]
    {
        assert!(e.to_string().contains("none"), "{e}");
    }
}
