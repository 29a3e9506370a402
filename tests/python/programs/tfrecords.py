"""Examples to TFRecord files and back through tf.data."""
import os
import tempfile

import numpy as np
import thalweg as tf


def _bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def _float_feature(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


draw = np.random.RandomState(13)
images = draw.randint(0, 255, [10, 4, 4]).astype(np.uint8)
labels = draw.randint(0, 3, 10)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "train.tfrecords")
    with tf.python_io.TFRecordWriter(path) as writer:
        for image, label in zip(images, labels):
            example = tf.train.Example(features=tf.train.Features(feature={
                "image_raw": _bytes_feature(image.tobytes()), "label": _int64_feature(int(label)),
                "weights": _float_feature([0.5, float(label)]),
                "tags": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"t"] * int(label)))}))
            writer.write(example.SerializeToString())
    for i, record in enumerate(tf.python_io.tf_record_iterator(path)):
        example = tf.train.Example.FromString(record)
        if i < 2:
            print(example.features.feature["label"].int64_list.value[0], example.features.feature["weights"].float_list.value[1],
                  len(example.features.feature["image_raw"].bytes_list.value[0]))

    def parse(serialized):
        parsed = tf.parse_single_example(serialized, features={
            "image_raw": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64),
            "weights": tf.FixedLenFeature([2], tf.float32), "missing": tf.FixedLenFeature([], tf.float32, default_value=-1.0),
            "tags": tf.VarLenFeature(tf.string)})
        image = tf.reshape(tf.decode_raw(parsed["image_raw"], tf.uint8), [4, 4, 1])
        image = tf.image.convert_image_dtype(image, tf.float32) - 0.5
        return image, parsed["label"], parsed["weights"], tf.shape(parsed["tags"].values)[0], parsed["missing"]

    dataset = tf.data.TFRecordDataset([path]).map(parse).shuffle(10, seed=3).repeat(2).batch(4)
    image, label, weights, count, missing = tf.data.make_one_shot_iterator(dataset).get_next()
    print(image.shape, label.dtype.name, weights.shape)
    mean = tf.reduce_mean(image)
    batched = tf.parse_example(tf.data.make_one_shot_iterator(tf.data.TFRecordDataset(path).batch(10)).get_next(),
                               {"label": tf.FixedLenFeature([], tf.int64), "tags": tf.VarLenFeature(tf.string)})
    with tf.Session() as sess:
        found = []
        try:
            while True:
                m, l, w, c, d = sess.run([mean, label, weights, count, missing])
                print("%.3f" % m, l, w[:, 1], c, d[0])
                found.extend(l.tolist())
        except tf.errors.OutOfRangeError:
            print("done", len(found), sum(found) == 2 * labels.sum())
        together = sess.run(batched)
        print(together["label"], together["tags"].values.shape, together["tags"].dense_shape)
