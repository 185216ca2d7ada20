"""The laboratory for each version. It needs real brokers, and root for its small file system."""

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from benchmarks.faults.laboratory import Laboratory
from tests.support.kafka_jars import RELEASES, BrokersUnavailableError

VERSIONS = {release: RELEASES[release] for release in ("4.3", "3.9", "4.4")}
USUAL = ("4.3", "3.9")
"""The versions of all faults. Neighbours also run on the newest version."""


@pytest_asyncio.fixture(scope="package", loop_scope="session", params=USUAL)
async def lab(request: pytest.FixtureRequest) -> AsyncIterator[Laboratory]:
    """Three brokers of a version, with one fault after another, for all tests of this directory. The tests run on the
    session's event loop, because the subdirectories are separate packages. They are skipped without root. Without Java
    or Kafka's jars they are skipped, or fail if KAC_REQUIRE_BROKERS is 1.
    """
    if os.geteuid() != 0:
        pytest.skip("the laboratory mounts a small filesystem, for which it has to be root")
    try:
        made = Laboratory(VERSIONS[request.param])
    except BrokersUnavailableError as reason:
        if os.environ.get("KAC_REQUIRE_BROKERS") == "1":
            pytest.fail(f"KAC_REQUIRE_BROKERS=1, but {reason}", pytrace=False)
        pytest.skip(str(reason))
    async with made:
        yield made
