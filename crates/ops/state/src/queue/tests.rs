//! Queues over several ops; the order of completion and the error texts are TensorFlow's.

use crate::prelude::*;
use crate::testing::{begin, call_in, call_values, code, floats, ints, step};
use std::sync::mpsc::{Receiver, TryRecvError};
use thalweg_core::step::StepContext;

struct Q {
    step: Arc<StepContext>,
    handle: Tensor,
    types: Vec<DataType>,
}

fn queue(op: &'static str, types: &[DataType], shapes: &[&[i64]], attrs: &[(&'static str, Attr)]) -> Q {
    let step = step(1);
    let shapes = shapes.iter().map(|s| Attr::Shape(PartialShape::new(s).unwrap())).collect();
    let mut all = vec![
        ("component_types", Attr::types(types)),
        ("shapes", Attr::List(shapes)),
        ("shared_name", Attr::str("q")),
    ];
    all.extend_from_slice(attrs);
    let handle = call_in(&step, op, &[], &all).unwrap().remove(0);
    let types =
        if op.starts_with("Priority") { [&[DataType::Int64], types].concat() } else { types.to_vec() };
    Q { step, handle, types }
}

fn fifo(capacity: i64) -> Q {
    queue("FIFOQueueV2", &[DataType::Int32], &[&[]], &[("capacity", Attr::Int(capacity))])
}

type Waiting = Receiver<Result<Vec<Tensor>>>;

impl Q {
    fn begin(&self, op: &str, inputs: &[Tensor], attrs: &[(&'static str, Attr)]) -> Waiting {
        begin(&self.step, op, &[&[self.handle.clone()], inputs].concat(), attrs)
    }
    fn enqueue(&self, v: i32) -> Waiting {
        self.begin("QueueEnqueueV2", &[Tensor::scalar(v)], &[])
    }
    fn enqueue_many(&self, v: &[i32]) -> Waiting {
        self.begin("QueueEnqueueManyV2", &[ints(&[v.len()], v)], &[])
    }
    fn dequeue(&self) -> Waiting {
        self.begin("QueueDequeueV2", &[], &[("component_types", Attr::types(&self.types))])
    }
    fn dequeue_n(&self, op: &str, n: i32) -> Waiting {
        self.begin(op, &[Tensor::scalar(n)], &[("component_types", Attr::types(&self.types))])
    }
    fn close(&self, cancel: bool) -> Waiting {
        self.begin("QueueCloseV2", &[], &[("cancel_pending_enqueues", Attr::Bool(cancel))])
    }
    fn size(&self) -> i32 {
        call_in(&self.step, "QueueSizeV2", &[self.handle.clone()], &[]).unwrap()[0].to_scalar().unwrap()
    }
}

fn now(w: &Waiting) -> Result<Vec<i32>> {
    let tensors = w.try_recv().expect("should have answered")?;
    Ok(tensors.first().map_or(vec![], |t| t.as_slice::<i32>().unwrap().to_vec()))
}

fn waits(w: &Waiting) -> bool {
    matches!(w.try_recv(), Err(TryRecvError::Empty))
}

fn text(w: &Waiting) -> String {
    now(w).unwrap_err().message().to_string()
}

#[test]
fn elements_come_out_in_order_and_closing_ends_them() {
    let q = fifo(3);
    now(&q.enqueue_many(&[1, 2])).unwrap();
    assert_eq!(now(&q.dequeue()).unwrap(), [1]);
    now(&q.close(false)).unwrap();
    assert_eq!(text(&q.close(false)), "Queue 'q' is already closed.");
    assert_eq!(text(&q.enqueue(9)), "FIFOQueue 'q' is closed.");
    let e = now(&q.dequeue_n("QueueDequeueManyV2", 5)).unwrap_err();
    assert_eq!(e.code(), Code::OutOfRange);
    assert_eq!(
        e.message(),
        "FIFOQueue 'q' is closed and has insufficient elements (requested 5, current size 1)"
    );
    assert_eq!(now(&q.dequeue_n("QueueDequeueUpToV2", 5)).unwrap(), [2]);
    assert_eq!(
        text(&q.dequeue()),
        "FIFOQueue 'q' is closed and has insufficient elements (requested 1, current size 0)"
    );
    assert_eq!(now(&q.dequeue_n("QueueDequeueManyV2", 0)).unwrap(), Vec::<i32>::new());
}

#[test]
fn those_who_wait_are_served_in_order() {
    let q = fifo(2);
    let (first, many, last) = (q.dequeue(), q.dequeue_n("QueueDequeueManyV2", 3), q.dequeue());
    now(&q.enqueue_many(&[1, 2, 3])).unwrap();
    assert_eq!(now(&first).unwrap(), [1]);
    assert!(waits(&many) && waits(&last));
    assert_eq!(q.size(), 0);
    now(&q.enqueue_many(&[4, 5])).unwrap();
    assert_eq!(now(&many).unwrap(), [2, 3, 4]);
    assert_eq!(now(&last).unwrap(), [5]);
}

#[test]
fn a_full_queue_makes_producers_wait_and_close_waits_for_them() {
    let q = fifo(2);
    let many = q.enqueue_many(&[1, 2, 3, 4]);
    let (close, behind) = (q.close(false), q.enqueue(9));
    assert!(waits(&many) && waits(&close) && waits(&behind));
    assert_eq!(q.size(), 2);
    assert_eq!(now(&q.dequeue_n("QueueDequeueManyV2", 4)).unwrap(), [1, 2, 3, 4]);
    now(&many).unwrap();
    now(&close).unwrap();
    assert_eq!(text(&behind), "FIFOQueue 'q' is closed.");
}

#[test]
fn closing_can_cancel_producers() {
    let q = fifo(1);
    now(&q.enqueue(1)).unwrap();
    let pending = q.enqueue(2);
    now(&q.close(true)).unwrap();
    let e = now(&pending).unwrap_err();
    assert_eq!((e.code(), e.message()), (Code::Cancelled, "Enqueue operation was cancelled"));
    assert_eq!(now(&q.dequeue()).unwrap(), [1]);
}

#[test]
fn closing_returns_what_a_batch_had_collected() {
    let q = fifo(10);
    now(&q.enqueue_many(&[1, 2])).unwrap();
    let batch = q.dequeue_n("QueueDequeueManyV2", 4);
    assert!(waits(&batch));
    now(&q.close(false)).unwrap();
    assert_eq!(
        text(&batch),
        "FIFOQueue 'q' is closed and has insufficient elements (requested 2, current size 0)"
    );
    assert_eq!(now(&q.dequeue_n("QueueDequeueUpToV2", 9)).unwrap(), [1, 2]);
}

#[test]
fn a_cancelled_step_leaves_the_line_and_gives_back_its_elements() {
    let q = fifo(10);
    now(&q.enqueue_many(&[1, 2])).unwrap();
    let other = Q { step: q.step.clone(), handle: q.handle.clone(), types: q.types.clone() };
    let doomed = {
        let mut s = StepContext::new(2, q.step.device.clone());
        s.cancel = Arc::default();
        Q { step: Arc::new(s), ..other }
    };
    let (batch, behind) = (doomed.dequeue_n("QueueDequeueManyV2", 4), q.dequeue());
    assert!(waits(&batch) && waits(&behind));
    doomed.step.cancel.cancel(cancelled("stop"));
    assert_eq!(now(&batch).unwrap_err().code(), Code::Cancelled);
    assert_eq!(now(&behind).unwrap(), [1]);
    assert_eq!(q.size(), 1);
    // A request of a cancelled step is never queued.
    now(&q.dequeue()).unwrap();
    assert_eq!(now(&doomed.dequeue()).unwrap_err().code(), Code::Cancelled);
}

#[test]
fn deleting_a_queue_wakes_all() {
    let q = fifo(1);
    let waiting = q.dequeue();
    call_in(&q.step, "DestroyResourceOp", &[q.handle.clone()], &[]).unwrap();
    assert_eq!(now(&waiting).unwrap_err().code(), Code::Cancelled);
}

#[test]
fn shuffled_elements_come_in_tensorflows_order() {
    let seeds = [
        ("capacity", Attr::Int(10)),
        ("min_after_dequeue", Attr::Int(3)),
        ("seed", Attr::Int(5)),
        ("seed2", Attr::Int(6)),
    ];
    let q = queue("RandomShuffleQueueV2", &[DataType::Int32], &[&[]], &seeds);
    now(&q.enqueue_many(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])).unwrap();
    let first: Vec<i32> = (0..3).flat_map(|_| now(&q.dequeue()).unwrap()).collect();
    assert_eq!(first, [3, 4, 5]);
    assert_eq!(now(&q.dequeue_n("QueueDequeueManyV2", 3)).unwrap(), [8, 1, 9]);
    let kept = q.dequeue_n("QueueDequeueManyV2", 2);
    assert!(waits(&kept));
    now(&q.close(false)).unwrap();
    assert_eq!(now(&kept).unwrap().len(), 2);
    assert_eq!(now(&q.dequeue_n("QueueDequeueUpToV2", 5)).unwrap().len(), 2);
}

#[test]
fn elements_are_padded_to_the_largest_of_their_batch() {
    let q = queue("PaddingFIFOQueueV2", &[DataType::Int32, DataType::String], &[&[-1, -1], &[-1]], &[]);
    let word = |w: &[&'static str]| {
        Tensor::from_objects(
            Shape::vector(w.len()),
            w.iter().map(|w| bytes::Bytes::from_static(w.as_bytes())).collect(),
        )
        .unwrap()
    };
    q.begin("QueueEnqueueV2", &[ints(&[2, 1], &[1, 2]), word(&["a", "b"])], &[]).recv().unwrap().unwrap();
    q.begin("QueueEnqueueV2", &[ints(&[1, 3], &[3, 4, 5]), word(&[])], &[]).recv().unwrap().unwrap();
    let got = q.dequeue_n("QueueDequeueManyV2", 2).recv().unwrap().unwrap();
    assert_eq!(got[0].as_slice::<i32>().unwrap(), [1, 0, 0, 2, 0, 0, 3, 4, 5, 0, 0, 0]);
    assert!(got[1].same_bits(&word(&["a", "b", "", ""]).reshape(Shape::new(&[2, 2]).unwrap()).unwrap()));
    let bad = q.begin("QueueEnqueueV2", &[ints(&[1], &[1]), word(&[])], &[]);
    assert_eq!(text(&bad), "Shape mismatch in tuple component 0. Expected [?,?], got [1]");
}

#[test]
fn the_least_priority_comes_first() {
    let q = queue("PriorityQueueV2", &[DataType::Int32], &[&[]], &[]);
    let add = [Tensor::vector(&[5i64, 1, 3, 1]).unwrap(), ints(&[4], &[50, 10, 30, 11])];
    q.begin("QueueEnqueueManyV2", &add, &[]).recv().unwrap().unwrap();
    let got = q.dequeue_n("QueueDequeueManyV2", 4).recv().unwrap().unwrap();
    assert_eq!(got[0].as_slice::<i64>().unwrap(), [1, 1, 3, 5]);
    assert_eq!(got[1].as_slice::<i32>().unwrap(), [10, 11, 30, 50]);
}

/// Elements were once taken as they arrived: sorted only among those.
#[test]
fn many_of_a_priority_queue_that_had_to_wait_are_sorted() {
    let q = queue("PriorityQueueV2", &[DataType::Int32], &[&[]], &[]);
    let many = q.dequeue_n("QueueDequeueManyV2", 4);
    for keys in [[5i64, 9], [1, 7]] {
        let add = [Tensor::vector(&keys).unwrap(), ints(&[2], &[0, 0])];
        q.begin("QueueEnqueueManyV2", &add, &[]).recv().unwrap().unwrap();
    }
    let got = many.recv().unwrap().unwrap();
    assert_eq!(got[0].as_slice::<i64>().unwrap(), [1, 5, 7, 9]);
    // Of a closed queue, DequeueUpTo takes the rest.
    let up_to = q.dequeue_n("QueueDequeueUpToV2", 4);
    q.begin("QueueEnqueueManyV2", &[Tensor::vector(&[3i64, 2]).unwrap(), ints(&[2], &[0, 0])], &[])
        .recv()
        .unwrap()
        .unwrap();
    q.begin("QueueCloseV2", &[], &[]).recv().unwrap().unwrap();
    assert_eq!(up_to.recv().unwrap().unwrap()[0].as_slice::<i64>().unwrap(), [2, 3]);
}

#[test]
fn bad_requests_are_refused() {
    let q = fifo(3);
    assert_eq!(
        text(&q.begin("QueueEnqueueV2", &[ints(&[2], &[1, 2])], &[])),
        "Shape mismatch in tuple component 0. Expected [], got [2]"
    );
    assert!(now(&q.begin("QueueEnqueueV2", &[Tensor::scalar(1f32)], &[])).is_err());
    assert!(now(&q.begin("QueueEnqueueManyV2", &[Tensor::scalar(1i32)], &[])).is_err());
    assert_eq!(text(&q.dequeue_n("QueueDequeueManyV2", -1)), "DequeueManyOp requested -1 < 0 elements");
    assert_eq!(q.size(), 0);
    let foreign = Tensor::from_object(thalweg_core::resource::ResourceHandle::default());
    assert_eq!(code(call_in(&q.step, "QueueSizeV2", &[foreign], &[])), Code::FailedPrecondition);
    let wrong = super::super::testing::call_in(
        &q.step,
        "FIFOQueueV2",
        &[],
        &[
            ("component_types", Attr::types(&[DataType::Int32])),
            ("shared_name", Attr::str("q")),
            ("capacity", Attr::Int(4)),
        ],
    );
    assert_eq!(wrong.unwrap_err().message(), "Shared queue 'q' has capacity 3 but requested capacity was 4");
    let v = Tensor::zeros(DataType::Resource, Shape::vector(2)).unwrap();
    assert_eq!(code(call_in(&q.step, "QueueSizeV2", &[v], &[])), Code::InvalidArgument);
}

#[test]
fn the_older_handles_name_their_queue() {
    let step = step(1);
    let attrs = [("component_types", Attr::types(&[DataType::Float])), ("shapes", Attr::List(vec![]))];
    let handle = call_values(&step, "FIFOQueue", &[], &attrs).unwrap()[0].clone().unwrap();
    let text = handle.clone().into_tensor().unwrap();
    assert_eq!(&text.strings().unwrap()[1][..], b"_0_FIFOQueue");
    call_in(&step, "QueueEnqueue", &[text.clone(), floats(&[2], &[1., 2.])], &[]).unwrap();
    let size = call_values(&step, "QueueSize", &[handle], &[]).unwrap()[0].clone().unwrap();
    assert_eq!(size.into_tensor().unwrap().to_scalar::<i32>().unwrap(), 1);
    let types = [("component_types", Attr::types(&[DataType::Float]))];
    let got = call_in(&step, "QueueDequeue", &[text], &types).unwrap();
    assert_eq!(got[0].as_slice::<f32>().unwrap(), [1., 2.]);
}

#[test]
fn a_node_without_seeds_shares_a_queue_of_any() {
    let q = queue("RandomShuffleQueueV2", &[DataType::Int32], &[&[]], &[("seed", Attr::Int(3))]);
    let again = |seed: i64| {
        let attrs = [
            ("component_types", Attr::types(&[DataType::Int32])),
            ("shapes", Attr::List(vec![Attr::Shape(PartialShape::scalar())])),
            ("shared_name", Attr::str("q")),
            ("seed", Attr::Int(seed)),
        ];
        call_in(&q.step, "RandomShuffleQueueV2", &[], &attrs)
    };
    again(0).unwrap();
    again(3).unwrap();
    assert_eq!(code(again(4)), Code::InvalidArgument);
}
