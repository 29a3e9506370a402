//! Hyperparameters: each run tells its own when its session starts, and how it ended; an experiment says which are compared.

use super::file_writer::since_1970;
use super::{FileWriter, plugin};
use std::collections::BTreeMap;
use thalweg_client::{DataType, Result, Shape, Tensor};
use thalweg_proto::DataClass;
use thalweg_proto::google::protobuf::{ListValue, Value, value::Kind};
pub use thalweg_proto::tensorboard::hparams::Status;
use thalweg_proto::tensorboard::hparams::{
    self as proto, DatasetType, HParamsPluginData, MetricName, SessionEndInfo, SessionStartInfo,
    h_param_info::Domain, h_params_plugin_data::Data,
};

/// The value of a hyperparameter.
#[derive(Clone, Debug, PartialEq)]
pub enum HParam {
    /// `0.01`, `64`
    Number(f64),
    /// `"adam"`
    Text(String),
    /// `true`
    Flag(bool),
}

impl From<f64> for HParam {
    fn from(v: f64) -> Self {
        HParam::Number(v)
    }
}

impl From<i32> for HParam {
    fn from(v: i32) -> Self {
        HParam::Number(f64::from(v))
    }
}

impl From<usize> for HParam {
    fn from(v: usize) -> Self {
        HParam::Number(v as f64)
    }
}

impl From<bool> for HParam {
    fn from(v: bool) -> Self {
        HParam::Flag(v)
    }
}

impl From<&str> for HParam {
    fn from(v: &str) -> Self {
        HParam::Text(v.to_string())
    }
}

impl From<String> for HParam {
    fn from(v: String) -> Self {
        HParam::Text(v)
    }
}

impl HParam {
    fn to_proto(&self) -> Value {
        let kind = match self {
            HParam::Number(v) => Kind::NumberValue(*v),
            HParam::Text(v) => Kind::StringValue(v.clone()),
            HParam::Flag(v) => Kind::BoolValue(*v),
        };
        Value { kind: Some(kind) }
    }

    fn data_type(&self) -> proto::DataType {
        match self {
            HParam::Number(_) => proto::DataType::Float64,
            HParam::Text(_) => proto::DataType::String,
            HParam::Flag(_) => proto::DataType::Bool,
        }
    }
}

/// The hyperparameters of one run.
#[derive(Clone, Debug, Default)]
pub struct HParams {
    values: BTreeMap<String, HParam>,
    group: String,
    model_uri: String,
}

impl HParams {
    /// None.
    pub fn new() -> HParams {
        HParams::default()
    }

    /// With one more.
    pub fn set(mut self, name: &str, value: impl Into<HParam>) -> HParams {
        self.values.insert(name.to_string(), value.into());
        self
    }

    /// Runs of one group are shown as one row: repetitions with other seeds. By default a run is a group of its own.
    pub fn group(mut self, name: &str) -> HParams {
        self.group = name.to_string();
        self
    }

    /// Where the model is, shown beside its row.
    pub fn model_uri(mut self, uri: &str) -> HParams {
        self.model_uri = uri.to_string();
        self
    }
}

/// Runs that are compared. Without one, TensorBoard shows the hyperparameters and metrics that it finds.
#[derive(Clone, Debug, Default)]
pub struct Experiment {
    description: String,
    hparams: Vec<proto::HParamInfo>,
    metrics: Vec<proto::MetricInfo>,
}

impl Experiment {
    /// Without hyperparameters and metrics so far.
    pub fn new(description: &str) -> Experiment {
        Experiment { description: description.to_string(), ..Default::default() }
    }

    /// A hyperparameter with the values that it may have; they are of one type.
    pub fn hparam<V: Into<HParam>>(mut self, name: &str, values: impl IntoIterator<Item = V>) -> Experiment {
        let values: Vec<HParam> = values.into_iter().map(V::into).collect();
        let kind = values.first().map_or(proto::DataType::Unset, HParam::data_type);
        let domain = ListValue { values: values.iter().map(HParam::to_proto).collect() };
        self.hparams.push(proto::HParamInfo {
            name: name.to_string(),
            r#type: kind.into(),
            domain: (!values.is_empty()).then_some(Domain::DomainDiscrete(domain)),
            ..Default::default()
        });
        self
    }

    /// A hyperparameter that is a number between two.
    pub fn interval(mut self, name: &str, from: f64, to: f64) -> Experiment {
        let interval = proto::Interval { min_value: from, max_value: to };
        self.hparams.push(proto::HParamInfo {
            name: name.to_string(),
            r#type: proto::DataType::Float64.into(),
            domain: Some(Domain::DomainInterval(interval)),
            ..Default::default()
        });
        self
    }

    /// A metric: the tag of a scalar in the directory `group` of each run, `""` for the run itself.
    pub fn metric(mut self, group: &str, tag: &str, display_name: &str) -> Experiment {
        self.metrics.push(proto::MetricInfo {
            name: Some(MetricName { group: group.to_string(), tag: tag.to_string() }),
            display_name: display_name.to_string(),
            dataset_type: DatasetType::DatasetUnknown.into(),
            ..Default::default()
        });
        self
    }
}

impl FileWriter {
    /// Adds the experiment, once, in the directory above those of its runs.
    pub fn add_experiment(&mut self, experiment: &Experiment) -> Result<()> {
        let experiment = proto::Experiment {
            description: experiment.description.clone(),
            time_created_secs: since_1970(),
            hparam_infos: experiment.hparams.clone(),
            metric_infos: experiment.metrics.clone(),
            ..Default::default()
        };
        self.add_hparams_data("_hparams_/experiment", Data::Experiment(experiment))
    }

    /// Adds the hyperparameters of this run, at the start of its session.
    pub fn add_session_start(&mut self, hparams: &HParams) -> Result<()> {
        let values = hparams.values.iter().map(|(name, value)| (name.clone(), value.to_proto()));
        let info = SessionStartInfo {
            hparams: values.collect(),
            model_uri: hparams.model_uri.clone(),
            group_name: hparams.group.clone(),
            start_time_secs: since_1970(),
            ..Default::default()
        };
        self.add_hparams_data("_hparams_/session_start_info", Data::SessionStartInfo(info))
    }

    /// Adds how the session of this run ended.
    pub fn add_session_end(&mut self, status: Status) -> Result<()> {
        let info = SessionEndInfo { status: status.into(), end_time_secs: since_1970() };
        self.add_hparams_data("_hparams_/session_end_info", Data::SessionEndInfo(info))
    }

    fn add_hparams_data(&mut self, tag: &str, data: Data) -> Result<()> {
        let content = HParamsPluginData { data: Some(data), ..Default::default() };
        let metadata = plugin::metadata("hparams", &content, DataClass::Tensor);
        // All of it is in the metadata.
        let nothing = Tensor::zeros(DataType::Float, Shape::vector(0))?;
        self.add_values(vec![plugin::value(tag, &nothing, metadata)?], 0)?;
        self.flush()
    }
}
