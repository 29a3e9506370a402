//! `Iterator`: supplies a dataset's elements to a graph.

use super::dataset::{Dataset, declare};
use crate::{Code, DataType, Error, Operation, Output, Outputs, PartialShape, Scope};

/// An iterator of a graph. Every run that needs one of its elements takes the next; after the last, runs fail with `OutOfRange`.
#[derive(Clone)]
pub struct Iterator {
    scope: Scope,
    handle: Output,
    elements: Vec<(DataType, PartialShape)>,
    initializer: Option<Operation>,
}

impl Dataset {
    /// An iterator over the dataset, once in each session, without initialization. The dataset must not capture
    /// values of the graph.
    #[track_caller]
    pub fn one_shot_iterator(&self, g: &Scope) -> Iterator {
        let handle = match g.root().function("Dataset_factory", &[], |g, _| vec![self.build(g)]) {
            Ok(f) if f.captured.is_empty() => {
                let op = g.op("OneShotIterator").attr("dataset_factory", f.func);
                declare(op, &self.elements).output()
            }
            Ok(f) => {
                let names: Vec<String> = f.captured.iter().map(Output::name).collect();
                g.mistake(Error::new(
                    Code::InvalidArgument,
                    format!(
                        "the dataset of a one-shot iterator uses values of the graph ({}); use initializable_iterator",
                        names.join(", ")
                    ),
                ));
                g.op("NoOp").output()
            }
            Err(e) => {
                g.mistake(e);
                g.op("NoOp").output()
            }
        };
        Iterator { scope: g.clone(), handle, elements: self.elements.to_vec(), initializer: None }
    }

    /// An iterator that each run of its initializer resets to the beginning of the dataset.
    #[track_caller]
    pub fn initializable_iterator(&self, g: &Scope) -> Iterator {
        let op = g.op("IteratorV2").attr("shared_name", "").attr("container", "");
        let handle = declare(op, &self.elements).output();
        let initializer = g.op("MakeIterator").input(self.build(g)).input(&handle).build();
        Iterator {
            scope: g.clone(),
            handle,
            elements: self.elements.to_vec(),
            initializer: Some(initializer),
        }
    }
}

impl Iterator {
    /// The components of the next element. Nodes that need the same element of a run share one call.
    #[track_caller]
    pub fn get_next(&self) -> Outputs {
        declare(self.scope.op("IteratorGetNext").input(&self.handle), &self.elements).outputs()
    }

    /// Must be run before the first element; `None` for a one-shot iterator.
    pub fn initializer(&self) -> Option<&Operation> {
        self.initializer.as_ref()
    }

    /// The iterator's string handle, to be fed to [`Iterator::from_string_handle`].
    #[track_caller]
    pub fn string_handle(&self) -> Output {
        self.scope.op("IteratorToStringHandle").input(&self.handle).output()
    }

    /// The iterator whose string handle is fed, with elements like those of `like`: feedable, per run.
    #[track_caller]
    pub fn from_string_handle(g: &Scope, handle: &Output, like: &Dataset) -> Iterator {
        let op = declare(g.op("IteratorFromStringHandleV2").input(handle), &like.elements);
        Iterator {
            scope: g.clone(),
            handle: op.output(),
            elements: like.elements.to_vec(),
            initializer: None,
        }
    }
}
