"""Tests of `kac record`: the content of the file, also after kac was killed. A record of real brokers has their
answers, and contains no credential, secret or record of a topic.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from console.admin.client import AdminClient
from console.admin.cluster import silence
from console.admin.settings import ConnectionSettings, SaslSettings, Store, TlsSettings
from console.cli import main as cli
from console.contexts import Context
from console.contexts.context import parse_bootstrap
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.spec import ClusterSpec
from console.flight import flight_writer, kafka_words, pseudonyms
from console.flight.anonymous import Anonymous
from console.flight.answer import CONNECTED, HANDSHAKE, Answer, Header, RecordError
from console.flight.flight_reader import FlightReader
from console.flight.tap import RECORDED, Tap
from console.model import changes, config
from console.model.codes import DELETE, SET, ScramMechanism
from console.model.secret import Secret
from console.session.reading import read_everything
from console.session.session import Session
from console.session.triage_polls import Poller
from console.wire.frames import decode_body, decode_request
from console.wire.schemas import api_name, messages
from tests.support import changing, children, kafka_cluster, patience, record_harmless_configs, worlds

cluster = worlds.cluster(ClusterSpec(scenario="incident"), scope="module")


def record(cluster: ThreadedCluster, file: Path, *arguments: str) -> int:
    return cli.run(["record", "-b", cluster.bootstrap, str(file), "--every", "1s", "--for", "3s", *arguments])


async def answers_of(cluster: ThreadedCluster, polls: int = 1) -> list[Answer]:
    """Return all answers that brokers give to a session that reads everything once and then polls the whole cluster
    `polls` times.
    """
    kept: list[Answer] = []
    settings = ConnectionSettings(parse_bootstrap(cluster.bootstrap))
    with AdminClient(settings, Tap(kept.append)) as client:
        session = Session(client, Context("incident", "", settings))
        await read_everything(session)
        async with Poller(session) as poller:
            for _ in range(polls):
                await poller.poll(whole=True)
    return kept


def decoded(answer: Answer) -> Iterator[Any]:
    """Yield the decoded request and response of an answer. Skip the first request of a connection, and a missing
    response.
    """
    kafka = messages(answer.api_key, answer.version)
    assert kafka is not None
    if (answer.api_key, answer.version) != (18, CONNECTED):
        yield decode_request(kafka.request, answer.request)
    if answer.problem is None:
        yield decode_body(kafka.response, answer.body)


def texts(entity: Any) -> Iterator[str]:
    """Yield all strings in a decoded message, at any depth."""
    if isinstance(entity, str):
        yield entity
    elif isinstance(entity, tuple):
        for each in entity:
            yield from texts(each)
    elif is_dataclass(entity):
        for field in fields(entity):
            yield from texts(getattr(entity, field.name))


def test_the_file_has_the_answers_of_the_allowed_apis(
    cluster: ThreadedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "incident.kacflight"
    assert record(cluster, file) == 0
    assert f"into {file}: 0:00:0" in capsys.readouterr().out
    reader = FlightReader(file)
    assert (reader.damage, reader.header.anonymous) == ("", False)
    assert reader.header.cluster_id == cluster.call(lambda c: c.state.cluster_id)
    apis = {api_name(answer.api_key) for answer in reader.answers()}
    assert {"metadata", "describe_cluster", "describe_quorum", "describe_log_dirs", "list_groups"} <= apis <= RECORDED
    for answer in reader.answers():
        assert list(decoded(answer))
    brokers = {answer.node for answer in reader.answers() if (answer.api_key, answer.version) == (18, CONNECTED)}
    assert brokers >= set(cluster.call(lambda c: c.state.alive()))


def test_a_broker_that_goes_down_is_in_the_record(tmp_path: Path) -> None:
    file = tmp_path / "record"
    with run_in_thread(ClusterSpec()) as running:
        running.run(lambda c: c.broker_down(2))
        assert record(running, file) == 0
        running.run(lambda c: c.broker_up(2))
        assert record(running, file, "--append") == 0
    reader = FlightReader(file)
    assert len(reader.headers) == 2
    cluster_answers = [a for a in reader.answers() if api_name(a.api_key) == "describe_cluster" and a.problem is None]
    fenced = [{b.broker_id for b in response.brokers if b.is_fenced} for *_, response in map(decoded, cluster_answers)]
    assert fenced[0] == {2}
    assert fenced[-1] == set()


def test_no_answer_is_recorded_as_such(tmp_path: Path) -> None:
    kept: list[Answer] = []

    async def ask(bootstrap: str, stop: Callable[[], None]) -> None:
        settings = ConnectionSettings(parse_bootstrap(bootstrap), request_timeout=2.0, connect_timeout=1.0)
        with AdminClient(settings, Tap(kept.append)) as client:
            session = Session(client, Context("c", "", settings))
            await session.client.run(silence, 5.0)
            stop()
            assert (await session.client.run(silence, 1.0)).brokers == {3}

    import asyncio

    with run_in_thread(ClusterSpec()) as running:
        asyncio.run(ask(running.bootstrap, lambda: running.run(lambda c: c.broker_down(3))))
    last = [answer for answer in kept if answer.node == 3][-1]
    assert last.problem is not None
    assert (last.api_key, last.version, last.body) == (18, CONNECTED, b"")
    assert last.problem.name == "UNREACHABLE"
    assert [answer.problem for answer in kept if answer.node == 1][-1] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((), "is there already"), (("--append",), "is no flight record")],
)
def test_another_file_is_left_alone(
    cluster: ThreadedCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    words: str,
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    assert record(cluster, file, *arguments) == 2
    assert words in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_an_anonymous_record_is_not_appended_to(
    cluster: ThreadedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "record"
    flight_writer.FlightWriter(file, Header(anonymous=True)).close()
    assert record(cluster, file, "--append") == 2
    assert "is anonymous" in capsys.readouterr().err


def _known_words() -> set[str]:
    """Return the words that Kafka itself defines: states, types, and the names of its configs."""
    return kafka_words.VALUES.union(*record_harmless_configs.definitions().values())


def test_all_names_of_kafkas_configs_stay() -> None:
    names = pseudonyms.Pseudonyms(b"key")
    assert {name for name in _known_words() - kafka_words.VALUES if names.config_key(name) != name} == set()
    assert names.config_key("listener.name.inner.ssl.keystore.type").startswith("listener.name.n")
    assert names.config_key("listener.name.inner.ssl.keystore.type").endswith(".ssl.keystore.type")
    assert "acme" not in names.config_key("acme.retention.ms")


HOSTILE = (
    "salaries-of-the-board",
    "User:erika.mustermann",
    "reads-salaries",
    "10.11.12.13",
    "/data/acme-corp",
    "münster",
)


async def test_no_name_is_left_in_an_anonymous_record(tmp_path: Path) -> None:
    from console.embedded.replicas import new_topic
    from console.model.config import topic_resource

    def fill(c: Any) -> None:
        c.state.put_topic(new_topic(HOSTILE[0], [(1, 2, 3)] * 3, [1, 2, 3]))
        c.state.alter_config(topic_resource(HOSTILE[0]), {"cleanup.policy": "compact", "retention.ms": "4242"})
        c.state.add_acl(worlds.acl(HOSTILE[1], "READ", "GROUP", HOSTILE[2], pattern="PREFIXED", host=HOSTILE[3]))

    with run_in_thread(ClusterSpec(scenario="incident")) as running:
        running.call(fill)
        plain = await answers_of(running, polls=2)
    cluster_id = "cluster-of-acme"
    file = tmp_path / "record"
    names = pseudonyms.Pseudonyms()
    header = Header(cluster_id, "prod-of-acme", plain[0].at_ms, "0.1.0")
    sink = Anonymous(flight_writer.FlightWriter(file, names.header(header)), names)
    for answer in plain:
        sink.add(answer)
    sink.close()
    assert sink.dropped == 0

    original = {cluster_id, "prod-of-acme", *(answer.host for answer in plain)}
    for answer in plain:
        for message in decoded(answer):
            original |= set(texts(message))
    assert set(HOSTILE[:4]) <= original
    known = "\n".join(_known_words())  # defaults such as "scope" are parts of names of configs
    secret = {text for text in original if len(text) >= 4 and text not in known and not _is_value(text)}
    assert len(secret) > 50
    reader = FlightReader(file)
    found = list(reader.answers())
    assert len(found) == len(plain)
    everything = b"\n".join(
        [file.read_bytes(), *(part for a in found for part in (a.host.encode(), a.request, a.body))]
    )
    assert [text for text in secret if text.encode() in everything] == []
    for answer in found:  # kac can still decode the answers
        assert list(decoded(answer)) is not None


def _is_value(text: str) -> bool:
    """Return whether a text is a number or a list of Kafka's own words."""
    try:
        float(text)
    except ValueError:
        return all(part in kafka_words.VALUES for part in text.split(","))
    return True


async def test_a_name_has_the_same_pseudonym_everywhere(cluster: ThreadedCluster) -> None:
    kept: list[Answer] = []

    class Sink:
        add = staticmethod(kept.append)

        def flush_changed(self) -> None: ...

        def flush(self) -> None: ...

        def close(self) -> None: ...

    names = pseudonyms.Pseudonyms()
    sink = Anonymous(Sink(), names)
    for answer in await answers_of(cluster):
        sink.add(answer)
    of_api: dict[str, set[str]] = {}
    for answer in kept:
        of_api.setdefault(api_name(answer.api_key) or "", set()).update(*map(texts, decoded(answer)))
    topic = names.name("checkout.orders")
    assert {api for api, found in of_api.items() if topic in found} >= {
        "metadata",
        "describe_log_dirs",
        "describe_configs",
    }
    assert pseudonyms.Pseudonyms().name("checkout.orders") != topic


def test_a_killed_record_is_whole(cluster: ThreadedCluster, tmp_path: Path) -> None:
    for attempt in range(3):
        file = tmp_path / f"record-{attempt}"
        command = [sys.executable, "-m", "console", "record", "-b", cluster.bootstrap, str(file), "--every", "1s"]
        with children.Child(command, env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])}) as process:
            wanted, until, seen = 11 + 20 * attempt, time.monotonic() + patience.PATIENCE, 0
            while seen < wanted:
                assert time.monotonic() < until
                assert process.poll() is None
                time.sleep(0.01)
                with suppress(OSError, RecordError):  # the file does not exist yet, or has no header
                    seen = len(FlightReader(file))
            process.kill()
        reader = FlightReader(file)
        assert not reader.damage
        assert len(list(reader.answers())) == len(reader) >= seen > 10  # all that was in the file before the kill
        assert record(cluster, file, "--append") == 0
        again = FlightReader(file)
        assert (len(again.headers), again.damage) == (2, "")
        assert len(list(again.answers())) > len(reader)


def test_ctrl_c_ends_a_record_with_a_whole_file(cluster: ThreadedCluster, tmp_path: Path) -> None:
    file = tmp_path / "record"
    command = [sys.executable, "-m", "console", "record", "-b", cluster.bootstrap, str(file), "--every", "1s"]
    with children.Child(
        command,
        env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until, seen = time.monotonic() + patience.PATIENCE, 0
        while seen < 20:
            assert time.monotonic() < until
            time.sleep(0.01)
            with suppress(OSError, RecordError):  # the file does not exist yet
                seen = len(FlightReader(file))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=patience.PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert " samples, " in out
    assert not FlightReader(file).damage


def test_a_signal_has_a_watching_triage_write_its_last_half_hour(cluster: ThreadedCluster, tmp_path: Path) -> None:
    environ = {
        **os.environ,
        "PYTHONPATH": str(Path(cli.__file__).parents[2]),
        "XDG_STATE_HOME": str(tmp_path),
        "PYTHONUNBUFFERED": "1",
    }
    command = [sys.executable, "-m", "console", "triage", "-b", cluster.bootstrap, "--watch"]
    with children.Child(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()  # triage has begun to watch
        process.send_signal(signal.SIGUSR1)
        for line in process.stdout:
            if "kac replay" in line:
                break
        process.send_signal(signal.SIGINT)
        process.wait(patience.PATIENCE)
    (file,) = (tmp_path / "kac" / "records").iterdir()
    assert str(file) in line
    found = {api_name(answer.api_key) for answer in FlightReader(file).answers()}
    assert found >= {"metadata", "describe_cluster", "api_versions"}  # the poll of the printed verdict


# -- on real brokers --------------------------------------------------------------------------------------------------


SECRET = "swordfish-that-nobody-may-see"

KEYS: dict[config.ConfigResource, str] = {
    config.broker_resource(1): "listener.name.x.ssl.keystore.password",
    config.CLUSTER_DEFAULT: "acme.vault.token",
}
"""Two config keys that brokers treat as sensitive: a sensitive key of Kafka, and a key that brokers do not know."""


async def test_no_secret_of_a_cluster_is_in_its_record(
    secure_cluster: kafka_cluster.KafkaCluster, name: str, tmp_path: Path
) -> None:
    password = secure_cluster.users["admin"]
    settings = ConnectionSettings(
        bootstrap=secure_cluster.addresses,
        security_protocol="SASL_SSL",
        sasl=SaslSettings("PLAIN", "admin", Secret(password)),
        tls=TlsSettings(trust=Store("PEM", path=secure_cluster.authority.pem)),
    )
    kept: list[Answer] = []
    user = changes.ScramUser(name, ScramMechanism(1))
    with AdminClient(settings, Tap(kept.append)) as client:

        async def send(request: object) -> None:
            assert await client.run(changing.applied, request)

        for resource, key in KEYS.items():
            await send(
                changes.AlterConfigs({resource: (changes.ConfigOp(key, SET, SECRET),)}, 1 if resource.name else None)
            )
        await send(changes.AlterScram({user: (4096, Secret(SECRET))}))
        await send(changes.CreateTopics((changes.NewTopic(name, 2, 2),)))
        try:
            session = Session(client, Context("secure", "", settings))
            await read_everything(session)
            async with Poller(session) as poller:
                await poller.poll(whole=True)
                await poller.poll(whole=True)
        finally:
            for resource, key in KEYS.items():
                await send(
                    changes.AlterConfigs({resource: (changes.ConfigOp(key, DELETE),)}, 1 if resource.name else None)
                )
            await send(changes.AlterScram({}, (user,)))
    plain, anonymous = tmp_path / "plain", tmp_path / "anonymous"
    header = Header(session.snapshot.cluster.cluster_id or "", "secure", kept[0].at_ms, "0.1.0")
    names = pseudonyms.Pseudonyms()
    writer = flight_writer.FlightWriter(plain, header)
    nameless = Anonymous(flight_writer.FlightWriter(anonymous, names.header(header)), names)
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
        assert key.encode() in shown  # the record has the keys, without values
    assert name.encode() in shown
    for secret in (SECRET, password, *secure_cluster.users.values()):
        assert secret.encode() not in shown
        assert secret.encode() not in hidden
    hosts = [host for host, _ in secure_cluster.addresses if len(host) >= 4]
    for original in (name, "acme.vault", header.cluster_id, *hosts, *secure_cluster.users, "/tmp/"):
        assert original.encode() not in hidden or len(original) < 4, original


def _bytes(path: Path) -> bytes:
    """Return the bytes of a flight record file, then the host, request, body and problem of each answer in it,
    decompressed. Raises AssertionError if the file is damaged.
    """
    reader = FlightReader(path)
    assert not reader.damage
    parts = [path.read_bytes()]
    for answer in reader.answers():
        problem = "" if answer.problem is None else " ".join(answer.problem)
        parts += [answer.host.encode(), answer.request, answer.body, problem.encode()]
    return b"\n".join(parts)
