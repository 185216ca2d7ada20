"""`kac transactions`, with the actions and options of kafka-transactions."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from console.cli import noun
from console.language.quoting import quote
from console.model.numbers import LONG_MAX, LONG_MIN, natural_number, option, whole_number
from console.model.parts import Part

if TYPE_CHECKING:
    from console.contexts import Context
    from console.model.failure import Failure
    from console.model.snapshot import ReadFailure
    from console.model.transactions import Place
    from console.present.columns import Columns
    from console.session.snapshot_reader import Client

R = TypeVar("R")

_EXAMPLES = """\
examples:
  kac transactions -b broker1:9092 list --duration-filter 60000
  kac transactions -c prod describe --transactional-id payments-1
  kac transactions -c prod describe-producers --topic orders --partition 3
  kac transactions -c prod find-hanging --broker-id 2 --output json
  kac transactions -c prod abort --topic orders --partition 3 --start-offset 4711 --accept transaction-aborted=orders/3
"""

LIST, DESCRIBE, PRODUCERS, HANGING, ABORT = "list", "describe", "describe-producers", "find-hanging", "abort"
_LONG = option(whole_number, LONG_MIN, LONG_MAX)
_NATURAL = option(natural_number)
_VISIBLE = "none that this principal may DESCRIBE: brokers leave out others"


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--topic", metavar="NAME", help="with describe-producers, find-hanging and abort: a topic")
    add("--partition", metavar="N", type=_NATURAL, help="a partition of the topic")
    add("--transactional-id", metavar="ID", help="with describe: the transactional id")
    add("--duration-filter", metavar="MS", type=_LONG, help="with list: only transactions that have run longer")
    add("--transactional-id-pattern", metavar="RE", help="with list: only ids that match this expression of RE2")
    add("--broker-id", metavar="ID", type=_NATURAL, help="with describe-producers and find-hanging: a replica's broker")
    add("--start-offset", metavar="N", type=_NATURAL, help="with abort: the offset at which the transaction begins")
    add("--producer-id", metavar="N", type=_NATURAL, help="with abort: the producer's id, in place of --start-offset")


_EPOCHS = "abort --producer-id sends the epochs that the leader knows, and only where the transaction hangs"
_ELSEWHERE = {
    "--producer-epoch": _EPOCHS,
    "--coordinator-epoch": _EPOCHS,
    "--max-transaction-timeout": "find-hanging goes by the brokers' own transaction.max.timeout.ms",
}


def _meaning(given: argparse.Namespace, action: str) -> noun.Statements | noun.Carry:
    match action:
        case "list":
            return _list(-1 if given.duration_filter is None else given.duration_filter, given.transactional_id_pattern)
        case "describe":
            if given.transactional_id is None:
                raise noun.OptionsError("describe needs --transactional-id")
            return _describe(given.transactional_id)
        case "find-hanging":
            if given.topic is None and (given.broker_id is None or given.partition is not None):
                raise noun.OptionsError("find-hanging needs --topic, with a --partition or not, or --broker-id")
            return _find_hanging(given.topic, given.partition, given.broker_id)
    if given.topic is None or given.partition is None:
        raise noun.OptionsError(f"{action} needs --topic and --partition")
    if action == PRODUCERS:
        return _describe_producers((given.topic, given.partition), given.broker_id)
    if (given.start_offset is None) == (given.producer_id is None):
        raise noun.OptionsError("abort needs --start-offset or --producer-id: which transaction of the partition it is")
    if given.start_offset is None:
        return (_abort((given.topic, given.partition), given.producer_id),)
    return _abort_at((given.topic, given.partition), given.start_offset)


def _list(longer_than_ms: int, pattern: str | None) -> noun.Carry:
    async def carry(client: Client, _context: Context) -> noun.Found:
        from console.admin.transactions import list_transactions
        from console.present.transactions import COORDINATED, CoordinatedRow

        listing = await client.run(list_transactions, longer_than_ms, pattern)
        rows = map(CoordinatedRow, listing.transactions.values())
        return _found("transactions", COORDINATED, rows, listing.failures, _VISIBLE)

    return carry


def _describe(id_: str) -> noun.Carry:
    async def carry(client: Client, _context: Context) -> noun.Found:
        from console.admin.transactions import describe_transactions
        from console.present.transactions import DESCRIBED, CoordinatedRow

        listing = await client.run(describe_transactions, [id_])
        now_ms = time.time_ns() // 1_000_000
        rows = (CoordinatedRow(each, now_ms) for each in listing.transactions.values())
        return _found("transactions", DESCRIBED, rows, listing.failures)

    return carry


def _describe_producers(place: Place, broker_id: int | None) -> noun.Carry:
    async def carry(client: Client, _context: Context) -> noun.Found:
        from console.admin.transactions import describe_producers
        from console.present.transactions import PRODUCERS as COLUMNS

        listing = await client.run(describe_producers, [place], broker_id)
        return _found("producers", COLUMNS, listing.producers.get(place, ()), _named(listing.failures))

    return carry


def _find_hanging(topic: str | None, partition: int | None, broker_id: int | None) -> noun.Carry:
    async def carry(client: Client, context: Context) -> noun.Found:
        from console.language.errors import CommandError
        from console.present import transactions as shown
        from console.session.snapshot_reader import SnapshotReader, read_transactions

        reader = SnapshotReader(client, context)
        await reader.read_topics(None if topic is None else [topic])
        places = [
            (each.name, part.number)
            for each in reader.snapshot.topics.values()
            for part in each.partitions
            if partition in (None, part.number) and (broker_id is None or broker_id in part.replicas)
        ]
        if topic is not None and not places:
            raise CommandError(f"there is no topic '{topic}' with such partitions", "kac topics --list has all")
        await reader.keep(read_transactions(client, places))
        rows = [row for row in shown.transaction_rows(reader.snapshot) if row.place in set(places)]
        poll = next(iter(reader.snapshot.transactions.values()), None)
        failures = _named(poll.failures if poll is not None else {})
        unread = [each for each in reader.snapshot.failures if each.part in (Part.TOPICS, Part.TRANSACTIONS)]
        return _found("transactions", shown.TRANSACTIONS, rows, failures, "no open transactions", unread)

    return carry


def _abort(place: Place, producer_id: int) -> str:
    return f"abort transaction topic {quote(place[0])} partition {place[1]} producer {producer_id}"


def _abort_at(place: Place, start_offset: int) -> noun.Carry:
    async def carry(client: Client, _context: Context) -> noun.Change:
        from console.admin.transactions import describe_producers
        from console.language.errors import CommandError

        listing = await client.run(describe_producers, [place])
        where = f"{place[0]}/{place[1]}"
        if (failure := listing.failures.get(place)) is not None:
            raise CommandError(f"the producers of {where} are unknown: {failure}", failure.remedy)
        for producer in listing.producers[place]:
            if producer.start_offset == start_offset:
                return noun.Change((_abort(place, producer.id),))
        raise CommandError(f"no open transaction begins at offset {start_offset} of {where}", "find-hanging lists them")

    return carry


def _named(failures: Mapping[Place, Failure]) -> dict[str, Failure]:
    return {f"{topic}/{number}": failure for (topic, number), failure in failures.items()}


def _found(
    name: str,
    columns: Columns[R],
    rows: Iterable[R],
    failures: Mapping[str, Failure],
    empty: str = "none",
    unread: Iterable[ReadFailure] = (),
) -> noun.Found:
    """Return a table of rows as the result of an action.

    Args:
        failures: name -> the error of a read, which becomes a problem of the table.
        empty: the text for a table without rows.
        unread: further reads that failed.
    """
    from console.answers.results import table_of
    from console.model.snapshot import ReadFailure

    problems = (*unread, *(ReadFailure(name, what, failure) for what, failure in failures.items()))
    return noun.Found([table_of(name, columns, rows, empty=empty, problems=problems)])


TRANSACTIONS = noun.Noun(
    "transactions",
    {},
    _options,
    _meaning,
    _EXAMPLES,
    words={
        LIST: "the transactions of all coordinators",
        DESCRIBE: "one transaction",
        PRODUCERS: "the producers of a partition, as its leader knows them",
        HANGING: "open transactions, and which of them no coordinator will end",
        ABORT: "abort a hanging transaction",
    },
    destructive=(ABORT,),
    elsewhere=_ELSEWHERE,
)
