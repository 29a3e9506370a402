"""Wide and deep learning: crossed columns for a linear part, embeddings for a deep one."""
import numpy as np
import thalweg as tf

draw = np.random.RandomState(2)
n = 120
age = draw.randint(18, 80, n).astype(np.float32)
hours = draw.randint(10, 60, n).astype(np.float32)
education = draw.choice(["school", "college", "doctor"], n)
occupation = draw.choice(["tech", "sales", "farming", "craft"], n)
label = ((age > 35) & (hours > 30) | (education == "doctor")).astype(np.float32)
features = {"age": age, "hours": hours, "education": education, "occupation": occupation}

age_column = tf.feature_column.numeric_column("age", normalizer_fn=lambda x: (x - 45.0) / 20.0)
hours_column = tf.feature_column.numeric_column("hours")
education_column = tf.feature_column.categorical_column_with_vocabulary_list("education", ["school", "college", "doctor"])
occupation_column = tf.feature_column.categorical_column_with_hash_bucket("occupation", hash_bucket_size=20)
age_buckets = tf.feature_column.bucketized_column(tf.feature_column.numeric_column("age"), boundaries=[25, 35, 45, 55, 65])
base = [education_column, occupation_column, age_buckets]
crossed = [tf.feature_column.crossed_column(["education", "occupation"], hash_bucket_size=50),
           tf.feature_column.crossed_column([age_buckets, "occupation"], hash_bucket_size=50)]
deep = [age_column, hours_column, tf.feature_column.indicator_column(education_column),
        tf.feature_column.embedding_column(occupation_column, dimension=4, initializer=tf.truncated_normal_initializer(stddev=0.5, seed=6))]

inputs = {"age": tf.placeholder(tf.float32, [None]), "hours": tf.placeholder(tf.float32, [None]),
          "education": tf.placeholder(tf.string, [None]), "occupation": tf.placeholder(tf.string, [None])}
y = tf.placeholder(tf.float32, [None])
wide_logits = tf.feature_column.linear_model(inputs, base + crossed)
net = tf.feature_column.input_layer(inputs, deep)
print(net.shape, wide_logits.shape)
net = tf.layers.dense(net / 20.0, 16, tf.nn.relu, kernel_initializer=tf.glorot_uniform_initializer(seed=1))
deep_logits = tf.layers.dense(net, 1, kernel_initializer=tf.glorot_uniform_initializer(seed=2))
logits = tf.squeeze(wide_logits + deep_logits, 1)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
wide_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "linear_model")
deep_vars = [v for v in tf.trainable_variables() if not v.name.startswith("linear_model")]
train = tf.group(tf.train.FtrlOptimizer(0.1).minimize(loss, var_list=wide_vars), tf.train.AdagradOptimizer(0.05).minimize(loss, var_list=deep_vars))
accuracy = tf.reduce_mean(tf.cast(tf.equal(logits > 0, y > 0.5), tf.float32))
for v in tf.trainable_variables():
    print(v.name, v.shape.as_list())
feed = {inputs[k]: v for k, v in features.items()}
feed[y] = label
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
    for i in range(41):
        value, right, _ = sess.run([loss, accuracy, train], feed)
        if i % 10 == 0:
            print("%d %.3f %.3f" % (i, value, right))
