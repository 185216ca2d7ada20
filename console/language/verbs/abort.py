"""``abort``: ends a producer's open transaction in a partition."""

from __future__ import annotations

from collections.abc import Iterator

from console.language.arguments import NUMBER_MAX, need_number, partition_number, topic_name
from console.language.panes import pane
from console.language.reader import Candidate, Expected, Reader, What
from console.language.snapshot_parts import Needs, the_topic
from console.language.staging import Staging
from console.language.statements import EditStatement, Name, Subject, name_text
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.snapshot import Snapshot, TopicPartition
from console.model.transactions import verdict
from console.plan.edits import Edit, EndTransaction


class Abort(EditStatement, frozen=True):
    """The statement ``abort transaction``, which ends a producer's transaction in a partition."""

    topic: Name
    partition: int
    producer_id: int


def _parse(reader: Reader) -> Abort:
    reader.need_keyword("transaction")
    name = topic_name(reader)
    reader.need_keyword("partition")
    partition = partition_number(reader, name)
    reader.need_keyword("producer")
    place = (name.text or "", partition)
    expected = Expected(What.ARGUMENT, "the id of a producer", offers=lambda snapshot: _producers(snapshot, place))
    return Abort(name, partition, need_number(reader, expected, NUMBER_MAX))


def _producers(snapshot: Snapshot, place: TopicPartition) -> Iterator[Candidate]:
    """Yield a candidate for each producer with an open transaction in a partition, as the last poll (DescribeProducers)
    found them.
    """
    poll = snapshot.transactions.get(place)
    if poll is None:
        return
    for each in poll.at(*place):
        # Show the verdict on each transaction, to prevent aborting the wrong one by mistake.
        judged = verdict(each, poll)
        yield Candidate(str(each.producer.id), judged.standing.value, judged.why)


def _text(statement: Abort) -> str:
    where = f"topic {name_text(statement.topic)} partition {statement.partition}"
    return f"abort transaction {where} producer {statement.producer_id}"


def _needs(statement: Abort, _selected: Subject | None) -> Needs:
    place = (statement.topic.text or "", statement.partition)
    return the_topic(statement.topic) | Needs(transactions=frozenset({place}))


def _edits(statement: Abort, staging: Staging) -> Iterator[Edit]:
    yield EndTransaction(staging.topic(statement.topic), statement.partition, statement.producer_id)


_ABORT = StatementKind(
    statement=Abort,
    text=_text,
    needs=_needs,
    edits=_edits,
    of_edits={EndTransaction: lambda edit: Abort(Name(edit.topic), edit.number, edit.producer_id)},
)

VERBS = (
    Verb(
        "abort",
        CHANGE,
        ("abort transaction topic NAME partition N producer ID",),
        "Stage the end of a transaction that hangs, so that its partition can be read with read_committed again",
        "A transaction hangs if no coordinator will end it. kac aborts only a transaction that certainly hangs. "
        "kac refuses a slow transaction, a young one, and one that it can't judge. The refusal has the reason.\n\n"
        "The abort can't be reverted. Consumers with read_committed never see the records that the producer wrote "
        "in the transaction.\n\n"
        "Before kac sends the abort, you type the topic and the partition. A script uses `--accept "
        "transaction-aborted=NAME/N`. The abort needs ALTER or CLUSTER_ACTION on the cluster.",
        ("abort transaction topic orders partition 3 producer 4012",),
        takes_away=True,
        noun="transaction transactions txn txns kafka-transactions",
        stands_for={"kac transactions list": "transaction list", "kac transactions --help": "transaction delete"},
        parse=_parse,
        statements=(_ABORT,),
    ),
    pane(
        "transactions",
        "The open transactions, and which of them hang",
        "transactions",
        "transactions hangs",
        about="kac reads the transactions while the pane is open. A transaction hangs if no coordinator will end it. "
        "If kac can't prove that, the pane shows the transaction as possible at most.",
    ),
)
