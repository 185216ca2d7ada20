"""Delegation tokens that end soon, because they are not renewed or can no longer be renewed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from console.model.config import broker_resource, entry_in
from console.model.numbers import long_number, plural
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.model.tokens import DelegationToken
from console.model.transactions import minutes
from console.plan.amounts import utc_time
from console.plan.edits import BROKERS_OWN, MakeToken, Renew
from console.triage import cause
from console.triage.observations import Observations
from console.triage.symptoms import Subject, cluster_time

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
PERIOD_KEY, PERIOD_MS = "delegation.token.expiry.time.ms", _DAY
"""The key of a token's lifetime after its creation or renewal, and its default in milliseconds."""
UNATTENDED, LATE = 4, 20
"""Divisors for the last part of a token's lifetime, in which it should have been renewed: a quarter, or a twentieth if
it has a renewer or was renewed before: programs renew after three quarters of the time, or after nine tenths.
"""
MOST = 3
"""Limit of an owner's tokens that are named individually."""


def _ending(observations: Observations) -> Iterator[cause.Claim]:
    poll = observations.last
    now, period = round(cluster_time(poll).timestamp() * 1000), _period_ms(poll.snapshot)
    by_owner: dict[str, list[DelegationToken]] = {}
    for token in poll.snapshot.tokens.values():
        if _ends_soon(token, now, period) and not _is_replaced(token, poll.snapshot.tokens.values()):
            by_owner.setdefault(token.owner, []).append(token)
    for owner, tokens in sorted(by_owner.items()):
        yield _claim(owner, sorted(tokens, key=lambda each: (each.expires, each.id)), now)


def _period_ms(snapshot: Snapshot) -> int:
    for broker in snapshot.cluster.brokers:
        entry = entry_in(snapshot.configs, broker_resource(broker.id), PERIOD_KEY)
        if entry is not None and (found := long_number(entry.value)):
            return found
    return PERIOD_MS


def _ends_soon(token: DelegationToken, now: int, period: int) -> bool:
    """Return whether a token ends within a day, and is past the time at which programs renew it."""
    left = token.expires - now
    if token.expires >= token.max_time:  # it can't be renewed further
        return 0 < left < min(_DAY, (token.max_time - token.issued) // UNATTENDED)
    was_renewed = token.expires - token.issued > period + _MINUTE
    share = LATE if was_renewed or token.renewers else UNATTENDED
    return 0 < left < min(_DAY, period // share)


def _is_replaced(token: DelegationToken, tokens: Iterable[DelegationToken]) -> bool:
    """Return whether its owner has a newer one that lasts longer: some programs create a token instead of renewing."""
    return any(
        each.owner == token.owner and each.issued > token.issued and each.expires > token.expires for each in tokens
    )


def _claim(owner: str, tokens: list[DelegationToken], now: int) -> cause.Claim:
    first = tokens[0]
    left = first.expires - now
    which = f"token {first.id} of {owner} ends" if len(tokens) == 1 else f"{len(tokens):,} tokens of {owner} end"
    renewable = [each for each in tokens if each.expires < each.max_time]
    return cause.Claim(
        cause="token-expiring",
        subject=Subject(entity=owner),
        severity=Severity.HIGH if left < _HOUR else Severity.WARNING,
        certainty=Certainty.LIKELY,
        title=f"{which} in {minutes(left)}"
        + (", and is not renewed" if renewable == tokens[:1] else ", and are not renewed" if renewable else ""),
        evidence=tuple(cause.Evidence(_fact(each), "DescribeDelegationToken") for each in tokens[:MOST]),
        next=tuple(_steps(owner, renewable, len(tokens) - len(renewable))),
    )


def _fact(token: DelegationToken) -> str:
    ends = f"{token.id} was made at {utc_time(token.issued)} and ends at {utc_time(token.expires)}"
    if token.expires >= token.max_time:
        return f"{ends}, which is the end of its lifetime: it can't be renewed beyond"
    renewers = f", or by {', '.join(token.renewers)}" if token.renewers else ""
    return f"{ends}; up to {utc_time(token.max_time)} it may be renewed by its owner{renewers}"


def _steps(owner: str, renewable: list[DelegationToken], over: int) -> Iterator[cause.Next]:
    if renewable:
        text = f"renew {'it' if len(renewable) == 1 else 'them'}: clients are refused from its end on"
        yield cause.Next(text, edits=tuple(Renew(each.id, BROKERS_OWN) for each in renewable))
    if over:
        text = f"make another one for its clients before then: {plural(over, 'token')} can't be renewed"
        yield cause.Next(text, edits=(MakeToken(owner),))


CAUSES = (cause.CauseRule("token-expiring", _ending),)
