"""Statements, the syntax tree of the language: the base classes, and the values that several statements have.

The module of each verb in `console.language.verbs` defines its statements. Comparisons ignore places in the script.
"""

from __future__ import annotations

from enum import Flag
from typing import NamedTuple

from msgspec import Struct

from console.language.quoting import DEFAULT_NAME, can_stand_bare, quote, quote_beside_equals, quote_pattern, quoted
from console.language.tokenizer import NOWHERE, Span
from console.model.broker_keys import UpdateMode, update_mode
from console.model.codes import BROKER
from console.model.config import ConfigResource
from console.model.quota import CLIENT_ID, QuotaEntity
from console.model.secret import Secret
from console.plan.edits import ConfigEdit, Edit
from console.present.names import resource_word
from console.present.text import clean
from console.sensitive import is_reference, seems_sensitive

Subject = ConfigResource | QuotaEntity
"""The entity that a statement changes or shows: a config resource or a quota entity."""


class Where(Flag):
    """The prompts at which a statement can be entered: the console's command bar, `kac run`, the shell."""

    BAR = 1
    RUN = 2
    SHELL = 4


EVERYWHERE = Where.BAR | Where.RUN | Where.SHELL
INTERACTIVE = Where.BAR | Where.SHELL

_WRITTEN = frozenset({"span", "value_span", "operations_span", "host_span", "quoted"})
"""Fields for the spelling and the place, which equality ignores."""


class Node(Struct, frozen=True, eq=False):
    """A node of the syntax tree. Two nodes are equal if they mean the same, whatever their place and spelling."""

    def _meaning(self) -> tuple[object, ...]:
        # `unset topic a k` and `unset topic "a"  k` have to be equal: tests compare statements with those that their
        # text parses to.
        return tuple([getattr(self, name) for name in self.__struct_fields__ if name not in _WRITTEN])

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or not isinstance(other, Node):
            return NotImplemented
        return self._meaning() == other._meaning()

    def __hash__(self) -> int:
        return hash((type(self), self._meaning()))


class Entity(Node, frozen=True):
    """An entity as written in a statement: ``topic orders``, ``user alice client <default>``."""

    subject: Subject
    span: Span = NOWHERE


class Key(Node, frozen=True):
    """A key of a config or of a quota, as a statement names it."""

    name: str
    quoted: bool = False
    """Whether the key was in quotes: such a key is accepted even if it is unknown."""
    span: Span = NOWHERE


class FromFile(Node, frozen=True):
    """The source ``@FILE``: the value is the content of a file."""

    path: str


class Asked(Node, frozen=True):
    """The source ``?``: the operator types the value at a prompt that does not show it."""


SecretSource = FromFile | Asked


class Assign(Node, frozen=True):
    """A pair ``KEY=VALUE`` of a statement."""

    key: Key
    value: str | SecretSource
    span: Span = NOWHERE
    value_span: Span = NOWHERE
    """The place of the value in the script."""


class Name(Node, frozen=True):
    """A name in a statement; its `text` is None for the unquoted ``<default>``."""

    text: str | None
    span: Span = NOWHERE


class Glob(Node, frozen=True):
    """A pattern of `fnmatch` in which quoted characters match only themselves; its `pattern` is None for the
    unquoted ``<default>``.
    """

    pattern: str | None
    span: Span = NOWHERE


class FieldFilter(Node, frozen=True):
    """A filter of `list`: ``KEY=VALUE``, or another comparison."""

    key: str
    pattern: str | None
    """The value or a pattern; None for the unquoted ``<default>``."""
    operator: str = "="
    """The operator: one of ``= != > >= < <=``."""
    span: Span = NOWHERE


class OffsetRow(Node, frozen=True):
    """A line of a file of offsets: topic, partition and offset."""

    topic: str
    partition: int
    offset: int


class OffsetPosition(Node, frozen=True):
    """The position from which a group shall continue; each partition turns it into an offset."""

    how: str
    """The kind of position: earliest, latest, current, offset, time, by (relative to the committed offset) or file."""
    number: int = 0
    """Depending on `how`: the offset, a time in milliseconds since 1970, or the number of records to move forward or
    back.
    """
    path: str = ""
    metadata: str = ""
    """The metadata to commit with an offset; ``""`` for none."""
    epoch: int = -1
    restored: bool = False
    """Whether the group had this offset before: then it may be outside the log."""
    rows: tuple[OffsetRow, ...] | None = None
    """The rows of the file at `path`; None until the file is read, and without a file."""
    span: Span = NOWHERE


# -- the text of these values, which parses back to them ---------------------------------------------------------------


def joined(*words: str) -> str:
    """Return the non-empty words, with spaces between them."""
    return " ".join(word for word in words if word)


def subject_text(subject: Subject) -> str:
    """Return an entity in the notation of the language."""
    if isinstance(subject, ConfigResource):
        name = DEFAULT_NAME if subject.is_default else quote(subject.name)
        return f"{resource_word(subject.type)} {name}"
    words = []
    for part in subject.parts:
        words.append("client" if part.type == CLIENT_ID else part.type)
        words.append(DEFAULT_NAME if part.name is None else quote(part.name))
    return " ".join(words)


def entity_text(entity: Entity | None) -> str:
    """Return the entity of a statement in the notation of the language; ``""`` for None."""
    return subject_text(entity.subject) if entity else ""


def key_text(key: Key) -> str:
    """Return a key in the notation of the language, in quotes if it was quoted."""
    return key.name if not key.quoted and can_stand_bare(key.name) else quoted(key.name)


def name_text(name: Name) -> str:
    """Return a name in the notation of the language; ``<default>`` for a name whose text is None."""
    return DEFAULT_NAME if name.text is None else quote(name.text)


def assign_text(assign: Assign) -> str:
    """Return a ``KEY=VALUE`` in the notation of the language; a secret is written as its source."""
    if isinstance(assign.value, str):
        return f"{key_text(assign.key)}={quote(assign.value) if assign.value else ''}"
    return f"{key_text(assign.key)}={secret_text(assign.value)}"


def secret_text(source: SecretSource) -> str:
    """Return the source of a secret in the notation of the language: ``@FILE`` or ``?``."""
    return f"@{quote(source.path)}" if isinstance(source, FromFile) else "?"


def version_text(version: int | None) -> str:
    """Return ``version N``; ``""`` for None."""
    return "" if version is None else f"version {version}"


def field_text(field: FieldFilter) -> str:
    """Return a filter on a column in the notation of the language."""
    return f"{quote_beside_equals(field.key)}{field.operator}{pattern_text(field.pattern)}"


def pattern_text(pattern: str | None) -> str:
    """Return a glob in the notation of the language; ``<default>`` for None."""
    return DEFAULT_NAME if pattern is None else quote_pattern(pattern)


def partition_text(number: int | None) -> str:
    """Return ``partition N``; ``""`` for None."""
    return "" if number is None else f"partition {number}"


def in_group(group: Name, topic: Name | None = None, partition: int | None = None) -> str:
    """Return ``group NAME [topic NAME [partition N]]``."""
    of_topic = f"topic {name_text(topic)}" if topic is not None else ""
    return joined("group", name_text(group), of_topic, partition_text(partition))


# -- statements --------------------------------------------------------------------------------------------------------


class Statement(Node, frozen=True, kw_only=True):
    """A parsed statement of the command language."""

    span: Span = NOWHERE


class EditStatement(Statement, frozen=True):
    """A statement that stages edits in the plan."""

    @property
    def leaves_out_entity(self) -> bool:
        """Whether the statement names no entity, so that it is about the selected one."""
        return False

    @property
    def holds_ms(self) -> int | None:
        """The duration of the change in milliseconds; None for a permanent change."""
        return None

    @property
    def reads_file(self) -> bool:
        """Whether a part of the statement's contents is in a file on this host."""
        return False

    @property
    def writes_records(self) -> bool:
        """Whether the statement writes records, which a plan file must not contain."""
        return False


class OneEdit(EditStatement, frozen=True):
    """A statement whose only edit follows from its words, whatever the state of the cluster."""

    edit: Edit


class QueryStatement(Statement, frozen=True):
    """A statement that `console.answers.queries` answers from a snapshot."""


class BarStatement(Statement, frozen=True):
    """A statement that only the console or a prompt runs, not a script."""


# -- secrets -----------------------------------------------------------------------------------------------------------


class SecretSlot(NamedTuple):
    """A secret that a statement needs, and how to ask for it."""

    key: str
    """The key under which `Staging.secrets` has the secret."""
    prompt: str
    """The text of the prompt for the operator."""
    source: SecretSource
    span: Span = NOWHERE


def secrets_among(assigns: tuple[Assign, ...], about: str) -> tuple[SecretSlot, ...]:
    """Return a slot for each of these pairs whose value is the source of a secret.

    Args:
        about: the beginning of the prompt: the entity of the keys and a space.
    """
    return tuple(
        SecretSlot(assign.key.name, clean(f"{about}{assign.key.name}", 120), assign.value, assign.span)
        for assign in assigns
        if not isinstance(assign.value, str)
    )


# -- words of edits ----------------------------------------------------------------------------------------------------


def key_of_edit(edit: ConfigEdit) -> Key:
    """Return the key of an edit as a statement needs it: quoted if it is a broker's key that kac does not know as
    dynamic, since it may be a plug-in's.
    """
    type_ = edit.resource.type
    return Key(edit.key, quoted=type_ == BROKER and update_mode(type_, edit.key) is UpdateMode.RESTART)


def assign_of(key: Key, value: str | Secret, *, may_refer: bool = False) -> Assign:
    """Return the ``KEY=VALUE`` that stages a value; ``KEY=?`` if the value may be a secret.

    Args:
        may_refer: whether the value may be a reference to a config provider, which is no secret.
    """
    if isinstance(value, str) and may_refer and is_reference(value):
        return Assign(key, value)
    return Assign(key, Asked() if isinstance(value, Secret) or seems_sensitive(key.name) else value)
