"""Effective values of an edit's target before and after it; `diff` computes them."""

from __future__ import annotations

from typing import NamedTuple

from console.model.changes import Target
from console.model.codes import ConfigSource
from console.model.inheritance import Inherited
from console.plan.edits import Edit
from console.plan.staged import Staged


class EffectiveValue(NamedTuple):
    """The value that is in effect for a slot before or after an edit, with its source."""

    value: str | float | None
    """A config's text, a quota's number, a topic's partition count, a credential's iterations, or an ACL's permission
    (``ALLOW``); None if there is no value.
    """
    source: ConfigSource | None = None
    """The source of a config's value; None for everything else."""
    name: str = ""
    """The key's name at the source (``log.retention.ms``); ``""`` for everything except configs."""
    hidden: bool = False
    """Whether the value exists, or may exist, but is not shown."""
    known: bool = True
    """Whether the value is known; False if it was not read."""


NOTHING = EffectiveValue(None)
UNKNOWN = EffectiveValue(None, known=False)


def inherited_value(inherited: Inherited) -> EffectiveValue:
    """Return the effective value of a key that inherits this value."""
    return EffectiveValue(inherited.value, inherited.source, inherited.name, inherited.hidden, inherited.known)


class DiffLine(NamedTuple):
    """One change of a plan. A staged edit has one line; the creation of a topic also has one for each config."""

    staged: Staged
    verb: str
    """The verb of the edit's kind, such as ``set``, ``append``, ``add``, ``grow`` or ``move``."""
    key: str
    """The key of a config or a quota; ``""`` for a line about the whole target."""
    old: EffectiveValue
    new: EffectiveValue
    moved: bool = False
    """Whether the target has changed since the edit was staged."""
    note: str = ""
    """A text on an effect that the operator may not expect; ``""`` if there is none."""
    implied: Edit | None = None
    """The edit of this line if it is included in the staged edit, as a config of a created topic; None if the line
    shows the staged edit itself.
    """

    @property
    def edit(self) -> Edit:
        """The edit of this line."""
        return self.staged.edit if self.implied is None else self.implied


class DiffGroup(NamedTuple):
    """The lines of one target, in the order of staging. Edits of a topic itself are listed with those of its configs,
    under the topic's config resource.
    """

    target: Target
    lines: tuple[DiffLine, ...]
