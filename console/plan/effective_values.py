"""Effective values of an edit's target before and after it; `diff` computes them."""

from __future__ import annotations

from typing import NamedTuple

from console.model.changes import Target
from console.model.codes import ConfigSource
from console.model.inheritance import Inherited
from console.plan.edits import Edit
from console.plan.staged import Staged


class EffectiveValue(NamedTuple):
    """The effective value of a slot before or after an edit.

    value: a config's text, a quota's number, a topic's partition count, a credential's iterations, an ACL's permission
    (``ALLOW``); None: no value. source, name: the source of a config value and the key's name there
    (``log.retention.ms``); None, ``""`` for everything but configs. hidden: there is or may be a value that is not
    shown. known: False if it was not read.
    """

    value: str | float | None
    source: ConfigSource | None = None
    name: str = ""
    hidden: bool = False
    known: bool = True


NOTHING = EffectiveValue(None)
UNKNOWN = EffectiveValue(None, known=False)


def inherited_value(inherited: Inherited) -> EffectiveValue:
    """Return an inherited value as an effective value."""
    return EffectiveValue(inherited.value, inherited.source, inherited.name, inherited.hidden, inherited.known)


class DiffLine(NamedTuple):
    """One change by a request, from one staged edit (a created topic also has a line for each config).

    verb: ``set`` ``unset`` ``append`` ``subtract`` ``add`` ``remove`` ``create`` ``grow`` ``delete``. key: a config's
    or a quota's; ``""`` for a line about the whole target. moved: the target has changed since the edit was staged.
    note: an effect that the operator may not expect. implied: the edit of this line if the staged edit implies it: a
    config of a created topic.
    """

    staged: Staged
    verb: str
    key: str
    old: EffectiveValue
    new: EffectiveValue
    moved: bool = False
    note: str = ""
    implied: Edit | None = None

    @property
    def edit(self) -> Edit:
        """The edit of this line."""
        return self.staged.edit if self.implied is None else self.implied


class DiffGroup(NamedTuple):
    """The lines of one target, in the order of staging. A topic's own edits are listed with those of its configs, under
    its config resource.
    """

    target: Target
    lines: tuple[DiffLine, ...]
