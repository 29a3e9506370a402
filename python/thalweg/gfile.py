"""Files and directories of this machine, by TensorFlow's names."""

import glob as _glob
import os as _os
import shutil as _shutil

from .errors import AlreadyExistsError, NotFoundError


class GFile:
    """A file; text unless the mode has a `b`."""

    def __init__(self, name, mode="r"):
        self.name, self.mode, self._opened = _os.fspath(name), mode, None

    @property
    def _file(self):
        if self._opened is None:
            try:
                self._opened = open(self.name, self.mode)
            except FileNotFoundError as e:
                raise NotFoundError(None, None, str(e)) from None
        return self._opened

    def read(self, n=-1):
        return self._file.read(n)

    def write(self, file_content):
        self._file.write(file_content)

    def readline(self):
        return self._file.readline()

    def readlines(self):
        return self._file.readlines()

    def seek(self, offset=0, whence=0, position=None):
        self._file.seek(offset if position is None else position, whence)

    def tell(self):
        return self._file.tell()

    def size(self):
        return _os.path.getsize(self.name)

    def flush(self):
        self._file.flush()

    def close(self):
        if self._opened is not None:
            self._opened.close()

    def __iter__(self):
        return iter(self._file)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


FastGFile = Open = GFile


def Exists(filename):
    return _os.path.exists(filename)


def IsDirectory(dirname):
    return _os.path.isdir(dirname)


def ListDirectory(dirname):
    return _listed(dirname)


def _listed(dirname):
    try:
        return _os.listdir(dirname)
    except OSError as e:
        raise NotFoundError(None, None, f"Could not find directory {dirname}: {e}") from None


def MakeDirs(dirname):
    _os.makedirs(dirname, exist_ok=True)


def MkDir(dirname):
    _os.mkdir(dirname)


def Remove(filename):
    try:
        _os.remove(filename)
    except FileNotFoundError as e:
        raise NotFoundError(None, None, str(e)) from None


def DeleteRecursively(dirname):
    if not _os.path.exists(dirname):
        raise NotFoundError(None, None, f"{dirname}; No such file or directory")
    _shutil.rmtree(dirname)


def Glob(filename):
    patterns = [filename] if isinstance(filename, (str, _os.PathLike)) else filename
    return [found for pattern in patterns for found in sorted(_glob.glob(_os.fspath(pattern)))]


def Copy(oldpath, newpath, overwrite=False):
    _free(newpath, overwrite)
    _shutil.copyfile(oldpath, newpath)


def Rename(oldname, newname, overwrite=False):
    _free(newname, overwrite)
    _os.replace(oldname, newname)


def _free(path, overwrite):
    if not overwrite and _os.path.exists(path):
        raise AlreadyExistsError(None, None, f"file already exists: {path}")


def Stat(filename):
    found = _os.stat(filename)
    found_type = type("FileStatistics", (), {})()
    found_type.length, found_type.mtime_nsec, found_type.is_directory = found.st_size, found.st_mtime_ns, _os.path.isdir(filename)
    return found_type


def Walk(top, in_order=True):
    return _os.walk(top, topdown=in_order)


exists, isdir, listdir, makedirs, mkdir, remove, rmtree, glob, copy, rename, stat, walk = (
    Exists, IsDirectory, ListDirectory, MakeDirs, MkDir, Remove, DeleteRecursively, Glob, Copy, Rename, Stat, Walk)
