"""Tests of changed configs of a topic that triage connects with the topic's bytes: a cleanup policy by which compaction
removed records, and a compression with which records take more bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

from console.model.codes import DYNAMIC_TOPIC_CONFIG
from console.model.config import topic_resource
from console.model.observed_logs import LogOffsets
from console.model.parts import Part
from console.model.rates import Rates, with_dirs, with_ends
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage.cause import Claim
from console.triage.diagnosis import diagnose
from console.triage.facts import Facts
from tests.support import samples
from tests.unit.test_triage import START, TICK, healthy, logs_seen, watched

WHEN, MB = 8, 1_000_000
PLACES = [("orders", number) for number in range(6)]


def changed(
    key: str,
    values: tuple[str, str],
    sizes: Callable[[int], int],
    ticks: int,
    *,
    records: Callable[[int], int] = lambda poll: 100 * poll,
    start: Callable[[int], int] = lambda _: 0,
) -> list[Claim]:
    """Return the claims of `changed-lately` after a config of orders got another value at the poll `WHEN`.

    Args:
        values: the value before and after.
        sizes: poll -> the bytes of each replica of a partition.
        records: poll -> the end offset of each partition.
        start: poll -> its first offset.
    """
    rates = [Rates()]
    for poll in range(ticks + 1):
        at = START + poll * TICK
        ends = dict.fromkeys(PLACES, records(poll))
        rates.append(with_ends(with_dirs(rates[-1], healthy().topics, dirs(sizes(poll)), at), PLACES, ends, at))

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        configs = samples.config_set({key: values[tick >= WHEN]}, DYNAMIC_TOPIC_CONFIG)
        return replace(
            snapshot,
            rates=rates[tick + 1],
            log_dirs=dirs(sizes(tick)),
            configs={**snapshot.configs, topic_resource("orders"): configs},
            read_at={**snapshot.read_at, Part.CONFIGS: START + tick * TICK},
        )

    def facts(tick: int) -> Facts:
        def logs(poll: int) -> Mapping[tuple[str, int], LogOffsets]:
            return dict.fromkeys(PLACES, LogOffsets(start(poll), records(poll), records(poll)))

        return Facts(logs_seen(tick, logs))

    causes = diagnose(watched(change, ticks, before=change(healthy(), 0), facts=facts)).causes
    return [each.claim for each in causes if each.claim.cause == "changed-lately"]


def dirs(size: int) -> Mapping[int, tuple[samples.cluster.LogDir, ...]]:
    """Return the log directories of three brokers with a replica of each partition of orders of this size in bytes."""
    return {broker: (samples.held(*((*place, size) for place in PLACES)),) for broker in (1, 2, 3)}


def fallen(poll: int) -> int:
    return 10 * MB if poll < WHEN + 2 else 2 * MB


@pytest.mark.parametrize(
    ("values", "sizes", "start", "is_named"),
    [
        (("delete", "compact"), fallen, lambda _: 0, True),
        (("delete", "compact"), lambda poll: 10 * MB, lambda _: 0, False),  # compaction found nothing
        (("delete", "compact"), lambda poll: fallen(poll) // 1_000, lambda _: 0, False),  # a small topic
        (("delete", "compact,delete"), fallen, lambda poll: 40 * (poll > WHEN), False),  # retention deleted it
        (("compact", "compact,delete"), fallen, lambda _: 0, False),  # it was compacted before
    ],
)
def test_a_cleanup_policy_by_which_compaction_removed_records(
    values: tuple[str, str], sizes: Callable[[int], int], start: Callable[[int], int], *, is_named: bool
) -> None:
    claims = changed("cleanup.policy", values, sizes, WHEN + 6, start=start)
    found = [each for each in claims if "compaction removed" in each.title]
    assert [each.title for each in found] == [
        "topic orders: cleanup.policy changed, and compaction removed older records of each key since"
    ] * is_named
    for each in found:
        assert (each.certainty, each.severity) == (Certainty.POSSIBLE, Severity.WARNING)
        assert any("80% went while its first offsets stayed" in one.fact for one in each.evidence), each.evidence
        (step,) = each.next
        assert "what is gone is on no replica" in step.text
        assert step.edits


def grown(after: int) -> Callable[[int], int]:
    """Return poll -> the bytes of a replica that grows by 100 records a poll, of 80 and later of `after` bytes."""
    return lambda poll: 8_000 * min(poll, WHEN) + 100 * after * max(0, poll - WHEN)


@pytest.mark.parametrize(
    ("became", "sizes", "records", "is_named"),
    [
        ("uncompressed", grown(3_000), lambda poll: 100 * poll, True),
        ("lz4", grown(82), lambda poll: 100 * poll, False),
        ("uncompressed", grown(160), lambda poll: 100 * poll, False),
        # ten times the load
        ("gzip", grown(800), lambda poll: 100 * min(poll, WHEN) + 1_000 * max(0, poll - WHEN), False),
    ],
)
def test_a_compression_with_which_a_record_takes_several_times_the_bytes(
    became: str, sizes: Callable[[int], int], records: Callable[[int], int], *, is_named: bool
) -> None:
    """A change of compression.type is named if a record takes at least three times the bytes for 30 s at about the same
    load; not a moment after the change.
    """
    values = ("producer", became)
    assert not changed("compression.type", values, sizes, WHEN + 8, records=records)
    claims = changed("compression.type", values, sizes, WHEN + 16, records=records)
    assert [each.title for each in claims] == [
        "topic orders: compression.type changed, and a record takes several times the bytes since"
    ] * is_named
    for each in claims:
        assert (each.certainty, each.severity) == (Certainty.LIKELY, Severity.WARNING)
        facts = [one.fact for one in each.evidence]
        assert "a record takes 3,000 bytes on a disk, and took 80 before, at about as many records per second" in facts
        (step,) = each.next
        assert step.edits
