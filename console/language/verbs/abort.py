"""``abort``: a producer's open transaction in a partition ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from console.language.arguments import NUMBER_MAX, need_number, partition_number, topic_name
from console.language.node_text import name_text
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import Needs, the_topic
from console.language.statements import EditStatement, Name, Subject
from console.language.verb import CHANGE, StatementKind, Verb
from console.plan.edits import Edit, EndTransaction

if TYPE_CHECKING:
    from console.language.staging import Staging


class Abort(EditStatement, frozen=True):
    """``abort transaction``: of a producer, in a partition."""

    topic: Name
    partition: int
    producer_id: int


def _parse(reader: Reader) -> Abort:
    reader.need_keyword("transaction")
    name = topic_name(reader)
    reader.need_keyword("partition")
    partition = partition_number(reader, name)
    reader.need_keyword("producer")
    numbered = Expected(What.PRODUCER, "the id of a producer", detail=f"{name.text}/{partition}")
    return Abort(name, partition, need_number(reader, numbered, NUMBER_MAX))


def _text(statement: Abort) -> str:
    where = f"topic {name_text(statement.topic)} partition {statement.partition}"
    return f"abort transaction {where} producer {statement.producer_id}"


def _needs(statement: Abort, _selected: Subject | None) -> Needs:
    place = (statement.topic.text or "", statement.partition)
    return the_topic(statement.topic) | Needs(transactions=frozenset({place}))


def _edits(statement: Abort, staging: Staging) -> Iterator[Edit]:
    yield EndTransaction(staging.topic(statement.topic), statement.partition, statement.producer_id)


def _of_edits() -> Mapping[type[Edit], Callable[[Any], Abort]]:
    return {EndTransaction: lambda edit: Abort(Name(edit.topic), edit.number, edit.producer_id)}


_ABORT = StatementKind(statement=Abort, text=_text, needs=_needs, edits=_edits, of_edits=_of_edits)

VERBS = (
    Verb(
        name="abort",
        group=CHANGE,
        usage=("abort transaction topic NAME partition N producer ID",),
        summary=(
            "Stage the end of a transaction that hangs, so that its partition can be read with read_committed again"
        ),
        about=(
            "Only where it is shown to hang: no coordinator will end it. A slow or a young one is refused, and so is "
            "one of which that can't be known, with the reason. What the producer wrote since is lost to consumers "
            "with read_committed; nothing brings it back. Before it is sent the topic and partition have to be typed, "
            "in scripts --accept transaction-aborted=NAME/N. Needs ALTER or CLUSTER_ACTION on the cluster."
        ),
        examples=("abort transaction topic orders partition 3 producer 4012",),
        takes_away=True,
        parse=_parse,
        statements=(_ABORT,),
    ),
)
