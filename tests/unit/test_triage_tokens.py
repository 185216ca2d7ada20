"""Tests of delegation tokens that expire soon: a cause if no client renews them; no cause if a client does, or still
may.
"""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from console.model.cluster import Broker, ClusterInfo
from console.model.codes import ConfigSource
from console.model.config import ConfigEntry, ConfigSet, broker_resource
from console.model.parts import Part
from console.model.severity import Severity
from console.model.snapshot import Snapshot
from console.model.tokens import PERIOD_KEY, DelegationToken
from console.triage.diagnosis import diagnose
from console.triage.observations import begin
from console.triage.symptoms import Poll, Subject

AT = datetime(2027, 3, 1, 3, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY, WEEK = 24 * HOUR, 7 * 24 * HOUR
DO_SO = " renewed: its owner may do so"


def token(made: timedelta, ends: timedelta, lives: timedelta = WEEK, **more: object) -> DelegationToken:
    """Return a delegation token that was issued `made` ago, expires in `ends`, and has the maximum lifetime `lives`."""
    issued = round((AT - made).timestamp() * 1000)
    expires = round((AT + ends).timestamp() * 1000)
    fields: dict[str, object] = {"id": "t", "owner": "User:alice", "requester": "User:alice"}
    last = issued + round(lives.total_seconds() * 1000)
    return DelegationToken(**{**fields, "issued": issued, "expires": expires, "max_time": last, **more})  # type: ignore[arg-type]


def having(*tokens: DelegationToken) -> Snapshot:
    """Return a snapshot with these delegation tokens."""
    known = {each.id: each for each in tokens}
    return Snapshot(cluster=ClusterInfo("c", 1, (Broker(1, "h", 1),)), tokens=known, read_at={Part.TOKENS: AT})


def named(*tokens: DelegationToken, period: timedelta | None = None) -> list[tuple[str, str, str]]:
    """Return cause, severity and title of each row about these tokens. period: the brokers' expiry time; None for the
    default.
    """
    snapshot = having(*tokens)
    if period is not None:
        value = str(round(period.total_seconds() * 1000))
        entry = ConfigEntry(PERIOD_KEY, value, ConfigSource(4))
        snapshot = replace(snapshot, configs={broker_resource(1): ConfigSet((entry,))})
    found = diagnose(begin(Poll(AT, snapshot))).causes
    return [(each.claim.cause, each.claim.severity, each.claim.title) for each in found]


@pytest.mark.parametrize(
    ("found", "severity", "title"),
    [
        # A token for a day that no client renewed.
        (
            token(19 * HOUR, 5 * HOUR),
            "warning",
            "ends in 5 h, at 2027-03-01T08:00:00+00:00, and is not" + DO_SO,
        ),
        (
            token(23.5 * HOUR, 0.5 * HOUR),
            "high",
            "ends in 30 min, at 2027-03-01T03:30:00+00:00, and is not" + DO_SO,
        ),
        # A token that was renewed until yesterday, and no longer.
        (
            token(70 * HOUR, 1.1 * HOUR),
            "warning",
            "ends in 66 min, at 2027-03-01T04:06:00+00:00, and is not" + DO_SO,
        ),
        # A token with a renewer that is late.
        (
            token(23 * HOUR, HOUR - timedelta(minutes=1), renewers=("User:yarn",)),
            "high",
            "its owner or User:yarn may do so",
        ),
        # The last day of the token's lifetime: a renewal does not help.
        (token(6.5 * DAY, 12 * HOUR), "warning", "ends in 12 h, at 2027-03-01T15:00:00+00:00, the end of its lifetime"),
    ],
)
def test_one_that_ends_is_named(found: DelegationToken, severity: str, title: str) -> None:
    (told,) = named(found)
    assert told[:2] == ("token-expiring", severity)
    assert told[2].startswith("token t of User:alice: it ends in ")
    assert told[2].endswith(title)


@pytest.mark.parametrize(
    "found",
    [
        token(HOUR, 23 * HOUR),  # made a moment ago
        token(HOUR, 6.9 * DAY, 7.9 * DAY),  # long-lived
        token(70 * HOUR, 3 * HOUR),  # renewed before, and a renewer at nine tenths of the time is not late
        token(21 * HOUR, 3 * HOUR, renewers=("User:yarn",)),  # never renewed yet; its renewer may do it late
        token(0.5 * HOUR, 0.5 * HOUR, HOUR),  # for one hour on purpose
        token(25 * HOUR, -HOUR),  # ended: brokers are about to remove it
    ],
)
def test_a_neighbour_is_quiet(found: DelegationToken) -> None:
    assert named(found) == []


def test_a_newer_one_of_its_owner_takes_its_place_and_the_brokers_own_period_counts() -> None:
    ending = token(23 * HOUR, HOUR / 2)
    assert named(ending, token(5 * HOUR, 19 * HOUR, id="u")) == []
    assert len(named(ending, token(5 * HOUR, 19 * HOUR, id="u", owner="User:bob"))) == 1
    assert named(token(3 * DAY, 2 * HOUR), period=2 * DAY) != []
    assert named(token(3 * DAY, 2 * HOUR)) == []
    assert named(token(21 * HOUR, 3 * HOUR), period=21 * HOUR) == []


def test_what_to_do_about_it() -> None:
    tokens = [token(23 * HOUR, HOUR / 2, id=f"t{number}") for number in range(3)]
    over = token(6.9 * DAY, 2.4 * HOUR, id="u")
    (found,) = diagnose(begin(Poll(AT, having(*tokens, over)))).causes
    claim = found.claim
    assert (claim.subject, claim.severity) == (Subject(entity="User:alice"), Severity.HIGH)
    assert claim.title.startswith("token t0 of User:alice and 3 more: it ends in 30 min, ")
    renew, make = claim.next
    assert [getattr(each, "id", "") for each in renew.edits] == ["t0", "t1", "t2"]
    assert [getattr(each, "owner", "") for each in make.edits] == ["User:alice"]
    assert [each.fact.partition(" ends")[0] for each in claim.evidence[:4]] == [
        f"token {each} of User:alice: it" for each in ("t0", "t1", "t2", "u")
    ]
