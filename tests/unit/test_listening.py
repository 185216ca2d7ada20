"""Tests of the metrics for Prometheus: valid text for any names in a cluster, and which requests get an answer."""

import asyncio
import re
import shutil
import socket
import subprocess
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.answers import metrics
from console.answers.metrics import Health, metrics_text
from console.model.cluster import GroupLag, LogDir, PartitionLag, ReplicaSizes
from console.model.failure import Failure
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot, trends_after
from console.model.time_lag import Behind
from console.telling import listening as serving
from console.telling.listening import Address, address, listening
from console.telling.voice import Voice
from console.triage.cause import Claim, Evidence
from console.triage.diagnosis import Named, Verdict
from console.triage.symptoms import Subject
from tests.support.patience import until

AT = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)
SAMPLE = re.compile(r'(kac_\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (-?\d+(?:\.\d+)?)')
DISKS = ("replica_bytes", "total_bytes", "usable_bytes", "failed")
HERE = Address("127.0.0.1", 0)


def named(group: str) -> Named:
    claim = Claim(
        cause="consumer-slow",
        subject=Subject(group=group),
        severity=Severity.HIGH,
        certainty=Certainty.CERTAIN,
        evidence=(Evidence("seen", "x"),),
        title="x",
    )
    return Named(claim, {})


def snapshot(*groups: str) -> Snapshot:
    lags = {name: GroupLag((PartitionLag("orders", 0, 1, 8, 7 + n),)) for n, name in enumerate(groups)}
    return Snapshot(lags=lags, lag_trends=trends_after({}, lags, AT))


def samples(text: str) -> Counter[tuple[str, str]]:
    """Parse a text of metrics, and return (name, labels) -> how often it occurs. Raises AssertionError if a line is not
    valid.
    """
    found = []
    for line in text.splitlines():
        if not line.startswith("# "):
            match = SAMPLE.fullmatch(line)
            assert match is not None, line
            found.append((match[1], match[2] or ""))
    return Counter(found)


@given(st.lists(st.text(max_size=20), unique=True, max_size=6), st.text(max_size=10))
def test_hostile_names_make_no_other_lines_and_no_sample_twice(groups: list[str], receiver: str) -> None:
    verdict = Verdict(AT, tuple(map(named, groups)), (), ())
    health = Health(polls=3, receivers={receiver: {"delivered": 1}})
    text = metrics_text(verdict, snapshot(*groups), health)
    found = samples(text)
    assert set(found.values()) == {1}
    assert not set(text) & {"\x00", "\x1b", "\r"}
    assert text.endswith("\n")


def test_samples_are_one_for_names_that_look_the_same_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    long = ["g" * 400 + end for end in "ab"]
    text = metrics_text(Verdict(AT, (), (), ()), snapshot(*long))
    (line,) = (each for each in text.splitlines() if each.startswith("kac_group_lag_records"))
    assert line.endswith("} 8")  # the higher one
    monkeypatch.setattr(metrics, "MOST", 3)
    text = metrics_text(Verdict(AT, (), (), ()), snapshot(*(f"g{n}" for n in range(10))))
    kept = [each for each in text.splitlines() if each.startswith("kac_group_lag_records")]
    assert {each.split()[-1] for each in kept} == {"16", "15", "14"}
    assert 'kac_truncated{metric="kac_group_lag_records"} 7' in text


def test_metrics_of_a_family_keep_the_same_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST", 3)
    of = snapshot(*(f"g{n}" for n in range(10)))
    # The groups with the fewest records are the furthest behind; for one of them the time is a lower bound.
    trends = {
        group: replace(trend, behind={("orders", 0): Behind(100.0 - n, n == 1)})
        for n, (group, trend) in enumerate(of.lag_trends.items())
    }
    text = metrics_text(Verdict(AT, (), (), ()), replace(of, lag_trends=trends))
    for name in ("kac_group_lag_records", "kac_group_lag_seconds", "kac_group_lag_seconds_exact"):
        kept = {labels for metric, labels in samples(text) if metric == name}
        assert kept == {f'group="g{n}",topic="orders"' for n in range(3)}
        assert f'kac_truncated{{metric="{name}"}} 7' in text


def test_the_fullest_disks_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST", 2)
    dirs = {n: (LogDir("/d", ReplicaSizes(), 100 << n, (100 - 10 * n) << n),) for n in range(5)}
    dirs[9] = (LogDir("/d", ReplicaSizes(), failure=Failure("KAFKA_STORAGE_ERROR", "an error")),)
    text = metrics_text(Verdict(AT, (), (), ()), Snapshot(log_dirs=dirs))
    kept = {name: {labels for metric, labels in samples(text) if metric == f"kac_disk_{name}"} for name in DISKS}
    fullest, failed = 'broker="4",dir="/d"', 'broker="9",dir="/d"'
    assert kept == {
        "replica_bytes": {fullest},
        "total_bytes": {fullest},
        "usable_bytes": {fullest},
        "failed": {fullest, failed},
    }


def test_an_unknown_lag_is_not_zero_and_a_lost_cluster_has_no_old_values() -> None:
    def lines(*lags: int) -> list[str]:
        found = {"g": GroupLag(tuple(PartitionLag("orders", n, 1, 8, lag) for n, lag in enumerate(lags)))}
        text = metrics_text(Verdict(AT, (), (), ()), Snapshot(lags=found, lag_trends=trends_after({}, found, AT)))
        return [each for each in text.splitlines() if each.startswith("kac_group_lag")]

    assert lines(-1, -1) == []
    assert lines(-1, 7) == ['kac_group_lag_records{group="g",topic="orders"} 7']
    text = metrics_text(None, snapshot("g"), Health(polls=3, failed=1))
    assert "kac_triage_up 0" in text
    assert "kac_polls_failed_total 1" in text
    assert "group" not in text
    assert "kac_triage_healthy" not in text


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_accepts_the_metrics() -> None:
    verdict = Verdict(AT, (named('a"\\\n'),), (), ())
    text = metrics_text(verdict, snapshot('a"\\\n'), Health(receivers={"chat": {"delivered": 1}}))
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


async def asked(port: int, request: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode("latin-1"))
    try:
        return (await reader.read()).decode()
    except ConnectionError:
        return ""
    finally:
        writer.close()


async def text() -> str:
    return "kac_triage_up 1\n"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9108\r\n\r\n", "200 OK"),
        ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200 OK"),
        ("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "200 OK"),
        ("GET /metrics HTTP/1.1\r\nhost: [::1]:9108\r\n\r\n", "200 OK"),
        ("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403 Forbidden"),
        ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.evil.example:9108\r\n\r\n", "403 Forbidden"),
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "404 Not Found"),
        ("POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", "405 Method Not Allowed"),
        ("\x16\x03\x01\r\n\r\n", "405 Method Not Allowed"),
    ],
)
async def test_who_is_answered(request_: str, status: str) -> None:
    async with listening(HERE, text) as at:
        answer = await asked(at.port, request_)
    head, _, body = answer.partition("\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status}\r\n")
    assert f"Content-Length: {len(body)}\r\n" in head + "\r\n"
    assert (body == await text()) == (status == "200 OK")


async def test_a_head_has_no_body() -> None:
    async with listening(HERE, text) as at:
        answer = await asked(at.port, "HEAD /metrics HTTP/1.1\r\n\r\n")
    assert answer.startswith("HTTP/1.1 200 OK")
    assert answer.endswith("\r\n\r\n")
    assert f"Content-Length: {len(await text())}\r\n" in answer


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001"])
async def test_loopback_is_that_of_the_socket_however_it_is_spelt(host: str) -> None:
    async with listening(address(f"{host}:0"), text) as at:
        assert "403 Forbidden" in await asked(at.port, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        assert "200 OK" in await asked(at.port, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert "200 OK" in await asked(at.port, f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n")


async def test_clients_that_do_not_read_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SECONDS", 2.0)

    async def long() -> str:
        return "x" * (8 << 20)

    def descriptors() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    clients = [socket.socket() for _ in range(serving.MOST_CONNECTIONS)]
    loop = asyncio.get_running_loop()
    async with listening(HERE, long) as at:
        before = descriptors()
        for each in clients:
            each.setblocking(False)
            await loop.sock_connect(each, ("127.0.0.1", at.port))
            await loop.sock_sendall(each, b"GET /metrics HTTP/1.1\r\n\r\n")
        await asyncio.to_thread(until, lambda: descriptors() >= before + len(clients), rest=0.01)
        await asyncio.to_thread(until, lambda: descriptors() <= before)
    for each in clients:
        each.close()


async def test_the_metrics_are_made_once_for_each_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[Health]()

    def slow(_: object, __: object, health: Health) -> str:
        made.append(health)
        return metrics_text(None, None, health)

    monkeypatch.setattr("console.telling.voice.metrics_text", slow)
    voice = Voice("prod")
    assert len(set(await asyncio.gather(*(voice.metrics() for _ in range(10))))) == 1
    voice.lost("no broker answers", AT)
    assert "kac_polls_failed_total 1" in await voice.metrics()
    assert [each.polls for each in made] == [0, 1]


async def test_what_never_ends_is_cut_off_and_others_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SECONDS", 0.3)
    async with listening(HERE, text) as at:
        assert await asked(at.port, "GET /metrics HTTP/1.1\r\nX: " + "x" * (1 << 20)) == ""
        slow = [asyncio.create_task(asked(at.port, "GET /met")) for _ in range(serving.MOST_CONNECTIONS + 5)]
        assert set(await asyncio.gather(*slow)) == {""}
        assert "200 OK" in await asked(at.port, "GET /metrics HTTP/1.1\r\n\r\n")


def test_addresses() -> None:
    assert address("127.0.0.1:9108") == ("127.0.0.1", 9108)
    assert address("[::1]:9108") == ("::1", 9108)
    assert str(address("[::1]:9108")) == "[::1]:9108"
    assert [address(each).is_loopback for each in ("localhost:1", "127.9.9.9:1", "[::1]:1", "127.1:1")] == [True] * 4
    assert [address(each).is_loopback for each in ("0.0.0.0:1", "[::]:1", "kafka-1:1", "10.0.0.1:1")] == [False] * 4
    for wrong in ("9108", ":9108", "localhost", "localhost:70000", "::1:9108", "a b:1", "127.0.0.1:٣"):
        with pytest.raises(ValueError, match="HOST:PORT"):
            address(wrong)
