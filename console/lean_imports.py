"""Functions that import a module without running the code of its package."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


def import_alone(name: str) -> ModuleType:
    """Return a module, imported without running its package's ``__init__``. The ``__init__`` runs later, at the first
    use of a name of the package. Raises ModuleNotFoundError.

    kio's packages import both the request and the response of a version, which costs milliseconds; cel's package
    imports a command line, which costs a third of a second.
    """
    package = name.rpartition(".")[0]
    if name not in sys.modules and package not in sys.modules:
        _register_unexecuted(package)
    return import_module(name)


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
    sys.modules.setdefault(name, package)


def import_aiokafka_conn() -> Any:
    """Import and return ``aiokafka.conn`` without modules that kac does not need: the consumer and the producer (half
    of 50 ms), aiokafka's admin messages, and `packaging.version` (half a megabyte).

    aiokafka logs whole requests at DEBUG, passwords included, so its loggers are set to INFO or above.
    """
    left_out = [name for name in _UNUSED if name not in sys.modules]
    for name in left_out:
        stand_in = sys.modules[name] = ModuleType(name)
        vars(stand_in)["__getattr__"] = partial(_later, name)
    try:
        found = import_alone("aiokafka.conn")
    finally:
        for name in left_out:
            del sys.modules[name]
    logger = logging.getLogger("aiokafka")
    logger.setLevel(max(logger.level, logging.INFO))
    logger.addHandler(logging.NullHandler())
    return found


_UNUSED = ("aiokafka.protocol.admin", "packaging.version")


def _later(module: str, name: str) -> Callable[..., Any]:
    """Return a function that, when called, imports a module and calls the module's function or class of this name.
    Raises AttributeError for a name that begins with ``__``.
    """
    if name.startswith("__"):
        raise AttributeError(name)

    def call(*arguments: Any, **named: Any) -> Any:
        return getattr(import_module(module), name)(*arguments, **named)

    return call
