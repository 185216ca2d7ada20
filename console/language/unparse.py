"""Writes statements as text that parses to the same statements."""

from __future__ import annotations

from datetime import UTC, datetime

from console.language.arguments import ACL_CLUSTER, ACL_TYPES
from console.language.quoting import (
    DEFAULT_NAME,
    ENTITY_WORDS,
    can_stand_bare,
    quote,
    quote_beside_equals,
    quote_pattern,
    quoted,
)
from console.language.record_grammar import records_text
from console.language.statements import (
    ACCEPT,
    RUNBOOK,
    Abort,
    Access,
    Alter,
    Apply,
    AskOfOperation,
    Assign,
    AtTime,
    BeginOperation,
    CancelMoves,
    Check,
    CloneGroup,
    Create,
    Delete,
    DeleteGroupOffsets,
    DeleteRecords,
    Discard,
    EffectiveQuota,
    Elect,
    Entity,
    Explain,
    FeatureSet,
    FieldFilter,
    FromFile,
    Grow,
    Help,
    History,
    Key,
    List,
    MovePartition,
    MoveToDir,
    Name,
    OffsetPosition,
    Quit,
    Record,
    Records,
    Redo,
    ResetOffsets,
    Revert,
    ScramDelete,
    ScramSet,
    SecretSource,
    Show,
    ShowPlan,
    SkipRecords,
    Statement,
    Subject,
    Undo,
    Unregister,
    Unset,
    UseContext,
    UseTheme,
    View,
)
from console.model.acl import LITERAL
from console.model.config import ConfigResource
from console.model.numbers import commas
from console.model.quota import CLIENT_ID
from console.operations.goals import Balance, Drain, DrainDir, Goal, MoveIntoDir, MoveTopic, Replace, Replicate, Restore
from console.plan.amounts import duration_text
from console.present.names import resource_word

_ACL_WORD = {type_: word for word, type_ in ACL_TYPES.items()}


def subject_text(subject: Subject) -> str:
    """An entity in the language."""
    if isinstance(subject, ConfigResource):
        name = DEFAULT_NAME if subject.is_cluster_default else quote(subject.name)
        return f"{resource_word(subject.type)} {name}"
    words = []
    for part in subject.parts:
        words.append("client" if part.type == CLIENT_ID else part.type)
        words.append(DEFAULT_NAME if part.name is None else quote(part.name))
    return " ".join(words)


def unparse(statement: Statement) -> str:
    """One statement as text."""
    match statement:
        case Records():
            return records_text(statement)
        case Show():
            verb = "describe" if statement.full else "show"
            return _join(verb, _entity(statement.entity), *map(_key, statement.keys))
        case List():
            fields = map(_field, statement.fields)
            return _join("list", statement.kind, *(_pattern(glob.pattern) for glob in statement.globs), *fields)
        case EffectiveQuota():
            key = _key(statement.key) if statement.key else ""
            return _join("effective user", quote(statement.user), "client", quote(statement.client), key)
        case Explain():
            host = f"from {quote(statement.host)}" if statement.host != "*" else ""
            asked = f"{quote(statement.principal)} {_operations(statement)}"
            return _join("explain", asked, "on", _acl_target(statement), host)
        case Alter():
            limit = f"for {duration_text(statement.for_ms)}" if statement.for_ms is not None else ""
            return _join(statement.verb, _entity(statement.entity), *map(_assign, statement.assigns), limit)
        case Unset():
            return _join("unset", _entity(statement.entity), *map(_key, statement.keys))
        case Create():
            return _create(statement)
        case Grow():
            return f"grow topic {_name(statement.name)} partitions={statement.partitions}"
        case Delete():
            return f"delete topic {_name(statement.name)}"
        case ResetOffsets():
            return _join(
                "reset",
                "share" if statement.share else "",
                _offsets_of(statement),
                "to",
                _offset_position(statement.to),
            )
        case SkipRecords():
            count = str(statement.count) if statement.count != 1 else ""
            return _join("skip", _offsets_of(statement), count)
        case CloneGroup():
            return f"clone group {_name(statement.group)} to {_name(statement.to)}"
        case DeleteGroupOffsets():
            return _join("delete", _offsets_of(statement))
        case Abort():
            where = f"topic {_name(statement.topic)} partition {statement.partition}"
            return f"abort transaction {where} producer {statement.producer_id}"
        case Access():
            return _access(statement)
        case DeleteRecords():
            return _delete_records(statement)
        case Unregister():
            return f"unregister broker {statement.broker_id}"
        case FeatureSet():
            return _join("feature set", *(f"{quote_beside_equals(name)}={level}" for name, level in statement.levels))
        case ScramSet():
            iterations = f"iterations={statement.iterations}" if statement.iterations is not None else ""
            who = f"{quote(statement.user)} {statement.mechanism.label}"
            return _join("scram set", who, iterations, f"password={_secret(statement.password)}")
        case ScramDelete():
            return f"scram delete {quote(statement.user)} {statement.mechanism.label}"
        case Elect():
            return _elect(statement)
        case CancelMoves():
            return _join("cancel move topic", _name(statement.topic), _partition(statement.partition))
        case MovePartition():
            to = f"to {commas(statement.replicas)}{' resize' if statement.resize else ''}"
            return _join("move topic", _name(statement.topic), _partition(statement.partition), to)
        case MoveToDir():
            to = f"broker {statement.broker} to dir {quote(statement.path)}"
            return _join("move topic", _name(statement.topic), _partition(statement.partition), to)
        case _:
            return _plan_or_bar(statement)


def _plan_or_bar(statement: Statement) -> str:
    match statement:
        case ShowPlan():
            filter_ = quoted(statement.filter) if statement.filter == RUNBOOK else quote(statement.filter)
            return _join("plan", RUNBOOK if statement.runbook else filter_ if statement.filter else "")
        case Check():
            return "check"
        case Apply():
            given = {"--yes": statement.yes, "--valid-only": statement.valid_only, "--force": statement.force}
            accept = f"{ACCEPT} {','.join(statement.accept)}" if statement.accept else ""
            return _join("apply", *(flag for flag, on in given.items() if on), accept)
        case Discard():
            key = _key(statement.key) if statement.key else ""
            return _join("discard", _entity(statement.entity), key)
        case Undo():
            return "undo"
        case Redo():
            return "redo"
        case Revert():
            return f"revert {quote(statement.change)}"
        case History():
            # A text that looks like an entity's keyword is quoted.
            written = quoted if statement.filter in ENTITY_WORDS else quote
            return _join("history", _entity(statement.entity), written(statement.filter) if statement.filter else "")
        case AskOfOperation(number=number, throttle=throttle):
            return f"operation {number} {f'throttle {throttle}' if throttle is not None else 'give-up'}"
        case BeginOperation(goal=MoveIntoDir() as goal, throttle=None) if goal.partition is not None:
            return f"{_goal(goal)} throttle 0"  # without the word it is an edit
        case BeginOperation(goal=goal, throttle=throttle):
            return _join(_goal(goal), f"throttle {throttle}" if throttle is not None else "")
        case View():
            return _join(statement.pane, quote(statement.filter) if statement.filter else "")
        case UseContext():
            return f"ctx {quote(statement.name)}"
        case UseTheme():
            return f"theme {statement.name}"
        case Record():
            return _join("record", quote(statement.file) if statement.file else "")
        case AtTime():
            return f"at {quote(statement.time)}"
        case Help():
            return _join("help", quote(statement.word) if statement.word else "")
        case Quit():
            return "q"
        case _:
            raise TypeError(f"{type(statement).__name__} is no statement of the language")


def _goal(goal: Goal) -> str:
    match goal:
        case Drain(brokers=brokers):
            return f"drain broker {commas(brokers)}"
        case Replace(broker=broker, by=by):
            return f"replace broker {broker} by {by}"
        case MoveTopic(topic=topic, brokers=brokers):
            return f"move topic {quote(topic)} to {commas(brokers)}"
        case DrainDir(broker=broker, path=path):
            return f"drain broker {broker} dir {quote(path)}"
        case MoveIntoDir(topic=topic, broker=broker, path=path, partition=number):
            one = _partition(number) if number is not None else ""
            return _join("move topic", quote(topic), one, f"broker {broker} to dir {quote(path)}")
        case Replicate(topic=topic, replicas=replicas):
            return f"replication topic {quote(topic)} {replicas}"
        case Restore(operation=operation):
            return f"back {operation}"
        case Balance():
            return "balance"


def _join(*words: str) -> str:
    return " ".join(word for word in words if word)


def _entity(entity: Entity | None) -> str:
    return subject_text(entity.subject) if entity else ""


def _key(key: Key) -> str:
    # Quotes are kept: a quoted key is meant literally (see `statements.Key`).
    return key.name if not key.quoted and can_stand_bare(key.name) else quoted(key.name)


def _name(name: Name) -> str:
    return DEFAULT_NAME if name.text is None else quote(name.text)


def _assign(assign: Assign) -> str:
    if isinstance(assign.value, str):
        return f"{_key(assign.key)}={quote(assign.value) if assign.value else ''}"
    return f"{_key(assign.key)}={_secret(assign.value)}"


def _secret(source: SecretSource) -> str:
    return f"@{quote(source.path)}" if isinstance(source, FromFile) else "?"


def _field(field: FieldFilter) -> str:
    return f"{quote_beside_equals(field.key)}{field.operator}{_pattern(field.pattern)}"


def _pattern(pattern: str | None) -> str:
    return DEFAULT_NAME if pattern is None else quote_pattern(pattern)


def _offsets_of(statement: ResetOffsets | SkipRecords | DeleteGroupOffsets) -> str:
    topic = f"topic {_name(statement.topic)}" if statement.topic is not None else ""
    partition = f"partition {statement.partition}" if statement.partition is not None else ""
    return _join("group", _name(statement.group), topic, partition)


def _offset_position(to: OffsetPosition) -> str:
    match to.how:
        case "offset":
            epoch = f"epoch {to.epoch}" if to.epoch >= 0 else ""
            metadata = f"metadata {quote(to.metadata)}" if to.metadata else ""
            return _join("offset", str(to.number), epoch, metadata, "restored" if to.restored else "")
        case "time":
            at = datetime.fromtimestamp(to.number // 1000, UTC)
            return f"time {at:%Y-%m-%dT%H:%M:%S}.{to.number % 1000:03}Z"
        case "by":
            return f"by {to.number:+}"
        case "file":
            return f"file {quote(to.path)}"
        case how:
            return how


def _create(statement: Create) -> str:
    partitions = f"partitions={statement.partitions}" if statement.partitions >= 0 else ""
    replication = f"replication={statement.replication}" if statement.replication >= 0 else ""
    lists = ",".join(":".join(map(str, brokers)) for brokers in statement.assignments)
    assign = f"assign={lists}" if lists else ""
    timeout = f"timeout={duration_text(statement.timeout_ms)}" if statement.timeout_ms is not None else ""
    configs = map(_assign, statement.configs)
    return _join("create topic", _name(statement.name), partitions, replication, assign, timeout, *configs)


def _elect(statement: Elect) -> str:
    kind = "unclean" if statement.unclean else "preferred"
    if statement.topic is not None:
        return _join("elect", kind, "topic", _name(statement.topic), _partition(statement.partition))
    return f"elect {kind} " + ("all" if statement.broker is None else f"broker {statement.broker}")


def _partition(number: int | None) -> str:
    return "" if number is None else f"partition {number}"


def _delete_records(statement: DeleteRecords) -> str:
    partition = f"partition {statement.partition}" if statement.partition is not None else ""
    if statement.before is not None:
        before = str(statement.before)
    elif statement.at_ms is not None:
        before = datetime.fromtimestamp(statement.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    else:
        before = "latest"
    return _join("delete records topic", _name(statement.topic), partition, "before", before)


def _access(statement: Access) -> str:
    permission = statement.permission.name.lower()
    verb = f"revoke {permission}" if statement.revoke else permission
    pattern = "" if statement.pattern == LITERAL else statement.pattern.name.lower()
    host = f"from {quote(statement.host)}" if statement.host != "*" else ""
    who = f"{quote(statement.principal)} {_operations(statement)}"
    return _join(verb, who, "on", _acl_target(statement), pattern, host)


def _operations(statement: Access | Explain) -> str:
    return ",".join(operation.name for operation in statement.operations)


def _acl_target(statement: Access | Explain) -> str:
    if statement.resource_type == ACL_CLUSTER:
        return "cluster"
    word = _ACL_WORD.get(statement.resource_type) or statement.resource_type.name.lower()
    # A name that is spelled * is quoted where one resource is meant.
    name = statement.resource_name or ""
    written = quoted if name == "*" and isinstance(statement, Explain) else quote
    return _join(word, written(name))
