//! Writes the seed corpus of the fuzzers: `cargo run -p thalweg-fuzzing --example seeds -- fuzz/corpus`.

use std::path::{Path, PathBuf};
use thalweg_core::error::{Result, internal};
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_graph::convert::tensor_to_proto;
use thalweg_io::bundle::{BundleWriter, index_path};
use thalweg_io::record::{Compression, RecordWriter};
use thalweg_io::scratch::Scratch;
use thalweg_proto::*;

const GRAPHS: [&str; 3] = [
    "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
     node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
            attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 3 } } } }
     node { name: 'y' op: 'AddV2' input: 'c' input: 'c' attr { key: 'T' value { type: DT_FLOAT } } }
     node { name: 'z' op: 'Mul' input: 'y' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }",
    "node { name: 'i' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
            attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
     node { name: 'n' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
            attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 3 } } } }
     node { name: 'e' op: 'Enter' input: 'i' attr { key: 'T' value { type: DT_INT32 } } attr { key: 'frame_name' value { s: 'f' } } }
     node { name: 'k' op: 'Enter' input: 'n' attr { key: 'T' value { type: DT_INT32 } } attr { key: 'frame_name' value { s: 'f' } }
            attr { key: 'is_constant' value { b: true } } }
     node { name: 'm' op: 'Merge' input: 'e' input: 'next' attr { key: 'T' value { type: DT_INT32 } } attr { key: 'N' value { i: 2 } } }
     node { name: 'l' op: 'Less' input: 'm' input: 'k' attr { key: 'T' value { type: DT_INT32 } } }
     node { name: 'go' op: 'LoopCond' input: 'l' }
     node { name: 's' op: 'Switch' input: 'm' input: 'go' attr { key: 'T' value { type: DT_INT32 } } }
     node { name: 'next' op: 'NextIteration' input: 's:1' attr { key: 'T' value { type: DT_INT32 } } }
     node { name: 'exit' op: 'Exit' input: 's' attr { key: 'T' value { type: DT_INT32 } } }",
    "node { name: 'a' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
            attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1 } dim { size: 4 } dim { size: 4 } dim { size: 1 } } float_val: 1 } } } }
     node { name: 'call' op: 'twice' input: 'a' }
     node { name: 'p' op: 'MaxPool' input: 'call' attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'ksize' value { list { i: 1 i: 2 i: 2 i: 1 } } }
            attr { key: 'strides' value { list { i: 1 i: 2 i: 2 i: 1 } } } attr { key: 'padding' value { s: 'VALID' } } }
     library { function { signature { name: 'twice' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
       node_def { name: 'add' op: 'AddV2' input: 'x' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
       ret { key: 'y' value: 'add:z:0' } } }",
];

struct Corpus(PathBuf);

impl Corpus {
    fn put(&self, target: &str, name: &str, bytes: &[u8]) -> Result<()> {
        let folder = self.0.join(target);
        std::fs::create_dir_all(&folder)?;
        Ok(std::fs::write(folder.join(name), bytes)?)
    }
}

fn main() -> Result<()> {
    let to = std::env::args().nth(1).ok_or_else(|| internal("seeds FOLDER"))?;
    let corpus = Corpus(PathBuf::from(to));
    graphs(&corpus)?;
    messages(&corpus)?;
    connections(&corpus)?;
    files(&corpus)?;
    strings(&corpus)?;
    media(&corpus)
}

fn parsed(text: &str) -> Result<GraphDef> {
    text::parse_graph_def(text).map_err(|e| internal(e.to_string()))
}

fn graphs(corpus: &Corpus) -> Result<()> {
    for (i, text) in GRAPHS.iter().enumerate() {
        let (def, name) = (parsed(text)?, format!("graph{i}"));
        corpus.put("graph_text", &name, text.as_bytes())?;
        corpus.put("graph_def", &name, &encode(&def))?;
        let meta = MetaGraphDef { graph_def: Some(def.clone()), ..Default::default() };
        corpus.put(
            "saved_model",
            &name,
            &encode(&SavedModel { meta_graphs: vec![meta], ..Default::default() }),
        )?;
        let config = ConfigProto {
            device_filters: vec!["/job:ps".into()],
            isolate_session_state: true,
            operation_timeout_in_ms: 50,
            ..Default::default()
        };
        let create =
            CreateSessionRequest { graph_def: Some(def.clone()), config: Some(config), ..Default::default() };
        corpus.put("create_session", &name, &encode(&create))?;
        corpus.put(
            "register_graph",
            &name,
            &encode(&RegisterGraphRequest { graph_def: Some(def), ..Default::default() }),
        )?;
    }
    Ok(())
}

fn messages(corpus: &Corpus) -> Result<()> {
    let fed = tensor_to_proto(&Tensor::scalar(2f32))?;
    for (name, fetch, target) in [("fetch", "y:0", ""), ("init", "v:0", "init"), ("queue", "get:0", "put")] {
        let request = RunStepRequest {
            feed: vec![NamedTensorProto { name: "x:0".into(), tensor: Some(fed.clone()) }],
            fetch: vec![fetch.into()],
            target: [target].iter().filter(|t| !t.is_empty()).map(|t| t.to_string()).collect(),
            ..Default::default()
        };
        corpus.put("run_step", name, &encode(&request))?;
    }
    let tasks = [(0, "127.0.0.1:2222".to_string())].into_iter().collect();
    let cluster = ClusterDef { job: vec![JobDef { name: "ps".into(), tasks }] };
    let def = ServerDef {
        cluster: Some(cluster),
        job_name: "ps".into(),
        protocol: "grpc".into(),
        ..Default::default()
    };
    corpus.put("server_def", "one", &encode(&def))?;
    let config =
        r#"{"cluster": {"ps": ["a:1"], "worker": ["b:2", "c:3"]}, "task": {"type": "worker", "index": 1}}"#;
    corpus.put("tf_config", "cluster", config.as_bytes())?;
    corpus.put("tf_config", "jobs", br#"{"ps": {"0": "a:1", "7": "b:2"}}"#)
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u32;
    [&length.to_be_bytes()[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let literal = |(k, v): &(&str, &str)| {
        [&[0x40, k.len() as u8][..], k.as_bytes(), &[v.len() as u8], v.as_bytes()].concat()
    };
    fields.iter().flat_map(literal).collect()
}

fn connections(corpus: &Corpus) -> Result<()> {
    let head = fields(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/tensorflow.MasterService/ListDevices"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("grpc-timeout", "10m"),
    ]);
    let start =
        [&[15][..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &frame(4, 0, 0, &[0, 4, 0, 0, 255, 255])].concat();
    let call = [frame(1, 4, 1, &head), frame(0, 1, 1, &[0; 5])].concat();
    let odd = [
        frame(1, 0, 3, &head[..20]),
        frame(9, 4, 3, &head[20..]),
        frame(0, 8, 3, &[2, 0, 0, 0, 0, 5, 0, 0]),
        frame(8, 0, 3, &[0, 0, 1, 0]),
        frame(3, 0, 3, &[0, 0, 0, 8]),
        frame(6, 0, 0, b"12345678"),
        frame(2, 0, 5, &[0, 0, 0, 1, 9]),
        frame(7, 0, 0, &[0; 8]),
    ];
    corpus.put("http2", "call", &[start.clone(), call.clone()].concat())?;
    corpus.put("http2", "odd", &[start, call, odd.concat()].concat())?;
    corpus.put("hpack", "literals", &[&[head.len() as u8][..], &head, &[3, 0xbe, 0xbf, 0x82]].concat())?;
    let coded = [
        0x20, 0x82, 0x86, 0x84, 0x41, 0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4,
        0xff,
    ];
    corpus.put("hpack", "coded", &[&[coded.len() as u8][..], &coded].concat())
}

fn checkpoint(prefix: &Path) -> Result<()> {
    let mut writer = BundleWriter::create(prefix)?;
    writer.add("weights", &Tensor::from_slice(Shape::new(&[3, 4])?, &[0.5f32; 12])?)?;
    writer.add("count", &Tensor::scalar(7i64))?;
    writer.add(
        "text",
        &Tensor::from_objects(Shape::new(&[2])?, vec![Bytes::from("some"), Bytes::from("words")])?,
    )?;
    writer.finish()
}

fn files(corpus: &Corpus) -> Result<()> {
    let folder = Scratch::new();
    let prefix = folder.path("good");
    checkpoint(&prefix)?;
    corpus.put("checkpoint_index", "good", &std::fs::read(index_path(&prefix))?)?;
    corpus.put("checkpoint_data", "good", &std::fs::read(prefix.with_extension("data-00000-of-00001"))?)?;
    let event = Event { wall_time: 1.5, step: 3, ..Default::default() };
    for (kind, compression) in [(0u8, Compression::None), (1, Compression::Gzip), (2, Compression::Zlib)] {
        let path = folder.path("records");
        let mut writer = RecordWriter::create(&path, compression)?;
        writer.write(b"one")?;
        writer.write(&encode(&event))?;
        writer.finish()?;
        let bytes = std::fs::read(&path)?;
        corpus.put("tfrecord", &format!("kind{kind}"), &[&[kind][..], &bytes].concat())?;
        if kind == 0 {
            corpus.put("event", "two", &bytes)?;
        }
    }
    corpus.put(
        "npy",
        "floats",
        &thalweg_io::npy::write(&Tensor::from_slice(Shape::new(&[2, 2])?, &[1f32, 2.0, 3.0, 4.0])?)?,
    )?;
    corpus.put("npy", "flag", &thalweg_io::npy::write(&Tensor::scalar(true))?)?;
    corpus.put("idx", "labels", &[0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9])?;
    corpus.put(
        "idx",
        "images",
        &[&[0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2][..], &[1, 2, 3, 4]].concat(),
    )
}

fn strings(corpus: &Corpus) -> Result<()> {
    corpus.put("csv", "plain", b"\x001.5,7,word")?;
    corpus.put("csv", "quoted", b"\x00-2e3,\"-9\",\"a \"\"b\"\", c\"")?;
    corpus.put("csv_record", "plain", b"1.5,2,text")?;
    corpus.put("csv_record", "quoted", b"-1e3,,\"a \"\"b\"\", c\"")?;
    let json = b"{\"features\": {\"feature\": {\"a\": {\"floatList\": {\"value\": [1.5, \"NaN\"]}}}}}";
    corpus.put("json_example", "floats", json)?;
    corpus.put("parse_tensor", "repeated", &[8, 1, 18, 4, 18, 2, 8, 100, 42, 4, 0, 0, 128, 63])?;
    corpus.put(
        "decode_proto",
        "tensor",
        &[
            66, 1, 97, 66, 2, 98, 99, 8, 1, 42, 8, 0, 0, 192, 63, 0, 0, 0, 192, 45, 0, 0, 128, 63, 18, 4, 18,
            2, 8, 3, 80, 44,
        ],
    )?;
    corpus.put(
        "proto_descriptors",
        "enum",
        &[
            10, 50, 10, 1, 109, 18, 1, 112, 34, 23, 10, 1, 77, 18, 18, 10, 1, 102, 24, 1, 32, 1, 40, 14, 50,
            4, 46, 112, 46, 69, 58, 1, 66, 42, 17, 10, 1, 69, 18, 5, 10, 1, 65, 16, 0, 18, 5, 10, 1, 66, 16,
            3,
        ],
    )?;
    let floats = Feature { kind: Some(feature::Kind::FloatList(FloatList { value: vec![1.0, 2.0] })) };
    let words = Feature { kind: Some(feature::Kind::BytesList(BytesList { value: vec![Bytes::from("b")] })) };
    let ints = Feature { kind: Some(feature::Kind::Int64List(Int64List { value: vec![3, -4] })) };
    let feature =
        [("a", floats), ("b", words), ("i", ints)].map(|(k, v)| (k.to_string(), v)).into_iter().collect();
    corpus.put("example", "three", &encode(&Example { features: Some(Features { feature }) }))?;
    // 2x1 grey, 8 bits, stored without compression.
    let png: [u8; 68] = [
        0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 2, 0, 0, 0, 1,
        8, 0, 0, 0, 0, 0xd1, 0x49, 0x02, 0x41, 0, 0, 0, 11, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63, 0x60,
        0xf8, 0xcf, 0, 0, 2, 2, 1, 0, 0x27, 0x3e, 0x5c, 0x9f, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42,
        0x60,
    ];
    corpus.put("png", "grey", &[&png[..], &[0x82]].concat())
}

/// Images and sound, written by our own encoders.
fn media(corpus: &Corpus) -> Result<()> {
    use thalweg_io::jpeg::{Encode, encode};
    let pixels: Vec<u8> = (0..17 * 19 * 3).map(|i| (i * i / 7) as u8).collect();
    for (name, progressive, optimize, downsample) in
        [("baseline", false, false, true), ("optimal", false, true, false), ("progressive", true, true, true)]
    {
        let options = Encode {
            quality: 60,
            progressive,
            optimize,
            downsample,
            density_unit: 1,
            density: [72, 72],
            xmp: b"",
        };
        corpus.put("jpeg", name, &[&[0][..], &encode(&pixels, [17, 19, 3], &options)?].concat())?;
        corpus.put(
            "jpeg",
            &format!("grey_{name}"),
            &[&[65][..], &encode(&pixels[..99], [9, 11, 1], &options)?].concat(),
        )?;
    }
    let frames = b"GIF89a\x02\0\x01\0\x80\0\0\xff\0\0\0\x80\xff,\0\0\0\0\x02\0\x01\0\0\x02\x02D\n\0,\x01\0\0\0\x01\0\x01\0\x40\x02\x02D\x01\0;";
    corpus.put("gif", "two", frames)?;
    let head = b"BM\x3e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x02\0\0\0\x01\0\x18\0";
    let mut bitmap = head.to_vec();
    bitmap.resize(54, 0);
    bitmap.extend([1, 2, 3, 0, 4, 5, 6, 0]);
    corpus.put("bmp", "colour", &bitmap)?;
    corpus.put("wav", "stereo", &thalweg_io::wav::encode(&[0.5, -0.5, 0.25, 0.0], 8000, 2)?)
}
