"""The laboratory of each version; it needs real brokers, and root for its small filesystem."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from benchmarks.faults.laboratory import Laboratory
from tests.support.kafka_jars import RELEASES, BrokersUnavailableError

VERSIONS = {release: RELEASES[release] for release in ("4.3", "3.9", "4.4")}
USUAL = ("4.3", "3.9")
"""Those of every fault; neighbours are made on the newest, too."""


@pytest_asyncio.fixture(scope="package", loop_scope="session", params=USUAL)
async def lab(request: pytest.FixtureRequest) -> AsyncIterator[Laboratory]:
    """Three brokers of a version, on which one fault after another is made and undone, for this whole folder. Its
    tests run on the loop of the session: the folders below are packages of their own."""
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
