"""What the flight record holds of real brokers: what they answered, and no credential, secret or record."""

from __future__ import annotations

from pathlib import Path

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings, SaslSettings, Store, TlsSettings
from console.contexts import Context
from console.flight.anonymous import Anonymous, Pseudonyms
from console.flight.answer import HANDSHAKE, Answer, Header
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.flight.tap import RECORDED, Tap
from console.model.changes import AlterConfigs, AlterScram, ConfigOp, CreateTopics, NewTopic, ScramUser
from console.model.codes import DELETE, SET, ScramMechanism
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource
from console.model.secret import Secret
from console.session.reading import read_everything
from console.session.session import Session
from console.session.triage_polls import Poller
from console.wire.schemas import api_name
from tests.support.changing import applied
from tests.support.kafka_cluster import KafkaCluster

SECRET = "swordfish-that-nobody-may-see"
KEYS: dict[ConfigResource, str] = {
    broker_resource(1): "listener.name.x.ssl.keystore.password",
    CLUSTER_DEFAULT: "acme.vault.token",
}
"""A sensitive key of Kafka's, and one that brokers do not know: both are sensitive to them."""


async def test_no_secret_of_a_cluster_is_in_its_record(secure_cluster: KafkaCluster, name: str, tmp_path: Path) -> None:
    password = secure_cluster.users["admin"]
    settings = ConnectionSettings(
        bootstrap=secure_cluster.addresses,
        security_protocol="SASL_SSL",
        sasl=SaslSettings("PLAIN", "admin", Secret(password)),
        tls=TlsSettings(trust=Store("PEM", path=secure_cluster.authority.pem)),
    )
    kept: list[Answer] = []
    user = ScramUser(name, ScramMechanism(1))
    with AdminClient(settings, Tap(kept.append)) as client:

        async def send(request: object) -> None:
            assert await client.run(applied, request)

        for resource, key in KEYS.items():
            await send(AlterConfigs({resource: (ConfigOp(key, SET, SECRET),)}, 1 if resource.name else None))
        await send(AlterScram({user: (4096, Secret(SECRET))}))
        await send(CreateTopics((NewTopic(name, 2, 2),)))
        try:
            session = Session(client, Context("secure", "", settings))
            await read_everything(session)
            async with Poller(session) as poller:
                await poller.poll(whole=True)
                await poller.poll(whole=True)
        finally:
            for resource, key in KEYS.items():
                await send(AlterConfigs({resource: (ConfigOp(key, DELETE),)}, 1 if resource.name else None))
            await send(AlterScram({}, (user,)))
    plain, anonymous = tmp_path / "plain", tmp_path / "anonymous"
    header = Header(session.snapshot.cluster.cluster_id or "", "secure", kept[0].at_ms, "0.1.0")
    names = Pseudonyms()
    writer = FlightWriter(plain, header)
    nameless = Anonymous(FlightWriter(anonymous, names.header(header)), names)
    for sink in (writer, nameless):
        for answer in kept:
            sink.add(answer)
        sink.close()
    assert nameless.dropped == 0
    assert any(answer.api_key == HANDSHAKE for answer in kept)
    apis = {api_name(answer.api_key) for answer in kept if answer.api_key != HANDSHAKE}
    assert {"metadata", "describe_configs", "describe_acls", "describe_quorum", "describe_log_dirs"} <= apis <= RECORDED
    shown, hidden = _bytes(plain), _bytes(anonymous)
    for key in KEYS.values():
        assert key.encode() in shown  # the keys are there, and have no values
    assert name.encode() in shown
    for secret in (SECRET, password, *secure_cluster.users.values()):
        assert secret.encode() not in shown
        assert secret.encode() not in hidden
    hosts = [host for host, _ in secure_cluster.addresses if len(host) >= 4]
    for original in (name, "acme.vault", header.cluster_id, *hosts, *secure_cluster.users, "/tmp/"):
        assert original.encode() not in hidden or len(original) < 4, original


def _bytes(path: Path) -> bytes:
    """The file, and all that is in it."""
    reader = FlightReader(path)
    assert not reader.damage
    parts = [path.read_bytes()]
    for answer in reader.answers():
        problem = "" if answer.problem is None else " ".join(answer.problem)
        parts += [answer.host.encode(), answer.request, answer.body, problem.encode()]
    return b"\n".join(parts)
