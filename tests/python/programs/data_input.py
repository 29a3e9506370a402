"""tf.data: sources, transformations with functions, iterators."""
import collections
import os
import tempfile

import numpy as np
import thalweg as tf


def plain(values):
    return [v.tolist() if isinstance(v, np.ndarray) else v for v in values]


def numbers(n):
    return tf.data.Dataset.range(n).map(lambda x: tf.cast(x, tf.int32))


def listed(dataset, count=20):
    get_next = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as sess:
        shown = []
        for _ in range(count):
            try:
                value = sess.run(get_next)
            except tf.errors.OutOfRangeError:
                shown.append("end")
                break
            shown.append(value.tolist() if hasattr(value, "tolist") else value)
    print(shown)


listed(numbers(5))
listed(numbers(10).filter(lambda x: tf.equal(x % 3, 0)).map(lambda x: x * x).batch(2))
listed(numbers(10).shuffle(4, seed=7).repeat(2).batch(6))
listed(numbers(7).batch(3, drop_remainder=True).prefetch(1))
listed(numbers(4).flat_map(lambda x: tf.data.Dataset.from_tensors(x).repeat(2)))
listed(numbers(4).interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(3), cycle_length=2, block_length=2))
listed(numbers(8).skip(2).take(5).shard(2, 1))
listed(numbers(3).concatenate(numbers(2)).cache())
listed(numbers(4).map(lambda x: tf.fill([x], x)).padded_batch(2, padded_shapes=[None]))
listed(numbers(4).map(lambda x: tf.fill([x], x)).padded_batch(4, padded_shapes=[4], padding_values=-1))
listed(numbers(6).apply(lambda d: d.window(2).flat_map(lambda w: w.batch(2))))
listed(tf.data.Dataset.from_tensor_slices([b"x", b"yy"]).map(tf.strings.length))

Point = collections.namedtuple("Point", "x y")
features = {"a": np.arange(6, dtype=np.float32).reshape(3, 2), "b": np.array([1, 2, 3])}
structured = tf.data.Dataset.from_tensor_slices((features, [0, 1, 0]))
print(tf.data.get_output_types(structured)[1].name, tf.data.get_output_shapes(structured)[0]["a"])
total = numbers(5).reduce(0, lambda state, x: state + x)
element = tf.data.make_one_shot_iterator(structured.map(lambda f, label: ({"sum": tf.reduce_sum(f["a"]), "b": f["b"]}, label)).batch(2)).get_next()
zipped = tf.data.make_one_shot_iterator(tf.data.Dataset.zip((numbers(3), tf.data.Dataset.from_tensors("s").repeat()))).get_next()
with tf.Session() as sess:
    f, label = sess.run(element)
    print(sess.run(total), f["sum"], f["b"], label, element[0]["sum"].shape, element[1].dtype.name)
    print([sess.run(zipped) for _ in range(3)] == [(0, b"s"), (1, b"s"), (2, b"s")])

limit = tf.placeholder(tf.int64, [])
dataset = tf.data.Dataset.range(limit).map(lambda x: x + limit, num_parallel_calls=2)
iterator = tf.data.make_initializable_iterator(dataset)
following = iterator.get_next()
table = tf.Variable([10, 20, 30])
looked = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices([2, 0]).map(lambda i: tf.gather(table, i)))
entry = looked.get_next()
training, validation = numbers(3).repeat(), numbers(2).map(lambda x: x + 100)
reinitializable = tf.data.Iterator.from_structure(tf.data.get_output_types(training), tf.data.get_output_shapes(training))
use_training, use_validation = reinitializable.make_initializer(training), reinitializable.make_initializer(validation)
either = reinitializable.get_next()
handle = tf.placeholder(tf.string, [])
feedable = tf.data.Iterator.from_string_handle(handle, tf.int32, [])
fed = feedable.get_next()
one, two = tf.data.make_one_shot_iterator(training), tf.data.make_one_shot_iterator(validation)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (2, 3):
        sess.run(iterator.initializer, {limit: n})
        print([int(sess.run(following)) for _ in range(n)])
        try:
            sess.run(following)
        except tf.errors.OutOfRangeError:
            print("end")
    sess.run(looked.initializer)
    print(sess.run(entry), sess.run(entry))
    sess.run(use_training)
    print([int(sess.run(either)) for _ in range(4)])
    sess.run(use_validation)
    print([int(sess.run(either)) for _ in range(2)])
    handles = sess.run([one.string_handle(), two.string_handle()])
    print([int(sess.run(fed, {handle: handles[i]})) for i in (0, 1, 0, 1, 0)])

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "lines.txt")
    with open(path, "w") as f:
        f.write("1,2.5,red\n2,3.5,blue\n3,,green\n")
    lines = tf.data.TextLineDataset(path).skip(1)
    listed(lines)
    rows = tf.data.TextLineDataset([path]).map(lambda line: tf.decode_csv(line, [[0], [-1.0], [""]])).batch(3)
    get_next = tf.data.make_one_shot_iterator(rows).get_next()
    with tf.Session() as sess:
        print(plain(sess.run(get_next)))
    listed(tf.data.Dataset.list_files(os.path.join(folder, "*.txt"), shuffle=False).map(lambda p: tf.strings.regex_replace(p, ".*/", "")))


def generate():
    for i in range(3):
        yield i, [float(i)] * i


generated = tf.data.Dataset.from_generator(generate, (tf.int32, tf.float32), (tf.TensorShape([]), tf.TensorShape([None])))
get_next = tf.data.make_one_shot_iterator(generated).get_next()
with tf.Session() as sess:
    print([plain(sess.run(get_next)) for _ in range(3)])
