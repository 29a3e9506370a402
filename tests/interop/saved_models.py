"""Models that TensorFlow and Keras export, made with random weights: for the tests (small) and the table (full size)."""

import numpy as np
import tensorflow as tf

import keras

tf1 = tf.compat.v1

SENTENCES = ["the cat sat on the mat", "a dog ran in the park", "birds fly high", "the park is high"]


def application(name, small):
    """One of keras.applications; the small ones take images of the least size that they allow."""
    side = {"InceptionV3": 75, "NASNetMobile": 32}.get(name, 32) if small else None
    shape = (side, side, 3) if small else None
    return getattr(keras.applications, name)(weights=None, input_shape=shape, classes=10 if small else 1000)


def text(cell):
    """TextVectorization, an embedding, and a recurrent layer."""
    words = keras.layers.TextVectorization(max_tokens=50, output_sequence_length=8)
    words.adapt(SENTENCES)
    texts = keras.Input((1,), dtype="string")
    x = keras.layers.Embedding(50, 8, mask_zero=True)(words(texts))
    return keras.Model(texts, keras.layers.Dense(3, activation="softmax")(cell(16)(x)))


def lookup():
    """StringLookup and category encoding."""
    kinds = keras.layers.StringLookup(vocabulary=["cat", "dog", "bird"], num_oov_indices=2)
    names = keras.Input((4,), dtype="string")
    return keras.Model(names, keras.layers.Dense(2)(keras.layers.Embedding(6, 4)(kinds(names))))


def transformer():
    """Two encoder blocks with MultiHeadAttention."""
    tokens = keras.Input((10, 16))
    x = tokens
    for _ in range(2):
        attended = keras.layers.MultiHeadAttention(4, 8, dropout=0.1)(x, x)
        x = keras.layers.LayerNormalization()(x + attended)
        hidden = keras.layers.Dense(32, activation="gelu")(x)
        x = keras.layers.LayerNormalization()(x + keras.layers.Dense(16)(hidden))
    return keras.Model(tokens, keras.layers.Dense(4)(keras.layers.GlobalAveragePooling1D()(x)))


def unet():
    """Two levels down and up again, with skip connections."""
    image = keras.Input((32, 32, 3))

    def block(x, n):
        for _ in range(2):
            x = keras.layers.ReLU()(keras.layers.BatchNormalization()(keras.layers.Conv2D(n, 3, padding="same")(x)))
        return x

    first = block(image, 8)
    second = block(keras.layers.MaxPooling2D()(first), 16)
    low = block(keras.layers.MaxPooling2D()(second), 32)
    up = keras.layers.Conv2DTranspose(16, 2, strides=2)(low)
    up = block(keras.layers.Concatenate()([up, second]), 16)
    up = keras.layers.UpSampling2D(interpolation="bilinear")(up)
    up = block(keras.layers.Concatenate()([up, first]), 8)
    return keras.Model(image, keras.layers.Conv2D(1, 1, activation="sigmoid")(up))


class Ragged(tf.Module):
    """Means of rows of different lengths, whose values and row splits are fed."""

    def __init__(self):
        self.table = tf.Variable(np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, "values"), tf.TensorSpec([None], tf.int64, "row_splits")])
    def serve(self, values, row_splits):
        rows = tf.RaggedTensor.from_row_splits(values, row_splits)
        embedded = tf.ragged.map_flat_values(lambda ids: tf.gather(self.table, ids), rows)
        return {"mean": tf.reduce_mean(embedded, axis=1), "lengths": rows.row_lengths(), "padded": rows.to_tensor(-1)}


class Vocabulary(tf.Module):
    """A table filled from a file that the model takes along."""

    def __init__(self, file):
        init = tf.lookup.TextFileInitializer(
            file, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        )
        self.table = tf.lookup.StaticVocabularyTable(init, num_oov_buckets=3)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "words")])
    def serve(self, words):
        return {"ids": self.table.lookup(words)}


class Branches(tf.Module):
    """A loop, a branch, nested functions and two signatures."""

    def __init__(self):
        self.v = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def twice(self, x):
        return x * 2.0 + self.v

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32, "x"), tf.TensorSpec([], tf.bool, "training")])
    def serve(self, x, training):
        if training:
            x = self.twice(self.twice(x))
        for i in tf.range(3):
            x += tf.cast(i, tf.float32) * self.v
        return {"y": x, "sum": tf.reduce_sum(x)}

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "rows")])
    def score(self, rows):
        return {"scores": tf.linalg.matvec(rows, self.v)}


def export_examples(directory, vocabulary):
    """A v1 export as estimators made them: serialized examples are parsed, a table is filled from an asset."""
    with tf.Graph().as_default(), tf1.Session() as session:
        serialized = tf1.placeholder(tf.string, [None], name="input_example_tensor")
        features = tf.io.parse_example(
            serialized,
            {
                "x": tf.io.FixedLenFeature([3], tf.float32),
                "word": tf.io.FixedLenFeature([], tf.string, default_value="?"),
                "ids": tf.io.VarLenFeature(tf.int64),
            },
        )
        rng = np.random.default_rng(2)
        with tf1.variable_scope("model"):
            w = tf1.get_variable("w", initializer=rng.normal(size=(3, 4)).astype(np.float32), use_resource=False)
            e = tf1.get_variable("e", initializer=rng.normal(size=(6, 4)).astype(np.float32), use_resource=True)
        table = tf.lookup.StaticVocabularyTable(
            tf.lookup.TextFileInitializer(
                tf.constant(str(vocabulary)), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
            ),
            num_oov_buckets=1,
        )
        word = tf.gather(e, table.lookup(features["word"]))
        many = tf.cast(tf.sparse.reduce_sum(features["ids"], axis=1), tf.float32)
        logits = tf.matmul(features["x"], w) + word + many[:, None]
        scores = tf.nn.softmax(logits, name="scores")
        session.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
        builder = tf1.saved_model.Builder(str(directory))
        signature = tf1.saved_model.predict_signature_def({"examples": serialized}, {"scores": scores})
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature}, main_op=tf1.tables_initializer(), strip_default_attrs=True, assets_collection=tf1.get_collection(tf1.GraphKeys.ASSET_FILEPATHS)
        )
        builder.save()


def examples(n):
    """Serialized tf.Examples for `export_examples`."""

    def one(i):
        feature = {
            "x": tf.train.Feature(float_list=tf.train.FloatList(value=[i, 0.5 * i, -1.0])),
            "ids": tf.train.Feature(int64_list=tf.train.Int64List(value=list(range(i)))),
        }
        if i % 2:
            feature["word"] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[[b"cat", b"bird", b"no"][i % 3]]))
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    return np.array([one(i) for i in range(n)], dtype=object)
