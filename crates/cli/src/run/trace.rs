//! A step as Chrome's trace viewer shows it: a process for each device, a row for each thread.

use crate::json::Json;
use thalweg_runtime::trace::StepTimings;

pub fn chrome(step: &StepTimings) -> Json {
    let mut devices: Vec<&str> = step.nodes.iter().map(|n| &*n.device).collect();
    devices.sort_unstable();
    devices.dedup();
    let number = |device: &str| devices.iter().position(|d| *d == device).unwrap_or(0) as f64;
    let named = devices.iter().map(|device| {
        Json::Object(vec![
            ("name", "process_name".into()),
            ("ph", "M".into()),
            ("pid", number(device).into()),
            ("args", Json::Object(vec![("name", (*device).into())])),
        ])
    });
    let micros = |nanos: u64| Json::Number(nanos as f64 / 1e3);
    let ran = step.nodes.iter().map(|n| {
        Json::Object(vec![
            ("name", (&*n.op).into()),
            ("cat", "Op".into()),
            ("ph", "X".into()),
            ("pid", number(&n.device).into()),
            ("tid", (n.thread as f64).into()),
            ("ts", micros(n.start_nanos)),
            ("dur", micros(n.end_nanos.saturating_sub(n.start_nanos))),
            ("args", Json::Object(vec![("name", (&*n.node).into()), ("op", (&*n.op).into())])),
        ])
    });
    Json::Object(vec![
        ("traceEvents", Json::List(named.chain(ran).collect())),
        ("displayTimeUnit", "ns".into()),
    ])
}
