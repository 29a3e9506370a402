//! `Input`: a dataset whose components have names.

use super::invalid;
use crate::feature_column::Features;
use std::panic::Location;
use thalweg_client::data::Dataset;
use thalweg_client::{Error, IntoTensor, Output, Result, Scope, Tensor, keys};

/// The result of an input function: batches of features by name, and labels for training and evaluation.
pub struct Input {
    source: Source,
    /// Component names; the label's is not used.
    names: Vec<String>,
    label: Label,
    place: &'static Location<'static>,
}

/// Where batches come from.
enum Source {
    Dataset(Dataset),
    /// Nodes that the caller has made.
    Tensors(Features, Option<Output>),
}

/// Which component is the label.
enum Label {
    None,
    At(usize),
    Unknown(String),
}

/// An input or an error: input functions may return either.
pub trait IntoInput {
    /// The input, or the error that a run then returns.
    fn into_input(self) -> Result<Input>;
}

impl IntoInput for Input {
    fn into_input(self) -> Result<Input> {
        Ok(self)
    }
}

impl IntoInput for Result<Input> {
    fn into_input(self) -> Result<Input> {
        self
    }
}

impl Input {
    /// A dataset with the names of its components, in order. [`Input::label`] chooses the label.
    #[track_caller]
    pub fn new<'a>(dataset: Dataset, names: impl IntoIterator<Item = &'a str>) -> Input {
        let names = names.into_iter().map(str::to_string).collect();
        let source = Source::Dataset(dataset);
        Input { source, names, label: Label::None, place: Location::caller() }
    }

    /// Nodes that give a batch in each run, such as those of a queue.
    #[track_caller]
    pub fn tensors(features: Features, labels: Option<Output>) -> Input {
        let source = Source::Tensors(features, labels);
        Input { source, names: Vec::new(), label: Label::None, place: Location::caller() }
    }

    /// Examples in memory: a tensor for each feature, with a row for each example, and the labels. Where the types of features differ, make
    /// tensors of them: `[("age", ages.into_tensor()?), ("colour", colours.into_tensor()?)]`.
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
        let label = Label::At(names.len());
        Input { label, ..Input::new(slices(g, all), names.into_iter().chain(["label"])) }
    }

    /// Examples in memory without labels: for prediction.
    #[track_caller]
    pub fn features<'a, T: IntoTensor>(g: &Scope, features: impl IntoIterator<Item = (&'a str, T)>) -> Input {
        let (names, tensors) = named(features);
        Input::new(slices(g, tensors), names)
    }

    /// The component of this name is the label.
    pub fn label(mut self, name: &str) -> Input {
        let at = self.names.iter().position(|n| n == name);
        self.label = at.map_or_else(|| Label::Unknown(name.to_string()), Label::At);
        self
    }

    /// Transforms the dataset, if it is one, with the same components: `.with(|d| d.shuffle(1000, None).repeat(None).batch(32))`.
    pub fn with(mut self, change: impl FnOnce(&Dataset) -> Dataset) -> Input {
        if let Source::Dataset(dataset) = &self.source {
            self.source = Source::Dataset(change(dataset));
        }
        self
    }

    /// The nodes of the next batch. The table initializer also initialises the iterator.
    pub(super) fn next_batch(&self, g: &Scope) -> Result<(Features, Option<Output>)> {
        g.check()?;
        let dataset = match &self.source {
            Source::Dataset(dataset) => dataset,
            Source::Tensors(features, labels) => return Ok((features.clone(), labels.clone())),
        };
        self.check(dataset).map_err(|e| e.at(Some(self.place)))?;
        let iterator = dataset.initializable_iterator(&g.name_scope("input"));
        if let Some(initializer) = iterator.initializer() {
            g.add_operation_to_collection(keys::TABLE_INITIALIZERS, initializer);
        }
        let (mut features, mut label) = (Features::new(), None);
        for (i, (name, value)) in self.names.iter().zip(iterator.get_next()).enumerate() {
            match self.label {
                Label::At(at) if at == i => label = Some(value),
                _ => features = features.with(name, &value),
            }
        }
        Ok((features, label))
    }

    /// Errors without a location get that of this input.
    pub(super) fn blame(&self, e: Error) -> Error {
        e.at(Some(self.place))
    }

    fn check(&self, dataset: &Dataset) -> Result<()> {
        let (count, names) = (dataset.elements().len(), self.names.join(", "));
        if count != self.names.len() {
            return Err(invalid(format!(
                "the dataset's elements have {count} components, but {} names are given: {names}",
                self.names.len(),
            )));
        }
        match &self.label {
            Label::Unknown(wanted) => {
                Err(invalid(format!("the label '{wanted}' is not among the names of the input: {names}")))
            }
            _ => Ok(()),
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
    let location = Location::caller();
    let tensors = tensors.unwrap_or_else(|e: Error| {
        g.mistake(e.at(Some(location)));
        Vec::new()
    });
    Dataset::from_tensor_slices(g, tensors)
}
