"""Running one program on TensorFlow's local session and on a Thalweg server."""

import tensorflow as tf

tf1 = tf.compat.v1


def on_both(server, program):
    """The results of a program on TensorFlow's local session and on the server. It is called with a session of a new graph."""
    results = []
    for target in ("", server.target):
        config = tf1.ConfigProto(isolate_session_state=bool(target))
        with tf1.Graph().as_default(), tf1.Session(target, config=config) as session:
            results.append(program(session))
    return results
