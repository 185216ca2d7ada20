"""Tests of `kac triage` on an embedded cluster, and on flight records of it."""

import argparse
import asyncio
import json
import random
import ssl
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from console.admin import connections, partitions
from console.admin.client import AdminClient
from console.admin.recorded import InstantLoop
from console.admin.settings import ConnectionSettings, SaslSettings
from console.cli import main as cli
from console.cli.triage import GOES_ON, tell_changes, watch_verdicts
from console.contexts.context import Context, parse_bootstrap
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.faults import Fault, Throttle
from console.embedded.partition_log import PartitionLog
from console.embedded.record_batch import produced_batch
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec, SaslSpec
from console.flight import anonymous, flight_reader, flight_writer, pseudonyms
from console.flight.answer import HANDSHAKE, Answer, Header
from console.model.certificates import Listener
from console.model.changes import FeatureTarget, MoveTarget
from console.model.cluster import GroupLag, PartitionLag
from console.model.config import topic_resource
from console.model.lag_trend import trend_after
from console.model.observed_logs import LogOffsets
from console.model.parts import Part
from console.model.secret import Secret
from console.session import replay_diagnosis, slow_polls, snapshot_reader, triage_polls
from console.session.replay import Replay
from console.session.session import Session
from console.session.triage_polls import Poller
from console.triage.diagnosis import Verdict
from console.triage.observations import after, begin
from console.triage.symptoms import Subject
from tests.embedded.record_batches import batch
from tests.support import paces, patience, recorded_polls, worlds
from tests.support.certificates import Authority
from tests.support.triage_watch import bootstrap, found, watching

cluster = worlds.cluster(ClusterSpec(brokers=1), worlds.topic("orders", 1, 1))
WATCH = argparse.Namespace(watch=True, seconds=20.0, output="json", expect=[], prometheus=None)


async def test_a_cluster_that_goes_and_comes(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[dict[str, Any]] = []

    async def until(what: str, at_least: int) -> None:
        async with asyncio.timeout(patience.PATIENCE):
            while len(lines) < at_least or not lines[-1][what]:
                lines.extend(json.loads(each) for each in capsys.readouterr().out.splitlines())
                await asyncio.sleep(0.05)

    async with worlds.poller_on(cluster) as poller:
        watching = asyncio.create_task(watch_verdicts(poller, WATCH))
        try:
            await until("at", 1)
            cluster.run(lambda running: running.broker_down(1))
            await until("lost", 2)
            lost = len(lines)
            cluster.run(lambda running: running.broker_up(1))
            await until("at", lost + 1)
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
    assert len({frozenset(line) for line in lines}) == 1
    assert [line["lost"] is None for line in lines if line is not lines[lost - 1]] == [True] * (len(lines) - 1)
    assert lines[lost - 1]["lost"].startswith("no broker answers: ")
    assert not lines[lost - 1]["healthy"]
    assert {line["v"] for line in lines} == {1}


async def test_a_login_that_is_refused_later_is_no_broker_that_does_not_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REFUSAL_SECONDS", 0.0)
    users, said = {"kac": Secret("right")}, ""

    async def until(what: str) -> None:
        nonlocal said
        async with asyncio.timeout(patience.PATIENCE):
            while what not in said:
                said += capsys.readouterr().out
                await asyncio.sleep(0.05)

    with run_in_thread(
        ClusterSpec(brokers=1, super_users=frozenset({"User:kac"}), sasl=SaslSpec(plain=users))
    ) as cluster:
        sasl = SaslSettings(mechanism="PLAIN", username="kac", password=Secret("right"))
        async with worlds.poller_on(
            ConnectionSettings(parse_bootstrap(cluster.bootstrap), security_protocol="SASL_PLAINTEXT", sasl=sasl)
        ) as poller:
            lines = argparse.Namespace(**{**vars(WATCH), "output": "text"})
            watching = asyncio.create_task(watch_verdicts(poller, lines))
            try:
                await until("healthy")
                cluster.run(lambda running: running.broker_down(1))
                await until("no broker answers: ")
                users["kac"] = Secret("another")
                cluster.run(lambda running: running.broker_up(1))
                await until("the brokers refuse the login: AUTHENTICATION_FAILED: ")
                await until(GOES_ON)
                users["kac"] = Secret("right")
                await until("brokers answer again")
            finally:
                watching.cancel()
                with suppress(asyncio.CancelledError):
                    await watching
    assert said.count("no broker answers: ") == 1


def test_it_is_not_healthy_before_all_was_read(capsys: pytest.CaptureFixture[str]) -> None:
    at = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)
    unread, read = Verdict(at, (), (), (), (), ("configs",)), Verdict(at, (), (), ())
    told = tell_changes(unread, None, "text")
    assert [line[10:] for line in capsys.readouterr().out.splitlines()] == ["+  unknown: configs"]
    told = tell_changes(read, told, "text")
    assert [line[10:] for line in capsys.readouterr().out.splitlines()] == ["healthy", "-  unknown: configs"]
    assert tell_changes(read, told, "text") == told
    assert not capsys.readouterr().out


# -- Records that are cut, joined or damaged, or of a hostile cluster --------------------------------------------------


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide the path of a flight record of a few polls of a cluster with a broker that is down."""
    file = tmp_path_factory.mktemp("record") / "a.flight"
    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        cluster.call(lambda c: c.state.put_topic(new_topic("orders", striped([1, 2, 3], 6, 3), [1, 2, 3])))
        cluster.run(lambda c: c.broker_down(3))
        asyncio.run(recorded_polls.watched(cluster.bootstrap, file, 3, lambda _: None))
    return file


def answers(file: Path) -> list[Answer]:
    return list(flight_reader.FlightReader(file).answers())


def written(file: Path, *parts: list[Answer]) -> Path:
    """Write a file of several records' answers, one after the other; return its path."""
    for number, part in enumerate(parts):
        writer = flight_writer.FlightWriter(file, Header("", "hostile", part[0].at_ms, "0"), append=number > 0)
        for each in part:
            writer.add(each)
        writer.close()
    return file


def triaged(file: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = cli.run(["triage", "--replay", str(file)])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_cut_anywhere(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever a record is cut off, its beginning gives a verdict, or a line says that it is empty."""
    data = record.read_bytes()
    chance = random.Random(1)
    for length in [0, 5, 11, *(chance.randrange(len(data)) for _ in range(8)), len(data) - 1]:
        cut = tmp_path / "cut.flight"
        cut.write_bytes(data[:length])
        code, out, err = triaged(cut, capsys)
        assert code in (0, 1, 4, 5)
        # One line for the damage, and one for an empty rest.
        assert out or 1 <= err.count("\n") <= 2, length
        assert "Traceback" not in err


def test_bytes_that_were_changed(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = record.read_bytes()
    chance = random.Random(2)
    for _ in range(8):
        changed = bytearray(data)
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        file = tmp_path / "changed.flight"
        file.write_bytes(changed)
        code, out, err = triaged(file, capsys)
        assert (code in (0, 4, 5) and out) or (code == 1 and err)


def test_answers_of_no_sense(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Answers of arbitrary bytes, also with counts of billions, are reported, and quickly."""
    chance = random.Random(3)
    for number, body in enumerate((b"", b"\x7f\xff\xff\xff" * 8, chance.randbytes(300))):
        wrong = [each._replace(body=body) if each.body and each.request else each for each in answers(record)]
        code, _, err = triaged(written(tmp_path / f"{number}.flight", wrong), capsys)
        assert code in (0, 1, 4, 5)
        assert "Traceback" not in err


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1,2,3,4]", b'["a","b",0,9223372036854775807]', b'["a","b",-9223372036854775808,0]', b"\xff" * 99],
)
def test_handshakes_of_no_sense(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], body: bytes) -> None:
    """A recorded certificate that can't be parsed counts as no certificate; the rest of the verdict stays, and an
    anonymized record keeps no name from it.
    """
    found = answers(record)
    shook = found[-1]._replace(node=1, api_key=HANDSHAKE, version=0, request=b"\xffEXTERNAL", body=body, problem=None)
    _, plain, _ = triaged(record, capsys)
    code, out, err = triaged(written(tmp_path / "tls.flight", [*found, shook]), capsys)
    assert (code, out, err) == (4, plain, "")
    kept: list[Answer] = []
    sink = anonymous.Anonymous(Kept(kept), pseudonyms.Pseudonyms())
    sink.add(shook)
    assert not [each for each in kept if b"EXTERNAL" in each.request or each.host == shook.host]


class Kept:
    """A sink for answers that appends them to a list."""

    def __init__(self, kept: list[Answer]) -> None:
        self.add = kept.append

    def flush_changed(self) -> None:
        """Do nothing, because no answers are buffered."""

    def flush(self) -> None:
        """Do nothing, because no answers are buffered."""

    def close(self) -> None:
        """Do nothing, because nothing is open."""


def test_a_file_that_changes_while_it_is_replayed(record: Path, tmp_path: Path) -> None:
    """A replay shows the answers of the file as it was when opened, even if the file then grows, is cut or is
    replaced.
    """
    file = written(tmp_path / "changing.flight", answers(record))
    before = flight_reader.FlightReader(file)
    written_on = flight_writer.FlightWriter(file, Header("", "later", before.times[-1], "0"), append=True)
    written_on.add(before.answer(0)._replace(at_ms=before.times[-1] + 1000))
    written_on.close()
    assert len(flight_reader.FlightReader(file)) == len(before) + 1
    open_, whole = flight_reader.FlightReader(file), list(before.answers())
    file.write_bytes(b"")
    assert list(open_.answers())[: len(whole)] == whole
    file.unlink()
    assert len(list(open_.answers())) == len(before) + 1


def test_the_clock_was_set_back_between_two_parts(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = answers(record)
    earlier = [each._replace(at_ms=each.at_ms - 3_600_000) for each in first]
    code, out, _ = triaged(written(tmp_path / "back.flight", first, earlier), capsys)
    assert code in (4, 5)
    assert "broker 3" in out


def test_two_clusters_in_a_file(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If a record has the answers of two clusters one after the other, the later cluster's verdict only depends on its
    own brokers.
    """
    other = tmp_path / "other.flight"
    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        asyncio.run(recorded_polls.watched(cluster.bootstrap, other, 2, lambda _: None))
    code, out, err = triaged(written(tmp_path / "both.flight", answers(record), answers(other)), capsys)
    assert code in (0, 4, 5), (out, err)


def test_names_with_control_characters_do_not_reach_the_terminal(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control characters in a record's names are escaped in the output. The test's new names have the same length, so
    that the answers can still be decoded.
    """
    evil = [each._replace(body=each.body.replace(b"orders", b"o\x1b[2Js")) for each in answers(record)]
    _, out, err = triaged(written(tmp_path / "evil.flight", evil), capsys)
    assert "\x1b" not in out + err


def test_the_diagnosis_of_a_damaged_record_ends(record: Path, tmp_path: Path) -> None:
    """The diagnosis of a record with cut answers ends, and its `ended` is true."""
    wrong = [each._replace(body=each.body[: len(each.body) // 2]) for each in answers(record)]
    file = written(tmp_path / "half.flight", wrong)
    diagnosis = replay_diagnosis.ReplayDiagnosis(Replay.of(flight_reader.FlightReader(file), file.name))
    diagnosis.start()
    diagnosis.close()
    assert diagnosis.ended


def test_a_record_opens_nothing(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay opens no socket, because another cluster may now be at the addresses."""
    import socket

    def refused(*_: object) -> None:
        raise AssertionError("a replay connects")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket.socket, "connect_ex", refused)

    async def work() -> int:
        replay = Replay.of(flight_reader.FlightReader(record), record.name)
        found = [poll async for poll in replay.polls(replay.times)]
        await replay.close()
        return len(found)

    with asyncio.Runner(loop_factory=InstantLoop) as runner:
        assert runner.run(work()) > 1


# -- If brokers throttle the console, it says so, and does not call them healthy by earlier reads ----------------------

throttling_cluster = worlds.cluster(ClusterSpec(brokers=1), worlds.topic("orders", 1, 1))
HERE = Subject(entity="this console")


async def test_by_how_much_it_is_throttled(throttling_cluster: ThreadedCluster) -> None:
    addresses = throttling_cluster.call(lambda running: running.addresses)
    async with watching(bootstrap(addresses.values())) as it:
        verdict = await it.until(lambda verdict: verdict.is_healthy, "all parts")
        assert found(verdict, "console-throttled", HERE) is None
        throttling_cluster.call(lambda running: running.faults.add(Fault(Throttle(0.4))))
        named = await it.names("console-throttled", HERE)
        assert "ms of each second" in named.claim.evidence[0].fact
        assert it.verdict is not None
        assert not it.verdict.is_healthy
        assert not any(each.edits for each in named.claim.next)


# -- Among many configs, triage reads those of a new symptom at once, and the others later -----------------------------

# Replication 3, so that a missing broker affects only one topic.
limited_cluster = worlds.cluster(ClusterSpec(brokers=3), worlds.topic("orders", 1, 3), worlds.topic("audit", 1, 1))
ORDERS_TOPIC, AUDIT = topic_resource("orders"), topic_resource("audit")
KEY = "max.message.bytes"


def limited(running: EmbeddedCluster) -> None:
    """Set the same config of both topics as another client would."""
    for each in (ORDERS_TOPIC, AUDIT):
        running.state.alter_config(each, {KEY: "2000"})


async def test_what_a_new_symptom_depends_on_is_read_at_once(
    limited_cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triage_polls, "FEW_CONFIGS", 1)
    monkeypatch.setattr(triage_polls, "MANY_SECONDS", 3_600.0)
    with worlds.session_on(limited_cluster, "console") as session:
        async with Poller(session) as poller:
            observations = begin(await poller.poll(whole=True))
            poller.follow(observations)
            limited_cluster.call(limited)
            # not the broker of the topic with one replica
            (one,) = session.snapshot.topics["audit"].partitions[0].replicas
            away = 3 if one != 3 else 2
            limited_cluster.run(lambda running: running.broker_down(away))
            async with asyncio.timeout(patience.PATIENCE):
                while (entry := session.snapshot.configs[ORDERS_TOPIC].get(KEY)) is None or entry.value != "2000":
                    await poller.rest()
                    observations = after(observations, await poller.poll())
                    poller.follow(observations)
            other = session.snapshot.configs[AUDIT].get(KEY)
            assert other is None or other.value != "2000"


def grown(running: EmbeddedCluster) -> None:
    """Write a record with each of the timestamps 1 to 9 s after 1970 to partition 0 of orders."""
    values = produced_batch(batch(*[b"x"] * 9, times=[1_000 * each for each in range(1, 10)]))
    running.state.logs.setdefault(("orders", 0), PartitionLog()).append(values, 0)


async def test_the_ends_of_a_log_at_former_times_are_those_of_its_records(limited_cluster: ThreadedCluster) -> None:
    place = ("orders", 0)
    with worlds.session_on(limited_cluster, "console") as session:
        await session.read_whole(Part.TOPICS)
        limited_cluster.call(grown)
        led = {session.snapshot.topics["orders"].partitions[0].leader: [place]}
        found = await session.client.run(partitions.offsets_at, led, [500, 4_500, 9_000, 20_000])
        assert found == {place: {500: 0, 4_500: 4, 9_000: 8, 20_000: -1}}
        log = LogOffsets(0, 9, 9)
        assert slow_polls.former_of(log, 20.0, found[place]).ends == ((4.5, 4), (9.0, 8), (20.0, 9))
        slow, trend = slow_polls.SlowPolls(session), None
        slow.keep_logs({place: log})
        for tick in range(5):
            row = PartitionLag(*place, 1, 100 * tick, max(0, 100 * tick - 1), "m")
            trend = trend_after(trend, GroupLag((row,)), 1_000.0 + 5 * tick)
        assert trend is not None
        lagging = {"g": trend}
        session.learn(lambda snapshot, _: replace(snapshot, lags={"g": lagging["g"].last.lag}, lag_trends=lagging))
        await slow._read_logs()
        (former,) = slow.facts.former.values()
        assert [end for _, end in former.ends] == [9] * len(slow_polls.FORMER)
        session.learn(lambda snapshot, _: replace(snapshot, lags={}, lag_trends={}))
        await slow._read_logs()
        assert not slow.facts.former


# -- Reads of listeners' certificates: new listeners at once, unreachable ones after a minute --------------------------

T = TypeVar("T")


class Asked:
    """A client that keeps the listeners that each request for certificates names."""

    def __init__(self, client: AdminClient) -> None:
        self._client = client
        self.listeners: list[list[int]] = []

    async def run(self, operation: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> T:
        if operation.__name__ == "shown_certificates":
            self.listeners.append([each.port for each in args[0]])
        return await self._client.run(operation, *args, **options)


class Hand:
    """A clock whose time a test sets."""

    seconds = 0.0

    def clock(self) -> snapshot_reader.Clock:
        """Return the clock for a session."""
        return snapshot_reader.Clock(
            lambda: datetime.now(UTC) + timedelta(seconds=self.seconds), lambda: time.monotonic() + self.seconds
        )


async def test_a_listener_that_was_not_reached_is_asked_again_after_a_minute(tmp_path: Path) -> None:
    """kac asks a listener that does not answer with TLS again after a minute, and a listener that answers with a
    certificate only after an hour.
    """
    authority = Authority(tmp_path)
    secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    secure.load_cert_chain(str(authority.issue("broker", "127.0.0.1", left=timedelta(days=1)).pem))
    hand = Hand()
    with run_in_thread(ClusterSpec(brokers=2)) as cluster:
        settings = worlds.settings(cluster)
        with AdminClient(settings) as client:
            asked = Asked(client)
            context = Context("test", "tests", replace(settings, security_protocol="SSL"))
            session = Session(asked, context, clock=hand.clock())
            await session.read_cluster()
            plain, other = sorted(each.port for each in session.snapshot.cluster.brokers)
            polls = slow_polls.SlowPolls(session)
            read = polls.reads[Part.CERTIFICATES]

            await read()
            await read()
            assert [sorted(each) for each in asked.listeners] == [[plain, other]]
            assert polls.facts.certificates == ()

            hand.seconds += slow_polls.UNREACHED_AGAIN - 5
            await read()
            assert len(asked.listeners) == 1
            hand.seconds += 10
            await read()
            assert len(asked.listeners) == 2

        # Let the first broker's listener answer with TLS, at another address: kac asks it again only after an hour.
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=secure)
        async with server:
            port = server.sockets[0].getsockname()[1]
            with AdminClient(settings) as client:
                asked = Asked(client)
                session = Session(asked, context, clock=hand.clock())
                await session.read_cluster()
                brokers = session.snapshot.cluster.brokers
                cluster_info = replace(
                    session.snapshot.cluster, brokers=(replace(brokers[0], host="127.0.0.1", port=port), brokers[1])
                )
                polls = slow_polls.SlowPolls(_Elsewhere(session, cluster_info))  # type: ignore[arg-type]
                read = polls.reads[Part.CERTIFICATES]
                await read()
                assert [each.listener for each in polls.facts.certificates] == [
                    Listener(brokers[0].id, "127.0.0.1", port)
                ]
                hand.seconds += slow_polls.UNREACHED_AGAIN + 5
                await read()
                assert asked.listeners[1:] == [[brokers[1].port]]
                assert len(polls.facts.certificates) == 1
                hand.seconds += slow_polls.CERTIFICATES_AGAIN
                await read()
                assert sorted(asked.listeners[2]) == sorted([port, brokers[1].port])
                polls.forget_certificates({brokers[0].id})  # it answers again
                await read()
                assert asked.listeners[3:] == [[port]]


class _Elsewhere:
    """A session whose snapshot says that the first broker has another address."""

    def __init__(self, session: Session, cluster: Any) -> None:
        self._session, self._cluster = session, cluster

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    @property
    def snapshot(self) -> Any:
        """The session's snapshot with the other address."""
        return replace(self._session.snapshot, cluster=self._cluster)


# -- If this host reverts a setting of another client, triage never offers the value again -----------------------------

ORDERS = topic_resource("orders")
TAKEN_BACK, BAD = "max.message.bytes", "2000"

watched_cluster = worlds.cluster(ClusterSpec(brokers=1), worlds.topic("orders", 1, 1))


async def test_what_was_taken_back_here_is_known(
    watched_cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    paces.poll_often(monkeypatch, 0.2, Part.CONFIGS)
    addresses = watched_cluster.call(lambda running: running.addresses)
    async with watching(bootstrap(addresses.values()), journal=True) as it:

        def value() -> str | None:
            known = it.observations and it.observations.last.snapshot.configs.get(ORDERS)
            entry = known.get(TAKEN_BACK) if known else None
            return entry.value if entry is not None else None

        await it.until(lambda _: value() is not None, "configs")
        watched_cluster.call(lambda running: running.state.alter_config(ORDERS, {TAKEN_BACK: BAD}))
        await it.until(lambda _: value() == BAD, "the change")
        await it.poll_times(4)  # triage searches authors each second
        assert not it.facts.taken_back
        command = f"unset topic orders {TAKEN_BACK}; apply --yes"
        assert await asyncio.to_thread(cli.run, ["run", "-b", watched_cluster.bootstrap, "-e", command]) == 0
        await it.until(lambda _: it.facts.taken_back == {(ORDERS, TAKEN_BACK, BAD)}, "what was taken back")
        watched_cluster.call(lambda running: running.state.alter_config(ORDERS, {TAKEN_BACK: BAD}))
        await it.until(lambda _: value() == BAD, "the change, again")
        await it.until(lambda _: not it.facts.taken_back, "somebody else set it again")


# -- Triage knows who changed an ACL, if this host's journal has the change --------------------------------------------

TAKEN = worlds.acl("User:app", "WRITE", "TOPIC", "orders", permission="DENY")


async def test_who_added_and_removed_an_acl(monkeypatch: pytest.MonkeyPatch) -> None:
    paces.poll_often(monkeypatch, 0.2, Part.ACLS)  # instead of every ten seconds, for which the test would wait
    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        cluster.call(lambda running: running.state.put_topic(new_topic("orders", striped([1], 1, 1), [1])))
        addresses = cluster.call(lambda running: running.addresses)
        async with watching(bootstrap(addresses.values()), journal=True) as it:
            await it.until(
                lambda _: it.observations is not None and "acls" in it.observations.last.snapshot.read_at, "ACLs"
            )
            for number, verb in enumerate(("deny", "revoke deny"), 1):
                command = f"{verb} User:app WRITE on topic orders; apply --yes --accept first-acl"
                assert await asyncio.to_thread(cli.run, ["run", "-b", cluster.bootstrap, "-e", command]) == 0
                key = TAKEN, "", "present" if verb == "deny" else None
                await it.until(lambda _, key=key: key in it.facts.authors, f"who did `{verb}`")
                assert it.facts.authors[key].number == number
            assert len(it.facts.authors) == 2


async def test_who_moved_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    paces.poll_often(monkeypatch, 0.2, Part.REASSIGNMENTS)
    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        cluster.call(lambda running: running.state.put_topic(new_topic("orders", striped([1, 2], 1, 2), [1, 2])))
        addresses = cluster.call(lambda running: running.addresses)
        async with watching(bootstrap(addresses.values()), journal=True) as it:
            await it.until(
                lambda _: it.observations is not None and "reassignments" in it.observations.last.snapshot.read_at,
                "reassignments",
            )
            command = "move topic orders partition 0 to 1,3; apply --yes"
            assert await asyncio.to_thread(cli.run, ["run", "-b", cluster.bootstrap, "-e", command]) == 0
            key = MoveTarget("orders", 0), "", "1,3"
            await it.until(lambda _: key in it.facts.authors, "who moved it")
            assert it.facts.authors[key].number == 1


async def test_a_lower_level_of_a_feature_is_a_change(
    watched_cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a feature level is lowered, triage names the change: it reads the levels together with the brokers'
    versions.
    """
    paces.poll_often(monkeypatch, 0.2, Part.VERSIONS)
    addresses = watched_cluster.call(lambda running: running.addresses)
    assert watched_cluster.call(lambda running: running.state.features["group.version"]) == 1
    async with watching(bootstrap(addresses.values())) as it:
        await it.until(lambda _: bool(it.observations and it.observations.last.snapshot.versions), "versions")
        watched_cluster.call(lambda running: running.state.set_feature("group.version", 0))

        def changes() -> list[tuple[object, str | None, str | None]]:
            judged = it.observations.past.judged if it.observations is not None else ()
            return [(each.place.about, each.was, each.became) for each in judged]

        await it.until(lambda _: changes() == [(FeatureTarget("group.version"), "1", None)], "the change")
