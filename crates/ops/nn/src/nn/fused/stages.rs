//! Ops run in sequence, as one kernel.

use crate::nn::activations::{ELU, LEAKY_RELU, RELU, RELU6};
use crate::nn::batch_norm::FUSED_BATCH_NORM_V3;
use crate::nn::bias_add::BIAS_ADD;
use crate::prelude::*;
use thalweg_core::attr::FUSED_PRODUCT_NAME;
use thalweg_core::direct;
use thalweg_core::runnable::Runnable;
use thalweg_core::signature::Signature;
use thalweg_ops_math::arithmetic::{ADD_N, ADD_V2, SIGMOID, TANH};

/// One op, with its inputs besides the previous result.
struct Stage {
    node: Arc<KernelNode>,
    run: Runnable,
    extra: usize,
}

impl Stage {
    fn new(
        fused: &KernelNode,
        op: &'static Op,
        extra: usize,
        attrs: &[(&'static str, Attr)],
    ) -> Result<Stage> {
        let signature = Signature::parse(op)?;
        let mut attrs: Attrs = attrs.iter().cloned().collect();
        signature.complete(&mut attrs)?;
        let node = KernelNode::new(op, &signature, fused.name.clone(), attrs, fused.device.clone())?;
        let node = KernelNode { location: fused.location, ..node };
        let run = Runnable::make(op, &node, "CPU")?;
        Ok(Stage { node: Arc::new(node), run, extra })
    }
}

/// The product, and the ops that follow it.
pub struct Stages(Vec<Stage>);

impl Stages {
    /// `first` takes the fused node's attrs of these names, and its first two inputs; the others are for those in `fused_ops`.
    pub fn new(node: &KernelNode, first: &'static Op, same: &[&'static str]) -> Result<Stages> {
        let mut attrs: Vec<(&'static str, Attr)> = Vec::new();
        for name in same.iter().copied().chain(["T"]) {
            if let Some(value) = node.attrs.get(name) {
                attrs.push((name, value.clone()));
            }
        }
        let mut product = Stage::new(node, first, 2, &attrs)?;
        if let (Ok(name), Some(stage)) = (node.attrs.str(FUSED_PRODUCT_NAME), Arc::get_mut(&mut product.node))
        {
            stage.name = name.into();
        }
        let mut stages = vec![product];
        for name in node.attrs.list("fused_ops")? {
            let Attr::Str(name) = name else { return Err(invalid!("fused_ops must be names of ops")) };
            stages.push(named(node, &String::from_utf8_lossy(name))?);
        }
        let wanted: usize = stages.iter().map(|s| s.extra).sum();
        if wanted != node.inputs.len() {
            return Err(invalid!("its fused ops take {wanted} inputs, and it has {}", node.inputs.len()));
        }
        Ok(Stages(stages))
    }

    pub fn kernel(self) -> Result<Box<dyn Kernel>> {
        Ok(Box::new(move |c: &mut OpCall<'_>| {
            let mut next = 0;
            let mut value: Option<Tensor> = None;
            for stage in &self.0 {
                let mut inputs: Vec<Tensor> = value.take().into_iter().collect();
                for _ in 0..stage.extra {
                    inputs.push(c.take(next)?);
                    next += 1;
                }
                let outputs = direct::run(&stage.run, &stage.node, c.step, inputs)
                    .map_err(|e| e.at_node(&stage.node.name, stage.node.op))?;
                let first = outputs.into_iter().next().flatten();
                value = Some(first.ok_or_else(|| internal("a fused op gave nothing"))?.into_tensor()?);
            }
            c.set(0, value.ok_or_else(|| internal("nothing is fused"))?);
            Ok(())
        }))
    }
}

/// The stage for a name in `fused_ops`.
fn named(node: &KernelNode, name: &str) -> Result<Stage> {
    let t = ("T", Attr::Type(node.attrs.dtype("T")?));
    let format = match node.attrs.get("data_format") {
        Some(f) => f.clone(),
        None => Attr::str("NHWC"),
    };
    match name {
        "BiasAdd" => Stage::new(node, &BIAS_ADD, 1, &[t, ("data_format", format)]),
        "Add" | "AddV2" => Stage::new(node, &ADD_V2, 1, &[t]),
        "AddN" => Stage::new(node, &ADD_N, 1, &[t, ("N", Attr::Int(2))]),
        "Relu" => Stage::new(node, &RELU, 0, &[t]),
        "Relu6" => Stage::new(node, &RELU6, 0, &[t]),
        "Elu" => Stage::new(node, &ELU, 0, &[t]),
        "Tanh" => Stage::new(node, &TANH, 0, &[t]),
        "Sigmoid" => Stage::new(node, &SIGMOID, 0, &[t]),
        "LeakyRelu" => {
            let alpha = node.attrs.get("leakyrelu_alpha").cloned().unwrap_or(Attr::Float(0.2));
            Stage::new(node, &LEAKY_RELU, 0, &[t, ("alpha", alpha)])
        }
        "FusedBatchNorm" => {
            let epsilon = node.attrs.get("epsilon").cloned().unwrap_or(Attr::Float(1e-4));
            let (u, training) = (("U", Attr::Type(DataType::Float)), ("is_training", Attr::Bool(false)));
            let attrs = [t, u, training, ("epsilon", epsilon), ("data_format", format)];
            Stage::new(node, &FUSED_BATCH_NORM_V3, 4, &attrs)
        }
        _ => Err(unimplemented(format_args!("'{name}' among fused_ops is not supported"))),
    }
}
