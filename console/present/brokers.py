"""Brokers: their rows and columns, the line about the quorum, and the line about brokers that do not answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from math import inf
from typing import Any, NamedTuple

from console.model.cluster import Broker, LogDir
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource
from console.model.numbers import Data, known_number
from console.model.observers import not_in_sync
from console.model.parts import Part
from console.model.quorum import is_unanswered, known_voters, voters_in_short
from console.model.rates import UNKNOWN, Rate
from console.model.snapshot import UNKNOWN_BROKER, Snapshot
from console.model.topic_counts import alike, are_topics_hidden
from console.plan.amounts import Unit, size
from console.plan.plan import Plan
from console.present import columns
from console.present.header import controller, no_quorum_text
from console.present.names import DEFAULT, NOTHING
from console.present.text import Cell, Line, clean

MOST_VOTERS = 9
"""Maximum number of voters that a line lists; if there are more, it has their number, and lists only those with a
lag.
"""


class BrokerLoad(NamedTuple):
    """The load of a broker: the number of partitions that it leads, the number of its replicas, and the number of
    its replicas that are out of sync.
    """

    leaders: int = 0
    replicas: int = 0
    out_of_sync: int = 0
    preferred: int = 0
    """The number of partitions of which the broker is the preferred leader."""
    to_elect: int = 0
    """The number of those `preferred` partitions that the broker does not lead although it is in their ISR."""


class BrokerRow(NamedTuple):
    """A broker; if `broker` is None, the cluster default of broker configs."""

    broker: Broker | None
    release: str = ""
    load: BrokerLoad = BrokerLoad()
    dirs: tuple[LogDir, ...] | None = None
    controller: bool = False
    quorum: str = ""
    overrides: int | None = None
    edited: bool = False
    rate: Rate = UNKNOWN
    """The rate of writes to the partitions that the broker leads."""
    full_in: float | None = None
    """The seconds until its first disk is full; None if no disk fills up or the time is unknown."""
    is_counted: bool = True
    """Whether the load is known; False if kac may not see any topic."""

    @property
    def key(self) -> str:
        """The name of the row's config resource: the broker's id as text; ``""`` for the cluster default."""
        return "" if self.broker is None else str(self.broker.id)

    @property
    def resource(self) -> ConfigResource:
        """The config resource of the row."""
        return CLUSTER_DEFAULT if self.broker is None else broker_resource(self.broker.id)


def broker_loads(snapshot: Snapshot) -> dict[int, BrokerLoad]:
    """Return broker id -> its load, counted over all topics."""
    from console.model.elections import needs_preferred, preferred, why_not_preferred

    leaders, replicas, lost, first, to_elect = (Counter[int]() for _ in range(5))
    for topic, count in alike(snapshot.topics.values()):
        for partition in topic.partitions:
            leaders[partition.leader] += count
            for replica in partition.replicas:
                replicas[replica] += count
            for replica in not_in_sync(partition):
                lost[replica] += count
            first[preferred(partition)] += count
            if needs_preferred(partition) and not why_not_preferred(partition):
                to_elect[preferred(partition)] += count
    return {
        # Leave out the leader -1, which means that a partition has no leader.
        b: BrokerLoad(*(counts.get(b, 0) for counts in (leaders, replicas, lost, first, to_elect)))
        for b in {*leaders, *replicas}
        if b >= 0
    }


def broker_rows(
    snapshot: Snapshot,
    plan: Plan,
    loads: Mapping[int, BrokerLoad],
    rates: Mapping[int, Rate] | None = None,
    *,
    is_led: bool = True,
) -> list[BrokerRow]:
    """Return a row for the cluster default and one for each broker; on a connection to controllers, one for each
    controller.

    Args:
        snapshot: has the brokers, configs, log directories and the quorum.
        plan: marks the rows with staged edits.
        loads: the result of `broker_loads`. A broker that is only here, not in the snapshot, is down, and also has a
            row.
        rates: broker id -> the rate of writes to the partitions that it leads; None if unknown.
        is_led: whether the quorum has a leader, as for `quorum_line`.

    Returns:
        The cluster default first, then the brokers by id.
    """
    led = rates or {}
    edited = {s.edit.target for s in plan.staged}
    known = {node.id: node for node in snapshot.cluster.brokers or snapshot.cluster.controllers}
    for down in loads.keys() - known.keys():
        # A listing of the cluster may leave out a broker that is down, but topics show its replicas.
        known[down] = Broker(down, "", -1)
    active, is_counted = controller(snapshot) if is_led else None, not are_topics_hidden(snapshot)
    # Add a row for the cluster default, whose overrides all brokers inherit.
    default = snapshot.configs.get(CLUSTER_DEFAULT)
    rows = [BrokerRow(None, overrides=None if default is None else len(default), edited=CLUSTER_DEFAULT in edited)]
    for broker in sorted(known.values(), key=lambda b: b.id):
        resource = broker_resource(broker.id)
        entries = snapshot.configs.get(resource)
        version = snapshot.versions.get(broker.id)
        rows.append(
            BrokerRow(
                broker,
                version.release if version else "",
                loads.get(broker.id, BrokerLoad()),
                snapshot.log_dirs.get(broker.id),
                broker.id == active,
                _place_in_quorum(snapshot, broker.id, active),
                None if entries is None else len(entries.overrides(resource)),
                resource in edited,
                led.get(broker.id, UNKNOWN),
                snapshot.rates.seconds_left.get(broker.id),
                is_counted,
            )
        )
    return rows


def _place_in_quorum(snapshot: Snapshot, broker: int, active: int | None) -> str:
    quorum = snapshot.quorum
    if quorum is None:
        return ""
    for role, replicas in (("voter", quorum.voters), ("observer", quorum.observers)):
        for replica in replicas:
            if replica.id == broker:
                if broker == active:
                    return f"leader, epoch {quorum.leader_epoch}"
                lag = "unknown" if replica.lag < 0 else f"{replica.lag:,}"
                return f"{role}, lag {lag}" if replica.lag else role
    return ""


def disk(dirs: tuple[LogDir, ...] | None) -> Cell:
    """Return the total size of the replicas in these directories, and the used percentage of the volumes if the broker
    reports their size. If directories failed, return only their number. Blank for None, if the directories were not
    read.
    """
    if dirs is None:
        return ""
    # A failed directory reports no bytes, so any sum would look like free space.
    failed = [d for d in dirs if d.failure is not None]
    if failed:
        return (f"{len(failed)} of {len(dirs)} dirs failed", "failed")
    used = size(sum(d.size for d in dirs))
    total, usable = sum(d.total_bytes for d in dirs), sum(d.usable_bytes for d in dirs)
    # Brokers before Kafka 3.3 (KIP-827) do not report the size of the volume.
    if not dirs or min(d.total_bytes for d in dirs) <= 0:
        return used
    full = 100 * (total - usable) / total
    return [(used, ""), (f"  {full:.0f}%", "failed" if full >= 90 else "muted")]


def _is_down(row: BrokerRow) -> bool:
    return row.broker is not None and row.broker.port < 0


def _state(row: BrokerRow) -> Cell:
    if row.broker is None:
        return ""
    return ("!", "failed") if _is_down(row) or row.broker.fenced or row.load.out_of_sync else ""


def _id(row: BrokerRow) -> Cell:
    return DEFAULT if row.broker is None else str(row.broker.id) + (" ctrl" if row.controller else "")


def _where(row: BrokerRow) -> Cell:
    if row.broker is None:
        return ("what all inherit", "muted")
    if _is_down(row):
        return ("down, or not known", "failed")
    address = f"{clean(row.broker.host)}:{row.broker.port}"
    return [("fenced ", "failed"), (address, "")] if row.broker.fenced else address


def _full_in(row: BrokerRow) -> Cell:
    """Return the time until a disk of the broker is full, as text; blank if no disk fills."""
    from console.model.disk_trend import SOON

    is_soon = row.full_in is not None and row.full_in < SOON
    return (columns.time_text(row.full_in), "failed" if is_soon else "")


def _rate(row: BrokerRow) -> Rate | columns.Absent:
    return columns.ABSENT if row.broker is None else row.rate


def _by_broker(get: Callable[[Broker], Data]) -> Callable[[BrokerRow], Data | columns.Absent]:
    """Return a function that gets a value from the broker of a row; for the cluster default it returns `ABSENT`."""
    return lambda row: columns.ABSENT if row.broker is None else get(row.broker)


def _load_column(
    name: str,
    title: str,
    label: str,
    get: Callable[[BrokerLoad], int],
    *,
    bad: str = "",
    key: str = "",
    **layout: Any,
) -> columns.Column[BrokerRow]:
    """Return the column of a number in the load; a dot if the load is unknown.

    Args:
        name, title, label: the column's name, its header in `list` and its header on the screen.
        get: returns the number.
        bad: the meaning of a number above 0, in which case 0 is shown as a blank; ``""`` for a number that is never
            bad.
        key: the key in JSON; ``""`` for the name.
        layout: the further fields of the column on the screen.
    """

    def cell(row: BrokerRow) -> Cell:
        if row.broker is None:
            return ""
        if not row.is_counted:
            return "·"
        count = get(row.load)
        return str(count) if not bad else (str(count), bad) if count else ""

    return columns.Column(
        name,
        columns.EVERYWHERE | columns.DETAIL,
        lambda row: columns.ABSENT if row.broker is None else get(row.load) if row.is_counted else None,
        "number",
        key=key,
        title=title,
        cell=cell,
        unknown=True,
        layout=columns.on_screen(label=label, **layout),
    )


BROKERS: columns.Columns[BrokerRow] = columns.Columns(
    columns.Column("state", columns.SHOWN, title="", cell=_state, layout=columns.on_screen(1, gutter=True)),
    columns.letter_column("staged", lambda row: ("*", "pending") if row.edited else ""),
    columns.Column("id", columns.DATA, _by_broker(lambda broker: broker.id), "number"),
    columns.Column("broker", columns.SHOWN, title="Broker", cell=_id, layout=columns.on_screen((9, None), "Id")),
    columns.Column("host", columns.DATA | columns.DETAIL, _by_broker(lambda broker: broker.host or None)),
    columns.Column(
        "port", columns.DATA | columns.DETAIL, _by_broker(lambda broker: known_number(broker.port)), "number"
    ),
    columns.Column(
        "address", columns.SHOWN, title="Address", cell=_where, layout=columns.on_screen((15, 60), "Host", flex=1)
    ),
    columns.Column(
        "rack",
        columns.EVERYWHERE | columns.DETAIL,
        _by_broker(lambda broker: broker.rack),
        layout=columns.on_screen((8, 16), priority=55),
    ),
    columns.Column(
        "release",
        columns.EVERYWHERE | columns.DETAIL,
        lambda row: columns.ABSENT if row.broker is None else row.release or None,
        layout=columns.on_screen(5, "Kafka", priority=45),
    ),
    columns.Column(
        "controller",
        columns.DATA | columns.DETAIL,
        lambda row: columns.ABSENT if row.broker is None else row.controller,
        "boolean",
    ),
    columns.Column("fenced", columns.DATA, _by_broker(lambda broker: broker.fenced), "boolean"),
    _load_column("leaders", "Leaders", "Leads", lambda load: load.leaders, width=6, priority=70, sort_key="L"),
    _load_column(
        "preferred", "Should lead", "Should", lambda load: load.preferred, key="preferred_leaders", width=6, priority=48
    ),
    _load_column(
        "to_elect",
        "To elect",
        "Elect",
        lambda load: load.to_elect,
        bad="pending",
        width=5,
        priority=75,
        sort_key="T",
    ),
    _load_column("replicas", "Replicas", "Repl", lambda load: load.replicas, width=5, priority=60, sort_key="P"),
    _load_column(
        "out_of_sync",
        "Out of sync",
        "URP",
        lambda load: load.out_of_sync,
        bad="failed",
        width=4,
        priority=90,
        sort_key="R",
    ),
    columns.Column(
        "disk",
        columns.SCREEN,
        lambda row: None if row.dirs is None else sum(d.size for d in row.dirs),
        "number",
        Unit.BYTES,
        cell=lambda row: disk(row.dirs),
        order=lambda row: -sum(d.size for d in row.dirs or ()),
        left=True,
        layout=columns.on_screen((11, 16), priority=65, sort_key="Z"),
    ),
    *columns.rate_columns(_rate, bytes_priority=49, records_priority=25),
    columns.Column(
        "full_in",
        columns.OVER_POLLS,
        lambda row: columns.ABSENT if row.broker is None else None if row.full_in is None else round(row.full_in),
        "number",
        Unit.SECONDS,
        key="disk_full_in_seconds",
        cell=_full_in,
        order=lambda row: inf if row.full_in is None else row.full_in,
        layout=columns.on_screen(8, priority=47, sort_key="I"),
    ),
    columns.overrides_column(lambda row: row.overrides, 50, order=lambda row: -(row.overrides or 0)),
    columns.Column(
        "quorum", columns.SHOWN, text=lambda row: row.quorum, layout=columns.on_screen((12, 22), priority=35)
    ),
    lead=lambda row: row.broker is not None,
    tie=lambda row: row.key,
)
"""The columns of brokers. The cluster default has only overrides, and its row is above the brokers."""


def silent_line(snapshot: Snapshot, silent: Collection[int]) -> Line:
    """Return a line that lists the brokers that do not answer while others do; empty if all answer.

    Args:
        snapshot: has the addresses of the brokers.
        silent: the ids of the brokers that do not answer.
    """
    if not silent:
        return []
    cluster = snapshot.cluster
    nodes = cluster.brokers or cluster.controllers
    # An id may be missing here: a broker that is known only from the replicas of topics has no address.
    where = {node.id: f" at {clean(node.host, 80)}:{node.port}" for node in nodes}
    # Name at most three brokers, which fit in a line.
    names = ", ".join(f"{broker}{where.get(broker, '')}" for broker in sorted(silent)[:3])
    more = f" and {len(silent) - 3} more" if len(silent) > 3 else ""
    what = "broker" if cluster.brokers or not cluster.controllers else "controller"
    word, verb, who = (what, "does", "it knows") if len(silent) == 1 else (f"{what}s", "do", "they know")
    return [(f"{word} {names}{more} {verb} not answer", "failed"), (f"; the others do. What only {who} is old", "")]


def quorum_line(snapshot: Snapshot, *, is_led: bool = True) -> Line:
    """Return a line with the active controller, its epoch, and the voters and observers with their lag in records.

    If the quorum has no leader, the line says so, and lists the known voters. Without a description of the quorum, as
    in ZooKeeper mode, it has only the controller; if that is unknown too, the reason why the quorum could not be read.
    It is empty if the quorum was not read yet.

    Args:
        is_led: False if brokers report no leader for a while; controllers report that themselves.
    """
    quorum = snapshot.quorum
    if quorum is None:
        if (active := controller(snapshot)) is not None:
            return [(f"controller {active}", "strong"), (f"  {no_quorum_text(snapshot)}", "muted")]
        why = next((failed.failure for failed in snapshot.failures if failed.part == Part.QUORUM), None)
        if why is None:
            return []
        if not is_unanswered(snapshot) or why.name != UNKNOWN_BROKER:
            return [("controller unknown: ", "failed"), (clean(str(why), 120), "")]
    if quorum is None or quorum.leader_id < 0 or is_unanswered(snapshot) or not is_led:
        return [("no leader  ", "failed"), (voters_in_short(known_voters(snapshot)), "")]
    is_long = len(quorum.voters) > MOST_VOTERS
    named = [v for v in quorum.voters if v.lag > 0 or not is_long]
    voters = ", ".join(f"{v.id}" + (f" (−{v.lag:,})" if v.lag > 0 else "") for v in named)
    if is_long:
        voters = f"{len(quorum.voters)}{', behind: ' if voters else ''}{voters}"
    observers = ", ".join(f"{o.id}" + (f" (−{o.lag:,})" if o.lag > 0 else "") for o in quorum.observers)
    line: Line = [
        (f"active controller {quorum.leader_id}", "strong"),
        (f"  epoch {quorum.leader_epoch}  voters {voters or NOTHING}", ""),
    ]
    if observers:
        line.append((f"  observers {observers}", ""))
    return line
