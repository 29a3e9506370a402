//! The ops that make readers, in both forms: a resource handle, and a reference to a string vector.

use super::resource::Reader;
use super::source::Source;
use crate::named::OwnedResource;
use crate::prelude::*;
use thalweg_io::record::Compression;

pub static OPS: &[&Op] = &[
    &TEXT_LINE_READER_V2,
    &TEXT_LINE_READER,
    &TF_RECORD_READER_V2,
    &TF_RECORD_READER,
    &FIXED_LENGTH_RECORD_READER_V2,
    &FIXED_LENGTH_RECORD_READER,
    &WHOLE_FILE_READER_V2,
    &WHOLE_FILE_READER,
    &IDENTITY_READER_V2,
    &IDENTITY_READER,
];

/// A reader by resource handle.
const BY_HANDLE: Op = Op { outputs: &["reader_handle: resource"], shape: shape_call::scalar, ..Op::STATEFUL };

/// A reader by reference.
const BY_REFERENCE: Op = Op {
    outputs: &["reader_handle: Ref(string)"],
    shape: |_| Ok(vec![PartialShape::vector(2)]),
    ..BY_HANDLE
};

static TEXT_LINE_READER_V2: Op = Op {
    name: "TextLineReaderV2",
    doc: "A reader of the lines of files, without their ends.",
    attrs: &["skip_header_lines: int = 0", "container: string = ''", "shared_name: string = ''"],
    kernels: cpu!(make lines),
    ..BY_HANDLE
};

static TEXT_LINE_READER: Op = Op {
    name: "TextLineReader",
    doc: TEXT_LINE_READER_V2.doc,
    attrs: TEXT_LINE_READER_V2.attrs,
    kernels: TEXT_LINE_READER_V2.kernels,
    ..BY_REFERENCE
};

fn lines(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let skip = at_least(node, "skip_header_lines", 0)?;
    reader(node, Source::Lines { skip })
}

static TF_RECORD_READER_V2: Op = Op {
    name: "TFRecordReaderV2",
    doc: "A reader of the records of TFRecord files.",
    attrs: &["container: string = ''", "shared_name: string = ''", "compression_type: string = ''"],
    kernels: cpu!(make records),
    ..BY_HANDLE
};

static TF_RECORD_READER: Op = Op {
    name: "TFRecordReader",
    doc: TF_RECORD_READER_V2.doc,
    attrs: TF_RECORD_READER_V2.attrs,
    kernels: TF_RECORD_READER_V2.kernels,
    ..BY_REFERENCE
};

fn records(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reader(node, Source::Records(compression(node, "compression_type")?))
}

/// As in TensorFlow, a name that is none means none.
fn compression(node: &KernelNode, attr: &str) -> Result<Compression> {
    Ok(Compression::from_name(node.attrs.str(attr)?).unwrap_or_default())
}

static FIXED_LENGTH_RECORD_READER_V2: Op = Op {
    name: "FixedLengthRecordReaderV2",
    doc: "A reader of records of `record_bytes` bytes, each `hop_bytes` after the one before.",
    attrs: &[
        "header_bytes: int = 0",
        "record_bytes: int",
        "footer_bytes: int = 0",
        "hop_bytes: int = 0",
        "container: string = ''",
        "shared_name: string = ''",
        "encoding: string = ''",
    ],
    kernels: cpu!(make fixed),
    ..BY_HANDLE
};

static FIXED_LENGTH_RECORD_READER: Op = Op {
    name: "FixedLengthRecordReader",
    doc: FIXED_LENGTH_RECORD_READER_V2.doc,
    attrs: &[
        "header_bytes: int = 0",
        "record_bytes: int",
        "footer_bytes: int = 0",
        "hop_bytes: int = 0",
        "container: string = ''",
        "shared_name: string = ''",
    ],
    kernels: cpu!(make fixed),
    ..BY_REFERENCE
};

fn fixed(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let is_encoded = node.attrs.get("encoding").is_some();
    let record = at_least(node, "record_bytes", 1)?;
    let hop = match at_least(node, "hop_bytes", 0)? {
        0 => record,
        hop => hop,
    };
    let source = Source::Fixed {
        header: at_least(node, "header_bytes", 0)?,
        record,
        footer: at_least(node, "footer_bytes", 0)?,
        hop,
        compression: if is_encoded { compression(node, "encoding")? } else { Compression::None },
    };
    reader(node, source)
}

static WHOLE_FILE_READER_V2: Op = Op {
    name: "WholeFileReaderV2",
    doc: "A reader of whole files, each a record.",
    attrs: &["container: string = ''", "shared_name: string = ''"],
    kernels: cpu!(make whole_file),
    ..BY_HANDLE
};

static WHOLE_FILE_READER: Op = Op {
    name: "WholeFileReader",
    doc: WHOLE_FILE_READER_V2.doc,
    attrs: WHOLE_FILE_READER_V2.attrs,
    kernels: WHOLE_FILE_READER_V2.kernels,
    ..BY_REFERENCE
};

fn whole_file(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reader(node, Source::WholeFile)
}

static IDENTITY_READER_V2: Op = Op {
    name: "IdentityReaderV2",
    doc: "A reader whose records are the strings of the queue themselves.",
    attrs: &["container: string = ''", "shared_name: string = ''"],
    kernels: cpu!(make identity),
    ..BY_HANDLE
};

static IDENTITY_READER: Op = Op {
    name: "IdentityReader",
    doc: IDENTITY_READER_V2.doc,
    attrs: IDENTITY_READER_V2.attrs,
    kernels: IDENTITY_READER_V2.kernels,
    ..BY_REFERENCE
};

fn identity(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reader(node, Source::Identity)
}

fn at_least(node: &KernelNode, attr: &str, least: i64) -> Result<u64> {
    match node.attrs.int(attr)? {
        n if n >= least => Ok(n as u64),
        n => Err(invalid!("{attr} must be >= {least} but got {n}")),
    }
}

/// The kernel of an op whose output is a handle to a reader of this source.
fn reader(node: &KernelNode, source: Source) -> Result<Box<dyn Kernel>> {
    let owner = OwnedResource::<Reader>::new(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let reader = owner.get(c, |name| Reader::new(name, source))?;
        if reader.source != source {
            return Err(invalid!(
                "the shared reader of this name is a {:?}, not a {source:?}",
                reader.source
            ));
        }
        owner.output_handle(c, reader);
        Ok(())
    }))
}
