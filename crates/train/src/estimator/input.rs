//! `Input`: a dataset whose components have names.

use super::invalid;
use crate::feature_column::Features;
use std::panic::Location;
use thalweg_client::{IntoTensor, Output, Result, Scope, Tensor, keys};
use thalweg_data::Dataset;

/// What an input function gives: batches of features by name, and for training and evaluation labels.
pub struct Input {
    dataset: Dataset,
    names: Vec<String>,
    label: Option<String>,
    place: &'static Location<'static>,
}

/// The name that [`Input::of`] gives to labels.
const LABEL: &str = "label";

impl Input {
    /// A dataset with the names of its components, in order. Which of them is the label is said by [`Input::label`].
    #[track_caller]
    pub fn new<'a>(dataset: Dataset, names: impl IntoIterator<Item = &'a str>) -> Input {
        let names = names.into_iter().map(str::to_string).collect();
        Input { dataset, names, label: None, place: Location::caller() }
    }

    /// Examples in memory: a tensor for each feature, with a row for each example, and the labels.
    #[track_caller]
    pub fn of<'a, T: IntoTensor>(
        g: &Scope,
        features: impl IntoIterator<Item = (&'a str, T)>,
        labels: impl IntoTensor,
    ) -> Input {
        let (names, tensors) = named(features);
        let all = tensors.and_then(|mut all| {
            all.push(labels.into_tensor()?);
            Ok(all)
        });
        let names = names.into_iter().chain([LABEL]);
        Input::new(slices(g, all), names).label(LABEL)
    }

    /// Examples in memory without labels: for prediction.
    #[track_caller]
    pub fn features<'a, T: IntoTensor>(g: &Scope, features: impl IntoIterator<Item = (&'a str, T)>) -> Input {
        let (names, tensors) = named(features);
        Input::new(slices(g, tensors), names)
    }

    /// The component of this name is the label.
    pub fn label(mut self, name: &str) -> Input {
        self.label = Some(name.to_string());
        self
    }

    /// The same with another dataset of the same components: `.with(|d| d.shuffle(1000, None).repeat(None).batch(32))`.
    pub fn with(mut self, change: impl FnOnce(&Dataset) -> Dataset) -> Input {
        self.dataset = change(&self.dataset);
        self
    }

    /// The nodes that give the next batch. Their iterator is initialised with the tables.
    pub(super) fn next_batch(&self, g: &Scope) -> Result<(Features, Option<Output>)> {
        self.batch(g).map_err(|e| e.at(Some(self.place)))
    }

    fn batch(&self, g: &Scope) -> Result<(Features, Option<Output>)> {
        g.check()?;
        let count = self.dataset.elements().len();
        if count != self.names.len() {
            return Err(invalid(format!(
                "the dataset's elements have {count} components, but {} names are given: {}",
                self.names.len(),
                self.names.join(", ")
            )));
        }
        let iterator = self.dataset.initializable_iterator(&g.name_scope("input"));
        if let Some(initializer) = iterator.initializer() {
            g.add_operation_to_collection(keys::TABLE_INITIALIZERS, initializer);
        }
        let (mut features, mut label) = (Features::new(), None);
        for (name, value) in self.names.iter().zip(iterator.get_next()) {
            if self.label.as_ref() == Some(name) {
                label = Some(value);
            } else {
                features = features.with(name, &value);
            }
        }
        match &self.label {
            Some(wanted) if label.is_none() => Err(invalid(format!(
                "the label '{wanted}' is not among the names of the input: {}",
                self.names.join(", ")
            ))),
            _ => Ok((features, label)),
        }
    }
}

fn named<'a, T: IntoTensor>(
    features: impl IntoIterator<Item = (&'a str, T)>,
) -> (Vec<&'a str>, Result<Vec<Tensor>>) {
    let (names, tensors): (Vec<&str>, Vec<Result<Tensor>>) =
        features.into_iter().map(|(name, values)| (name, values.into_tensor())).unzip();
    (names, tensors.into_iter().collect())
}

#[track_caller]
fn slices(g: &Scope, tensors: Result<Vec<Tensor>>) -> Dataset {
    let tensors = tensors.unwrap_or_else(|e| {
        g.mistake(e);
        Vec::new()
    });
    Dataset::from_tensor_slices(g, tensors)
}
