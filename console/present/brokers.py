"""Rows of the brokers table, and the line on the quorum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from console.model.cluster import Broker, LogDir
from console.model.config import CLUSTER_DEFAULT, broker_resource
from console.model.snapshot import Snapshot
from console.plan.amounts import size
from console.plan.plan import Plan
from console.present.header import alike, controller
from console.present.names import DEFAULT, NOTHING
from console.present.text import Cell, Line, clean


class BrokerLoad(NamedTuple):
    """What a broker carries: partitions it leads, replicas it holds, and of these how many are out of sync."""

    leaders: int = 0
    replicas: int = 0
    out_of_sync: int = 0


class BrokerRow(NamedTuple):
    """A broker, or the cluster default where `broker` is None."""

    broker: Broker | None
    release: str = ""
    load: BrokerLoad = BrokerLoad()
    dirs: tuple[LogDir, ...] | None = None
    controller: bool = False
    quorum: str = ""
    overrides: int | None = None
    edited: bool = False

    @property
    def key(self) -> str:
        """The config resource's name: the id, ``""`` for the default."""
        return "" if self.broker is None else str(self.broker.id)


def broker_loads(snapshot: Snapshot) -> dict[int, BrokerLoad]:
    """Count leaders, replicas and replicas out of sync by broker, over all topics."""
    leaders: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    lost: Counter[int] = Counter()
    for topic, count in alike(snapshot):
        for partition in topic.partitions:
            leaders[partition.leader] += count
            for replica in partition.replicas:
                replicas[replica] += count
                if replica not in partition.isr:
                    lost[replica] += count
    return {
        b: BrokerLoad(leaders.get(b, 0), replicas.get(b, 0), lost.get(b, 0)) for b in {*leaders, *replicas} if b >= 0
    }


def broker_rows(snapshot: Snapshot, plan: Plan, loads: Mapping[int, BrokerLoad]) -> list[BrokerRow]:
    """The cluster default first, then the brokers by id, those that only the replicas name (down) among them."""
    edited = {s.edit.target for s in plan.staged}
    known = {broker.id: broker for broker in snapshot.cluster.brokers}
    for down in loads.keys() - known.keys():
        known[down] = Broker(down, "", -1)
    active = controller(snapshot)
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
                _place_in_quorum(snapshot, broker.id),
                None if entries is None else len(entries.overrides(resource)),
                resource in edited,
            )
        )
    return rows


def _place_in_quorum(snapshot: Snapshot, broker: int) -> str:
    quorum = snapshot.quorum
    if quorum is None:
        return ""
    for role, replicas in (("voter", quorum.voters), ("observer", quorum.observers)):
        for replica in replicas:
            if replica.id == broker:
                if broker == quorum.leader_id:
                    return f"leader, epoch {quorum.leader_epoch}"
                return f"{role}, lag {replica.lag:,}" if replica.lag else role
    return ""


def disk(dirs: tuple[LogDir, ...] | None) -> Cell:
    """Bytes that the replicas take, and how full the volumes are where the broker tells."""
    if dirs is None:
        return ""
    failed = [d for d in dirs if d.failure is not None]
    if failed:
        return (f"{len(failed)} of {len(dirs)} dirs failed", "failed")
    used = size(sum(d.size for d in dirs))
    total, usable = sum(d.total_bytes for d in dirs), sum(d.usable_bytes for d in dirs)
    if not dirs or min(d.total_bytes for d in dirs) <= 0:
        return used
    full = 100 * (total - usable) / total
    return [(used, ""), (f"  {full:.0f}%", "failed" if full >= 90 else "muted")]


def broker_cells(row: BrokerRow) -> list[Cell]:
    """Letters, id, host, rack, version, leaders, replicas, out of sync, disk, overrides, place in the quorum."""
    edited: Cell = ("*", "pending") if row.edited else ""
    overrides: Cell = "·" if row.overrides is None else (str(row.overrides), "override") if row.overrides else ""
    if row.broker is None:
        what: Cell = ("what every broker inherits", "muted")
        return ["", edited, DEFAULT, what, "", "", "", "", "", "", overrides, ""]
    broker, load = row.broker, row.load
    down = broker.port < 0
    state: Cell = ("!", "failed") if down or broker.fenced or load.out_of_sync else ""
    where: Cell = ("down, or not known", "failed") if down else f"{clean(broker.host)}:{broker.port}"
    if broker.fenced:
        where = [("fenced ", "failed"), (f"{clean(broker.host)}:{broker.port}", "")]
    return [
        state,
        edited,
        str(broker.id) + (" ctrl" if row.controller else ""),
        where,
        clean(broker.rack or ""),
        row.release,
        str(load.leaders),
        str(load.replicas),
        (str(load.out_of_sync), "failed") if load.out_of_sync else "",
        disk(row.dirs),
        overrides,
        row.quorum,
    ]


def silent_line(snapshot: Snapshot, silent: Collection[int]) -> Line:
    """The brokers that do not answer while others do, by name; empty where all answer."""
    if not silent:
        return []
    where = {broker.id: f" at {clean(broker.host, 80)}:{broker.port}" for broker in snapshot.cluster.brokers}
    names = ", ".join(f"{broker}{where.get(broker, '')}" for broker in sorted(silent)[:3])
    more = f" and {len(silent) - 3} more" if len(silent) > 3 else ""
    word, verb = ("broker", "does") if len(silent) == 1 else ("brokers", "do")
    return [(f"{word} {names}{more} {verb} not answer", "failed"), ("; the others do. What only it knows is old", "")]


def quorum_line(snapshot: Snapshot) -> Line:
    """The active controller with its epoch, and the voters' lag; in ZooKeeper mode who the controller is; else why it
    is unknown."""
    quorum = snapshot.quorum
    if quorum is None:
        if (active := controller(snapshot)) is not None:
            return [(f"controller {active}", "strong"), ("  no KRaft quorum: it runs on ZooKeeper", "muted")]
        why = next((failed.failure for failed in snapshot.failures if failed.part == "quorum"), None)
        return [] if why is None else [("controller unknown: ", "failed"), (clean(str(why), 120), "")]

    voters = ", ".join(f"{v.id}" + (f" (−{v.lag:,})" if v.lag else "") for v in quorum.voters)
    observers = ", ".join(f"{o.id}" + (f" (−{o.lag:,})" if o.lag else "") for o in quorum.observers)
    line: Line = [
        (f"active controller {quorum.leader_id}", "strong"),
        (f"  epoch {quorum.leader_epoch}  voters {voters or NOTHING}", ""),
    ]
    if observers:
        line.append((f"  observers {observers}", ""))
    return line
