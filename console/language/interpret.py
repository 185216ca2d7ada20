"""Turns statements into edits: looks up names, and checks keys and values against the snapshot. And turns edits into
the statements that stage them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from console.language.arguments import ACL_CLUSTER
from console.language.errors import CommandError, did_you_mean
from console.language.group_edits import group_edits
from console.language.quoting import quote_beside_equals, quoted
from console.language.secret_values import is_sensitive
from console.language.sensitive import looks_sensitive
from console.language.statements import (
    Abort,
    Access,
    Alter,
    Asked,
    Assign,
    CancelMoves,
    CloneGroup,
    Create,
    Delete,
    DeleteGroupOffsets,
    DeleteRecords,
    EditStatement,
    Elect,
    Entity,
    Explain,
    FeatureSet,
    Grow,
    Key,
    MovePartition,
    MoveToDir,
    Name,
    OffsetPosition,
    ResetOffsets,
    ScramDelete,
    ScramSet,
    SkipRecords,
    Subject,
    Unregister,
    Unset,
)
from console.language.tokenizer import Span
from console.language.unparse import unparse
from console.language.vocabulary import Creates, check_key, known_entry, known_keys, require, require_topic, subject_of
from console.model import authorizer
from console.model.acl import CLUSTER_NAME, Acl
from console.model.broker_keys import UpdateMode, update_mode
from console.model.changes import NewTopic, ScramUser
from console.model.codes import BROKER, AclOperation, AclResourceType, ConfigType
from console.model.config import ConfigEntry, ConfigResource, broker_resource, topic_resource
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.plan.amounts import exact_number
from console.plan.config_rules import LOG_LEVELS
from console.plan.edits import (
    AddAcl,
    AppendConfig,
    CommitOffset,
    ConfigEdit,
    CreateTopic,
    DeleteGroup,
    DeleteOffset,
    DeleteScram,
    DeleteTopic,
    Edit,
    EndTransaction,
    GrowTopic,
    RemoveAcl,
    SetConfig,
    SetQuota,
    SubtractConfig,
    UnsetConfig,
    UnsetQuota,
    UpsertScram,
)
from console.plan.kinds.features import SetFeature
from console.plan.kinds.leaders import ElectPreferred, ElectUnclean, preferred_brokers, preferred_elections
from console.plan.kinds.moves import CancelMove, MoveReplicas, moves_of
from console.plan.kinds.records import TrimLog
from console.plan.kinds.registrations import RemoveRegistration
from console.plan.kinds.replica_dirs import MoveReplicaDir
from console.plan.plan import EMPTY
from console.plan.predict_configs import UNDESCRIBED
from console.plan.values import parse_quota, parse_value
from console.present.names import resource_word
from console.present.text import clean

# -- ACLs, and the operations of a resource ----------------------------------------------------------------------------

OPERATIONS_OF: Mapping[AclResourceType, tuple[str, ...]] = {
    type_: ("ALL", *(operation.name for operation in checked)) for type_, checked in authorizer.OPERATIONS_OF.items()
}
"""The operations that an ACL on each type of resource can have."""


def acls_of(statement: Access) -> tuple[Acl, ...]:
    """Return an ACL for each operation. Raises CommandError for an operation that the resource does not have, unless it
    is revoked: a broker stores such an ACL, and never checks it."""
    if not statement.revoke:
        require_checked(statement)
    return tuple(_acl(statement, operation) for operation in statement.operations)


def require_checked(statement: Access | Explain) -> None:
    """Raises CommandError for an operation that brokers never check on the statement's type of resource."""
    legal = OPERATIONS_OF[statement.resource_type]
    for operation in statement.operations:
        if operation.name not in legal:
            what = statement.resource_type.name.lower().replace("_", "-")
            message = f"Kafka never checks {operation.name} on a {what}"
            raise CommandError(message, f"one of {', '.join(legal)}", statement.operations_span)


def _acl(statement: Access, operation: AclOperation) -> Acl:
    return Acl(
        statement.resource_type,
        CLUSTER_NAME if statement.resource_name is None else statement.resource_name,
        statement.pattern,
        statement.principal,
        statement.host,
        operation,
        statement.permission,
    )


# -- from statements to edits ------------------------------------------------------------------------------------------

__all__ = ["SCRAM_ITERATIONS", "command_of", "to_edits", "to_statement"]

LIST = ConfigType(7)
SCRAM_ITERATIONS = 4096
"""The default: the minimum that Kafka accepts (ScramMechanism.minIterations)."""
Secrets = Mapping[str, Secret]
"""Key -> the secret for a slot of `secret_values.secret_slots`."""


def to_edits(
    statement: EditStatement,
    snapshot: Snapshot,
    *,
    selected: Subject | None = None,
    plan: Creates = EMPTY,
    secrets: Secrets | None = None,
) -> tuple[Edit, ...]:
    """Return the edits that a statement stages. `needs(statement, selected)` must have been read into the snapshot.

    selected: the entity that is meant where none is named. plan: what is staged already; a topic that it creates
    exists. Whether edits contradict each other is checked when they are staged. Raises CommandError, with the place in
    the script.
    """
    given = secrets or {}
    match statement:
        case Alter():
            return tuple(_alter(statement, snapshot, selected, plan, given))
        case Unset():
            return tuple(_unset(statement, snapshot, selected, plan))
        case Create():
            return (_create(statement, snapshot, given),)
        case Grow():
            require_topic(snapshot, statement.name.text or "", statement.name.span, plan)
            return (GrowTopic(statement.name.text or "", statement.partitions),)
        case Delete():
            require_topic(snapshot, statement.name.text or "", statement.name.span, plan)
            return (DeleteTopic(statement.name.text or ""),)
        case Access():
            return tuple((RemoveAcl if statement.revoke else AddAcl)(acl) for acl in acls_of(statement))
        case ScramSet():
            return (_scram_set(statement, given),)
        case Elect():
            return _elections(statement, snapshot, plan)
        case CancelMoves(topic=name, partition=number):
            require_topic(snapshot, name.text or "", name.span, plan)
            return _cancellations(name.text or "", number, snapshot)
        case MovePartition(topic=name, partition=number):
            require_topic(snapshot, name.text or "", name.span, plan)
            _require_partition(name.text or "", number, snapshot, statement.span)
            return (MoveReplicas(name.text or "", number, statement.replicas, statement.resize),)
        case MoveToDir(topic=name, partition=number):
            require_topic(snapshot, name.text or "", name.span, plan)
            _require_partition(name.text or "", number, snapshot, statement.span)
            return (MoveReplicaDir(name.text or "", number, statement.broker, statement.path),)
        case DeleteRecords():
            return tuple(_trims(statement, snapshot, plan))
        case Unregister():
            return (RemoveRegistration(statement.broker_id),)
        case FeatureSet():
            return tuple(SetFeature(name, level) for name, level in statement.levels)
        case ScramDelete():
            return (DeleteScram(ScramUser(statement.user, statement.mechanism)),)
        case ResetOffsets() | SkipRecords() | CloneGroup() | DeleteGroupOffsets():
            return tuple(group_edits(statement, snapshot))
        case Abort():
            require_topic(snapshot, statement.topic.text or "", statement.topic.span, plan)
            return (EndTransaction(statement.topic.text or "", statement.partition, statement.producer_id),)


# -- configs and quotas --------------------------------------------------------------------------------------------


def _alter(
    statement: Alter, snapshot: Snapshot, selected: Subject | None, plan: Creates, secrets: Secrets
) -> Iterator[Edit]:
    keys = tuple(assign.key for assign in statement.assigns)
    subject, span = subject_of(statement.entity, selected, statement.span, keys)
    _no_key_twice(keys)
    if isinstance(subject, QuotaEntity):
        yield from _set_quotas(statement, subject)
        return
    require(snapshot, subject, span, plan)
    for assign in statement.assigns:
        entry = _entry(snapshot, subject, assign.key)
        if statement.verb == "set":
            yield SetConfig(subject, assign.key.name, _value(subject, assign, entry, secrets))
        else:
            value = _items(statement.verb, subject, assign, entry)
            edit = AppendConfig if statement.verb == "append" else SubtractConfig
            yield edit(subject, assign.key.name, value)


def _no_key_twice(keys: tuple[Key, ...]) -> None:
    seen: set[str] = set()
    for key in keys:
        if key.name in seen:
            raise CommandError(f"'{clean(key.name, 80)}' is given twice", "give it once", key.span)
        seen.add(key.name)


def _set_quotas(statement: Alter, entity: QuotaEntity) -> Iterator[Edit]:
    if statement.verb != "set":
        raise CommandError(f"quotas have no lists to {statement.verb}", "set gives a quota a value", statement.span)
    for assign in statement.assigns:
        check_key(entity, assign.key)
        if not isinstance(assign.value, str):
            hint = f"write {quote_beside_equals(assign.key.name)}=VALUE"
            raise CommandError("a quota can't be a secret", hint, assign.value_span)
        try:
            yield SetQuota(entity, assign.key.name, parse_quota(assign.key.name, assign.value))
        except ValueError as error:
            raise CommandError(clean(str(error), 400), "", assign.value_span) from None


def _unset(statement: Unset, snapshot: Snapshot, selected: Subject | None, plan: Creates) -> Iterator[Edit]:
    subject, span = subject_of(statement.entity, selected, statement.span, statement.keys)
    _no_key_twice(statement.keys)
    if isinstance(subject, QuotaEntity):
        for key in statement.keys:
            check_key(subject, key, snapshot.quotas.get(subject, {}))
            yield UnsetQuota(subject, key.name)
        return
    require(snapshot, subject, span, plan)
    for key in statement.keys:
        _entry(snapshot, subject, key)
        yield UnsetConfig(subject, key.name)


def _entry(snapshot: Snapshot, target: ConfigResource, key: Key) -> ConfigEntry | None:
    """The entry of a key, None if nothing was described. Raises CommandError for an unknown key.

    Brokers keep unknown keys for their plug-ins: such a key has to be quoted. A throttle is described once it is set.
    """
    entry = known_entry(snapshot, target, key.name)
    if entry is not None:
        return entry
    legal = known_keys(snapshot, target)
    if not legal or (target.type == BROKER and (key.quoted or key.name in UNDESCRIBED)):
        return None

    def hint() -> str:
        meant = did_you_mean(key.name, legal)
        if target.type != BROKER:
            return meant
        return f"{meant} Quote a plug-in's own key: {quoted(key.name)}".strip()

    what = "logger" if target.type.entity.has_levels else f"{resource_word(target.type)} config"
    raise CommandError(f"unknown {what} '{clean(key.name, 80)}'", hint, key.span)


def _value(target: ConfigResource, assign: Assign, entry: ConfigEntry | None, secrets: Secrets) -> str | Secret:
    key = assign.key.name
    if is_sensitive(target, key, entry):
        if isinstance(assign.value, str):
            hint = f"write {quote_beside_equals(key)}=@FILE, or {quote_beside_equals(key)}=? to be asked, hidden"
            raise CommandError(
                f"{clean(key, 80)} is sensitive: its value is never written out", hint, assign.value_span
            )
        return secrets[key]
    text = assign.value if isinstance(assign.value, str) else secrets[key].reveal()
    if target.type.entity.has_levels:
        return _level(text, assign)
    try:
        return parse_value(key, entry.type if entry is not None else ConfigType(0), text)
    except ValueError as error:
        raise CommandError(clean(str(error), 400), "", assign.value_span) from None


def _level(text: str, assign: Assign) -> str:
    if text not in LOG_LEVELS:
        hint = did_you_mean(text.upper(), LOG_LEVELS) or f"levels: {', '.join(LOG_LEVELS)}"
        raise CommandError(f"unknown log level '{clean(text, 40)}'", hint, assign.value_span)
    return text


def _items(verb: str, target: ConfigResource, assign: Assign, entry: ConfigEntry | None) -> str:
    key = assign.key.name
    if entry is not None and entry.type.known and entry.type != LIST:
        type_ = entry.type.name.lower()
        raise CommandError(f"{verb} needs a list, and {key} is {type_}", "set gives it a value", assign.key.span)
    if target.type.entity.has_levels:
        raise CommandError(f"{verb} needs a list, not a log level", "set gives it a value", assign.key.span)
    if not isinstance(assign.value, str):
        raise CommandError(f"{verb} takes no secrets", f"write {quote_beside_equals(key)}=ITEM,ITEM", assign.value_span)
    return parse_value(key, LIST, assign.value)


# -- topics --------------------------------------------------------------------------------------------------------


def _create(statement: Create, snapshot: Snapshot, secrets: Secrets) -> CreateTopic:
    name = statement.name.text or ""
    for broker in sorted({broker for replicas in statement.assignments for broker in replicas}):
        require(snapshot, broker_resource(broker), statement.span)
    _no_key_twice(tuple(assign.key for assign in statement.configs))
    target = topic_resource(name)
    configs = {
        assign.key.name: _value(target, assign, _entry(snapshot, target, assign.key), secrets)
        for assign in statement.configs
    }
    return CreateTopic(
        NewTopic(
            name, statement.partitions, statement.replication, statement.assignments, configs, statement.timeout_ms
        )
    )


def _trims(statement: DeleteRecords, snapshot: Snapshot, plan: Creates) -> Iterator[TrimLog]:
    """An edit for each partition. A time becomes the offset of its first record that is not older, the end where all
    are. Raises CommandError where a leader did not say where that is."""
    name = statement.topic.text or ""
    require_topic(snapshot, name, statement.topic.span, plan)
    topic = snapshot.topics.get(name)
    there = tuple(partition.number for partition in topic.partitions) if topic is not None else ()
    if statement.partition is not None:
        _require_partition(name, statement.partition, snapshot, statement.span)
    for number in there if statement.partition is None else (statement.partition,):
        yield TrimLog(name, number, _offset(statement, snapshot, name, number))


def _require_partition(name: str, number: int, snapshot: Snapshot, span: Span) -> None:
    """Raises CommandError for a partition that a topic does not have, which may be created by the plan."""
    topic = snapshot.topics.get(name)
    there = tuple(partition.number for partition in topic.partitions) if topic is not None else ()
    if number not in there:
        hint = f"it has {len(there)}, from 0 on" if there else ""
        raise CommandError(f"topic {clean(name, 80)} has no partition {number}", hint, span)


def _offset(statement: DeleteRecords, snapshot: Snapshot, name: str, number: int) -> int:
    if statement.before is not None:
        return statement.before
    log = snapshot.log_ranges.get((name, number))
    at = -1 if statement.at_ms is None else snapshot.offsets_at.get((name, number, statement.at_ms))
    if log is None or at is None:
        why = next((f.failure for f in snapshot.failures if f.part in ("log_ranges", "offsets_at")), None)
        hint = clean(str(why), 300) if why is not None else "refresh, and look whether the partition has a leader"
        raise CommandError(f"the offsets of {clean(name, 80)}/{number} could not be read", hint, statement.span)
    return log.end if at < 0 else at


# -- SCRAM ---------------------------------------------------------------------------------------------------------


def _scram_set(statement: ScramSet, secrets: Secrets) -> UpsertScram:
    iterations = SCRAM_ITERATIONS if statement.iterations is None else statement.iterations
    return UpsertScram(ScramUser(statement.user, statement.mechanism), iterations, secrets["password"])


# -- leaders and moves -------------------------------------------------------------------------------------------------


def _elections(statement: Elect, snapshot: Snapshot, plan: Creates) -> tuple[Edit, ...]:
    """An election for each partition that needs one. Where none does, for some, of which it is said."""
    name = statement.topic.text or "" if statement.topic is not None else None
    if statement.topic is not None and name is not None:
        require_topic(snapshot, name, statement.topic.span, plan)
        if statement.partition is not None:
            return ((ElectUnclean if statement.unclean else ElectPreferred)(name, statement.partition),)
    topics = snapshot.topics if name is None else {name: snapshot.topics[name]} if name in snapshot.topics else {}
    if statement.broker is not None and statement.broker not in preferred_brokers(topics.values()):
        require(snapshot, broker_resource(statement.broker), statement.span)
    needed = preferred_elections(topics, statement.broker)
    return needed or preferred_elections(topics, statement.broker, needed=False)[:_SAID]


def _cancellations(topic: str, number: int | None, snapshot: Snapshot) -> tuple[Edit, ...]:
    """A cancellation for each partition that moves. Where none does, for some, of which it is said."""
    if number is not None:
        return (CancelMove(topic, number),)
    moving = moves_of(snapshot, topic)
    partitions = snapshot.topics[topic].partitions if topic in snapshot.topics else ()
    return moving or tuple(CancelMove(topic, each.number) for each in partitions[:_SAID])


_SAID = 5
"""Partitions of which it is said that nothing is to be done, where that is so of all."""


# -- from edits to statements ------------------------------------------------------------------------------------------


def to_statement(edit: Edit) -> EditStatement:
    """Return the statement that stages an edit. For a secret value, or a key that looks sensitive, it asks."""
    return _STATEMENTS[type(edit)](edit)


def command_of(edit: Edit) -> str:
    """The statement that stages an edit, as text."""
    return unparse(to_statement(edit))


def _key_of(edit: ConfigEdit) -> Key:
    """A broker's key that Kafka does not know as dynamic may be a plug-in's: it is quoted."""
    type_ = edit.resource.type
    return Key(edit.key, quoted=type_ == BROKER and update_mode(type_, edit.key) is UpdateMode.RESTART)


def _assigned(key: Key, value: str | Secret) -> Assign:
    return Assign(key, Asked() if isinstance(value, Secret) or looks_sensitive(key.name) else value)


def _alter_statement(verb: str) -> Callable[[SetConfig | AppendConfig | SubtractConfig], Alter]:
    return lambda edit: Alter(verb, Entity(edit.resource), (_assigned(_key_of(edit), edit.value),))


def _quota_statement(edit: SetQuota) -> Alter:
    return Alter("set", Entity(edit.entity), (Assign(Key(edit.key), exact_number(edit.value)),))


def _access_statement(edit: AddAcl | RemoveAcl) -> Access:
    acl = edit.acl
    return Access(
        isinstance(edit, RemoveAcl),
        acl.permission,
        acl.principal,
        (acl.operation,),
        acl.resource_type,
        None if acl.resource_type == ACL_CLUSTER else acl.resource_name,
        acl.pattern_type,
        acl.host,
    )


def _create_statement(edit: CreateTopic) -> Create:
    topic = edit.topic
    configs = tuple(_assigned(Key(key), value) for key, value in topic.configs.items())
    return Create(Name(topic.name), topic.partitions, topic.replication, topic.assignments, topic.timeout_ms, configs)


def _reset_statement(edit: CommitOffset) -> ResetOffsets:
    to = OffsetPosition("offset", edit.offset, metadata=edit.metadata, epoch=edit.leader_epoch, restored=edit.restored)
    return ResetOffsets(Name(edit.group), to, Name(edit.topic), edit.partition, edit.share)


_STATEMENTS: Mapping[type[Edit], Callable[[Any], EditStatement]] = {
    SetConfig: _alter_statement("set"),
    AppendConfig: _alter_statement("append"),
    SubtractConfig: _alter_statement("subtract"),
    UnsetConfig: lambda edit: Unset(Entity(edit.resource), (_key_of(edit),)),
    SetQuota: _quota_statement,
    UnsetQuota: lambda edit: Unset(Entity(edit.entity), (Key(edit.key),)),
    AddAcl: _access_statement,
    RemoveAcl: _access_statement,
    CreateTopic: _create_statement,
    GrowTopic: lambda edit: Grow(Name(edit.name), edit.partitions),
    TrimLog: lambda edit: DeleteRecords(Name(edit.topic), edit.partition, edit.before),
    RemoveRegistration: lambda edit: Unregister(edit.broker_id),
    SetFeature: lambda edit: FeatureSet(((edit.name, edit.level),)),
    DeleteTopic: lambda edit: Delete(Name(edit.name)),
    UpsertScram: lambda edit: ScramSet(edit.user.user, edit.user.mechanism, Asked(), edit.iterations),
    DeleteScram: lambda edit: ScramDelete(edit.user.user, edit.user.mechanism),
    CommitOffset: _reset_statement,
    DeleteOffset: lambda edit: DeleteGroupOffsets(Name(edit.group), Name(edit.topic), edit.partition),
    DeleteGroup: lambda edit: DeleteGroupOffsets(Name(edit.name)),
    EndTransaction: lambda edit: Abort(Name(edit.topic), edit.number, edit.producer_id),
    ElectPreferred: lambda edit: Elect(topic=Name(edit.topic), partition=edit.partition),
    ElectUnclean: lambda edit: Elect(unclean=True, topic=Name(edit.topic), partition=edit.partition),
    CancelMove: lambda edit: CancelMoves(Name(edit.topic), edit.partition),
    MoveReplicas: lambda edit: MovePartition(Name(edit.topic), edit.partition, edit.replicas, edit.resize),
    MoveReplicaDir: lambda edit: MoveToDir(Name(edit.topic), edit.partition, edit.broker, edit.path),
}
"""Kind of edit -> the function that makes its statement."""
