"""The edits that limit copies: rates on brokers, and the lists of replicas on topics to which the rates apply. Pure.

They are those of ReassignPartitionsCommand: the leader's list has the replicas before a move, the follower's list the
new ones. Copies between a broker's directories have a separate rate (KIP-113), without a list.
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
"""A broker, and the key of one of its rates."""
Items = Mapping[str, Sequence[str]]
"""Topic -> replicas in the form of Kafka's configs: ``partition:broker``."""


def rate_of(text: str) -> int:
    """Parse a rate, a number or an amount as ``50MB/s``, and return bytes per second; 0 for no throttle.

    Raises:
        ValueError: the text is not a rate, or 2^63 or more. The message is for the operator.
    """
    rate = int(text) if text.isascii() and text.isdecimal() else parse_amount(text, unit_of(RATES[0]))
    if rate >= 2**63:
        raise ValueError(f"{text} is more than a rate may be: brokers take less than 2^63 bytes per second")
    return rate


def throttle_edits(moves: Iterable[Relocation], dirs: Iterable[DirMove], rate: int) -> tuple[SetConfig, ...]:
    """Return an edit for each topic and side, then for each broker that copies or is copied from.

    Args:
        rate: bytes per second of a broker on each side, and between its directories.
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
    """Return the brokers that copy or are copied from, with the keys of their rates; and, by topic, the replicas before
    the moves, from which others may copy, and the new replicas.
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
    """The rate in bytes per second."""
    rates: tuple[Rated, ...] = ()
    """The brokers and keys that have the rate."""
    lists: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Topic, key and replicas of each list."""

    def __bool__(self) -> bool:
        return bool(self.rates or self.lists)


class Owned(NamedTuple):
    """All throttles that an operation has ever set."""

    rates: Mapping[Rated, frozenset[str]]
    """Broker and key -> the values that the operation has set."""
    lists: Mapping[tuple[str, str], frozenset[str]]
    """Topic and key -> the replicas that the operation has set."""
    latest: frozenset[Rated] = frozenset()
    """The brokers and keys of rates that may still be set."""

    @classmethod
    def of(cls, steps: Iterable[Throttles]) -> Owned:
        """Return the throttles that the steps of an operation have set, in their order."""
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
        """Return the entities and keys of the throttles."""
        rates = ((broker_resource(broker), key) for broker, key in self.rates)
        return frozenset((*rates, *((topic_resource(topic), key) for topic, key in self.lists)))

    def has(self, throttle: StaleThrottle) -> bool:
        """Return whether an unused throttle belongs completely to the operation."""
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
    """The edits that set an operation's throttles as they are needed."""

    edits: tuple[SetConfig | UnsetConfig, ...] = ()
    """The edits."""
    sets: Throttles = Throttles()
    """The throttles that may be set afterwards and belong to the operation. Throttles that the edits remove are
    included until a later snapshot shows that they are gone."""
    foreign: tuple[int, ...] = ()
    """The brokers with a rate that another client has set; that rate also limits the moves, and is kept."""
    unread: tuple[int, ...] = ()
    """The brokers with a rate of the operation that can't be read, and therefore can't be removed."""


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
    """Return the edits that set the throttles of these moves and remove all other throttles of the operation. Throttles
    of other owners are neither changed nor removed.

    Args:
        snapshot: a snapshot with the configs of all topics and brokers. A broker whose configs are unknown gets no
            rate.
        owned: throttles that the operation has set before: only these may be removed.
        rate: bytes per second; None for no throttle.
        later: leave unused throttles for another time: they do not slow down replicas in sync, and each change takes
            space in the journal.
        gives_up: do not wait for brokers that can't be read; their throttles are removed only if they answer in time.
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
    """The edits of a broker's rates."""

    edits: list[SetConfig | UnsetConfig]
    held: list[Rated]
    """The operation's rates that are set afterwards."""
    foreign: bool
    """Whether another client has set a rate that the operation wants."""


def _rate_edits(
    snapshot: Snapshot, owned: Owned, broker: int, wanted: Mapping[str, int | None], *, later: bool
) -> _RateEdits:
    """Return the edits that set the wanted rates of a broker, in bytes per second by their keys, and remove the others
    of the operation's. later: leave these for another time.
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
    """Return the edit of a topic's list, none if it is already right; and the replicas in it that then belong to the
    operation.
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
    """Return whether a broker's configs are known and the last attempt to read them succeeded."""
    failed = any(each.part == Part.CONFIGS and each.entity == f"broker {broker}" for each in snapshot.failures)
    return broker_resource(broker) in snapshot.configs and not failed


def _own(snapshot: Snapshot, resource: ConfigResource, key: str) -> str | None:
    configs = snapshot.configs.get(resource)
    return own_text(configs.get(key), resource) if configs is not None else None


def foreign_text(brokers: Sequence[int]) -> str:
    """Return a line about brokers whose rate has another owner."""
    which = f"broker{'s' if len(brokers) > 1 else ''} {commas(brokers)}"
    return f"{which}: throttle of unknown owner, which limits these moves too and is left as it is"
