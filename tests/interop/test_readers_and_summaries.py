"""Input queues with readers, and summary writers, of TensorFlow's programs on `thalweg server`."""

import pathlib

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
raw = tf.raw_ops


def on_both(server, program):
    results = []
    for target in ("", server.target):
        config = tf1.ConfigProto(isolate_session_state=bool(target))
        with tf1.Graph().as_default(), tf1.Session(target, config=config) as session:
            results.append(program(session))
    return results


def test_a_queue_runner_feeds_a_reader_that_waits(server, tmp_path):
    """The program of the queue age: file names in a queue, a reader, parsing, a batch; threads that start the steps."""
    for i in range(3):
        (tmp_path / f"part{i}.csv").write_text("".join(f"{i},{j}\n" for j in range(4)))

    def program(session):
        names = tf1.train.string_input_producer(sorted(map(str, tmp_path.glob("*.csv"))), num_epochs=2, shuffle=False)
        key, line = tf1.TextLineReader().read(names)
        part, row = tf.io.decode_csv(line, [[0], [0]])
        batch = tf1.train.batch([part, row, key], 5, allow_smaller_final_batch=True)
        session.run([tf1.global_variables_initializer(), tf1.local_variables_initializer()])
        coordinator = tf1.train.Coordinator()
        threads = tf1.train.start_queue_runners(session, coordinator)
        found = []
        try:
            while True:
                found.append([a.tolist() for a in session.run(batch)])
        except tf.errors.OutOfRangeError:
            pass
        coordinator.request_stop()
        coordinator.join(threads)
        return found

    theirs, ours = on_both(server, program)
    assert ours == theirs and sum(len(b[0]) for b in ours) == 24


def events(folder):
    """Steps and values of the event files, without times."""
    found = []
    for file in sorted(pathlib.Path(folder).glob("events.*")):
        for event in tf1.train.summary_iterator(str(file)):
            for value in event.summary.value:
                if value.HasField("image"):
                    image = value.image.encoded_image_string
                    value.image.encoded_image_string = b""
                    with tf1.Graph().as_default(), tf1.Session() as s:
                        found.append((event.step, str(value), s.run(tf.io.decode_png(image)).tolist()))
                else:
                    found.append((event.step, str(value)))
            if event.HasField("graph_def"):
                found.append((event.step, event.graph_def))
    return found


def test_summary_writers_write_the_events_of_tensorflow(server, tmp_path):
    rng = np.random.default_rng(3)
    images, sounds = rng.normal(size=(4, 3, 2, 3)).astype(np.float32), rng.uniform(-1.2, 1.2, (2, 5, 2)).astype(np.float32)
    images[0, 1, 1, 2] = np.nan

    def program(session):
        folder = tmp_path / f"{'ours' if session.sess_str else 'theirs'}"
        writer = raw.SummaryWriter(shared_name="events", container="")
        session.run(raw.CreateSummaryFileWriter(writer=writer, logdir=str(folder), max_queue=10, flush_millis=100000, filename_suffix=".test"))
        one = tf1.Summary(value=[tf1.Summary.Value(tag="raw", simple_value=2)]).SerializeToString()
        bad_color = tf.constant([255, 0, 0, 255], tf.uint8)
        session.run(raw.WriteScalarSummary(writer=writer, step=1, tag="loss", value=1.5))
        session.run(raw.WriteHistogramSummary(writer=writer, step=2, tag="weights", values=[1.0, 2.0, -3.0]))
        session.run(raw.WriteImageSummary(writer=writer, step=3, tag="image", tensor=images, bad_color=bad_color))
        session.run(raw.WriteAudioSummary(writer=writer, step=4, tag="sound", tensor=sounds, sample_rate=8000.0))
        session.run(raw.WriteSummary(writer=writer, step=5, tensor=["text"], tag="tensor", summary_metadata=b"\n\x03\n\x01p"))
        session.run(raw.WriteRawProtoSummary(writer=writer, step=6, tensor=[one, one]))
        session.run(raw.WriteGraphSummary(writer=writer, step=7, tensor=tf1.GraphDef().SerializeToString()))
        session.run(raw.ImportEvent(writer=writer, event=tf1.Event(step=9, summary=tf1.Summary.FromString(one)).SerializeToString()))
        session.run(raw.FlushSummaryWriter(writer=writer))
        found = events(folder)
        session.run(raw.CloseSummaryWriter(writer=writer))
        try:
            session.run(raw.WriteScalarSummary(writer=writer, step=1, tag="loss", value=1.5))
        except tf.errors.NotFoundError:
            found.append("closed")
        return found

    theirs, ours = on_both(server, program)
    assert ours == theirs and len(ours) == 13


def test_image_summaries_have_the_pixels_of_tensorflow(server):
    rng = np.random.default_rng(5)
    batches = [
        rng.normal(size=(2, 3, 2, 1)).astype(np.float32),
        np.abs(rng.normal(size=(5, 2, 2, 3))).astype(np.float16),
        rng.normal(size=(3, 4, 4, 1)).astype(np.float16),
        np.array([1e-3, 0, 2e-3], np.float16).reshape(1, 1, 3, 1),
        rng.normal(size=(3, 4, 4, 3)),
        rng.integers(0, 255, (1, 2, 2, 4)).astype(np.uint8),
        np.full((1, 1, 2, 1), np.nan, np.float64),
    ]

    def program(session):
        found = []
        for batch in batches:
            for most in (1, 3):
                text = session.run(raw.ImageSummary(tag="t", tensor=batch, max_images=most))
                for value in tf1.Summary.FromString(text).value:
                    image = value.image
                    with tf1.Graph().as_default(), tf1.Session() as s:
                        pixels = s.run(tf.io.decode_png(image.encoded_image_string)).tolist()
                    found.append((value.tag, image.height, image.width, image.colorspace, pixels))
        return found

    theirs, ours = on_both(server, program)
    assert ours == theirs


def test_checkpoints_of_the_first_format_are_exchanged(server, tmp_path):
    values = {
        "floats": np.arange(12, dtype=np.float32).reshape(3, 4), "long": np.arange(5000, dtype=np.int64), "flag": np.array([True, False]),
        "bytes": np.arange(4, dtype=np.uint8), "text": np.array([b"a", b"\xff" * 300], object), "half": np.array([1.5, -2], np.float16),
    }  # fmt: skip
    names = list(values)

    def save(target, file):
        with tf1.Graph().as_default(), tf1.Session(target) as s:
            s.run(raw.Save(filename=str(file), tensor_names=names, data=[tf.constant(v) for v in values.values()]))

    def restore(target, file):
        with tf1.Graph().as_default(), tf1.Session(target) as s:
            tensors = [raw.Restore(file_pattern=str(file), tensor_name=n, dt=tf.constant(v).dtype) for n, v in values.items()]
            part = raw.RestoreSlice(file_pattern=str(file), tensor_name="floats", shape_and_slice="3 4 1,2:-", dt=tf.float32)
            return s.run([*tensors, part])

    wanted = [*values.values(), values["floats"][1:]]
    for writer in ("", server.target):
        file = tmp_path / ("ours" if writer else "theirs")
        save(writer, file)
        for reader in ("", server.target):
            for got, want in zip(restore(reader, file), wanted):
                np.testing.assert_array_equal(got, want)
