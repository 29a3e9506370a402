//! `ParseSequenceExample`, `ParseSequenceExampleV2`, `ParseSingleSequenceExample`: context and feature lists of serialized
//! `SequenceExample` messages.

use super::batch::Batch;
use super::example::{Form, Parser, Want};
use super::feature_lists::{ListForm, ListParser, ListWant};
use super::samples::{self, float_vector, shape_list, string_list, strings};
use super::{forms, key_vector};
use crate::prelude::*;
use bytes::Bytes;

pub static OPS: &[&Op] =
    &[&PARSE_SEQUENCE_EXAMPLE_V2, &PARSE_SEQUENCE_EXAMPLE, &PARSE_SINGLE_SEQUENCE_EXAMPLE];

static PARSE_SEQUENCE_EXAMPLE_V2: Op = Op {
    name: "ParseSequenceExampleV2",
    doc: "Context and feature lists of serialized SequenceExample messages, by key, as sparse, dense and ragged tensors.",
    inputs: &[
        "serialized: string",
        "debug_name: string",
        "context_sparse_keys: string",
        "context_dense_keys: string",
        "context_ragged_keys: string",
        "feature_list_sparse_keys: string",
        "feature_list_dense_keys: string",
        "feature_list_ragged_keys: string",
        "feature_list_dense_missing_assumed_empty: bool",
        "context_dense_defaults: Tcontext_dense",
    ],
    outputs: &[
        "context_sparse_indices: Ncontext_sparse * int64",
        "context_sparse_values: context_sparse_types",
        "context_sparse_shapes: Ncontext_sparse * int64",
        "context_dense_values: Tcontext_dense",
        "context_ragged_values: context_ragged_value_types",
        "context_ragged_row_splits: context_ragged_split_types",
        "feature_list_sparse_indices: Nfeature_list_sparse * int64",
        "feature_list_sparse_values: feature_list_sparse_types",
        "feature_list_sparse_shapes: Nfeature_list_sparse * int64",
        "feature_list_dense_values: feature_list_dense_types",
        "feature_list_dense_lengths: Nfeature_list_dense * int64",
        "feature_list_ragged_values: feature_list_ragged_value_types",
        "feature_list_ragged_outer_splits: feature_list_ragged_split_types",
        "feature_list_ragged_inner_splits: feature_list_ragged_split_types",
    ],
    attrs: &[
        "Ncontext_sparse: int >= 0 = 0",
        "Tcontext_dense: list({float, int64, string}) >= 0 = []",
        "context_sparse_types: list({float, int64, string}) >= 0 = []",
        "context_ragged_value_types: list({float, int64, string}) >= 0 = []",
        "context_ragged_split_types: list({int32, int64}) >= 0 = []",
        "context_dense_shapes: list(shape) >= 0 = []",
        "Nfeature_list_sparse: int >= 0 = 0",
        "Nfeature_list_dense: int >= 0 = 0",
        "feature_list_dense_types: list({float, int64, string}) >= 0 = []",
        "feature_list_sparse_types: list({float, int64, string}) >= 0 = []",
        "feature_list_ragged_value_types: list({float, int64, string}) >= 0 = []",
        "feature_list_ragged_split_types: list({int32, int64}) >= 0 = []",
        "feature_list_dense_shapes: list(shape) >= 0 = []",
    ],
    shape: |c| {
        let batch = match c.input(0).rank() {
            Some(0) => Some(PartialShape::scalar()),
            Some(1) => Some(c.input(0)),
            Some(_) => return Err(invalid!("serialized must be a scalar or a vector, got {}", c.input(0))),
            None => None,
        };
        shapes(c, batch.as_ref(), Kind::V2)
    },
    grad: Stops,
    kernels: cpu!(make v2),
    cases: |_| {
        let call = |serialized: Tensor| {
            Case::new(vec![
                serialized,
                strings(&[]),
                strings(&["tags"]),
                strings(&["x"]),
                strings(&["counts"]),
                strings(&["words"]),
                strings(&["steps"]),
                strings(&["ids"]),
                Tensor::vector(&[false]).unwrap_or_else(|_| Tensor::scalar(false)),
                float_vector(&[]),
            ])
            .attr("Ncontext_sparse", 1)
            .attr("Tcontext_dense", Attr::types(&[DataType::Float]))
            .attr("context_sparse_types", Attr::types(&[DataType::String]))
            .attr("context_ragged_value_types", Attr::types(&[DataType::Int64]))
            .attr("context_ragged_split_types", Attr::types(&[DataType::Int64]))
            .attr("context_dense_shapes", shape_list(&[&[2]]))
            .attr("Nfeature_list_sparse", 1)
            .attr("Nfeature_list_dense", 1)
            .attr("feature_list_dense_types", Attr::types(&[DataType::Float]))
            .attr("feature_list_sparse_types", Attr::types(&[DataType::String]))
            .attr("feature_list_ragged_value_types", Attr::types(&[DataType::Int64]))
            .attr("feature_list_ragged_split_types", Attr::types(&[DataType::Int32]))
            .attr("feature_list_dense_shapes", shape_list(&[&[2]]))
        };
        vec![call(samples::sequences()), call(samples::sequence())]
    },
    expensive: true,
    ..Op::PURE
};

static PARSE_SEQUENCE_EXAMPLE: Op = Op {
    name: "ParseSequenceExample",
    doc: "Context and feature lists of serialized SequenceExample messages, by key, as sparse and dense tensors.",
    inputs: &["serialized: string", "debug_name: string", "context_dense_defaults: Tcontext_dense"],
    outputs: &[
        "context_sparse_indices: Ncontext_sparse * int64",
        "context_sparse_values: context_sparse_types",
        "context_sparse_shapes: Ncontext_sparse * int64",
        "context_dense_values: Tcontext_dense",
        "feature_list_sparse_indices: Nfeature_list_sparse * int64",
        "feature_list_sparse_values: feature_list_sparse_types",
        "feature_list_sparse_shapes: Nfeature_list_sparse * int64",
        "feature_list_dense_values: feature_list_dense_types",
        "feature_list_dense_lengths: Nfeature_list_dense * int64",
    ],
    attrs: &[
        "feature_list_dense_missing_assumed_empty: list(string) >= 0",
        "context_sparse_keys: list(string) >= 0",
        "context_dense_keys: list(string) >= 0",
        "feature_list_sparse_keys: list(string) >= 0",
        "feature_list_dense_keys: list(string) >= 0",
        "Ncontext_sparse: int >= 0 = 0",
        "Ncontext_dense: int >= 0 = 0",
        "Nfeature_list_sparse: int >= 0 = 0",
        "Nfeature_list_dense: int >= 0 = 0",
        "context_sparse_types: list({float, int64, string}) >= 0 = []",
        "Tcontext_dense: list({float, int64, string}) >= 0 = []",
        "feature_list_dense_types: list({float, int64, string}) >= 0 = []",
        "context_dense_shapes: list(shape) >= 0 = []",
        "feature_list_sparse_types: list({float, int64, string}) >= 0 = []",
        "feature_list_dense_shapes: list(shape) >= 0 = []",
    ],
    shape: |c| {
        let batch = match c.input(0).rank() {
            Some(0) => Some(PartialShape::scalar()),
            Some(1) => Some(c.input(0)),
            Some(_) => return Err(invalid!("serialized must be a scalar or a vector, got {}", c.input(0))),
            None => None,
        };
        shapes(c, batch.as_ref(), Kind::V1)
    },
    kernels: cpu!(make v1),
    cases: |_| {
        vec![
            Case::new(vec![samples::sequences(), strings(&[]), float_vector(&[])])
                .attr("feature_list_dense_missing_assumed_empty", string_list(&["gone"]))
                .attr("context_sparse_keys", string_list(&["tags"]))
                .attr("context_dense_keys", string_list(&["x"]))
                .attr("feature_list_sparse_keys", string_list(&["words"]))
                .attr("feature_list_dense_keys", string_list(&["steps", "gone"]))
                .attr("Ncontext_sparse", 1)
                .attr("Ncontext_dense", 1)
                .attr("Nfeature_list_sparse", 1)
                .attr("Nfeature_list_dense", 2)
                .attr("Tcontext_dense", Attr::types(&[DataType::Float]))
                .attr("context_sparse_types", Attr::types(&[DataType::String]))
                .attr("context_dense_shapes", shape_list(&[&[2]]))
                .attr("feature_list_dense_types", Attr::types(&[DataType::Float, DataType::Int64]))
                .attr("feature_list_sparse_types", Attr::types(&[DataType::String]))
                .attr("feature_list_dense_shapes", shape_list(&[&[2], &[3]])),
        ]
    },
    ..PARSE_SEQUENCE_EXAMPLE_V2
};

static PARSE_SINGLE_SEQUENCE_EXAMPLE: Op = Op {
    name: "ParseSingleSequenceExample",
    doc: "Context and feature lists of one serialized SequenceExample message, by key, as sparse and dense tensors.",
    inputs: &[
        "serialized: string",
        "feature_list_dense_missing_assumed_empty: string",
        "context_sparse_keys: Ncontext_sparse * string",
        "context_dense_keys: Ncontext_dense * string",
        "feature_list_sparse_keys: Nfeature_list_sparse * string",
        "feature_list_dense_keys: Nfeature_list_dense * string",
        "context_dense_defaults: Tcontext_dense",
        "debug_name: string",
    ],
    outputs: &[
        "context_sparse_indices: Ncontext_sparse * int64",
        "context_sparse_values: context_sparse_types",
        "context_sparse_shapes: Ncontext_sparse * int64",
        "context_dense_values: Tcontext_dense",
        "feature_list_sparse_indices: Nfeature_list_sparse * int64",
        "feature_list_sparse_values: feature_list_sparse_types",
        "feature_list_sparse_shapes: Nfeature_list_sparse * int64",
        "feature_list_dense_values: feature_list_dense_types",
    ],
    attrs: &[
        "Ncontext_sparse: int >= 0 = 0",
        "Ncontext_dense: int >= 0 = 0",
        "Nfeature_list_sparse: int >= 0 = 0",
        "Nfeature_list_dense: int >= 0 = 0",
        "context_sparse_types: list({float, int64, string}) >= 0 = []",
        "Tcontext_dense: list({float, int64, string}) >= 0 = []",
        "feature_list_dense_types: list({float, int64, string}) >= 0 = []",
        "context_dense_shapes: list(shape) >= 0 = []",
        "feature_list_sparse_types: list({float, int64, string}) >= 0 = []",
        "feature_list_dense_shapes: list(shape) >= 0 = []",
    ],
    shape: |c| {
        c.scalar(0)?;
        shapes(c, Some(&PartialShape::scalar()), Kind::Single)
    },
    kernels: cpu!(make single),
    cases: |_| {
        vec![
            Case::new(vec![
                samples::sequence(),
                strings(&[]),
                Tensor::string("tags"),
                Tensor::string("x"),
                Tensor::string("words"),
                Tensor::string("steps"),
                float_vector(&[]),
                Tensor::string("name"),
            ])
            .attr("Ncontext_sparse", 1)
            .attr("Ncontext_dense", 1)
            .attr("Nfeature_list_sparse", 1)
            .attr("Nfeature_list_dense", 1)
            .attr("Tcontext_dense", Attr::types(&[DataType::Float]))
            .attr("context_sparse_types", Attr::types(&[DataType::String]))
            .attr("context_dense_shapes", shape_list(&[&[2]]))
            .attr("feature_list_dense_types", Attr::types(&[DataType::Float]))
            .attr("feature_list_sparse_types", Attr::types(&[DataType::String]))
            .attr("feature_list_dense_shapes", shape_list(&[&[2]])),
        ]
    },
    ..PARSE_SEQUENCE_EXAMPLE_V2
};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    V2,
    V1,
    Single,
}

fn v2(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare(node, Kind::V2)
}

fn v1(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare(node, Kind::V1)
}

fn single(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare(node, Kind::Single)
}

fn shapes(c: &ShapeCall<'_>, batch: Option<&PartialShape>, kind: Kind) -> Result<Vec<PartialShape>> {
    let s = Settings::of(c.attrs, kind)?;
    let rank = batch.map_or(-1, |b| b.rank().map_or(-1, |r| r as i64));
    let sparse = |n: usize, inner: i64| {
        let rank = if rank < 0 { -1 } else { rank + inner };
        let indices: PartialShape = [-1, rank].into_iter().collect();
        let all = [indices, PartialShape::vector(-1), PartialShape::vector(rank)];
        all.into_iter().flat_map(move |shape| std::iter::repeat_n(shape, n))
    };
    let rows = match batch {
        Some(b) if b.rank() == Some(1) && b.dim(0) >= 0 => PartialShape::vector(b.dim(0).saturating_add(1)),
        Some(b) if b.rank() == Some(1) => PartialShape::vector(-1),
        Some(_) => PartialShape::scalar(),
        None => PartialShape::unknown(),
    };
    let after = |inner: &PartialShape| batch.map_or(PartialShape::unknown(), |b| b.concat(inner));
    let mut all: Vec<PartialShape> = sparse(s.context_sparse.len(), 1).collect();
    all.extend(s.context_shapes.iter().map(|shape| after(&shape.into())));
    all.extend(s.context_ragged.iter().map(|_| PartialShape::vector(-1)));
    all.extend(s.context_ragged.iter().map(|_| rows.clone()));
    all.extend(sparse(s.list_sparse.len(), 2));
    all.extend(s.list_shapes.iter().map(|shape| after(&PartialShape::vector(-1).concat(&shape.into()))));
    if kind != Kind::Single {
        all.extend(s.list_shapes.iter().map(|_| after(&PartialShape::scalar())));
    }
    all.extend(s.list_ragged.iter().map(|_| PartialShape::vector(-1)));
    all.extend(s.list_ragged.iter().map(|_| rows.clone()));
    all.extend(s.list_ragged.iter().map(|_| PartialShape::vector(-1)));
    Ok(all)
}

/// What the attrs say.
struct Settings {
    kind: Kind,
    context_sparse: Vec<DataType>,
    context_dense: Vec<DataType>,
    context_shapes: Vec<Shape>,
    /// Types of values and of splits.
    context_ragged: Vec<(DataType, DataType)>,
    list_sparse: Vec<DataType>,
    list_dense: Vec<DataType>,
    list_shapes: Vec<Shape>,
    list_ragged: Vec<(DataType, DataType)>,
}

/// The keys of an op, in the order of `Settings`.
struct AllKeys {
    context_sparse: Vec<Bytes>,
    context_dense: Vec<Bytes>,
    context_ragged: Vec<Bytes>,
    list_sparse: Vec<Bytes>,
    list_dense: Vec<Bytes>,
    list_ragged: Vec<Bytes>,
    /// Whether each dense list may be missing.
    may_be_missing: Vec<bool>,
}

fn prepare(node: &KernelNode, kind: Kind) -> Result<Box<dyn Kernel>> {
    let settings = Settings::of(&node.attrs, kind)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| settings.run(c)))
}

impl Settings {
    fn of(attrs: &Attrs, kind: Kind) -> Result<Settings> {
        let known = |name: &str| {
            let fixed =
                |s: &PartialShape| s.to_shape().ok_or_else(|| invalid!("Shape {s} is not fully defined"));
            reserve::try_collect(attrs.shapes(name)?.iter().map(fixed))
        };
        let ragged = |values: &str, splits: &str| -> Result<Vec<(DataType, DataType)>> {
            if kind != Kind::V2 {
                return Ok(vec![]);
            }
            let (values, splits) = (attrs.types(values)?, attrs.types(splits)?);
            match values.len() == splits.len() {
                true => Ok(values.into_iter().zip(splits).collect()),
                false => Err(invalid!("as many types of ragged values as of splits are needed")),
            }
        };
        let settings = Settings {
            kind,
            context_sparse: attrs.types("context_sparse_types")?,
            context_dense: attrs.types("Tcontext_dense")?,
            context_shapes: known("context_dense_shapes")?,
            context_ragged: ragged("context_ragged_value_types", "context_ragged_split_types")?,
            list_sparse: attrs.types("feature_list_sparse_types")?,
            list_dense: attrs.types("feature_list_dense_types")?,
            list_shapes: known("feature_list_dense_shapes")?,
            list_ragged: ragged("feature_list_ragged_value_types", "feature_list_ragged_split_types")?,
        };
        if settings.context_dense.len() != settings.context_shapes.len() {
            return Err(invalid!("len(context_dense_keys) != len(context_dense_shapes)"));
        }
        if settings.list_dense.len() != settings.list_shapes.len() {
            return Err(invalid!("len(feature_list_dense_keys) != len(feature_list_dense_shapes)"));
        }
        Ok(settings)
    }

    fn run(&self, c: &mut OpCall<'_>) -> Result<()> {
        let names = c.input(if self.kind == Kind::Single { c.arg(7).start } else { 1 })?;
        let batch = Batch::of(c.input(0)?, Some(names))?;
        if self.kind == Kind::Single && !batch.single {
            return Err(invalid!("Expected serialized to be a scalar, got shape: {}", c.shape(0)?));
        }
        let keys = self.keys(c)?;
        self.check(&keys)?;
        let context = self.context_wants(c, &keys)?;
        let lists = self.list_wants(&keys)?;
        let parsed = Parser { batch: &batch, wants: &context, noun: "Context feature" }.run(c.par())?;
        let steps = ListParser { batch: &batch, wants: &lists }.run(c.par())?;
        let single = batch.single;

        let mut out: [Vec<Tensor>; 14] = Default::default();
        let mut push = |list: usize, t: Tensor| reserve::push(&mut out[list], t);
        let mut all = parsed.into_iter();
        for (parsed, want) in all.by_ref().take(self.context_dense.len()).zip(&context) {
            push(3, forms::dense(parsed, want, single)?)?;
        }
        for parsed in all.by_ref().take(self.context_sparse.len()) {
            for (i, t) in forms::sparse(parsed, single)?.into_iter().enumerate() {
                push(i, t)?;
            }
        }
        for (parsed, (_, splits)) in all.zip(&self.context_ragged) {
            let [values, row_splits] = forms::ragged(parsed, *splits)?;
            push(4, values)?;
            push(5, if single { Tensor::zeros(*splits, Shape::scalar())? } else { row_splits })?;
        }
        let mut all = steps.into_iter();
        for (steps, (dtype, shape)) in
            all.by_ref().take(self.list_dense.len()).zip(self.list_dense.iter().zip(&self.list_shapes))
        {
            let [values, lengths] = steps.dense(*dtype, shape, single)?;
            push(9, values)?;
            if self.kind != Kind::Single {
                push(10, lengths)?;
            }
        }
        for steps in all.by_ref().take(self.list_sparse.len()) {
            for (i, t) in steps.sparse(single)?.into_iter().enumerate() {
                push(6 + i, t)?;
            }
        }
        for (steps, (_, splits)) in all.zip(&self.list_ragged) {
            for (i, t) in steps.ragged(*splits, single)?.into_iter().enumerate() {
                push(11 + i, t)?;
            }
        }
        forms::set_all(c, out.into_iter().flatten())
    }

    fn keys(&self, c: &OpCall<'_>) -> Result<AllKeys> {
        if self.kind == Kind::V2 {
            let missing = c.input(8)?;
            return Ok(AllKeys {
                context_sparse: key_vector(c, 2, "context_sparse_keys")?,
                context_dense: key_vector(c, 3, "context_dense_keys")?,
                context_ragged: key_vector(c, 4, "context_ragged_keys")?,
                list_sparse: key_vector(c, 5, "feature_list_sparse_keys")?,
                list_dense: key_vector(c, 6, "feature_list_dense_keys")?,
                list_ragged: key_vector(c, 7, "feature_list_ragged_keys")?,
                may_be_missing: reserve::copied(missing.as_slice::<bool>()?)?,
            });
        }
        let scalars = |arg: usize| {
            reserve::try_collect(c.arg(arg).map(|i| match c.input(i)?.strings()? {
                [one] => Ok(one.clone()),
                _ => Err(invalid!("a key must be a scalar, got shape {}", c.shape(i)?)),
            }))
        };
        let keys = |arg: usize, attr: &str| match self.kind {
            Kind::Single => scalars(arg),
            _ => reserve::collect(c.attrs().strs(attr)?.into_iter().cloned()),
        };
        let missing: Vec<Bytes> = match self.kind {
            Kind::Single => reserve::copied(c.input(1)?.strings()?)?,
            _ => keys(0, "feature_list_dense_missing_assumed_empty")?,
        };
        let list_dense = keys(5, "feature_list_dense_keys")?;
        Ok(AllKeys {
            context_sparse: keys(2, "context_sparse_keys")?,
            context_dense: keys(3, "context_dense_keys")?,
            context_ragged: vec![],
            list_sparse: keys(4, "feature_list_sparse_keys")?,
            may_be_missing: reserve::collect(list_dense.iter().map(|k| missing.contains(k)))?,
            list_dense,
            list_ragged: vec![],
        })
    }

    /// As many keys of each form as types, and none in two forms.
    fn check(&self, keys: &AllKeys) -> Result<()> {
        let expect = |what: &str, keys: usize, types: usize| match keys == types {
            true => Ok(()),
            false => Err(invalid!("Expected len({what}) == {types} types but got: {keys}")),
        };
        expect("context_sparse_keys", keys.context_sparse.len(), self.context_sparse.len())?;
        expect("context_dense_keys", keys.context_dense.len(), self.context_dense.len())?;
        expect("context_ragged_keys", keys.context_ragged.len(), self.context_ragged.len())?;
        expect("feature_list_sparse_keys", keys.list_sparse.len(), self.list_sparse.len())?;
        expect("feature_list_dense_keys", keys.list_dense.len(), self.list_dense.len())?;
        expect("feature_list_ragged_keys", keys.list_ragged.len(), self.list_ragged.len())?;
        expect("feature_list_dense_missing_assumed_empty", keys.may_be_missing.len(), self.list_dense.len())?;
        let apart = |what: &str, a: (&str, &[Bytes]), b: (&str, &[Bytes])| match a
            .1
            .iter()
            .find(|k| b.1.contains(k))
        {
            Some(key) => Err(invalid!("{what} feature {} cannot be both {} and {}", Lossy(key), a.0, b.0)),
            None => Ok(()),
        };
        let forms = [
            ("Context", &keys.context_dense, &keys.context_sparse, &keys.context_ragged),
            ("Sequence", &keys.list_dense, &keys.list_sparse, &keys.list_ragged),
        ];
        for (what, dense, sparse, ragged) in forms {
            if self.kind != Kind::Single {
                apart(what, ("dense", dense), ("sparse", sparse))?;
                apart(what, ("dense", dense), ("ragged", ragged))?;
                apart(what, ("ragged", ragged), ("sparse", sparse))?;
            }
        }
        Ok(())
    }

    fn context_wants(&self, c: &OpCall<'_>, keys: &AllKeys) -> Result<Vec<Want>> {
        let defaults = c.arg(match self.kind {
            Kind::V2 => 9,
            Kind::V1 => 2,
            Kind::Single => 6,
        });
        let mut wants = Vec::new();
        let types = self.context_dense.iter().zip(&self.context_shapes);
        for (d, ((key, i), (dtype, shape))) in keys.context_dense.iter().zip(defaults).zip(types).enumerate()
        {
            let default = c.input(i)?.clone();
            if default.elements() > 0 && default.shape() != shape {
                return Err(invalid!(
                    "context_dense_defaults[{d}].shape() == {} != context_dense_shapes[{d}] == {shape}",
                    default.shape()
                ));
            }
            let form = Form::Fixed { shape: shape.clone(), default };
            reserve::push(&mut wants, Want { key: key.clone(), dtype: *dtype, form })?;
        }
        let sparse = keys.context_sparse.iter().zip(self.context_sparse.iter().copied());
        let ragged = keys.context_ragged.iter().zip(self.context_ragged.iter().map(|r| r.0));
        for (key, dtype) in sparse.chain(ragged) {
            reserve::push(&mut wants, Want { key: key.clone(), dtype, form: Form::Any })?;
        }
        Ok(wants)
    }

    fn list_wants(&self, keys: &AllKeys) -> Result<Vec<ListWant>> {
        let mut wants = Vec::new();
        let forms = self.list_dense.iter().zip(&self.list_shapes).zip(&keys.may_be_missing);
        for (key, ((dtype, shape), may_be_missing)) in keys.list_dense.iter().zip(forms) {
            let form = ListForm::Fixed { shape: shape.clone(), may_be_missing: *may_be_missing };
            reserve::push(&mut wants, ListWant { key: key.clone(), dtype: *dtype, form })?;
        }
        let sparse = keys.list_sparse.iter().zip(self.list_sparse.iter().copied());
        let ragged = keys.list_ragged.iter().zip(self.list_ragged.iter().map(|r| r.0));
        for (key, dtype) in sparse.chain(ragged) {
            reserve::push(&mut wants, ListWant { key: key.clone(), dtype, form: ListForm::Any })?;
        }
        Ok(wants)
    }
}
