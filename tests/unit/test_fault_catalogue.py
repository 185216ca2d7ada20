"""Tests of the laboratory's faults, stored results and score, without brokers."""

from collections import Counter
from typing import Any

from benchmarks.faults.catalogue import CHOSEN, FAULTS, PAIRS, pairs
from benchmarks.faults.score import judge, score
from benchmarks.faults.table import table, written
from benchmarks.faults.trial import Told, Trial


def told(cause: str, certainty: str = "certain", after: float = 3.0, severity: str = "high", **subject: Any) -> Told:
    return Told(cause, subject, certainty, severity, after)


def trial(*faults: str, named: tuple[Told, ...]) -> Trial:
    return Trial(faults=faults, version="4.3.0", told=named, unexplained=(), load=0.0, seconds=9.0)


def test_names_are_unique_and_pairs_can_be_made_at_once() -> None:
    assert set(CHOSEN) <= FAULTS.keys()
    chosen = pairs()
    assert len({frozenset((a.name, b.name)) for a, b in chosen}) == PAIRS
    assert not any(a.takes & b.takes for a, b in chosen)
    often = Counter(fault.name for pair in chosen for fault in pair)
    assert often.keys() == {fault.name for fault in FAULTS.values() if not fault.alone}
    assert max(often.values()) <= 3 * min(often.values())


def test_what_is_named_right_wrong_and_not_at_all() -> None:
    found = judge(
        trial(
            "broker stopped",
            "consumer stopped",
            named=(
                told("broker-unresponsive", broker=3),
                told("broker-down", broker=3),  # allowed with the row above
                told("broker-down", broker=1),  # another broker: a false alarm
                told("leader-skew", "possible", broker=2),
                told("reassignment-running", severity="info", topic="t", partition=0),
            ),
        )
    )
    assert found.named.keys() == {"broker-unresponsive broker 3"}
    assert found.missed == ("group-stopped group stopped-readers",)
    assert [each.subject for each in found.alarms] == [{"broker": 1}]
    assert [each.cause for each in found.guesses] == ["leader-skew"]
    total = score([found])
    assert (total.wanted, total.named, total.alarms, total.guesses) == (2, 1, 1, 1)
    assert (total.precision, total.strict, total.recall) == (0.5, 0.333, 0.5)


def test_times_are_those_of_single_faults() -> None:
    single = judge(trial("broker killed", named=(told("broker-down", after=7.0, broker=3),)))
    pair = judge(trial("broker killed", "consumer stopped", named=(told("broker-down", after=70.0, broker=3),)))
    assert score([single, pair]).worst == 7.0


def test_the_section_of_the_page_is_replaced_and_nothing_else() -> None:
    first = written("# Triage\n\nText.\n", "| a |\n")
    assert first.startswith("# Triage\n\nText.\n\n## The laboratory\n")
    again = written(first + "\nAfter.\n", "| b |\n")
    assert "| a |" not in again
    assert again == first.replace("| a |", "| b |") + "\nAfter.\n"


def test_what_was_not_named_and_a_healthy_cluster_have_a_line_of_their_own() -> None:
    missed = trial("consumer stopped", named=(told("leader-skew", broker=2),))
    text = table([missed, trial("healthy", named=(told("consumer-slow", "possible", group="g"),))])
    assert "| **not recognised** | not tried |" in text
    assert (
        "consumer stopped on 4.3: group-stopped group stopped-readers not recognised; leader-skew broker 2 named."
        in text
    )
    assert "- healthy, 0 min on 4.3: false alarms: none, possible causes: 1, unexplained: nothing; load 0" in text
