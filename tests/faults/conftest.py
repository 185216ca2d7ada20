"""The laboratory: for each version a cluster of real brokers on which faults are made. Needs root, to mount a small
file system.
"""

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from benchmarks.faults.laboratory import Laboratory
from tests.support.kafka_jars import RELEASES, BrokersUnavailableError

VERSIONS = {release: RELEASES[release] for release in ("4.3", "3.9", "4.4")}
USUAL = ("4.3", "3.9")
"""The versions on which all faults are made. Their neighbours, states that only look like a fault, are also made on the
newest version.
"""


@pytest_asyncio.fixture(scope="package", loop_scope="session", params=USUAL)
async def lab(request: pytest.FixtureRequest) -> AsyncIterator[Laboratory]:
    """Provide the laboratory of a version, a cluster of three brokers, for all tests of this directory. They make one
    fault on it after another, and run on the session's event loop, because the subdirectories are separate packages.
    Without root they are skipped. Without Java or Kafka's jars they are skipped too, or fail if KAC_REQUIRE_BROKERS
    is 1.
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
