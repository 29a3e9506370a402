//! `ParseExample`, `ParseExampleV2`, `ParseSingleExample`: the features of serialized `Example` messages.

use super::batch::Batch;
use super::example::{Form, Parser, Want};
use super::samples::{self, float_vector, shape_list, string_list, strings};
use super::{forms, key_vector};
use crate::prelude::*;
use bytes::Bytes;
use thalweg_math::parallel::Parallel;

pub static OPS: &[&Op] = &[&PARSE_EXAMPLE_V2, &PARSE_EXAMPLE, &PARSE_SINGLE_EXAMPLE];

static PARSE_EXAMPLE_V2: Op = Op {
    name: "ParseExampleV2",
    doc: "The features of serialized Example messages, by key, as sparse, dense and ragged tensors.",
    inputs: &[
        "serialized: string",
        "names: string",
        "sparse_keys: string",
        "dense_keys: string",
        "ragged_keys: string",
        "dense_defaults: Tdense",
    ],
    outputs: &[
        "sparse_indices: num_sparse * int64",
        "sparse_values: sparse_types",
        "sparse_shapes: num_sparse * int64",
        "dense_values: Tdense",
        "ragged_values: ragged_value_types",
        "ragged_row_splits: ragged_split_types",
    ],
    attrs: &[
        "Tdense: list({float, int64, string}) >= 0",
        "num_sparse: int >= 0",
        "sparse_types: list({float, int64, string}) >= 0",
        "ragged_value_types: list({float, int64, string}) >= 0",
        "ragged_split_types: list({int32, int64}) >= 0",
        "dense_shapes: list(shape) >= 0",
    ],
    shape: |c| {
        let batch = match c.input(0).rank() {
            Some(0) => Some(PartialShape::scalar()),
            Some(1) => Some(c.input(0)),
            Some(_) => return Err(invalid!("serialized must be a scalar or a vector, got {}", c.input(0))),
            None => None,
        };
        shapes(c, batch.as_ref(), c.attrs.types("sparse_types")?.len(), &c.attrs.types("ragged_split_types")?)
    },
    grad: Stops,
    kernels: cpu!(make batch_or_one),
    cases: |_| {
        let call = |serialized: Tensor| {
            Case::new(vec![
                serialized,
                strings(&[]),
                strings(&["tags"]),
                strings(&["x", "more"]),
                strings(&["counts"]),
                float_vector(&[]),
                float_vector(&[-1.0]),
            ])
            .attr("Tdense", Attr::types(&[DataType::Float, DataType::Float]))
            .attr("num_sparse", 1)
            .attr("sparse_types", Attr::types(&[DataType::String]))
            .attr("ragged_value_types", Attr::types(&[DataType::Int64]))
            .attr("ragged_split_types", Attr::types(&[DataType::Int32]))
            .attr("dense_shapes", shape_list(&[&[2], &[-1]]))
        };
        vec![call(samples::examples()), call(samples::example())]
    },
    expensive: true,
    ..Op::PURE
};

static PARSE_EXAMPLE: Op = Op {
    name: "ParseExample",
    doc: "The features of a batch of serialized Example messages, by key, as sparse and dense tensors.",
    inputs: &[
        "serialized: string",
        "names: string",
        "sparse_keys: Nsparse * string",
        "dense_keys: Ndense * string",
        "dense_defaults: Tdense",
    ],
    outputs: &[
        "sparse_indices: Nsparse * int64",
        "sparse_values: sparse_types",
        "sparse_shapes: Nsparse * int64",
        "dense_values: Tdense",
    ],
    attrs: &[
        "Nsparse: int >= 0",
        "Ndense: int >= 0",
        "sparse_types: list({float, int64, string}) >= 0",
        "Tdense: list({float, int64, string}) >= 0",
        "dense_shapes: list(shape) >= 0",
    ],
    shape: |c| {
        let batch = c.rank(0, 1)?;
        shapes(c, Some(&batch), c.attrs.types("sparse_types")?.len(), &[])
    },
    kernels: cpu!(make batch),
    cases: |_| {
        vec![
            Case::new(vec![
                samples::examples(),
                strings(&[]),
                Tensor::string("tags"),
                Tensor::string("x"),
                Tensor::string("more"),
                float_vector(&[]),
                float_vector(&[-1.0]),
            ])
            .attr("Nsparse", 1)
            .attr("Ndense", 2)
            .attr("Tdense", Attr::types(&[DataType::Float, DataType::Float]))
            .attr("sparse_types", Attr::types(&[DataType::String]))
            .attr("dense_shapes", shape_list(&[&[2], &[-1]])),
        ]
    },
    ..PARSE_EXAMPLE_V2
};

static PARSE_SINGLE_EXAMPLE: Op = Op {
    name: "ParseSingleExample",
    doc: "The features of one serialized Example message, by key, as sparse and dense tensors.",
    inputs: &["serialized: string", "dense_defaults: Tdense"],
    outputs: &[
        "sparse_indices: num_sparse * int64",
        "sparse_values: sparse_types",
        "sparse_shapes: num_sparse * int64",
        "dense_values: Tdense",
    ],
    attrs: &[
        "num_sparse: int >= 0",
        "sparse_keys: list(string) >= 0",
        "dense_keys: list(string) >= 0",
        "sparse_types: list({float, int64, string}) >= 0",
        "Tdense: list({float, int64, string}) >= 0",
        "dense_shapes: list(shape) >= 0",
    ],
    shape: |c| {
        c.scalar(0)?;
        shapes(c, Some(&PartialShape::scalar()), c.attrs.types("sparse_types")?.len(), &[])
    },
    kernels: cpu!(make one),
    cases: |_| {
        vec![
            Case::new(vec![samples::example(), float_vector(&[]), float_vector(&[-1.0])])
                .attr("num_sparse", 1)
                .attr("sparse_keys", string_list(&["tags"]))
                .attr("dense_keys", string_list(&["x", "more"]))
                .attr("Tdense", Attr::types(&[DataType::Float, DataType::Float]))
                .attr("sparse_types", Attr::types(&[DataType::String]))
                .attr("dense_shapes", shape_list(&[&[2], &[-1]])),
        ]
    },
    ..PARSE_EXAMPLE_V2
};

/// Shapes of the results of `sparse` sparse features, of the dense ones, and of the ragged ones. No `batch`: its rank is unknown.
fn shapes(
    c: &ShapeCall<'_>,
    batch: Option<&PartialShape>,
    sparse: usize,
    splits: &[DataType],
) -> Result<Vec<PartialShape>> {
    let rank = batch.map_or(-1, |b| b.rank().map_or(-1, |r| r as i64 + 1));
    let (_, dense) = (check_shapes(c.attrs)?, c.attrs.shapes("dense_shapes")?);
    let mut all = Vec::new();
    all.extend((0..sparse).map(|_| [-1, rank].into_iter().collect::<PartialShape>()));
    all.extend((0..sparse).map(|_| PartialShape::vector(-1)));
    all.extend((0..sparse).map(|_| PartialShape::vector(rank)));
    all.extend(dense.iter().map(|d| batch.map_or(PartialShape::unknown(), |b| b.concat(d))));
    all.extend(splits.iter().map(|_| PartialShape::vector(-1)));
    let rows = match batch {
        Some(b) if b.rank() == Some(0) => 0,
        Some(b) if b.dim(0) >= 0 => b.dim(0).saturating_add(1),
        _ => -1,
    };
    all.extend(splits.iter().map(|_| PartialShape::vector(rows)));
    Ok(all)
}

/// A shape may have an unknown size only at its front. Also that there are as many as dense features.
fn check_shapes(attrs: &Attrs) -> Result<()> {
    let shapes = attrs.shapes("dense_shapes")?;
    if shapes.len() != attrs.types("Tdense")?.len() {
        return Err(invalid!("len(dense_keys) != len(dense_shapes)"));
    }
    for (i, shape) in shapes.iter().enumerate() {
        if shape.dims().is_none_or(|d| d.iter().skip(1).any(|n| *n < 0)) {
            return Err(invalid!("dense_shapes[{i}] has unknown rank or unknown inner dimensions: {shape}"));
        }
    }
    Ok(())
}

/// Where an op has its keys.
#[derive(Clone, Copy, PartialEq)]
pub enum Keys {
    Vectors,
    Scalars,
    Attrs,
}

fn batch_or_one(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare(node, Keys::Vectors)
}

fn batch(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare(node, Keys::Scalars)
}

fn one(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare(node, Keys::Attrs)
}

/// What the attrs say.
pub struct Settings {
    keys: Keys,
    dense_types: Vec<DataType>,
    dense_shapes: Vec<PartialShape>,
    sparse_types: Vec<DataType>,
    ragged_types: Vec<DataType>,
    split_types: Vec<DataType>,
}

fn prepare(node: &KernelNode, keys: Keys) -> Result<Box<dyn Kernel>> {
    let settings = Settings::of(&node.attrs, keys)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| settings.run(c)))
}

/// What to parse of Examples: dense features, then sparse ones, then ragged ones.
pub struct Features {
    pub wants: Vec<Want>,
    pub dense: usize,
    pub sparse: usize,
    /// Of the row splits of the ragged ones.
    pub split_types: Vec<DataType>,
}

/// The features of a batch, in the order of their keys.
pub struct Results {
    pub dense: Vec<Tensor>,
    /// Indices, values and dense shape.
    pub sparse: Vec<[Tensor; 3]>,
    /// Values and row splits.
    pub ragged: Vec<[Tensor; 2]>,
}

impl Features {
    pub fn parse(&self, batch: &Batch<'_>, par: &dyn Parallel) -> Result<Results> {
        let parsed = Parser { batch, wants: &self.wants, noun: "Key" }.run(par)?;
        let mut all = parsed.into_iter();
        let dense = all.by_ref().take(self.dense).zip(&self.wants);
        let dense =
            reserve::try_collect(dense.map(|(parsed, want)| forms::dense(parsed, want, batch.single)))?;
        let sparse = all.by_ref().take(self.sparse);
        let sparse = reserve::try_collect(sparse.map(|parsed| forms::sparse(parsed, batch.single)))?;
        let ragged = all.zip(&self.split_types).map(|(parsed, dtype)| {
            let [values, splits] = forms::ragged(parsed, *dtype)?;
            Ok([values, if batch.single { Tensor::zeros(*dtype, Shape::vector(0))? } else { splits }])
        });
        Ok(Results { dense, sparse, ragged: reserve::try_collect(ragged)? })
    }
}

impl Settings {
    pub fn of(attrs: &Attrs, keys: Keys) -> Result<Settings> {
        check_shapes(attrs)?;
        let ragged = |name: &str| if attrs.get(name).is_some() { attrs.types(name) } else { Ok(vec![]) };
        let settings = Settings {
            keys,
            dense_types: attrs.types("Tdense")?,
            dense_shapes: attrs.shapes("dense_shapes")?,
            sparse_types: attrs.types("sparse_types")?,
            ragged_types: ragged("ragged_value_types")?,
            split_types: ragged("ragged_split_types")?,
        };
        if settings.ragged_types.len() != settings.split_types.len() {
            return Err(invalid!("len(ragged_value_types) != len(ragged_split_types)"));
        }
        Ok(settings)
    }

    fn run(&self, c: &mut OpCall<'_>) -> Result<()> {
        let names = if self.keys == Keys::Attrs { None } else { Some(c.input(1)?) };
        let batch = Batch::of(c.input(0)?, names)?;
        match self.keys {
            Keys::Scalars if batch.single => {
                return Err(invalid!("Expected serialized to be a vector, got shape: {}", c.shape(0)?));
            }
            Keys::Attrs if !batch.single => {
                return Err(invalid!("Expected serialized to be a scalar, got shape: {}", c.shape(0)?));
            }
            _ => {}
        }
        let default_arg = match self.keys {
            Keys::Vectors => 5,
            Keys::Scalars => 4,
            Keys::Attrs => 1,
        };
        let Results { dense, sparse, ragged } = self.features(c, default_arg)?.parse(&batch, c.par())?;
        let of_sparse = |i: usize| reserve::collect(sparse.iter().map(|parts| parts[i].clone()));
        let of_ragged = |i: usize| reserve::collect(ragged.iter().map(|parts| parts[i].clone()));
        let lists = [of_sparse(0)?, of_sparse(1)?, of_sparse(2)?, dense, of_ragged(0)?, of_ragged(1)?];
        forms::set_all(c, lists.into_iter().flatten())
    }

    /// The features, with their defaults in argument `default_arg`.
    pub fn features(&self, c: &OpCall<'_>, default_arg: usize) -> Result<Features> {
        Ok(Features {
            wants: self.wants(c, default_arg)?,
            dense: self.dense_types.len(),
            sparse: self.sparse_types.len(),
            split_types: reserve::copied(&self.split_types)?,
        })
    }

    /// Dense features first, then sparse, then ragged: of a key that is named twice the last counts, as in TensorFlow.
    fn wants(&self, c: &OpCall<'_>, default_arg: usize) -> Result<Vec<Want>> {
        let [sparse, dense, ragged] = self.all_keys(c)?;
        let defaults = c.arg(default_arg);
        let expect = |what: &str, of: &str, keys: usize, types: usize| match keys == types {
            true => Ok(()),
            false => Err(invalid!("Expected len({what}_keys) == {of} but got: {keys} vs. {types}")),
        };
        expect("sparse", "num_sparse", sparse.len(), self.sparse_types.len())?;
        expect("dense", "len(dense_types)", dense.len(), self.dense_types.len())?;
        expect("ragged", "len(ragged_value_types)", ragged.len(), self.ragged_types.len())?;
        let mut wants = Vec::new();
        for (d, (key, i)) in dense.into_iter().zip(defaults).enumerate() {
            let (dtype, shape) = (self.dense_types[d], &self.dense_shapes[d]);
            let form = dense_form(d, shape, c.input(i)?)?;
            reserve::push(&mut wants, Want { key, dtype, form })?;
        }
        let rest =
            sparse.into_iter().zip(&self.sparse_types).chain(ragged.into_iter().zip(&self.ragged_types));
        for (key, dtype) in rest {
            reserve::push(&mut wants, Want { key, dtype: *dtype, form: Form::Any })?;
        }
        Ok(wants)
    }

    /// Sparse, dense and ragged keys.
    fn all_keys(&self, c: &OpCall<'_>) -> Result<[Vec<Bytes>; 3]> {
        let of_attr = |name: &str| match c.attrs().get(name) {
            Some(_) => reserve::collect(c.attrs().strs(name)?.into_iter().cloned()),
            None => Ok(vec![]),
        };
        let scalars = |arg: usize| {
            reserve::try_collect(c.arg(arg).map(|i| match c.input(i)?.strings()? {
                [one] => Ok(one.clone()),
                _ => Err(invalid!("a key must be a scalar, got shape {}", c.shape(i)?)),
            }))
        };
        Ok(match self.keys {
            Keys::Vectors => [
                key_vector(c, 2, "sparse_keys")?,
                key_vector(c, 3, "dense_keys")?,
                key_vector(c, 4, "ragged_keys")?,
            ],
            Keys::Scalars => [scalars(2)?, scalars(3)?, vec![]],
            Keys::Attrs => [of_attr("sparse_keys")?, of_attr("dense_keys")?, of_attr("ragged_keys")?],
        })
    }
}

/// The form of dense feature number `d`, after a check of its default.
fn dense_form(d: usize, shape: &PartialShape, default: &Tensor) -> Result<Form> {
    let default = default.clone();
    let Some(fixed) = shape.to_shape() else {
        let stride = shape
            .dims()
            .unwrap_or_default()
            .iter()
            .skip(1)
            .try_fold(1usize, |n, d| usize::try_from(*d).ok().and_then(|d| n.checked_mul(d)));
        let stride = stride.ok_or_else(|| invalid!("dense_shapes[{d}] is too large: {shape}"))?;
        if default.elements() != 1 {
            return Err(invalid!(
                "dense_shape[{d}] is a variable length shape: {shape}, therefore def_value[{d}] must contain a \
                 single element (the padding element).  But its shape is: {}",
                default.shape()
            ));
        }
        return Ok(Form::Padded { shape: shape.clone(), stride, default });
    };
    if default.elements() > 0 && *default.shape() != fixed {
        return Err(invalid!(
            "def_value[{d}].shape() == {} is not compatible with dense_shapes_[{d}] == {shape}",
            default.shape()
        ));
    }
    Ok(Form::Fixed { shape: fixed, default })
}
