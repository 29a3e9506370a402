//! `TF_CONFIG` and cluster descriptions in JSON, as in TensorFlow.

use super::server_def::TaskSpec;
use super::spec::ClusterSpec;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::memory::{self, Promise};

/// `TF_CONFIG`: the cluster, and the task of this process.
#[derive(Clone, Debug, PartialEq)]
pub struct TfConfig {
    pub cluster: ClusterSpec,
    pub job: String,
    pub task: u32,
}

impl TfConfig {
    /// `{"cluster": {"ps": ["host:port"], ...}, "task": {"type": "worker", "index": 0}}`.
    pub fn parse(text: &str) -> Result<TfConfig> {
        let (_room, whole) = object(text, "TF_CONFIG")?;
        let cluster = match whole.get("cluster") {
            Some(Value::Object(jobs)) => ClusterSpec::from_json(jobs)?,
            _ => return Err(invalid!("TF_CONFIG has no object 'cluster'")),
        };
        let task = whole.get("task").and_then(Value::as_object);
        let task = task.ok_or_else(|| invalid!("TF_CONFIG has no object 'task'"))?;
        let job = task.get("type").and_then(Value::as_str);
        let job = job.ok_or_else(|| invalid!("TF_CONFIG's task has no 'type', such as \"worker\""))?;
        // Some write a string.
        let index = match task.get("index") {
            Some(Value::String(s)) => s.parse().ok(),
            Some(n) => n.as_u64(),
            None => Some(0),
        };
        let index = index.and_then(|i| u32::try_from(i).ok());
        let task = index.ok_or_else(|| invalid!("TF_CONFIG's task has no valid 'index'"))?;
        Ok(TfConfig { cluster, job: job.to_string(), task })
    }

    /// Inverse of `parse`.
    pub fn to_json(&self) -> String {
        let task = serde_json::json!({"type": self.job, "index": self.task});
        serde_json::json!({"cluster": self.cluster.json(), "task": task}).to_string()
    }

    /// The task of this process, if it is in the cluster: an evaluator is not.
    pub fn task_spec(&self) -> Result<TaskSpec> {
        TaskSpec::in_cluster(self.cluster.clone(), &self.job, self.task)
    }
}

impl ClusterSpec {
    /// `{"ps": ["host:port", ...], "worker": {"0": "host:port"}}`.
    pub fn parse(text: &str) -> Result<ClusterSpec> {
        let (_room, jobs) = object(text, "the cluster")?;
        ClusterSpec::from_json(&jobs)
    }

    fn from_json(jobs: &Map<String, Value>) -> Result<ClusterSpec> {
        let mut cluster = ClusterSpec::default();
        for (job, tasks) in jobs {
            let bad = || {
                invalid!(
                    "job '{job}' of the cluster must be a list of addresses, such as [\"host:2222\"], or an object from task \
                     numbers to addresses"
                )
            };
            let address = |v: &Value| v.as_str().map(str::to_string).ok_or_else(bad);
            let mut found = BTreeMap::new();
            match tasks {
                Value::Array(list) => {
                    for (i, v) in list.iter().enumerate() {
                        found.insert(i as u32, address(v)?);
                    }
                }
                Value::Object(map) => {
                    for (i, v) in map {
                        found.insert(i.parse().map_err(|_| bad())?, address(v)?);
                    }
                }
                _ => return Err(bad()),
            }
            cluster.jobs.insert(job.clone(), found);
        }
        Ok(cluster)
    }

    /// Inverse of `parse`.
    pub fn to_json(&self) -> String {
        self.json().to_string()
    }

    fn json(&self) -> Value {
        let job = |(name, tasks): (&String, &BTreeMap<u32, String>)| {
            let tasks = tasks.iter().map(|(i, a)| (i.to_string(), Value::String(a.clone()))).collect();
            (name.clone(), Value::Object(tasks))
        };
        Value::Object(self.jobs.iter().map(job).collect())
    }
}

/// Memory of the parsed values and the cluster, in multiples of the text's bytes: a map of one short entry has
/// room for eleven. `tests/json_memory.rs` checks it.
const TIMES: usize = 200;

/// A JSON object, and the memory reserved for it and the cluster.
fn object(text: &str, what: &str) -> Result<(Promise, Map<String, Value>)> {
    // serde_json aborts when out of memory.
    let room = memory::promise(text.len().saturating_mul(TIMES)).map_err(|e| e.context(what))?;
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok((room, map)),
        Ok(_) => Err(invalid!("{what} must be a JSON object")),
        Err(e) => Err(invalid!("{what} is not valid JSON: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_jobs_are_read() {
        let text = r#"{"cluster": {"ps": ["a:1", "b:2"], "worker": {"3": "c:4"}}, "task": {"type": "worker", "index": "3"}}"#;
        let config = TfConfig::parse(text).unwrap();
        assert_eq!((config.job.as_str(), config.task), ("worker", 3));
        assert_eq!(config.cluster.address("ps", 1), Some("b:2"));
        let spec = config.task_spec().unwrap();
        assert_eq!((spec.port, spec.cluster.len()), (Some(4), 3));
        assert_eq!(TfConfig::parse(&config.to_json()).unwrap(), config);
        assert_eq!(ClusterSpec::parse(&config.cluster.to_json()).unwrap(), config.cluster);
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [
            "",
            "[]",
            "{}",
            r#"{"cluster": []}"#,
            r#"{"cluster": {"ps": 7}, "task": {"type": "ps"}}"#,
            r#"{"cluster": {"ps": [7]}, "task": {"type": "ps"}}"#,
            r#"{"cluster": {"ps": ["a:1"]}, "task": {"index": 0}}"#,
            r#"{"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": -1}}"#,
        ] {
            assert!(TfConfig::parse(bad).is_err(), "{bad}");
        }
        let elsewhere = r#"{"cluster": {"ps": ["a:1"]}, "task": {"type": "evaluator"}}"#;
        assert!(TfConfig::parse(elsewhere).unwrap().task_spec().is_err());
    }
}
