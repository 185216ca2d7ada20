"""Imports of a module without the code of its package."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


def import_alone(name: str) -> ModuleType:
    """Return a module, imported without the code of its package. That code runs at the first use of a name of the
    package.

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
