//! Optimizers, schedules and averages: names, rejected settings, and the cases that the comparison with TensorFlow does not cover.

use thalweg_client::{Code, DataType, Operation, Output, Result, Scope, Session, Variable, feed};
use thalweg_train::averages::ExponentialMovingAverage;
use thalweg_train::initializers::Ones;
use thalweg_train::optimizers::{
    AdaMax, Adadelta, Adagrad, AdagradDA, Adam, Ftrl, GradientDescent, Minimize, Optimizer, ProximalAdagrad,
    ProximalGradientDescent, RMSProp,
};
use thalweg_train::{get_or_create_global_step, schedules};

fn graph() -> (Scope, Variable, Output) {
    let g = Scope::new();
    let w = g.get_variable("w", &[2], &Ones);
    let loss = g.reduce_sum(g.square(&w.value), &[]);
    (g, w, loss)
}

fn names(g: &Scope) -> Vec<String> {
    g.global_variables().iter().map(|v| v.name()).collect()
}

fn after(g: &Scope, train: &Operation, steps: usize, read: &Variable) -> Vec<f32> {
    let session = Session::new(g).unwrap();
    session.run(&g.init(), &[]).unwrap();
    for _ in 0..steps {
        session.run(train, &[]).unwrap();
    }
    session.run(&read.value, &[]).unwrap().as_slice::<f32>().unwrap().to_vec()
}

#[test]
fn slots_are_named_and_ordered_as_in_tensorflow() {
    fn slots(make: impl FnOnce(&Scope, &Output) -> Result<Operation>) -> Vec<String> {
        let (g, _, loss) = graph();
        make(&g, &loss).unwrap();
        names(&g).split_off(1)
    }
    let two = |name: &str| vec![format!("w/{name}"), format!("w/{name}_1")];
    assert_eq!(slots(|g, l| Adadelta::new(1.0).minimize(g, l, None)), two("Adadelta"));
    assert_eq!(slots(|g, l| Ftrl::new(0.1).minimize(g, l, None)), two("Ftrl"));
    assert_eq!(slots(|g, l| RMSProp::new(0.1).minimize(g, l, None)), two("RMSProp"));
    let centered = ["w/RMSProp", "w/RMSProp_1", "w/RMSProp_2"];
    assert_eq!(slots(|g, l| RMSProp::new(0.1).centered().minimize(g, l, None)), centered);
    assert_eq!(
        slots(|g, l| AdaMax::new(0.1).minimize(g, l, None)),
        ["beta1_power", "w/AdaMax", "w/AdaMax_1"]
    );
    assert_eq!(slots(|g, l| ProximalAdagrad::new(0.1).minimize(g, l, None)), ["w/ProximalAdagrad"]);
    assert!(slots(|g, l| ProximalGradientDescent::new(0.1).minimize(g, l, None)).is_empty());
    let dual = slots(|g, l| {
        let step = get_or_create_global_step(g);
        AdagradDA::new(0.1, &step).minimize(g, l, Some(&step))
    });
    assert_eq!(dual[1..], two("AdagradDA"));
}

/// The second one used to be rejected: "variable 'w/Adam' is there already".
#[test]
fn two_optimizers_of_a_kind_train_one_variable() {
    let (g, w, loss) = graph();
    let first = Adam::new(0.1).minimize(&g, &loss, None).unwrap();
    let second = Adam::new(0.2).minimize(&g, &loss, None).unwrap();
    let made = names(&g);
    let expected = [
        "w",
        "beta1_power",
        "beta2_power",
        "w/Adam",
        "w/Adam_1",
        "beta1_power_1",
        "beta2_power_1",
        "w/Adam_2",
        "w/Adam_3",
    ];
    assert_eq!(made, expected);
    let both = g.group(&[&first, &second]);
    assert!(after(&g, &both, 1, &w).iter().all(|x| (x - 0.7).abs() < 1e-5));
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    fn refused(optimizer: &impl Optimizer, word: &str) {
        let (g, _, loss) = graph();
        let e = optimizer.minimize(&g, &loss, None).unwrap_err();
        assert_eq!(e.code(), Code::InvalidArgument);
        let text = e.to_string();
        assert!(text.contains(word) && text.contains(optimizer.name()), "{text}");
    }
    refused(&Adagrad::new(0.1).initial_accumulator(0.0), "initial_accumulator");
    refused(&ProximalAdagrad::new(0.1).initial_accumulator(-1.0), "initial_accumulator");
    refused(&Ftrl::new(0.1).initial_accumulator(-0.1), "initial_accumulator");
    refused(&Ftrl::new(0.1).learning_rate_power(0.5), "learning_rate_power");
    refused(&Ftrl::new(0.1).regularization(-0.1, 0.0), "l1");
    refused(&Ftrl::new(0.1).regularization(0.0, f64::NAN), "l2");
    refused(&Ftrl::new(0.1).l2_shrinkage(-1.0).with_locking(), "l2_shrinkage");
}

#[test]
fn a_loss_without_trainable_variables_is_refused() {
    let g = Scope::new();
    let e = RMSProp::new(0.1).minimize(&g, &g.constant(1.0f32), None).unwrap_err();
    assert!(e.to_string().contains("RMSProp: no variable has a gradient"), "{e}");
}

#[test]
fn a_schedule_is_a_rate_that_follows_the_step() {
    let (g, w, loss) = graph();
    let step = get_or_create_global_step(&g);
    let rate = schedules::piecewise_constant(&g, &step.value, &[0, 1], &[0.25, 0.125, 0.0]).unwrap();
    let train = GradientDescent::new(&rate).minimize(&g, &loss, Some(&step)).unwrap();
    // The gradient is twice the weight: half is left, then three quarters of that, then nothing changes.
    assert_eq!(after(&g, &train, 5, &w), [0.375, 0.375]);
}

#[test]
fn a_warmup_rises_to_the_rate_of_the_other_schedule() {
    let g = Scope::new();
    let step = g.placeholder(DataType::Int64, &[]);
    let rate = schedules::linear_warmup(&g, &g.constant(0.5f32), &step, 4);
    let session = Session::new(&g).unwrap();
    let at = |s: i64| session.run(&rate, &[feed(&step, s)]).unwrap().to_scalar::<f32>().unwrap();
    assert_eq!([at(0), at(1), at(3), at(4), at(1000)], [0.125, 0.25, 0.5, 0.5, 0.5]);
}

#[test]
fn boundaries_that_do_not_fit_the_values_are_refused() {
    let g = Scope::new();
    let step = g.placeholder(DataType::Int64, &[]);
    for (boundaries, values) in [(&[5][..], &[0.1][..]), (&[], &[]), (&[5, 5], &[0.1, 0.2, 0.3])] {
        let e = schedules::piecewise_constant(&g, &step, boundaries, values).unwrap_err();
        assert_eq!(e.code(), Code::InvalidArgument);
    }
}

#[test]
fn averages_follow_the_weights() {
    let (g, w, loss) = graph();
    let train = GradientDescent::new(0.25).minimize(&g, &loss, None).unwrap();
    let mut averages = ExponentialMovingAverage::new(0.5);
    assert_eq!(averages.average_name(&w), "w/ExponentialMovingAverage");
    assert!(averages.average(&w).is_none());
    let both = averages.apply(&g.control_dependencies(&[&train]), &g.trainable_variables()).unwrap();
    let average = averages.average(&w).unwrap().clone();
    assert_eq!(average.name(), "w/ExponentialMovingAverage");
    assert!(!average.trainable);
    // Weights 1/2, 1/4; averages (1 + 1/2) / 2, (3/4 + 1/4) / 2.
    assert_eq!(after(&g, &both, 2, &average), [0.5, 0.5]);
}

/// An average that is added to trained weights starts from them, not from their initial values.
#[test]
fn averages_start_from_values_that_are_there() {
    let (g, w, loss) = graph();
    let train = GradientDescent::new(0.25).minimize(&g, &loss, None).unwrap();
    let session = Session::new(&g).unwrap();
    session.run(&g.init(), &[]).unwrap();
    session.run(&train, &[]).unwrap();
    let mut averages = ExponentialMovingAverage::new(0.5);
    averages.apply(&g, &[w.clone()]).unwrap();
    let average = averages.average(&w).unwrap();
    session.run(&average.init, &[]).unwrap();
    assert_eq!(session.run(&average.value, &[]).unwrap().as_slice::<f32>().unwrap(), [0.5, 0.5]);
}
