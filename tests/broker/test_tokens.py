"""Delegation tokens over SASL: a broker that is the controller and one that is not answer as the embedded ones do; and
triage names one that ends. No flight record has that: their answers have what proves tokens, and are in none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings, SaslSettings
from console.answers.triage import step_command
from console.contexts.context import Context
from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec, SaslSpec
from console.model.secret import Secret
from console.plan.reconcile import ApplyOptions, ApplyReport
from console.session.session import Session
from console.session.triage_polls import Poller
from console.triage.diagnosis import diagnose
from console.triage.observations import begin
from tests.contract import tokens as contract
from tests.contract.answers import differences
from tests.support.applied import apply_plan
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import RELEASES
from tests.support.real_clusters import running
from tests.support.staging import staged

pytestmark = [pytest.mark.slow, pytest.mark.takes(45)]

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
def real(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """Two brokers that know three users, of which one is a controller."""
    version = RELEASES[request.param]
    yield from running(
        lambda: KafkaCluster(
            version, brokers=2, controllers=1, logins=True, allow_everyone=False, properties=PROPERTIES
        )
    )


def test_a_tokens_life_and_who_may_have_a_part_in_it(real: KafkaCluster) -> None:
    """Made, seen, renewed and ended by its owner, by who asked for it, by a renewer, by a stranger, and by a client
    that it let in."""
    spec = ClusterSpec(
        brokers=2,
        versions=next(name for name, version in RELEASES.items() if version == real.version),
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
            assert not list(differences(*told)), f"asked of broker {asked}"


async def test_triage_names_one_that_ends(real: KafkaCluster) -> None:
    login = SaslSettings("PLAIN", contract.ADMIN, PASSWORDS[contract.ADMIN])
    settings = ConnectionSettings(real.login_addresses, "SASL_PLAINTEXT", login)
    with AdminClient(settings) as client:
        session = Session(client, Context("test", "tests", settings, journal=False), "test")
        (made,) = (await _applied(session, "token create lifetime=8h")).made_tokens
        assert await _ending(session) == {}
        await _applied(session, f"token expire {made.id} in 5min")
        ((owner, command),) = (await _ending(session)).items()
        assert owner == f"User:{contract.ADMIN}"
        await _applied(session, command)
        assert await _ending(session) == {}
        await _applied(session, f"token expire {made.id}")


async def _applied(session: Session, text: str) -> ApplyReport:
    session.discard()
    assert (await staged(session, text)).added
    report = await apply_plan(session, ApplyOptions(risks=frozenset({"irreversible"})))
    assert all(outcome.ok for result in report.results for outcome in result.outcomes), report
    return report


async def _ending(session: Session) -> dict[str | None, str]:
    """The owners of tokens that are named, and the first step that mends it, as a console sees it that was just
    opened."""
    async with Poller(session) as poller:
        verdict = diagnose(begin(await poller.poll(whole=True)))
    claims = [each.claim for each in verdict.causes if each.claim.cause == "token-expiring"]
    return {each.subject.entity: step_command(each.next[0]) for each in claims}
