//! `Print`, `PrintV2`: print from a running graph.

use super::tensor_text::first_elements;
use crate::files;
use crate::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};

pub static PRINT: Op = Op {
    name: "Print",
    doc: "The input; prints `data`, the first `first_n` times.",
    inputs: &["input: T", "data: U"],
    outputs: &["output: T"],
    attrs: &[
        "T: type",
        "U: list(type) >= 0",
        "message: string = ''",
        "first_n: int = -1",
        "summarize: int = 3",
    ],
    shape: same_as_input,
    grad: Rule(|g| {
        let mut grads = vec![Grad::None; g.x.len()];
        grads[0] = g.dy()?.into();
        Ok(grads)
    }),
    kernels: cpu!(make print),
    ..Op::STATEFUL
};

fn print(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let message = String::from_utf8_lossy(node.attrs.bytes("message")?).into_owned();
    let (first_n, summarize) = (node.attrs.int("first_n")?, node.attrs.int("summarize")?);
    let printed = AtomicI64::new(0);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        if first_n < 0 || printed.fetch_add(1, Ordering::Relaxed) < first_n {
            let mut text = reserve::text(format_args!("{message}"))?;
            for i in 1..c.inputs.len() {
                let part = first_elements(c.input(i)?, summarize)?;
                reserve::room(&mut text, part.len() + 3)?;
                text.extend(["[", &part, "]"]);
            }
            text.push('\n');
            (c.step.device.print)(&text);
        }
        let x = c.take(0)?;
        c.set(0, x);
        Ok(())
    }))
}

pub static PRINT_V2: Op = Op {
    name: "PrintV2",
    doc: "Prints a string, or appends it to a file.",
    inputs: &["input: string"],
    attrs: &["output_stream: string = 'stderr'", "end: string = '\n'"],
    shape: |c| {
        c.scalar(0)?;
        Ok(vec![])
    },
    kernels: cpu!(make print_v2),
    ..Op::STATEFUL
};

fn print_v2(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let file = match node.attrs.str("output_stream")? {
        "stderr" | "stdout" | "log(info)" | "log(warning)" | "log(error)" => None,
        file if file.starts_with("file://") => Some(PathBuf::from(file)),
        other => {
            return Err(invalid!(
                "Unknown output stream: {other}; there are stderr, stdout, log(info), log(warning), log(error) and file://PATH"
            ));
        }
    };
    let end = node.attrs.bytes("end")?.clone();
    Ok(Box::new(move |c: &mut OpCall<'_>| match c.input(0)?.strings()? {
        [text] if c.shape(0)?.is_scalar() => {
            match &file {
                Some(path) => {
                    let line = reserve::join([&text[..], &end[..]].into_iter(), b"")?;
                    files::append(&c.step.device.access, path, &line)?;
                }
                None => {
                    (c.step.device.print)(&reserve::text(format_args!("{}{}", Lossy(text), Lossy(&end)))?)
                }
            }
            Ok(())
        }
        _ => Err(invalid!("Input is expected to be scalar, but got {}", c.shape(0)?)),
    }))
}
