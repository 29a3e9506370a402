//! Every kind of feature column on one batch: `feature_columns VOCABULARY GRAPH` prints the input layer and the linear model of each, and writes
//! the graph, for comparison with TensorFlow.

use std::path::Path;
use thalweg_client::{DataType, Initializer, Output, Result, Scope, Session, Tensor};
use thalweg_proto::Message;
use thalweg_train::feature_column::*;
use thalweg_train::tables_initializer;

/// 0, 0.1, 0.2, ..: the same in every program.
struct Counting;

impl Initializer for Counting {
    fn build(&self, g: &Scope, _: DataType, dims: &[usize]) -> Output {
        let numbers: Vec<f32> = (0..dims.iter().product::<usize>()).map(|i| i as f32 * 0.1).collect();
        g.reshape(g.constant(numbers), &dims.iter().map(|d| *d as i32).collect::<Vec<_>>())
    }

    fn name(&self) -> &'static str {
        "counting"
    }
}

fn features(g: &Scope) -> Features {
    let words = vec!["red", "green", "", "blue", "red", "ultraviolet"];
    Features::new()
        .with("age", &g.constant([3f32, 18.0, 70.5]))
        .with("size", &g.constant([[1i32, 2], [30, 40], [500, 600]]))
        .with("colour", &g.constant(vec!["green", "pink", ""]))
        .with("colours", &g.reshape(g.constant(words), &[3, 2]))
        .with("number", &g.constant([7i64, -1, 1234567]))
        .with("code", &g.constant([2i32, 5, 0]))
        .with("counts", &g.constant([[0.5f32, 2.0], [0.0, 3.0], [-1.0, 0.25]]))
        .with("share", &g.constant([4i32, 5, 0]))
        .with("times", &g.constant([3f32, 0.0, 2.0]))
}

fn columns(vocabulary: &Path) -> Vec<(&'static str, FeatureColumn)> {
    let age = || numeric_column("age");
    let list = |key| categorical_column_with_vocabulary_list(key, ["red", "green", "blue"]);
    let in_file = || categorical_column_with_vocabulary_file("colours", vocabulary);
    let bucketized = || bucketized_column(age(), &[10.0, 18.0, 65.0]);
    let both = || bucketized_column(numeric_column("size").shape(&[2]), &[2.0, 100.0]);
    let identity = || categorical_column_with_identity("code", 4).default_value(3);
    let hashed = || categorical_column_with_hash_bucket("colours", 11);
    let weighted = || weighted_categorical_column(hashed(), "counts");
    let embedded = |c: Combiner| embedding_column(hashed(), 3).initializer(Counting).combiner(c);
    vec![
        ("numeric", age().into()),
        ("numeric_shape", numeric_column("size").shape(&[2]).normalizer(|_, x| x * 2i32).into()),
        ("bucketized", bucketized().into()),
        ("bucketized_shape", both().into()),
        ("list", indicator_column(list("colour")).into()),
        ("list_default", indicator_column(list("colour").default_value(1)).into()),
        ("list_oov", indicator_column(list("colours").num_oov_buckets(4)).into()),
        (
            "list_numbers",
            indicator_column(
                categorical_column_with_vocabulary_list("number", [7i64, 1234567]).num_oov_buckets(2),
            )
            .into(),
        ),
        ("file", indicator_column(in_file()).into()),
        ("file_oov", indicator_column(in_file().vocabulary_size(2).num_oov_buckets(3)).into()),
        ("hashed", indicator_column(hashed()).into()),
        ("hashed_numbers", indicator_column(categorical_column_with_hash_bucket("number", 9)).into()),
        ("identity", indicator_column(identity()).into()),
        ("crossed", indicator_column(crossed_column(["colour", "code"], 13)).into()),
        (
            "crossed_ids",
            indicator_column(crossed_column(["colours"], 17).with(bucketized()).with(both())).into(),
        ),
        (
            "crossed_nested",
            indicator_column(
                crossed_column(["number"], 19).with(crossed_column(["colour", "code"], 5)).hash_key(9),
            )
            .into(),
        ),
        ("embedding_mean", embedded(Combiner::Mean).into()),
        ("embedding_sum", embedded(Combiner::Sum).into()),
        ("embedding_sqrtn", embedded(Combiner::SqrtN).into()),
        ("embedding_list", embedding_column(list("colour"), 2).initializer(Counting).into()),
        ("weighted_indicator", indicator_column(weighted()).into()),
        ("weighted_list", indicator_column(weighted_categorical_column(list("colour"), "share")).into()),
        ("weighted_mean", embedding_column(weighted(), 3).initializer(Counting).into()),
        (
            "weighted_sum",
            embedding_column(weighted(), 3).initializer(Counting).combiner(Combiner::Sum).into(),
        ),
        (
            "weighted_sqrtn",
            embedding_column(weighted(), 3).initializer(Counting).combiner(Combiner::SqrtN).into(),
        ),
        ("linear_weighted", weighted().into()),
        ("linear_hashed", hashed().into()),
        ("linear_list", list("colours").into()),
        ("linear_bucketized", both().into()),
        ("linear_crossed", crossed_column(["colour", "code"], 13).into()),
    ]
}

/// Columns of one table.
fn shared(combiner: Combiner) -> SharedEmbeddingColumns {
    let hashed = |key| categorical_column_with_hash_bucket(key, 7);
    let weighted = weighted_categorical_column(hashed("number"), "times");
    shared_embedding_columns([hashed("colours").into(), hashed("colour").into(), weighted.into()], 2)
        .initializer(Counting)
        .combiner(combiner)
}

fn print(name: &str, value: &Tensor) -> Result<()> {
    let values: Vec<String> = value.as_slice::<f32>()?.iter().map(|v| format!("{v:?}")).collect();
    let dims: Vec<String> = value.shape().dims().iter().map(usize::to_string).collect();
    println!("{name} {} {}", dims.join(","), values.join(","));
    Ok(())
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [vocabulary, graph] = &args[..] else {
        println!("usage: feature_columns VOCABULARY GRAPH");
        return Ok(());
    };
    let g = Scope::new();
    let features = features(&g);
    let mut wanted: Vec<(String, Output)> = Vec::new();
    let mut all = Vec::new();
    for (name, column) in columns(Path::new(vocabulary)) {
        if !name.starts_with("linear") {
            let x = input_layer(&g.variable_scope(name), &features, std::slice::from_ref(&column))?;
            wanted.push((name.to_string(), x));
        }
        let y = linear_model(&g.variable_scope(name), &features, std::slice::from_ref(&column), 2)?;
        wanted.push((format!("{name}/linear"), y));
        if ["numeric", "bucketized_shape", "hashed", "embedding_list"].contains(&name) {
            all.push(column);
        }
    }
    let shared: Vec<FeatureColumn> =
        shared(Combiner::Mean).into_iter().chain([numeric_column("age").into()]).collect();
    wanted.push(("shared".into(), input_layer(&g.variable_scope("shared"), &features, &shared)?));
    wanted.push(("shared/linear".into(), linear_model(&g.variable_scope("shared"), &features, &shared, 2)?));
    wanted.push(("all".into(), input_layer(&g.variable_scope("all"), &features, &all)?));
    wanted.push(("all/linear".into(), linear_model(&g.variable_scope("all"), &features, &all, 2)?));
    let fill: Vec<_> = g
        .global_variables()
        .iter()
        .filter(|v| v.name().contains("linear_model"))
        .map(|v| {
            let dims: Vec<usize> = v.shape().dims().unwrap_or_default().iter().map(|d| *d as usize).collect();
            v.assign(Counting.build(&g, DataType::Float, &dims))
        })
        .collect();
    let fill = g.group(&fill.iter().collect::<Vec<_>>());
    let (init, tables) = (g.init(), tables_initializer(&g));
    let session = Session::new(&g)?;
    session.run(&init, &[])?;
    session.run(&(fill, tables), &[])?;
    for (name, output) in &wanted {
        print(name, &session.run(output, &[])?)?;
        println!("tensor {name} {}", output.name());
    }
    for v in g.global_variables() {
        println!("variable {}", v.name());
    }
    Ok(std::fs::write(graph, g.to_graph_def()?.encode_to_vec())?)
}
