//! The program of a fused node: steps over registers, each holding a short run of elements.

use super::tile_of;
use crate::work::{Compute, Kind, Work, WorkNode};
use std::collections::HashMap;
use std::sync::Arc;
use thalweg_core::direct;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, internal};
use thalweg_core::kernel::{KernelNode, OpCall};
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::{Tile, TileNumber};
use thalweg_core::runnable::Runnable;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;

/// Elements of a register: a few of them and the tile functions' code fit the first-level cache.
const TILE: usize = 512;

pub struct Program {
    dtype: DataType,
    steps: Vec<Step>,
    /// Each step's op unfused, for inputs that the fused loop does not handle; separate, for locality of the steps.
    alone: Vec<Compute>,
    registers: usize,
    inputs: usize,
    /// One-element constants, in registers after those of the inputs.
    constants: Vec<Tensor>,
    /// The same as plain numbers: reading a thousand of them from tensors takes longer than adding them up.
    singles: Vec<f32>,
    doubles: Vec<f64>,
    result: u32,
}

/// One op: reads registers, writes another.
struct Step {
    tile: Tile,
    a: u32,
    b: u32,
    out: u32,
}

/// Assigns registers: inputs, then constants, then results, whose registers are reused after their last use.
pub struct Builder<'a> {
    work: &'a Work,
    inputs: Vec<Output>,
    constants: Vec<Tensor>,
    sources: HashMap<Output, Source>,
}

#[derive(Clone, Copy)]
enum Source {
    Input(u32),
    Constant(u32),
    Step(u32),
}

impl Builder<'_> {
    /// The program of a group of nodes, the last one first, and the inputs it takes.
    pub fn build(work: &Work, group: &[NodeId]) -> Option<(Program, Vec<Output>)> {
        let dtype = work.node(*group.first()?).outputs.first()?.dtype;
        let mut b = Builder { work, inputs: Vec::new(), constants: Vec::new(), sources: HashMap::new() };
        let mut parts = Vec::with_capacity(group.len());
        let device: Arc<str> = "/device:CPU:0".into();
        for id in group.iter().rev() {
            let node = work.node(*id);
            let args: Vec<Source> = node.inputs.iter().map(|o| b.source(*o)).collect();
            let kernel_node = Arc::new(node.kernel_node(&work.registry, &device).ok()?);
            let alone =
                Compute { run: Runnable::make(node.op, &kernel_node, "CPU").ok()?, node: kernel_node };
            b.sources.insert(id.output(0), Source::Step(parts.len() as u32));
            parts.push((tile_of(node, dtype)?, args, alone));
        }
        let (inputs, constants) = (b.inputs, b.constants);
        let singles = constants.iter().filter_map(|t| t.to_scalar::<f32>().ok()).collect();
        let doubles = constants.iter().filter_map(|t| t.to_scalar::<f64>().ok()).collect();
        let mut program = Program {
            dtype,
            steps: Vec::new(),
            alone: Vec::new(),
            registers: 0,
            inputs: inputs.len(),
            constants,
            singles,
            doubles,
            result: 0,
        };
        program.assign_registers(parts);
        Some((program, inputs))
    }

    fn source(&mut self, o: Output) -> Source {
        if let Some(p) = self.sources.get(&o) {
            return *p;
        }
        let p = match &self.work.node(o.node).kind {
            Kind::Value(t) if t.elements() == 1 && t.rank() == 0 => {
                self.constants.push(t.clone());
                Source::Constant(self.constants.len() as u32 - 1)
            }
            _ => {
                self.inputs.push(o);
                Source::Input(self.inputs.len() as u32 - 1)
            }
        };
        self.sources.insert(o, p);
        p
    }
}

impl Program {
    fn assign_registers(&mut self, parts: Vec<(Tile, Vec<Source>, Compute)>) {
        let fixed = (self.inputs + self.constants.len()) as u32;
        let (mut free, mut next) = (Vec::new(), fixed);
        let mut register_of: Vec<u32> = Vec::with_capacity(parts.len());
        for (tile, args, alone) in parts {
            let register = |p: &Source| match *p {
                Source::Input(i) => i,
                Source::Constant(c) => self.inputs as u32 + c,
                Source::Step(s) => register_of[s as usize],
            };
            let a = args.first().map_or(0, register);
            let b = args.get(1).map_or(a, register);
            let out = free.pop().unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            // Each result is used once, so its register is free as soon as this step has read it.
            for p in &args {
                if let Source::Step(s) = p {
                    free.push(register_of[*s as usize]);
                }
            }
            register_of.push(out);
            self.result = out;
            self.steps.push(Step { tile, a, b, out });
            self.alone.push(alone);
        }
        self.registers = next as usize;
    }

    /// The fused node's kernel.
    pub fn compute(self: &Arc<Self>, node: &WorkNode) -> Compute {
        let program = self.clone();
        let port = thalweg_core::signature::Port { dtype: self.dtype, is_ref: false };
        let (inputs, outputs) = (vec![port; self.inputs], node.outputs.to_vec());
        let kernel_node = KernelNode {
            location: node.location,
            ..KernelNode::without_signature("_Fused", node.name.clone(), inputs, outputs)
        };
        let run = move |c: &mut OpCall<'_>| match program.dtype {
            DataType::Float => program.run::<f32>(c),
            DataType::Double => program.run::<f64>(c),
            other => Err(internal(format_args!("no fused loops of {other}"))),
        };
        Compute { run: Runnable::Prepared(Arc::new(run)), node: Arc::new(kernel_node) }
    }

    fn run<T: Constants>(&self, c: &mut OpCall<'_>) -> Result<()> {
        if let Some(value) = self.run_scalars::<T>(c) {
            c.set(0, Tensor::scalar(value));
            return Ok(());
        }
        let shapes: Vec<&Shape> = (0..self.inputs).map(|i| c.shape(i)).collect::<Result<_>>()?;
        let Some(shape) = common_shape(&shapes) else { return self.run_alone(c) };
        let inputs: Vec<&[T]> = (0..self.inputs).map(|i| c.slice::<T>(i)).collect::<Result<_>>()?;
        let out = Tensor::build(shape, |out: &mut [T]| self.run_tiles(&inputs, T::constants(self), out))?;
        c.set(0, out);
        Ok(())
    }

    /// All inputs are scalars: no runs, no shapes.
    fn run_scalars<T: Constants>(&self, c: &OpCall<'_>) -> Option<T> {
        let mut registers = Vec::with_capacity(self.registers);
        for i in 0..self.inputs {
            registers.push(c.input(i).ok()?.as_scalar::<T>()?);
        }
        registers.extend_from_slice(T::constants(self));
        registers.resize(self.registers, T::default());
        for s in &self.steps {
            let (a, b) = (registers[s.a as usize], registers[s.b as usize]);
            s.tile.run_scalar(a, b, &mut registers[s.out as usize]);
        }
        registers.get(self.result as usize).copied()
    }

    fn run_tiles<T: TileNumber>(&self, inputs: &[&[T]], constants: &[T], out: &mut [T]) {
        let n = out.len();
        if n == 0 {
            return;
        }
        let tile = TILE.min(n);
        let mut registers: Vec<Vec<T>> = vec![Vec::new(); self.registers];
        for (i, input) in inputs.iter().enumerate() {
            registers[i] = vec![input.first().copied().unwrap_or_default(); tile];
        }
        for (i, value) in constants.iter().enumerate() {
            registers[inputs.len() + i] = vec![*value; tile];
        }
        for r in &mut registers[inputs.len() + constants.len()..] {
            *r = vec![T::default(); tile];
        }
        for (at, out) in out.chunks_mut(tile).enumerate() {
            let (start, len) = (at * tile, out.len());
            for (i, input) in inputs.iter().enumerate().filter(|(_, x)| x.len() > 1) {
                registers[i][..len].copy_from_slice(&input[start..start + len]);
            }
            for s in &self.steps {
                // The result register is taken out for the moment, so that the others can be read beside it.
                let mut y = std::mem::take(&mut registers[s.out as usize]);
                s.tile.run(&registers[s.a as usize][..len], &registers[s.b as usize][..len], &mut y[..len]);
                registers[s.out as usize] = y;
            }
            out.copy_from_slice(&registers[self.result as usize][..len]);
        }
    }

    /// One op after the other, each with its own kernel: for inputs with other broadcasts.
    fn run_alone(&self, c: &mut OpCall<'_>) -> Result<()> {
        let mut values: Vec<Option<Tensor>> = vec![None; self.registers];
        for (i, v) in values.iter_mut().enumerate().take(self.inputs) {
            *v = Some(c.take(i)?);
        }
        for (i, t) in self.constants.iter().enumerate() {
            values[self.inputs + i] = Some(t.clone());
        }
        let missing = || internal("a fused value is missing");
        for (s, alone) in self.steps.iter().zip(&self.alone) {
            let mut args = vec![values[s.a as usize].clone().ok_or_else(missing)?];
            if alone.node.inputs.len() == 2 {
                args.push(values[s.b as usize].clone().ok_or_else(missing)?);
            }
            let outputs = direct::run(&alone.run, &alone.node, c.step, args)?;
            let value = outputs.into_iter().next().flatten().ok_or_else(missing)?;
            values[s.out as usize] = Some(value.into_tensor()?);
        }
        let result = values[self.result as usize].take().ok_or_else(missing)?;
        c.set(0, result);
        Ok(())
    }
}

/// The shape of the result if every input is of that shape or a single element of no higher rank.
fn common_shape(shapes: &[&Shape]) -> Option<Shape> {
    let widest = shapes.iter().max_by_key(|s| (s.elements() != 1, s.rank()))?;
    let fits = |s: &&Shape| s == widest || (s.elements() == 1 && s.rank() <= widest.rank());
    shapes.iter().all(fits).then(|| (*widest).clone())
}

/// The constants of a program, in the type it computes in.
trait Constants: TileNumber {
    fn constants(program: &Program) -> &[Self];
}

impl Constants for f32 {
    fn constants(program: &Program) -> &[f32] {
        &program.singles
    }
}

impl Constants for f64 {
    fn constants(program: &Program) -> &[f64] {
        &program.doubles
    }
}
