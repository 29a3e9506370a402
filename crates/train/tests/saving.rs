//! Savers and summaries on small graphs.

use std::fs;
use thalweg_client::{Code, DataType, Scope, Session, Variable};
use thalweg_io::checkpoint::State;
use thalweg_io::event::EventReader;
use thalweg_io::scratch::Scratch;
use thalweg_proto::event::What;
use thalweg_proto::summary::value::Value;
use thalweg_train::saver::{BestSaver, Saver, latest_checkpoint};
use thalweg_train::summary::{self, FileWriter};
use thalweg_train::{Patience, Verdict};

struct Model {
    g: Scope,
    w: Variable,
    b: Variable,
}

fn model() -> Model {
    let g = Scope::new();
    let w = g.name_scope("layer").variable("w", &g.constant([1f32, 2.0]));
    let b = g.variable("b", &g.constant(1));
    Model { g, w, b }
}

fn opened(m: &Model) -> Session {
    let session = Session::new(&m.g).unwrap();
    session.run(&m.g.init(), &[]).unwrap();
    session
}

fn value(session: &Session, m: &Model) -> (Vec<f32>, i32) {
    let (w, b) = session.run(&(&m.w.value, &m.b.value), &[]).unwrap();
    (w.as_slice::<f32>().unwrap().to_vec(), b.to_scalar::<i32>().unwrap())
}

#[test]
fn restoring_brings_back_what_was_saved() {
    let (dir, m) = (Scratch::new(), model());
    let saver = Saver::new(&m.g);
    let change = m.g.group(&[&m.w.assign(m.g.constant([7f32, 8.0])), &m.b.assign(m.g.constant(9))]);
    let session = opened(&m);
    let saved = saver.save(&session, &dir.path("run/model"), Some(3)).unwrap();
    assert_eq!(saved, dir.path("run/model-3"));
    session.run(&change, &[]).unwrap();
    assert_eq!(value(&session, &m), (vec![7.0, 8.0], 9));
    saver.restore(&session, &saved).unwrap();
    assert_eq!(value(&session, &m), (vec![1.0, 2.0], 1));
    // A session whose variables were never initialised.
    let fresh = Session::new(&m.g).unwrap();
    saver.restore(&fresh, &latest_checkpoint(&dir.path("run")).unwrap().unwrap()).unwrap();
    assert_eq!(value(&fresh, &m), (vec![1.0, 2.0], 1));
}

#[test]
fn the_best_checkpoint_is_kept_and_restored() {
    let (dir, m) = (Scratch::new(), model());
    let patience = || Patience::lower_is_better().stop_after(2);
    let mut best = BestSaver::new(&m.g, dir.path("best"), patience());
    let more = m.b.assign(&m.b.value + m.g.constant(1));
    let session = opened(&m);
    assert_eq!(best.restore(&session).unwrap(), None);
    let mut found = Vec::new();
    for (step, loss) in [(10, 0.5), (20, 0.25), (30, 0.75), (40, 0.3)] {
        found.push(best.report(&session, step, loss).unwrap());
        session.run(&more, &[]).unwrap();
    }
    assert_eq!(found, [Verdict::Best, Verdict::Best, Verdict::Worse, Verdict::Stop]);
    assert_eq!(best.restore(&session).unwrap(), Some((20, 0.25)));
    assert_eq!(value(&session, &m).1, 2);
    assert!(!dir.path("best/model.ckpt-10.index").exists());
    // A run that goes on knows the best of the one before, and does not replace it by a worse one.
    let mut again = BestSaver::new(&m.g, dir.path("best"), patience());
    again.replay([(10, 0.5), (20, 0.25), (30, 0.75)]);
    assert_eq!(again.report(&session, 40, 0.3).unwrap(), Verdict::Stop);
    assert_eq!(again.restore(&session).unwrap(), Some((20, 0.25)));
    fs::remove_dir_all(dir.path("best")).unwrap();
    assert_eq!(again.restore(&session).unwrap_err().code(), Code::NotFound);
}

#[test]
fn nodes_are_named_as_tensorflow_names_them() {
    let m = model();
    Saver::new(&m.g);
    let def = m.g.to_graph_def().unwrap();
    let nodes: Vec<String> = def
        .node
        .iter()
        .filter(|n| n.name.starts_with("save/"))
        .map(|n| format!("{} {} {}", n.name, n.op, n.input.join(",")))
        .collect();
    // The nodes of tf.compat.v1.train.Saver() for the same variables.
    let theirs = [
        "save/filename/input Const ",
        "save/filename PlaceholderWithDefault save/filename/input",
        "save/Const PlaceholderWithDefault save/filename",
        "save/SaveV2/tensor_names Const ",
        "save/SaveV2/shape_and_slices Const ",
        "save/SaveV2 SaveV2 save/Const,save/SaveV2/tensor_names,save/SaveV2/shape_and_slices,b/Read/ReadVariableOp,layer/w/Read/ReadVariableOp",
        "save/control_dependency Identity save/Const,^save/SaveV2",
        "save/RestoreV2/tensor_names Const ",
        "save/RestoreV2/shape_and_slices Const ",
        "save/RestoreV2 RestoreV2 save/Const,save/RestoreV2/tensor_names,save/RestoreV2/shape_and_slices",
        "save/Identity Identity save/RestoreV2",
        "save/AssignVariableOp AssignVariableOp b,save/Identity",
        "save/Identity_1 Identity save/RestoreV2:1",
        "save/AssignVariableOp_1 AssignVariableOp layer/w,save/Identity_1",
        "save/restore_all NoOp ^save/AssignVariableOp,^save/AssignVariableOp_1",
    ];
    assert_eq!(nodes, theirs);
}

#[test]
fn the_newest_are_kept_also_across_savers() {
    let (dir, m) = (Scratch::new(), model());
    let session = opened(&m);
    let kept = || {
        let state = State::read(dir.root()).unwrap().unwrap();
        state.all.iter().map(|p| p.file_name().unwrap().to_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    let saver = Saver::new(&m.g).max_to_keep(2);
    for step in [1, 2, 3] {
        saver.save(&session, &dir.path("model"), Some(step)).unwrap();
    }
    assert_eq!(kept(), ["model-2", "model-3"]);
    // A run that continues the first.
    let saver = Saver::new(&m.g).max_to_keep(2);
    saver.save(&session, &dir.path("model"), Some(4)).unwrap();
    assert_eq!(kept(), ["model-3", "model-4"]);
    // Index, data and graph of each of the two, and the state file.
    assert_eq!(fs::read_dir(dir.root()).unwrap().count(), 2 * 3 + 1);
    // Another saver's checkpoints are not deleted.
    Saver::new(&m.g).max_to_keep(1).save(&session, &dir.path("best"), None).unwrap();
    assert!(dir.path("model-3.index").exists() && dir.path("model-4.index").exists());
}

#[test]
fn one_checkpoint_stays_for_every_so_many_hours() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    let (dir, m, now) = (Scratch::new(), model(), Arc::new(AtomicU32::new(0)));
    let session = opened(&m);
    let clock = now.clone();
    let clock = Arc::new(move || f64::from(clock.load(Ordering::SeqCst)));
    let saver = Saver::new(&m.g).max_to_keep(1).keep_checkpoint_every_n_hours(1.0).clock(clock);
    // Every half hour.
    for i in 0..8 {
        now.store(1800 * i, Ordering::SeqCst);
        saver.save(&session, &dir.path("model"), Some(i64::from(i))).unwrap();
    }
    let there: Vec<i32> = (0..8).filter(|i| dir.path(&format!("model-{i}.index")).exists()).collect();
    // The first after an hour, then the first after each hour more, and the newest.
    assert_eq!(there, [3, 5, 7]);
    assert_eq!(State::read(dir.root()).unwrap().unwrap().all, [dir.path("model-7")]);
}

#[test]
fn checkpoints_that_do_not_fit_say_what_differs_and_change_nothing() {
    let (dir, m) = (Scratch::new(), model());
    let saved = Saver::new(&m.g).save(&opened(&m), &dir.path("model"), None).unwrap();
    let other = |dtype: DataType, dims: &[usize], name: &str| {
        let g = Scope::new();
        g.variable("b", &g.constant(5));
        g.variable(name, &g.zeros(dtype, dims));
        let (session, saver) = (Session::new(&g).unwrap(), Saver::new(&g));
        session.run(&g.init(), &[]).unwrap();
        let e = saver.restore(&session, &saved).unwrap_err();
        let b = session.run(&g.find_variable("b").unwrap().value, &[]).unwrap();
        assert_eq!(b.to_scalar::<i32>().unwrap(), 5);
        (e.code(), e.message().to_string())
    };
    let (code, text) = other(DataType::Float, &[3], "layer/w");
    assert!(
        code == Code::InvalidArgument && text.contains("'layer/w' has shape [3] in the graph but [2]"),
        "{text}"
    );
    let (code, text) = other(DataType::Double, &[2], "layer/w");
    assert!(code == Code::InvalidArgument && text.contains("type double in the graph but float"), "{text}");
    let (code, text) = other(DataType::Float, &[2], "layer/v");
    assert!(code == Code::NotFound && text.contains("Key layer/v not found in checkpoint"), "{text}");
    assert!(text.contains("b, layer/w"), "{text}");
    let saver = Saver::new(&m.g);
    assert_eq!(saver.restore(&opened(&m), &dir.path("none")).unwrap_err().code(), Code::NotFound);
}

#[test]
fn counts_of_metrics_are_not_saved_with_the_variables() {
    let (dir, m) = (Scratch::new(), model());
    let saved = Saver::new(&m.g).save(&opened(&m), &dir.path("model"), None).unwrap();
    let evaluated = model();
    thalweg_train::metrics::mean(&evaluated.g, &evaluated.w.value, None);
    let saver = Saver::new(&evaluated.g);
    saver.restore(&opened(&evaluated), &saved).unwrap();
}

#[test]
fn averages_are_restored_in_place_of_the_weights() {
    use thalweg_train::averages::ExponentialMovingAverage;
    let (dir, trained, mut averages) = (Scratch::new(), model(), ExponentialMovingAverage::new(0.5));
    let g = &trained.g;
    let grow = trained.w.assign_add(g.constant([4f32, 8.0]));
    let follow = averages.apply(&g.control_dependencies(&[&grow]), &[trained.w.clone()]).unwrap();
    // Variables without averages are restored as they are.
    g.state_variable("count", &g.constant(7));
    let (saver, session) = (Saver::new(g), opened(&trained));
    session.run(&follow, &[]).unwrap();
    assert_eq!(value(&session, &trained).0, [5.0, 10.0]);
    let saved = saver.save(&session, &dir.path("model"), None).unwrap();

    let g = Scope::new();
    let w = g.name_scope("layer").variable("w", &g.constant([0f32, 0.0]));
    let count = g.state_variable("count", &g.constant(0));
    let restored = ExponentialMovingAverage::new(0.5).variables_to_restore(&g);
    let (saver, session) = (Saver::of(&g, restored), Session::new(&g).unwrap());
    saver.restore(&session, &saved).unwrap();
    let (w, count) = session.run(&(&w.value, &count.value), &[]).unwrap();
    assert_eq!(w.as_slice::<f32>().unwrap(), [3.0, 6.0]);
    assert_eq!(count.to_scalar::<i32>().unwrap(), 7);
}

#[test]
fn a_graph_without_variables_has_nothing_to_save() {
    let g = Scope::new();
    let line = line!() + 1;
    Saver::new(&g);
    let e = g.check().unwrap_err();
    assert!(e.message().contains("no variables to save") && e.location().unwrap().line() == line, "{e}");
}

#[test]
fn summaries_are_tagged_by_their_names_and_written() {
    let (dir, m) = (Scratch::new(), model());
    let g = &m.g;
    let inner = g.name_scope("train");
    assert_eq!(summary::scalar(&inner, "loss", &g.constant(0.5f32)).name(), "train/loss:0");
    assert_eq!(summary::scalar(&inner, "loss", &g.constant(1.5f32)).name(), "train/loss_1:0");
    assert_eq!(summary::histogram(g, "weights", &m.w.value).name(), "weights:0");
    let all = summary::merge_all(g).unwrap();
    assert_eq!(all.name(), "Merge/MergeSummary:0");
    let session = opened(&m);
    let mut writer = FileWriter::new(dir.root()).unwrap();
    writer.add_graph(g).unwrap();
    writer.add_summary(&session.run(&all, &[]).unwrap(), 7).unwrap();
    writer.add_scalar("rate", 0.25, 8).unwrap();
    let path = writer.path().to_path_buf();
    drop(writer);
    let events: Vec<_> = EventReader::open(&path).unwrap().collect::<Result<_, _>>().unwrap();
    assert!(matches!(&events[1].what, Some(What::GraphDef(bytes)) if !bytes.is_empty()));
    let Some(What::Summary(s)) = &events[2].what else { panic!("{:?}", events[2]) };
    let tags: Vec<&str> = s.value.iter().map(|v| v.tag.as_str()).collect();
    assert_eq!((tags, events[2].step), (vec!["train/loss", "train/loss_1", "weights"], 7));
    assert_eq!(s.value[1].value, Some(Value::SimpleValue(1.5)));
    assert!(matches!(&s.value[2].value, Some(Value::Histo(h)) if h.num == 2.0 && h.max == 2.0));
    assert_eq!(events[3].step, 8);
}
