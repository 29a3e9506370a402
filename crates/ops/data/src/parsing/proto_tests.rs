use crate::prelude::*;
use crate::testing::{call, floats};
use bytes::Bytes;

/// The descriptors of a message `p.M` of the second syntax: int32 (5, default -3), r_int32 (105), p_int32 (300, packed), group (10),
/// bytes (12, with a default), enum (14, default 3), float (2, default -inf), sint32 (17, default -1).
const SET: &[u8] = b"bytes://\x0a\x84\x02\x0a\x07a.proto\x12\x01p\x22\xda\x01\x0a\x01M\x12\x13\x0a\x05float\x18\x02 \x01(\x02:\
      \x04-inf\x12\x11\x0a\x05int32\x18\x05 \x01(\x05:\x02-3\x12\x0f\x0a\x07r_int32\x18i \x03(\x05\x12\x19\
      \x0a\x05group\x18\x0a \x01(\x0a2\x0a.p.M.Group\x12\x16\x0a\x05bytes\x18\x0c \x01(\x0c:\x07\x5c001x\
      \x5cn\x12\x15\x0a\x04enum\x18\x0e \x01(\x0e2\x04.p.E:\x01B\x12\x12\x0a\x06sint32\x18\x11 \x01(\x11:\
      \x02-1\x12\x14\x0a\x07p_int32\x18\xac\x02 \x03(\x05B\x02\x10\x01\x1a\x12\x0a\x05Group\x12\x09\x0a\
      \x01x\x18\x01 \x01(\x05\x1a\x14\x0a\x07R_group\x12\x09\x0a\x01x\x18\x01 \x01(\x05*\x11\x0a\x01E\x12\
      \x05\x0a\x01A\x10\x00\x12\x05\x0a\x01B\x10\x03b\x06proto2";

fn attrs(fields: &[&str], types: (&'static str, &[DataType])) -> Vec<(&'static str, Attr)> {
    vec![
        ("message_type", Attr::str("p.M")),
        ("field_names", super::samples::string_list(fields)),
        (types.0, Attr::types(types.1)),
        ("descriptor_source", Attr::Str(Bytes::from_static(SET))),
    ]
}

fn decode(message: &'static [u8], field: &str, dtype: DataType) -> Result<(Vec<i32>, Tensor)> {
    let message = Tensor::string(message);
    let mut out = call("DecodeProtoV2", &[message], &attrs(&[field], ("output_types", &[dtype])))?;
    let sizes = out.remove(0).as_slice::<i32>()?.to_vec();
    Ok((sizes, out.remove(0)))
}

fn ints(message: &'static [u8], field: &str) -> (Vec<i32>, Vec<i32>) {
    let (sizes, t) = decode(message, field, DataType::Int32).unwrap();
    (sizes, t.as_slice::<i32>().unwrap().to_vec())
}

// Values here are recorded from TensorFlow.
#[test]
fn fields_are_decoded_as_tensorflow_does() {
    assert_eq!(ints(b"", "int32"), (vec![0], vec![-3]));
    assert_eq!(ints(b"", "enum"), (vec![0], vec![3]));
    assert_eq!(ints(b"", "sint32"), (vec![0], vec![-1]));
    assert_eq!(ints(b"", "r_int32"), (vec![0], vec![0]));
    assert_eq!(ints(b"\x28\x01\x28\x07", "int32"), (vec![1], vec![7]));
    assert_eq!(ints(b"\xe2\x12\x02\x01\x02\xe0\x12\x07", "p_int32"), (vec![3], vec![1, 2, 7]));
    assert_eq!(ints(b"\xca\x06\x02\x05\x06", "r_int32"), (vec![2], vec![5, 6]));
    assert_eq!(ints(b"\x70\x09", "enum"), (vec![1], vec![9]));
    assert_eq!(ints(b"\x2a\x02\x05\x06", "int32"), (vec![1], vec![-3]));
    assert_eq!(ints(b"\x2a\x03\x05\x06\x07\x28\x09", "int32"), (vec![1], vec![9]));
    assert_eq!(ints(b"\x2d\0\0\0\0", "int32"), (vec![0], vec![-3]));
    let (sizes, t) = decode(b"\x28\x80\x80\x80\x80\x10", "int32", DataType::Int64).unwrap();
    assert_eq!((sizes, t.as_slice::<i64>().unwrap()), (vec![1], &[0][..]));
    let text =
        |message, field| decode(message, field, DataType::String).unwrap().1.strings().unwrap()[0].clone();
    assert_eq!(text(b"\x53\x08\x01\x54", "group"), &b"S\x08\x01T"[..]);
    assert_eq!(text(b"", "bytes"), &b"\x01x\n"[..]);
    let (_, t) = decode(b"", "float", DataType::Double).unwrap();
    assert_eq!(t.as_slice::<f64>().unwrap(), [f64::NEG_INFINITY]);
}

#[test]
fn bad_messages_are_data_loss_and_bad_fields_invalid() {
    let bad: [&'static [u8]; 9] = [
        b"\x28",
        b"\x09\x01",
        b"\x0a",
        b"\x00\x01",
        b"\x0c",
        b"\x28\x01\x0c",
        b"\x07",
        b"\x2a\x02\x05\x86",
        b"\x28\x09\x2a\x03\x05\x06\x07",
    ];
    for message in bad {
        let e = decode(message, "int32", DataType::Int32).unwrap_err();
        assert_eq!(e.code(), Code::DataLoss, "{message:?}");
    }
    for (field, dtype) in [("nope", DataType::Int32), ("int32", DataType::String), ("enum", DataType::Int64)]
    {
        assert_eq!(decode(b"", field, dtype).unwrap_err().code(), Code::InvalidArgument, "{field}");
    }
    let mut named = attrs(&["int32"], ("output_types", &[DataType::Int32]));
    for source in ["bytes://xx", "bytes://", "/no/such/file", "local://"] {
        named[3].1 = Attr::str(source);
        let e = call("DecodeProtoV2", &[Tensor::string("")], &named).unwrap_err();
        assert_eq!(e.code(), Code::InvalidArgument, "{source}: {e}");
    }
}

fn encode(sizes: &[i32], values: Tensor, field: &str) -> Result<Bytes> {
    let sizes = Tensor::from_slice(Shape::new(&[1, sizes.len()])?, sizes)?;
    let attrs = attrs(&[field], ("Tinput_types", &[values.dtype()]));
    Ok(call("EncodeProto", &[sizes, values], &attrs)?.remove(0).strings()?[0].clone())
}

#[test]
fn fields_are_encoded_as_tensorflow_does() {
    let row = |v: &[i32]| Tensor::from_slice(Shape::new(&[1, v.len()]).unwrap(), v).unwrap();
    let wide = |v: i64| Tensor::from_slice(Shape::new(&[1, 1]).unwrap(), &[v]).unwrap();
    let text = |v: &'static [u8]| {
        Tensor::from_objects(Shape::new(&[1, 1]).unwrap(), vec![Bytes::from_static(v)]).unwrap()
    };
    let ok = |n, values, field: &str| encode(&[n], values, field).unwrap();
    assert_eq!(ok(2, row(&[5, 6]), "int32"), &b"(\x05(\x06"[..]);
    assert_eq!(ok(2, row(&[5, 6]), "p_int32"), &b"\xe2\x12\x02\x05\x06"[..]);
    assert_eq!(ok(0, row(&[5, 6]), "p_int32"), &b""[..]);
    assert_eq!(ok(-1, row(&[5, 6]), "r_int32"), &b""[..]);
    assert_eq!(ok(1, row(&[-5]), "enum"), &b"p\xfb\xff\xff\xff\xff\xff\xff\xff\xff\x01"[..]);
    assert_eq!(ok(1, wide((1 << 40) + 5), "sint32"), &b"\x88\x01\n"[..]);
    assert_eq!(ok(1, wide((1 << 40) + 5), "int32"), &b"(\x05"[..]);
    assert_eq!(ok(1, text(b"\x08\x01"), "group"), &b"S\x08\x01T"[..]);
    let e = |n: &[i32], values, field: &str| encode(n, values, field).unwrap_err().message().to_string();
    assert!(e(&[3], row(&[5, 6]), "r_int32").contains("must not be larger than value tensor"));
    assert!(e(&[1, 1], row(&[5, 6]), "r_int32").contains("sizes should be batch_size"));
    assert!(e(&[1], Tensor::vector(&[5i32]).unwrap(), "int32").contains("at least a matrix"));
    assert!(e(&[1], floats(&[1, 1], &[5.0]), "int32").contains("Incompatible type for field"));
}
