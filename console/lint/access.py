"""Rules on access: ACLs, SCRAM users, delegation tokens and certificates."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from datetime import timedelta

from console.lint import rule as lint_rule
from console.lint.rule import NAMED, Found, Seen, rule
from console.model.acl import CLUSTER_NAME, LITERAL, Acl, has_type
from console.model.authorizer import ALLOW, DENY, AclIndex, pattern_of, within_whole
from console.model.changes import ScramUser
from console.model.codes import BROKER, AclResourceType
from console.model.config import ConfigSet, broker_resource
from console.model.grouping import grouped
from console.model.name_order import in_order
from console.model.numbers import first_few
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot, host_ranges
from console.model.tokens import TokenTarget, ends_soon, is_replaced, period_ms
from console.model.transactions import minutes
from console.plan.amounts import utc_time
from console.plan.edits import RemoveAcl
from console.plan.kinds.acls import ANYBODY, matching_nothing
from console.plan.kinds.scram import MIN_ITERATIONS
from console.plan.kinds.tokens import BROKERS_OWN, MakeToken, Renew
from console.plan.values import items_of

_ANY = "*"
_HIDDEN = re.compile(r"n[0-9a-f]{12}")
"""Matches the pseudonym that replaces a host in an anonymous record."""
_CHANGES = frozenset({"ALL", "ALTER", "ALTER_CONFIGS", "CLUSTER_ACTION", "DELETE", "CREATE_TOKENS"})
"""Operations that should be allowed to named principals only."""
_WRITES = frozenset({"WRITE", "CREATE"})
_HOUR_MS = 3_600_000
_TOPIC, _ENDS = AclResourceType.parse("TOPIC"), (".", "-", "_")
"""The type of topics, and the ends of a name that is probably a prefix."""
_MECHANISMS, _SCRAM = "sasl.enabled.mechanisms", "SCRAM-"
_FEW_BROKERS = 2
"""Maximum number of brokers of which none is the exception."""
_OF_BROKERS = ("sasl.mechanism.controller.protocol", "sasl.mechanism.inter.broker.protocol")
"""Keys with the mechanisms by which brokers log in themselves. Controllers' listeners accept at least these
mechanisms; their own settings are in the files of controllers, which no broker shows.
"""


@rule(
    name="acl-matches-nothing",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="an ACL that matches nothing: by a * that is no wildcard, by a host or a type of principal, or as a prefix",
    why="Its author expects a right, or a denial, that does not exist",
    needs=(Part.ACLS, Part.VERSIONS),
    also=(Part.TOPICS,),
    source="security_authz",
    stands_after=lint_rule.AFTER_ITS_CHANGE,
    is_lasting=True,
)
def _nothing(seen: Seen) -> Iterator[Found]:
    ranges = host_ranges(seen.snapshot)
    judged = [(acl, next(matching_nothing(acl, ranges=ranges), "")) for acl in seen.snapshot.acls]
    others = {pattern_of(acl) for acl, why in judged if not why} if any(why for _, why in judged) else set()
    for acl, why in judged:
        if not has_type(acl.principal):
            continue
        if why and not _HIDDEN.fullmatch(acl.host):
            # Without any ACL, a resource may be open to everybody; no topic has a * in its name.
            is_safe = pattern_of(acl) in others or (acl.resource_type.name == "TOPIC" and _ANY in acl.resource_name)
            edits = (RemoveAcl(acl),) if is_safe else ()
            yield Found(acl, why, edits=edits, advice="add the one that is meant, and remove it")
        elif not why and (as_prefix := _beginning_alone(acl, seen.snapshot)):
            yield Found(acl, as_prefix, advice="allow or deny it with the pattern type prefixed, if those are meant")


def _beginning_alone(acl: Acl, snapshot: Snapshot) -> str:
    """Return the reason why a literal ACL on a topic seems to match nothing: its name ends like a prefix, no known
    topic has this name, and other topics begin with it. ``""`` for all other ACLs, and if topics were not read.
    """
    name, topics = acl.resource_name, snapshot.topics
    is_literal = acl.pattern_type == LITERAL and acl.resource_type == _TOPIC
    if not is_literal or not name.endswith(_ENDS) or name in topics:
        return ""
    names = in_order(topics)
    first = bisect_left(names, name)
    if first == len(names) or not names[first].startswith(name):
        return ""
    return f"no known topic is called {name}, and others begin so: for those the ACL has to be prefixed"


@rule(
    name="acl-without-type",
    severity=Severity.HIGH,
    certainty=Certainty.CERTAIN,
    title="an ACL whose principal has no type",
    why="A single such ACL makes the authorizer fail at each decision about its resource",
    needs=(Part.ACLS,),
    source="StandardAuthorizerData.matchingAclResult",
    stands_after=lint_rule.AT_ONCE,
)
def _untyped(seen: Seen) -> Iterator[Found]:
    for acl in seen.snapshot.acls:
        if not has_type(acl.principal):
            what = "its principal has no TYPE:NAME: each request that meets it fails, super users aside"
            advice = "allow User:NAME instead where a user is meant, and remove it"
            yield Found(acl, what, edits=(RemoveAcl(acl),), advice=advice)


@rule(
    name="acl-for-everybody",
    severity=Severity.HIGH,
    certainty=Certainty.LIKELY,
    title="an ACL that lets every user change resources",
    why="User:* is every client that can connect, also a client without a login",
    needs=(Part.ACLS,),
    source="security_authz",
)
def _anybody(seen: Seen) -> Iterator[Found]:
    for acl in seen.snapshot.acls:
        if acl.permission != ALLOW or acl.principal != ANYBODY or acl.host != _ANY:
            continue
        every = acl.pattern_type == LITERAL and acl.resource_name in (_ANY, CLUSTER_NAME)
        what = acl.operation.name
        if what in _CHANGES or (every and what in _WRITES):
            text = f"it lets everybody who can connect do {what} there"
            # Stage no removal of the ACL: clients without an ACL of their own may be locked out, so an operator has to
            # look first.
            yield Found(acl, text, advice="allow those who need it by name, and remove it then")


@rule(
    name="acl-denied",
    severity=Severity.INFO,
    certainty=Certainty.CERTAIN,
    title="an ACL that allows only what another ACL denies",
    why="A denial overrides every ACL that allows, so this ACL only misleads",
    needs=(Part.ACLS,),
    source="security_authz",
)
def _never_allowed(seen: Seen) -> Iterator[Found]:
    """Yield a finding for each ALLOW that a single DENY covers completely, including the operations that it implies, so
    that it never has an effect.
    """
    denied = [acl for acl in seen.snapshot.acls if acl.permission == DENY]
    if not denied:
        return
    ranges = host_ranges(seen.snapshot)
    index, whom = AclIndex(denied, ranges=ranges), {acl.principal for acl in denied}
    for acl in seen.snapshot.acls:
        if acl.permission != ALLOW or not (ANYBODY in whom or acl.principal in whom):
            continue
        there = index.of(acl.principal, acl.resource_type, acl.resource_name)
        by = next((each for each in there if within_whole(acl, each, ranges=ranges)), None)
        if by is not None:
            who = "everybody" if by.principal == ANYBODY else by.principal
            what = f"it never counts: {by.operation.name} is denied to {who} there, and a denial comes first"
            yield Found(acl, what, edits=(RemoveAcl(acl),))


@rule(
    name="principals-alike",
    severity=Severity.INFO,
    certainty=Certainty.POSSIBLE,
    title="principals of ACLs that differ only in case",
    why="Kafka compares them letter by letter: one principal does not have the rights of the other",
    needs=(Part.ACLS,),
    source="security_authz",
)
def _same_subjects(seen: Seen) -> Iterator[Found]:
    """Yield a finding for each principal in ACLs that differs from another one only in case."""
    principals = {acl.principal for acl in seen.snapshot.acls}
    found = grouped((name.casefold(), name) for name in principals)
    twins = {name for names in found.values() if len(names) > 1 for name in names}
    done: set[str] = set()
    for acl in seen.snapshot.acls if twins else ():
        if acl.principal in twins and acl.principal not in done:
            done.add(acl.principal)
            others = sorted({*found[acl.principal.casefold()]} - {acl.principal})
            what = f"{acl.principal} and {first_few(others)} are different principals, and differ only in case"
            yield Found(acl, what, advice="look which of them logs in, and remove the ACLs of the other")


@rule(
    name="scram-iterations",
    severity=Severity.WARNING,
    certainty=Certainty.CERTAIN,
    title="a SCRAM user with fewer iterations than Kafka accepts today",
    why="An attacker who has the stored key finds the password sooner",
    needs=(Part.SCRAM,),
    source="security_sasl_scram_security",
)
def _few_iterations(seen: Seen) -> Iterator[Found]:
    for user, credentials in sorted(seen.snapshot.scram.items()):
        for mechanism, iterations in credentials:
            if iterations < MIN_ITERATIONS:
                what = f"{mechanism.name} has {iterations:,} iterations, and Kafka asks for {MIN_ITERATIONS:,} at least"
                yield Found(ScramUser(user, mechanism), what, advice="set its password again")


@rule(
    name="scram-mechanism-off",
    severity=Severity.WARNING,
    certainty=Certainty.POSSIBLE,
    title="SCRAM users whose mechanisms no listener takes, while listeners take another SCRAM mechanism, or which one "
    "broker does not take, while all others do",
    why="Their clients can't log in there with the password that they were given",
    needs=(Part.CLUSTER, Part.SCRAM, BROKER),
    source="brokerconfigs_sasl.enabled.mechanisms",
    stands_after=lint_rule.AFTER_ITS_CHANGE,
    is_lasting=True,
)
def _mechanism_off(seen: Seen) -> Iterator[Found]:
    if len(seen.of_brokers) < len(seen.brokers):
        return  # another broker may take it
    by_broker = {broker: frozenset(_mechanisms(configs)) for broker, configs in seen.of_brokers.items()}
    taken = frozenset[str]().union(*by_broker.values())
    of_scram = sorted(each for each in taken if each.startswith(_SCRAM))
    users: dict[tuple[str, ...], list[str]] = {}
    for user, credentials in sorted(seen.snapshot.scram.items()):
        mine = [mechanism for mechanism, _ in credentials]
        if not of_scram or not mine:
            continue
        if not taken.isdisjoint(each.label for each in mine):
            users.setdefault(tuple(sorted(each.label for each in mine)), []).append(user)
            continue
        has, take = first_few([each.label for each in mine]), first_few(of_scram)
        what = f"it can't log in: it has a password for {has}, and the brokers' listeners take {take} only"
        advice = f"set its password for {take}, or add {has} to {_MECHANISMS} of the listener, in the brokers' files"
        yield Found(ScramUser(user, mine[0]), what, advice=advice, hurts=False)
    shut: dict[int, list[str]] = {}
    for has_, some in users.items():
        without = [broker for broker, takes in by_broker.items() if takes.isdisjoint(has_)]
        if len(without) == 1 and len(by_broker) > _FEW_BROKERS:
            shut.setdefault(without[0], []).extend(some)
    for broker, some in shut.items():
        lacks = first_few(sorted(set(of_scram) - by_broker[broker]), NAMED)
        what = f"{first_few(sorted(some), NAMED)} can't log in there with SCRAM: it takes no {lacks}"
        advice = f"add {lacks} to {_MECHANISMS} of its listener for clients, where it is set, and restart it"
        yield Found(broker_resource(broker), what, _MECHANISMS, advice=advice)


def _mechanisms(configs: ConfigSet) -> Iterator[str]:
    """Yield the SASL mechanisms that a broker's listeners take, as far as its file shows them."""
    for entry in configs:
        if entry.name in (_MECHANISMS, *_OF_BROKERS) or entry.name.endswith(f".{_MECHANISMS}"):
            yield from items_of(entry.value or "")


@rule(
    name="token-expiring",
    severity=Severity.HIGH,
    certainty=Certainty.LIKELY,
    title="a delegation token that expires within a day, later than programs usually renew it",
    why="From then on brokers refuse clients with this token",
    needs=(Part.TOKENS,),
    source="security_token_management",
    by_time=True,
    stands_after=lint_rule.AT_ONCE,
)
def _ending_tokens(seen: Seen) -> Iterator[Found]:
    now, period = round(seen.at.timestamp() * 1000), period_ms(seen.brokers, seen.snapshot.configs)
    by_owner = grouped((token.owner, token) for token in seen.snapshot.tokens.values())
    for token in sorted(seen.snapshot.tokens.values(), key=lambda each: (each.expires, each.id)):
        if not ends_soon(token, now, period) or is_replaced(token, by_owner[token.owner]):
            continue
        left = token.expires - now
        is_renewable = token.expires < token.max_time
        renewers = f" or {first_few([*token.renewers], NAMED)}" if token.renewers else ""
        rest = f"and is not renewed: its owner{renewers} may do so" if is_renewable else "the end of its lifetime"
        yield Found(
            TokenTarget(token.id),
            f"it ends in {minutes(left)}, at {utc_time(token.expires)}, {rest}",
            edits=(Renew(token.id, BROKERS_OWN) if is_renewable else MakeToken(token.owner),),
            advice="clients with it are refused from its end on: renew it"
            if is_renewable
            else "its clients need another one before then: make it, and give it to them",
            severity=Severity.HIGH if left < _HOUR_MS else Severity.WARNING,
            whose=token.owner,
        )


@rule(
    name="certificate-expiring",
    severity=Severity.HIGH,
    certainty=Certainty.CERTAIN,
    title="a listener's certificate in its last 30 days, or in the last fifth of a shorter time",
    why="After it expires, no client and no broker can connect to that listener",
    needs=(Part.CERTIFICATES,),
    source="security_ssl",
    by_time=True,
    stands_after=lint_rule.AT_ONCE,
)
def _ending_certificates(seen: Seen) -> Iterator[Found]:
    for each in sorted(seen.certificates or (), key=lambda each: each.ends):
        if not each.ends_soon(seen.at):
            continue
        left, address, name = each.ends - seen.at, each.listener.address, each.listener.name
        ended = left <= timedelta(0)
        when = f"ended at {each.ends:%Y-%m-%d %H:%M} UTC" if ended else f"ends in {_days(left)}"
        yield Found(
            broker_resource(each.listener.broker),
            f"the certificate of its listener {name or address} {when}: {f'{address} shows ' if name else ''}"
            f"{each.subject}, of {each.issuer}, until {each.ends:%Y-%m-%d %H:%M} UTC",
            "ssl.keystore.location",
            advice="replace it in the key store of that broker, and set that key again, which needs no restart",
            severity=Severity.CRITICAL if ended else Severity.HIGH if each.ends_now(seen.at) else Severity.WARNING,
            since=each.ends if ended else None,
        )


def _days(left: timedelta) -> str:
    return f"{left.days} days" if left.days >= 2 else minutes(int(left.total_seconds() * 1000))
