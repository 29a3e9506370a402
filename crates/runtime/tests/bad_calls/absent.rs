//! Rows whose ops are not registered, so that nothing can be called:
//!
//! | rows | ops | instead |
//! |---|---|---|
//! | D10 | `StringNGrams` | |
//! | D14 | parsing of `Example`s | |
//! | D15 | summary writers as ops | event files are written by `thalweg-train` |
//! | E3, E6 | `Restore`, `LoadAndRemapMatrix` | E3 is tested with `RestoreV2` |
//! | E11 | collectives | |

use crate::common::registry;

const ABSENT: &[(&str, &[&str])] =
    &[("e11", &["CollectiveReduce", "CollectiveReduceV2", "CollectiveGather", "CollectiveBcastSend"])];

#[test]
fn an_op_that_appears_needs_the_tests_of_its_row() {
    for (row, ops) in ABSENT {
        for op in *ops {
            assert!(
                registry().get(op).is_none(),
                "{op} exists now: test row {row} with it, and strike it here"
            );
        }
    }
}

/// Every row of the corpus that calls ops is tested or listed above.
#[test]
fn no_row_is_forgotten() {
    let tests = [
        include_str!("files.rs"),
        include_str!("indexing.rs"),
        include_str!("parsing.rs"),
        include_str!("sizes.rs"),
        include_str!("state.rs"),
        include_str!("values.rs"),
        include_str!("windows.rs"),
    ];
    for (letter, rows) in [('a', 23), ('b', 22), ('c', 34), ('d', 15), ('e', 11)] {
        for row in (1..=rows).map(|n| format!("{letter}{n:02}")) {
            let tested = tests.iter().any(|t| t.contains(&format!(" {row}_")));
            let absent = ABSENT.iter().any(|(r, _)| *r == row);
            assert!(tested || absent, "row {row} is not tested");
        }
    }
}
