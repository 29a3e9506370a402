"""Values of reference variables as loop variables and outputs of branches: in TensorFlow they alias the variable's memory, so a use
after an update reads the update. Each program is deterministic, whatever the schedule."""

import pytest
import tensorflow as tf

tf1 = tf.compat.v1


@pytest.fixture(autouse=True)
def v1_behaviour():
    """Reference variables, and control flow v1."""
    resources, control_flow_v2 = tf1.resource_variables_enabled(), tf1.control_flow_v2_enabled()
    tf1.disable_resource_variables()
    tf1.disable_control_flow_v2()
    yield
    if resources:
        tf1.enable_resource_variables()
    if control_flow_v2:
        tf1.enable_control_flow_v2()


def variable(value):
    return tf1.Variable(value, use_resource=False)


def after(update, of):
    with tf.control_dependencies([update]):
        return [of * 1.0, tf.identity(of)]


def add(v, by, *before):
    with tf.control_dependencies(before):
        return tf1.assign_add(v, by)


def loop(body, *first, rounds=3):
    return tf1.while_loop(lambda i, *_: i < rounds, lambda i, *x: (i + 1, *body(i, *x)), [0, *first], back_prop=False)[1:]


def carried_by_a_loop_and_updated_after_it():
    v = variable(2.0)
    (x,) = loop(lambda _, x: [tf.identity(x)], tf.identity(v))
    return after(add(v, 5.0, x), x)


def carried_and_updated_in_each_iteration():
    v = variable(2.0)

    def body(_, x):
        with tf.control_dependencies([add(v, 1.0, x)]):
            return [tf.identity(x)]

    return loop(body, tf.identity(v))


def updated_by_what_is_carried():
    v = variable(2.0)

    def body(_, x):
        with tf.control_dependencies([tf1.assign(v, x * 1.0 + 1.0)]):
            return [tf.identity(x)]

    return loop(body, tf.identity(v))


def forwarded_by_a_branch():
    v = variable(2.0)
    x = tf1.cond(tf1.placeholder_with_default(True, ()), lambda: tf.identity(v), lambda: tf.constant(0.0))
    return after(add(v, 5.0, x), x)


def computed_on_a_branch():
    v = variable(2.0)
    x = tf1.cond(tf1.placeholder_with_default(True, ()), lambda: v * 1.0, lambda: tf.constant(0.0))
    return after(add(v, 5.0, x), x)


def of_either_branch():
    v, w = variable(2.0), variable(3.0)
    x = tf1.cond(tf1.placeholder_with_default(False, ()), lambda: tf.identity(v), lambda: tf.identity(w))
    return after(tf.group(add(v, 5.0, x), add(w, 50.0, x)), x)


def the_variable_of_a_branch_itself():
    v, w = variable(2.0), variable(3.0)
    x = tf1.cond(tf1.placeholder_with_default(True, ()), lambda: v, lambda: w)
    return after(add(v, 5.0, x), x)


def forwarded_by_a_branch_in_a_loop():
    v = variable(2.0)

    def body(i, x):
        y = tf1.cond(tf.equal(i, 1), lambda: tf.identity(x), lambda: x)
        with tf.control_dependencies([add(v, 1.0, y)]):
            return [tf.identity(y)]

    return loop(body, tf.identity(v))


def carried_by_a_loop_in_a_loop():
    v = variable(2.0)

    def inner(_, y):
        with tf.control_dependencies([add(v, 1.0, y)]):
            return [tf.identity(y)]

    return loop(lambda _, x: loop(inner, x, rounds=2), tf.identity(v), rounds=2)


def created_in_each_iteration():
    v = variable(2.0)
    (x,) = loop(lambda _, x: [x * 2.0], tf.identity(v))
    return after(add(v, 5.0, x), x)


PROGRAMS = [
    carried_by_a_loop_and_updated_after_it,
    carried_and_updated_in_each_iteration,
    updated_by_what_is_carried,
    forwarded_by_a_branch,
    computed_on_a_branch,
    of_either_branch,
    the_variable_of_a_branch_itself,
    forwarded_by_a_branch_in_a_loop,
    carried_by_a_loop_in_a_loop,
    created_in_each_iteration,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_carried_value_was_that_of_before_an_update(server, program):
    answers = []
    for target in ("", server.target):
        config = tf1.ConfigProto(isolate_session_state=bool(target))
        with tf1.Graph().as_default(), tf1.Session(target, config=config) as session:
            fetches = list(program())
            session.run(tf1.global_variables_initializer())
            answers.append(session.run(fetches))
    assert answers[1] == answers[0]
