"""Tests of the warning that the disks of a topic have no room for a longer retention, from sizes, limits and rates."""

from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model.cluster import Broker, ClusterInfo, LogRange, Partition, Topic
from console.model.codes import DYNAMIC_TOPIC_CONFIG
from console.model.config import topic_resource
from console.model.disk_trend import SOON
from console.model.rates import SHORTEST, Counter, Rates
from console.model.snapshot import Snapshot
from console.plan import edits
from console.plan.risk_rules import RETENTION_ABOVE_DISK
from console.plan.risks import risks
from console.plan.staged import Staged
from tests.support import samples

CLICKS = topic_resource("clicks")
MIB = 1 << 20
LONG = "604800000"


class Case(NamedTuple):
    """A topic whose replicas are on one disk, and a change of its retention.

    was, becomes: retention.bytes before and after, for each partition; rate: bytes per second written to each
    partition.
    """

    partitions: int = 6
    size: int = 4 * MIB
    was: int = 4 * MIB
    becomes: int = 32 * MIB
    usable: int = 120 * MIB
    rate: int = MIB
    keeps_ms: str = LONG

    @property
    def outgrows(self) -> bool:
        """Whether the topic can become larger than the disk at its present rate."""
        most = min(self.becomes, self.rate * int(self.keeps_ms) // 1000)
        return self.partitions * (most - self.size) > self.usable


def cluster(case: Case, *, at_its_limit: bool = False) -> Snapshot:
    """Return the snapshot of the topic. at_its_limit: whether retention deletes as many bytes as are written, so that
    sizes do not grow.
    """
    places = [("clicks", number) for number in range(case.partitions)]
    grown = 0 if at_its_limit else int(case.rate * SHORTEST)
    sizes = {place: Counter(0.0, 0, 0.0, 0, SHORTEST, grown) for place in places}
    # Each record has one KiB.
    come = int(case.rate * SHORTEST) // 1024
    ends = {place: Counter(0.0, 0, 0.0, 0, SHORTEST, come) for place in places}
    own = {"retention.bytes": str(case.was), "retention.ms": case.keeps_ms, "cleanup.policy": "delete"}
    return Snapshot(
        cluster=ClusterInfo("c", 1, (Broker(1, "localhost", 9092),)),
        topics={"clicks": Topic("clicks", tuple(Partition(number, 1, (1,), (1,)) for _, number in places))},
        configs={CLICKS: samples.config_set(own, DYNAMIC_TOPIC_CONFIG)},
        log_dirs={1: (samples.held(*((*place, case.size) for place in places), usable=case.usable),)},
        log_ranges=dict.fromkeys(places, LogRange(0, max(case.size // 1024, 1))),
        rates=Rates(ends, sizes),
    )


def warned(snapshot: Snapshot, key: str, value: str) -> list[str]:
    """Return the texts of the warnings about room for an edit that sets a config of the topic."""
    staged = Staged(edits.SetConfig(CLICKS, key, value), snapshot.configs[CLICKS].get(key))
    return [each.text for each in risks([staged], snapshot) if each.name == RETENTION_ABOVE_DISK]


def test_it_says_where_how_much_and_when() -> None:
    (text,) = warned(cluster(Case()), "retention.bytes", str(32 * MIB))
    assert text == (
        "6 replicas on broker 1 may grow by 168 MiB until records are deleted, and 120 MiB are left on the disk of "
        "/data, which is full in 20 s at the present rate; retention.bytes is for each partition"
    )


def test_what_fills_a_disk_soon_and_what_does_not() -> None:
    assert warned(cluster(Case(), at_its_limit=True), "retention.bytes", str(32 * MIB))
    assert not warned(cluster(Case(rate=0)), "retention.bytes", str(32 * MIB))
    short = Case(was=10**12, becomes=10**12, keeps_ms="4000")  # by time as well
    assert not warned(cluster(short), "retention.ms", "5000")
    assert warned(cluster(short), "retention.ms", LONG)
    # The edit does not cause an excess that existed before.
    assert not warned(cluster(Case(was=64 * MIB)), "retention.bytes", str(128 * MIB))
    case = Case(rate=1, usable=6 * int(SOON) + 1)  # in weeks
    assert not warned(cluster(case), "retention.bytes", str(10**9))
    forever = replace(
        cluster(Case(was=-1, keeps_ms="-1")),
        configs={CLICKS: samples.config_set({"retention.bytes": "-1", "retention.ms": "-1"}, DYNAMIC_TOPIC_CONFIG)},
    )
    assert not warned(forever, "cleanup.policy", "compact")


BYTES = st.integers(1, 200 * MIB)


@example(Case(becomes=5 * MIB + MIB // 3))
@given(
    st.builds(
        Case,
        partitions=st.integers(1, 8),
        size=st.just(4 * MIB),
        was=st.just(4 * MIB),
        becomes=BYTES,
        usable=BYTES,
        rate=st.integers(MIB, 10 * MIB),
        keeps_ms=st.sampled_from(["20000", LONG]),
    )
)
def test_it_warns_of_what_outgrows_the_disk_and_of_nothing_else(case: Case) -> None:
    assert bool(warned(cluster(case), "retention.bytes", str(case.becomes))) is case.outgrows
