"""Measures TensorFlow, PyTorch and JAX for `thalweg bench`; run by it, not by hand.

serve THREADS: answers requests on standard input (see peer.rs). once GRAPH: feeds 1 to `x`,
fetches `sum`, and prints it with the peak memory of the process in kB and the size of the library in bytes.
"""

import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")


def once(path):
    import tensorflow.compat.v1 as tf
    graph_def = tf.GraphDef.FromString(open(path, "rb").read())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with tf.Session(graph=graph) as session:
            value = session.run("sum:0", {"x:0": 1.0})
    status = open("/proc/self/status").read()
    size = 0
    for root, _, files in os.walk(os.path.dirname(sys.modules["tensorflow"].__file__)):
        size += sum(os.path.getsize(os.path.join(root, f)) for f in files)
    print(value, status.split("VmHWM:")[1].split()[0], size)


def per_run(f, seconds):
    f()
    n = 1
    while True:
        start = time.perf_counter()
        for _ in range(n):
            f()
        took = time.perf_counter() - start
        if took >= seconds / 2:
            return took / n
        n = int(n * min(10, max(2, seconds / max(took, 1e-9))))


class TensorFlow:
    """One session a graph; the callable that runs it goes straight to C++."""

    def __init__(self, threads, executor=""):
        import tensorflow.compat.v1 as tf
        tf.disable_eager_execution()
        self.tf, self.threads, self.executor = tf, threads, executor
        self.name = "TensorFlow" + (", 1-thread executor" if executor else "")
        self.steps = {}

    def config(self, optimise):
        tf = self.tf
        config = tf.ConfigProto(intra_op_parallelism_threads=self.threads)
        config.experimental.executor_type = self.executor
        if not optimise:
            config.graph_options.optimizer_options.opt_level = -1
            config.graph_options.rewrite_options.disable_meta_optimizer = True
        return config

    def step(self, id, path, feed, fetch, target, optimise):
        tf = self.tf
        if id not in self.steps:
            from tensorflow.core.protobuf import config_pb2
            graph_def = tf.GraphDef.FromString(open(path, "rb").read())
            graph = tf.Graph()
            with graph.as_default():
                tf.import_graph_def(graph_def, name="")
            session = tf.Session(graph=graph, config=self.config(optimise))
            options = config_pb2.CallableOptions()
            options.feed.extend([feed] if feed else [])
            options.fetch.extend([fetch] if fetch else [])
            options.target.extend([target] if target else [])
            call = session._make_callable_from_options(options)
            import numpy
            x = numpy.float32(1)
            step = (lambda: call(x)) if feed else (lambda: call())
            step.session = session
            self.steps[id] = step
        return self.steps[id]

    def forget(self, id):
        call = self.steps.pop(id, None)
        if call:
            call.session.close()

    def train(self, id, path, init, target, feeds):
        tf = self.tf
        from tensorflow.core.protobuf import config_pb2
        graph_def = tf.GraphDef.FromString(open(path, "rb").read())
        graph = tf.Graph()
        with graph.as_default():
            tf.import_graph_def(graph_def, name="")
        session = tf.Session(graph=graph, config=self.config(True))
        session.run(graph.get_operation_by_name(init))
        options = config_pb2.CallableOptions()
        options.feed.extend(feeds)
        options.target.append(target)
        call, values = session._make_callable_from_options(options), list(feeds.values())
        return lambda: call(*values)

    def build(self, nodes):
        tf = self.tf
        start = time.perf_counter()
        with tf.Graph().as_default() as graph:
            x = y = tf.placeholder(tf.float32, [])
            one = tf.constant(1.0)
            for _ in range(nodes):
                y = tf.raw_ops.AddV2(x=y, y=one)
            with tf.Session(graph=graph, config=self.config(True)) as session:
                session.run(y, {x: 1.0})
        return time.perf_counter() - start


class Torch:
    """Eager, as it is mostly used."""

    def __init__(self, threads):
        import torch
        self.torch, self.name = torch, "PyTorch"
        if threads:
            torch.set_num_threads(threads)
        torch.set_grad_enabled(False)

    def step(self, id, *_):
        torch = self.torch
        x, one = torch.tensor(1.0), torch.tensor(1.0)
        if id.startswith("chain"):
            def run():
                y = x
                for _ in range(1000):
                    y = y + one
                return y
            return run
        if id == "loop":
            limit, step = torch.tensor(10000, dtype=torch.int32), torch.tensor(1, dtype=torch.int32)

            def run():
                i = torch.tensor(0, dtype=torch.int32)
                while i < limit:
                    i = i + step
                return i
            return run
        if id.startswith("matmul"):
            m, k, n = map(int, id.split("-")[1:])
            a, b = torch.rand(m, k), torch.rand(k, n)
            return lambda: torch.mm(a, b)
        return None


    def train(self, id, path, init, target, feeds):
        torch = self.torch
        nn, F = torch.nn, torch.nn.functional
        x, y = (torch.from_numpy(v) for v in feeds.values())
        y, clip = y.long(), False
        with torch.enable_grad():
            if id == "train-iris" or id.startswith("train-mlp"):
                sizes = [4, 10, 10, 3] if id == "train-iris" else [784, 512, 512, 10]
                layers = []
                for a, b in zip(sizes, sizes[1:]):
                    layers += [nn.Linear(a, b), nn.ReLU()]
                net = nn.Sequential(*layers[:-1])
            elif id == "train-cnn":
                x = x.permute(0, 3, 1, 2).contiguous()
                net = nn.Sequential(
                    nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(),
                    nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3136, 1024), nn.ReLU(), nn.Linear(1024, 10),
                )
            elif id == "train-lstm":
                class Words(nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.table = nn.Embedding(10000, 200)
                        self.cells = nn.LSTM(200, 200, 2, batch_first=True)
                        self.out = nn.Linear(200, 10000)

                    def forward(self, x):
                        return self.out(self.cells(self.table(x))[0].reshape(-1, 200))

                net, x, y, clip = Words(), x.long(), y.reshape(-1), True
            else:
                net = nn.Sequential(nn.EmbeddingBag(100_000, 64, mode="mean", sparse=True), nn.Linear(64, 10))
                x = x.long()
        kind = {"train-mlp-adam": torch.optim.Adam, "train-cnn": torch.optim.Adam, "train-embedding-adagrad": torch.optim.Adagrad}
        optimizer = kind.get(id, torch.optim.SGD)(net.parameters(), lr=0.01)

        def run():
            with torch.enable_grad():
                optimizer.zero_grad()
                F.cross_entropy(net(x), y).backward()
                if clip:
                    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
                optimizer.step()
        return run


class Jax:
    """Compiled by XLA."""

    def __init__(self, threads):
        if threads == 1:
            # No flag keeps XLA to one thread; one processor does.
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        import jax
        self.jax, self.name = jax, "JAX"

    def step(self, id, *_):
        jax = self.jax
        jnp = jax.numpy
        if id.startswith("chain"):
            def chain(x):
                for _ in range(1000):
                    x = x + 1
                return x
            f, x = jax.jit(chain), jnp.float32(1)
            return lambda: f(x).block_until_ready()
        if id == "loop":
            f = jax.jit(lambda n: jax.lax.while_loop(lambda i: i < n, lambda i: i + 1, 0))
            return lambda: f(10000).block_until_ready()
        if id.startswith("matmul"):
            m, k, n = map(int, id.split("-")[1:])
            a, b = jax.random.uniform(jax.random.key(0), (m, k)), jax.random.uniform(jax.random.key(1), (k, n))
            f = jax.jit(jnp.matmul)
            return lambda: f(a, b).block_until_ready()
        return None

    def train(self, id, path, init, target, feeds):
        x, y = feeds.values()
        return JaxTraining(self.jax).make(id, x, y)


class JaxTraining:
    """The models in JAX: parameters and optimizer state in, the next ones out, in place where XLA can."""

    def __init__(self, jax):
        self.jax, self.key = jax, jax.random.key(0)

    def normal(self, *shape):
        self.key, key = self.jax.random.split(self.key)
        return 0.05 * self.jax.random.normal(key, shape)

    def model(self, id):
        jax = self.jax
        jnp, lax = jax.numpy, jax.lax
        if id == "train-iris" or id.startswith("train-mlp"):
            sizes = [4, 10, 10, 3] if id == "train-iris" else [784, 512, 512, 10]
            params = [(self.normal(a, b), jnp.zeros(b)) for a, b in zip(sizes, sizes[1:])]

            def logits(params, x):
                for w, b in params[:-1]:
                    x = jax.nn.relu(x @ w + b)
                return x @ params[-1][0] + params[-1][1]
        elif id == "train-cnn":
            shapes = [(5, 5, 1, 32), (32,), (5, 5, 32, 64), (64,), (3136, 1024), (1024,), (1024, 10), (10,)]
            params = [self.normal(*s) for s in shapes]

            def logits(params, x):
                for w, b in (params[:2], params[2:4]):
                    x = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
                    x = lax.reduce_window(jax.nn.relu(x + b), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
                x = jax.nn.relu(x.reshape(64, -1) @ params[4] + params[5])
                return x @ params[6] + params[7]
        elif id == "train-lstm":
            params = [self.normal(10000, 200), [(self.normal(400, 800), jnp.zeros(800)) for _ in range(2)],
                      self.normal(200, 10000), jnp.zeros(10000)]

            def logits(params, x):
                table, cells, w, b = params
                x = table[x].transpose(1, 0, 2)
                for kernel, bias in cells:
                    def step(state, x, kernel=kernel, bias=bias):
                        c, h = state
                        i, j, f, o = jnp.split(jnp.concatenate([x, h], 1) @ kernel + bias, 4, 1)
                        c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(j)
                        h = jax.nn.sigmoid(o) * jnp.tanh(c)
                        return (c, h), h
                    x = lax.scan(step, (jnp.zeros((20, 200)), jnp.zeros((20, 200))), x)[1]
                return x.transpose(1, 0, 2).reshape(-1, 200) @ w + b
        else:
            return None
        return params, logits

    def loss(self, logits, y):
        jnp = self.jax.numpy
        logits = logits - self.jax.scipy.special.logsumexp(logits, axis=1, keepdims=True)
        return -jnp.mean(jnp.take_along_axis(logits, y.reshape(-1, 1), 1))

    def make(self, id, x, y):
        if id.startswith("train-embedding"):
            return self.embedding(id, x, y)
        jax = self.jax
        jnp, tree = jax.numpy, jax.tree
        params, logits = self.model(id)
        adam = id in ("train-mlp-adam", "train-cnn")
        zeros = tree.map(jnp.zeros_like, params)
        state = (params, zeros, tree.map(jnp.zeros_like, params), jnp.float32(0)) if adam else (params,)

        def step(state, x, y):
            grads = jax.grad(lambda p: self.loss(logits(p, x), y))(state[0])
            if id == "train-lstm":
                norm = jnp.sqrt(sum(jnp.sum(g * g) for g in tree.leaves(grads)))
                grads = tree.map(lambda g: g * jnp.minimum(1.0, 5.0 / norm), grads)
            if not adam:
                return (tree.map(lambda p, g: p - 0.01 * g, state[0], grads),)
            params, m, v, t = state
            t = t + 1
            m = tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
            v = tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
            rate = 0.01 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
            return tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), params, m, v), m, v, t

        return self.runner(step, state, x, y)

    def embedding(self, id, x, y):
        jax = self.jax
        jnp = jax.numpy
        state = (self.normal(100_000, 64), self.normal(64, 10), jnp.zeros(10))
        adagrad = id.endswith("adagrad")
        if adagrad:
            state += tuple(jnp.full_like(s, 0.1) for s in state)

        def step(state, x, y):
            table, w, b = state[:3]
            rows = table[x]
            grads = jax.grad(lambda p: self.loss(jnp.mean(p[0], 1) @ p[1] + p[2], y))((rows, w, b))
            if not adagrad:
                return table.at[x].add(-0.01 * grads[0]), w - 0.01 * grads[1], b - 0.01 * grads[2]
            sums = (state[3].at[x].add(grads[0] ** 2), state[4] + grads[1] ** 2, state[5] + grads[2] ** 2)
            table = table.at[x].add(-0.01 * grads[0] / jnp.sqrt(sums[0][x]))
            return (table, w - 0.01 * grads[1] / jnp.sqrt(sums[1]), b - 0.01 * grads[2] / jnp.sqrt(sums[2])) + sums

        return self.runner(step, state, x, y)

    def runner(self, step, state, x, y):
        jax = self.jax
        step = jax.jit(step, donate_argnums=0)
        held = [state]
        x, y = jax.numpy.asarray(x), jax.numpy.asarray(y)

        def run():
            held[0] = step(held[0], x, y)
            jax.block_until_ready(held[0])
        return run


def available(threads):
    makers = [
        lambda: TensorFlow(threads),
        lambda: TensorFlow(threads, "SINGLE_THREADED_EXECUTOR"),
        lambda: Torch(threads),
        lambda: Jax(threads),
    ]
    for make in makers:
        try:
            yield make()
        except ImportError:
            pass


def serve(threads):
    # What libraries print must not get among the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peers = list(available(threads))
    for peer in peers:
        print(peer.name, 0, sep="\t", file=answers)
    print("end", file=answers, flush=True)
    kept = {}
    for line in sys.stdin:
        kind, id, *fields = line.rstrip("\n").split("\t")
        for peer in peers:
            # Single ops: one column.
            if id.startswith("op-") and peer.name != "TensorFlow":
                continue
            try:
                if kind == "forget":
                    kept.pop((peer.name, id), None)
                    peer.forget(id)
                    continue
                if kind == "train":
                    import numpy
                    path, init, target, files, round_seconds = fields
                    key = (peer.name, id)
                    if key not in kept:
                        feeds = {n: numpy.load(f) for n, f in (f.split("=") for f in files.split(","))}
                        kept[key] = peer.train(id, path, init, target, feeds)
                    if kept[key] is None:
                        continue
                    kept[key]()
                    seconds = per_run(kept[key], float(round_seconds))
                elif kind == "build":
                    if not hasattr(peer, "build") or getattr(peer, "executor", ""):
                        continue
                    seconds = peer.build(int(fields[0]))
                else:
                    path, feed, fetch, target, optimise, round_seconds = fields
                    key = (peer.name, id)
                    if key not in kept:
                        kept[key] = peer.step(id, path, feed, fetch, target, optimise == "1")
                    if kept[key] is None:
                        continue
                    kept[key]()
                    seconds = per_run(kept[key], float(round_seconds))
                print(peer.name, seconds, sep="\t", file=answers)
            except Exception as e:
                kept[(peer.name, id)] = None
                print(peer.name, id, e, file=sys.stderr)
        print("end", file=answers, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "once":
        once(sys.argv[2])
    else:
        serve(int(sys.argv[2]))
