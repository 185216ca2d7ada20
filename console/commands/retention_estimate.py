"""Reads what a plan's shorter retention would delete: sizes from log directories, ages from offsets by time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.model.cluster import LogDir
from console.model.config import topic_resource
from console.model.failure import Failure
from console.model.snapshot import Snapshot
from console.plan.edits import Slot
from console.plan.retention import Deletion, RetentionCut, by_slot, deleted_bytes, retention_cuts, shortens_default
from console.plan.staged import Staged

if TYPE_CHECKING:
    from console.commands.session import Session

MOST = 2_000
"""Partitions that are looked at."""
GOOD_FOR = 30.0
"""Seconds after which it is looked at again."""

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class RetentionReading:
    """What was found of each cut, for these edits. at: by the monotonic clock."""

    staged: tuple[Staged, ...]
    found: Mapping[RetentionCut, Deletion]
    at: float


def deletions(session: Session) -> dict[Slot, Deletion]:
    """What each edit of the plan deletes, as far as it was read."""
    known, staged = session.retention, session.plan.staged
    if known is None:
        return {}
    cuts = tuple(known.found) if known.staged is staged else retention_cuts(staged, session.snapshot)
    return by_slot(cuts, known.found)


async def read_retention(session: Session) -> None:
    """Read it for all edits of the plan that have topics keep less, where it is not known for some seconds already.
    What can't be read is told by the deletions. Never raises AdminError: the plan can be applied without."""
    from console.admin.errors import AdminError

    staged = session.plan.staged
    try:
        if shortens_default(staged):
            await _read_inheriting(session)
        cuts = await asyncio.to_thread(retention_cuts, staged, session.snapshot)
        known = session.retention
        if not cuts or (known and time.monotonic() - known.at < GOOD_FOR and all(cut in known.found for cut in cuts)):
            return
        found = await _deletions(session, cuts)
    except AdminError as error:
        cuts = retention_cuts(staged, session.snapshot)
        found = {cut: Deletion(unknown=1, why=error.failure) for cut in cuts}
    session.retention = RetentionReading(staged, found, time.monotonic())


async def _read_inheriting(session: Session) -> None:
    """The topics that may inherit a default, as many as are looked at."""
    if "topics" not in session.snapshot.read_at:
        await session.read_topics()
    missing, left = [], MOST
    for name, topic in session.snapshot.topics.items():
        left -= len(topic.partitions)
        if topic_resource(name) not in session.snapshot.configs:
            missing.append(topic_resource(name))
        if left <= 0:
            break
    await session.read_configs(missing)


async def _deletions(session: Session, cuts: Sequence[RetentionCut]) -> dict[RetentionCut, Deletion]:
    """Of each cut; of partitions beyond the most nothing is asked."""
    from console.admin.cluster import describe_log_dirs
    from console.admin.partitions import log_spans

    unread = [cut.topic for cut in cuts if cut.topic not in session.snapshot.topics]
    if unread:
        await session.read_topics(unread)
    wanted = _wanted(cuts, session.snapshot)
    if not wanted:  # deleted meanwhile, or nobody may see them
        return {cut: Deletion(unknown=1, why=Failure("UNKNOWN_TOPIC_OR_PARTITION", cut.topic)) for cut in cuts}
    named: dict[str, list[int]] = {}
    for topic, number in wanted:
        named.setdefault(topic, []).append(number)
    known = session.snapshot.topics
    holding = {broker for topic in named for partition in known[topic].partitions for broker in partition.replicas}
    now = int(time.time() * 1000)
    listing = await session.client.run(describe_log_dirs, sorted(holding), named)
    ages = {place: max(0, now - cut.ms) if cut.ms >= 0 else 0 for place, cut in wanted.items()}
    began = {place: max(0, ages[place] - cut.segment_ms) for place, cut in wanted.items()}
    spans, problems = await session.client.run(log_spans, ages, began)
    sizes = _sizes(listing.dirs)
    why = next(iter((*listing.failures.values(), *problems)), None)
    found = {cut: Deletion() for cut in cuts}
    for place, cut in wanted.items():
        if place in spans and place in sizes:
            found[cut] += Deletion(*deleted_bytes(spans[place], sizes[place], cut), 1)
    return {cut: _with_unknown(each, cut, session.snapshot, why) for cut, each in found.items()}


def _wanted(cuts: Sequence[RetentionCut], snapshot: Snapshot) -> dict[Place, RetentionCut]:
    """The partitions to look at, with what their topic keeps."""
    places: dict[Place, RetentionCut] = {}
    for cut in cuts:
        topic = snapshot.topics.get(cut.topic)
        for partition in topic.partitions if topic is not None else ():
            if len(places) == MOST:
                return places
            places[cut.topic, partition.number] = cut
    return places


def _sizes(dirs: Mapping[int, tuple[LogDir, ...]]) -> dict[Place, list[int]]:
    """Bytes of each replica that is there; one that is being copied to another directory counts once."""
    sizes: dict[Place, list[int]] = {}
    for log_dirs in dirs.values():
        for replica in (replica for log_dir in log_dirs for replica in log_dir.replicas):
            if not replica.is_future:
                sizes.setdefault((replica.topic, replica.partition), []).append(replica.size)
    return sizes


def _with_unknown(found: Deletion, cut: RetentionCut, snapshot: Snapshot, why: Failure | None) -> Deletion:
    topic = snapshot.topics.get(cut.topic)
    unknown = max(1, len(topic.partitions) if topic is not None else 1) - found.partitions
    return found._replace(unknown=unknown, why=why if unknown else None)
