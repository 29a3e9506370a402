"""Saving some variables under other names, restoring a part, and going on."""
import os
import tempfile

import numpy as np
import thalweg as tf

with tempfile.TemporaryDirectory() as folder:
    first = tf.Graph()
    with first.as_default():
        v1 = tf.get_variable("v1", shape=[3], initializer=tf.zeros_initializer)
        v2 = tf.get_variable("v2", shape=[5], initializer=tf.zeros_initializer)
        inc_v1 = v1.assign(v1 + 1)
        dec_v2 = v2.assign(v2 - 1)
        saver = tf.train.Saver()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            inc_v1.op.run()
            dec_v2.op.run()
            save_path = saver.save(sess, os.path.join(folder, "model.ckpt"))
            print("Model saved in path: %s" % os.path.basename(save_path), sorted(os.listdir(folder)))
    with tf.Graph().as_default():
        v1 = tf.get_variable("v1", shape=[3])
        v2 = tf.get_variable("v2", shape=[5])
        saver = tf.train.Saver()
        with tf.Session() as sess:
            saver.restore(sess, os.path.join(folder, "model.ckpt"))
            print("v1 : %s" % v1.eval(), "v2 : %s" % v2.eval())
    with tf.Graph().as_default():
        v1 = tf.get_variable("v1", [3], initializer=tf.zeros_initializer)
        renamed = tf.get_variable("renamed", [5], initializer=tf.zeros_initializer)
        saver = tf.train.Saver({"v2": renamed})
        with tf.Session() as sess:
            v1.initializer.run()
            print(sess.run(tf.report_uninitialized_variables()))
            saver.restore(sess, os.path.join(folder, "model.ckpt"))
            print("v1 : %s" % v1.eval(), "v2 : %s" % renamed.eval())
            try:
                tf.train.Saver([v1, renamed]).restore(sess, os.path.join(folder, "model.ckpt"))
            except tf.errors.NotFoundError as e:
                print("not found", "renamed" in str(e))
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", [2, 1], initializer=tf.constant_initializer([[2.0], [3.0]]))
        y = tf.identity(tf.matmul(x, w), name="y")
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            tf.saved_model.simple_save(sess, os.path.join(folder, "export"), inputs={"x": x}, outputs={"y": y})
            frozen = tf.graph_util.convert_variables_to_constants(sess, sess.graph.as_graph_def(), ["y"])
            print([node.op for node in frozen.node if node.op in ("Placeholder", "MatMul", "VarHandleOp", "VariableV2")])
            with tf.gfile.GFile(os.path.join(folder, "frozen.pb"), "wb") as f:
                f.write(frozen.SerializeToString())
    with tf.Graph().as_default(), tf.Session() as sess:
        loaded = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], os.path.join(folder, "export"))
        signature = loaded.signature_def["serving_default"]
        print(signature.inputs["x"].name, signature.outputs["y"].name, signature.method_name)
        print(sess.run(signature.outputs["y"].name, {signature.inputs["x"].name: [[1.0, 1.0]]}))
    with tf.Graph().as_default() as graph:
        graph_def = tf.GraphDef()
        with tf.gfile.GFile(os.path.join(folder, "frozen.pb"), "rb") as f:
            graph_def.ParseFromString(f.read())
        replaced = tf.constant([[10.0, 1.0]])
        y, = tf.import_graph_def(graph_def, input_map={"x:0": replaced}, return_elements=["y:0"], name="imported")
        tf.import_graph_def(graph_def, name="")
        with tf.Session() as sess:
            print(y.name, sess.run(y), sess.run("y:0", {"x:0": np.ones([1, 2])}))
    print(tf.gfile.Exists(folder), tf.gfile.IsDirectory(folder), len(tf.gfile.Glob(os.path.join(folder, "*.pb"))))
    tf.gfile.DeleteRecursively(os.path.join(folder, "export"))
    print(sorted(tf.gfile.ListDirectory(folder)))
