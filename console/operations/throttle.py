"""Edits for replication throttles: rates on brokers, and the lists of replicas on topics to which the rates apply.
Pure.

The edits are the same as those of ReassignPartitionsCommand: the leader's list has the replicas before a move, the
follower's list the new ones. Copies between a broker's directories have a separate rate (KIP-113), without a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from console.model.codes import TOPIC
from console.model.config import ConfigPlace, ConfigResource, broker_resource, topic_resource
from console.model.numbers import commas
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.operations.proposal import DirMove, Relocation
from console.plan.amounts import parse_amount, unit_of
from console.plan.edits import SetConfig, UnsetConfig
from console.plan.stale_throttles import LISTS, LOG_DIRS_RATE, RATES, StaleThrottle
from console.plan.values import own_text, parts_of

_RATES = (*RATES, LOG_DIRS_RATE)
Rated = tuple[int, str]
"""(broker, key of one of its rates)."""
Items = Mapping[str, Sequence[str]]
"""Topic -> its replicas, each in the form of Kafka's configs: ``partition:broker``."""


def rate_of(text: str) -> int:
    """Parse a rate, which is a number or an amount such as ``50MB/s``, and return bytes per second; 0 for no throttle.

    Raises:
        ValueError: the text is not a rate, or 2^63 or more. The message is for the operator.
    """
    rate = int(text) if text.isascii() and text.isdecimal() else parse_amount(text, unit_of(RATES[0]))
    if rate >= 2**63:
        raise ValueError(f"{text} is more than a rate may be: brokers take less than 2^63 bytes per second")
    return rate


def throttle_edits(moves: Iterable[Relocation], dirs: Iterable[DirMove], rate: int) -> tuple[SetConfig, ...]:
    """Return the edits that throttle moves: one for each topic and list, then one for each rate of a broker that copies
    or is copied from.

    Args:
        rate: bytes per second that a broker may copy, that may be copied from it, and that it may copy between its
            directories.
    """
    rated, sides = _wanted(moves, dirs)
    lists = (
        SetConfig(topic_resource(topic), key, ",".join(places))
        for key, side in zip(LISTS, sides, strict=True)
        for topic, places in side.items()
    )
    rates = (SetConfig(broker_resource(broker), key, str(rate)) for broker, key in rated)
    return (*lists, *rates)


def _wanted(moves: Iterable[Relocation], dirs: Iterable[DirMove]) -> tuple[Sequence[Rated], tuple[Items, Items]]:
    """Return the rates that moves need, as brokers and keys; and two lists of replicas by topic: those before the
    moves, from which brokers may copy, and the new ones.
    """
    read: dict[str, list[str]] = {}
    copied: dict[str, list[str]] = {}
    brokers: set[int] = set()
    for move in moves:
        # A new order of the same replicas copies nothing.
        if not move.added:
            continue
        # Any former replica may lead during the move, so all of them get the leader's rate.
        brokers.update(move.before, move.added)
        read.setdefault(move.topic, []).extend(f"{move.number}:{broker}" for broker in move.before)
        copied.setdefault(move.topic, []).extend(f"{move.number}:{broker}" for broker in move.added)
    within = {move.broker for move in dirs}
    rated = [
        (broker, key)
        for broker in sorted(brokers | within)
        for key in _RATES
        if broker in (within if key == LOG_DIRS_RATE else brokers)
    ]
    return rated, (read, copied)


# -- throttles that belong to an operation -----------------------------------------------------------------------------


class Throttles(Struct, frozen=True):
    """The throttles that a step of an operation sets."""

    rate: int = 0
    """The value of all rates, in bytes per second."""
    rates: tuple[Rated, ...] = ()
    """The (broker, key) pairs that get this rate."""
    lists: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """(topic, key, replicas) of each list."""

    def __bool__(self) -> bool:
        return bool(self.rates or self.lists)


class Owned(NamedTuple):
    """All throttles that an operation has set so far."""

    rates: Mapping[Rated, frozenset[str]]
    """(broker, key) -> the values that the operation has set."""
    lists: Mapping[tuple[str, str], frozenset[str]]
    """(topic, key) -> the replicas that the operation has put into the list."""
    latest: frozenset[Rated] = frozenset()
    """The (broker, key) pairs of rates that the last step recorded, which may still be set."""

    @classmethod
    def of(cls, steps: Iterable[Throttles]) -> Owned:
        """Return the throttles that an operation has set. steps: the throttles of each step, the oldest first."""
        rates: dict[Rated, set[str]] = {}
        lists: dict[tuple[str, str], set[str]] = {}
        some = tuple(steps)
        for each in some:
            for place in each.rates:
                rates.setdefault(place, set()).add(str(each.rate))
            for topic, key, items in each.lists:
                lists.setdefault((topic, key), set()).update(items)
        return cls(
            {place: frozenset(values) for place, values in rates.items()},
            {place: frozenset(items) for place, items in lists.items()},
            frozenset(some[-1].rates) if some else frozenset(),
        )

    def places(self) -> frozenset[ConfigPlace]:
        """Return the (resource, key) pairs of the throttles."""
        rates = ((broker_resource(broker), key) for broker, key in self.rates)
        return frozenset((*rates, *((topic_resource(topic), key) for topic, key in self.lists)))

    def has(self, throttle: StaleThrottle) -> bool:
        """Return whether a throttle that nothing uses any more comes from this operation alone: the operation has
        set the rate's value, or every item of the list.
        """
        resource, key = throttle.edit.resource, throttle.edit.key
        if resource.type == TOPIC:
            # Require that the operation has set every item: otherwise another tool may still need a list that contains
            # some of them.
            items = {each.strip() for each in parts_of(throttle.value)}
            return bool(items) and items <= self.lists.get((resource.name, key), frozenset())
        if not resource.name.isdecimal():
            return False
        return throttle.value in self.rates.get((int(resource.name), key), frozenset())


class ThrottleChange(NamedTuple):
    """The edits that bring the cluster's throttles to what an operation needs now."""

    edits: tuple[SetConfig | UnsetConfig, ...] = ()
    """Edits that set and remove rates and lists; empty if nothing has to change."""
    sets: Throttles = Throttles()
    """The throttles that may be set after the edits and belong to the operation. A throttle that the edits remove is
    included until a later snapshot shows that it is gone.
    """
    foreign: tuple[int, ...] = ()
    """The brokers on which another client has set a rate. That rate also limits the operation's moves, and the edits
    do not change it.
    """
    unread: tuple[int, ...] = ()
    """The brokers that may have a rate of the operation, but whose configs can't be read, so that it can't be removed
    now.
    """


def throttle_change(
    snapshot: Snapshot,
    owned: Owned,
    moves: Iterable[Relocation],
    dirs: Iterable[DirMove],
    rate: int | None,
    *,
    later: bool = False,
    gives_up: bool = False,
) -> ThrottleChange:
    """Return the edits that set the throttles for these moves and remove all other throttles of the operation.
    Throttles that others have set are neither changed nor removed.

    Args:
        snapshot: a snapshot with the configs of all topics and brokers. A broker whose configs are unknown gets no
            rate.
        owned: the throttles that the operation has set before: only these may be removed.
        rate: bytes per second; None for no throttle.
        later: whether to leave unused throttles in place for a later call, because they do not slow down replicas in
            sync, and each change takes space in the journal.
        gives_up: whether to ignore brokers whose configs can't be read; their throttles then stay.
    """
    rated, sides = _wanted(moves, dirs) if rate is not None else ([], ({}, {}))
    edits: list[SetConfig | UnsetConfig] = []
    lists: list[tuple[str, str, tuple[str, ...]]] = []
    for key, side in zip(LISTS, sides, strict=True):
        topics = dict.fromkeys((*side, *(topic for topic, of in owned.lists if of == key)))
        # Skip deleted topics: Kafka deletes a topic's configs with the topic.
        for topic in (each for each in topics if each in snapshot.topics):
            edit, added = _list_edit(
                snapshot, topic, key, side.get(topic, ()), owned.lists.get((topic, key), frozenset()), later
            )
            edits += edit
            if added:
                lists.append((topic, key, added))
    rates: list[Rated] = []
    foreign: list[int] = []
    unread: list[int] = []
    listed = {broker.id for broker in snapshot.cluster.brokers}
    for broker in sorted({broker for broker, _ in (*rated, *owned.rates)}):
        if broker not in listed and snapshot.cluster.shows_fenced:
            continue  # the broker is no longer registered
        if broker not in listed or not _is_read(snapshot, broker):
            # Keep rates that may be set on the broker recorded, so that they are removed when the broker answers again.
            carried = [place for place in owned.latest if place[0] == broker and not gives_up]
            rates += sorted(carried)
            unread += [broker] if carried else []
            continue
        wanted = {key: rate for key in _RATES if (broker, key) in rated}
        of_broker = _rate_edits(snapshot, owned, broker, wanted, later=later)
        edits += of_broker.edits
        rates += of_broker.held
        foreign += [broker] if of_broker.foreign else []
    sets = Throttles(rate or 0, tuple(rates), tuple(lists))
    return ThrottleChange(tuple(edits), sets, tuple(foreign), tuple(unread))


class _RateEdits(NamedTuple):
    """Edits of one broker's rates."""

    edits: list[SetConfig | UnsetConfig]
    held: list[Rated]
    """The operation's rates on the broker: those that are set after the edits, and those that the edits remove,
    because only a later snapshot shows that they are gone.
    """
    foreign: bool
    """Whether another client has set a rate that the operation needs on the broker."""


def _rate_edits(
    snapshot: Snapshot, owned: Owned, broker: int, wanted: Mapping[str, int | None], *, later: bool
) -> _RateEdits:
    """Return the edits that set the needed rates of a broker, and remove the operation's other rates on it.

    Args:
        wanted: key -> bytes per second.
        later: whether to leave the other rates in place for a later call.
    """
    resource = broker_resource(broker)
    edits: list[SetConfig | UnsetConfig] = []
    held: list[Rated] = []
    foreign = False
    for key in _RATES:
        now, mine = _own(snapshot, resource, key), owned.rates.get((broker, key), frozenset())
        # A rate that the operation never set belongs to another client, which may need it.
        if now is not None and now not in mine:
            foreign = foreign or key in wanted
            continue
        if key in wanted or now is not None:
            held.append((broker, key))
        if key in wanted and now != str(wanted[key]):
            edits.append(SetConfig(resource, key, str(wanted[key])))
        elif key not in wanted and now is not None and not later:
            edits.append(UnsetConfig(resource, key))
    return _RateEdits(edits, held, foreign)


def _list_edit(
    snapshot: Snapshot, topic: str, key: str, wanted: Sequence[str], owned: frozenset[str], later: bool
) -> tuple[list[SetConfig | UnsetConfig], tuple[str, ...]]:
    """Return the edit of a topic's list, empty if the list needs no change; and the replicas in the list afterwards
    that belong to the operation.

    Args:
        wanted: the replicas that have to be in the list.
        owned: the replicas that the operation has put into the list before.
        later: whether to leave replicas that are not wanted in the list for a later call.
    """
    resource = topic_resource(topic)
    text = _own(snapshot, resource, key)
    now = [each.strip() for each in parts_of(text)] if text else []
    # ``*`` already throttles all replicas, and does not belong to the operation.
    if "*" in now:
        return [], ()
    kept = [each for each in now if later or each not in owned or each in wanted]
    added = [each for each in wanted if each not in now]
    mine = (*(each for each in wanted if each in now and each in owned), *added)
    after = [*kept, *added]
    if after == now:
        return [], mine
    return [SetConfig(resource, key, ",".join(after)) if after else UnsetConfig(resource, key)], mine


def _is_read(snapshot: Snapshot, broker: int) -> bool:
    """Return whether a broker's configs are known, and the last read of them succeeded."""
    failed = any(each.part == Part.CONFIGS and each.entity == f"broker {broker}" for each in snapshot.failures)
    return broker_resource(broker) in snapshot.configs and not failed


def _own(snapshot: Snapshot, resource: ConfigResource, key: str) -> str | None:
    configs = snapshot.configs.get(resource)
    return own_text(configs.get(key), resource) if configs is not None else None


def foreign_text(brokers: Sequence[int]) -> str:
    """Return a line on brokers whose rate another client has set."""
    which = f"broker{'s' if len(brokers) > 1 else ''} {commas(brokers)}"
    return f"{which}: throttle of unknown owner, which limits these moves too and is left as it is"
