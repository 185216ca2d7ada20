"""Real clusters as pytest fixtures. If brokers can't run here, a test is skipped; with KAC_REQUIRE_BROKERS=1 it fails.

A shared cluster is started once in a run: with ``-n N --dist loadgroup`` all its tests run in the same process, and it
ends after the last of them.
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
"""Release -> the name of the fixture of the shared cluster without security on that release."""
RARE = frozenset({"3.7", "4.0", "4.1", "4.2"})
"""Releases whose brokers are started only by tests marked `long`."""
EACH = [
    pytest.param(("real", release), id=release, marks=[pytest.mark.long] if release in RARE else []) for release in REAL
]
"""A pytest parameter for each release."""
RACKS = {1: "a", 2: "b", 3: "c", 4: "c"}
"""Broker id -> rack, in the shared cluster `racked_brokers`."""
BOTH = pytest.mark.parametrize(
    "racked_brokers", [KAFKA_4_3, pytest.param(KAFKA_3_9, marks=pytest.mark.long)], ids=["4.3", "3.9"], indirect=True
)
"""Runs a test of the cluster with racks on 4.3, and in long runs also on 3.9, the last release with ZooKeeper."""
USUAL_SECONDS = 0.5
"""Estimated seconds of a test that has no mark `takes`."""
SPARK = "spark"
"""The name of the fixture of the Spark session. Tests that use it and have no other group are grouped by this name."""
SHARED = frozenset({*REAL.values(), "secure_cluster", "breakable_cluster", "racked_brokers"})
"""The names of the fixtures whose clusters last for the whole run."""

C = TypeVar("C", bound=AbstractContextManager[Any])


@contextmanager
def or_skip() -> Iterator[None]:
    """Skip the test if the block raises BrokersUnavailableError; with KAC_REQUIRE_BROKERS=1, fail the test."""
    try:
        yield
    except BrokersUnavailableError as reason:
        if os.environ.get("KAC_REQUIRE_BROKERS") == "1":
            pytest.fail(f"KAC_REQUIRE_BROKERS=1, but {reason}", pytrace=False)
        pytest.skip(str(reason))


def running(make: Callable[[], C]) -> Iterator[C]:
    """Enter the context manager that `make` returns, yield it, and exit it at the end. For use as the body of a
    fixture. Skips the test as `or_skip` does.
    """
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
    """Return a pytest parameter for each release; all but the releases in `usual` are marked `long`."""
    return [pytest.param(each, marks=() if each in usual else (pytest.mark.long,)) for each in releases]


def needed(item: pytest.Item) -> frozenset[str]:
    """Return the names of the shared clusters' fixtures that a test uses. A test uses one by its fixtures, or by a
    parameter that is the fixture's name or ``("real", release)``.
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
    """Return the name of the group of tests that must run in the same process as this test: the group of its shared
    clusters, of the Spark session, or of its module's or package's fixtures. None if the test shares nothing.
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
    """Sort tests by the estimated duration of their group, longest first, and keep the order within groups. So no
    process waits at the end of a run for a group that takes minutes. Needs `pytest --no-loadscope-reorder`.
    """
    taken: dict[str, float] = defaultdict(float)
    for item in items:
        mark = item.get_closest_marker("takes")
        taken[_unit(item)] += mark.args[0] if mark else USUAL_SECONDS
    first = {unit: place for place, unit in enumerate(sorted(taken, key=lambda unit: -taken[unit]))}
    items.sort(key=lambda item: first[_unit(item)])


def _unit(item: pytest.Item) -> str:
    """Return the id of the work that xdist gives to one process as a whole: the test's group, or else the test's own
    id.
    """
    mark = item.get_closest_marker("xdist_group")
    return str(mark.args[0]) if mark else item.nodeid


class LastTests:
    """Closes each shared cluster after the last test of this process that needs it, because idle brokers take CPU time
    from other tests.
    """

    def __init__(self, items: Iterable[pytest.Item]) -> None:
        self._left = Counter(name for item in items for name in needed(item))
        self._running: dict[str, KafkaCluster] = {}

    def runs(self, name: str, cluster: KafkaCluster) -> None:
        """Record that the fixture with this name has started a cluster."""
        self._running[name] = cluster

    def ended(self, item: pytest.Item) -> None:
        """Record that a test and its fixtures have ended; close the clusters that no later test needs."""
        for name in needed(item):
            self._left[name] -= 1
            if not self._left[name] and name in self._running:
                self._running.pop(name).close()
