"""Input by queues: threads fill them, a coordinator stops the threads."""
import thalweg as tf

counter = tf.Variable(0.0)
increment = tf.assign_add(counter, 1.0)
queue = tf.FIFOQueue(10, tf.float32, shapes=[[]])
with tf.control_dependencies([increment]):
    enqueue = queue.enqueue([counter.read_value() * 10])
runner = tf.train.QueueRunner(queue, [enqueue])
tf.train.add_queue_runner(runner)
batch = queue.dequeue_many(4)

producer = tf.train.range_input_producer(3, num_epochs=2, shuffle=False)
index = producer.dequeue()
names = tf.train.string_input_producer(["a.txt", "b.txt", "c.txt"], num_epochs=1, shuffle=False)
name = names.dequeue()
pairs = tf.train.batch([index, index * 2], batch_size=2, allow_smaller_final_batch=True)

plain = tf.FIFOQueue(3, [tf.int32, tf.string], shapes=[[], [2]], names=["number", "words"], shared_name="plain")
put = plain.enqueue({"number": 7, "words": ["left", "right"]})
many = plain.enqueue_many({"number": [8, 9], "words": [["a", "b"], ["c", "d"]]})
taken = plain.dequeue()
size = plain.size()
close = plain.close()

with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=sess, coord=coord)
    try:
        while not coord.should_stop():
            first, second = sess.run(pairs)
            print(first, second)
    except tf.errors.OutOfRangeError:
        print("out of range")
    for _ in range(3):
        try:
            print(sess.run(name))
        except tf.errors.OutOfRangeError:
            print("end of names")
    sess.run(put)
    sess.run(many)
    print(sess.run(size))
    for _ in range(3):
        print(sorted(sess.run(taken).items()))
    sess.run(close)
    try:
        sess.run(taken)
    except tf.errors.OutOfRangeError:
        print("closed and empty")
    print(sess.run(batch), sess.run(batch))
    coord.request_stop()
    coord.join(threads)
    print(coord.should_stop())
