"""Causes that concern kac itself: a quota that delays its requests, and brokers that refuse its login."""

from __future__ import annotations

from collections.abc import Iterator

from console.model.numbers import first_few
from console.model.parts import about
from console.model.quota import effective
from console.model.severity import Certainty, Severity
from console.triage import cause
from console.triage.changed_places import changed_place, owner_of
from console.triage.observations import Observations
from console.triage.symptoms import BROKER_SILENT, CONSOLE_THROTTLED, Subject

KEYS = ("request_percentage", "consumer_byte_rate")
"""Keys of quotas that may delay kac's requests: all of them, or its fetches of records."""
MOST_PARTS = 4
"""Maximum number of late parts that a text names."""
HERE = Subject(entity="this console")


def _throttled(observations: Observations) -> Iterator[cause.Claim]:
    for symptom in observations.of(CONSOLE_THROTTLED):
        poll = observations.last
        limits = [
            (key, limit)
            for key in KEYS
            if (limit := effective(poll.snapshot.quotas, poll.own.user, poll.own.client_id, key)) is not None
        ]
        named = [(changed_place(limit.entity, key), key, limit.value) for key, limit in limits]
        by = f" by {named[0][1]}={named[0][2]:g} ({named[0][0][1]})" if named else ""
        late = [about(part).noun for part in poll.late]
        places = [(limit.entity, key) for key, limit in limits]
        made = next((each for each in observations.past.judged if (each.place.about, each.place.key) in places), None)
        yield cause.Claim(
            cause="console-throttled",
            # If the quota was changed just now, use the change's subject: quota and throttling are one trouble.
            subject=owner_of(made.place)[0] if made is not None else HERE,
            severity=Severity.WARNING,
            certainty=Certainty.CERTAIN,
            title=f"this console is throttled{by}: what it shows may be old",
            since=observations.since(symptom),
            evidence=cause.given(
                cause.Evidence(
                    f"brokers delay it by {poll.own.throttled_ms:,} ms of each second", "throttle times of answers"
                ),
                *(
                    cause.Evidence(f"{key} of the {name} is {value:,g}", "DescribeClientQuotas")
                    for (_, name), key, value in named
                ),
                cause.Evidence(f"older than usual by it: {first_few(late, MOST_PARTS)}", "this console's reads")
                if late
                else None,
            ),
            predicted=cause.predict(CONSOLE_THROTTLED),
            next=cause.given(
                cause.Next("take the change of the quota back", edits=made.back)
                if made is not None and made.back
                else None,
                cause.Next("allow the user or client id of this console more: until then the rest of this is late"),
            ),
        )


def _login_refused(observations: Observations) -> Iterator[cause.Claim]:
    for broker in sorted(observations.last.denying):
        subject = Subject(broker=broker)
        yield cause.Claim(
            cause="console-login-refused",
            subject=subject,
            severity=Severity.WARNING,
            certainty=Certainty.CERTAIN,
            title=f"broker {broker} refuses the login of this console, and others take it",
            evidence=(cause.Evidence(f"broker {broker} answers, and refuses the credentials", "a new connection"),),
            predicted=cause.predict(BROKER_SILENT, subject=subject),
            next=(
                cause.Next(
                    f"look at the log of broker {broker}: it may lack a user, a mechanism or a certificate authority"
                ),
            ),
        )


CAUSES = (
    cause.CauseRule(
        "console-throttled",
        _throttled,
        reads="the throttle times of answers to this console",
        takes="certain: brokers throttle kac's answers for 50 ms or more of each second",
    ),
    cause.CauseRule(
        "console-login-refused",
        _login_refused,
        reads="a new connection to each broker",
        takes="certain: one broker answers and refuses the login, others accept it",
    ),
)
