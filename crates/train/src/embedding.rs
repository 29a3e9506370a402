//! `embedding_lookup`: rows of a table, whole or partitioned.

use thalweg_client::{Attr, Code, DataType, Error, Output, Scope, Variable};

/// How the rows of a table are partitioned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartitionStrategy {
    /// Row `id` is row `id / parts` of part `id % parts`.
    #[default]
    Mod,
    /// Contiguous ranges of rows: how partitioned variables are split.
    Div,
}

/// The rows `ids` of a partitioned table, in the shape of `ids` with a dimension for the rows. The gradient is sparse: only those rows.
#[track_caller]
pub fn embedding_lookup(g: &Scope, parts: &[Variable], ids: &Output, strategy: PartitionStrategy) -> Output {
    let g = g.name_scope("embedding_lookup");
    match parts {
        [] => {
            g.mistake(Error::new(
                Code::InvalidArgument,
                "embedding_lookup needs a table of one part at least",
            ));
            ids.clone()
        }
        [table] => g.identity(table.gather(&g, ids)),
        parts => lookup(&g, parts, ids, strategy),
    }
}

#[track_caller]
fn lookup(g: &Scope, parts: &[Variable], ids: &Output, strategy: PartitionStrategy) -> Output {
    let flat = g.reshape(ids, &[-1]);
    let (part, row) = match strategy {
        PartitionStrategy::Mod => {
            let count = g.number(parts.len() as f64, ids.dtype());
            (g.floor_mod(&flat, &count), g.floor_div(&flat, &count))
        }
        PartitionStrategy::Div => by_ranges(g, parts, &flat),
    };
    let part = g.cast(part, DataType::Int32);
    let size = g.size(&flat);
    let positions = g.op("Range").input(g.constant(0)).input(size).input(g.constant(1)).output();
    let count = parts.len() as i64;
    let split = |values: &Output| {
        g.op("DynamicPartition").input(values).input(&part).attr("num_partitions", count).outputs()
    };
    let (rows, positions) = (split(&row), split(&positions));
    let found: Vec<Output> = parts.iter().zip(&rows).map(|(v, rows)| v.gather(g, rows)).collect();
    let stitched = g.op("ParallelDynamicStitch").inputs(&positions).inputs(&found).output();
    shaped(g, &stitched, ids, &parts[0])
}

/// Part and row of each id under `Div`: contiguous ranges, the first parts one row longer if it does not divide evenly.
#[track_caller]
fn by_ranges(g: &Scope, parts: &[Variable], ids: &Output) -> (Output, Output) {
    let rows = |v: &Variable| v.shape().dims().and_then(|d| d.first().copied()).filter(|d| *d >= 0);
    let total = parts.iter().map(rows).try_fold(0i64, |sum, rows| sum.checked_add(rows?));
    let Some(total) = total else {
        let text = "the div strategy needs to know how many rows each part has";
        g.mistake(Error::new(Code::InvalidArgument, text));
        return (ids.clone(), ids.clone());
    };
    let number = |v: i64| g.number(v as f64, ids.dtype());
    let (each, longer) = (total / parts.len() as i64, number(total % parts.len() as i64));
    let (of_longer, of_others) = (number(each + 1), number(each.max(1)));
    let rest = ids - &longer;
    let part = g.maximum(g.floor_div(ids, &of_longer), g.floor_div(&rest, &of_others));
    let row = g.select(g.less(&part, longer), g.floor_mod(ids, of_longer), g.floor_mod(rest, of_others));
    (part, row)
}

/// Reshapes the rows to the shape of the ids.
fn shaped(g: &Scope, rows: &Output, ids: &Output, part: &Variable) -> Output {
    let of_ids = g.op("Shape").input(ids).attr("out_type", Attr::Type(DataType::Int32)).output();
    let of_row: Vec<i32> = part
        .shape()
        .dims()
        .and_then(|d| d.get(1..))
        .unwrap_or_default()
        .iter()
        .map(|d| i32::try_from(*d).unwrap_or(-1))
        .collect();
    let shape = g.concat(&[of_ids, g.constant(of_row)], 0);
    g.reshape_to(rows, shape)
}
