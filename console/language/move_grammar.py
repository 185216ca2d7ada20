"""The grammar of statements that move replicas, and of those that begin an operation."""

from __future__ import annotations

from console.language.arguments import named, plain_name, whole_number
from console.language.change_grammar import TOPIC, need_number, optional_partition, partition_number
from console.language.reader import Expected, Reader, Role, What
from console.language.statements import AskOfOperation, BeginOperation, CancelMoves, MovePartition, MoveToDir
from console.language.verbs import Where
from console.operations.goals import Balance, Drain, DrainDir, Goal, MoveIntoDir, MoveTopic, Replace, Replicate, Restore
from console.operations.throttle import rate_of

_BROKER = Expected(What.BROKER, "the number of a broker")


def cancel(reader: Reader) -> CancelMoves:
    """``cancel move topic NAME [partition N]``."""
    reader.need_keyword("move")
    reader.need_keyword("topic")
    name = plain_name(reader, TOPIC, "topics")
    return CancelMoves(name, optional_partition(reader, name))


def move(reader: Reader) -> MovePartition | MoveToDir | BeginOperation:
    """``move topic NAME partition N to ID,ID,… [resize]``, ``… broker ID to dir PATH``, and of the whole topic. One
    replica into a directory is an edit; with a throttle, which ends with it, an operation."""
    reader.need_keyword("topic")
    name = plain_name(reader, TOPIC, "topics")
    if reader.where is not Where.BAR:
        _need_partition(reader)
    elif (word := reader.need_keyword("partition", "to", "broker")) != "partition":
        if word == "to":
            return _begin(reader, MoveTopic(name.text or "", _brokers(reader)))
        return _begin(reader, MoveIntoDir(name.text or "", *_into_dir(reader)))
    partition = partition_number(reader, name)
    if reader.need_keyword("to", "broker") == "broker":
        broker, path = _into_dir(reader)
        if reader.where is Where.BAR and (throttle := _throttle(reader)) is not None:
            return BeginOperation(MoveIntoDir(name.text or "", broker, path, partition), throttle or None)
        if reader.word is not None and reader.word.text == "throttle":
            reader.fail(hint="a throttle takes an operation: kac moves … to dir PATH --throttle RATE --run")
        return MoveToDir(name, partition, broker, path)
    replicas = _brokers(reader)
    return MovePartition(name, partition, replicas, reader.take_keyword("resize") is not None)


def _into_dir(reader: Reader) -> tuple[int, str]:
    """What follows ``broker``: ``ID to dir PATH``."""
    broker = need_number(reader, _BROKER, 2**31 - 1)
    reader.need_keyword("to")
    reader.need_keyword("dir")
    return broker, _path(reader, broker)


def _path(reader: Reader, broker: int) -> str:
    return named(reader, Expected(What.LOG_DIR, "the PATH of a log directory", detail=str(broker)))


def _need_partition(reader: Reader) -> None:
    if reader.take_keyword("partition") is None:
        reader.fail(hint="a whole topic takes an operation: kac moves topic NAME to ID,ID --run, or with --script")


def _brokers(reader: Reader) -> tuple[int, ...]:
    word = reader.take(Expected(What.BROKER, "numbers of brokers, as 3,1,2"), Role.VALUE)
    read = [whole_number(each) for each in word.text.split(",")]
    found = tuple(each for each in read if each is not None)
    if len(found) < len(read):
        reader.fail("expected numbers of brokers with ',' between them, the preferred leader first", word)
    if len(set(found)) < len(found):
        reader.fail("a broker is named twice", word)
    return found


# -- operations --------------------------------------------------------------------------------------------------------


def drain(reader: Reader) -> BeginOperation:
    """``drain broker ID,ID,… [throttle RATE]``, ``drain broker ID dir PATH [throttle RATE]``."""
    reader.need_keyword("broker")
    brokers = _brokers(reader)
    if len(brokers) == 1 and reader.take_keyword("dir") is not None:
        return _begin(reader, DrainDir(brokers[0], _path(reader, brokers[0])))
    return _begin(reader, Drain(brokers))


def replace_broker(reader: Reader) -> BeginOperation:
    """``replace broker ID by ID [throttle RATE]``."""
    reader.need_keyword("broker")
    broker = need_number(reader, _BROKER, 2**31 - 1)
    reader.need_keyword("by")
    return _begin(reader, Replace(broker, need_number(reader, _BROKER, 2**31 - 1)))


def balance(reader: Reader) -> BeginOperation:
    """``balance [throttle RATE]``."""
    return _begin(reader, Balance())


def replication(reader: Reader) -> BeginOperation:
    """``replication topic NAME N [throttle RATE]``."""
    reader.need_keyword("topic")
    name = plain_name(reader, TOPIC, "topics")
    replicas = need_number(reader, Expected(What.ARGUMENT, "how many replicas"), 2**15 - 1)
    return _begin(reader, Replicate(name.text or "", replicas))


def back(reader: Reader) -> BeginOperation:
    """``back OPERATION [throttle RATE]``: without the replicas, which the journal has."""
    return _begin(reader, Restore(need_number(reader, Expected(What.CHANGE, "the number of an OPERATION"), 2**63 - 1)))


def operation(reader: Reader) -> AskOfOperation:
    """``operation N throttle RATE`` and ``operation N give-up``."""
    number = need_number(reader, Expected(What.ARGUMENT, "the number of an OPERATION"), 2**63 - 1)
    asked = reader.need_keyword("throttle", "give-up")
    return AskOfOperation(number, _rate(reader) if asked == "throttle" else None)


def _begin(reader: Reader, goal: Goal) -> BeginOperation:
    return BeginOperation(goal, _throttle(reader) or None)


def _throttle(reader: Reader) -> int | None:
    """``throttle RATE``, where it stands there: bytes per second, 0 for no throttle."""
    return _rate(reader) if reader.take_keyword("throttle") is not None else None


def _rate(reader: Reader) -> int:
    word = reader.take(Expected(What.ARGUMENT, "a RATE, as 50MB/s"), Role.VALUE)
    try:
        return rate_of(word.text)
    except ValueError as error:
        reader.fail(str(error), word)
