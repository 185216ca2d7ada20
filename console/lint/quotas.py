"""Rules on quotas, and on limits of numbers of connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from console.lint.places import broker_values, on_brokers, whose
from console.lint.rule import AFTER_ITS_CHANGE, Found, Seen, rule
from console.model.authorizer import address_as_compared
from console.model.codes import BROKER
from console.model.config import ConfigSet, text_in
from console.model.numbers import long_number
from console.model.parts import Part
from console.model.quota import BY_KEY, REQUEST_PERCENTAGE, QuotaEntity, QuotaValues
from console.model.severity import Certainty, Severity
from console.plan import limit_risks
from console.plan.amounts import quota
from console.plan.edits import UnsetQuota

UNREACHED = 10_000_000_000
"""Bytes per second that no broker reaches (80 Gbit/s): a higher limit has no effect."""
UNLIMITED = (1 << 31) - 1
"""Kafka's default of max.connections.per.ip, which limits nothing."""


def _wrong(seen: Seen, judge: Callable[[str, float], str]) -> Iterator[Found]:
    """Yield a finding for each quota with a defect, with the edit that removes the quota.

    Args:
        judge: a function from a quota key and its value to the defect; ``""`` if there is none.
    """
    quotas = seen.snapshot.quotas
    # A million entities have only a few dozen different values, so judge each set of values once.
    different = {id(values): values for values in quotas.values()}
    judged = {each: {key: judge(key, value) for key, value in values.items()} for each, values in different.items()}
    wrong = {each: said for each, texts in judged.items() if (said := {key: t for key, t in texts.items() if t})}
    for entity, values in quotas.items() if wrong else ():
        for key, what in wrong.get(id(values), {}).items():
            yield Found(entity, what, key, (UnsetQuota(entity, key),))


@rule(
    name="quota-near-zero",
    severity=Severity.HIGH,
    certainty=Certainty.LIKELY,
    title="a quota so low that its clients can't work",
    why="Brokers delay each answer so long that clients give up",
    needs=(Part.QUOTAS,),
    source="design_quotas",
    stands_after=AFTER_ITS_CHANGE,
    is_lasting=True,
)
def _near_zero(seen: Seen) -> Iterator[Found]:
    def judge(key: str, value: float) -> str:
        if key not in BY_KEY or not 0 <= value < BY_KEY[key].near_zero:
            return ""
        return f"{key} is {value:,.10g}: those that it holds for are as good as shut out"

    for found in _wrong(seen, judge):
        yield found._replace(hurts=_shuts_all_out(found, seen.snapshot.quotas))


def _shuts_all_out(found: Found, quotas: Mapping[QuotaEntity, QuotaValues]) -> bool:
    """Return whether a quota near zero holds for all clients: it limits reads or writes, its entity is a default, and
    no other entity has a quota of this key.

    False otherwise, because the quota may be on purpose: one of a named client may shut this client out; other quotas
    of the key may be exceptions from a default, or beat it; and a low limit of other work than reads and writes may be
    a policy.
    """
    entity, key = found.subject, found.key
    if not isinstance(entity, QuotaEntity) or not BY_KEY[key].is_byte_rate:
        return False
    return all(part.name is None for part in entity.parts) and sum(key in values for values in quotas.values()) == 1


@rule(
    name="quota-without-effect",
    severity=Severity.INFO,
    certainty=Certainty.LIKELY,
    title="a quota above the rate that a broker can reach",
    why="It looks like a limit, but limits no client",
    needs=(Part.CLUSTER, Part.QUOTAS, BROKER),
    source="design_quotas",
)
def _no_limit(seen: Seen) -> Iterator[Found]:
    most = max((n for configs in seen.of_brokers.values() if (n := _threads(configs)) is not None), default=None)

    def judge(key: str, value: float) -> str:
        if key in BY_KEY and BY_KEY[key].is_byte_rate and value > UNREACHED:
            return f"{key} is {quota(key, value)}, which no broker reaches: it limits no client"
        if key == REQUEST_PERCENTAGE and most is not None and value >= 100 * most:
            return f"{key} is {value:,.10g}, and the {most} threads of a broker have {100 * most:,}"
        return ""

    return _wrong(seen, judge)


def _threads(configs: ConfigSet) -> int | None:
    """Return the number of a broker's threads whose time counts for request_percentage; None if unknown."""
    entries = map(configs.get, ("num.io.threads", "num.network.threads"))
    known = [n for entry in entries if entry is not None and (n := long_number(entry.value)) is not None]
    return sum(known) if len(known) == 2 else None


@rule(
    name="connections-below-members",
    severity=Severity.HIGH,
    certainty=Certainty.LIKELY,
    title="an address may open fewer connections than it has group members",
    why="If they start together, some of them can't connect to a broker that they need",
    needs=(Part.CLUSTER, Part.TOPICS, Part.GROUPS, Part.LAGS, BROKER),
    source="brokerconfigs_max.connections.per.ip",
)
def _few_connections(seen: Seen) -> Iterator[Found]:
    limits = [
        (limit, brokers)
        for value, brokers, _entry in broker_values(seen, limit_risks.BY_ADDRESS)
        if (limit := long_number(value)) is not None and limit < UNLIMITED
    ]
    used = limit_risks.used_connections(seen.topics, seen.snapshot.groups.values()) if limits else {}
    for limit, brokers in limits:
        hosts = (
            (count, broker, host)
            for broker in brokers
            if (own := _own_limits(seen.of_brokers[broker])) is not None
            for host, count in used.get(broker, {}).items()
            if host and address_as_compared(host) not in own
        )
        members, broker, host = max(hosts, default=(0, -1, ""))
        if limit < members:
            what = (
                f"{limit_risks.BY_ADDRESS}={limit} on {on_brokers(seen, brokers)}, and {members:,} members of groups "
                f"on {host} need broker {broker}"
            )
            advice = f"allow twice as many as there are: {2 * members}"
            yield Found(whose(seen, brokers), what, limit_risks.BY_ADDRESS, advice=advice)


def _own_limits(configs: ConfigSet) -> frozenset[str] | None:
    """Return the addresses that have a limit of their own on a broker; None if it names hosts, whose addresses only the
    broker knows.
    """
    text = text_in(configs, "max.connections.per.ip.overrides")
    hosts = (each.strip().rpartition(":")[0].strip("[]") for each in text.split(",") if each.strip())
    known = {address_as_compared(each) for each in hosts}
    return None if None in known else frozenset(each for each in known if each is not None)
