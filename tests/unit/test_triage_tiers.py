"""Tests of the cause that segments of tiered topics are not copied to remote storage."""

import pytest
from msgspec.structs import replace

from console.model.cluster import TieredOffsets
from console.model.codes import ConfigSource
from console.model.config import topic_resource
from console.model.observed_logs import LogOffsets
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage.diagnosis import diagnose
from console.triage.facts import Facts
from console.triage.symptoms import Subject
from tests.support import samples
from tests.unit import test_triage as triage

BYTES, SEGMENT = 1_000, 100_000
"""Bytes of a record and of a segment."""
MOVING, STANDING = 40, 2
"""Records per tick (5 s) that are written; the tick after which nothing is copied."""


def _tiered(snapshot: Snapshot, tick: int, copied: int, **more: str) -> Snapshot:
    """Return the snapshot after `tick` ticks. copied: the last offset of orders/0 that was copied. more: configs of the
    topic.
    """
    end, first = 10_000 + MOVING * tick, 9_900
    configs = {"remote.storage.enable": "true", "segment.bytes": str(SEGMENT), **more}
    dirs = (samples.held(("orders", 0, (end - first) * BYTES)),)
    return replace(
        snapshot,
        configs={topic_resource("orders"): samples.config_set(configs, ConfigSource(1))},
        tiered={("orders", 0): TieredOffsets(first, copied)},
        log_dirs={**snapshot.log_dirs, 1: dirs},
    )


def _facts(tick: int, stable: int | None = None) -> Facts:
    def logs(seen: int) -> dict[tuple[str, int], LogOffsets]:
        end = 10_000 + MOVING * seen
        return {("orders", 0): LogOffsets(0, end if stable is None else min(end, stable), end)}

    return Facts(triage.logs_seen(tick, logs))


def test_segments_that_are_not_copied_for_a_minute_are_named() -> None:
    observations = triage.watched(
        lambda snapshot, tick: _tiered(snapshot, tick, 9_950 + MOVING * min(tick, STANDING)), 20, facts=_facts
    )
    (claim,) = [each.claim for each in diagnose(observations).causes]
    assert (claim.cause, claim.subject) == ("remote-copy-stands", Subject(topic="orders"))
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.LIKELY)
    assert claim.title == "the copies of orders to remote storage stand still, and brokers keep what is not copied"
    assert claim.since == triage.START + STANDING * triage.TICK
    assert claim.evidence[0].fact == "the last record of orders/0 there is 10,030, its log ends at 10,800"


@pytest.mark.parametrize("how", ["copied on", "too short", "few wait", "switched off", "not stable", "older brokers"])
def test_logs_that_wait_for_a_good_reason_are_not_named(how: str) -> None:
    """Triage does not name logs whose copies wait for a good reason: brokers copy only closed segments of stable
    records, and `remote.log.copy.disable` stops copies on purpose.
    """
    stands = 9_950 + MOVING * STANDING

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        match how:
            case "copied on":
                return _tiered(snapshot, tick, 9_900 + MOVING * tick)
            case "few wait":
                return _tiered(snapshot, tick, stands, **{"segment.bytes": str(10 * SEGMENT)})
            case "switched off":
                return _tiered(snapshot, tick, stands, **{"remote.log.copy.disable": "true"})
            case "older brokers":
                known = _tiered(snapshot, tick, 0)
                return replace(known, tiered={("orders", 0): TieredOffsets(9_900)})
        return _tiered(snapshot, tick, stands)

    held = stands + 1 if how == "not stable" else None
    ticks = STANDING + 8 if how == "too short" else 20
    observations = triage.watched(change, ticks, facts=lambda tick: _facts(tick, held))
    assert "remote-copy-stands" not in {each.claim.cause for each in diagnose(observations).causes}


def test_the_worst_of_several_topics_is_told() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        known = _tiered(snapshot, tick, 9_950)
        clicks = replace(known.topics["orders"], name="clicks")
        sizes = (samples.held(("orders", 0, (100 + MOVING * tick) * BYTES), ("clicks", 0, 5_000 * BYTES)),)
        return replace(
            known,
            topics={**known.topics, "clicks": clicks},
            configs={**known.configs, topic_resource("clicks"): known.configs[topic_resource("orders")]},
            tiered={**known.tiered, ("clicks", 0): TieredOffsets(0, -1)},
            log_dirs={**known.log_dirs, 1: sizes},
        )

    def facts(tick: int) -> Facts:
        end = 10_000 + MOVING * tick
        return Facts(
            triage.logs_seen(tick, lambda _: {(name, 0): LogOffsets(0, end, end) for name in ("orders", "clicks")})
        )

    claims = [each.claim for each in diagnose(triage.watched(change, 20, facts=facts)).causes]
    (claim,) = [each for each in claims if each.cause == "remote-copy-stands"]
    assert claim.subject == Subject()
    assert claim.title.startswith("the copies of 2 topics to remote storage stand still")
    assert claim.evidence[0].fact.startswith("the last record of clicks/0 there is -1")
