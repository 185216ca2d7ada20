"""Tests with brokers of future releases, which lack old versions of APIs and have APIs that kac does not know."""

from collections.abc import Mapping

import pytest

from console.admin.cluster import describe_cluster
from console.admin.errors import NotKafkaBroker, Unsupported
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from tests.wire import fake_broker as fake

UNKNOWN_KEYS = {2_000: (0, 3), 9_999: (7, 7)}
GOOD = fake.answering(fake.metadata_body({1: ("127.0.0.1", 9)}, 1))


async def failure(versions: Mapping[int, tuple[int, int]]) -> str:
    """Return, as text, the failure and the remedy of connecting to a broker with these API versions. versions: API key
    -> lowest and highest version.
    """
    async with fake.FakeBroker(GOOD, versions=versions) as broker:
        link = Link(ConnectionSettings((broker.address,)))
        with pytest.raises(NotKafkaBroker) as caught:
            await describe_cluster(link)
        await link.close()
        return f"{caught.value.failure}. {caught.value.failure.remedy}".replace(f":{broker.address[1]}", ":PORT")


async def test_a_broker_without_version_0_of_api_versions_is_asked_again() -> None:
    async with fake.FakeBroker(GOOD, versions={**fake.KRAFT, **UNKNOWN_KEYS, fake.API_VERSIONS: (4, 6)}) as broker:
        link = Link(ConnectionSettings((broker.address,)))
        found = await describe_cluster(link)
        assert [each.id for each in found.brokers] == [1]
        assert await link.version("metadata") == 13
        await link.close()
        assert broker.connections == 1


async def test_a_broker_without_a_common_version_of_a_request_is_too_new() -> None:
    assert await failure({**fake.KRAFT, **UNKNOWN_KEYS, fake.API_VERSIONS: (6, 7)}) == (
        "TOO_NEW: 127.0.0.1:PORT is newer than this kac: it has api_versions 6 to 7, known is 5. "
        "Update kac; until then use the tools of that Kafka release."
    )
    assert "it has metadata 14 to 15, known is 13" in await failure({**fake.KRAFT, fake.METADATA: (14, 15)})


async def test_an_api_that_is_too_new_is_named_and_the_others_work() -> None:
    async with fake.FakeBroker(GOOD, versions={**fake.KRAFT, fake.DESCRIBE_CONFIGS: (9, 10)}) as broker:
        link = Link(ConnectionSettings((broker.address,)))
        await describe_cluster(link)
        with pytest.raises(Unsupported) as caught:
            await link.call("describe_configs", lambda kio: kio.DescribeConfigsRequest(resources=()))
        await link.close()
        assert str(caught.value.failure) == (
            "UNSUPPORTED: this broker's describe_configs (9 to 10) is newer than this kac"
        )
