"""Checkpoints and event files: what TensorBoard shows, and where training goes on."""
import glob
import os
import tempfile

import numpy as np
import thalweg as tf

with tempfile.TemporaryDirectory() as folder:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    with tf.name_scope("model"):
        w = tf.Variable(tf.zeros([3, 1]), name="w")
        b = tf.Variable(tf.zeros([1]), name="b")
        prediction = tf.add(tf.matmul(x, w), b, name="prediction")
    loss = tf.losses.mean_squared_error(y, prediction)
    global_step = tf.Variable(0, trainable=False, name="global_step", dtype=tf.int64)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=global_step)
    tf.summary.scalar("loss", loss)
    tf.summary.histogram("weights", w)
    tf.summary.image("image", tf.reshape(w, [1, 3, 1, 1]))
    merged = tf.summary.merge_all()
    saver = tf.train.Saver(max_to_keep=2)
    data = np.random.RandomState(0).rand(50, 3).astype(np.float32)
    target = data @ np.array([[1.0], [2.0], [3.0]], np.float32)
    writer = tf.summary.FileWriter(os.path.join(folder, "logs"), tf.get_default_graph())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(30):
            summary, _ = sess.run([merged, train], {x: data, y: target})
            writer.add_summary(summary, i)
            if i % 10 == 9:
                path = saver.save(sess, os.path.join(folder, "model"), global_step=global_step)
                print(os.path.basename(path))
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="by_hand", simple_value=4.5)]), 30)
        writer.close()
        before = sess.run(loss, {x: data, y: target})
        print("%.4f" % before, [os.path.basename(p) for p in saver.last_checkpoints])
    print(sorted(os.path.basename(f) for f in glob.glob(os.path.join(folder, "*.index"))))

    for name, shape in tf.train.list_variables(folder):
        print(name, shape)
    reader = tf.train.NewCheckpointReader(tf.train.latest_checkpoint(folder))
    print(reader.has_tensor("model/w"), reader.get_tensor("model/b").shape, sorted(reader.get_variable_to_shape_map()))
    print(tf.train.load_variable(folder, "global_step"))
    state = tf.train.get_checkpoint_state(folder)
    print(os.path.basename(state.model_checkpoint_path), [os.path.basename(p) for p in state.all_model_checkpoint_paths])

    tags = []
    events = glob.glob(os.path.join(folder, "logs", "events*"))
    for event in tf.train.summary_iterator(events[0]):
        for value in event.summary.value:
            if event.step in (0, 29, 30):
                kind = "%.4f" % value.simple_value if value.tag in ("loss", "by_hand") else value.tag
                tags.append((event.step, value.tag, kind))
    for tag in sorted(tags):
        print(*tag)

    tf.reset_default_graph()
    with tf.Session() as sess:
        saver = tf.train.import_meta_graph(tf.train.latest_checkpoint(folder) + ".meta")
        saver.restore(sess, tf.train.latest_checkpoint(folder))
        graph = tf.get_default_graph()
        again = sess.run("mean_squared_error/value:0", {"x:0": data, "y:0": target})
        print(abs(again - before) < 1e-6, sess.run(graph.get_tensor_by_name("model/prediction:0"), {"x:0": [[1, 1, 1]]}).shape)
        print([v.name for v in tf.trainable_variables()], [v.name for v in tf.global_variables()])
