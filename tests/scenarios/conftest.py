"""What a noun has to do, on embedded clusters and on real brokers: the fixtures of both folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.broker.conftest import empty_cluster, kafka, link, name, own_cluster, racked_cluster
from tests.embedded.conftest import any_release, cluster
from tests.support.real_clusters import needed

__all__ = ["any_release", "cluster", "empty_cluster", "kafka", "link", "name", "own_cluster", "racked_cluster"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What asks for a shared cluster needs brokers; what leaves its traces on them runs when nobody else will."""
    for item in items:
        if item.path.is_relative_to(HERE) and needed(item):
            item.add_marker(pytest.mark.broker)
    items.sort(key=lambda item: item.get_closest_marker("untidy") is not None)
