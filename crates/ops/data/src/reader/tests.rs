use super::source::Source;
use crate::prelude::*;
use bytes::Bytes;
use thalweg_core::access::Access;
use thalweg_io::record::{Compression, RecordWriter};
use thalweg_io::scratch::Scratch;

/// All records of a file, with keys after the last slash, as text.
fn all(source: Source, contents: &[u8]) -> Result<Vec<(String, String)>> {
    let folder = Scratch::new();
    let path = folder.path("f");
    std::fs::write(&path, contents).unwrap();
    let name = Bytes::from(path.to_str().unwrap().to_string());
    let mut work = source.start(&name, &Access::Everything)?;
    let mut found = Vec::new();
    loop {
        let (record, is_last) = work.next()?;
        if let Some((key, value)) = record {
            let key = String::from_utf8_lossy(&key).rsplit('/').next().unwrap_or_default().to_string();
            found.push((key, String::from_utf8_lossy(&value).into_owned()));
        }
        if is_last {
            return Ok(found);
        }
    }
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

/// What TensorFlow 2.21 reads.
#[test]
fn files_are_cut_into_records_as_tensorflow_does() {
    let text = b"a\nb\r\n\nc";
    let lines = |skip| all(Source::Lines { skip }, text).unwrap();
    assert_eq!(lines(0), pairs(&[("f:1", "a"), ("f:2", "b"), ("f:3", ""), ("f:4", "c")]));
    assert_eq!(lines(2), pairs(&[("f:3", ""), ("f:4", "c")]));
    assert_eq!(lines(9), pairs(&[]));
    assert_eq!(all(Source::WholeFile, b"x").unwrap(), pairs(&[("f", "x")]));
    let fixed = |record, hop| {
        let (header, footer, compression) = (2, 1, Compression::None);
        all(Source::Fixed { header, record, footer, hop, compression }, b"HHabcdefgF").unwrap()
    };
    assert_eq!(fixed(3, 3), pairs(&[("f:0", "abc"), ("f:1", "def")]));
    assert_eq!(fixed(3, 2), pairs(&[("f:0", "abc"), ("f:1", "cde"), ("f:2", "efg")]));
    assert_eq!(fixed(2, 5), pairs(&[("f:0", "ab"), ("f:1", "fg")]));
    assert_eq!(fixed(7, 7), pairs(&[("f:0", "abcdefg")]));
    assert_eq!(fixed(8, 8), pairs(&[]));
}

#[test]
fn a_record_file_that_is_cut_short_is_an_error() {
    let mut writer = RecordWriter::new(Vec::new(), Compression::None);
    for record in [&b"a"[..], b"bb", b""] {
        writer.write(record).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let read = |bytes: &[u8]| all(Source::Records(Compression::None), bytes);
    assert_eq!(read(&bytes).unwrap(), pairs(&[("f:0", "a"), ("f:17", "bb"), ("f:35", "")]));
    for length in [34, 40] {
        assert_eq!(read(&bytes[..length]).unwrap_err().code(), Code::DataLoss);
    }
}
