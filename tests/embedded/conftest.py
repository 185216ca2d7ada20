"""A running cluster, and clients that know nothing of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import ClusterSpec


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    """Three brokers like Kafka 4.3."""
    async with EmbeddedCluster(ClusterSpec()) as running:
        yield running
