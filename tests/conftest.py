"""For every test: a home of its own, and property tests that give the same answer each time. For those that need
them: real clusters, each started by the first test that asks for it and kept for the session.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.support.cached_folder import cache_home

if TYPE_CHECKING:
    from tests.support.kafka_cluster import KafkaCluster
    from tests.support.zookeeper_cluster import ZooKeeperCluster

# Reproducible by default; `pytest --hypothesis-profile explore` looks for new counterexamples.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("same")

# A shell's background job ignores Ctrl-C, and so would every program that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_FOREIGN = ("KAC_", "KCL_", "KAFKA_", "TEXTUAL", "XDG_", "NO_COLOR", "FORCE_COLOR", "COLORTERM")
_KEPT = ("KAC_REQUIRE_BROKERS",)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory: no test reads or writes the developer's own contexts, history or journal."""
    cache = cache_home().parent
    for name in [name for name in os.environ if name.startswith(_FOREIGN) and name not in _KEPT]:
        monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return home


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Commands turn the cyclic collector off for the rest of what is their own process, and here is not."""
    yield
    gc.enable()


@pytest.fixture(scope="session")
def plain_cluster() -> Iterator[KafkaCluster]:
    """Kafka 4.3, three brokers, PLAINTEXT where everybody is a super user, logins beside, request log on."""
    from tests.support.real_clusters import KafkaCluster, running

    yield from running(lambda: KafkaCluster(brokers=3, logins=True, request_log=True))


@pytest.fixture(scope="session")
def secure_cluster() -> Iterator[KafkaCluster]:
    """Kafka 4.3, three brokers, SASL_SSL and mTLS; admin may do all, alice nothing. Request log on."""
    from tests.support.real_clusters import KafkaCluster, running

    yield from running(lambda: KafkaCluster(brokers=3, security="secure", request_log=True))


@pytest.fixture(scope="session")
def kafka39() -> Iterator[KafkaCluster]:
    """Kafka 3.9, one broker, as plain_cluster."""
    from tests.support.real_clusters import KAFKA_3_9, KafkaCluster, running

    yield from running(lambda: KafkaCluster(KAFKA_3_9, brokers=1, logins=True, request_log=True))


@pytest.fixture(scope="session")
def kafka28() -> Iterator[ZooKeeperCluster]:
    """Kafka 2.8 with ZooKeeper, two brokers, as plain_cluster."""
    from tests.support.real_clusters import running
    from tests.support.zookeeper_cluster import ZooKeeperCluster

    yield from running(lambda: ZooKeeperCluster(brokers=2, logins=True, request_log=True))
