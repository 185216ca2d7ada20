"""Fixtures that provide running embedded clusters."""

from collections.abc import AsyncIterator

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.spec import RELEASE_NAMES, ClusterSpec
from tests.support import worlds


@pytest.fixture(params=RELEASE_NAMES)
async def any_release(request: pytest.FixtureRequest) -> AsyncIterator[EmbeddedCluster]:
    """Provide a cluster with three brokers, in turn for each imitated release."""
    async with EmbeddedCluster(ClusterSpec(versions=request.param)) as running:
        yield running


cluster = worlds.embedded(ClusterSpec())
"""A fixture: a cluster with three brokers like the newest Kafka."""
