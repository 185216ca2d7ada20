"""Read how much data would be deleted by edits that shorten retention or delete records: sizes come from the log
directories, ages from offsets by time. At most `MOST` partitions are read; the results count the partitions that
were left out.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence

from console.model.config import ConfigResource, topic_resource
from console.model.failure import Failure
from console.model.grouping import grouped
from console.model.parts import Part
from console.model.snapshot import Snapshot, TopicPartition
from console.plan import retention
from console.plan.edits import Slot, TrimLog
from console.plan.staged import Staged
from console.plan.topic_risks import config_number
from console.session.session import RetentionReading, Session
from console.session.snapshot_reader import Client, read_log_ranges

GOOD_FOR = 30.0
"""Seconds for which a result is used before it is read again."""
MOST = 2_000
"""Maximum number of partitions whose sizes and ages are read."""


def deletions_so_far(
    known: RetentionReading | None, staged: tuple[Staged, ...], snapshot: Snapshot
) -> dict[Slot, retention.Deletion]:
    """Return slot of an edit -> the data that it deletes, for the edits for which this was read. Empty before the first
    read. Pure.
    """
    if known is None:
        return {}
    cuts = tuple(known.found) if known.staged is staged else retention.retention_cuts(staged, snapshot)
    records = {edit.slot: known.records[edit] for edit in _trims(staged) if edit in known.records}
    return {**retention.by_slot(cuts, known.found), **records}


def _trims(staged: Iterable[Staged]) -> list[TrimLog]:
    return [each.edit for each in staged if isinstance(each.edit, TrimLog)]


async def read_deletions(session: Session) -> dict[Slot, retention.Deletion]:
    """Return slot of an edit -> the data that it deletes, for edits of the plan that shorten retention or delete
    records. Read this, unless it was read within the last `GOOD_FOR` (30) seconds.

    A lost connection raises nothing: the result then has the failure, and the plan can be applied nevertheless.
    """
    from console.admin.errors import AdminError

    staged = session.plan.staged
    trims = _trims(staged)
    try:
        if retention.shortens_default(staged):
            # A default cuts only topics without their own value, and only the topics' configs show which these are.
            if Part.TOPICS not in session.snapshot.read_at:
                await session.read_topics()
            await session.read_configs(_inheriting(session.snapshot))
        cuts = await asyncio.to_thread(retention.retention_cuts, staged, session.snapshot)
        if not _is_known(session.retention, cuts, trims):
            if unread := [cut.topic for cut in cuts if cut.topic not in session.snapshot.topics]:
                await session.read_topics(unread)
            if trimmed := sorted({edit.topic for edit in trims[:MOST]}):
                await session.read_topics(trimmed)
                logs = [(edit.topic, edit.partition) for edit in trims[:MOST]]
                resources = [topic_resource(name) for name in trimmed]
                await asyncio.gather(
                    session.keep(read_log_ranges(session.client, logs)), session.read_configs(resources)
                )
            deletions = await _deletions(session.client, session.snapshot, cuts) if cuts else {}
            records = await _freed(session.client, session.snapshot, trims) if trims else {}
            session.retention = RetentionReading(staged, deletions, time.monotonic(), records)
    except AdminError as error:
        # Keep an unknown result for a while: a cluster that does not answer gets no request at each keystroke.
        unknown = retention.Deletion(unknown=1, why=error.failure)
        deletions = dict.fromkeys(retention.retention_cuts(staged, session.snapshot), unknown)
        session.retention = RetentionReading(staged, deletions, time.monotonic(), dict.fromkeys(trims, unknown))
    return deletions_so_far(session.retention, session.plan.staged, session.snapshot)


def _is_known(known: RetentionReading | None, cuts: Sequence[retention.RetentionCut], trims: Sequence[TrimLog]) -> bool:
    """Return whether the data of all these edits was read within the last `GOOD_FOR` (30) seconds, or there are no such
    edits.
    """
    if known is None or time.monotonic() - known.at >= GOOD_FOR:
        return not cuts and not trims
    return all(cut in known.found for cut in cuts) and all(edit in known.records for edit in trims)


def _inheriting(snapshot: Snapshot) -> list[ConfigResource]:
    """Return the config resources of topics that may inherit a changed default and whose configs are unknown; only
    topics within the first `MOST` partitions.
    """
    missing, left = [], MOST
    for name, topic in snapshot.topics.items():
        left -= len(topic.partitions)
        if topic_resource(name) not in snapshot.configs:
            missing.append(topic_resource(name))
        if left <= 0:
            break
    return missing


async def _freed(client: Client, snapshot: Snapshot, trims: Sequence[TrimLog]) -> dict[TrimLog, retention.Deletion]:
    """Return edit -> the bytes that it deletes, or the failure to read them. The bytes in partitions beyond the first
    `MOST` are unknown.
    """
    from console.admin.cluster import describe_log_dirs

    asked = trims[:MOST]
    wanted = grouped((edit.topic, edit.partition) for edit in asked)
    known = [snapshot.topics[name] for name in sorted(wanted) if name in snapshot.topics]
    holding = {broker for topic in known for partition in topic.partitions for broker in partition.replicas}
    listing = await client.run(describe_log_dirs, sorted(holding), wanted)
    sizes = listing.replica_sizes()
    problems = [each.failure for each in snapshot.failures if each.part == Part.LOG_RANGES]
    why = next(iter((*listing.failures.values(), *problems)), None)
    deletions = dict.fromkeys(trims, retention.Deletion(unknown=1, why=why))
    for edit in asked:
        place = edit.topic, edit.partition
        if place in sizes and place in snapshot.log_ranges:
            configs = snapshot.configs.get(topic_resource(edit.topic))
            segment = (
                retention.SEGMENT_BYTES
                if configs is None
                else config_number(configs, "segment.bytes", retention.SEGMENT_BYTES)
            )
            freed = retention.bytes_freed(edit.before, snapshot.log_ranges[place], sizes[place], segment)
            deletions[edit] = retention.Deletion(*freed, partitions=1)
    return deletions


async def _deletions(
    client: Client, snapshot: Snapshot, cuts: Sequence[retention.RetentionCut]
) -> dict[retention.RetentionCut, retention.Deletion]:
    """Return edit that shortens retention -> the data that it deletes; partitions beyond the first `MOST` are not
    read.
    """
    from console.admin.cluster import describe_log_dirs
    from console.admin.partitions import log_spans

    wanted = _wanted(cuts, snapshot)
    if not wanted:  # the topics were deleted, or this principal can't see them
        return {
            cut: retention.Deletion(unknown=1, why=Failure("UNKNOWN_TOPIC_OR_PARTITION", cut.topic)) for cut in cuts
        }
    named = grouped(wanted)
    known = snapshot.topics
    holding = {broker for topic in named for partition in known[topic].partitions for broker in partition.replicas}
    now = int(time.time() * 1000)
    listing = await client.run(describe_log_dirs, sorted(holding), named)
    ages = {place: max(0, now - cut.ms) if cut.ms >= 0 else 0 for place, cut in wanted.items()}
    # Brokers delete whole segments, each judged by its newest record: the last deleted one may begin a segment's time
    # earlier.
    began = {place: max(0, ages[place] - cut.segment_ms) for place, cut in wanted.items()}
    spans, problems = await client.run(log_spans, ages, began)
    sizes = listing.replica_sizes()
    why = next(iter((*listing.failures.values(), *problems)), None)
    deletions = {cut: retention.Deletion() for cut in cuts}
    for place, cut in wanted.items():
        if place in spans and place in sizes:
            deletions[cut] += retention.Deletion(*retention.deleted_bytes(spans[place], sizes[place], cut), 1)
    return {cut: _with_unknown(each, cut, snapshot, why) for cut, each in deletions.items()}


def _wanted(cuts: Sequence[retention.RetentionCut], snapshot: Snapshot) -> dict[TopicPartition, retention.RetentionCut]:
    """Return (topic, partition) -> the edit that shortens the retention of its topic, for the first `MOST`
    partitions.
    """
    places: dict[TopicPartition, retention.RetentionCut] = {}
    for cut in cuts:
        topic = snapshot.topics.get(cut.topic)
        for partition in topic.partitions if topic is not None else ():
            if len(places) == MOST:
                return places
            places[cut.topic, partition.number] = cut
    return places


def _with_unknown(
    deletion: retention.Deletion, cut: retention.RetentionCut, snapshot: Snapshot, why: Failure | None
) -> retention.Deletion:
    topic = snapshot.topics.get(cut.topic)
    unknown = max(1, len(topic.partitions) if topic is not None else 1) - deletion.partitions
    return deletion._replace(unknown=unknown, why=why if unknown else None)
