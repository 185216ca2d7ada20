"""The grammar of statements that change topics, ACLs and SCRAM credentials, and of those that explain ACLs."""

from __future__ import annotations

from datetime import UTC, datetime

from console.language import group_grammar
from console.language.arguments import (
    SECRET_LABEL,
    acl_resource,
    acl_target,
    key_of,
    named,
    need_secret,
    newer_code,
    plain_name,
    secret_source,
    whole_number,
)
from console.language.reader import Expected, Reader, Role, What
from console.language.statements import (
    Abort,
    Access,
    Assign,
    Create,
    Delete,
    DeleteGroupOffsets,
    DeleteRecords,
    Elect,
    Explain,
    FeatureSet,
    Grow,
    Name,
    ScramDelete,
    ScramSet,
    SecretSource,
    Unregister,
)
from console.language.tokenizer import NOWHERE, Word
from console.model.codes import AclOperation, Permission, ScramMechanism
from console.model.config import topic_resource
from console.plan.amounts import LONGEST_MS, moment, parse_duration

REPLICATION_MAX = 2**15 - 1
MECHANISMS = tuple(ScramMechanism(number).label for number in ScramMechanism.NAMES)
OPERATIONS = tuple(name for name in AclOperation.NAMES.values() if name != "ANY")
CREATE_KEYS = ("partitions", "replication", "assign", "timeout")

_NEW_TOPIC = Expected(What.TOPIC, "the NAME of the topic", detail="new")
TOPIC = Expected(What.TOPIC, "the NAME of the topic")


def create(reader: Reader) -> Create:
    """``create topic NAME assign {assign}``."""
    reader.need_keyword("topic")
    name = plain_name(reader, _NEW_TOPIC, "topics")
    numbers: dict[str, int] = {}
    assignments: tuple[tuple[int, ...], ...] = ()
    configs: list[Assign] = []
    taken: dict[str, Word] = {}
    expected = Expected(
        What.CREATE_ASSIGN,
        "partitions=, replication=, assign=, timeout= or a config's KEY=VALUE",
        subject=topic_resource(name.text or ""),
    )
    while not reader.ended or not (taken or configs):
        word, key, value = reader.take_pair(expected)
        if not key.bare or key.text not in CREATE_KEYS:
            source = secret_source(reader, value)
            given = source if source is not None else value.text
            configs.append(Assign(key_of(reader, key), given, reader.span(word), reader.span(value)))
            continue
        if key.text in taken:
            reader.fail(f"{key.text}= is given twice", word)
        taken[key.text] = word
        if key.text == "assign":
            assignments = _assignments(reader, value)
        elif key.text == "timeout":
            numbers["timeout"] = _timeout(reader, value)
        else:
            numbers[key.text] = _count(reader, key, value, REPLICATION_MAX if key.text == "replication" else 2**31 - 1)
    if "assign" in taken:
        for other in ("partitions", "replication"):
            if other in taken:
                reader.fail(f"assign= names each partition's brokers, so {other}= is not allowed", taken[other])
    return Create(
        name,
        numbers.get("partitions", -1),
        numbers.get("replication", -1),
        assignments,
        numbers.get("timeout"),
        tuple(configs),
    )


def _count(reader: Reader, key: Word, value: Word, highest: int) -> int:
    number = whole_number(value.text, 1, highest)
    if number is None:
        where = value if value.end > value.start else key
        reader.fail(f"{key.text}= takes a whole number from 1 to {highest:,}", where)
    return number


def _timeout(reader: Reader, value: Word) -> int:
    try:
        milliseconds = parse_duration(value.text)
    except ValueError as error:
        reader.fail(f"timeout=: {error}", value)
    if milliseconds > LONGEST_MS:
        reader.fail("timeout= is at most 24d", value)
    return milliseconds


def _assignments(reader: Reader, value: Word) -> tuple[tuple[int, ...], ...]:
    partitions = []
    for number, part in enumerate(value.text.split(",")):
        brokers = [whole_number(broker) for broker in part.split(":")]
        if None in brokers:
            reader.fail(
                "assign= takes broker numbers, ':' between replicas and ',' between partitions",
                value,
                "for example assign=1:2,2:3: partition 0 on brokers 1 and 2, its preferred leader 1",
            )
        replicas = tuple(broker for broker in brokers if broker is not None)
        if len(set(replicas)) < len(replicas):
            reader.fail(f"assign= names a broker twice for partition {number}", value)
        partitions.append(replicas)
    return tuple(partitions)


def grow(reader: Reader) -> Grow:
    """``grow topic NAME partitions=N``."""
    reader.need_keyword("topic")
    name = plain_name(reader, TOPIC, "topics")
    expected = Expected(What.GROW_ASSIGN, "partitions=N", ("partitions=",), subject=topic_resource(name.text or ""))
    word, key, value = reader.take_pair(expected, "partitions=N")
    if not key.is_bare("partitions"):
        reader.fail(f"expected partitions=N, not {reader.shown(word)}", word)
    return Grow(name, _count(reader, key, value, 2**31 - 1))


def delete(reader: Reader) -> Delete | DeleteRecords | DeleteGroupOffsets:
    """``delete topic NAME``, ``delete records`` and ``delete group NAME``."""
    what = reader.need_keyword("topic", "records", "group")
    if what == "records":
        return _delete_records(reader)
    if what == "group":
        return group_grammar.delete(reader)
    return Delete(plain_name(reader, TOPIC, "topics"))


def abort(reader: Reader) -> Abort:
    """``abort transaction topic NAME partition N producer ID``."""
    reader.need_keyword("transaction")
    reader.need_keyword("topic")
    name = plain_name(reader, TOPIC, "topics")
    reader.need_keyword("partition")
    numbered = Expected(What.PARTITION, "the number of a partition", detail=name.text or "")
    partition = need_number(reader, numbered, 2**31 - 1)
    reader.need_keyword("producer")
    numbered = Expected(What.PRODUCER, "the id of a producer", detail=f"{name.text}/{partition}")
    return Abort(name, partition, need_number(reader, numbered, 2**63 - 1))


def need_number(reader: Reader, expected: Expected, highest: int) -> int:
    """Read a whole number from 0 on."""
    word = reader.take(expected, Role.VALUE)
    number = whole_number(word.text, 0, highest)
    if number is None:
        reader.fail(f"expected {expected.label}, not {reader.shown(word)}", word)
    return number


def _delete_records(reader: Reader) -> DeleteRecords:
    """``delete records topic NAME [partition P] before (OFFSET | TIME | latest)``."""
    reader.need_keyword("topic")
    topic = plain_name(reader, TOPIC, "topics")
    partition = None
    if reader.take_keyword("partition") is not None:
        numbered = Expected(What.PARTITION, "the number of a partition", detail=topic.text or "")
        partition = need_number(reader, numbered, 2**31 - 1)
    reader.need_keyword("before")
    if reader.take_keyword("latest") is not None:
        return DeleteRecords(topic, partition)
    word = reader.take(Expected(What.DURATION, "an OFFSET, a TIME (2h, 14:05, 2026-11-20T14:05) or latest"), Role.VALUE)
    before = whole_number(word.text, 0, 2**63 - 1)
    if before is not None:
        return DeleteRecords(topic, partition, before)
    try:
        at = moment(word.text, datetime.now(UTC))
    except ValueError as error:
        reader.fail(str(error), word, "an OFFSET is a whole number")
    return DeleteRecords(topic, partition, at_ms=round(at.timestamp() * 1000))


def unregister(reader: Reader) -> Unregister:
    """``unregister broker ID``."""
    reader.need_keyword("broker")
    return Unregister(need_number(reader, Expected(What.BROKER, "the number of a broker", detail="down"), 2**31 - 1))


def feature(reader: Reader) -> FeatureSet:
    """``feature set NAME=LEVEL {NAME=LEVEL}``."""
    reader.need_keyword("set")
    expected = Expected(What.FEATURE_ASSIGN, "FEATURE=LEVEL")
    levels: dict[str, int] = {}
    while not reader.ended or not levels:
        word, name, value = reader.take_pair(expected, "FEATURE=LEVEL")
        level = whole_number(value.text, 0, 2**15 - 1)
        if level is None:
            reader.fail("a level is a whole number; 0 turns the feature off", value if value.text else word)
        if name.text in levels:
            reader.fail(f"{name.text}= is given twice", word)
        levels[name.text] = level
    reader.expect(expected)
    return FeatureSet(tuple(levels.items()))


def access(reader: Reader, verb: str) -> Access:
    """``allow``, ``deny``, ``revoke allow`` and ``revoke deny``."""
    revoke = verb == "revoke"
    newer = newer_code(reader, Permission) if revoke else None
    word = reader.need_keyword("allow", "deny") if revoke and newer is None else verb
    principal = _principal(reader, existing=revoke)
    operations, operations_word = _operations(reader, existing=revoke)
    reader.need_keyword("on")
    resource_type, resource_name, pattern = acl_target(reader, existing=revoke)
    host = "*"
    if reader.take_keyword("from") is not None:
        host = named(reader, Expected(What.HOST, "an address"), may_be_empty=revoke)
    return Access(
        revoke,
        Permission.parse(word) if newer is None else newer,
        principal,
        operations,
        resource_type,
        resource_name,
        pattern,
        host,
        operations_span=reader.span(operations_word),
    )


def explain(reader: Reader) -> Explain:
    """``explain PRINCIPAL OPERATIONS on RESOURCE [from HOST]``: as in `access`, of one resource."""
    principal = _principal(reader, existing=True)
    operations, operations_word = _operations(reader, existing=False)
    reader.need_keyword("on")
    resource_type, resource_name = acl_resource(reader)
    place, host = None, "*"
    if reader.take_keyword("from") is not None:
        place = reader.word
        host = named(reader, Expected(What.HOST, "an address"))
    return Explain(
        principal,
        operations,
        resource_type,
        resource_name,
        host,
        operations_span=reader.span(operations_word),
        host_span=reader.span(place) if place is not None else NOWHERE,
    )


def _principal(reader: Reader, *, existing: bool) -> str:
    """Read a principal. existing: one of an ACL that there is, which old brokers took without a type."""
    expected = Expected(What.PRINCIPAL, "a principal such as User:alice")
    word = reader.take(expected)
    kind, colon, _ = word.text.partition(":")
    if not existing and (not kind or not colon):
        hint = f"did you mean 'User:{word.text}'?" if word.text.isidentifier() else ""
        reader.fail(f"{reader.shown(word)} is not a principal (TYPE:NAME)", word, hint)
    return word.text


def _operations(reader: Reader, *, existing: bool) -> tuple[tuple[AclOperation, ...], Word]:
    """Read operations, separated by commas, in one word. existing: also those of newer releases, ``UNKNOWN(17)``."""
    word = reader.take(Expected(What.OPERATIONS, "operations such as READ,WRITE"), role=None)
    operations: list[AclOperation] = []
    for name in word.text.split(","):
        try:
            operation = AclOperation.parse(name)
        except ValueError:
            operation = AclOperation(1)
        if operation.name not in OPERATIONS and (operation.known or not existing):
            _unknown_operation(reader, word, name)
        if operation not in operations:
            operations.append(operation)
    reader.mark(word, Role.VALUE)
    return tuple(operations), word


def _unknown_operation(reader: Reader, word: Word, name: str) -> None:
    from console.language.errors import did_you_mean
    from console.present.text import clean

    if not name.strip():
        reader.fail("an operation is missing beside a comma", word, "no spaces around commas: READ,WRITE")
    hint = did_you_mean(name.upper(), OPERATIONS) or f"one of {', '.join(OPERATIONS)}"
    reader.fail(f"unknown operation '{clean(name, 40)}'", word, hint)


def scram(reader: Reader) -> ScramSet | ScramDelete:
    """``scram set`` and ``scram delete``."""
    action = reader.need_keyword("set", "delete")
    user = named(reader, Expected(What.SCRAM_USER, "the NAME of a user"))
    mechanism = _mechanism(reader)
    if action == "delete":
        return ScramDelete(user, mechanism)
    iterations: int | None = None
    password: SecretSource | None = None
    wanted = {"iterations": "iterations=N", "password": f"password={SECRET_LABEL}"}
    while password is None or not reader.ended:
        label = " or ".join(wanted.values()) or "the end"
        expected = Expected(What.SCRAM_ASSIGN, label, tuple(f"{key}=" for key in wanted))
        if not wanted:
            reader.finish()
        word, key, value = reader.take_pair(expected, label)
        if not key.bare or key.text not in wanted:
            twice = key.text in ("iterations", "password")
            reader.fail(f"{key.text}= is given twice" if twice else f"expected {label}, not {reader.shown(word)}", word)
        del wanted[key.text]
        if key.text == "password":
            password = need_secret(reader, key, value)
        else:
            iterations = _count(reader, key, value, 2**31 - 1)
    return ScramSet(user, mechanism, password, iterations)


def _mechanism(reader: Reader) -> ScramMechanism:
    word = reader.take(Expected(What.MECHANISM, " or ".join(MECHANISMS), MECHANISMS), Role.VALUE)
    try:
        return ScramMechanism.parse(word.text)
    except ValueError:
        reader.fail(f"expected {' or '.join(MECHANISMS)}, not {reader.shown(word)}", word)


def elect(reader: Reader) -> Elect:
    """``elect preferred`` and ``elect unclean``."""
    if reader.need_keyword("preferred", "unclean") == "unclean":
        reader.need_keyword("topic")
        name = plain_name(reader, TOPIC, "topics")
        reader.need_keyword("partition")
        return Elect(unclean=True, topic=name, partition=partition_number(reader, name))
    scope = reader.need_keyword("all", "broker", "topic")
    if scope == "broker":
        return Elect(broker=need_number(reader, Expected(What.BROKER, "the number of a broker"), 2**31 - 1))
    if scope == "topic":
        name = plain_name(reader, TOPIC, "topics")
        return Elect(topic=name, partition=optional_partition(reader, name))
    return Elect()


def optional_partition(reader: Reader, topic: Name) -> int | None:
    """``[partition N]``."""
    return partition_number(reader, topic) if reader.take_keyword("partition") is not None else None


def partition_number(reader: Reader, topic: Name) -> int:
    """Read the number of a topic's partition."""
    return need_number(
        reader, Expected(What.PARTITION, "the number of a partition", detail=topic.text or ""), 2**31 - 1
    )
