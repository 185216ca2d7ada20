"""Delegation tokens that end soon, because they are not renewed or can no longer be renewed."""

from __future__ import annotations

from collections.abc import Iterator

from console.model.numbers import plural
from console.model.severity import Certainty, Severity
from console.model.tokens import DelegationToken, ends_soon, is_replaced, period_ms
from console.model.transactions import minutes
from console.plan.amounts import utc_time
from console.plan.edits import BROKERS_OWN, MakeToken, Renew
from console.triage import cause
from console.triage.observations import Observations
from console.triage.symptoms import Subject, cluster_time

_HOUR = 3_600_000
MOST = 3
"""Limit of an owner's tokens that are named individually."""


def _ending(observations: Observations) -> Iterator[cause.Claim]:
    poll = observations.last
    now = round(cluster_time(poll).timestamp() * 1000)
    period = period_ms(poll.snapshot.cluster.brokers, poll.snapshot.configs)
    by_owner: dict[str, list[DelegationToken]] = {}
    for token in poll.snapshot.tokens.values():
        if ends_soon(token, now, period) and not is_replaced(token, poll.snapshot.tokens.values()):
            by_owner.setdefault(token.owner, []).append(token)
    for owner, tokens in sorted(by_owner.items()):
        yield _claim(owner, sorted(tokens, key=lambda each: (each.expires, each.id)), now)


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


CAUSES = (
    cause.CauseRule(
        "token-expiring",
        _ending,
        reads="DescribeDelegationToken, each minute",
        takes=(
            "likely: the last day of a token, and at most its last quarter; no newer token of its owner lasts longer"
        ),
    ),
)
