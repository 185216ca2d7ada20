"""Tests of the list of clusters (the fleet) without clusters: the order of the rows, and the contexts that kac may read
without asking for a password.
"""

from datetime import UTC, datetime
from pathlib import Path
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from console.contexts.configured import Configured
from console.contexts.context import Context
from console.contexts.secret_sources import asks_operator, is_locked
from console.model.failure import Failure
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.present import fleet
from console.triage.cause import Claim, Evidence
from console.triage.diagnosis import Named, Verdict
from console.triage.symptoms import CLUSTER
from tests.support import fleets

AT = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def verdict(severities: list[Severity], unread: tuple[str, ...] = ()) -> Verdict:
    claims = (
        Claim(
            cause=f"cause-{n}",
            subject=CLUSTER,
            severity=each,
            certainty=Certainty.CERTAIN,
            evidence=(Evidence("seen", "here"),),
            predicted=(),
            title=f"cause {n}",
            next=(),
        )
        for n, each in enumerate(severities)
    )
    return Verdict(AT, tuple(Named(each, {}) for each in claims), (), (), unread=unread)


def looked(severities: list[Severity], unread: tuple[str, ...] = ()) -> fleet.Health:
    return fleet.health(verdict(severities, unread), Snapshot())


LOOKS = st.builds(looked, st.lists(st.sampled_from(Severity), max_size=3), st.sampled_from([(), ("topics",)]))
STATES = st.one_of(
    st.builds(lambda seen: {"health": seen}, LOOKS),
    st.builds(lambda seen: {"health": seen, "failure": Failure("TIMED_OUT"), "since": AT}, st.none() | LOOKS),
    st.just({"failure": Failure("AUTHENTICATION_FAILED"), "since": AT, "is_refused": True}),
    st.just({"problem": "no such key"}),
    st.just({"asks": True}),
    st.just({}),
)
ROWS = st.dictionaries(st.text(min_size=1, max_size=5), STATES, max_size=8).map(
    lambda states: [fleet.FleetRow(name, **state) for name, state in states.items()]
)
WORST_FIRST = ["LOST", "REFUSED", "CRIT", "HIGH", "WARN", "unknown", "unusable", "asks", "reading", "healthy"]


@given(ROWS, st.randoms())
def test_the_worst_comes_first_whatever_the_order_was(rows: list[fleet.FleetRow], random: Random) -> None:
    found = fleet.worst_first(rows)
    assert sorted(found, key=lambda row: row.name) == sorted(rows, key=lambda row: row.name)
    places = [(WORST_FIRST.index(row.verdict), -row.troubles) for row in found]
    assert places == sorted(places)
    shuffled = [*rows]
    random.shuffle(shuffled)
    assert fleet.worst_first(shuffled) == found == fleet.worst_first(found)


@given(ROWS)
def test_a_row_is_healthy_only_after_a_look_at_everything_that_found_nothing(rows: list[fleet.FleetRow]) -> None:
    for row in rows:
        seen = row.health is not None and row.failure is None and not row.problem and not row.asks
        calm = seen and row.health is not None and row.health.verdict.is_healthy
        assert row.is_healthy == calm
        assert bool(row.cause) == (row.verdict not in (fleet.HEALTHY, fleet.READING))


def test_what_is_lost_says_since_when_and_why_and_keeps_its_causes() -> None:
    row = fleet.FleetRow("prod", "a file", looked([Severity.HIGH]), Failure("UNREACHABLE", "no way", "Look."), AT)
    lines = ["".join(text for text, _ in line) for line in fleet.fleet_lines(row)]
    assert lines[0].startswith("no answer since ")
    assert "UNREACHABLE: no way. Look." in lines[0]
    assert "cause 0" in lines[1]
    assert fleet.FLEET.data(row)["cause"] == "UNREACHABLE: no way"
    assert fleet.FLEET.data(row)["since"] == AT.isoformat()


def test_only_a_secret_that_is_typed_leaves_a_context_unread(tmp_path: Path) -> None:
    by_command = fleets.ASKS.replace("${prompt:its password}", "${exec:pass show kafka}")
    environ = fleets.write(
        tmp_path, dict.fromkeys(("plain", "typed", "fetched"), "a:1"), typed=fleets.ASKS, fetched=by_command
    )
    found = {each.name: each for each in Configured(environ, tmp_path).all()}
    locks = {}
    for name, each in found.items():
        assert isinstance(each, Context), each
        locks[name] = is_locked(each.settings), asks_operator(each.settings)
    assert locks == {"plain": (False, False), "typed": (True, True), "fetched": (True, False)}
