"""What a statement means: the grammar's syntax tree, as frozen values. Places don't count when two are compared."""

from __future__ import annotations

from dataclasses import dataclass, field

from console.language.tokenizer import NOWHERE, Span
from console.model.codes import AclOperation, AclResourceType, Permission, ScramMechanism
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity

Subject = ConfigResource | QuotaEntity
"""What `set`, `show` and the like are about."""


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity as it was named: ``topic orders``, ``user alice client <default>``."""

    subject: Subject
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Key:
    """A config's or quota's key. quoted: it was not written plainly, so it is meant as it stands."""

    name: str
    quoted: bool = field(default=False, compare=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FromFile:
    """``@FILE``: the value stands in a file."""

    path: str


@dataclass(frozen=True, slots=True)
class Asked:
    """``?``: the value is asked for, hidden."""


SecretSource = FromFile | Asked


@dataclass(frozen=True, slots=True)
class Assign:
    """``KEY=VALUE``. value_span: of the value alone."""

    key: Key
    value: str | SecretSource
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    value_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A name, None for the unquoted ``<default>``."""

    text: str | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern as `fnmatch` reads it; what was quoted stands for itself. None: the unquoted ``<default>``."""

    pattern: str | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FieldFilter:
    """``KEY=VALUE`` of a list, or another comparison. pattern: None for the unquoted ``<default>``. operator: one of
    ``= != > >= < <=``."""

    key: str
    pattern: str | None
    operator: str = "="
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class _Statement:
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Show(_Statement):
    """``show`` (brief: what is set) or ``describe`` (full: everything; documentation for the keys that are named)."""

    entity: Entity | None
    keys: tuple[Key, ...] = ()
    full: bool = False


@dataclass(frozen=True, slots=True)
class List(_Statement):
    """``list KIND``; all filters have to hold, globs among themselves are alternatives."""

    kind: str
    globs: tuple[Glob, ...] = ()
    fields: tuple[FieldFilter, ...] = ()


@dataclass(frozen=True, slots=True)
class Alter(_Statement):
    """``set``, ``append`` or ``subtract``. for_ms: how long, None for good."""

    verb: str
    entity: Entity | None
    assigns: tuple[Assign, ...]
    for_ms: int | None = None
    for_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unset(_Statement):
    """``unset``."""

    entity: Entity | None
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Create(_Statement):
    """``create topic``. partitions and replication: -1 for the broker's default; assignments instead of both;
    timeout_ms: None for the client's own."""

    name: Name
    partitions: int = -1
    replication: int = -1
    assignments: tuple[tuple[int, ...], ...] = ()
    timeout_ms: int | None = None
    configs: tuple[Assign, ...] = ()


@dataclass(frozen=True, slots=True)
class Grow(_Statement):
    """``grow topic``: to this many partitions in all."""

    name: Name
    partitions: int


@dataclass(frozen=True, slots=True)
class Delete(_Statement):
    """``delete topic``."""

    name: Name


@dataclass(frozen=True, slots=True)
class Access(_Statement):
    """``allow`` or ``deny``, or ``revoke`` of either. resource_name: None for the cluster."""

    revoke: bool
    permission: Permission
    principal: str
    operations: tuple[AclOperation, ...]
    resource_type: AclResourceType
    resource_name: str | None
    prefixed: bool = False
    host: str = "*"
    operations_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ScramSet(_Statement):
    """``scram set``. iterations: None for the default."""

    user: str
    mechanism: ScramMechanism
    password: SecretSource
    iterations: int | None = None


@dataclass(frozen=True, slots=True)
class ScramDelete(_Statement):
    """``scram delete``."""

    user: str
    mechanism: ScramMechanism


@dataclass(frozen=True, slots=True)
class EffectiveQuota(_Statement):
    """``effective user U client C``: names, never ``<default>``; client ``""`` for a client without an id; key
    None for all."""

    user: str
    client: str
    key: Key | None = None


RUNBOOK = "--runbook"
ACCEPT = "--accept"


@dataclass(frozen=True, slots=True)
class ShowPlan(_Statement):
    """``plan``; in the bar with a filter. runbook: as the commands of Kafka's own tools."""

    filter: str = ""
    runbook: bool = False


@dataclass(frozen=True, slots=True)
class Check(_Statement):
    """``check``."""


@dataclass(frozen=True, slots=True)
class Apply(_Statement):
    """``apply``. yes: without asking. force: over what another client changed meanwhile. accept: names of warnings that
    are no hindrance."""

    yes: bool = False
    valid_only: bool = False
    force: bool = False
    accept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Discard(_Statement):
    """``discard``: everything, an entity, or one key of it."""

    entity: Entity | None = None
    key: Key | None = None


@dataclass(frozen=True, slots=True)
class Undo(_Statement):
    """``undo``."""


@dataclass(frozen=True, slots=True)
class Redo(_Statement):
    """``redo``."""


@dataclass(frozen=True, slots=True)
class Revert(_Statement):
    """``revert CHANGE``."""

    change: str


@dataclass(frozen=True, slots=True)
class History(_Statement):
    """``history``: of all, of an entity, or with a text in a line."""

    entity: Entity | None = None
    filter: str = ""


@dataclass(frozen=True, slots=True)
class View(_Statement):
    """A pane by its name, with a filter (``""``: none)."""

    pane: str
    filter: str = ""


@dataclass(frozen=True, slots=True)
class UseContext(_Statement):
    """``ctx NAME``."""

    name: str


@dataclass(frozen=True, slots=True)
class Help(_Statement):
    """``help``, ``help WORD``."""

    word: str = ""


@dataclass(frozen=True, slots=True)
class Quit(_Statement):
    """``q``."""


EditStatement = Alter | Unset | Create | Grow | Delete | Access | ScramSet | ScramDelete
QueryStatement = Show | List | EffectiveQuota
PlanStatement = ShowPlan | Check | Apply | Discard | Undo | Redo | Revert | History
BarStatement = View | UseContext | Help | Quit
Statement = EditStatement | QueryStatement | PlanStatement | BarStatement
