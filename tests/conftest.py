"""For every test: a home of its own, and property tests that give the same answer each time. For those that need
them: real clusters, each started by the first test that asks for it and ended after the last one.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from _pytest.nodeid import NodeId
from hypothesis import settings

from tests.support import real_clusters
from tests.support.cached_folder import cache_home
from tests.support.children import end_children
from tests.support.collecting import may_be_slow, refuse_hidden
from tests.support.examples import USUAL
from tests.support.kafka_jars import KAFKA_4_3, RELEASES
from tests.support.own_places import changed, open_more_files, real_places, take_a_home
from tests.support.zookeeper_cluster import ZooKeeperCluster

pytest_plugins = ["tests.support.lake_fixtures"]

# Reproducible by default; `pytest --hypothesis-profile explore` looks for new counterexamples.
settings.register_profile("same", derandomize=True, deadline=None, database=None, max_examples=USUAL)
settings.register_profile("few", settings.get_profile("same"), max_examples=3)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("same")

# A shell's background job ignores Ctrl-C, and so would every program that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Not each test alone: fixtures of modules, workers and what they start would write into the user's own folders.
_REAL = real_places(os.environ)
_BEFORE = _REAL.seen()
if "PYTEST_XDIST_WORKER" not in os.environ:
    take_a_home()
open_more_files()
# A user's own group may write as Debian has it, and what others may write is not run: tests mean what they make.
os.umask(0o022)

_LAST = pytest.StashKey[real_clusters.LastTests]()
_FOREIGN = ("KAC_", "KCL_", "KAFKA_", "TEXTUAL", "XDG_", "NO_COLOR", "FORCE_COLOR", "COLORTERM")
_KEPT = ("KAC_REQUIRE_BROKERS",)


_HOMES = count()


@pytest.fixture(autouse=True)
def no_child_outlives_its_test() -> Iterator[None]:
    """Whatever a test started ends with it, also where it fails."""
    yield
    end_children()


def pytest_addoption(parser: pytest.Parser) -> None:
    """What the Makefile asks for where slow tests run alone."""
    parser.addoption("--slow-files", action="store_true", help="import only files that may have slow tests")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--slow-files` a file without slow tests."""
    is_left_out = (
        config.getoption("slow_files") and collection_path.suffix == ".py" and not may_be_slow(collection_path)
    )
    return True if is_left_out else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector: all that is made stays, and it would walk it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Tests that share a cluster run in one process, with `--dist loadgroup`; what takes longest begins first."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None and (name := real_clusters.group(item)):
            item.add_marker(pytest.mark.xdist_group(name))
        mark = item.get_closest_marker("xdist_group")
        if mark and config.getoption("loadgroup", False):
            # xdist 3.8 writes the group into `_nodeid`, which pytest 9.2 does not have: its scheduler sees no group.
            item._id = NodeId.parse(f"{item.nodeid}@{mark.args[0]}")
    refuse_hidden(items)
    yield
    if config.getoption("loadgroup", False):
        real_clusters.longest_first(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """The tests are chosen. What collecting them made stays to the end: no garbage collection walks it again."""
    session.stash[_LAST] = real_clusters.LastTests(session.items)
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Nothing of the user's own was touched. Workers leave that to the process that started them."""
    touched = changed(_BEFORE, _REAL.seen()) if not hasattr(session.config, "workerinput") else []
    if touched:
        more = f" and {len(touched) - 5} more" if len(touched) > 5 else ""
        shown = ", ".join(touched[:5])
        print(f"\nchanged outside of the tests' own folders, unless another console ran meanwhile: {shown}{more}")
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure() -> None:
    """Libraries report what is frozen at the end as lost."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """A cluster that no other test needs ends."""
    try:
        yield
    finally:
        item.session.stash[_LAST].ended(item)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory: no test reads or writes the developer's own contexts, history or journal."""
    cache = cache_home().parent
    for name in [name for name in os.environ if name.startswith(_FOREIGN) and name not in _KEPT]:
        monkeypatch.delenv(name)
    # Not by mktemp, which lists the folder each time: there are thousands.
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_HOMES))
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    # What is copied in a test reaches no developer's tmux.
    for name in ("TMUX", "STY", "VTE_VERSION", "TERM_PROGRAM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return home


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Commands turn the cyclic collector off for the rest of what is their own process, and here is not."""
    yield
    gc.enable()


def _shared(
    request: pytest.FixtureRequest, make: Callable[[], real_clusters.KafkaCluster]
) -> Iterator[real_clusters.KafkaCluster]:
    """The body of such a fixture."""
    for cluster in real_clusters.running(make):
        request.session.stash[_LAST].runs(str(request.fixturename), cluster)
        yield cluster


@pytest.fixture(scope="session")
def plain_cluster(request: pytest.FixtureRequest) -> Iterator[real_clusters.KafkaCluster]:
    """Kafka 4.3, three brokers, PLAINTEXT where everybody is a super user, logins beside, request log on."""
    yield from _shared(request, lambda: real_clusters.KafkaCluster(brokers=3, logins=True, request_log=True))


@pytest.fixture(scope="session")
def secure_cluster(request: pytest.FixtureRequest) -> Iterator[real_clusters.KafkaCluster]:
    """Kafka 4.3, three brokers, SASL_SSL and mTLS; admin may do all, alice nothing. Request log on."""
    yield from _shared(request, lambda: real_clusters.KafkaCluster(brokers=3, security="secure", request_log=True))


def _of_release(version: str, brokers: int) -> Any:
    """The fixture of a cluster of another release, as plain_cluster, with Kafka's own configs for contracts."""

    @pytest.fixture(scope="session")
    def cluster(request: pytest.FixtureRequest) -> Iterator[real_clusters.KafkaCluster]:
        yield from _shared(
            request,
            lambda: real_clusters.KafkaCluster(version, brokers=brokers, logins=True, request_log=True, quiet=False),
        )

    return cluster


kafka37 = _of_release(RELEASES["3.7"], brokers=1)
kafka39 = _of_release(real_clusters.KAFKA_3_9, brokers=1)
kafka40 = _of_release(RELEASES["4.0"], brokers=3)
kafka41 = _of_release(RELEASES["4.1"], brokers=3)
kafka42 = _of_release(RELEASES["4.2"], brokers=3)
kafka44 = _of_release(RELEASES["4.4"], brokers=3)


@pytest.fixture(scope="session")
def kafka28(request: pytest.FixtureRequest) -> Iterator[real_clusters.KafkaCluster]:
    """Kafka 2.8 with ZooKeeper, two brokers, as plain_cluster."""
    yield from _shared(request, lambda: ZooKeeperCluster(brokers=2, logins=True, request_log=True))


@pytest.fixture(scope="session", params=[KAFKA_4_3], ids=["4.3"])
def racked_brokers(request: pytest.FixtureRequest) -> Iterator[real_clusters.KafkaCluster]:
    """Four plain brokers in three racks, two of them in the last. Any but the first, which is the only controller, can
    be stopped; the controller elects no leader of its own accord. `racked_cluster` gives it to one test after another.
    """
    racks = {broker: {"broker.rack": rack} for broker, rack in real_clusters.RACKS.items()}
    properties = {"auto.leader.rebalance.enable": "false", "min.insync.replicas": "1"}
    version: str = request.param
    yield from _shared(
        request,
        lambda: real_clusters.KafkaCluster(
            version, brokers=4, controllers=1, properties=properties, broker_properties=racks
        ),
    )


@pytest.fixture(scope="session")
def breakable_cluster(request: pytest.FixtureRequest) -> Iterator[real_clusters.KafkaCluster]:
    """Kafka 4.3, three plain brokers; `own_cluster` gives it to one test after another."""
    yield from _shared(request, lambda: real_clusters.KafkaCluster(brokers=3, logins=True, request_log=True))
