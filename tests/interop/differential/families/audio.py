"""Sound."""

import numpy as np
import tensorflow as tf

from .codecs import text


def wav(g):
    channels, samples, rate = g.int(1, 3), g.int(0, 12), g.pick([8000, 16000, 44100])
    data = g.rng.bytes(2 * channels * samples)
    long = lambda v: int(v).to_bytes(4, "little")
    short = lambda v: int(v).to_bytes(2, "little")
    extra = b"JUNK" + long(4) + b"abcd" if g.coin(0.3) else b""
    size = g.pick([16, 18])
    form = b"fmt " + long(size) + short(1) + short(channels) + long(rate) + long(2 * channels * rate) + short(2 * channels) + short(16) + b"\0\0" * (size == 18)
    after = b"LIST" + long(2) + b"xy" if g.coin(0.3) else b""
    body = b"WAVE" + extra + form + after + b"data" + long(len(data)) + data
    return b"RIFF" + long(len(body)) + body


def decode(g):
    return g.case(text(wav(g)), desired_channels=g.pick([-1, 1, 4]), desired_samples=g.pick([-1, 0, 3, 20]))


def encode(g):
    return g.case(g.of(g.rng.uniform(-1.3, 1.3, (g.int(0, 9), g.int(1, 3))), tf.float32), g.of(g.pick([8000, 44100]), tf.int32))


def spectrogram(g):
    signal = g.of(g.rng.uniform(-1, 1, (g.int(0, 60), g.int(1, 3))), tf.float32)
    return g.case(signal, window_size=g.int(2, 20), stride=g.int(1, 9), magnitude_squared=g.coin(), judge="norm")


def mfcc(g):
    bins = g.pick([33, 65, 257])
    power = g.of(g.rng.uniform(0, 3, (g.int(1, 2), g.int(0, 4), bins)), tf.float32)
    bands = g.int(2, 20)
    attrs = {"upper_frequency_limit": g.pick([3000.0, 4000.0]), "lower_frequency_limit": g.pick([0.0, 20.0, 300.0]), "filterbank_channel_count": bands, "dct_coefficient_count": g.int(1, bands)}
    return g.case(power, g.of(g.pick([8000, 16000]), tf.int32), judge="norm", **attrs)


GENERATORS = {"DecodeWav": decode, "EncodeWav": encode, "AudioSpectrogram": spectrogram, "Mfcc": mfcc}
