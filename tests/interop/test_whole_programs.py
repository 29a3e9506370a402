"""Whole programs of the kinds that users bring, by TensorFlow's client on `thalweg server`, compared with TensorFlow's local session."""

import numpy as np
import tensorflow as tf

from programs import on_both

tf1 = tf.compat.v1


def train(session, loss, optimizer, steps, feed=None):
    """The losses of so many steps."""
    step = optimizer.minimize(loss)
    session.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
    return [session.run([loss, step], feed)[0] for _ in range(steps)]


def falls_alike(theirs, ours, relative=1e-4):
    np.testing.assert_allclose(ours, theirs, rtol=relative)
    assert ours[-1] < ours[0]


# An input pipeline, saved in the middle of an epoch.


def pipeline():
    numbers = tf1.data.Dataset.range(60).shuffle(16, seed=3, reshuffle_each_iteration=True).repeat(2)
    squares = numbers.interleave(lambda n: tf1.data.Dataset.from_tensors(n * n).repeat(2), cycle_length=3, block_length=2)
    return squares.filter(lambda n: n % 3 != 0).batch(7).prefetch(2)


def elements(session, following):
    rows = []
    while True:
        try:
            rows.append(session.run(following).tolist())
        except tf.errors.OutOfRangeError:
            return rows


def test_an_input_pipeline_goes_on_where_it_was_saved(server, tmp_path):
    """What is left of two shuffled epochs is the same in the session that saved and in one that restores; and as TensorFlow's."""

    def program(session):
        tf1.set_random_seed(5)
        iterator = tf1.data.make_initializable_iterator(pipeline())
        following = iterator.get_next()
        saver = tf1.train.Saver({"pipeline": tf.data.experimental.make_saveable_from_iterator(iterator)})
        session.run(iterator.initializer)
        read = [session.run(following).tolist() for _ in range(9)]
        prefix = saver.save(session, str(tmp_path / ("theirs" if session.sess_str == b"" else "ours")))
        left = elements(session, following)
        with tf1.Session(session.sess_str, graph=session.graph) as second:
            second.run(iterator.initializer)
            second.run(following)
            saver.restore(second, prefix)
            assert elements(second, following) == left
        return read, left

    theirs, ours = on_both(server, program)
    assert len(ours[1]) > 9
    assert ours == theirs


# Least squares by singular values.


def test_least_squares_by_svd(server):
    random = np.random.RandomState(1)
    rows, truth = random.randn(200, 6), random.randn(6, 2)
    right = rows @ truth + 0.01 * random.randn(200, 2)

    def program(session):
        a, b = tf.constant(rows), tf.constant(right)
        s, u, v = tf.linalg.svd(a)
        by_svd = v @ (tf.linalg.adjoint(u) @ b / s[:, None])
        by_solver = tf.linalg.lstsq(a, b, fast=False)
        residual = tf.reduce_sum(tf.square(a @ by_svd - b))
        slope = tf1.gradients(tf.reduce_sum(tf.square(by_svd)), a)[0]
        return session.run([by_svd, by_solver, residual, s, slope, tf.linalg.pinv(a)])

    theirs, ours = on_both(server, program)
    np.testing.assert_allclose(ours[0], truth, atol=0.01)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


# What follows an object detector's network.


def test_object_detection_after_the_network(server):
    random = np.random.RandomState(2)
    centres, sizes = random.uniform(0.1, 0.9, (300, 2)), random.uniform(0.05, 0.4, (300, 2))
    offsets, logits = random.randn(300, 4) * 0.1, random.randn(300, 5)
    picture = random.uniform(0, 1, (1, 96, 128, 3))

    def program(session):
        centre, size = (tf.constant(x, tf.float32) for x in (centres, sizes))
        delta, image = tf.constant(offsets, tf.float32), tf.constant(picture, tf.float32)
        centre, size = centre + delta[:, :2] * size, size * tf.exp(delta[:, 2:])
        boxes = tf.clip_by_value(tf.concat([centre - size / 2, centre + size / 2], 1), 0.0, 1.0)
        scores = tf.nn.softmax(tf.constant(logits, tf.float32))
        best = tf.reduce_max(scores, 1)
        kept = tf.image.non_max_suppression(boxes, best, 20, iou_threshold=0.4, score_threshold=0.3)
        soft, soft_scores = tf.image.non_max_suppression_with_scores(boxes, best, 20, soft_nms_sigma=0.5)
        padded, valid = tf.image.non_max_suppression_padded(boxes, best, 30, iou_threshold=0.4, pad_to_max_output_size=True)
        combined = tf.image.combined_non_max_suppression(boxes[None, :, None], scores[None], 8, 25, score_threshold=0.25)
        crops = tf.image.crop_and_resize(image, tf.gather(boxes, kept), tf.zeros_like(kept), [14, 14])
        drawn = tf.image.draw_bounding_boxes(image, tf.gather(boxes, kept)[None], [[1.0, 0, 0]])
        hue = tf.image.adjust_hue(tf.image.rgb_to_hsv(image), 0.1)
        return session.run([kept, soft, soft_scores, padded, valid, *combined, crops, drawn, hue])

    theirs, ours = on_both(server, program)
    assert 3 < len(ours[0]) <= 20
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


# From sound to letters.


def test_speech_from_wav_to_ctc(server):
    seconds = np.arange(8000) / 8000
    sounds = [np.sin(2 * np.pi * (200 + 300 * k) * seconds) * np.cos(3 * k * seconds) for k in range(3)]

    def program(session):
        tf1.set_random_seed(4)
        features = []
        for sound in sounds:
            file = tf.audio.encode_wav(tf.constant(sound[:, None], tf.float32), 8000)
            sound, rate = tf.audio.decode_wav(file, desired_channels=1)
            spectrogram = tf.raw_ops.AudioSpectrogram(input=sound, window_size=256, stride=128, magnitude_squared=True)
            features.append(tf.raw_ops.Mfcc(spectrogram=spectrogram, sample_rate=rate, upper_frequency_limit=3800.0)[0])
        batch = tf.stack(features)
        batch = (batch - tf.reduce_mean(batch)) / tf.math.reduce_std(batch)
        batch = tf.reshape(batch, [3, 61, 13])
        w1 = tf1.get_variable("w1", [13, 24], initializer=tf1.truncated_normal_initializer(stddev=0.3, seed=1))
        w2 = tf1.get_variable("w2", [24, 6], initializer=tf1.truncated_normal_initializer(stddev=0.3, seed=2))
        logits = tf.tanh(batch @ w1) @ w2
        labels = tf.sparse.from_dense([[1, 2, 3, 0], [2, 2, 4, 1], [3, 1, 0, 0]])
        lengths = tf.fill([3], 61)
        loss = tf.reduce_mean(tf1.nn.ctc_loss(labels, logits, lengths, time_major=False))
        losses = train(session, loss, tf1.train.MomentumOptimizer(0.02, 0.9), 25)
        by_time = tf.transpose(logits, [1, 0, 2])
        greedy, _ = tf.nn.ctc_greedy_decoder(by_time, lengths)
        beams, chance = tf.nn.ctc_beam_search_decoder(by_time, lengths, beam_width=8)
        # Frequencies by Fourier transform, which newer programs use instead of the op.
        stft = tf.abs(tf.signal.stft(tf.constant(np.array(sounds), tf.float32), 256, 128))
        return losses, session.run([batch, stft, greedy[0].values, beams[0].values, chance])

    theirs, ours = on_both(server, program)
    falls_alike(theirs[0], ours[0], 1e-3)
    for a, b in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)


# Wide and deep, on records of examples.


def census(path):
    random = np.random.RandomState(6)
    towns, jobs = ["ulm", "bonn", "köln", "trier"], ["smith", "miller", "baker", "cook", "weaver"]
    with tf.io.TFRecordWriter(str(path)) as file:
        for _ in range(64):
            town, age = random.randint(4), random.uniform(18, 80)
            held = random.choice(jobs, random.randint(0, 4)).tolist()
            feature = {
                "age": tf.train.Feature(float_list=tf.train.FloatList(value=[age])),
                "town": tf.train.Feature(bytes_list=tf.train.BytesList(value=[towns[town].encode()])),
                "jobs": tf.train.Feature(bytes_list=tf.train.BytesList(value=[j.encode() for j in held])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(age > 50 or town == 2)])),
            }
            file.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    return str(path), jobs


def test_wide_and_deep_on_records(server, tmp_path):
    path, jobs = census(tmp_path / "census.tfrecord")

    def program(session):
        tf1.set_random_seed(8)
        records = tf1.data.Dataset.list_files(path).flat_map(tf1.data.TFRecordDataset).shuffle(32, seed=2).repeat().batch(16)
        row = tf1.io.parse_example(
            tf1.data.make_one_shot_iterator(records).get_next(),
            {
                "age": tf1.FixedLenFeature([], tf.float32),
                "town": tf1.VarLenFeature(tf.string),
                "jobs": tf1.VarLenFeature(tf.string),
                "label": tf1.FixedLenFeature([], tf.int64, default_value=0),
            },
        )
        vocabulary = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(jobs, tf.range(5, dtype=tf.int64)), 5)
        held = tf.SparseTensor(row["jobs"].indices, vocabulary.lookup(row["jobs"].values), row["jobs"].dense_shape)
        crossed = tf.sparse.cross_hashed([row["town"], row["jobs"]], num_buckets=50)
        wide = tf1.get_variable("wide", [50, 1], initializer=tf1.zeros_initializer())
        deep = tf1.get_variable("deep", [6, 8], initializer=tf1.truncated_normal_initializer(stddev=0.3, seed=3))
        hidden = tf1.get_variable("hidden", [9, 1], initializer=tf1.truncated_normal_initializer(stddev=0.3, seed=4))
        embedded = tf1.nn.safe_embedding_lookup_sparse(deep, held, combiner="mean")
        age = (row["age"][:, None] - 50) / 20
        logit = tf.concat([embedded, age], 1) @ hidden + tf1.nn.safe_embedding_lookup_sparse(wide, crossed, combiner="sum")
        label = tf.cast(row["label"], tf.float32)[:, None]
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logit))
        linear = tf1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001).minimize(loss, var_list=[wide])
        dense = tf1.train.AdagradOptimizer(0.3).minimize(loss, var_list=[deep, hidden])
        session.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
        return [session.run([loss, linear, dense])[0] for _ in range(60)]

    theirs, ours = on_both(server, program)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)
    assert np.mean(ours[-10:]) < 0.8 * np.mean(ours[:10])


# A Transformer encoder.


def normalised(x, name):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    scale = tf1.get_variable(name, [x.shape[-1]], initializer=tf1.ones_initializer())
    return (x - mean) * tf1.rsqrt(variance + 1e-6) * scale


def encoder_layer(x, heads, number):
    width = x.shape[-1]

    def weight(name, shape):
        initial = tf1.truncated_normal_initializer(stddev=0.15, seed=10 * number + len(name))
        return tf1.get_variable(f"{name}{number}", shape, initializer=initial)

    q, k, v = (tf.einsum("btd,dhe->bthe", x, weight(n, [width, heads, width // heads])) for n in ("q", "kk", "vvv"))
    scores = tf.einsum("bqhe,bkhe->bhqk", q, k) / np.sqrt(width // heads)
    mixed = tf.einsum("bhqk,bkhe->bqhe", tf.nn.softmax(scores), v)
    x = normalised(x + tf.einsum("bqhe,hed->bqd", mixed, weight("outw", [heads, width // heads, width])), f"n{number}")
    hidden = tf.nn.gelu(tf.einsum("btd,df->btf", x, weight("inner", [width, 4 * width])))
    return normalised(x + tf.einsum("btf,fd->btd", hidden, weight("outer1", [4 * width, width])), f"m{number}")


def test_a_transformer_encoder_is_trained(server):
    tokens = np.random.RandomState(3).randint(0, 20, (4, 12))

    def program(session):
        table = tf1.get_variable("table", [20, 32], initializer=tf1.truncated_normal_initializer(stddev=0.5, seed=1))
        x = tf.gather(table, tf.constant(tokens))
        for number in range(2):
            x = encoder_layer(x, 4, number)
        logits = tf.einsum("btd,vd->btv", x, table)
        target = tf.roll(tf.constant(tokens), 1, 1)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits))
        return train(session, loss, tf1.train.AdamOptimizer(0.003), 20)

    theirs, ours = on_both(server, program)
    falls_alike(theirs, ours, 1e-3)


# Text of any length.


def test_ragged_text_is_classified(server):
    texts = ["a good day", "bad", "very very good", "", "not so bad a day after all", "good good", "so bad"]
    marks = [1, 0, 1, 0, 1, 1, 0]

    def program(session):
        words = tf.strings.split(tf.constant(texts))
        pairs = tf.strings.ngrams(words, 2, separator="_")
        ids = tf.ragged.map_flat_values(tf.strings.to_hash_bucket_fast, tf.concat([words, pairs], 1), 40)
        table = tf1.get_variable("table", [40, 6], initializer=tf1.truncated_normal_initializer(stddev=0.3, seed=5))
        total = tf.reduce_sum(tf.ragged.map_flat_values(tf.gather, table, ids), 1)
        last = tf1.get_variable("last", [6, 2], initializer=tf1.truncated_normal_initializer(stddev=0.3, seed=6))
        logits = total @ last
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=marks, logits=logits))
        losses = train(session, loss, tf1.train.AdamOptimizer(0.05), 40)
        letters = tf.strings.unicode_decode(tf.constant(texts), "UTF-8")
        return losses, session.run(
            [
                tf.argmax(logits, 1),
                ids.to_tensor(-1),
                tf.sparse.to_dense(ids.to_sparse(), -1),
                letters.to_tensor(),
                tf.strings.unicode_encode(letters, "UTF-16-BE"),
                tf.reduce_max(letters, 1),
            ]
        )

    theirs, ours = on_both(server, program)
    falls_alike(theirs[0], ours[0])
    assert ours[1][0].tolist() == marks
    for a, b in zip(ours[1], theirs[1], strict=True):
        assert a.tolist() == b.tolist()
