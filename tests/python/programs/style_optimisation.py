"""Neural style: an image is the variable, and features of a fixed net the loss."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(14)
content, style = draw.rand(1, 16, 16, 3).astype(np.float32), draw.rand(1, 16, 16, 3).astype(np.float32)
kernels = [tf.constant(draw.randn(3, 3, i, o).astype(np.float32) * (2.0 / (9 * i)) ** 0.5) for i, o in ((3, 8), (8, 8), (8, 16))]


def features(image):
    found, x = [], image
    for i, kernel in enumerate(kernels):
        x = tf.nn.relu(tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME"))
        found.append(x)
        if i == 1:
            x = tf.nn.avg_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    return found


def gram(x):
    _, height, width, channels = x.shape.as_list()
    flat = tf.reshape(x, [-1, channels])
    return tf.matmul(flat, flat, transpose_a=True) / (height * width * channels)


with tf.Session() as sess:
    content_target = sess.run(features(tf.constant(content)))[1]
    style_targets = sess.run([gram(f) for f in features(tf.constant(style))])
image = tf.Variable(content + 0.05 * draw.randn(1, 16, 16, 3).astype(np.float32), name="image")
layers = features(image)
content_loss = tf.nn.l2_loss(layers[1] - content_target) / content_target.size
style_loss = tf.add_n([2 * tf.nn.l2_loss(gram(f) - t) / t.size for f, t in zip(layers, style_targets)])
total_variation = tf.reduce_sum(tf.image.total_variation(image))
loss = content_loss + 10.0 * style_loss + 1e-4 * total_variation
opt = tf.train.AdamOptimizer(0.02)
train_op = opt.minimize(loss, var_list=[image])
clip = image.assign(tf.clip_by_value(image, 0.0, 1.0))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(31):
        value, c, s, tv, _ = sess.run([loss, content_loss, style_loss, total_variation, train_op])
        sess.run(clip)
        if i % 10 == 0:
            print("%d %.4f %.4f %.5f %.2f" % (i, value, c, s, tv))
    result = sess.run(image)
    print(result.shape, bool(result.min() >= 0), bool(result.max() <= 1), "%.3f" % result.mean())
