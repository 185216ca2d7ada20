"""Tests of an identity provider's tokens (client credentials) for a schema registry and for Connect's workers: kac
fetches a token once, fetches another one if it is refused, and never shows it.
"""

import json
from collections.abc import Iterator

import pytest

from console.admin import connect, errors, schemas
from console.admin.settings import ConnectSettings, HttpSettings, SaslSettings
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.model.secret import Secret
from tests.support import changing, http_server, staging, worlds
from tests.support.oidc_server import OidcServer, oidc_server
from tests.support.registry_server import RegistryServer, registry

SECRET = "open-sesame"

cluster = worlds.cluster(ClusterSpec(brokers=1), scope="module")


@pytest.fixture
def provider() -> Iterator[OidcServer]:
    with oidc_server() as running:
        running.secrets["kac"] = SECRET
        yield running


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    """Provide a registry that accepts only the identity provider's tokens for its present subject."""
    with registry() as running:
        running.register("orders-value", '"int"')
        yield running


def login(provider: OidcServer, secret: str = SECRET) -> SaslSettings:
    return SaslSettings("OAUTHBEARER", "kac", Secret(secret), {"token.endpoint.url": provider.token_url})


def demand(server: RegistryServer, subject: str) -> None:
    """Make the registry accept only tokens of this subject."""
    server.accepts = lambda header: subject_of(header) == subject


def subject_of(header: str) -> str:
    import base64

    part = header.removeprefix("Bearer ").split(".")[1] if header.startswith("Bearer ") else ""
    return str(json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) or b"{}").get("sub", ""))


def at(server: RegistryServer, oauth: SaslSettings | None) -> HttpSettings:
    return HttpSettings("127.0.0.1", server.port, oauth=oauth)


async def test_one_token_is_fetched_for_all_requests(
    cluster: ThreadedCluster, provider: OidcServer, server: RegistryServer
) -> None:
    demand(server, "alice")
    async with worlds.linked(worlds.settings(cluster, schemas=at(server, login(provider)))) as link:
        found = await schemas.describe_schemas(link)
        assert [*found.subjects] == ["orders-value"]
        await schemas.describe_schemas(link)
    assert len(server.asked) > 5
    assert [each["grant_type"] for each in provider.asked] == ["client_credentials"]


async def test_a_refused_token_is_replaced_once(
    cluster: ThreadedCluster, provider: OidcServer, server: RegistryServer
) -> None:
    demand(server, "alice")
    settings = worlds.settings(cluster, schemas=at(server, login(provider)))
    from console.model.parts import Part

    with worlds.session_on(settings) as session:
        await session.read_whole(Part.SCHEMAS)
        provider.subject = "bob"
        demand(server, "bob")
        await staging.staged(session, "schema carts-value '\"int\"'")
        report = await changing.apply_plan(session)
        assert report.ok
    posts = [each for each in server.asked if each.method == "POST" and each.path == "/subjects/carts-value/versions"]
    assert len(provider.asked) == 2
    assert [subject_of(each.login) for each in posts] == ["bob"]
    assert [each.number for each in server.state.subjects["carts-value"]] == [1]


async def test_a_change_is_sent_again_with_the_new_token_alone(
    cluster: ThreadedCluster, provider: OidcServer, server: RegistryServer
) -> None:
    from console.admin.rest import RestClient
    from console.admin.schema_registry import SERVICE

    client = RestClient(at(server, login(provider)), SERVICE)
    demand(server, "alice")
    assert (await client.exchange("GET", "/subjects")).status == 200
    provider.subject = "bob"
    demand(server, "bob")
    answer = await client.exchange("POST", "/subjects/carts-value/versions", b'{"schema": "\\"int\\""}')
    assert answer.status == 200
    posts = [subject_of(each.login) for each in server.asked if each.method == "POST"]
    assert posts == ["alice", "bob"]
    assert len(server.state.subjects["carts-value"]) == 1


async def failure_of(cluster: ThreadedCluster, settings: HttpSettings) -> str:
    async with worlds.linked(worlds.settings(cluster, schemas=settings)) as link:
        with pytest.raises(errors.AdminError) as raised:
            await schemas.describe_schemas(link)
    return str(raised.value.failure)


async def test_a_token_that_is_refused_again_is_a_failure_without_it(
    cluster: ThreadedCluster, provider: OidcServer, server: RegistryServer
) -> None:
    demand(server, "nobody")
    said = await failure_of(cluster, at(server, login(provider)))
    assert "the registry answers 401: Bearer ······ is not welcome" in said
    assert len(server.asked) <= 2


async def test_a_provider_that_refuses_or_is_down_is_told_without_the_secret(
    cluster: ThreadedCluster, provider: OidcServer, server: RegistryServer
) -> None:
    wrong = await failure_of(cluster, at(server, login(provider, "not-sesame")))
    assert f"the registry is not asked: the token endpoint {provider.token_url} answered 401" in wrong
    assert "invalid_client" in wrong
    provider.is_down = True
    down = await failure_of(cluster, at(server, login(provider)))
    assert "answered 503" in down
    assert "sesame" not in wrong + down
    assert server.asked == []


async def test_connects_workers_are_given_the_token(cluster: ThreadedCluster, provider: OidcServer) -> None:
    def answer(asked: http_server.Asked) -> http_server.Answer:
        if subject_of(asked.headers.get("authorization", "")) != "alice":
            return http_server.Answer(401, '{"message": "who are you?"}')
        if asked.path == "/":
            return http_server.Answer(200, json.dumps({"version": "4.3.0", "commit": "c", "kafka_cluster_id": "x"}))
        return http_server.Answer(200, "{}" if "expand" in asked.path else "[]")

    with http_server.answering(answer) as url:
        worker = HttpSettings("127.0.0.1", int(url.rpartition(":")[2]), oauth=login(provider))
        settings = worlds.settings(cluster, connect=(ConnectSettings("main", (worker,)),))
        async with worlds.linked(settings) as link:
            found = await connect.describe_connect(link)
    assert found.failures == {}
    assert [each.failure for each in found.clusters["main"].workers] == [None]
    assert len(provider.asked) == 1
