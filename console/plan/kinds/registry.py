"""All kinds of edits, from the files of this package, and the order in which their batches are sent."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from console.plan import kinds
from console.plan.edit_kind import Batch, EditKind
from console.plan.edits import Edit

_NAMES = sorted({each.name for each in iter_modules(kinds.__path__)} - {"registry"})
_MODULES = [import_module(f"console.plan.kinds.{name}") for name in _NAMES]
KINDS: tuple[EditKind, ...] = tuple(kind for module in _MODULES for kind in module.KINDS)
_BATCHES = (value for module in _MODULES for value in vars(module).values() if isinstance(value, Batch))
BATCHES = tuple(sorted(dict.fromkeys(_BATCHES), key=lambda batch: batch.stage))
"""The batches in the order in which they are sent (`Stage`)."""

_BY_EDIT = {kind.edit: kind for kind in KINDS}
BY_OP = {str(kind.edit.__struct_config__.tag): kind for kind in KINDS}
"""Value of ``op`` in the JSON form of an edit -> the edit's kind."""


def kind_of(edit: Edit) -> EditKind:
    """Return the kind of an edit."""
    return _BY_EDIT[type(edit)]
