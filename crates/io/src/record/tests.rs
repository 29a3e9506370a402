use super::*;
use bytes::Bytes;
use thalweg_core::case::CaseGen;
use thalweg_core::error::Code;

const ALL: [Compression; 3] = [Compression::None, Compression::Zlib, Compression::Gzip];

fn file(records: &[Bytes], compression: Compression) -> Vec<u8> {
    let mut writer = RecordWriter::new(Vec::new(), compression);
    records.iter().for_each(|r| writer.write(r).unwrap());
    writer.finish().unwrap()
}

fn read(file: &[u8], compression: Compression) -> Result<Vec<Bytes>> {
    RecordReader::new(file, compression, "test").collect()
}

fn some_records() -> Vec<Bytes> {
    let mut r = CaseGen::new(3);
    [0, 1, 5, 300].iter().map(|n| (0..*n).map(|_| r.bits() as u8).collect::<Vec<u8>>().into()).collect()
}

#[test]
fn records_come_back_in_order() {
    let records = some_records();
    for compression in ALL {
        assert_eq!(read(&file(&records, compression), compression).unwrap(), records, "{compression:?}");
    }
    assert_eq!(read(b"", Compression::None).unwrap(), Vec::<Bytes>::new());
}

#[test]
fn an_uncompressed_record_has_tensorflows_layout() {
    // tf.io.TFRecordWriter().write(b"abc")
    let want = b"\x03\0\0\0\0\0\0\0\xb0\x99\x49\x0eabc\x6e\x57\xf1\x21";
    assert_eq!(file(&[Bytes::from_static(b"abc")], Compression::None), want);
}

#[test]
fn compression_is_detected_from_the_first_bytes() {
    for compression in ALL {
        for length in [1usize, 0x78, 0x178] {
            let start = file(&[vec![7; length].into()], compression);
            assert_eq!(Compression::of_bytes(&start), Some(compression));
        }
    }
    assert_eq!(Compression::of_bytes(b"node { name: 'x' }"), None);
}

#[test]
fn files_cut_short_are_data_loss_unless_cut_between_records() {
    let records = some_records();
    let ends: Vec<usize> = records
        .iter()
        .scan(0, |at, r| {
            *at += r.len() + 16;
            Some(*at)
        })
        .collect();
    for compression in ALL {
        let whole = file(&records, compression);
        for len in 1..whole.len() {
            match read(&whole[..len], compression) {
                Ok(got) => assert!(
                    compression != Compression::None && got == records || ends.contains(&len),
                    "{compression:?} cut at {len} gave {} records",
                    got.len()
                ),
                Err(e) => {
                    assert_eq!(e.code(), Code::DataLoss, "{compression:?} {len}: {e}");
                    let whole = compression != Compression::None;
                    assert!(whole || e.message().contains("truncated record at"), "{len}: {e}");
                }
            }
        }
    }
}

#[test]
fn the_offset_is_where_the_next_record_begins() {
    let records = some_records();
    for compression in ALL {
        let whole = file(&records, compression);
        let mut reader = RecordReader::new(&whole[..], compression, "test");
        let mut at = 0;
        for record in &records {
            assert_eq!(reader.offset(), at);
            assert_eq!(reader.next().unwrap().unwrap(), record);
            at += record.len() as u64 + 16;
        }
        assert_eq!(reader.offset(), at);
    }
}

#[test]
fn any_flipped_bit_is_data_loss_that_names_file_and_offset() {
    let records = some_records();
    let whole = file(&records, Compression::None);
    for bit in 0..whole.len() * 8 {
        let mut bad = whole.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let e = read(&bad, Compression::None).unwrap_err();
        assert_eq!(e.code(), Code::DataLoss, "bit {bit}");
        assert!(e.message().starts_with("test: ") && e.message().contains(" at "), "{e}");
    }
    for compression in [Compression::Zlib, Compression::Gzip] {
        let whole = file(&records, compression);
        for bit in 0..whole.len() * 8 {
            let mut bad = whole.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            // Unused bits of a gzip header may flip undetected; the records are then still right.
            match read(&bad, compression) {
                Ok(got) => assert_eq!(got, records),
                Err(e) => assert_eq!(e.code(), Code::DataLoss, "{compression:?} bit {bit}: {e}"),
            }
        }
    }
}

#[test]
fn a_length_that_lies_reserves_no_memory() {
    for length in [1u64 << 40, 1 << 62, u64::MAX, u64::MAX - 4] {
        let mut bad = length.to_le_bytes().to_vec();
        bad.extend(crate::crc::masked(&length.to_le_bytes()).to_le_bytes());
        bad.extend([0; 100]);
        assert_eq!(read(&bad, Compression::None).unwrap_err().code(), Code::DataLoss);
    }
}

/// A kilobyte of compressed zeros used to allocate a gigabyte.
#[test]
fn a_record_over_the_limit_is_not_unzipped() {
    for compression in ALL {
        let whole = file(&[vec![0; 1 << 20].into()], compression);
        let read = |limit: usize| {
            let mut reader = RecordReader::new(&whole[..], compression, "test");
            reader.limit = limit;
            reader.next().unwrap().map(|r| r.len())
        };
        assert_eq!(read((1 << 20) + 4).unwrap(), 1 << 20);
        assert_eq!(read((1 << 20) + 3).unwrap_err().code(), Code::ResourceExhausted);
        let e = read(1 << 10).unwrap_err();
        assert!(
            e.code() == Code::ResourceExhausted && e.message().starts_with("test: the record at 0"),
            "{e}"
        );
    }
}

#[test]
fn the_error_is_the_last_item() {
    let whole = file(&some_records(), Compression::None);
    let items: Vec<_> = RecordReader::new(&whole[..20], Compression::None, "test").collect();
    assert_eq!(items.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn compressions_have_tensorflows_names() {
    let named = ["", "ZLIB", "GZIP"].map(|name| Compression::from_name(name).unwrap());
    assert_eq!(named, [Compression::None, Compression::Zlib, Compression::Gzip]);
    assert_eq!(Compression::from_name("zlib").unwrap_err().code(), Code::InvalidArgument);
}
