use super::*;
use crate::scratch::Scratch;
use thalweg_core::error::Code;
use thalweg_proto::event::What;
use thalweg_proto::{Summary, summary};

fn scalar(tag: &str, v: f32) -> What {
    let value = Some(summary::value::Value::SimpleValue(v));
    What::Summary(Summary { value: vec![summary::Value { tag: tag.into(), value, ..Default::default() }] })
}

#[test]
fn events_come_back_after_the_version() {
    let dir = Scratch::new();
    let mut writer = EventWriter::create(&dir.path("logs/run"), ".v2").unwrap();
    let other = EventWriter::create(&dir.path("logs/run"), ".v2").unwrap();
    assert_ne!(writer.path(), other.path());
    let name = writer.path().file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("events.out.tfevents.") && name.ends_with(".v2"), "{name}");
    for step in 0..5 {
        writer.add(step, scalar("loss", 1.0 / (step + 1) as f32)).unwrap();
    }
    writer.flush().unwrap();
    let events: Vec<_> = EventReader::open(writer.path()).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(events[0].what, Some(What::FileVersion("brain.Event:2".into())));
    assert_eq!(events[0].source_metadata.as_ref().unwrap().writer, "thalweg.io.event");
    assert_eq!(events.iter().map(|e| e.step).collect::<Vec<_>>(), [0, 0, 1, 2, 3, 4]);
    assert_eq!(events[2].what, Some(scalar("loss", 0.5)));
    let bytes = std::fs::read(writer.path()).unwrap();
    let cut = dir.path("cut");
    std::fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
    let items: Vec<_> = EventReader::open(&cut).unwrap().collect();
    assert_eq!(items.len(), 6);
    assert_eq!(items[5].as_ref().unwrap_err().code(), Code::DataLoss);
}

#[test]
fn histograms_have_tensorflows_buckets() {
    let of = |values: &[f64]| {
        let mut h = Histogram::new();
        values.iter().for_each(|v| h.add(*v));
        h.to_proto()
    };
    // HistogramSummary of TensorFlow 2.21 for the same values.
    let p = of(&[0.0, 0.0, 1.0, -1.0, 1e-13, 5.0, 5.5, 1e30, -1e21]);
    assert_eq!(
        (p.min, p.max, p.num, p.sum, p.sum_squares),
        (-1e21, 1e30, 9.0, 9.99999999e29, 1.0000000000000001e60)
    );
    assert_eq!(
        p.bucket_limit,
        [
            -f64::MAX,
            -9.9207756218597835e19,
            -1.0089710279437536,
            -0.917246389039776,
            0.0,
            1e-12,
            0.917246389039776,
            1.0089710279437536,
            4.6361946174186253,
            5.0998140791604882,
            5.6097954870765374,
            9.9207756218597835e19,
            f64::MAX
        ]
    );
    assert_eq!(p.bucket, [0.0, 1.0, 0.0, 1.0, 0.0, 3.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0]);
    let p = of(&[]);
    assert_eq!((p.min, p.max, p.bucket_limit, p.bucket), (f64::MAX, -f64::MAX, vec![f64::MAX], vec![0.0]));
    let p = of(&[3.0; 3]);
    assert_eq!(p.bucket_limit, [2.8787120958073054, 3.1665833053880363, f64::MAX]);
    assert_eq!(p.bucket, [0.0, 3.0, 0.0]);
    assert_eq!(of(&[f64::MAX]).bucket.last(), Some(&1.0));
}
