"""The header line of the screen: the cluster, the context, and whether the data are current."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from console.model.numbers import long_number
from console.model.parts import Part
from console.model.quorum import is_unanswered
from console.model.snapshot import Snapshot
from console.model.topic_counts import TopicCounts, are_topics_hidden
from console.present.names import plural
from console.present.text import Line, Span, clean, fit
from widgets.cells import cell_width


class Who(Struct, frozen=True):
    """The texts of the header about the context: its name, whether it is read-only, the principal, and whether the
    connection puts credentials or data at risk (`ConnectionSettings.exposures`). due: the most important fact
    about the journal: ``NO JOURNAL``; ``DUE 1``, edits that should have been reverted; ``op 7 running``; ``until
    14:05``, when the next edit is to be reverted; else ``""``.
    """

    context: str
    read_only: bool
    principal: str
    due: str = ""
    exposed: bool = False


class State(NamedTuple):
    """The text about the state of the shown data, and the meaning of its colour."""

    text: str
    meaning: str
    current: bool = True
    """Whether the data are current; False if no broker answers, and the header then has no counts."""
    is_led: bool = True
    """Whether the quorum may have a leader; False if it is known that it has none."""


def controller(snapshot: Snapshot) -> int | None:
    """Return the id of the active controller; a negative number if the quorum reports no leader; None if it is unknown
    or the quorum does not answer.

    In KRaft this is the quorum's leader, since Metadata returns any live broker as the controller. If the brokers show
    that the cluster runs on ZooKeeper, it is the controller in Metadata.
    """
    if snapshot.quorum is not None:
        return None if is_unanswered(snapshot) else snapshot.quorum.leader_id
    if Part.QUORUM in snapshot.read_at and snapshot.cluster.controller_id >= 0 and _on_zookeeper(snapshot):
        return snapshot.cluster.controller_id
    return None


def _on_zookeeper(snapshot: Snapshot) -> bool:
    from console.model.releases import runs_on_zookeeper

    return any(runs_on_zookeeper(version.apis) for version in snapshot.versions.values())


def no_quorum_text(snapshot: Snapshot) -> str:
    """Return the reason why the snapshot has no quorum."""
    if _on_zookeeper(snapshot):
        return "no KRaft quorum: it runs on ZooKeeper"
    return "this server does not describe a quorum"


def release(snapshot: Snapshot) -> str:
    """Return Kafka's release, derived from the brokers' versions: the lowest and the highest during a rolling upgrade;
    ``""`` if no version was read.
    """
    releases = sorted({version.release for version in snapshot.versions.values()}, key=_release_order)
    if not releases:
        return ""
    return releases[0] if len(releases) == 1 else f"{releases[0]}–{releases[-1]}"


def _release_order(text: str) -> tuple[int, ...]:
    numbers = map(long_number, text.lstrip("≥≤~ ").split("."))
    return tuple(number for number in numbers if number is not None)


def finalized(snapshot: Snapshot) -> str:
    """Return the name of the finalized level of metadata.version, or its number if kac has no name for it. Return
    ``""`` unless all brokers support a higher level.
    """
    from console.model.feature_levels import METADATA_VERSION, level_name

    versions = snapshot.versions.values()
    # During an upgrade some brokers report an older level: take the highest. The cluster can't go above the level that
    # its oldest broker supports.
    level = max((each.finalized_features.get(METADATA_VERSION, 0) for each in versions), default=0)
    highest = min((each.supported_features.get(METADATA_VERSION, (0, 0))[1] for each in versions), default=0)
    return (level_name(METADATA_VERSION, level) or f"level {level}") if 0 < level < highest else ""


class Facts(Struct, frozen=True):
    """The counts that the header shows."""

    brokers: int
    topics: int | None
    under_replicated: int
    offline: int
    controllers: int = 0


def facts(snapshot: Snapshot, counts: TopicCounts) -> Facts:
    """Return the counts for the header; None as the number of topics if they were not read, or if kac may not see them.
    counts: the counts of the snapshot's topics.
    """
    read = Part.TOPICS in snapshot.read_at and not are_topics_hidden(snapshot)
    return Facts(
        len(snapshot.cluster.brokers),
        counts.topics if read else None,
        counts.under_replicated,
        counts.offline,
        len(snapshot.cluster.controllers),
    )


def header(snapshot: Snapshot, counted: Facts, who: Who, state: State, width: int) -> Line:
    """Return the header in at most `width` cells.

    On a narrow screen the least important pieces are left out first; then the name of the context is cut, and then the
    state.

    Args:
        counted: the result of `facts`.
        who: the context and its principal.
        state: whether the snapshot is current; counts are left out if it is not.
        width: the width of the screen, in cells.
    """
    name = clean(who.context or snapshot.cluster.cluster_id or "connecting", 120)
    principal = clean(who.principal, 120)
    pieces: list[tuple[int, Span]] = [
        (0, (name, "strong")),
        (0, ("RO", "danger") if who.read_only else ("RW", "muted")),
    ]
    if who.context and snapshot.cluster.cluster_id:
        pieces.append((1, (clean(snapshot.cluster.cluster_id, 40), "muted")))
    if state.current:
        pieces += _counts(snapshot, counted, state.is_led)
    if who.due:
        pieces.append((8, (who.due, "danger" if who.due.isupper() else "pending")))
    if who.exposed:
        pieces.append((8, ("EXPOSED", "danger")))
    pieces.append((0, (state.text, state.meaning)))
    if principal:
        pieces.append((3, (fit(principal, max(12, width // 4)), "")))
    gap = 2

    def total() -> int:
        return sum(cell_width(span[0]) for _, span in pieces) + gap * (len(pieces) - 1) + 2

    # The context, its mode and the state have rank 0 and stay: an operator must always see where an edit would be sent.
    while total() > width and any(rank for rank, _ in pieces):
        pieces.remove(min((piece for piece in pieces if piece[0]), key=lambda piece: piece[0]))
    if (over := total() - width) > 0:
        pieces[0] = (0, (fit(name, max(4, cell_width(name) - over)), "strong"))
    if (over := total() - width) > 0:
        pieces[-1] = (0, (fit(state.text, max(1, cell_width(state.text) - over)), state.meaning))
    *most, last = (span for _, span in pieces)
    line: Line = [(" ", "")]
    for span in most:
        line += [span, ("  ", "")]
    line.append(last)
    return line


def _counts(snapshot: Snapshot, counted: Facts, is_led: bool) -> Iterator[tuple[int, Span]]:
    """Yield the pieces of the header about the cluster, each with a rank; a narrow screen leaves out the lowest ranks
    first.
    """
    active = controller(snapshot) if is_led else None
    if version := release(snapshot):
        yield 4, (f"kafka {version}", "")
        if level := finalized(snapshot):
            yield 4, (f"metadata {level}", "pending")
    if counted.brokers:
        yield 6, (plural(counted.brokers, "broker"), "")
        yield 5, (f"ctrl {active if active is not None else '?'}", "")
    elif counted.controllers:
        yield 6, (plural(counted.controllers, "controller"), "")
        yield 5, (f"leader {active if active is not None and active >= 0 else 'none'}", "")
    if counted.topics is not None:
        yield 7, (plural(counted.topics, "topic"), "")
    if counted.under_replicated:
        yield 9, (f"URP {counted.under_replicated:,}", "failed")
    if counted.offline:
        yield 9, (f"OFFLINE {counted.offline:,}", "failed")
