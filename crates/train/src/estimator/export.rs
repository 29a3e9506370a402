//! Export: a trained model with serving inputs, as a SavedModel.

use super::config::Estimator;
use super::spec::{Mode, Model};
use crate::feature_column::Features;
use crate::monitored::{Scaffold, SessionCreator};
use crate::saved_model::{SavedModelBuilder, methods, next_version};
use std::path::{Path, PathBuf};
use thalweg_client::saved_model::SERVING_DEFAULT;
use thalweg_client::{Attr, DataType, Output, PartialShape, Result, Scope};

/// A feature of serving input: its name, type, and the shape of one example.
#[derive(Clone, Debug)]
pub struct FeatureSpec {
    /// Its name.
    pub name: String,
    /// Its type: float, int64 or string where examples are parsed.
    pub dtype: DataType,
    /// The dimensions of one example, without the batch.
    pub dims: Vec<i64>,
}

impl FeatureSpec {
    /// A feature of this shape in each example.
    pub fn new(name: &str, dtype: DataType, dims: &[i64]) -> FeatureSpec {
        FeatureSpec { name: name.to_string(), dtype, dims: dims.to_vec() }
    }
}

/// What a served model takes: the tensors that requests feed, and the features made of them.
pub struct ServingInput {
    /// Fed by requests, by name.
    pub receivers: Vec<(String, Output)>,
    /// What the model sees.
    pub features: Features,
    /// Whether requests feed serialized examples.
    is_examples: bool,
}

impl ServingInput {
    /// Tensors made by the caller.
    pub fn of(receivers: Vec<(String, Output)>, features: Features) -> ServingInput {
        ServingInput { receivers, features, is_examples: false }
    }

    /// Each feature is fed as a tensor with a row for each example.
    #[track_caller]
    pub fn raw(g: &Scope, specs: &[FeatureSpec]) -> ServingInput {
        let (mut receivers, mut features) = (Vec::new(), Features::new());
        for spec in specs {
            let dims: Vec<i64> = std::iter::once(-1).chain(spec.dims.iter().copied()).collect();
            let fed = g.placeholder_named(&spec.name, spec.dtype, Some(&dims));
            features = features.with(&spec.name, &fed);
            receivers.push((spec.name.clone(), fed));
        }
        ServingInput::of(receivers, features)
    }

    /// A vector of serialized `tf.Example`s is fed, as `examples`, and parsed. Every example must have every feature.
    #[track_caller]
    pub fn parsing(g: &Scope, specs: &[FeatureSpec]) -> ServingInput {
        let examples = g.placeholder_named("input_example_tensor", DataType::String, Some(&[-1]));
        let shapes: Vec<Attr> = specs.iter().map(|s| shape(g, &s.dims)).collect();
        let types: Vec<DataType> = specs.iter().map(|s| s.dtype).collect();
        let none = g.constant(Vec::<&str>::new());
        let keys: Vec<Output> = specs.iter().map(|s| g.constant(s.name.as_str())).collect();
        let defaults: Vec<Output> = types.iter().map(|dtype| empty(g, *dtype)).collect();
        let parse = g
            .op("ParseExample")
            .name("ParseExample/ParseExample")
            .input(&examples)
            .input(&none)
            .inputs::<Output>(&[])
            .inputs(&keys)
            .inputs(&defaults);
        let parsed = parse
            .attr("sparse_types", Attr::types(&[]))
            .attr("Tdense", Attr::types(&types))
            .attr("dense_shapes", Attr::List(shapes))
            .outputs();
        let features = specs.iter().zip(&parsed).fold(Features::new(), |f, (s, x)| f.with(&s.name, x));
        ServingInput { receivers: vec![("examples".to_string(), examples)], features, is_examples: true }
    }
}

fn shape(g: &Scope, dims: &[i64]) -> Attr {
    match PartialShape::new(dims) {
        Ok(shape) => Attr::Shape(shape),
        Err(e) => {
            g.mistake(e);
            Attr::Shape(PartialShape::unknown())
        }
    }
}

/// No default: examples without the feature are errors.
fn empty(g: &Scope, dtype: DataType) -> Output {
    match dtype {
        DataType::String => g.constant(Vec::<&str>::new()),
        DataType::Int64 => g.constant(Vec::<i64>::new()),
        _ => g.constant(Vec::<f32>::new()),
    }
}

impl<M: Model> Estimator<M> {
    /// Exports the newest checkpoint to a new version in `base` (a directory named by the time in seconds), and returns its path.
    ///
    /// The signatures `serving_default` and `predict` return all predictions. With parsed examples, a classifier has `classification`
    /// and a regressor `regression` beside them.
    pub fn export_saved_model(
        &self,
        base: impl AsRef<Path>,
        input: impl Fn(&Scope) -> ServingInput,
    ) -> Result<PathBuf> {
        let g = self.graph();
        let input = input(&g);
        g.check()?;
        let spec = self.build(&g, &input.features, None, Mode::Predict)?;
        let scaffold = Scaffold::new(&g, self.keep)?;
        let session = self.creator().must_restore().create_session(&g, &scaffold)?;
        let receivers: Vec<(&str, &Output)> = input.receivers.iter().map(|(n, o)| (n.as_str(), o)).collect();
        let predictions: Vec<(&str, &Output)> =
            spec.predictions.iter().map(|(n, o)| (n.as_str(), o)).collect();
        let mut builder = SavedModelBuilder::new(&g)
            .signature(SERVING_DEFAULT, &receivers, &predictions)
            .signature("predict", &receivers, &predictions);
        if input.is_examples {
            builder = for_examples(builder, &receivers, &predictions);
        }
        let directory = next_version(base.as_ref())?;
        builder.save(&session, &directory)?;
        Ok(directory)
    }
}

/// The signatures of servers' Classify and Regress.
fn for_examples(
    builder: SavedModelBuilder,
    receivers: &[(&str, &Output)],
    predictions: &[(&str, &Output)],
) -> SavedModelBuilder {
    let find = |name: &str| predictions.iter().find(|p| p.0 == name).map(|p| p.1);
    let inputs: Vec<(&str, &Output)> = receivers.iter().map(|(_, tensor)| ("inputs", *tensor)).collect();
    let builder = match (find("all_classes").or(find("classes")), find("probabilities")) {
        (Some(classes), Some(scores)) => {
            let outputs = [("classes", classes), ("scores", scores)];
            builder.signature_of("classification", methods::CLASSIFY, &inputs, &outputs)
        }
        _ => builder,
    };
    match find("predictions") {
        Some(values) => builder.signature_of("regression", methods::REGRESS, &inputs, &[("outputs", values)]),
        None => builder,
    }
}
