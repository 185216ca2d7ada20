"""Tests of delegation tokens: list, create, renew and expire them. Only the operator sees a token's HMAC.

The embedded brokers give the answers of two real ones, one that is the controller and one that is not. Flight records
can't test this, because they have no answers that contain an HMAC.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace

import pytest
from kio.schema.errors import ErrorCode
from msgspec import structs

from console.admin.client import AdminClient
from console.admin.cluster import describe_cluster
from console.admin.errors import AuthenticationFailed
from console.admin.settings import ConnectionSettings, SaslSettings
from console.answers.plan_results import report_tables
from console.answers.results import to_data
from console.answers.triage import step_command
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.faults import Cut, Fail, Fault, Moment
from console.embedded.spec import ClusterSpec, SaslSpec
from console.embedded.tokens import PERIOD_MS, Token
from console.model.changes import Outcome, Status
from console.model.parts import FOR_EVENTS, Part
from console.model.secret import Secret
from console.model.tokens import TokenTarget
from console.plan.reconcile import ApplyOptions, ApplyReport
from console.plan.risks import effects
from console.session import event_reads, slow_polls, terminal_front, triage_polls
from console.session.session import Session
from console.triage.diagnosis import diagnose
from console.triage.events import Kind, differences
from console.triage.observations import begin
from tests.contract import tokens as contract
from tests.contract.answers import differences as differing
from tests.support import changing, kafka_cluster, kafka_jars, patience, real_clusters, staging, worlds

USERS = {"alice": Secret("a"), "bob": Secret("b"), "admin": Secret("c")}


@pytest.fixture(params=["4.4", "3.9"])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[EmbeddedCluster]:
    spec = ClusterSpec(
        brokers=1,
        versions=request.param,
        sasl=SaslSpec(plain=USERS),
        super_users=frozenset({"User:admin"}),
        authorizer=True,
    )
    async with EmbeddedCluster(spec) as made:
        yield made


@asynccontextmanager
async def session_of(cluster: EmbeddedCluster, user: str = "alice") -> AsyncIterator[Session]:
    login = SaslSettings("PLAIN", user, USERS[user])
    with worlds.session_on(
        ConnectionSettings(
            tuple(cluster.addresses.values()), security_protocol="SASL_PLAINTEXT", sasl=login, lost_answer_timeout=0.5
        )
    ) as session:
        yield session


async def applied(session: Session, text: str) -> ApplyReport:
    session.discard()  # an edit that failed before is still staged
    report = await staging.staged(session, text)
    assert report.added, report
    return await changing.apply_plan(session, ApplyOptions(risks=frozenset({"irreversible"})))


def outcome(report: ApplyReport) -> Outcome:
    (found,) = (outcome for result in report.results for outcome in result.outcomes)
    return found


async def test_a_tokens_life(cluster: EmbeddedCluster) -> None:
    async with session_of(cluster) as session:
        report = await applied(session, "token create renewers=User:bob lifetime=3d")
        (made,) = report.made
        (token,) = cluster.state.tokens.values()
        assert (token.id, token.owner, token.renewers) == (made.id, "User:alice", ("User:bob",))
        assert token.max_time - token.issued == 3 * 86_400_000
        assert made.secret.reveal() not in repr(report)
        await session.read_whole(Part.TOKENS)
        assert session.snapshot.tokens[token.id].expires == token.expires
        assert made.secret.reveal() not in repr(session.snapshot.tokens)
        assert outcome(await applied(session, f"token renew {token.id} for 1h")).status is Status.APPLIED
        assert token.expires - cluster.state.tokens[token.id].expires >= 82_000_000
        done = await applied(session, f"token expire {token.id} in 1h")
        assert outcome(done).status is Status.APPLIED
        assert outcome(await applied(session, f"token expire {token.id}")).status is Status.APPLIED
        assert cluster.state.tokens == {}
        refused = await staging.staged(session, f"token renew {token.id}")
        assert "there is no token" in str(refused.refused[0])


class Operator:
    """An operator whose terminal can answer questions, or not. All answers are empty."""

    keeps_secrets = True

    def __init__(self, answers: bool) -> None:
        self.answers = answers

    async def line(self, _prompt: str) -> str:
        return ""

    async def secret(self, _prompt: str) -> Secret:
        return Secret("")


@pytest.mark.parametrize("there", [True, False])
async def test_what_proves_a_token_is_shown_on_a_terminal_alone(
    cluster: EmbeddedCluster, there: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    async with session_of(cluster) as session:
        report = await applied(session, "token create")
        (made,) = report.made
        hmac = made.secret.reveal()
        terminal_front.TerminalFront("test", Operator(there), lambda _report: None, said.append).report(report)
        assert any(made.id in line for line in said)
        assert any(hmac in line for line in said) is there
        kept = (await session.journal()).path.parent
        written = b"".join(path.read_bytes() for path in kept.rglob("*") if path.is_file())
        assert b"CreateDelegationToken" in written
        assert hmac.encode() not in written
        assert hmac not in json.dumps([to_data(table) for table in report_tables(report, "applied")], default=str)
    assert hmac not in caplog.text


async def test_who_may(cluster: EmbeddedCluster) -> None:
    """A renewer may renew a token, and users who are neither its owner nor a renewer do not see it. A user needs a
    right to create a token for another owner.
    """
    async with session_of(cluster) as alice, session_of(cluster, "bob") as bob, session_of(cluster, "admin") as admin:
        (made,) = (await applied(alice, "token create renewers=User:bob")).made
        assert outcome(await applied(bob, f"token renew {made.id}")).status is Status.APPLIED
        (own,) = (await applied(alice, "token create")).made
        refused = await staging.staged(bob, f"token expire {own.id}")
        assert "may not be seen" in str(refused.refused[0])
        seen = outcome(await applied(admin, f"token expire {own.id}"))
        assert seen.failure is not None
        assert seen.failure.name == "DELEGATION_TOKEN_OWNER_MISMATCH"
        assert "Only the token's owner" in seen.failure.remedy
        other = outcome(await applied(bob, "token create owner=User:alice"))
        assert other.failure is not None
        assert other.failure.name == "DELEGATION_TOKEN_AUTHORIZATION_FAILED"
        assert outcome(await applied(admin, "token create owner=User:alice")).status is Status.APPLIED


async def test_a_lost_answer(cluster: EmbeddedCluster) -> None:
    """If the answer to a creation is lost, the outcome is unknown, because another token of the same owner would look
    the same. If the answer to an expiry is lost, the outcome is known, because the token no longer exists.
    """
    async with session_of(cluster) as session:
        cluster.faults.add(Fault(Cut(Moment.AFTER), "create_delegation_token", times=1))
        assert outcome(await applied(session, "token create")).status is Status.UNKNOWN
        (token,) = cluster.state.tokens.values()
        cluster.faults.add(Fault(Cut(Moment.AFTER), "expire_delegation_token", times=1))
        assert outcome(await applied(session, f"token expire {token.id}")).status is Status.APPLIED


async def test_without_a_login() -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=1)) as cluster:
        with worlds.session_on(ConnectionSettings(tuple(cluster.addresses.values()))) as session:
            refused = await staging.staged(session, "token create")
            assert "Ask for tokens over a connection with SASL or mTLS" in str(refused.refused[0])


@pytest.mark.parametrize("text", ["token create owner=alice", "token create renewers=User:,User:b"])
async def test_no_principals(cluster: EmbeddedCluster, text: str) -> None:
    async with session_of(cluster) as session:
        assert "is no principal" in str((await staging.staged(session, text)).refused[0])


async def test_tokens_are_watched_once_they_were_read(cluster: EmbeddedCluster) -> None:
    """kac reads tokens regularly only after the user has read them once: most clusters have no tokens, and brokers
    refuse this read to clients without a login.
    """
    token = Token("late", "User:alice", "User:alice", (), 0, 1 << 42, 1 << 43)
    async with session_of(cluster, "admin") as session:
        watching = asyncio.create_task(event_reads.EventReads(session, dict.fromkeys(FOR_EVENTS, 0.1)).run())
        try:
            await told(session, lambda: {"scram", "acls", "quotas"} <= session.snapshot.read_at.keys())
            assert "tokens" not in session.snapshot.read_at
            await session.read_whole(Part.TOKENS)
            before = session.snapshot
            cluster.state.tokens[token.id] = token
            await told(session, lambda: token.id in session.snapshot.tokens)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        (found,) = [each for each in differences(before, session.snapshot) if each.place.kind is Kind.TOKEN]
        assert (found.place.about, found.was, found.became) == (TokenTarget("late"), None, str(1 << 42))


async def test_when_an_ended_token_lets_nobody_in_any_more_is_forecast_as_brokers_do_it(
    cluster: EmbeddedCluster,
) -> None:
    async with session_of(cluster) as session:
        (made,) = (await applied(session, "token create")).made
        said = []
        for text in (f"token expire {made.id}", f"token expire {made.id} in 1ms"):
            session.discard()
            report = await staging.staged(session, text)
            (found,) = effects(report.added, session.snapshot).values()
            said += found
        assert "from now on" in said[0]
        assert "delegation.token.expiry.check.interval.ms" in said[1]
        delegated = SaslSettings("SCRAM-SHA-256", made.id, made.secret, options={"tokenauth": "true"})
        settings = structs.replace(session.context.settings, sasl=delegated)
        with AdminClient(settings) as client:
            assert (await client.run(describe_cluster)).cluster_id == cluster.state.cluster_id
        assert outcome(await applied(session, f"token expire {made.id} in 1ms")).status is Status.APPLIED
        with AdminClient(settings) as client, pytest.raises(AuthenticationFailed, match="are over"):
            await client.run(describe_cluster)
        assert outcome(await applied(session, f"token renew {made.id}")).status is Status.FAILED
        assert outcome(await applied(session, f"token expire {made.id}")).status is Status.APPLIED
        with (
            AdminClient(settings) as client,
            pytest.raises(AuthenticationFailed, match="refused the SCRAM-SHA-256 credentials"),
        ):
            await client.run(describe_cluster)


async def told(session: Session, holds: Callable[[], bool]) -> None:
    """Wait until a refresh of the session makes `holds` return true. Raises TimeoutError after `patience.PATIENCE`
    seconds.
    """
    come = asyncio.Event()
    session.subscribe(lambda _: come.set())
    async with asyncio.timeout(patience.PATIENCE):
        while not holds():
            await come.wait()
            come.clear()


async def test_triage_names_one_that_ends_where_it_may_see_it(cluster: EmbeddedCluster) -> None:
    async with session_of(cluster) as alice, session_of(cluster, "bob") as bob:
        (made,) = (await applied(alice, "token create")).made
        token = cluster.state.tokens[made.id]
        half_an_hour = 1_800_000
        cluster.state.tokens[made.id] = replace(
            token, issued=token.issued - PERIOD_MS + half_an_hour, expires=token.issued + half_an_hour
        )
        for session, seen in ((alice, [("token-expiring", "User:alice")]), (bob, [])):
            async with triage_polls.Poller(session) as poller:
                poll = await poller.poll(whole=True)
            found = (each.claim for each in diagnose(begin(poll)).causes)
            assert [(each.cause, each.subject.entity) for each in found if each.cause == "token-expiring"] == seen


async def test_triage_is_quiet_where_tokens_are_off(cluster: EmbeddedCluster) -> None:
    """If brokers have tokens turned off, as most do, triage reports no failed read. After the first poll each read of
    the tokens is one request.
    """
    cluster.faults.add(Fault(Fail(ErrorCode.delegation_token_auth_disabled), "describe_delegation_token"))
    async with session_of(cluster) as session, triage_polls.Poller(session) as poller:
        poll = await poller.poll(whole=True)
        assert [each for each in poll.snapshot.failures if each.part == "tokens"] == []
        assert "tokens" not in poll.unread
        read = slow_polls.SlowPolls(session).reads[Part.TOKENS]
        await read()
        await read()
    assert cluster.counters.total("describe_delegation_token").requests == 2


# -- on real brokers --------------------------------------------------------------------------------------------------


PASSWORDS = {user: Secret(f"password-of-{user}") for user in contract.USERS}

_LOGINS = " ".join(f'user_{user}="{password.reveal()}"' for user, password in PASSWORDS.items())

_MODULE = "org.apache.kafka.common.security"

PROPERTIES = {
    "delegation.token.secret.key": "x" * 32,
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{_MODULE}.plain.PlainLoginModule required {_LOGINS};",
    "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": f"{_MODULE}.scram.ScramLoginModule required;",
}


@pytest.fixture(scope="module", params=["4.4", pytest.param("3.9", marks=pytest.mark.long)])
def real(request: pytest.FixtureRequest) -> Iterator[kafka_cluster.KafkaCluster]:
    """Provide a real cluster of two brokers, one of which is also a controller. It has three users."""
    version = kafka_jars.RELEASES[request.param]
    yield from real_clusters.running(
        lambda: kafka_cluster.KafkaCluster(
            version, brokers=2, controllers=1, logins=True, allow_everyone=False, properties=PROPERTIES
        )
    )


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.takes(45)
def test_a_tokens_life_and_who_may_have_a_part_in_it(real: kafka_cluster.KafkaCluster) -> None:
    """Each of the owner, the requester, a renewer, a stranger and a client that logs in with the token can see, renew
    and expire the token as far as Kafka allows it, and no further.
    """
    spec = ClusterSpec(
        brokers=2,
        versions=next(name for name, version in kafka_jars.RELEASES.items() if version == real.version),
        proposals=False,
        sasl=SaslSpec(plain=PASSWORDS),
        super_users=frozenset({f"User:{contract.ADMIN}"}),
    )
    places = dict(zip(real.broker_ids, real.login_addresses, strict=True))
    with run_in_thread(spec) as embedded:
        for asked, other in ((1, 2), (2, 1)):
            told = []
            for addresses in (places, embedded.call(lambda each: each.addresses)):
                with closing(contract.Asking(addresses, PASSWORDS)) as asking:
                    contract.lives(asking, asked, other)
                    told.append(asking.answers)
            assert len(told[0]) > 200
            assert not list(differing(*told)), f"asked of broker {asked}"


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.takes(45)
async def test_triage_names_one_that_ends(real: kafka_cluster.KafkaCluster) -> None:
    login = SaslSettings("PLAIN", contract.ADMIN, PASSWORDS[contract.ADMIN])
    with worlds.session_on(ConnectionSettings(real.login_addresses, "SASL_PLAINTEXT", login), journal=False) as session:
        (made,) = (await _applied(session, "token create lifetime=8h")).made
        assert await _ending(session) == {}
        await _applied(session, f"token expire {made.id} in 5min")
        ((owner, command),) = (await _ending(session)).items()
        assert owner == f"User:{contract.ADMIN}"
        await _applied(session, command)
        assert await _ending(session) == {}
        await _applied(session, f"token expire {made.id}")


async def _applied(session: Session, text: str) -> ApplyReport:
    session.discard()
    assert (await staging.staged(session, text)).added
    report = await changing.apply_plan(session, ApplyOptions(risks=frozenset({"irreversible"})))
    assert all(outcome.ok for result in report.results for outcome in result.outcomes), report
    return report


async def _ending(session: Session) -> dict[str | None, str]:
    """Return owner -> the command of the first step, for the tokens that will expire soon, as a console that was just
    opened names them.
    """
    async with triage_polls.Poller(session) as poller:
        verdict = diagnose(begin(await poller.poll(whole=True)))
    claims = [each.claim for each in verdict.causes if each.claim.cause == "token-expiring"]
    return {each.subject.entity: step_command(each.next[0]) for each in claims}
