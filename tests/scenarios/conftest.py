"""Fixtures of the scenarios: tests of a feature of kac on embedded clusters and on real brokers."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.admin.changes import send
from console.admin.link import Link
from console.model import changes, codes
from console.model.config import ConfigResource
from tests.broker.conftest import empty_cluster, kafka, link, name, own_cluster, racked_cluster
from tests.embedded.conftest import any_release, cluster
from tests.support.real_clusters import needed

__all__ = ["any_release", "cluster", "empty_cluster", "kafka", "link", "name", "own_cluster", "racked_cluster"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that use a shared cluster of real brokers as broker tests. Move those that leave changes on a cluster
    to the end of the run.
    """
    for item in items:
        if item.path.is_relative_to(HERE) and needed(item):
            item.add_marker(pytest.mark.broker)
    items.sort(key=lambda item: item.get_closest_marker("untidy") is not None)


VERIFICATION = "transaction.partition.verification.enable"


@pytest.fixture
async def unverified(link: Link) -> AsyncIterator[None]:
    """Turn the verification of transactions off during the test: leaders accept transactional records of unknown
    transactions.
    """
    everyone = ConfigResource(codes.BROKER, "")
    off, usual = changes.ConfigOp(VERIFICATION, codes.SET, "false"), changes.ConfigOp(VERIFICATION, codes.DELETE)
    await send(link, changes.AlterConfigs({everyone: (off,)}), validate_only=False)
    yield
    await send(link, changes.AlterConfigs({everyone: (usual,)}), validate_only=False)
