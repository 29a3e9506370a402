//! RecvTensor: sends a tensor that was produced here; an early request waits.

use super::Worker;
use std::sync::Arc;
use thalweg_core::error::{Result, aborted, internal};
use thalweg_core::invalid;
use thalweg_core::rendezvous::Parcel;
use thalweg_graph::convert::tensor_to_proto;
use thalweg_proto::{
    RecvTensorRequest, RecvTensorResponse, TensorProto, TensorShapeProto, tensor_shape_proto,
};
use tokio::sync::oneshot;

/// The sending task of a rendezvous key.
pub fn sender(key: &str) -> Option<&str> {
    key.starts_with("/job:").then(|| key.split("/device:").next())?
}

impl Worker {
    pub async fn recv_tensor(self: &Arc<Self>, request: RecvTensorRequest) -> Result<RecvTensorResponse> {
        let result = self.received(request).await;
        self.logged("RecvTensor", result)
    }

    async fn received(&self, request: RecvTensorRequest) -> Result<RecvTensorResponse> {
        self.check_sender(&request.rendezvous_key)?;
        // A retry would take the first request's tensor.
        self.recent.note(request.request_id, "RecvTensor")?;
        let step = self.steps.wanted(request.step_id as u64)?;
        let (tx, rx) = oneshot::channel();
        // A cancelled call leaves nothing in the rendezvous.
        let _wish = step.recv_local(&request.rendezvous_key, Box::new(move |parcel| drop(tx.send(parcel))));
        let parcel = rx.await.map_err(|_| internal("the step was dropped"))??;
        let receiver = request.rendezvous_key.split(';').nth(2).unwrap_or_default();
        step.us().links.note(receiver, 0, parcel.value.as_ref().map_or(0, |t| t.byte_len()));
        response(parcel)
    }

    /// Whether the key's sending device is ours, with our incarnation. The task may have the name of a session's own
    /// cluster: the incarnation identifies it.
    fn check_sender(&self, key: &str) -> Result<()> {
        let bad = || invalid!("'{key}' is not the key of a tensor");
        let mut parts = key.split(';');
        let (Some(device), Some(incarnation), 3) = (parts.next(), parts.next(), parts.clone().count()) else {
            return Err(bad());
        };
        let incarnation = u64::from_str_radix(incarnation, 16).map_err(|_| bad())?;
        let devices = self.task.devices();
        let ours = local(device).and_then(|wanted| devices.iter().find(|d| local(d.name()) == Some(wanted)));
        let ours = ours
            .ok_or_else(|| invalid!("{device} is not a device of {}: cannot send from it", self.task.name))?;
        if ours.context.incarnation != incarnation {
            return Err(aborted(format_args!(
                "RecvTensor expects a different device incarnation: {incarnation} vs. {}. {} was probably restarted: open a \
                 new session and restore its state",
                ours.context.incarnation, self.task.name
            )));
        }
        Ok(())
    }
}

/// `CPU:0`, of a full name.
fn local(device: &str) -> Option<&str> {
    device.split_once("/device:").map(|d| d.1)
}

fn response(parcel: Parcel) -> Result<RecvTensorResponse> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let is_dead = parcel.value.is_none();
    let tensor = match &parcel.value {
        Some(value) => tensor_to_proto(value)?,
        None => nothing(),
    };
    Ok(RecvTensorResponse {
        tensor: Some(tensor),
        is_dead,
        send_start_micros: now.as_micros() as i64,
        ..Default::default()
    })
}

/// An empty tensor, for a dead one.
fn nothing() -> TensorProto {
    let dim = vec![tensor_shape_proto::Dim::default()];
    TensorProto {
        dtype: thalweg_core::dtype::DataType::Float as i32,
        tensor_shape: Some(TensorShapeProto { dim, ..Default::default() }),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::tensor::Tensor;

    #[test]
    fn a_branch_that_was_not_taken_is_an_empty_tensor_that_says_so() {
        let dead = response(Parcel::dead()).unwrap();
        let tensor = dead.tensor.unwrap();
        let dims: Vec<i64> = tensor.tensor_shape.unwrap().dim.iter().map(|d| d.size).collect();
        assert_eq!((dead.is_dead, tensor.dtype, dims), (true, 1, vec![0]));
        let live = response(Parcel::live(Tensor::scalar(3f32))).unwrap();
        assert!(!live.is_dead && live.tensor.unwrap().tensor_shape.unwrap().dim.is_empty());
        let in_2020 = 1_577_836_800_000_000;
        assert!(live.send_start_micros > in_2020 && dead.send_start_micros > in_2020);
    }

    #[test]
    fn keys_name_the_task_that_sends() {
        let key = "/job:ps/replica:0/task:0/device:CPU:0;1;/job:worker/replica:0/task:0/device:CPU:0;t;0:0";
        assert_eq!(sender(key), Some("/job:ps/replica:0/task:0"));
        assert_eq!(sender("x/device:CPU:0"), None);
        assert_eq!((local("/job:ps/replica:0/task:0/device:CPU:1"), local("CPU:1")), (Some("CPU:1"), None));
    }
}
