"""All kinds of edits, from the files of this folder, and the order in which they are sent."""

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
"""The order in which batches are sent, see `Stage`."""

_BY_EDIT = {kind.edit: kind for kind in KINDS}
BY_OP = {str(kind.edit.__struct_config__.tag): kind for kind in KINDS}
"""The kinds by the ``op`` in the JSON form of their edits."""


def kind_of(edit: Edit) -> EditKind:
    """Return an edit's kind."""
    return _BY_EDIT[type(edit)]
