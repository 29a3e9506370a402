//! TF_CONFIG and clusters in JSON, parsed by serde_json, whose allocations cannot fail: memory is reserved before.

#[path = "../../proto/tests/decoded_size/counting.rs"]
mod counting;

use counting::peak;
use std::sync::Mutex;
use thalweg_core::error::Code;
use thalweg_core::memory::{Limits, set_limits};
use thalweg_dist::cluster::{ClusterSpec, TfConfig};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// Limits are global.
static ONE: Mutex<()> = Mutex::new(());

/// Small texts, large values: many empty lists and maps.
fn hostile() -> Vec<String> {
    let list = |part: &str| format!("{{\"a\":[{}0]}}", format!("{part},").repeat(5000));
    let jobs = |value: &str| {
        let all: Vec<String> = (0..5000).map(|i| format!("\"{i}\":{value}")).collect();
        format!("{{{}}}", all.join(","))
    };
    let nested =
        format!("{{\"a\":[{}0]}}", (r#"{"":"#.repeat(100) + "0" + &"}".repeat(100) + ",").repeat(100));
    vec![
        list("[]"),
        list("{}"),
        list("0"),
        list("\"\""),
        list(r#"{"":0}"#),
        list(r#"{"":{"":0}}"#),
        list("[0]"),
        jobs("[]"),
        jobs("{}"),
        jobs("[\"\"]"),
        jobs(r#"{"0":""}"#),
        nested,
    ]
}

#[test]
fn no_text_takes_more_than_is_asked_for() {
    let _alone = ONE.lock();
    for text in hostile() {
        for whole in [text.clone(), format!(r#"{{"cluster":{text},"task":{{"type":"a"}}}}"#)] {
            let (_, cluster) = peak(|| ClusterSpec::parse(&whole).is_ok());
            let (_, config) = peak(|| TfConfig::parse(&whole).is_ok());
            // The reservation of `tf_config`.
            let asked = 200 * whole.len();
            let start: String = whole.chars().take(60).collect();
            let (_, values) = peak(|| serde_json::from_str::<serde_json::Value>(&whole).is_ok());
            println!("{} times, without the cluster: {start}", values / whole.len());
            assert!(cluster.max(config) <= asked, "{start}: took {cluster} and {config}, asked for {asked}");
        }
    }
}

#[test]
fn a_text_larger_than_memory_is_refused() {
    let _alone = ONE.lock();
    let text = format!(r#"{{"worker": [{}"b:1"]}}"#, r#""a:1","#.repeat(10_000));
    assert!(ClusterSpec::parse(&text).is_ok());
    set_limits(Limits { limit: 1 << 20, ceiling: 1 << 20 });
    let codes = [ClusterSpec::parse(&text).map(drop), TfConfig::parse(&text).map(drop)];
    set_limits(Limits { limit: usize::MAX, ceiling: usize::MAX });
    for got in codes {
        assert_eq!(got.unwrap_err().code(), Code::ResourceExhausted);
    }
}
