//! `StackV2`, `StackPushV2`, `StackPopV2`, `StackCloseV2` and their older forms.

use super::resource::Stack;
use crate::named::{name_in, named_reference};
use crate::prelude::*;
use thalweg_core::resource::ResourceHandle;

pub static STACK_V2: Op = Op {
    name: "StackV2",
    doc: "A handle to a new stack of at most max_size elements (negative: no limit), freed with the step.",
    inputs: &["max_size: int32"],
    outputs: &["handle: resource"],
    attrs: &["elem_type: type", "stack_name: string = ''"],
    shape: shape_call::scalar,
    kernels: cpu!(make prepare),
    stack: Some(StackUse::Create),
    ..Op::STATEFUL
};

pub static STACK: Op = Op {
    name: "Stack",
    doc: "A handle to a new stack, freed with the step.",
    inputs: &[],
    outputs: &["handle: Ref(string)"],
    shape: |_| Ok(vec![PartialShape::vector(2)]),
    stack: None,
    ..STACK_V2
};

/// The container of a step's stacks.
const CONTAINER: &str = "_stacks";

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let dtype = node.attrs.dtype("elem_type")?;
    let base = match node.attrs.str("stack_name")? {
        "" => node.name.to_string(),
        name => name.to_string(),
    };
    let by_reference = node.outputs.first().is_some_and(|p| p.is_ref);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let max = if c.inputs.is_empty() { None } else { usize::try_from(c.scalar::<i32>(0)?).ok() };
        let name = format!("{base}_{}", c.step.fresh());
        let stack =
            c.step.scratch().get_or_create(CONTAINER, &name, || Ok(Stack::new(name.clone(), dtype, max)))?;
        if by_reference {
            c.set(0, Value::Ref(named_reference(CONTAINER, &name)));
            return Ok(());
        }
        let handle = ResourceHandle {
            device: c.step.device.name.clone(),
            container: CONTAINER.into(),
            name: name.as_str().into(),
            type_name: "Stack".into(),
            target: Some(stack.into()),
            ..Default::default()
        };
        c.set(0, Tensor::from_object(handle));
        Ok(())
    }))
}

/// The stack in input 0, and its name in the step.
fn stack_input(c: &OpCall<'_>) -> Result<(Arc<Stack>, String)> {
    let name = match c.inputs.first() {
        Some(Input::Ref(v)) => name_in(&v.read()?)?.1,
        _ if c.input(0)?.dtype() == DataType::String => name_in(c.input(0)?)?.1,
        _ => {
            let handle = c.handle(0)?;
            if handle.target.is_some() {
                return Ok((c.resource::<Stack>(0)?, handle.name.to_string()));
            }
            handle.name.to_string()
        }
    };
    Ok((c.step.scratch().get::<Stack>(CONTAINER, &name)?, name))
}

pub static STACK_PUSH_V2: Op = Op {
    name: "StackPushV2",
    doc: "Pushes an element onto the stack, and outputs it.",
    inputs: &["handle: resource", "elem: T"],
    outputs: &["output: T"],
    attrs: &["T: type", "swap_memory: bool = false"],
    shape: |c| Ok(vec![c.input(1)]),
    kernels: cpu!(push),
    stack: Some(StackUse::Push),
    ..Op::STATEFUL
};

pub static STACK_PUSH: Op =
    Op { name: "StackPush", inputs: &["handle: Ref(string)", "elem: T"], stack: None, ..STACK_PUSH_V2 };

fn push(c: &mut OpCall<'_>) -> Result<()> {
    let stack = stack_input(c)?.0;
    let elem = c.take(1)?;
    if elem.dtype() != stack.dtype {
        return Err(invalid!("Must have type {} but got {}", stack.dtype, elem.dtype()));
    }
    stack.push(elem.clone())?;
    c.set(0, elem);
    Ok(())
}

pub static STACK_POP_V2: Op = Op {
    name: "StackPopV2",
    doc: "Pops the element pushed last.",
    inputs: &["handle: resource"],
    outputs: &["elem: elem_type"],
    attrs: &["elem_type: type"],
    kernels: cpu!(pop),
    stack: Some(StackUse::Pop),
    ..Op::STATEFUL
};

pub static STACK_POP: Op =
    Op { name: "StackPop", inputs: &["handle: Ref(string)"], stack: None, ..STACK_POP_V2 };

fn pop(c: &mut OpCall<'_>) -> Result<()> {
    let stack = stack_input(c)?.0;
    if c.output_type(0)? != stack.dtype {
        return Err(invalid!("Stack[{}] holds {}, asked for {}", stack.name, stack.dtype, c.output_type(0)?));
    }
    c.set(0, stack.pop()?);
    Ok(())
}

pub static STACK_CLOSE_V2: Op = Op {
    name: "StackCloseV2",
    doc: "Deletes the stack before the step ends.",
    inputs: &["handle: resource"],
    shape: |_| Ok(vec![]),
    kernels: cpu!(close),
    ..Op::STATEFUL
};

pub static STACK_CLOSE: Op = Op { name: "StackClose", inputs: &["handle: Ref(string)"], ..STACK_CLOSE_V2 };

fn close(c: &mut OpCall<'_>) -> Result<()> {
    let name = stack_input(c)?.1;
    // Closing twice is no error.
    let _ = c.step.scratch().remove(CONTAINER, &name);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call_in, call_values, code, step};

    #[test]
    fn the_last_in_is_the_first_out() {
        let step = step(1);
        let float = [("elem_type", Attr::Type(DataType::Float))];
        let stack = call_in(&step, "StackV2", &[Tensor::scalar(2i32)], &float).unwrap().remove(0);
        let push = |v: Tensor| call_in(&step, "StackPushV2", &[stack.clone(), v], &[]);
        let pop = || call_in(&step, "StackPopV2", &[stack.clone()], &float);
        push(Tensor::scalar(1f32)).unwrap();
        push(Tensor::scalar(2f32)).unwrap();
        assert_eq!(code(push(Tensor::scalar(3f32))), Code::InvalidArgument);
        assert_eq!(pop().unwrap()[0].to_scalar::<f32>().unwrap(), 2.);
        assert_eq!(code(push(Tensor::scalar(3i32))), Code::InvalidArgument);
        assert_eq!(pop().unwrap()[0].to_scalar::<f32>().unwrap(), 1.);
        assert!(pop().unwrap_err().message().ends_with("is empty when calling Pop()."));
        call_in(&step, "StackCloseV2", &[stack.clone()], &[]).unwrap();
        assert!(push(Tensor::scalar(1f32)).unwrap_err().message().ends_with("has already been closed."));
        assert!(step.scratch().is_empty());
    }

    #[test]
    fn the_older_handles_name_their_stack() {
        let step = step(1);
        let int = [("elem_type", Attr::Type(DataType::Int32))];
        let handle = call_values(&step, "Stack", &[], &int).unwrap()[0].clone().unwrap();
        call_values(&step, "StackPush", &[handle.clone(), Tensor::scalar(7i32).into()], &[]).unwrap();
        let got = call_values(&step, "StackPop", &[handle], &int).unwrap()[0].clone().unwrap();
        assert_eq!(got.into_tensor().unwrap().to_scalar::<i32>().unwrap(), 7);
    }
}
