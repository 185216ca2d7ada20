"""What applies to the target of an edit before and after it, as values; `diff` computes them."""

from __future__ import annotations

from typing import NamedTuple

from console.model.changes import Target
from console.model.codes import ConfigSource
from console.model.inheritance import Inherited
from console.plan.edits import Edit
from console.plan.staged import Staged


class EffectiveValue(NamedTuple):
    """What applies to a slot before or after an edit.

    value: a config's text, a quota's number, a topic's partition count, a credential's iterations, an ACL's permission
    (``ALLOW``); None: nothing. source, name: where a config value comes from and the key's name there
    (``log.retention.ms``); None, ``""`` for everything but configs. hidden: there is a value, or may be one, that is
    not shown. known: False where it was not read.
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
    """One change that a request makes, of one staged edit (a created topic has a line for each config besides its own).

    verb: ``set`` ``unset`` ``append`` ``subtract`` ``add`` ``remove`` ``create`` ``grow`` ``delete``. key: a config's
    or a quota's; ``""`` where the line is about the whole target. moved: the target has changed since the edit was
    staged. note: what the operator may not expect. implied: the edit that the line is about, where the staged one
    implies it: a config of a topic that is created.
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
        """The edit that the line is about."""
        return self.staged.edit if self.implied is None else self.implied


class DiffGroup(NamedTuple):
    """The lines of one target, in the order they were staged. A topic's own edits stand with those of its configs,
    under its config resource.
    """

    target: Target
    lines: tuple[DiffLine, ...]
