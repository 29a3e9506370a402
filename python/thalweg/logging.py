"""Messages of programs, by the logger `tensorflow`."""

import importlib as _importlib

_logging = _importlib.import_module("logging")

DEBUG, INFO, WARN, WARNING, ERROR, FATAL = 10, 20, 30, 30, 40, 50
_logger = _logging.getLogger("tensorflow")
debug, info, warn, warning, error, fatal, log = (_logger.debug, _logger.info, _logger.warning, _logger.warning, _logger.error, _logger.critical,
                                                 _logger.log)
vlog = _logger.log


def set_verbosity(v):
    _logger.setLevel(v)


def get_verbosity():
    return _logger.getEffectiveLevel()


def log_first_n(level, msg, n, *args):
    """The message, the first n times."""
    count = _counts.get(msg, 0)
    _counts[msg] = count + 1
    if count < n:
        log(level, msg, *args)


def log_if(level, msg, condition, *args):
    if condition:
        log(level, msg, *args)


def flush():
    for handler in _logger.handlers:
        handler.flush()


_counts = {}
