"""Tests of messages about a server that lacks an API: kac names the release of Kafka that has it only if the server's
other APIs prove an older release.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.errors import Unsupported
from console.model.releases import likely_release, proven_release, release_number, runs_on_zookeeper
from tests.support.kafka_jars import RELEASES
from tests.support.older_brokers import known_release

OLD = known_release("2.8").apis


@pytest.mark.parametrize("name", RELEASES)
def test_brokers_of_kafka_prove_their_release(name: str) -> None:
    known = known_release(name)
    assert proven_release(known.apis, known.supported) == name
    assert likely_release(known.apis, known.supported) == name
    assert proven_release(known.apis, {}) == name
    assert runs_on_zookeeper(known.apis) is (name == "2.8")


@given(
    st.sampled_from(list(RELEASES)), st.sampled_from([15, 16, 29, 30, 31, 33, 34, 35, 37, 42, 43, 44, 45, 46, 48, 49])
)
def test_a_server_that_leaves_out_what_all_brokers_have_is_of_no_release(name: str, left_out: int) -> None:
    apis = {key: versions for key, versions in known_release(name).apis.items() if key != left_out}
    assert proven_release(apis, {}) == ""
    assert likely_release(apis, {}).startswith("~")
    said = Unsupported("describe_log_dirs", "2.0", apis).failure
    assert "≥" not in str(said)
    assert "pgrade" not in said.remedy


def test_what_is_not_supported_says_why_and_older_brokers_are_to_be_upgraded() -> None:
    said = Unsupported("list_transactions", "3.0", OLD).failure
    assert said.message == "list_transactions needs Kafka ≥ 3.0, and this is 2.8"
    assert "Upgrade" in said.remedy
    # As with ZooKeeper, where a quorum can't be described.
    said = Unsupported("describe_quorum", "2.7, in KRaft mode", OLD).failure
    assert said.message == "this server does not have describe_quorum"
    assert "pgrade" not in said.remedy
    said = Unsupported("list_groups", "", {16: (0, 2)}).failure
    assert said.message == "this server has list_groups up to version 2, which is too low"


def test_the_numbers_of_a_release() -> None:
    assert release_number("2.7, in KRaft mode 3.5") == (2, 7)
    assert release_number("3.3 with KRaft") == (3, 3)
    assert release_number("≥ 4.4") == (4, 4)
    assert release_number("~2.1") == (2, 1)
    assert release_number("< 2.0") < release_number("2.0")
