"""Fixtures and hooks of all tests: a home directory for each test, reproducible property tests, and real clusters, each
of which runs from the first to the last test that needs it.
"""

import fcntl
import gc
import logging
import os
import signal
from collections.abc import Callable, Generator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from _pytest.nodeid import NodeId
from hypothesis import settings

from console.log_file import PrivateLog
from tests.support import real_clusters
from tests.support.cached_folder import cache_home
from tests.support.children import end_children
from tests.support.collecting import may_be_slow, refuse_hidden
from tests.support.examples import USUAL
from tests.support.kafka_jars import KAFKA_4_3, RELEASES
from tests.support.own_places import changed, open_more_files, real_places, take_a_home
from tests.support.zookeeper_cluster import ZooKeeperCluster

pytest_plugins = ["tests.support.lake_fixtures"]

# Property tests are reproducible by default; `pytest --hypothesis-profile explore` looks for new counterexamples.
settings.register_profile("same", derandomize=True, deadline=None, database=None, max_examples=USUAL)
settings.register_profile("few", settings.get_profile("same"), max_examples=3)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("same")

# A shell's background job ignores Ctrl-C, and so would every program that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The process itself also needs a home: fixtures of modules, workers and their children would write into the user's
# folders.
_REAL = real_places(os.environ)
_BEFORE = _REAL.seen()
if "PYTEST_XDIST_WORKER" not in os.environ:
    take_a_home()
open_more_files()
# With Debian's umask the user's group may write new files, and kac runs no program that others may write.
os.umask(0o022)

_LAST = pytest.StashKey[real_clusters.LastTests]()
_FOREIGN = ("KAC_", "KCL_", "KAFKA_", "TEXTUAL", "XDG_", "NO_COLOR", "FORCE_COLOR", "COLORTERM")
_KEPT = ("KAC_REQUIRE_BROKERS",)


_HOMES = count()


@pytest.fixture(autouse=True)
def no_child_outlives_its_test() -> Iterator[None]:
    """End all child processes that a test has started, after the test, also if it fails."""
    yield
    end_children()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--slow-files`, by which the Makefile runs only files with slow tests."""
    parser.addoption("--slow-files", action="store_true", help="import only files that may have slow tests")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Return True for a file without slow tests if `--slow-files` is given, so that pytest ignores it; None to leave
    the choice to pytest.
    """
    is_left_out = (
        config.getoption("slow_files") and collection_path.suffix == ".py" and not may_be_slow(collection_path)
    )
    return True if is_left_out else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Turn the garbage collector off while pytest collects tests: it would traverse the growing number of permanent
    objects again and again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, object, object]:
    """Let only one of xdist's workers import a file at a time. It compiles the modules, and the others then read the
    compiled files.
    """
    if not isinstance(collector, pytest.Module) or "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    with collector.path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Put tests that share a cluster into one process, for `--dist loadgroup`, and let the longest tests begin first.
    Raises UsageError if `--slow-files` leaves out a file that has a slow test.
    """
    for item in items:
        if item.get_closest_marker("xdist_group") is None and (name := real_clusters.group(item)):
            item.add_marker(pytest.mark.xdist_group(name))
        mark = item.get_closest_marker("xdist_group")
        if mark and config.getoption("loadgroup", False):
            # xdist 3.8 writes the group into `_nodeid`, which pytest 9.2 lacks: the scheduler would see no group.
            item._id = NodeId.parse(f"{item.nodeid}@{mark.args[0]}")
    refuse_hidden(items)
    yield
    if config.getoption("loadgroup", False):
        real_clusters.longest_first(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note the chosen tests, so that each real cluster can be stopped after the last of them that needs it. Freeze
    all objects, so that the garbage collector no longer traverses them, and let it run a tenth as often from now
    on, which saves up to a tenth of the tests' CPU time.
    """
    session.stash[_LAST] = real_clusters.LastTests(session.items)
    gc.collect()
    gc.freeze()
    gc.set_threshold(10 * gc.get_threshold()[0])


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the session if a test has changed a file in the user's own home directory. Only the process that started the
    workers checks this.
    """
    touched = changed(_BEFORE, _REAL.seen()) if not hasattr(session.config, "workerinput") else []
    if touched:
        more = f" and {len(touched) - 5} more" if len(touched) > 5 else ""
        shown = ", ".join(touched[:5])
        print(f"\nchanged outside of the tests' own folders, unless another console ran meanwhile: {shown}{more}")
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure() -> None:
    """Unfreeze all objects, because libraries would report frozen ones as leaks at the end."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """After a test, stop each real cluster that no further test needs."""
    try:
        yield
    finally:
        item.session.stash[_LAST].ended(item)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide an empty home directory, so that no test reads or writes the developer's contexts, history or journal."""
    cache = cache_home().parent
    for name in [name for name in os.environ if name.startswith(_FOREIGN) and name not in _KEPT]:
        monkeypatch.delenv(name)
    # mktemp would list the folder each time, and there are thousands of homes.
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_HOMES))
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    # Texts that a test copies must not reach the developer's tmux.
    for name in ("TMUX", "STY", "VTE_VERSION", "TERM_PROGRAM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return home


@pytest.fixture(autouse=True)
def closed_log() -> Iterator[None]:
    """Close the log file of a command after its test. Otherwise the logs of all earlier tests would get the log records
    of later ones too.
    """
    yield
    root = logging.getLogger()
    for log in [each for each in root.handlers if isinstance(each, PrivateLog)]:
        root.removeHandler(log)
        log.close()


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Turn the garbage collector on again after each test, because a command turns it off for the rest of its
    process.
    """
    yield
    gc.enable()


def _shared(
    request: pytest.FixtureRequest, make: Callable[[], real_clusters.KafkaCluster]
) -> Iterator[real_clusters.KafkaCluster]:
    """Start a cluster and yield it. Register it, so that `pytest_runtest_teardown` stops it after the last test that
    needs it.
    """
    for cluster in real_clusters.running(make):
        request.session.stash[_LAST].runs(str(request.fixturename), cluster)
        yield cluster


@pytest.fixture(scope="session")
def plain_cluster(request: pytest.FixtureRequest) -> Iterator[real_clusters.KafkaCluster]:
    """Provide a cluster of Kafka 4.3 with three brokers. They have a PLAINTEXT listener, on which every client is a
    super user, a listener with logins, and a request log.
    """
    yield from _shared(request, lambda: real_clusters.KafkaCluster(brokers=3, logins=True, request_log=True))


@pytest.fixture(scope="session")
def secure_cluster(request: pytest.FixtureRequest) -> Iterator[real_clusters.KafkaCluster]:
    """Provide a cluster of Kafka 4.3 with three brokers, with SASL_SSL, mTLS and a request log. The user admin is a
    super user; alice has no rights.
    """
    yield from _shared(request, lambda: real_clusters.KafkaCluster(brokers=3, security="secure", request_log=True))


def _of_release(version: str, brokers: int) -> Any:
    """Return a fixture of a cluster of another release. It is like `plain_cluster`, except that the brokers have
    Kafka's own defaults instead of configs for idle brokers, because contracts are recorded on it.
    """

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
    """Provide a cluster of Kafka 2.8 with ZooKeeper and two brokers, otherwise like `plain_cluster`."""
    yield from _shared(request, lambda: ZooKeeperCluster(brokers=2, logins=True, request_log=True))


@pytest.fixture(scope="session", params=[KAFKA_4_3], ids=["4.3"])
def racked_brokers(request: pytest.FixtureRequest) -> Iterator[real_clusters.KafkaCluster]:
    """Provide four plain brokers in three racks, two of them in the last rack. Each broker except the first can be
    stopped; the first is the only controller, and does not elect preferred leaders by itself. Tests use the fixture
    `racked_cluster`, which lends the cluster to one test at a time.
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
    """Provide three plain brokers of Kafka 4.3. Tests use the fixture `own_cluster`, which lends the cluster to one
    test at a time.
    """
    yield from _shared(request, lambda: real_clusters.KafkaCluster(brokers=3, logins=True, request_log=True))
