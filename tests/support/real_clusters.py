"""Real clusters as fixtures have them: where they can't run a test is skipped, or fails if brokers are required."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import pytest

from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_3_9, BrokersUnavailableError

__all__ = ["KAFKA_3_9", "KafkaCluster", "running"]

C = TypeVar("C", bound=AbstractContextManager[Any])


def running(make: Callable[[], C]) -> Iterator[C]:
    """The body of a fixture: the cluster, or what else needs Java, runs until the test or the session is done."""
    try:
        cluster = make()
    except BrokersUnavailableError as reason:
        if os.environ.get("KAC_REQUIRE_BROKERS") == "1":
            pytest.fail(f"KAC_REQUIRE_BROKERS=1, but {reason}", pytrace=False)
        pytest.skip(str(reason))
    with cluster:
        yield cluster
