"""Rules on quotas, and on limits of connections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from console.lint.places import broker_values, on_brokers, whose
from console.lint.rule import Found, Rule, Seen
from console.model.codes import BROKER
from console.model.config import ConfigSet
from console.model.numbers import long_number
from console.model.parts import Part
from console.model.quota import BY_KEY, REQUEST_PERCENTAGE
from console.model.severity import Certainty, Severity
from console.plan.amounts import quota
from console.plan.edits import UnsetQuota

UNREACHED = 10_000_000_000
"""Bytes a second that no broker reaches: 80 Gbit/s."""
PER_IP = "max.connections.per.ip"


def _near_zero(seen: Seen) -> Iterator[Found]:
    for entity, values in seen.snapshot.quotas.items():
        for key, value in values.items():
            if key in BY_KEY and 0 <= value < BY_KEY[key].near_zero:
                what = f"{key} is {value:,.10g}: those that it holds for are as good as shut out"
                yield Found(entity, what, key, (UnsetQuota(entity, key),))


def _no_limit(seen: Seen) -> Iterator[Found]:
    threads = [n for configs in seen.of_brokers.values() if (n := _threads(configs)) is not None]
    for entity, values in seen.snapshot.quotas.items():
        for key, value in values.items():
            if key in BY_KEY and BY_KEY[key].is_byte_rate and value > UNREACHED:
                what = f"{key} is {quota(key, value)}, which no broker reaches: it limits no client"
                yield Found(entity, what, key, (UnsetQuota(entity, key),))
            elif key == REQUEST_PERCENTAGE and threads and value >= 100 * max(threads):
                what = f"{key} is {value:,.10g}, and the {max(threads)} threads of a broker have {100 * max(threads):,}"
                yield Found(entity, what, key, (UnsetQuota(entity, key),))


def _threads(configs: ConfigSet) -> int | None:
    """Return the threads of a broker whose time request_percentage shares out; None if unknown."""
    entries = map(configs.get, ("num.io.threads", "num.network.threads"))
    known = [n for entry in entries if entry is not None and (n := long_number(entry.value)) is not None]
    return sum(known) if len(known) == 2 else None


def _few_connections(seen: Seen) -> Iterator[Found]:
    hosts = Counter(
        member.host.lstrip("/")
        for group in seen.snapshot.groups.values()
        for member in group.members or ()
        if member.host
    )
    if not hosts:
        return
    host, members = hosts.most_common(1)[0]
    for value, brokers, _entry in broker_values(seen, PER_IP):
        limit = long_number(value)
        if limit is not None and limit < members:
            what = f"{PER_IP}={limit} on {on_brokers(seen, brokers)}, and {members:,} members of groups run on {host}"
            yield Found(whose(seen, brokers), what, PER_IP, advice=f"allow twice as many as there are: {2 * members}")


RULES = (
    Rule(
        name="quota-near-zero",
        severity=Severity.HIGH,
        certainty=Certainty.LIKELY,
        title="a quota that shuts its clients out",
        why="Brokers delay each answer so long that clients give up",
        find=_near_zero,
        reads=(Part.QUOTAS,),
        source="design_quotas",
    ),
    Rule(
        name="quota-without-effect",
        severity=Severity.INFO,
        certainty=Certainty.LIKELY,
        title="a quota above what a broker can do",
        why="It looks like a limit, and limits no client",
        find=_no_limit,
        reads=(Part.CLUSTER, Part.QUOTAS, Part.CONFIGS),
        configs_of=(BROKER,),
        source="design_quotas",
    ),
    Rule(
        name="connections-below-members",
        severity=Severity.HIGH,
        certainty=Certainty.LIKELY,
        title="fewer connections from an address than members of groups run on it",
        why="Some of them can't connect to a broker that they need, when they are started at once",
        find=_few_connections,
        reads=(Part.CLUSTER, Part.GROUPS, Part.LAGS, Part.CONFIGS),
        configs_of=(BROKER,),
        source="brokerconfigs_max.connections.per.ip",
    ),
)
