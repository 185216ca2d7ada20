"""Statements, the syntax tree: what all have in common, and the values that they share. A verb's own statements stand
in its module of `console.language.verbs`. Spans are ignored when two are compared."""

from __future__ import annotations

from enum import Flag
from typing import NamedTuple

from msgspec import Struct

from console.language.sensitive import looks_sensitive
from console.language.tokenizer import NOWHERE, Span
from console.model.broker_keys import UpdateMode, update_mode
from console.model.codes import BROKER
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from console.plan.edits import ConfigEdit
from console.present.text import clean

Subject = ConfigResource | QuotaEntity
"""The entity of `set`, `show` and other statements."""


class Where(Flag):
    """Where a statement is entered: the console's command bar, `kac run`, the shell."""

    BAR = 1
    RUN = 2
    SHELL = 4


EVERYWHERE = Where.BAR | Where.RUN | Where.SHELL
INTERACTIVE = Where.BAR | Where.SHELL

_WRITTEN = frozenset({"span", "value_span", "for_span", "operations_span", "host_span", "quoted"})
"""Fields that say how and where something was written."""


class Node(Struct, frozen=True, eq=False):
    """Equal where it means the same, wherever and however it was written."""

    def _meaning(self) -> tuple[object, ...]:
        return tuple([getattr(self, name) for name in self.__struct_fields__ if name not in _WRITTEN])

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or not isinstance(other, Node):
            return NotImplemented
        return self._meaning() == other._meaning()

    def __hash__(self) -> int:
        return hash((type(self), self._meaning()))


class Entity(Node, frozen=True):
    """An entity as it was named: ``topic orders``, ``user alice client <default>``."""

    subject: Subject
    span: Span = NOWHERE


class Key(Node, frozen=True):
    """A config's or quota's key. quoted: it was quoted, so it is meant literally."""

    name: str
    quoted: bool = False
    span: Span = NOWHERE


class FromFile(Node, frozen=True):
    """``@FILE``: the value is in a file."""

    path: str


class Asked(Node, frozen=True):
    """``?``: the value is asked for, hidden."""


SecretSource = FromFile | Asked


class Assign(Node, frozen=True):
    """``KEY=VALUE``. value_span: of the value alone."""

    key: Key
    value: str | SecretSource
    span: Span = NOWHERE
    value_span: Span = NOWHERE


class Name(Node, frozen=True):
    """A name, None for the unquoted ``<default>``."""

    text: str | None
    span: Span = NOWHERE


class Glob(Node, frozen=True):
    """A pattern for `fnmatch`, in which quoted characters match themselves. None: the unquoted ``<default>``."""

    pattern: str | None
    span: Span = NOWHERE


class FieldFilter(Node, frozen=True):
    """``KEY=VALUE`` of a list, or another comparison. pattern: None for the unquoted ``<default>``. operator: one of
    ``= != > >= < <=``."""

    key: str
    pattern: str | None
    operator: str = "="
    span: Span = NOWHERE


class OffsetRow(Node, frozen=True):
    """A line of a file of offsets."""

    topic: str
    partition: int
    offset: int


class OffsetPosition(Node, frozen=True):
    """Where a group is to continue. how: earliest, latest, offset, time, by or file. number: the offset, milliseconds
    since 1970, or how many records on or back. metadata, epoch: kept with an offset; ``""`` and -1 for none. restored:
    an offset that the group had, which may be outside of the log. rows: of the file at `path`, None until read."""

    how: str
    number: int = 0
    path: str = ""
    metadata: str = ""
    epoch: int = -1
    restored: bool = False
    rows: tuple[OffsetRow, ...] | None = None
    span: Span = NOWHERE


class Statement(Node, frozen=True, kw_only=True):
    """One parsed command."""

    span: Span = NOWHERE


class EditStatement(Statement, frozen=True):
    """Stages edits."""

    @property
    def leaves_out_entity(self) -> bool:
        """Whether the selected entity is meant, as none is named."""
        return False

    @property
    def holds_ms(self) -> int | None:
        """How long the change holds, None without a limit."""
        return None


class QueryStatement(Statement, frozen=True):
    """Is answered from a snapshot, by `console.answers.queries`."""


class BarStatement(Statement, frozen=True):
    """Is for a console or a prompt alone."""


# -- secrets -----------------------------------------------------------------------------------------------------------


class SecretSlot(NamedTuple):
    """A secret that a statement needs. key: its key in `Staging.secrets`; prompt: the question for it."""

    key: str
    prompt: str
    source: SecretSource
    span: Span = NOWHERE


def secrets_among(assigns: tuple[Assign, ...], about: str) -> tuple[SecretSlot, ...]:
    """Return a slot for each value that is a secret's source. about: what the keys are of, and a space."""
    return tuple(
        SecretSlot(assign.key.name, clean(f"{about}{assign.key.name}", 120), assign.value, assign.span)
        for assign in assigns
        if not isinstance(assign.value, str)
    )


# -- of edits ----------------------------------------------------------------------------------------------------------


def key_of_edit(edit: ConfigEdit) -> Key:
    """Return the key of an edit. A broker's key that Kafka does not know as dynamic may be a plug-in's: quoted."""
    type_ = edit.resource.type
    return Key(edit.key, quoted=type_ == BROKER and update_mode(type_, edit.key) is UpdateMode.RESTART)


def assign_of(key: Key, value: str | Secret) -> Assign:
    """Return what gives a key a value, which is asked for where it may be a secret."""
    return Assign(key, Asked() if isinstance(value, Secret) or looks_sensitive(key.name) else value)
