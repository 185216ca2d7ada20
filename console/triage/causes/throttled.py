"""Clients above their quota, from the brokers' request logs: only these show the throttle times of each client."""

from __future__ import annotations

from collections.abc import Iterator

from console.model.quota import effective
from console.model.severity import Certainty, Severity
from console.model.throttling import WINDOW, Client, Throttled
from console.plan.edits import SetQuota
from console.triage import cause
from console.triage.observations import Observations
from console.triage.symptoms import COMMIT_STANDS_STILL, LAG_GROWS, Subject

KEYS = {"PRODUCE": "producer_byte_rate", "FETCH": "consumer_byte_rate"}
"""API -> the quota for its bytes; the quota request_percentage limits the time of requests of any API."""
FEWEST = 3
"""Minimum number of throttled requests within the window; fewer may be caused by a burst."""
RARELY = 10
"""If fewer than one of this many requests is throttled, it was a burst, after which the client continues."""
MOST = 20
"""Maximum number of clients that are named, those that were throttled most."""
USER = "User:"


def _by_log(observations: Observations) -> Iterator[cause.Claim]:
    held = [
        each
        for each in observations.last.facts.request_logs.throttled.items()
        if each[1].throttled >= max(FEWEST, each[1].requests / RARELY)
    ]
    groups = _groups(observations) if held else {}
    for client, much in held[:MOST]:
        lagging = groups.get(client.client_id, []) if client.api == "FETCH" else []
        # The throttling of a consumer matters if its group falls behind; a producer has no group.
        yield from (_claim(observations, client, much, group) for group in lagging)
        if not lagging:
            yield _claim(observations, client, much, None)


def _groups(observations: Observations) -> dict[str, list[str]]:
    """Return client id -> the groups that lag and have a member with this client id."""
    found: dict[str, list[str]] = {}
    lagging = {each.subject.group for name in (LAG_GROWS, COMMIT_STANDS_STILL) for each in observations.of(name)}
    for name in sorted(each for each in lagging if each is not None):
        group = observations.last.snapshot.groups.get(name)
        for client in sorted({member.client_id for member in (group.members if group is not None else None) or ()}):
            found.setdefault(client, []).append(name)
    return found


def _claim(observations: Observations, client: Client, much: Throttled, group: str | None) -> cause.Claim:
    user = client.principal.removeprefix(USER)
    key = KEYS.get(client.api, "request_percentage")
    limit = effective(observations.last.snapshot.quotas, user, client.client_id, key)
    name = f"client {client.client_id or 'without an id'}"
    title = f"{name} of {client.principal} is throttled: {much.throttled:,} of {much.requests:,} {client.api} requests"
    return cause.Claim(
        cause="quota-exceeded",
        subject=Subject(group=group, entity=f"client-id {client.client_id}"),
        severity=Severity.HIGH if group is not None else Severity.WARNING,
        certainty=Certainty.CERTAIN,
        title=title,
        times=much.throttled,
        evidence=cause.given(
            cause.Evidence(
                f"{much.throttled:,} of {much.requests:,} requests within {WINDOW.total_seconds():.0f} s, "
                f"for up to {much.most_ms:,} ms",
                f"request log {', '.join(observations.last.facts.request_logs.files[:3])}",
            ),
            cause.Evidence(f"{key} of {limit.entity!r} is {limit.value:,.0f}", "DescribeClientQuotas")
            if limit is not None
            else None,
        ),
        predicted=cause.predict(LAG_GROWS, COMMIT_STANDS_STILL, group=group) if group is not None else (),
        next=cause.given(
            cause.Next("find out what it sends or reads so much for"),
            cause.Next("allow more", edits=(SetQuota(limit.entity, key, 2 * limit.value),))
            if limit is not None
            else None,
        ),
    )


def _unread(observations: Observations) -> Iterator[tuple[str, str]]:
    for path, why in observations.last.facts.request_logs.unread.items():
        yield f"request log {path}: {why}", why.remedy


CAUSES = (
    cause.CauseRule(
        "quota-exceeded",
        _by_log,
        hides=_unread,
        bare=True,
        reads="brokers' request logs (`--request-log`)",
        takes=(
            "certain: brokers throttled a client three times within a minute, and in at least a tenth of its requests"
        ),
    ),
)
