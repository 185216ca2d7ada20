"""``cancel``: ends the moves of a topic's partitions; each partition keeps the replicas that it had before."""

from __future__ import annotations

from collections.abc import Iterable

from console.language import statements
from console.language.arguments import optional_partition, topic_name
from console.language.reader import Reader
from console.language.snapshot_parts import Needs, configs_of, whole_parts
from console.language.staging import SAID, Staging
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.config import topic_resource
from console.model.parts import Part
from console.plan.edits import CancelMove, Edit


class CancelMoves(statements.EditStatement, frozen=True):
    """The statement ``cancel move``."""

    topic: statements.Name
    partition: int | None = None
    """The number of the partition; None for all partitions that move."""


def _parse(reader: Reader) -> CancelMoves:
    reader.need_keyword("move")
    name = topic_name(reader)
    return CancelMoves(name, optional_partition(reader, name))


def _text(statement: CancelMoves) -> str:
    return statements.joined(
        "cancel move topic", statements.name_text(statement.topic), statements.partition_text(statement.partition)
    )


def _needs(statement: CancelMoves, _selected: statements.Subject | None) -> Needs:
    # Read the topic's configs: brokers accept a cancellation depending on whether they may elect an unclean leader.
    need = configs_of(topic_resource(statement.topic.text or ""))
    return need | whole_parts(Part.REASSIGNMENTS) | Needs(replica_logs=need.topics)


def _edits(statement: CancelMoves, staging: Staging) -> Iterable[Edit]:
    """Return a cancellation for the partition that the statement names, else for each partition that moves. If none
    moves, return cancellations for the first few partitions, which staging reports as unchanged.
    """
    from console.plan.kinds.moves import moves_of

    topic = staging.topic(statement.topic)
    if statement.partition is not None:
        return (CancelMove(topic, statement.partition),)
    moving = moves_of(staging.snapshot, topic)
    return moving or tuple(CancelMove(topic, number) for number in staging.partitions(topic)[:SAID])


_CANCEL = StatementKind(
    statement=CancelMoves,
    text=_text,
    needs=_needs,
    edits=_edits,
    of_edits={CancelMove: lambda edit: CancelMoves(statements.Name(edit.topic), edit.partition)},
)

VERBS = (
    Verb(
        "cancel",
        CHANGE,
        ("cancel move topic NAME [partition N]",),
        "Stage the end of a topic's moves: its partitions stay on their former replicas",
        "The brokers drop the data that they have copied so far. Without a partition, all moves of the topic end. "
        "The throttles of the moves stay set.",
        ("cancel move topic orders", "cancel move topic orders partition 4"),
        stands_for={"cancel move topic NAME": "move delete"},
        parse=_parse,
        statements=(_CANCEL,),
    ),
)
