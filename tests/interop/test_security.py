"""Servers with TLS and tokens: TensorFlow's client through `thalweg proxy`, gRPC's own client, and a cluster of our own."""

import pathlib
import re
import subprocess

import grpc
import numpy as np
import pytest
import tensorflow as tf

from conftest import TARGET

tf1 = tf.compat.v1
RUN, ADMIN = "run-token-0123456789", "admin-token-0123456789"


class Secrets:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.tokens = self.file("tokens", f"run:{RUN}\nadmin:{ADMIN}\n")

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def __getitem__(self, name):
        return self.folder / name

    def certificate(self, name):
        return ("--tls-cert", self[f"{name}.pem"], "--tls-key", self[f"{name}.key"], "--tls-ca", self["ca.pem"])


@pytest.fixture(scope="module")
def secrets(example, tmp_path_factory):
    folder = tmp_path_factory.mktemp("secrets")
    example("certificates", folder)
    return Secrets(folder)


@pytest.fixture(scope="module")
def secured(start_server, secrets):
    """A server that requires a certificate and a token."""
    return start_server("--port", 0, *secrets.certificate("server"), "--token-file", secrets.tokens)


@pytest.fixture(scope="module")
def proxied(secured, secrets):
    """The proxy's address, for TensorFlow's client."""
    token = secrets.file("token", RUN)
    listen = ("--listen", "127.0.0.1:0", "--to", secured.target)
    command = [TARGET / "thalweg", "proxy", *listen, *secrets.certificate("client"), "--token-file", token]
    proxy = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    ready = proxy.stdout.readline()
    yield re.fullmatch(r"thalweg proxy: listening on (grpc://\S+), to grpcs://\S+\n", ready)[1]
    proxy.terminate()
    assert proxy.wait(timeout=30) == 0


def test_tensorflow_trains_on_a_secured_server_through_the_proxy(proxied):
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, [None, 1])
        w = tf1.get_variable("w", [1, 1], initializer=tf1.zeros_initializer())
        loss = tf.reduce_mean((x @ w - 3 * x) ** 2)
        train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf1.Session(proxied) as session:
            session.run(tf1.global_variables_initializer())
            for _ in range(60):
                session.run(train, {x: np.random.rand(16, 1)})
            assert abs(session.run(w)[0, 0] - 3) < 0.2


def test_large_tensors_and_errors_go_through_the_proxy(proxied):
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32)
        y, wrong = x + 1, tf1.check_numerics(x, "wrong")
        with tf1.Session(proxied) as session:
            large = np.arange(5_000_000, dtype=np.float32)
            np.testing.assert_array_equal(session.run(y, {x: large}), large + 1)
            with pytest.raises(tf.errors.InvalidArgumentError, match="wrong"):
                session.run(wrong, {x: np.nan})


def test_the_proxys_role_is_that_of_its_token(proxied):
    with pytest.raises(tf.errors.PermissionDeniedError, match="needs the role admin"):
        tf1.Session.reset(proxied)


def channel(secured, secrets, token=None, certificate="client", authority="ca.pem"):
    shown = (secrets[f"{certificate}.key"].read_bytes(), secrets[f"{certificate}.pem"].read_bytes()) if certificate else (None, None)
    credentials = grpc.ssl_channel_credentials(secrets[authority].read_bytes(), *shown)
    if token:
        credentials = grpc.composite_channel_credentials(credentials, grpc.access_token_call_credentials(token))
    return grpc.secure_channel(secured.target.removeprefix("grpcs://"), credentials)


def call(channel, method):
    """Calls a method with an empty message; returns the response bytes."""
    return channel.unary_unary(f"/tensorflow.MasterService/{method}")(b"", timeout=30)


def test_grpcs_own_client_is_asked_for_both(secured, secrets):
    with channel(secured, secrets, RUN) as c:
        assert b"/job:localhost/replica:0/task:0/device:CPU:0" in call(c, "ListDevices")
        with pytest.raises(grpc.RpcError) as refused:
            call(c, "Reset")
        assert refused.value.code() == grpc.StatusCode.PERMISSION_DENIED
    with channel(secured, secrets, ADMIN) as c:
        call(c, "Reset")
    for token, certificate, code in [
        (None, "client", grpc.StatusCode.UNAUTHENTICATED),
        ("wrong-token-0123456789", "client", grpc.StatusCode.UNAUTHENTICATED),
        (RUN, None, grpc.StatusCode.UNAVAILABLE),
    ]:
        with channel(secured, secrets, token, certificate) as c, pytest.raises(grpc.RpcError) as refused:
            call(c, "ListDevices")
        assert refused.value.code() == code


def test_a_cluster_trains_over_mutual_tls_with_a_token(thalweg, secrets, tmp_path):
    train = ("train", "linear", "--steps", 40, "--logdir", tmp_path, *secrets.certificate("server"), "--token-file", secrets.tokens)
    done = thalweg("local", "--ps", 1, "--workers", 2, "--", *train)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(tmp_path.glob("model.ckpt-*.index"))


def test_refusals_are_logged_but_not_without_end(secrets, start_server):
    command = [TARGET / "thalweg", "server", "--port", "0", "--token-file", secrets.tokens]
    server = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        target = re.search(r"grpc://(\S+),", server.stdout.readline())[1]
        with grpc.insecure_channel(target) as c:
            for _ in range(50):
                with pytest.raises(grpc.RpcError) as refused:
                    call(c, "ListDevices")
                assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
    finally:
        server.terminate()
    lines = [line for line in server.communicate(timeout=30)[1].splitlines() if "event=refused" in line]
    assert len(lines) == 10
    for part in ["level=warn", "peer=127.0.0.1:", "identity=anonymous", "call=/tensorflow.MasterService/ListDevices", "code=Unauthenticated"]:
        assert part in lines[0]
    assert RUN not in "".join(lines)


def test_a_server_that_is_open_to_the_network_says_so_or_refuses(thalweg, secrets):
    done = thalweg("server", "--port", 0, "--bind", "0.0.0.0", "--strict")
    assert done.returncode != 0 and "FAILED_PRECONDITION" in done.stderr and "--token-file" in done.stderr
    command = [TARGET / "thalweg", "server", "--port", "0", "--bind", "0.0.0.0"]
    server = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    server.stdout.readline()
    server.terminate()
    warnings = [line for line in server.communicate(timeout=30)[1].splitlines() if line.startswith("warning:")]
    assert len(warnings) == 2 and "--token-file" in warnings[0] and "--tls-cert" in warnings[1]


def test_graphs_stay_where_the_server_allows(start_server, tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret").write_text("secret")
    server = start_server("--port", 0, "--allow-write", tmp_path / "inside")
    with tf.Graph().as_default():
        name = tf1.placeholder(tf.string)
        read, write = tf.io.read_file(name), tf.io.write_file(name, "text")
        with tf1.Session(server.target) as session:
            session.run(write, {name: str(tmp_path / "inside" / "new")})
            assert session.run(read, {name: str(tmp_path / "inside" / "new")}) == b"text"
            for path in [tmp_path / "secret", tmp_path / "inside" / ".." / "secret", "/etc/passwd"]:
                with pytest.raises(tf.errors.PermissionDeniedError, match="--allow-read"):
                    session.run(read, {name: str(path)})
                with pytest.raises(tf.errors.PermissionDeniedError, match="--allow-write"):
                    session.run(write, {name: str(path)})
    assert (tmp_path / "secret").read_text() == "secret"
