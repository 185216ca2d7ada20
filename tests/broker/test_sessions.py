"""Tests of SASL sessions that end after some seconds (KIP-368), and that kac renews on the open connection, with a real
broker.
"""

import asyncio
import base64
import json
import os
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from console.admin import connections, errors, jwt, topics
from console.admin.changes import send
from console.admin.cluster import describe_cluster
from console.admin.link import Link
from console.admin.settings import ConnectionSettings, SaslSettings, Store, TlsSettings
from console.admin.tokens import describe_tokens
from console.cli import main as cli
from console.model import changes as model_changes
from console.model import codes, config, secret, tokens
from console.model.identity import uuid_of
from console.wire.connection import connect
from tests.embedded.record_batches import fetch_request
from tests.support import changing, free_ports, kafka_commands, kafka_jars, kafka_messages, worlds
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import for_seconds, shortly, without_end
from tests.support.real_clusters import KAFKA_3_9, lent, running
from tests.support.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]
SESSION_MS = 5000
_PROPERTIES = {
    "connections.max.reauth.ms": str(SESSION_MS),
    "delegation.token.secret.key": secrets.token_hex(16),
    "delegation.token.expiry.check.interval.ms": "1000",
}
short_sessions = lent(lambda: KafkaCluster(brokers=1, security="secure", request_log=True, properties=_PROPERTIES))
"""Provide a broker of Kafka 4.3 with SASL_SSL on which a client has to log in again after five seconds."""


def settings(cluster: KafkaCluster, sasl: SaslSettings, client_id: str = "kac") -> ConnectionSettings:
    tls = TlsSettings(Store("PEM", cluster.authority.pem))
    return ConnectionSettings(cluster.addresses, "SASL_SSL", sasl, tls, client_id)


def linked(cluster: KafkaCluster, sasl: SaslSettings, client_id: str = "kac") -> AbstractAsyncContextManager[Link]:
    return worlds.linked(settings(cluster, sasl, client_id))


def admin(cluster: KafkaCluster, mechanism: str) -> SaslSettings:
    password = None if mechanism == "OAUTHBEARER" else secret.Secret(cluster.users["admin"])
    return SaslSettings(mechanism, "admin", password)


async def wait_for_records(link: Link, topic: str) -> None:
    """Fetch from an empty topic: the broker answers after a third of a second."""
    identity = (await topics.describe_topics(link, [topic])).topics[topic].topic_id or ""
    await link.call("fetch", fetch_request(0, topic=uuid_of(identity), wait=0.3, most=1000))


async def work(cluster: KafkaCluster, mechanism: str, seconds: float) -> tuple[str, int]:
    """For some seconds, make changes and reads one after another, while other requests of the same connection wait for
    their answers.

    Return the client id and the number of changes. Raises the first error.
    """
    client_id = f"sessions-{secrets.token_hex(4)}"
    async with linked(cluster, admin(cluster, mechanism), client_id) as link:
        topic = config.topic_resource(f"sessions-{mechanism.lower()}-{secrets.token_hex(4)}")
        assert await changing.applied(link, model_changes.CreateTopics((model_changes.NewTopic(topic.name, 1, 1),)))
        changes = 0

        async def make_change() -> None:
            nonlocal changes
            value = str(100_000 + changes)
            change = model_changes.AlterConfigs(
                {topic: (model_changes.ConfigOp("retention.ms", codes.AlterOp(0), value),)}
            )
            assert await changing.applied(link, change)
            assert (await changing.overrides(link, topic))["retention.ms"] == value
            changes += 1

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(for_seconds(seconds, lambda: wait_for_records(link, topic.name)))
            tasks.create_task(for_seconds(seconds, make_change))
    return client_id, changes


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [20, pytest.param(600, marks=pytest.mark.long)])
@pytest.mark.timeout(1500)
@pytest.mark.takes(20)
async def test_changes_go_on_over_one_connection_as_sessions_end(short_sessions: KafkaCluster, seconds: float) -> None:
    mechanisms = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
    done = await asyncio.gather(*(work(short_sessions, mechanism, seconds) for mechanism in mechanisms))
    for client_id, changes in done:
        logged = short_sessions.request_log.wait_for(changes, "INCREMENTAL_ALTER_CONFIGS", client_id=client_id)
        # No change was sent twice, and the client had at most two connections: to the bootstrap address and to the
        # broker.
        assert len(logged) == changes
        asked = short_sessions.request_log.read(client_id=client_id)
        assert len({each.connection for each in asked}) <= 2
        assert changes > seconds


@pytest.mark.long
async def test_sessions_of_an_older_release() -> None:
    """On Kafka 3.9, a client that renews its sessions opens at most two connections."""
    properties = {"connections.max.reauth.ms": str(SESSION_MS)}

    def make() -> KafkaCluster:
        return KafkaCluster(KAFKA_3_9, brokers=1, security="secure", request_log=True, properties=properties)

    for cluster in running(make):
        mechanisms = ("PLAIN", "SCRAM-SHA-512", "OAUTHBEARER")
        done = await asyncio.gather(*(work(cluster, mechanism, 12) for mechanism in mechanisms))
        for client_id, changes in done:
            cluster.request_log.wait_for(changes, "INCREMENTAL_ALTER_CONFIGS", client_id=client_id)
            asked = cluster.request_log.read(client_id=client_id)
            assert len({each.connection for each in asked}) <= 2


async def test_the_broker_does_close_what_is_not_renewed(short_sessions: KafkaCluster) -> None:
    """The broker closes a connection whose session is not renewed. Without this test, the tests of renewals could
    also pass on a broker whose sessions do not end.
    """
    wanted = settings(short_sessions, admin(short_sessions, "PLAIN"))
    connection = await connect(
        *short_sessions.addresses[0], client_id="kac", limit=60, security=await connections.security_arguments(wanted)
    )
    connection._carrier._due = float("inf")
    began = time.monotonic()

    with pytest.raises(Exception, match="closed"):
        await without_end(lambda: connection.send(connection.prepare("list_groups", 4, kafka_messages.with_fields())))
    assert time.monotonic() - began > SESSION_MS / 1000 - 1
    assert connection.not_renewed is None
    await connection.close()


def no_change(kio: ModuleType) -> Any:
    """Return a request for a change without any items, which needs no rights."""
    return kio.IncrementalAlterConfigsRequest(resources=(), validate_only=False)


async def change_nothing(link: Link) -> None:
    """Send a change without any items, on the link's connection for changes, which is not that for reads."""
    await link.call("incremental_alter_configs", no_change, change=True)


async def refused(link: Link) -> str:
    """Send changes until the broker refuses to renew the session; return the one line about it. Raises AssertionError
    if the next change has another error, which would mean that the credentials were sent again.
    """
    with pytest.raises(errors.AuthenticationFailed) as raised:
        await without_end(lambda: change_nothing(link))
    failure = raised.value.failure
    with pytest.raises(errors.AdminError) as again:
        await change_nothing(link)
    assert again.value.failure == failure, "the credentials were not tried again"
    line = f"{failure} | {failure.remedy}"
    assert "\n" not in line
    return line


async def test_a_password_that_is_changed(short_sessions: KafkaCluster) -> None:
    user = model_changes.ScramUser(f"bob-{secrets.token_hex(4)}", codes.ScramMechanism(2))

    async def set_password(password: str) -> None:
        change = model_changes.AlterScram({user: (4096, secret.Secret(password))}, ())
        async with linked(short_sessions, admin(short_sessions, "PLAIN")) as link:
            assert [outcome.failure for outcome in await send(link, change, validate_only=False)] == [None]

    await set_password("open sesame")
    async with linked(short_sessions, SaslSettings("SCRAM-SHA-512", user.user, secret.Secret("open sesame"))) as link:
        await change_nothing(link)
        await set_password("open barley")
        line = await refused(link)
    assert "refused the SCRAM-SHA-512 credentials: " in line
    assert "Check user name and password" in line
    assert "sesame" not in line


async def test_a_token_for_another_user(short_sessions: KafkaCluster, tmp_path: Path) -> None:
    """If a new token names another principal, the client continues as the new principal, on a new connection. Cloud
    roles have a new name in each session, and brokers refuse another principal in a renewal ("Cannot change
    principals during re-authentication").
    """
    file = tmp_path / "token"
    file.write_text(jwt.unsecured_token("admin"))
    options = {"token.endpoint.url": file.as_uri()}
    client_id = f"sessions-{secrets.token_hex(4)}"
    async with linked(short_sessions, SaslSettings("OAUTHBEARER", options=options), client_id) as link:
        await change_nothing(link)
        file.write_text(jwt.unsecured_token("alice"))

        async def both() -> bool:
            await change_nothing(link)
            await link.refresh()
            asked = short_sessions.request_log.read(client_id=client_id)
            return {each.principal for each in asked} == {"User:admin", "User:alice"}

        await shortly(both)


async def delegated(cluster: KafkaCluster, life_ms: int = -1) -> SaslSettings:
    """Create a delegation token of admin (KIP-48), and return the login with it. life_ms: the token's maximum lifetime,
    milliseconds; -1 for the broker's default.
    """
    nobody = {"owner_principal_type": None, "owner_principal_name": None}
    wanted = kafka_messages.with_fields(**nobody, renewers=[], max_lifetime=life_ms / 1000)
    async with linked(cluster, admin(cluster, "SCRAM-SHA-256")) as link:
        made = await link.call("create_delegation_token", wanted, change=True)
    assert made.error_code == 0
    hmac = base64.b64encode(made.hmac).decode()
    return SaslSettings("SCRAM-SHA-256", made.token_id, secret.Secret(hmac), options={"tokenauth": "true"})


async def wait_until_known(cluster: KafkaCluster, sasl: SaslSettings) -> str:
    """Log in with a token again and again until the broker accepts it; return the client id."""
    client_id = f"sessions-{secrets.token_hex(4)}"

    async def is_known() -> bool:
        with suppress(errors.AuthenticationFailed):
            async with linked(cluster, sasl, client_id) as link:
                await describe_cluster(link)
                return True
        return False

    await shortly(is_known)
    return client_id


async def test_a_delegation_token(short_sessions: KafkaCluster) -> None:
    sasl = await delegated(short_sessions)
    client_id = await wait_until_known(short_sessions, sasl)
    asked = short_sessions.request_log.wait_for(1, "DESCRIBE_CLUSTER", client_id=client_id)
    assert {each.principal for each in asked} == {"User:admin"}

    assert sasl.password is not None
    key = base64.b64decode(sasl.password.reveal())

    def revoke(kio: ModuleType) -> Any:
        return kio.ExpireDelegationTokenRequest(hmac=key, expiry_time_period=timedelta(milliseconds=-1))

    # The open session continues until its renewal, which is refused.
    async with linked(short_sessions, sasl) as link:
        await change_nothing(link)
        async with linked(short_sessions, admin(short_sessions, "SCRAM-SHA-256")) as other:
            assert (await other.call("expire_delegation_token", revoke, change=True)).error_code == 0
        line = await refused(link)
    assert "refused the SCRAM-SHA-256 credentials" in line
    assert "The delegation token is wrong, expired or revoked: kac run -e 'list tokens'" in line
    assert sasl.password.reveal() not in line


async def test_tokens_are_made_renewed_and_expired(short_sessions: KafkaCluster) -> None:
    """A client can log in with a token that kac created, and the token's renewers can renew it. A client that logged in
    with a token can't describe tokens, and a user who is neither owner nor renewer can't expire one.
    """
    alice = SaslSettings("SCRAM-SHA-256", "alice", secret.Secret(short_sessions.users["alice"]))
    async with linked(short_sessions, admin(short_sessions, "SCRAM-SHA-256")) as link:
        create = tokens.CreateToken(renewers=("User:alice",), lifetime_ms=3_600_000)
        (found,) = await send(link, create, validate_only=False)
        assert found.status is model_changes.Status.APPLIED, found
        assert found.made is not None
        token_id, hmac = found.made.id, found.made.secret
        token = (await describe_tokens(link))[token_id]
        assert (token.owner, token.renewers) == ("User:admin", ("User:alice",))
        assert token.max_time - token.issued == 3_600_000
        sasl = SaslSettings("SCRAM-SHA-256", token_id, hmac, options={"tokenauth": "true"})
        await wait_until_known(short_sessions, sasl)
        async with linked(short_sessions, sasl) as by_token:
            with pytest.raises(errors.BrokerError, match="DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"):
                await describe_tokens(by_token)
        async with linked(short_sessions, alice) as other:
            (renewed,) = await send(other, tokens.RenewToken(token_id, 60_000), validate_only=False)
            assert renewed.status is model_changes.Status.APPLIED, renewed
            assert (await describe_tokens(other))[token_id].expires < token.expires
            (own,) = await send(link, tokens.CreateToken(), validate_only=False)
            assert own.made is not None
            (refused,) = await send(other, tokens.ExpireToken(own.made.id), validate_only=False)
            assert refused.status is model_changes.Status.FAILED, refused
        for each in (token_id, own.made.id):
            (gone,) = await send(link, tokens.ExpireToken(each), validate_only=False)
            assert gone.status is model_changes.Status.APPLIED, gone
        assert not {token_id, own.made.id} & (await describe_tokens(link)).keys()


DELEGATION_TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
KEYED = {"delegation.token.secret.key": "x" * 32}


class ToolToken(NamedTuple):
    """A token as Kafka's tool prints it. Times are in the host's time zone, without seconds."""

    id: str
    hmac: str
    owner: str
    requester: str
    renewers: str
    issued: str
    expires: str
    max_time: str


@pytest.fixture(
    params=["4.3", *(pytest.param(each, marks=[pytest.mark.long, pytest.mark.slow]) for each in ("3.9", "4.4"))]
)
def with_tokens(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """Provide a broker with delegation tokens, once for each version. For 4.3 it is the broker that the other tests
    use.
    """
    if request.param == "4.3":
        yield request.getfixturevalue("short_sessions")
        return
    version = kafka_jars.RELEASES[request.param]
    yield from running(lambda: KafkaCluster(version, brokers=1, security="secure", properties=KEYED))


commands = lent(kafka_commands.KafkaCommands)
"""Provide Kafka's own tools of 4.3, all in one process."""


def test_tokens_are_those_that_kafkas_own_tool_sees(
    with_tokens: KafkaCluster, commands: kafka_commands.KafkaCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    """kac and Kafka's tool each create a token, and each renews and expires the other's token; both list the same
    tokens after each step.
    """
    kafka = with_tokens
    login = ("--command-config", str(kafka.client_properties()))

    def theirs(*words: str) -> kafka_commands.Ran:
        ran = commands.run(DELEGATION_TOKENS, ["--bootstrap-server", kafka.bootstrap, *login, *words])
        assert ran.code == 0, ran
        return ran

    def tool() -> dict[str, ToolToken]:
        lines = theirs("--describe", "--owner-principal", "User:admin").out.splitlines()
        head = next(place for place, line in enumerate(lines) if line.startswith("TOKENID"))
        found = (ToolToken(*line.replace(", ", ",").split()) for line in lines[head + 1 :] if line.strip())
        return {each.id: each for each in found}

    def kac(*words: str) -> str:
        code = cli.run(["tokens", "-b", kafka.bootstrap, *login, *words])
        written = capsys.readouterr()
        assert code == 0, written
        return written.out

    def ours() -> dict[str, dict[str, Any]]:
        listed = json.loads(kac("--list", "--owner-principal", "User:admin", "--output", "json"))
        return {each["id"]: each for each in listed["tokens"]}

    def both() -> dict[str, ToolToken]:
        """Wait until the broker has the last change, and return token id -> the token, which both tools must list
        equally.
        """
        while True:
            there, here = tool(), ours()
            if there.keys() == here.keys() and all(_same(there[each], here[each]) for each in there):
                return there

    def _same(told: ToolToken, found: dict[str, Any]) -> bool:
        renewers = told.renewers.strip("[]")
        names = (told.owner, told.requester, renewers) == (found["owner"], found["requester"], found["renewers"])
        return names and all(
            _minutes(getattr(told, each)) == _minutes(found[each]) for each in ("issued", "expires", "max_time")
        )

    before = both().keys()
    theirs("--create", "--max-life-time-period", "7200000", "--renewer-principal", "User:alice")
    (made_there,) = both().keys() - before
    kac("--create", "--lifetime", "3h", "--renewer-principal", "User:alice", "--yes")
    (made_here,) = both().keys() - before - {made_there}
    told = both()
    assert told[made_here].renewers == told[made_there].renewers == "[User:alice]"
    hmac = told[made_here].hmac
    until = told[made_here].expires
    theirs("--renew", "--renew-time-period", "600000", "--hmac", hmac)
    assert both()[made_here].expires != until
    until = both()[made_there].expires
    kac("--renew", "--token", made_there, "--period", "10min", "--yes")
    assert both()[made_there].expires != until
    theirs("--expire", "--expiry-time-period", "-1", "--hmac", hmac)
    kac("--expire", "--token", made_there, "--yes")
    assert both().keys() == before
    assert hmac not in kac("--list", "--output", "json")


def _minutes(text: str) -> datetime:
    """Return a time that Kafka's tool printed, which is in the host's time zone and without seconds, in UTC."""
    return datetime.fromisoformat(text).astimezone(UTC).replace(second=0, microsecond=0)


async def test_a_delegation_token_whose_time_is_over(short_sessions: KafkaCluster) -> None:
    sasl = await delegated(short_sessions, life_ms=4000)
    await wait_until_known(short_sessions, sasl)
    lines: list[str] = []
    async with linked(short_sessions, sasl) as link:

        async def is_over() -> bool:
            try:
                await describe_cluster(link)
            except errors.AuthenticationFailed as failed:
                lines.append(f"{failed.failure} | {failed.failure.remedy}")
            return "expired" in "".join(lines[-1:])

        await shortly(is_over)
    # In its last two seconds kac no longer uses the token; after that the broker refuses it.
    assert all(f"the SCRAM-SHA-256 credentials for {free_ports.LOOPBACK}" in line for line in lines[:-1])
    assert "The delegation token is wrong, expired or revoked" in lines[-1]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [20, pytest.param(600, marks=pytest.mark.long)])
@pytest.mark.timeout(1500)
@pytest.mark.takes(20)
def test_a_console_stays_on_its_connections(short_sessions: KafkaCluster, tmp_path: Path, seconds: float) -> None:
    """A console in a terminal that reads all the time keeps its connections, although each session on them ends several
    times.
    """
    file = tmp_path / "client.properties"
    file.touch(mode=0o600)
    client_id = f"sessions-{secrets.token_hex(4)}"
    file.write_text(f"{short_sessions.client_properties().read_text()}client.id={client_id}\n")
    command = [sys.executable, "-m", "console", "-b", short_sessions.bootstrap, "--command-config", str(file)]
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    with Terminal(command, cwd=ROOT, environment=environment, columns=120, rows=40) as terminal:
        terminal.wait_for("Topics")
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            terminal.send("r")
            terminal.read_for(1)
        terminal.send("q")
        terminal.read_for(1)
    asked = short_sessions.request_log.wait_for(1, "METADATA", client_id=client_id)
    last = short_sessions.request_log.read(client_id=client_id)
    assert len(asked) > seconds / 2
    # A connection to the bootstrap address, and one to the broker's advertised address.
    assert len({each.connection for each in last}) <= 2
    for word in ("AUTHENTICATION_FAILED", "DISCONNECTED", "UNREACHABLE", "Traceback"):
        assert word not in terminal.text
