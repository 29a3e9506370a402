//! The log of tensors received from other tasks, fetched by masters that trace a step (Logging).

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};
use thalweg_core::sync::lock;
use thalweg_proto::{
    AllocationDescription, DeviceStepStats, LabeledStepStats, LoggingRequest, LoggingResponse, NodeExecStats,
    NodeOutput, StepStats, TensorDescription,
};

/// Transfers by step. Nothing is recorded unless enabled.
#[derive(Default)]
pub struct TransferLog(Mutex<State>);

#[derive(Default)]
struct State {
    /// Masters that have enabled it and not disabled it.
    wanted: usize,
    steps: BTreeMap<u64, Vec<(String, NodeExecStats)>>,
    kept: usize,
}

/// Beyond this, a master never fetched its records, or died: the log is cleared.
const MAX_KEPT: usize = 10_000;

impl TransferLog {
    /// The start of a transfer to record; `None` if disabled.
    pub fn begin(&self) -> Option<i64> {
        (lock(&self.0).wanted > 0).then(now)
    }

    /// Records a received tensor.
    pub fn add(&self, step: u64, key: &str, began: i64, bytes: usize) {
        let mut parts = key.split(';');
        let (sender, receiver) = (parts.next().unwrap_or_default(), parts.nth(1).unwrap_or_default());
        let tensor = parts.next().unwrap_or_default();
        let took = now().saturating_sub(began).max(1);
        let description = AllocationDescription { requested_bytes: bytes as i64, ..Default::default() };
        let description =
            TensorDescription { allocation_description: Some(description), ..Default::default() };
        let stats = NodeExecStats {
            node_name: "RecvTensor".into(),
            timeline_label: format!("{} {tensor} from {sender} to {receiver}", amount(bytes, took)),
            all_start_micros: began,
            op_end_rel_micros: took,
            all_end_rel_micros: took,
            output: vec![NodeOutput { slot: 0, tensor_description: Some(description) }],
            ..Default::default()
        };
        let mut state = lock(&self.0);
        if state.kept >= MAX_KEPT {
            state.clear();
        }
        state.kept += 1;
        state.steps.entry(step).or_default().push((receiver.to_string(), stats));
    }

    /// Enables, fetches, clears or disables, in TensorFlow's order.
    pub fn serve(&self, request: &LoggingRequest) -> LoggingResponse {
        let mut state = lock(&self.0);
        if request.enable_rpc_logging {
            state.wanted += 1;
        }
        if request.disable_rpc_logging {
            state.wanted = state.wanted.saturating_sub(1);
        }
        let fetched = request.fetch_step_id.iter().filter_map(|id| state.take(*id)).collect();
        if request.clear {
            state.clear();
        }
        LoggingResponse { step: fetched }
    }
}

impl State {
    fn take(&mut self, id: i64) -> Option<LabeledStepStats> {
        let found = self.steps.remove(&(id as u64))?;
        self.kept = self.kept.saturating_sub(found.len());
        let mut devices: BTreeMap<String, DeviceStepStats> = BTreeMap::new();
        for (device, stats) in found {
            let of = devices.entry(device.clone()).or_default();
            of.device = device;
            of.node_stats.push(stats);
        }
        let stats = StepStats { dev_stats: devices.into_values().collect() };
        Some(LabeledStepStats { step_id: id, step_stats: Some(stats) })
    }

    fn clear(&mut self) {
        self.steps.clear();
        self.kept = 0;
    }
}

/// Size and rate, as timelines show them.
fn amount(bytes: usize, micros: i64) -> String {
    let size = match bytes {
        0..104_858 => format!("[{bytes}B]"),
        _ => format!("[{:.1}MB]", bytes as f64 / f64::from(1 << 20)),
    };
    match 8.0 * bytes as f64 / micros as f64 {
        rate if rate >= 1000.0 => format!("{size} [{:.1}Gb/s]", rate / 1000.0),
        rate => format!("{size} [{rate:.6}Mb/s]"),
    }
}

/// Microseconds since 1970.
fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |t| i64::try_from(t.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "/job:ps/replica:0/task:0/device:CPU:0;00000000000000ab;/job:worker/replica:0/task:0/device:CPU:0;edge_1_w;0:0";

    fn fetch(log: &TransferLog, step: i64) -> Vec<LabeledStepStats> {
        log.serve(&LoggingRequest { fetch_step_id: vec![step], ..Default::default() }).step
    }

    #[test]
    fn transfers_are_kept_for_those_who_asked_and_given_once() {
        let log = TransferLog::default();
        assert_eq!(log.begin(), None);
        log.serve(&LoggingRequest { enable_rpc_logging: true, ..Default::default() });
        log.add(7, KEY, log.begin().unwrap(), 400);
        log.add(7, KEY, log.begin().unwrap(), 1 << 20);
        assert!(fetch(&log, 8).is_empty());
        let [step] = &fetch(&log, 7)[..] else { panic!("one step") };
        let devices = &step.step_stats.as_ref().unwrap().dev_stats;
        assert_eq!((step.step_id, devices.len(), devices[0].node_stats.len()), (7, 1, 2));
        assert_eq!(devices[0].device, "/job:worker/replica:0/task:0/device:CPU:0");
        let labels: Vec<&str> = devices[0].node_stats.iter().map(|n| n.timeline_label.as_str()).collect();
        assert!(labels[0].starts_with("[400B]") && labels[1].starts_with("[1.0MB]"), "{labels:?}");
        assert!(labels[0].ends_with(
            "edge_1_w from /job:ps/replica:0/task:0/device:CPU:0 to /job:worker/replica:0/task:0/device:CPU:0"
        ));
        assert!(fetch(&log, 7).is_empty());
        log.add(9, KEY, 0, 1);
        log.serve(&LoggingRequest { clear: true, disable_rpc_logging: true, ..Default::default() });
        assert!(log.begin().is_none() && fetch(&log, 9).is_empty());
    }

    #[test]
    fn what_nobody_fetches_does_not_pile_up() {
        let log = TransferLog::default();
        (0..MAX_KEPT as u64 + 5).for_each(|step| log.add(step, KEY, 0, 1));
        assert_eq!(lock(&log.0).steps.len(), 5);
    }

    #[test]
    fn amounts_are_in_the_units_of_timelines() {
        for (bytes, micros, text) in [
            (0, 1, "[0B] [0.000000Mb/s]"),
            (400, 100, "[400B] [32.000000Mb/s]"),
            (124, 1, "[124B] [992.000000Mb/s]"),
            (125, 1, "[125B] [1.0Gb/s]"),
            (104_857, 1, "[104857B] [838.9Gb/s]"),
            (104_858, 1_000_000, "[0.1MB] [0.838864Mb/s]"),
            (3 << 20, 1000, "[3.0MB] [25.2Gb/s]"),
        ] {
            assert_eq!(amount(bytes, micros), text);
        }
    }

    #[test]
    fn a_transfer_tells_when_it_began_how_long_it_took_and_how_much_came() {
        let log = TransferLog::default();
        log.serve(&LoggingRequest { enable_rpc_logging: true, ..Default::default() });
        let in_2020 = 1_577_836_800_000_000;
        let now = log.begin().unwrap();
        assert!(now > in_2020);
        // One began in 2020, one after its end: the minimum duration is 1.
        log.add(7, KEY, in_2020, 400);
        log.add(7, KEY, i64::MAX, 400);
        let stats = fetch(&log, 7).remove(0).step_stats.unwrap().dev_stats.remove(0).node_stats;
        let [slow, quick] = &stats[..] else { panic!("two transfers") };
        assert_eq!((slow.node_name.as_str(), slow.all_start_micros), ("RecvTensor", in_2020));
        assert!(slow.op_end_rel_micros >= now - in_2020, "{slow:?}");
        assert_eq!(slow.all_end_rel_micros, slow.op_end_rel_micros);
        assert_eq!((quick.op_end_rel_micros, quick.all_end_rel_micros), (1, 1));
        let description = slow.output[0].tensor_description.as_ref().unwrap();
        assert_eq!(description.allocation_description.as_ref().unwrap().requested_bytes, 400);
    }

    #[test]
    fn the_record_goes_on_as_long_as_one_master_wants_it() {
        let log = TransferLog::default();
        let begin = LoggingRequest { enable_rpc_logging: true, ..Default::default() };
        let end = LoggingRequest { disable_rpc_logging: true, ..Default::default() };
        // Disabling more often than enabling has no effect.
        for (request, goes_on) in
            [(&end, false), (&begin, true), (&begin, true), (&end, true), (&end, false), (&begin, true)]
        {
            log.serve(request);
            assert_eq!(log.begin().is_some(), goes_on);
        }
        log.add(1, KEY, 0, 1);
        log.add(1, KEY, 0, 1);
        log.add(2, KEY, 0, 1);
        assert_eq!(lock(&log.0).kept, 3);
        fetch(&log, 1);
        assert_eq!(lock(&log.0).kept, 1);
    }
}
