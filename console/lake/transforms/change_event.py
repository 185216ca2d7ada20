"""Rows of `change_event`: every change that any source reports; changes from the metadata log and from polls also get
their authors. Pure; times are microseconds since 1970.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from console.lake import schema
from console.lake.entities import NAMELESS, acl_of
from console.lake.transforms import kraft_changes as kraft
from console.lake.transforms.coverage import Polls
from console.lake.transforms.kraft_changes import facts
from console.lake.transforms.rows import Row, rows_of, table_of

# -- polls: the differences between one and the next -----------------------------------------------------------------

Seen = tuple[int, str | None, str | None]
"""A value of an entity in a poll: the time, the attribute (None if the entity was deleted), and the value."""


def poll_changes(
    cluster_id: str, entity: kraft.Entity, seen: Iterable[Seen], beats: Sequence[int]
) -> Iterator[kraft.Event]:
    """Yield the changes of an entity between polls, without their authors.

    Each poll's values of the entity replace the former ones. A change was made between the last poll of that entity
    type that did not show it and the first poll that showed it; values in the first poll were set at an unknown time
    before (`SINCE_BEFORE`).

    Args:
        seen: the values of the entity in polls.
        beats: the times of the polls of that entity type, in order.
    """
    states: dict[int, dict[str, str | None]] = defaultdict(dict)
    for ts, attr, value in seen:
        state = states[ts]
        if attr is not None:
            state[attr] = value
    last: dict[str, str | None] = {}
    for ts, state in sorted(states.items()):
        before = bisect_left(beats, ts)
        since = ts // 1000 - beats[before - 1] // 1000 if before else kraft.SINCE_BEFORE
        about = (cluster_id, ts, since, None, *entity)
        for attr in last.keys() - state.keys():
            yield kraft.Event(*about, attr, "delete", None, None, "snapshot")
        for attr, value in state.items():
            if attr not in last or last[attr] != value:
                yield kraft.Event(
                    *about, attr, "set", value, None if value is None else kraft.sha256(value), "snapshot"
                )
        last = state


# -- requests and kac's journal: changes with their authors ----------------------------------------------------------


TOLERANCE = 2_000_000
"""Maximum difference between the clocks of brokers and hosts, in microseconds."""


class Author(NamedTuple):
    """A change that a request or kac's journal reports, with its author. `value` is None if the change deletes the
    attribute, or if the value is unknown; `principal`, `client_id` and `client_host` are None if they are unknown.
    Times are microseconds since 1970.
    """

    attr: str
    op: str
    value: str | None
    start: int
    """The start of the time in which the change was made."""
    end: int
    """The end of the time in which the change was made."""
    principal: str | None
    client_id: str | None
    client_host: str | None
    api: str | None
    """The API of a request; None for a journal entry."""
    is_copy: bool
    """Whether the report is a forwarded request, as the controller logs it, whose original is also reported."""

    @property
    def by_journal(self) -> bool:
        """Whether kac's journal reports the change, rather than a request log."""
        return self.api is None


def principals(names: Iterable[str | None]) -> list[str]:
    """Return the distinct names, sorted; if any name has a type (`User:alice`), only those with a type."""
    known = {name for name in names if name is not None}
    return sorted({name for name in known if ":" in name} or known)


_DEFAULT = "-1"
"""The number of partitions or replicas in a request that leaves the number to the brokers: the real number is unknown.
"""
_NEVER = 1 << 62


def authors_of_requests(asked: Iterable[Author]) -> Iterator[Author]:
    """Yield the changes of one entity that requests report. `is_copy` of a forwarded request stays True only if its
    original request is also among the changes. A number of partitions or replicas that a request leaves to the
    brokers becomes None.

    Args:
        asked: the changes; `is_copy` marks those of forwarded requests.
    """
    alike: dict[tuple[str | None, ...], list[Author]] = defaultdict(list)
    for each in asked:
        alike[each.principal, each.attr, each.op, each.value, each.api].append(each)
    for rows in alike.values():
        rows.sort(key=lambda row: (row.start, row.end))
        # A copy's original began before the copy and did not end before it, or began during the copy. `ends` has the
        # latest end of an original up to each row, `starts` the earliest start of one from each row on.
        ends = list(accumulate((-_NEVER if row.is_copy else row.end for row in rows), max))
        starts = list(accumulate((_NEVER if row.is_copy else row.start for row in reversed(rows)), min))[::-1]
        for row, ended, begins in zip(rows, ends, starts, strict=True):
            has_original = ended + TOLERANCE >= row.start or begins - TOLERANCE <= row.end
            is_default = row.attr in (":partitions", ":replication") and row.value == _DEFAULT
            yield row._replace(value=None if is_default else row.value, is_copy=row.is_copy and has_original)


def author_of_journal(
    attr: str,
    op: str,
    old: str | None,
    value: str | None,
    intent: int,
    end: int | None,
    name: str | None,
    client_host: str | None,
) -> Author:
    """Return the author for an entry of the journal. `append` and `subtract` become a `set` of the whole list if the
    journal has the former list. A plain login name becomes `User:` and the name.

    Args:
        intent: the time at which the journal recorded the change, just before the request was sent.
        end: the time at which the outcome was known; None if it is unknown.
    """
    if op in ("append", "subtract") and old is not None and value is not None:
        op, value = "set", changed_list(old, op, value)
    principal = name if name is None or ":" in name or name in NAMELESS else f"User:{name}"
    return Author(attr, op, value, intent, max(intent, end or intent), principal, None, client_host, None, False)


def changed_list(base: str, op: str, items: str) -> str:
    """Return a list, items separated by commas, after `append` or `subtract`. `append` does not add an item that the
    list has.
    """
    had = [each for each in base.split(",") if each]
    given = dict.fromkeys(items.split(","))
    if op == "append":
        return ",".join((*had, *(each for each in given if each not in had)))
    return ",".join(dict.fromkeys(each for each in had if each not in given))


def author_changes(cluster_id: str, entity: kraft.Entity, authors: Iterable[Author]) -> Iterator[kraft.Event]:
    """Yield the reports of requests and of the journal as events, without copies of forwarded requests."""
    for each in authors:
        if each.is_copy:
            continue
        value = each.value
        digest = kraft.sha256(value) if value is not None and each.op in ("set", "delete") else None
        lasted = -((each.start - each.end) // 1000)
        source, told_by = ("journal", "journal") if each.by_journal else ("request_log", "request")
        yield kraft.Event(
            *(cluster_id, each.end, lasted, None, *entity, each.attr, each.op, value, digest, source),
            *(each.principal, each.client_id, each.client_host, told_by),
        )


# -- the author of a change: the requests and journal entries with a time that covers it and the same content ----------

# kac names every author that fits, and does not choose between several. It prefers authors whose own time covers the
# change to those at a small distance, and these to those at a larger distance: see `STEPS`. If a request changed a
# value and another one set the same value again, and both fit in time, kac names both.
#
# A report has the same content as a change if it sets an equal value or, for a hidden value, names the same attribute;
# if it appends items that are all in the new list; or if it subtracts items that are all missing in the new list. The
# deletion of a topic deletes all its attributes, and the creation of a topic also sets its id. ALTER_CONFIGS replaces
# all configs, so it deletes those that it does not name. A journal without the principal (`certificate`) ranks behind
# requests, which have the principal.

STEPS = (0, 25_000, 250_000)
"""Limits of the time between a change and the time span of its request, in microseconds. At 0 the span covers the
change. On one host the time is up to 25,000, because the start of a request is computed from the time of its
line, which is logged a little after its end. Within one data centre it is up to 250,000. Requests within a higher
limit count only if there are none within a lower one.
"""
_ALL = "*"
_ALL_CONFIGS = "* configs"


class _ByTime:
    """The reported changes of one attribute, sorted by start time."""

    def __init__(self, offered: Iterable[Author]) -> None:
        self._offered = sorted(offered, key=lambda each: each.start)
        self._starts = [each.start for each in self._offered]
        self._longest = max(each.end - each.start for each in self._offered)

    def within(self, since: int, until: int) -> Iterator[Author]:
        """Yield the reports whose time overlaps the time from `since` to `until`."""
        first, last = bisect_left(self._starts, since - self._longest), bisect_right(self._starts, until)
        return (each for each in self._offered[first:last] if each.end >= since)


def attributed(changes: Iterable[kraft.Event], authors: Sequence[Author]) -> Iterator[kraft.Event]:
    """Yield the changes of one entity from the log and from polls, each with its authors; equal changes become one.

    Args:
        authors: the reports of requests and of the journal about the same entity.
    """
    offered: dict[str, list[Author]] = defaultdict(list)
    distinct = dict.fromkeys(changes)
    of_topic = any(change.entity_type == "topic" for change in distinct)
    for author in authors:
        for each in _covered(author, of_topic):
            offered[each.attr].append(each)
    by_attr = {attr: _ByTime(of_attr) for attr, of_attr in offered.items()}
    for change in distinct:
        found = set()
        if by_attr and change.ts_uncertainty_ms >= 0:
            since = change.event_ts - change.ts_uncertainty_ms * 1000
            for attr in _sought(change, of_topic):
                if attr in by_attr:
                    for each in by_attr[attr].within(since - TOLERANCE, change.event_ts + TOLERANCE):
                        if each.principal is not None and _same_content(each, change):
                            off = max(each.start - change.event_ts, since - each.end, 0)
                            found.add((sum(off > step for step in STEPS), each))
        yield _named(change, found) if found else change


def _sought(change: kraft.Event, of_topic: bool) -> Iterator[str]:
    """Yield the keys under which reports that may explain a change are indexed: its attribute, and for a deletion the
    keys of reports that delete several attributes.
    """
    yield change.attr
    if change.op == "delete":
        if of_topic:
            yield _ALL
        if not change.attr.startswith(":"):
            yield _ALL_CONFIGS


def _covered(author: Author, of_topic: bool) -> Iterator[Author]:
    """Yield a report, and further reports for the changes that the report implies: the creation of a topic, for
    example, also sets the topic's id.
    """
    yield author
    if of_topic and author.op == "delete" and author.attr == ":topic_id":
        yield author._replace(attr=_ALL, value=None)
    if of_topic and author.op == "set" and author.attr == ":replication" and author.api in (None, "CREATE_TOPICS"):
        yield author._replace(attr=":topic_id", value=None)
    # A topic's replication is that of its first partition; a reassignment names the wanted replicas.
    if of_topic and author.op == "set" and author.attr == ":reassignment/0" and author.value is not None:
        yield author._replace(attr=":replication", value=str(len(author.value.split(","))))
    if author.api == "ALTER_CONFIGS":
        yield author._replace(attr=_ALL_CONFIGS, op="delete", value=None)


def _same_content(offered: Author, change: kraft.Event) -> bool:
    was_set = change.op == "set"
    if offered.op == "delete":
        return not was_set
    asked, became = offered.value, change.value
    if not was_set or asked is None or became is None:
        return was_set
    if offered.op == "set":
        return asked == became
    items, those = set(asked.split(",")), set(became.split(","))
    return items <= those if offered.op == "append" else items.isdisjoint(those)


def _named(change: kraft.Event, found: set[tuple[int, Author]]) -> kraft.Event:
    """Return the change with the authors whose times fit best.

    Args:
        found: all reports with the same content as the change, each as a pair: how many of the limits in `STEPS` its
            distance in time exceeds, and the report.
    """
    best = min(tier for tier, _ in found)
    fitting = [author for tier, author in found if tier == best]
    names = principals(author.principal for author in fitting)
    by_request = [author for author in fitting if not author.by_journal]
    by_journal = [author for author in fitting if author.by_journal]
    alone = len(names) == 1
    # A forwarded copy may fit best, but only its original has the client's address.
    own = [each for _, each in found if not (each.by_journal or each.is_copy) and each.principal in names]
    hosts = {author.client_host for author in own or by_request or by_journal}
    return change._replace(
        principal=", ".join(names),
        client_id=_only({author.client_id for author in by_request}) if alone else None,
        client_host=_only(hosts) if alone else None,
        attribution="several" if not alone else "journal" if by_journal else "request",
    )


def _only(values: set[str | None]) -> str | None:
    known = values - {None}
    return known.pop() if len(known) == 1 else None


T = TypeVar("T")
_ByEntity = tuple[str, str, str]
_decode = msgspec.json.Decoder().decode


class Bronze(NamedTuple):
    """The bronze rows from which `change_event` is made, by table; columns that are not used may be missing."""

    kraft_record: pa.Table = schema.arrow_schema(schema.KRAFT_RECORD).empty_table()
    snapshot: pa.Table = schema.arrow_schema(schema.SNAPSHOT).empty_table()
    journal: pa.Table = schema.arrow_schema(schema.JOURNAL).empty_table()
    alter_request: pa.Table = schema.arrow_schema(schema.ALTER_REQUEST).empty_table()


# -- the entities of records -------------------------------------------------------------------------------------------

NAMING = ("TopicRecord", "AccessControlEntryRecord")
"""Record types with both the name and the id of an entity; other records refer to the entity by the id."""
OF_ENTITIES = pc.field("record_type").isin(
    pa.array((*kraft.TOPIC_RECORDS, *kraft.ACL_RECORDS, *kraft.OTHER_RECORDS))
) & ((pc.field("record_type") != "PartitionChangeRecord") | pc.match_substring(pc.field("payload"), '"replicas":['))
"""Selects the records about an entity. Partition changes that leave the replicas unchanged, as most do, are not
selected.
"""

# -- the table ---------------------------------------------------------------------------------------------------------


def change_event(
    bronze: Bronze,
    epochs: Mapping[str, kraft.Epochs],
    polls: Mapping[str, Polls],
    touched: Container[_ByEntity] | None = None,
) -> pa.Table:
    """Return the rows of CHANGE_EVENT for entities. The input must have all rows about each entity, and the metadata
    records with its name and id.

    Args:
        epochs, polls: the epochs and polls of the clusters in `bronze`.
        touched: the entities whose rows are wanted; None for all entities in `bronze`.
    """
    placed, seen, asked, noted = _placed(bronze), _seen(bronze), _asked(bronze), _noted(bronze)

    def events() -> Iterator[kraft.Event]:
        for each in sorted({*placed, *seen, *asked, *noted}):
            cluster_id, entity = each[0], each[1:]
            if touched is not None and each not in touched:
                continue
            authors = [*authors_of_requests(asked.get(each, ())), *noted.get(each, ())]
            observed: list[kraft.Event] = []
            if each in placed:
                observed += kraft.kraft_changes(cluster_id, entity, placed[each], epochs[cluster_id])
            if each in seen:
                beats = polls[cluster_id].times.get(entity[0], ()) if cluster_id in polls else ()
                observed += poll_changes(cluster_id, entity, seen[each], beats)
            yield from attributed(observed, authors)
            yield from author_changes(cluster_id, entity, authors)

    return table_of(schema.CHANGE_EVENT, events())


TAGS = ("entity_type", "entity_key", "entity_id")


def tagged(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return decoded records as rows of `kraft_record`: with the type of the record's entity, and with its key, or with
    the id if the record has no key.
    """
    rows = pa.Table.from_batches([batch])
    rows = rows.append_column("place", pa.array(range(rows.num_rows), pa.int64()))
    columns: list[list[str | None]] = [[None] * rows.num_rows for _ in TAGS]
    names = kraft.Names()
    for place, type_, payload in rows_of(rows.filter(OF_ENTITIES), "place", "record_type", "payload"):
        fields = _decode(payload)
        tag: tuple[str | None, str | None, str | None] = (None, None, None)
        if "topicId" in fields:
            tag = "topic", fields.get("name"), fields["topicId"]
        elif type_ in kraft.ACL_RECORDS:
            tag = "acl", acl_of(fields)[0] if "resourceName" in fields else None, fields["id"]
        elif (fact := next(facts(type_, fields, None, names), None)) is not None:
            tag = *fact.entity, None
        for column, value in zip(columns, tag, strict=True):
            column[place] = value
    quarantined = pa.nulls(batch.num_rows, schema.arrow_schema(schema.KRAFT_RECORD).field("quarantined").type)
    made = [*batch.columns, *(pa.array(column, pa.string()) for column in columns), quarantined]
    return pa.RecordBatch.from_arrays(made, schema=schema.arrow_schema(schema.KRAFT_RECORD))


def records_of(records: pa.Table) -> dict[str, list[kraft.Record]]:
    """Return cluster id -> the records that are about an entity."""
    found: dict[str, list[kraft.Record]] = defaultdict(list)
    names = ("log_offset", "in_snapshot", "record_ts", "record_type", "payload", "value_hmac")
    for cluster_id, offset, in_snapshot, ts, type_, payload, hmac in rows_of(
        records.filter(OF_ENTITIES), "cluster_id", *names
    ):
        found[cluster_id].append(kraft.Record(offset, in_snapshot, ts, type_, _decode(payload), hmac))
    return found


def _placed(bronze: Bronze) -> dict[_ByEntity, list[kraft.Placed]]:
    return {
        (cluster_id, *entity): facts
        for cluster_id, records in records_of(bronze.kraft_record).items()
        for entity, facts in kraft.placed_facts(records).items()
    }


def _seen(bronze: Bronze) -> dict[_ByEntity, list[Seen]]:
    rows = bronze.snapshot.filter(pc.is_in(bronze.snapshot["kind"], pa.array(("state", "absent"))))
    told = rows_of(rows, *schema.ENTITY, "kind", "observed_ts", "attr", "value")
    return _grouped(lambda kind, ts, attr, value: (ts, attr if kind == "state" else None, value), told)


def _asked(bronze: Bronze) -> dict[_ByEntity, list[Author]]:
    rows = bronze.alter_request
    done = rows.filter(pc.and_(pc.equal(rows["error_code"], 0), pc.invert(rows["validate_only"])))
    names = ("attr", "op", "value", "start_ts", "end_ts", "principal", "client_id", "client_host", "api")
    return _grouped(Author, rows_of(done, *schema.ENTITY, *names, "is_forwarded"))


def _noted(bronze: Bronze) -> dict[_ByEntity, list[Author]]:
    # A change whose end was read later than its beginning has two rows.
    order = [(name, "ascending") for name in (*schema.JOURNAL.key, "read_ts")]
    rows = bronze.journal.sort_by(order) if bronze.journal.num_rows else bronze.journal
    last = dict(zip(rows_of(rows, *schema.JOURNAL.key), range(rows.num_rows), strict=True))
    done = rows.take(pa.array(last.values(), pa.int64()))
    done = done.filter(pc.equal(done["status"], "applied"))
    names = ("attr", "op", "old_value", "value", "intent_ts", "end_ts", "principal", "client_host")
    return _grouped(author_of_journal, rows_of(done, *schema.ENTITY, *names))


def _grouped(make: Callable[..., T], rows: Iterable[Row]) -> dict[_ByEntity, list[T]]:
    """Return (cluster, type, key) -> the objects that `make` creates from the other columns of the entity's rows."""
    found: dict[_ByEntity, list[T]] = defaultdict(list)
    for cluster_id, type_, key, *rest in rows:
        found[cluster_id, type_, key].append(make(*rest))
    return found
