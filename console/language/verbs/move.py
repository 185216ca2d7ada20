"""``move``: moves the replicas of a partition to other brokers, or one replica into another log directory of its
broker.

For a whole topic, or with a throttle, it begins an operation.
"""

from __future__ import annotations

from collections.abc import Iterator

from console.language import operation_words, statements
from console.language.arguments import BROKER, INT_MAX, need_number, partition_number, topic_name
from console.language.panes import pane
from console.language.quoting import quote
from console.language.reader import Reader
from console.language.snapshot_parts import Needs, the_topic, whole_parts
from console.language.staging import Staging
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.numbers import commas
from console.model.parts import Part
from console.operations.goals import MoveIntoDir, MoveTopic
from console.plan.edits import Edit, MoveReplicaDir, MoveReplicas


class MovePartition(statements.EditStatement, frozen=True):
    """The statement ``move`` of one partition."""

    topic: statements.Name
    partition: int
    replicas: tuple[int, ...]
    """The ids of the brokers that shall have replicas; the first is the preferred leader."""
    resize: bool = False
    """Whether the number of replicas may change."""


class MoveToDir(statements.EditStatement, frozen=True):
    """The statement ``move … to dir``: moves a broker's replica into another of its log directories."""

    topic: statements.Name
    partition: int
    broker: int
    path: str


def _parse(reader: Reader) -> MovePartition | MoveToDir | operation_words.BeginOperation:
    """Read ``topic NAME partition N to ID,ID,… [resize]`` or ``topic NAME partition N broker ID to dir PATH``; without
    ``partition N``, the move of the whole topic. Raises ParseError.

    The move of one replica into a directory is an edit. With a throttle it is an operation, because the throttle has to
    be removed at the end.
    """
    name = topic_name(reader)
    # Only the console's command bar can begin an operation.
    if reader.where is not statements.Where.BAR:
        _need_partition(reader)
    elif (word := reader.need_keyword("partition", "to", "broker")) != "partition":
        if word == "to":
            return operation_words.begun(reader, MoveTopic(name.text or "", operation_words.brokers(reader)))
        return operation_words.begun(reader, MoveIntoDir(name.text or "", *_into_dir(reader)))
    partition = partition_number(reader, name)
    if reader.need_keyword("to", "broker") == "broker":
        broker, path = _into_dir(reader)
        if reader.where is statements.Where.BAR and (throttle := operation_words.optional_throttle(reader)) is not None:
            return operation_words.BeginOperation(
                MoveIntoDir(name.text or "", broker, path, partition), throttle or None
            )
        if reader.word is not None and reader.word.text == "throttle":
            reader.fail(hint="a throttle takes an operation: kac moves … to dir PATH --throttle RATE --run")
        return MoveToDir(name, partition, broker, path)
    replicas = operation_words.brokers(reader)
    return MovePartition(name, partition, replicas, reader.take_keyword("resize") is not None)


def _into_dir(reader: Reader) -> tuple[int, str]:
    """Read the words after ``broker``: ``ID to dir PATH``. Return the broker's id and the path. Raises ParseError."""
    broker = need_number(reader, BROKER, INT_MAX)
    reader.need_keyword("to")
    reader.need_keyword("dir")
    return broker, operation_words.log_dir(reader, broker)


def _need_partition(reader: Reader) -> None:
    if reader.take_keyword("partition") is None:
        reader.fail(hint="a whole topic takes an operation: kac moves topic NAME to ID,ID --run, or with --script")


# -- moves to other brokers --------------------------------------------------------------------------------------------


def _text(statement: MovePartition) -> str:
    to = f"to {commas(statement.replicas)}{' resize' if statement.resize else ''}"
    return statements.joined(
        "move topic", statements.name_text(statement.topic), statements.partition_text(statement.partition), to
    )


def _needs(statement: MovePartition, _selected: statements.Subject | None) -> Needs:
    nodes = Needs(nodes=frozenset(statement.replicas))
    return the_topic(statement.topic) | whole_parts(Part.CLUSTER, Part.REASSIGNMENTS, Part.LOG_DIRS) | nodes


def _edits(statement: MovePartition, staging: Staging) -> Iterator[Edit]:
    topic = staging.topic(statement.topic)
    staging.require_partition(topic, statement.partition, statement.span)
    yield MoveReplicas(topic, statement.partition, statement.replicas, statement.resize)


# -- moves into another directory --------------------------------------------------------------------------------------


def _dir_text(statement: MoveToDir) -> str:
    to = f"broker {statement.broker} to dir {quote(statement.path)}"
    return statements.joined(
        "move topic", statements.name_text(statement.topic), statements.partition_text(statement.partition), to
    )


def _dir_edits(statement: MoveToDir, staging: Staging) -> Iterator[Edit]:
    topic = staging.topic(statement.topic)
    staging.require_partition(topic, statement.partition, statement.span)
    yield MoveReplicaDir(topic, statement.partition, statement.broker, statement.path)


_MOVE = StatementKind(
    statement=MovePartition,
    text=_text,
    needs=_needs,
    edits=_edits,
    of_edits={
        MoveReplicas: lambda edit: MovePartition(
            statements.Name(edit.topic), edit.partition, edit.replicas, edit.resize
        )
    },
)
_TO_DIR = StatementKind(
    statement=MoveToDir,
    text=_dir_text,
    needs=lambda statement, _selected: (
        the_topic(statement.topic)
        | whole_parts(Part.CLUSTER, Part.LOG_DIRS)
        | Needs(nodes=frozenset({statement.broker}))
    ),
    edits=_dir_edits,
    of_edits={
        MoveReplicaDir: lambda edit: MoveToDir(statements.Name(edit.topic), edit.partition, edit.broker, edit.path)
    },
)

VERBS = (
    Verb(
        "move",
        CHANGE,
        (
            "move topic NAME partition N to ID,ID,… [resize]",
            "move topic NAME partition N broker ID to dir PATH",
            "move topic NAME to ID,ID,… [throttle RATE]",
            "move topic NAME [partition N] broker ID to dir PATH [throttle RATE]",
        ),
        "Stage a move of a partition's replicas to these brokers, or of one replica to another log directory",
        "The first ID is the preferred leader. Brokers copy the partition, and then drop the replicas that are not "
        "named. Add `resize` if the number of replicas changes.\n\n"
        "With `dir` the broker copies its replica into another of its log directories, and then drops the old "
        "copy. If PATH is the replica's present directory, the broker ends a copy that is running.\n\n"
        "A statement without a partition, or with a throttle, begins an operation. The operation moves all "
        "replicas of the topic to the named brokers, or one broker's replicas of the topic into the directory. "
        "Such a statement works only in the command bar.",
        ("move topic orders partition 4 to 3,1,2", "move topic orders partition 4 broker 3 to dir /data2"),
        parse=_parse,
        statements=(_MOVE, _TO_DIR, operation_words.BEGUN),
    ),
    pane("moves", "The running moves, how far they are, and why they are stuck", "moves stuck"),
)
