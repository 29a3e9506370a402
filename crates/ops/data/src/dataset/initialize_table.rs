//! `InitializeTableFromDataset`: fills a table with the pairs of a dataset.

use super::context::{Context, or_stopped};
use super::element_buffer::ElementBuffer;
use super::sequence::{DatasetRef, dataset_of};
use super::task::Task;
use crate::prelude::*;
use crate::rows::join;
use thalweg_ops_state::lookup::Table;

pub static INITIALIZE_TABLE_FROM_DATASET: Op = Op {
    name: "InitializeTableFromDataset",
    doc: "Fills a table from a dataset whose elements are a key and a value each; no effect if it is initialized.",
    inputs: &["table_handle: resource", "dataset: variant"],
    shape: |c| {
        c.scalar(0)?;
        c.scalar(1)?;
        Ok(vec![])
    },
    kernels: cpu!(async prepare),
    ..Op::STATEFUL
};

struct Initialize;

fn prepare(_: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Initialize))
}

impl AsyncKernel for Initialize {
    fn start(&self, call: AsyncCall, done: Done) {
        let found = call.resource::<Table>(0).and_then(|table| {
            let dataset = dataset_of(&call.tensor(1)?)?;
            check(&table, &dataset)?;
            Ok((table, dataset))
        });
        let (table, dataset) = match found {
            Ok(found) => found,
            Err(e) => return done(Err(e)),
        };
        if table.fixed && table.is_initialized() {
            return done(Ok(outputs([])));
        }
        let device = call.step.device.clone();
        Task::start(&device, async move { done(fill(&table, &dataset, &call).await.map(|()| outputs([]))) });
    }
}

fn check(table: &Table, dataset: &DatasetRef) -> Result<()> {
    let [key, value] = dataset.types[..] else {
        return Err(invalid!("Dataset should have two output types only, got {}", dataset.types.len()));
    };
    if (key, value) != (table.key, table.value) {
        return Err(invalid!(
            "Table keys and values are {} and {}, those of the dataset {key} and {value}",
            table.key,
            table.value
        ));
    }
    if let Some(shape) = dataset.shapes.iter().find(|s| s.merge(&PartialShape::scalar()).is_err()) {
        return Err(invalid!("Expected scalar keys and values in the dataset, got shape {shape}"));
    }
    Ok(())
}

async fn fill(table: &Table, dataset: &DatasetRef, call: &AsyncCall) -> Result<()> {
    let c = Context::of(&call.step).within(&call.step);
    let mut iterator = dataset.iterator(&c)?;
    let mut pairs = ElementBuffer::default();
    while let Some(element) = or_stopped(iterator.next(&c), &c).await? {
        if element.len() != 2 || element.iter().any(|t| t.rank() != 0) {
            return Err(invalid!("Expected scalar keys and values in the dataset"));
        }
        pairs.push(element)?;
    }
    if pairs.len() == 0 {
        return Err(out_of_range("end of iterator: there are no keys and values in the dataset"));
    }
    let pairs = pairs.into_items();
    let column = |i: usize, dtype: DataType| {
        let all = reserve::collect(pairs.iter().filter_map(|pair| pair.get(i).cloned()))?;
        join(dtype, Shape::vector(all.len()), &all)
    };
    table.initialize(&column(0, table.key)?, &column(1, table.value)?)
}
