//! A session computes what a direct call does: with all kinds of inputs, optimised or not, for any thread count.

use crate::common::{Example, Inputs, assert_none, examples, options, step};
use thalweg_core::error::{Result, internal};
use thalweg_core::op::Class;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::{EncodedVariant, Tensor};
use thalweg_runtime::Session;

/// Variants that are encoded have bits too.
fn same_bits(a: &Tensor, b: &Tensor) -> bool {
    let encoded = |t: &Tensor| {
        let [v] = t.variants().ok()? else { return None };
        v.get::<EncodedVariant>().map(|e| (e.type_name.to_string(), e.metadata.clone()))
    };
    a.same_bits(b) || encoded(a).is_some_and(|a| encoded(b) == Some(a))
}

fn same(got: &[Tensor], want: &[Tensor], bits: bool) -> Result<()> {
    if got.len() != want.len() {
        return Err(internal(format!("{} outputs, not {}", got.len(), want.len())));
    }
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let alike = if bits { same_bits(g, w) } else { g.dtype() == w.dtype() && g.rank() == w.rank() };
        if !alike {
            return Err(internal(format!("output {i} is {g:?}, not {w:?}")));
        }
    }
    Ok(())
}

fn check(example: &Example, how: Inputs, optimise: bool, threads: usize) -> Result<()> {
    let want = example.call(&step(1))?;
    let wired = example.wire(how)?;
    for (o, t) in wired.outputs().into_iter().zip(&want) {
        if !wired.graph.shape(o).allows(t.shape()) {
            let inferred = wired.graph.shape(o);
            return Err(internal(format!("shape {} where {inferred} was inferred", t.shape())));
        }
    }
    let session = Session::of(&wired.graph, options(optimise, threads))?;
    let (feeds, values) = match how {
        Inputs::Constants => (vec![], vec![]),
        _ => (wired.inputs.clone(), example.inputs.clone()),
    };
    let callable = session.callable(&feeds, &wired.outputs(), &[wired.node])?;
    let got = callable.run(values)?;
    // Handles contain the device's name, which differs.
    let comparable = want.iter().all(|t| t.dtype().is_plain() || t.dtype().name() == "string");
    same(&got, &want, example.repeats() && comparable)
}

#[test]
fn every_case_gives_the_same_in_a_session() {
    let mut failures = Vec::new();
    let mut runs = 0;
    for example in examples() {
        // Control-flow, function and feed ops are tested elsewhere.
        if example.op.class != Class::Plain && example.op.class != Class::Constant {
            continue;
        }
        for how in Inputs::ALL {
            for (optimise, threads) in [(true, 1), (false, 1), (true, 3)] {
                runs += 1;
                if let Err(e) = check(&example, how, optimise, threads) {
                    let way = format!("{how:?}, optimise {optimise}, {threads} threads");
                    failures.push(format!("{}, {way}: {e}", example.label));
                }
            }
        }
    }
    println!("{runs} runs");
    assert_none("runs differ", failures);
}

/// The input with its first dimension repeated to about that many elements.
fn grown(t: &Tensor, elements: usize) -> Option<Tensor> {
    let (first, rest) = t.shape().dims().split_first()?;
    let times = elements.div_ceil(t.elements().max(1));
    if !t.dtype().is_plain() || t.elements() == 0 {
        return None;
    }
    let mut dims = vec![first * times];
    dims.extend_from_slice(rest);
    Tensor::from_bytes(t.dtype(), Shape::new(&dims).ok()?, &t.bytes().ok()?.repeat(times)).ok()
}

/// Each row of one input with each of another: hours where both are long.
const QUADRATIC: [&str; 1] = ["NearestNeighbors"];

/// Cases are small and run on one thread: the same with long inputs, where the op accepts them.
#[test]
fn long_inputs_give_the_same_on_any_number_of_threads() {
    const LONG: usize = 60_000;
    thalweg_core::buffer::set_limit(256 << 20);
    let (one, three) = (step(1), step(3));
    let (mut failures, mut grew) = (Vec::new(), std::collections::BTreeSet::new());
    let linear = |e: &Example| !QUADRATIC.contains(&e.op.name);
    for example in examples().into_iter().filter(|e| e.op.class == Class::Plain && e.repeats() && linear(e)) {
        let all: Vec<usize> = (0..example.inputs.len()).collect();
        let subsets = [all.clone()].into_iter().chain(all.iter().map(|i| vec![*i]));
        for chosen in subsets {
            let mut inputs = example.inputs.clone();
            for i in chosen {
                if let Some(long) = grown(&inputs[i], LONG) {
                    inputs[i] = long;
                }
            }
            let Ok(want) = example.call_on(&one, inputs.clone()) else { continue };
            if want.iter().all(|t| t.elements() < LONG / 8) && inputs.iter().all(|t| t.elements() < LONG) {
                continue;
            }
            grew.insert(example.op.name);
            let got = example.call_on(&three, inputs);
            if let Err(e) = got.and_then(|got| same(&got, &want, true)) {
                failures.push(format!(
                    "{}: {}",
                    example.label,
                    e.message().chars().take(300).collect::<String>()
                ));
            }
        }
    }
    println!("{} ops took long inputs", grew.len());
    assert_none("results depend on the number of threads", failures);
}
