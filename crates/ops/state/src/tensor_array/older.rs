//! The tensor arrays of older graphs: their handles are container and name, as strings (`V2`) or a reference to them.

use super::resource::array_input;
use super::write::pass_flow;
use super::{close, concat, gather, read, size, tensor_array_grad_v3, tensor_array_v3, write};
use crate::prelude::*;
use crate::rows::unstack;

pub static OPS: &[&Op] = &[
    &TENSOR_ARRAY,
    &TENSOR_ARRAY_V2,
    &TENSOR_ARRAY_GRAD,
    &TENSOR_ARRAY_GRAD_V2,
    &TENSOR_ARRAY_PACK,
    &TENSOR_ARRAY_UNPACK,
    &Op {
        name: "TensorArrayWrite",
        inputs: &["handle: Ref(string)", "index: int32", "value: T", "flow_in: float"],
        ..write::TENSOR_ARRAY_WRITE_V3
    },
    &Op {
        name: "TensorArrayWriteV2",
        inputs: &["handle: string", "index: int32", "value: T", "flow_in: float"],
        ..write::TENSOR_ARRAY_WRITE_V3
    },
    &Op {
        name: "TensorArrayRead",
        inputs: &["handle: Ref(string)", "index: int32", "flow_in: float"],
        ..read::TENSOR_ARRAY_READ_V3
    },
    &Op {
        name: "TensorArrayReadV2",
        inputs: &["handle: string", "index: int32", "flow_in: float"],
        ..read::TENSOR_ARRAY_READ_V3
    },
    &Op {
        name: "TensorArrayGather",
        inputs: &["handle: Ref(string)", "indices: int32", "flow_in: float"],
        ..gather::TENSOR_ARRAY_GATHER_V3
    },
    &Op {
        name: "TensorArrayGatherV2",
        inputs: &["handle: string", "indices: int32", "flow_in: float"],
        ..gather::TENSOR_ARRAY_GATHER_V3
    },
    &Op {
        name: "TensorArrayScatter",
        inputs: &["handle: Ref(string)", "indices: int32", "value: T", "flow_in: float"],
        ..gather::TENSOR_ARRAY_SCATTER_V3
    },
    &Op {
        name: "TensorArrayScatterV2",
        inputs: &["handle: string", "indices: int32", "value: T", "flow_in: float"],
        ..gather::TENSOR_ARRAY_SCATTER_V3
    },
    &Op {
        name: "TensorArrayConcat",
        inputs: &["handle: Ref(string)", "flow_in: float"],
        ..concat::TENSOR_ARRAY_CONCAT_V3
    },
    &Op {
        name: "TensorArrayConcatV2",
        inputs: &["handle: string", "flow_in: float"],
        ..concat::TENSOR_ARRAY_CONCAT_V3
    },
    &Op {
        name: "TensorArraySplit",
        inputs: &["handle: Ref(string)", "value: T", "lengths: int64", "flow_in: float"],
        ..concat::TENSOR_ARRAY_SPLIT_V3
    },
    &Op {
        name: "TensorArraySplitV2",
        inputs: &["handle: string", "value: T", "lengths: int64", "flow_in: float"],
        ..concat::TENSOR_ARRAY_SPLIT_V3
    },
    &Op {
        name: "TensorArraySize",
        inputs: &["handle: Ref(string)", "flow_in: float"],
        ..size::TENSOR_ARRAY_SIZE_V3
    },
    &Op {
        name: "TensorArraySizeV2",
        inputs: &["handle: string", "flow_in: float"],
        ..size::TENSOR_ARRAY_SIZE_V3
    },
    &Op { name: "TensorArrayClose", inputs: &["handle: Ref(string)"], ..close::TENSOR_ARRAY_CLOSE_V3 },
    &Op { name: "TensorArrayCloseV2", inputs: &["handle: string"], ..close::TENSOR_ARRAY_CLOSE_V3 },
];

static TENSOR_ARRAY: Op = Op {
    name: "TensorArray",
    outputs: &["handle: Ref(string)"],
    attrs: &[
        "dtype: type",
        "dynamic_size: bool = false",
        "clear_after_read: bool = true",
        "tensor_array_name: string = ''",
        "element_shape: shape = { unknown_rank: true }",
    ],
    shape: |c| {
        c.scalar(0)?;
        Ok(vec![PartialShape::vector(2)])
    },
    ..tensor_array_v3::TENSOR_ARRAY_V3
};

static TENSOR_ARRAY_V2: Op = Op {
    name: "TensorArrayV2",
    outputs: &["handle: string"],
    attrs: &[
        "dtype: type",
        "element_shape: shape = { unknown_rank: true }",
        "dynamic_size: bool = false",
        "clear_after_read: bool = true",
        "tensor_array_name: string = ''",
    ],
    ..TENSOR_ARRAY
};

static TENSOR_ARRAY_GRAD_V2: Op = Op {
    name: "TensorArrayGradV2",
    inputs: &["handle: string", "flow_in: float"],
    outputs: &["grad_handle: string"],
    shape: |_| Ok(vec![PartialShape::vector(2)]),
    ..tensor_array_grad_v3::TENSOR_ARRAY_GRAD_V3
};

static TENSOR_ARRAY_GRAD: Op =
    Op { name: "TensorArrayGrad", outputs: &["grad_handle: Ref(string)"], ..TENSOR_ARRAY_GRAD_V2 };

static TENSOR_ARRAY_PACK: Op = Op {
    name: "TensorArrayPack",
    doc: "All tensors of the array, stacked.",
    inputs: &["handle: Ref(string)", "flow_in: float"],
    shape: |c| Ok(vec![PartialShape::vector(-1).concat(c.attrs.shape("element_shape")?)]),
    grad: Missing,
    kernels: cpu!(pack),
    ..gather::TENSOR_ARRAY_GATHER_V3
};

fn pack(c: &mut OpCall<'_>) -> Result<()> {
    let array = array_input(c)?;
    array.check_read_type(c.output_type(0)?)?;
    let rows = array.with(|s| array.read_all(s))?;
    gather::stack_rows(c, &array, rows)
}

static TENSOR_ARRAY_UNPACK: Op = Op {
    name: "TensorArrayUnpack",
    doc: "Writes the rows of `value` to the slots, from the first on.",
    inputs: &["handle: Ref(string)", "value: T", "flow_in: float"],
    shape: |c| {
        c.rank_at_least(1, 1)?;
        Ok(vec![PartialShape::scalar()])
    },
    grad: Missing,
    kernels: cpu!(unpack),
    ..gather::TENSOR_ARRAY_SCATTER_V3
};

fn unpack(c: &mut OpCall<'_>) -> Result<()> {
    let (array, value) = (array_input(c)?, c.input(1)?);
    array.check_write_type(value.dtype())?;
    if value.rank() == 0 {
        return Err(invalid!("Input value for unpack must be at least a vector but received shape: []"));
    }
    let rows = unstack(value)?;
    array.with(|s| {
        if s.size != rows.len() && !s.dynamic {
            return Err(invalid!(
                "Input value must have first dimension equal to the array size ({} vs. {})",
                rows.len(),
                s.size
            ));
        }
        rows.into_iter().enumerate().try_for_each(|(i, row)| array.write(s, i as i64, row))
    })?;
    pass_flow(c, 2)
}
