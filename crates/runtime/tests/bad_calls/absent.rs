//! Rows whose ops are not registered, so that nothing can be called:
//!
//! | rows | ops | instead |
//! |---|---|---|
//! | A18 | maps of sparse tensors | |
//! | A21 | `ThreadPoolHandle` | threads are a session's option |
//! | B5, B6, B8 | convolution and pooling in three dimensions | |
//! | B20, B21 | LSTM and GRU in one op | cells made of ordinary ops (`thalweg-train`) |
//! | B22 | `Dilation2D` | |
//! | C30 | CTC | |
//! | C33 | `CropAndResize` | |
//! | C34 | `Einsum` | |
//! | D5, D6 | GIF, BMP (and JPEG) | PNG: D3, D4 |
//! | D10 | `StringNGrams` | |
//! | D14 | parsing of `Example`s | |
//! | D15 | summary writers as ops | event files are written by `thalweg-train` |
//! | E3, E6 | `Restore`, `LoadAndRemapMatrix` | E3 is tested with `RestoreV2` |
//! | E11 | collectives | |

use crate::common::registry;

const ABSENT: &[(&str, &[&str])] = &[
    ("a18", &["AddManySparseToTensorsMap", "AddSparseToTensorsMap", "TakeManySparseFromTensorsMap"]),
    ("a21", &["ThreadPoolHandle", "ThreadPoolDataset"]),
    ("b05", &["Conv3D"]),
    ("b06", &["Conv3DBackpropInput", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"]),
    ("b08", &["MaxPool3D", "MaxPool3DGrad", "AvgPool3D", "AvgPool3DGrad"]),
    ("b20", &["LSTMBlockCell", "LSTMBlockCellGrad", "BlockLSTM", "BlockLSTMV2"]),
    ("b21", &["GRUBlockCell", "GRUBlockCellGrad"]),
    ("b22", &["Dilation2D", "Dilation2DBackpropInput", "Dilation2DBackpropFilter"]),
    ("c30", &["CTCLoss", "CTCLossV2", "CTCGreedyDecoder", "CTCBeamSearchDecoder"]),
    ("c33", &["CropAndResize", "CropAndResizeGradImage", "CropAndResizeGradBoxes"]),
    ("c34", &["Einsum"]),
    ("d05", &["DecodeGif"]),
    ("d06", &["DecodeBmp", "DecodeImage", "DecodeJpeg"]),
    ("d14", &["DecodeProtoV2"]),
    ("e11", &["CollectiveReduce", "CollectiveReduceV2", "CollectiveGather", "CollectiveBcastSend"]),
];

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
