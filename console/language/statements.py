"""The syntax tree: statements as frozen values. Spans are ignored when two are compared."""

from __future__ import annotations

from msgspec import Struct

from console.language.tokenizer import NOWHERE, Span
from console.model.acl import LITERAL
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission, ScramMechanism
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.model.records import DEFAULT_COUNT
from console.operations.goals import Goal

Subject = ConfigResource | QuotaEntity
"""The entity of `set`, `show` and other statements."""


_WRITTEN = frozenset({"span", "value_span", "for_span", "operations_span", "host_span", "quoted"})
"""Fields that say how and where something was written."""


class _Node(Struct, frozen=True, eq=False):
    """Equal where it means the same, wherever and however it was written."""

    def _meaning(self) -> tuple[object, ...]:
        return tuple([getattr(self, name) for name in self.__struct_fields__ if name not in _WRITTEN])

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or not isinstance(other, _Node):
            return NotImplemented
        return self._meaning() == other._meaning()

    def __hash__(self) -> int:
        return hash((type(self), self._meaning()))


class Entity(_Node, frozen=True):
    """An entity as it was named: ``topic orders``, ``user alice client <default>``."""

    subject: Subject
    span: Span = NOWHERE


class Key(_Node, frozen=True):
    """A config's or quota's key. quoted: it was quoted, so it is meant literally."""

    name: str
    quoted: bool = False
    span: Span = NOWHERE


class FromFile(_Node, frozen=True):
    """``@FILE``: the value is in a file."""

    path: str


class Asked(_Node, frozen=True):
    """``?``: the value is asked for, hidden."""


SecretSource = FromFile | Asked


class Assign(_Node, frozen=True):
    """``KEY=VALUE``. value_span: of the value alone."""

    key: Key
    value: str | SecretSource
    span: Span = NOWHERE
    value_span: Span = NOWHERE


class Name(_Node, frozen=True):
    """A name, None for the unquoted ``<default>``."""

    text: str | None
    span: Span = NOWHERE


class Glob(_Node, frozen=True):
    """A pattern for `fnmatch`, in which quoted characters match themselves. None: the unquoted ``<default>``."""

    pattern: str | None
    span: Span = NOWHERE


class FieldFilter(_Node, frozen=True):
    """``KEY=VALUE`` of a list, or another comparison. pattern: None for the unquoted ``<default>``. operator: one of
    ``= != > >= < <=``."""

    key: str
    pattern: str | None
    operator: str = "="
    span: Span = NOWHERE


class _Statement(_Node, frozen=True, kw_only=True):
    span: Span = NOWHERE


class Show(_Statement, frozen=True):
    """``show`` (brief: what is set) or ``describe`` (full: everything; documentation for the keys that are named)."""

    entity: Entity | None
    keys: tuple[Key, ...] = ()
    full: bool = False


class List(_Statement, frozen=True):
    """``list KIND``; all filters must match, one of the globs is enough."""

    kind: str
    globs: tuple[Glob, ...] = ()
    fields: tuple[FieldFilter, ...] = ()


class Alter(_Statement, frozen=True):
    """``set``, ``append`` or ``subtract``. for_ms: how long it holds, None without a limit."""

    verb: str
    entity: Entity | None
    assigns: tuple[Assign, ...]
    for_ms: int | None = None
    for_span: Span = NOWHERE


class Unset(_Statement, frozen=True):
    """``unset``."""

    entity: Entity | None
    keys: tuple[Key, ...]


class Create(_Statement, frozen=True):
    """``create topic``. partitions and replication: -1 for the broker's default; assignments instead of both;
    timeout_ms: None for the client's own."""

    name: Name
    partitions: int = -1
    replication: int = -1
    assignments: tuple[tuple[int, ...], ...] = ()
    timeout_ms: int | None = None
    configs: tuple[Assign, ...] = ()


class Grow(_Statement, frozen=True):
    """``grow topic``: to this many partitions in all."""

    name: Name
    partitions: int


class Delete(_Statement, frozen=True):
    """``delete topic``."""

    name: Name


class Abort(_Statement, frozen=True):
    """``abort transaction``: of a producer, in a partition."""

    topic: Name
    partition: int
    producer_id: int


class Elect(_Statement, frozen=True):
    """``elect``. broker, topic, partition: None for all; an unclean election names a partition."""

    unclean: bool = False
    broker: int | None = None
    topic: Name | None = None
    partition: int | None = None


class CancelMoves(_Statement, frozen=True):
    """``cancel move``. partition: None for all that move."""

    topic: Name
    partition: int | None = None


class MovePartition(_Statement, frozen=True):
    """``move``. replicas: brokers, the preferred leader first. resize: their number may differ from today's."""

    topic: Name
    partition: int
    replicas: tuple[int, ...]
    resize: bool = False


class MoveToDir(_Statement, frozen=True):
    """``move … to dir``: a broker's replica into another of its log directories."""

    topic: Name
    partition: int
    broker: int
    path: str


class BeginOperation(_Statement, frozen=True):
    """``drain``, ``replace``, ``balance``, ``replication``, ``back``, and ``move`` of a whole topic or with a throttle.
    throttle: bytes per second that each broker copies, and is read, at most; None for no throttle."""

    goal: Goal
    throttle: int | None = None


class AskOfOperation(_Statement, frozen=True):
    """``operation``. throttle: bytes per second, 0 for none; None to end without the throttles of brokers that do not
    answer."""

    number: int
    throttle: int | None = None


class DeleteRecords(_Statement, frozen=True):
    """``delete records``. partition: None for all. before: an offset; at_ms: a time, ms since 1970; neither: latest."""

    topic: Name
    partition: int | None = None
    before: int | None = None
    at_ms: int | None = None


class Unregister(_Statement, frozen=True):
    """``unregister broker``."""

    broker_id: int


class FeatureSet(_Statement, frozen=True):
    """``feature set``. levels: feature and level, each once."""

    levels: tuple[tuple[str, int], ...]


class Access(_Statement, frozen=True):
    """``allow`` or ``deny``, or ``revoke`` of either. resource_name: None for the cluster."""

    revoke: bool
    permission: Permission
    principal: str
    operations: tuple[AclOperation, ...]
    resource_type: AclResourceType
    resource_name: str | None
    pattern: PatternType = LITERAL
    host: str = "*"
    operations_span: Span = NOWHERE


class ScramSet(_Statement, frozen=True):
    """``scram set``. iterations: None for the default."""

    user: str
    mechanism: ScramMechanism
    password: SecretSource
    iterations: int | None = None


class ScramDelete(_Statement, frozen=True):
    """``scram delete``."""

    user: str
    mechanism: ScramMechanism


class OffsetRow(_Node, frozen=True):
    """A line of a file of offsets."""

    topic: str
    partition: int
    offset: int


class OffsetPosition(_Node, frozen=True):
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


class ResetOffsets(_Statement, frozen=True):
    """``reset group``: of all that it committed, of a topic, or of a partition. share: ``reset share group``."""

    group: Name
    to: OffsetPosition
    topic: Name | None = None
    partition: int | None = None
    share: bool = False


class SkipRecords(_Statement, frozen=True):
    """``skip group``."""

    group: Name
    topic: Name
    partition: int
    count: int = 1


class CloneGroup(_Statement, frozen=True):
    """``clone group``: the offsets of one for another."""

    group: Name
    to: Name


class DeleteGroupOffsets(_Statement, frozen=True):
    """``delete group``: the group, or its offsets of a topic or partition."""

    group: Name
    topic: Name | None = None
    partition: int | None = None


class EffectiveQuota(_Statement, frozen=True):
    """``effective user U client C``: names, never ``<default>``; client ``""`` for a client without an id; key
    None for all."""

    user: str
    client: str
    key: Key | None = None


class Records(_Statement, frozen=True):
    """``records``. start: ``last``, ``first``, ``offset``, ``time`` or ``group``; at: the offset, time or group as
    text. text, key, json: filters of `console.model.record_filter`. form: how contents are shown, ``""``: by what they
    look like. reveal: also in a context that hides them."""

    topic: str
    partition: int | None = None
    start: str = "last"
    at: str = ""
    count: int = DEFAULT_COUNT
    text: str = ""
    key: str = ""
    json: str = ""
    committed: bool = True
    form: str = ""
    reveal: bool = False


class Explain(_Statement, frozen=True):
    """``explain``. resource_name: None for the cluster; host: ``*`` for any address."""

    principal: str
    operations: tuple[AclOperation, ...]
    resource_type: AclResourceType
    resource_name: str | None
    host: str = "*"
    operations_span: Span = NOWHERE
    host_span: Span = NOWHERE


RUNBOOK = "--runbook"
REVEAL = "--reveal"
ACCEPT = "--accept"


class ShowPlan(_Statement, frozen=True):
    """``plan``; in the bar with a filter. runbook: as the commands of Kafka's own tools."""

    filter: str = ""
    runbook: bool = False


class Check(_Statement, frozen=True):
    """``check``."""


class Apply(_Statement, frozen=True):
    """``apply``. yes: without asking. force: overwrites another client's changes. accept: accepted warnings,
    by name or as NAME=SUBJECT."""

    yes: bool = False
    valid_only: bool = False
    force: bool = False
    accept: tuple[str, ...] = ()


class Discard(_Statement, frozen=True):
    """``discard``: everything, an entity, or one key of it."""

    entity: Entity | None = None
    key: Key | None = None


class Undo(_Statement, frozen=True):
    """``undo``."""


class Redo(_Statement, frozen=True):
    """``redo``."""


class Revert(_Statement, frozen=True):
    """``revert CHANGE``."""

    change: str


class History(_Statement, frozen=True):
    """``history``: of everything, of an entity, or of lines with a text."""

    entity: Entity | None = None
    filter: str = ""


class View(_Statement, frozen=True):
    """A pane by its name. filter: ``""`` without a filter."""

    pane: str
    filter: str = ""


class UseContext(_Statement, frozen=True):
    """``ctx NAME``."""

    name: str


class UseTheme(_Statement, frozen=True):
    """``theme light``."""

    name: str


class Record(_Statement, frozen=True):
    """``record FILE``; ``""`` for a new file of the state folder."""

    file: str = ""


class AtTime(_Statement, frozen=True):
    """``at 03:11``: in a replay. time: as written."""

    time: str


class Help(_Statement, frozen=True):
    """``help``, ``help WORD``."""

    word: str = ""


class Quit(_Statement, frozen=True):
    """``q``."""


EditStatement = (
    Alter
    | Unset
    | Create
    | Grow
    | Delete
    | Access
    | ScramSet
    | ScramDelete
    | Abort
    | Elect
    | CancelMoves
    | MovePartition
    | MoveToDir
    | DeleteRecords
    | Unregister
    | FeatureSet
    | ResetOffsets
    | SkipRecords
    | CloneGroup
    | DeleteGroupOffsets
)
QueryStatement = Show | List | EffectiveQuota | Explain
PlanStatement = ShowPlan | Check | Apply | Discard | Undo | Redo | Revert | History
BarStatement = BeginOperation | AskOfOperation | View | UseContext | UseTheme | Record | AtTime | Help | Quit
Statement = EditStatement | QueryStatement | Records | PlanStatement | BarStatement
