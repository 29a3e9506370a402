//! The rendezvous of one step: tensors produced here wait for their receivers, those of other tasks are fetched by RecvTensor.

use super::request_ids::RequestIds;
use super::transfer_log::TransferLog;
use crate::cluster::{CallHandle, Membership};
use crate::net::grpc::content_scanner::RECV_TENSOR;
use crate::wire::error::received;
use crate::wire::tensors::Contents;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Code, Error, Result, internal};
use thalweg_core::invalid;
use thalweg_core::rendezvous::{LocalRendezvous, OnParcel, Parcel, Rendezvous};
use thalweg_core::sync::lock;
use thalweg_proto::{RecvTensorRequest, RecvTensorResponse};
use thalweg_runtime::executor::allow_inline_resume;

pub struct StepRendezvous {
    id: u64,
    home: Arc<Membership>,
    /// Membership in the cluster of the step's session; set once it runs.
    us: OnceLock<Arc<Membership>>,
    /// The number of its session here; 0 for a session of our own master.
    session: AtomicU64,
    /// Its running partitions here.
    parts: Mutex<SmallVec<[Weak<Cancellation>; 1]>>,
    transfers: Arc<TransferLog>,
    request_ids: Arc<RequestIds>,
    local: LocalRendezvous,
    asked: Arc<Mutex<RemoteRecvs>>,
}

/// RecvTensor calls in flight.
#[derive(Default)]
struct RemoteRecvs {
    next: u64,
    waiting: HashMap<u64, (OnParcel, Option<CallHandle>)>,
    aborted: Option<Error>,
}

impl StepRendezvous {
    pub fn new(
        id: u64,
        home: Arc<Membership>,
        transfers: Arc<TransferLog>,
        request_ids: Arc<RequestIds>,
    ) -> Self {
        StepRendezvous {
            id,
            home,
            us: OnceLock::new(),
            session: AtomicU64::new(0),
            parts: Mutex::default(),
            transfers,
            request_ids,
            local: LocalRendezvous::default(),
            asked: Arc::default(),
        }
    }

    pub fn note_run(&self, us: &Arc<Membership>, session: u64) {
        // All partitions of a step have one session.
        let _ = self.us.set(us.clone());
        self.session.store(session, Ordering::Relaxed);
    }

    pub fn session(&self) -> u64 {
        self.session.load(Ordering::Relaxed)
    }

    /// Adds a partition: it ends with the step.
    pub fn note_part(&self, part: &Arc<Cancellation>) {
        let ended = {
            let asked = lock(&self.asked);
            lock(&self.parts).push(Arc::downgrade(part));
            asked.aborted.clone()
        };
        if let Some(e) = ended {
            part.cancel(e.derived());
        }
    }

    /// Aborts it and cancels its partitions.
    pub fn end(&self, reason: Error) {
        self.abort(reason.clone());
        let parts = std::mem::take(&mut *lock(&self.parts));
        parts.iter().filter_map(Weak::upgrade).for_each(|part| part.cancel(reason.clone()));
    }

    pub fn has_run(&self) -> bool {
        self.us.get().is_some()
    }

    pub fn us(&self) -> &Membership {
        self.us.get().unwrap_or(&self.home)
    }

    /// As `recv`, for tensors of this task; dropping the result withdraws it.
    pub fn recv_local(self: &Arc<Self>, key: &str, done: OnParcel) -> LocalRecv {
        let number = self.local.want(key, done);
        LocalRecv { step: self.clone(), key: key.to_string(), number }
    }

    /// Keys that hold tensors or receivers.
    #[cfg(test)]
    pub fn keys(&self) -> usize {
        self.local.len()
    }

    fn recv_remote(&self, key: &str, done: OnParcel) {
        let Some(link) = self.us().links.to_device(key) else {
            return done(Err(invalid!(
                "'{key}' comes from a task that is not in the cluster of {}",
                self.us().task
            )));
        };
        let number = {
            let mut asked = lock(&self.asked);
            if let Some(e) = asked.aborted.clone() {
                drop(asked);
                return done(Err(e.derived()));
            }
            asked.next += 1;
            let number = asked.next;
            asked.waiting.insert(number, (done, None));
            number
        };
        let request = RecvTensorRequest {
            step_id: self.id as i64,
            rendezvous_key: key.to_string(),
            request_id: self.request_ids.next(),
            ..Default::default()
        };
        let (asked, task) = (self.asked.clone(), link.task.clone());
        let record =
            self.transfers.begin().map(|began| (self.transfers.clone(), self.id, key.to_string(), began));
        let arrived = move |answer| {
            let waiting = lock(&asked).waiting.remove(&number);
            let Some((done, _)) = waiting else { return };
            let parcel = parcel(answer, &task);
            if let (Some((log, step, key, began)), Ok(Parcel { value: Some(value) })) = (record, &parcel) {
                log.add(step, &key, began, value.byte_len());
            }
            allow_inline_resume(|| done(parcel));
        };
        let call = link.call_for_tensors("RecvTensor", &request, RECV_TENSOR, arrived);
        // It may have completed or been cancelled meanwhile.
        match lock(&self.asked).waiting.get_mut(&number) {
            Some(entry) => entry.1 = Some(call),
            None => call.cancel(),
        }
    }
}

/// A receiver that waits for a local tensor.
pub struct LocalRecv {
    step: Arc<StepRendezvous>,
    key: String,
    number: u64,
}

impl Drop for LocalRecv {
    fn drop(&mut self) {
        if self.number != 0 {
            self.step.local.withdraw(&self.key, self.number);
        }
    }
}

fn parcel(answer: Result<(RecvTensorResponse, Contents)>, task: &str) -> Result<Parcel> {
    let (answer, contents) = match answer {
        Ok(answer) => answer,
        Err(e) if e.code() == Code::Unavailable => return Err(e),
        Err(e) => return Err(received(task, e.code(), e.message())),
    };
    if answer.is_dead {
        return Ok(Parcel::dead());
    }
    let tensor = answer.tensor.ok_or_else(|| internal(format_args!("{task} answered without a tensor")))?;
    Ok(Parcel::live(contents.tensor(&tensor)?))
}

impl Rendezvous for StepRendezvous {
    fn send(&self, key: &str, parcel: Parcel) -> Result<()> {
        self.local.send(key, parcel)
    }

    fn recv(&self, key: &str, done: OnParcel) {
        match is_from(key, &self.us().task) {
            true => self.local.recv(key, done),
            false => self.recv_remote(key, done),
        }
    }

    fn abort(&self, reason: Error) {
        let waiting = {
            let mut asked = lock(&self.asked);
            asked.aborted.get_or_insert(reason.clone());
            std::mem::take(&mut asked.waiting)
        };
        for (_, (done, call)) in waiting {
            call.inspect(CallHandle::cancel);
            done(Err(reason.clone().derived()));
        }
        self.local.abort(reason);
    }
}

/// Whether the sender in a key is a device of this task, or its client.
fn is_from(key: &str, task: &str) -> bool {
    match key.strip_prefix(task) {
        Some(rest) => rest.starts_with("/device:"),
        None => !key.starts_with("/job:"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const TASK: &str = "/job:ps/replica:0/task:0";

    #[test]
    fn an_answer_is_a_tensor_nothing_or_an_error_with_its_task() {
        let answer = |is_dead, tensor| {
            Ok((RecvTensorResponse { is_dead, tensor, ..Default::default() }, Contents::default()))
        };
        assert!(parcel(answer(true, None), TASK).unwrap().value.is_none());
        assert_eq!(parcel(answer(false, None), TASK).err().unwrap().code(), Code::Internal);
        let tensor =
            thalweg_graph::convert::tensor_to_proto(&thalweg_core::tensor::Tensor::scalar(3f32)).unwrap();
        let live = parcel(answer(false, Some(tensor)), TASK).unwrap();
        assert_eq!(live.value.unwrap().to_scalar::<f32>().unwrap(), 3.0);
        // The link has added the task's name already.
        let failed = |code| parcel(Err(Error::new(code, "why")), TASK).err().unwrap();
        assert_eq!(failed(Code::Unavailable).message(), "why");
        assert_eq!(failed(Code::Aborted).message(), "From /job:ps/replica:0/task:0:\nwhy");
    }

    #[test]
    fn what_is_ours_is_told_from_what_other_tasks_make() {
        for (key, ours) in [
            ("/job:ps/replica:0/task:0/device:CPU:0;1;x;t;0:0", true),
            ("/job:ps/replica:0/task:01/device:CPU:0;1;x;t;0:0", false),
            ("/job:worker/replica:0/task:0/device:CPU:0;1;x;t;0:0", false),
            ("the client's", true),
        ] {
            assert_eq!(is_from(key, TASK), ours, "{key}");
        }
    }

    #[tokio::test]
    async fn a_tensor_is_asked_of_its_task_by_step_key_and_a_number() {
        let mut played = crate::testing::Played::new().await;
        let (_connector, us) = played.member();
        let step = StepRendezvous::new(7, us, Arc::default(), Arc::default());
        let key = "/job:ps/replica:0/task:0/device:CPU:0;1;/job:worker/replica:0/task:0/device:CPU:0;t;0:0";
        let mut numbers = HashSet::new();
        for _ in 0..3 {
            step.recv(key, Box::new(|_| {}));
            let (method, message) = played.call().await;
            let asked: RecvTensorRequest = thalweg_proto::decode(message).unwrap();
            assert_eq!(
                (method.as_str(), asked.step_id, asked.rendezvous_key.as_str()),
                ("RecvTensor", 7, key)
            );
            assert!(asked.request_id != 0 && numbers.insert(asked.request_id));
        }
        // An aborted receive gets the step's error, as derived.
        let (tx, rx) = tokio::sync::oneshot::channel();
        step.recv(key, Box::new(move |parcel| drop(tx.send(parcel.err()))));
        step.abort(Error::new(Code::Aborted, "over"));
        let e = rx.await.unwrap().unwrap();
        assert!(e.code() == Code::Aborted && e.is_derived(), "{e}");
        let (tx, rx) = tokio::sync::oneshot::channel();
        step.recv(key, Box::new(move |parcel| drop(tx.send(parcel.err()))));
        assert_eq!(rx.await.unwrap().unwrap().message(), "over");
        let nowhere = key.replace("ps", "nobody");
        let (tx, rx) = tokio::sync::oneshot::channel();
        step.recv(&nowhere, Box::new(move |parcel| drop(tx.send(parcel.err()))));
        assert_eq!(rx.await.unwrap().unwrap().code(), Code::InvalidArgument);
    }
}
