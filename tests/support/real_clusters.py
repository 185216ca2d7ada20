"""Real clusters for fixtures. If they can't run, a test is skipped, or fails if brokers are required.

A cluster is started once for a run: with ``-n N --dist loadgroup`` its tests run in the same process, and it ends after
the last of them.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import pytest

from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3, BrokersUnavailableError

__all__ = [
    "BOTH",
    "EACH",
    "KAFKA_3_9",
    "RACKS",
    "RARE",
    "REAL",
    "KafkaCluster",
    "LastTests",
    "by_release",
    "group",
    "longest_first",
    "needed",
    "or_skip",
    "running",
]

REAL = {
    "2.8": "kafka28",
    "3.7": "kafka37",
    "3.9": "kafka39",
    "4.0": "kafka40",
    "4.1": "kafka41",
    "4.2": "kafka42",
    "4.3": "plain_cluster",
    "4.4": "kafka44",
}
"""Release -> the fixture of its plain cluster."""
RARE = frozenset({"3.7", "4.0", "4.1", "4.2"})
"""Releases whose brokers only tests marked `long` start."""
EACH = [
    pytest.param(("real", release), id=release, marks=[pytest.mark.long] if release in RARE else []) for release in REAL
]
"""A parameter for each release."""
RACKS = {1: "a", 2: "b", 3: "c", 4: "c"}
"""Broker -> rack, of the cluster whose brokers are in racks."""
BOTH = pytest.mark.parametrize(
    "racked_brokers", [KAFKA_4_3, pytest.param(KAFKA_3_9, marks=pytest.mark.long)], ids=["4.3", "3.9"], indirect=True
)
"""Runs a test of that cluster on 4.3, and in long runs also on 3.9, the last release with ZooKeeper."""
USUAL_SECONDS = 0.5
"""Approximate seconds of a test without the mark `takes`."""
SPARK = "spark"
"""The fixture of the Spark session, and the group of its tests without another group."""
SHARED = frozenset({*REAL.values(), "secure_cluster", "breakable_cluster", "racked_brokers"})
"""The fixtures that last for the whole run."""

C = TypeVar("C", bound=AbstractContextManager[Any])


@contextmanager
def or_skip() -> Iterator[None]:
    """Skip the test if brokers or Java can't run here; with KAC_REQUIRE_BROKERS=1 fail it."""
    try:
        yield
    except BrokersUnavailableError as reason:
        if os.environ.get("KAC_REQUIRE_BROKERS") == "1":
            pytest.fail(f"KAC_REQUIRE_BROKERS=1, but {reason}", pytrace=False)
        pytest.skip(str(reason))


def running(make: Callable[[], C]) -> Iterator[C]:
    """Run a cluster, or another program that needs Java, until the test or the session ends; the body of a fixture."""
    with or_skip():
        cluster = make()
    with cluster:
        yield cluster


def lent(make: Callable[[], AbstractContextManager[Any]]) -> Any:
    """Return a fixture of module scope that runs a cluster."""

    @pytest.fixture(scope="module")
    def fixture() -> Iterator[Any]:
        yield from running(make)

    return fixture


def by_release(releases: Iterable[str], *usual: str) -> list[Any]:
    """Return a parameter for each release; all but the usual releases are marked `long`."""
    return [pytest.param(each, marks=() if each in usual else (pytest.mark.long,)) for each in releases]


def needed(item: pytest.Item) -> frozenset[str]:
    """Return the shared clusters of a test, from its fixtures and from parameters that name one or are ``("real",
    release)``.
    """
    found = set(getattr(item, "fixturenames", ()))
    callspec = getattr(item, "callspec", None)
    for value in callspec.params.values() if callspec else ():
        match value:
            case str():
                found.add(value)
            case ("real", str(release)):
                found.add(REAL[release])
    return SHARED & found


def group(item: pytest.Item) -> str | None:
    """Return the group of tests that run in the same process as a test: those of its clusters, of the Spark session, or
    of the fixtures of its package or module. None if it shares nothing.
    """
    if clusters := needed(item):
        return "+".join(sorted(clusters))
    if SPARK in getattr(item, "fixturenames", ()):
        return SPARK
    info = getattr(item, "_fixtureinfo", None)
    definitions = [each[-1] for each in info.name2fixturedefs.values()] if info else []
    for each in definitions:
        if each.scope == "package":
            return str(each.baseid)
    is_shared = any(each.scope == "module" and each.func.__module__ != "tests.conftest" for each in definitions)
    return item.nodeid.partition("::")[0] if is_shared else None


def longest_first(items: list[pytest.Item]) -> None:
    """Sort tests by the duration of their group, longest first, and keep the order within groups, so that at the end no
    process waits for one that takes minutes. `pytest --no-loadscope-reorder` begins with them in this order.
    """
    taken: dict[str, float] = defaultdict(float)
    for item in items:
        mark = item.get_closest_marker("takes")
        taken[_unit(item)] += mark.args[0] if mark else USUAL_SECONDS
    first = {unit: place for place, unit in enumerate(sorted(taken, key=lambda unit: -taken[unit]))}
    items.sort(key=lambda item: first[_unit(item)])


def _unit(item: pytest.Item) -> str:
    """Return the unit of work that xdist gives to a process: a group, or a test without one."""
    mark = item.get_closest_marker("xdist_group")
    return str(mark.args[0]) if mark else item.nodeid


class LastTests:
    """Ends a shared cluster after the last test of this process that needs it, because idle brokers take CPU time from
    others.
    """

    def __init__(self, items: Iterable[pytest.Item]) -> None:
        self._left = Counter(name for item in items for name in needed(item))
        self._running: dict[str, KafkaCluster] = {}

    def runs(self, name: str, cluster: KafkaCluster) -> None:
        """Note that the fixture of a name started a cluster."""
        self._running[name] = cluster

    def ended(self, item: pytest.Item) -> None:
        """Note that a test and its fixtures have ended; close the clusters that no later test needs."""
        for name in needed(item):
            self._left[name] -= 1
            if not self._left[name] and name in self._running:
                self._running.pop(name).close()
