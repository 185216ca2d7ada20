"""aiokafka's connection module, without the consumer and the producer that its package imports."""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any


def import_aiokafka_conn() -> Any:
    """``aiokafka.conn``, at about half the cost of importing it plainly (25 ms of 50).

    The package is registered with its own code not run yet; whoever asks it for a name of its own (a consumer) runs it.
    aiokafka logs whole requests at DEBUG, passwords included, so its loggers are held at INFO.
    """
    if "aiokafka" not in sys.modules:
        _register_unexecuted("aiokafka")
    logger = logging.getLogger("aiokafka")
    logger.setLevel(max(logger.level, logging.INFO))
    logger.addHandler(logging.NullHandler())
    return import_module("aiokafka.conn")


def _register_unexecuted(name: str) -> None:
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    loader = spec.loader
    package = module_from_spec(spec)

    def execute(attribute: str) -> Any:
        del vars(package)["__getattr__"]
        loader.exec_module(package)
        return getattr(package, attribute)

    vars(package)["__getattr__"] = execute
    sys.modules[name] = package
