"""ACLs and SCRAM credentials over the wire, beside what tests/contract compares with real brokers."""

from __future__ import annotations

import asyncio
import hashlib

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.sasl import ScramHash, credential_of
from console.embedded.spec import ClusterSpec
from console.embedded.tables import ScramKey
from console.model.acl import Acl
from tests.embedded.raw_client import RawClient
from tests.support import worlds
from tests.support.acl_filters import EVERY_ACL
from tests.support.kafka_messages import Build, with_fields


def binding(name: str, principal: str = "User:a") -> Acl:
    return worlds.acl(principal, "READ", "TOPIC", name)


EVERYTHING = with_fields(**EVERY_ACL)


def created(*names: str) -> Build:
    return with_fields(creations=[*map(binding, names)])


def deleted(*principals: str) -> Build:
    return with_fields(filters=[{**EVERY_ACL, "principal_filter": principal} for principal in principals])


@pytest.mark.parametrize("version", [1, 2])
async def test_acls_grouped_by_what_they_are_on(cluster: EmbeddedCluster, version: int) -> None:
    for name in ("one", "other"):
        for principal in ("User:a", "User:b"):
            cluster.state.add_acl(binding(name, principal))
    async with RawClient(cluster) as client:
        answer = await client.ask("describe_acls", version, EVERYTHING)
    assert (answer.error_code, answer.error_message) == (0, "")
    assert {on.resource_name: {acl.principal for acl in on.acls} for on in answer.resources} == {
        "one": {"User:a", "User:b"},
        "other": {"User:a", "User:b"},
    }


async def test_without_an_authorizer_there_are_no_acls() -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=1, authorizer=False)) as cluster, RawClient(cluster) as client:
        told = await client.ask("describe_acls", 2, EVERYTHING)
        assert (told.error_code, told.error_message) == (54, "No Authorizer is configured on the broker")
        told = await client.ask("create_acls", 2, created("a", "b"))
        disabled = (54, "No Authorizer is configured.")
        assert [(result.error_code, result.error_message) for result in told.results] == [disabled] * 2
        told = await client.ask("delete_acls", 2, deleted("User:a"))
        assert [(result.error_code, result.error_message) for result in told.filter_results] == [disabled]


@pytest.mark.parametrize("versions", ["3.9", "4.4"])
async def test_a_controller_takes_so_many_acls_in_one_change(versions: str) -> None:
    names = [f"t{number}" for number in range(10_001)]
    async with EmbeddedCluster(ClusterSpec(brokers=1, versions=versions)) as cluster, RawClient(cluster) as client:
        told = await client.ask("create_acls", 2, created("", *names))
        errors = [(result.error_code, result.error_message) for result in told.results]
        assert errors[0] == (42, "Invalid empty resource name")
        refused = (44, "Unable to perform excessively large batch operation.")
        assert set(errors[1:]) == {refused}
        assert len(cluster.state.acls) == 0
        for name in names:
            cluster.state.add_acl(binding(name))
        told = await client.ask("delete_acls", 2, deleted("User:a"))
        (result,) = told.filter_results
        assert (result.error_code, result.error_message) == {
            "3.9": (-1, None),
            "4.4": (42, "Cannot remove more than 10000 acls in a single delete operation."),
        }[versions]
        assert len(cluster.state.acls) == len(names)


def altered(*upsertions: tuple[str, int], deletions: tuple[tuple[str, int], ...] = ()) -> Build:
    salted = {1: hashlib.pbkdf2_hmac("sha256", b"pw", b"salt", 4096), 2: b"x" * 64}
    rows = [(user, mechanism, 4096, b"salt", salted[mechanism]) for user, mechanism in upsertions]
    return with_fields(deletions=deletions, upsertions=rows)


async def test_a_credential_is_that_of_the_password(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        answer = await client.ask("alter_user_scram_credentials", 0, altered(("alice", 1)))
    assert [(result.user, result.error_code, result.error_message) for result in answer.results] == [("alice", 0, None)]
    expected = credential_of("pw", ScramHash.SHA_256, salt=b"salt")
    assert cluster.state.scram == {ScramKey("alice", ScramHash.SHA_256): expected}


async def test_nothing_is_lost_beside_a_deletion(cluster: EmbeddedCluster) -> None:
    """A real broker of 3.9 and 4.3 loses what is set in the request that deletes the last other one."""
    async with RawClient(cluster) as client:
        await client.ask("alter_user_scram_credentials", 0, altered(("alice", 1)))
        answer = await client.ask("alter_user_scram_credentials", 0, altered(("bob", 1), deletions=(("alice", 1),)))
    assert {result.user: result.error_code for result in answer.results} == {"alice": 0, "bob": 0}
    assert [key.user for key in cluster.state.scram] == ["bob"]


async def test_credentials_need_a_metadata_version(cluster: EmbeddedCluster) -> None:
    cluster.state.set_feature("metadata.version", 10)
    async with RawClient(cluster) as client:
        answer = await client.ask("alter_user_scram_credentials", 0, altered(("alice", 1)))
    message = "The current metadata.version does not support SCRAM"
    assert [(result.error_code, result.error_message) for result in answer.results] == [(35, message)]


async def test_all_credentials_are_never_told_to_who_may_not_know() -> None:
    spec = ClusterSpec(brokers=1, super_users=frozenset())
    async with EmbeddedCluster(spec) as cluster, RawClient(cluster) as client, RawClient(cluster) as other:
        client.request("describe_user_scram_credentials", 0, with_fields(users=None))
        await other.ask("list_groups", 4, with_fields(states_filter=[]))
        answered = asyncio.ensure_future(client.frame())
        for _ in range(3):  # others are answered meanwhile
            await other.ask("list_groups", 4, with_fields(states_filter=[]))
        assert not answered.done()
        answered.cancel()
