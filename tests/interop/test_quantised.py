"""Quantised programs by TensorFlow's client on `thalweg server`, compared with TensorFlow's local session."""

import judge
import numpy as np
import pytest
import tensorflow as tf
from programs import on_both
from tensorflow.python.framework import op_def_registry
from test_whole_programs import falls_alike, train

raw, tf1 = tf.raw_ops, tf.compat.v1
PLAIN = {tf.qint8: tf.int8, tf.quint8: tf.uint8, tf.qint32: tf.int32}


def plain(t):
    return tf.bitcast(t, PLAIN[t.dtype]) if t.dtype in PLAIN else t


def test_a_quantised_convnet(server):
    """As TensorFlow's graph transforms made them: bytes in, sums in 32 bits that are requantised after each layer, floats out."""
    random = np.random.RandomState(1)
    images = random.uniform(-1, 1, (3, 12, 12, 3)).astype("f")
    filters, weights = random.normal(size=(3, 3, 3, 8)).astype("f"), random.normal(size=(6 * 6 * 8, 5)).astype("f")
    biases = random.normal(size=8).astype("f")

    def quantised(x):
        return raw.QuantizeV2(input=x, min_range=tf.reduce_min(x), max_range=tf.reduce_max(x), T=tf.quint8, mode="MIN_FIRST")

    def shrunk(t):
        low, high = raw.RequantizationRange(input=t[0], input_min=t[1], input_max=t[2])
        return raw.Requantize(input=t[0], input_min=t[1], input_max=t[2], requested_output_min=low, requested_output_max=high, out_type=tf.quint8)

    def program(session):
        x, f, b, w = (quantised(tf.constant(a)) for a in (images, filters, biases, weights))
        y = raw.QuantizedConv2D(input=x[0], filter=f[0], min_input=x[1], max_input=x[2], min_filter=f[1], max_filter=f[2], strides=[1, 1, 1, 1], padding="SAME")
        y = shrunk(y)
        y = raw.QuantizedBiasAdd(input=y[0], bias=b[0], min_input=y[1], max_input=y[2], min_bias=b[1], max_bias=b[2], out_type=tf.qint32)
        y = shrunk(y)
        y = raw.QuantizedRelu(features=y[0], min_features=y[1], max_features=y[2])
        y = raw.QuantizedMaxPool(input=y[0], min_input=y[1], max_input=y[2], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
        y = raw.QuantizedReshape(tensor=y[0], shape=[3, -1], input_min=y[1], input_max=y[2])
        y = raw.QuantizedMatMul(a=y[0], b=w[0], min_a=y[1], max_a=y[2], min_b=w[1], max_b=w[2], Toutput=tf.qint32)
        y = shrunk(y)
        logits = raw.Dequantize(input=y[0], min_range=y[1], max_range=y[2], mode="MIN_FIRST")
        return session.run([plain(y[0]), *y[1:], logits])

    theirs, ours = on_both(server, program)
    assert len(np.unique(ours[0])) > 5
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_training_with_fake_quantisation(server):
    """Weights and activations rounded to 8 bits in the forward pass, with ranges that are trained, too."""
    random = np.random.RandomState(2)
    images = random.uniform(0, 1, (32, 8, 8, 1)).astype("f")
    labels = (images[:, :4].sum((1, 2, 3)) > images[:, 4:].sum((1, 2, 3))).astype("i")

    def program(session):
        start = np.random.RandomState(3)
        variable = lambda *shape: tf1.Variable(start.normal(0, 0.3, shape).astype("f"), use_resource=True)
        low, high = tf1.Variable(-0.1, use_resource=True), tf1.Variable(4.0, use_resource=True)
        f, w, b = variable(3, 3, 1, 6), variable(96, 2), variable(2)
        f = tf.quantization.fake_quant_with_min_max_vars_per_channel(f, tf.fill([6], -1.0), tf.ones([6]), narrow_range=True)
        x = tf.nn.relu(tf.nn.conv2d(tf.constant(images), f, 2, "SAME"))
        x = tf.quantization.fake_quant_with_min_max_vars(x, low, high)
        logits = tf.reshape(x, [32, 96]) @ tf.quantization.fake_quant_with_min_max_args(w, -1, 1) + b
        logits = tf.quantization.quantize_and_dequantize_v2(logits, -8.0, 8.0, range_given=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        return train(session, loss, tf1.train.AdamOptimizer(0.01), 25)

    falls_alike(*on_both(server, program))


CONVOLUTIONS = ["Conv2D", "Conv2DPerChannel", "Conv2DAndRelu", "Conv2DAndRequantize", "Conv2DAndReluAndRequantize"]
CONVOLUTIONS += [f"Conv2DWithBias{rest}" for rest in ("", "AndRelu", "AndRequantize", "AndReluAndRequantize")]
CONVOLUTIONS += [f"DepthwiseConv2D{rest}" for rest in ("", "WithBias", "WithBiasAndRelu", "WithBiasAndReluAndRequantize")]
PRODUCTS = [f"MatMulWithBias{rest}" for rest in ("", "AndDequantize", "AndRelu", "AndReluAndRequantize", "AndRequantize")]


def result_type(op):
    if "Dequantize" in op:
        return tf.float32
    if "Requantize" not in op:
        return tf.qint32
    return tf.quint8 if "Relu" in op or "MatMul" in op else tf.qint8


def inputs_of(op, random, signed, int_bias, by_channel):
    """Values and quantised types of the inputs of a fused op, by name."""
    product, outputs = "MatMul" in op, 6 if "MatMul" in op else 8
    first, second = ("a", "b") if product else ("input", "filter")
    x, f = ((3, 50), (50, 6)) if product else ((2, 6, 5, 4), (3, 3, 4, 2) if "Depthwise" in op else (3, 3, 4, 8))
    t = tf.qint8 if signed else tf.quint8
    # On CPUs without VNNI, oneDNN adds pairs of products in 16 bits, which larger weights exceed.
    values = {first: (random.randint(-128 if signed else 0, 128 if signed else 256, x), t), second: (random.randint(-64, 64, f), tf.qint8)}
    if "WithBias" in op:
        values["bias"] = (random.randint(-5000, 5000, outputs), tf.qint32) if int_bias else (random.normal(0, 3, outputs), tf.float32)
    ranges = [("_" + first, 3, ()), ("_" + second, 2, (outputs,) if by_channel else ())]
    for name, reach, shape in [*ranges, ("_freezed_output", 20, ())][: 3 if "equantize" in op else 2]:
        values |= {side + name: (sign * random.uniform(0.5, reach, shape), tf.float32) for side, sign in (("min", -1), ("max", 1))}
    return values


# oneDNN's kernels need constant filters, and TensorFlow has no others for these ops.
@pytest.mark.skipif(not judge.has_onednn(), reason="TensorFlow has kernels for these ops only with oneDNN")
@pytest.mark.parametrize("op", CONVOLUTIONS + PRODUCTS)
def test_fused_forms_have_the_bits_of_onednn(server, op):
    random, definition = np.random.RandomState(len(op)), op_def_registry.get("Quantized" + op)
    attrs = {a.name for a in definition.attr}
    signed = [False, True] if op.startswith("Conv2DWithBias") else [False]
    int_bias = [False, True] if "Tbias" in attrs else [False]
    by_channel = {"Conv2DPerChannel": [True], "Conv2D": [False], "Conv2DAndRequantize": [False]}.get(op, [False] if "MatMul" in op else [False, True])
    forms = [(s, i, c) for s in signed for i in int_bias for c in by_channel]
    modes = [{"input_quant_mode": mode} for mode in ("MIN_FIRST", "SCALED")] if "MatMul" in op else [{"strides": [1, 1, 1, 1], "padding": p} for p in ("SAME", "VALID")]
    cases = [(inputs_of(op, random, *form), mode) for form in forms for mode in modes]

    def program(session):
        # TensorFlow folds constants by kernels that these ops do not have.
        results, feed = [], {}
        for values, mode in cases:
            args = {n: tf.bitcast(tf.constant(v, PLAIN[t]), t) if t in PLAIN else tf.constant(v, t) for n, (v, t) in values.items()}
            first, (value, t) = next(iter(values.items()))
            fed = tf1.placeholder(PLAIN[t], value.shape)
            args[first], feed[fed] = tf.bitcast(fed, t), value
            outputs = getattr(raw, "Quantized" + op)(**args, **mode, **{"Toutput" if "MatMul" in op else "out_type": result_type(op)})
            results.append([plain(t) for t in tf.nest.flatten(outputs)])
        return session.run(results, feed)

    theirs, ours = on_both(server, program)
    for a, b in zip(tf.nest.flatten(ours), tf.nest.flatten(theirs), strict=True):
        np.testing.assert_array_equal(a, b)
