"""Checkpoints without a graph: what is in them."""

import os

from .. import _engine


class NewCheckpointReader:
    """The tensors of a checkpoint by name."""

    def __init__(self, filepattern):
        self._reader = _engine.CheckpointReader(os.fspath(filepattern))

    def has_tensor(self, name):
        return self._reader.has_tensor(name)

    def get_tensor(self, name):
        return self._reader.get_tensor(name)

    def get_variable_to_shape_map(self):
        return {name: shape for name, _, shape in self._reader.entries()}

    def get_variable_to_dtype_map(self):
        return {name: dtype for name, dtype, _ in self._reader.entries()}


def _prefix(ckpt_dir_or_file):
    from .saver import latest_checkpoint

    path = os.fspath(ckpt_dir_or_file)
    if not os.path.isdir(path):
        return path
    newest = latest_checkpoint(path)
    if newest is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
    return newest


def load_checkpoint(ckpt_dir_or_file):
    return NewCheckpointReader(_prefix(ckpt_dir_or_file))


def list_variables(ckpt_dir_or_file):
    """Name and shape of each variable."""
    shapes = load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map()
    return [(name, shapes[name]) for name in sorted(shapes)]


def load_variable(ckpt_dir_or_file, name):
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.split(":")[0])
