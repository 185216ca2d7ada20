"""Hostile clusters, for tests of what the console makes of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hostile.cluster import HostileCluster, hostile_cluster


@pytest.fixture
def hostile() -> Iterator[HostileCluster]:
    """A cluster of one broker behind a proxy, honest until it is scripted."""
    with hostile_cluster() as cluster:
        yield cluster
