"""Records that are cut, joined, set back, or of a hostile cluster: a verdict of what is there, or a line that says why
there is none."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from console.admin.recorded import InstantLoop
from console.cli import main as cli
from console.embedded.brokers import run_in_thread
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.flight.anonymous import Anonymous
from console.flight.answer import HANDSHAKE, Answer, Header
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.flight.pseudonyms import Pseudonyms
from console.session.replay import Replay
from console.session.replay_diagnosis import ReplayDiagnosis
from tests.support.recorded_polls import watched


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few polls of a cluster, one of whose groups has a name with control characters."""
    file = tmp_path_factory.mktemp("record") / "a.flight"
    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        cluster.call(lambda c: c.state.put_topic(new_topic("orders", striped([1, 2, 3], 6, 3), [1, 2, 3])))
        cluster.run(lambda c: c.broker_down(3))
        asyncio.run(watched(cluster.bootstrap, file, 3, lambda _: None))
    return file


def answers(file: Path) -> list[Answer]:
    return list(FlightReader(file).answers())


def written(file: Path, *parts: list[Answer]) -> Path:
    """A file with these parts, one after the other."""
    for number, part in enumerate(parts):
        writer = FlightWriter(file, Header("", "hostile", part[0].at_ms, "0"), append=number > 0)
        for each in part:
            writer.add(each)
        writer.close()
    return file


def triaged(file: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = cli.run(["triage", "--replay", str(file)])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_cut_anywhere(record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of what is left there is a verdict, or a line says that nothing is."""
    data = record.read_bytes()
    chance = random.Random(1)
    for length in [0, 5, 11, *(chance.randrange(len(data)) for _ in range(8)), len(data) - 1]:
        cut = tmp_path / "cut.flight"
        cut.write_bytes(data[:length])
        code, out, err = triaged(cut, capsys)
        assert code in (0, 1, 4, 5)
        # That the file is damaged, and that nothing is in what is left.
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
    """Bodies with any bytes, counts of billions among them: that is said, and no longer than a moment is tried."""
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
    """A certificate that can't be read is none; the rest of the verdict is the same, and no name is left over."""
    found = answers(record)
    shook = found[-1]._replace(node=1, api_key=HANDSHAKE, version=0, request=b"\xffEXTERNAL", body=body, problem=None)
    _, plain, _ = triaged(record, capsys)
    code, out, err = triaged(written(tmp_path / "tls.flight", [*found, shook]), capsys)
    assert (code, out, err) == (4, plain, "")
    kept: list[Answer] = []
    sink = Anonymous(Kept(kept), Pseudonyms())
    sink.add(shook)
    assert not [each for each in kept if b"EXTERNAL" in each.request or each.host == shook.host]


class Kept:
    """A sink that is a list."""

    def __init__(self, kept: list[Answer]) -> None:
        self.add = kept.append

    def flush_changed(self) -> None:
        """Nothing waits."""

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""


def test_a_file_that_changes_while_it_is_replayed(record: Path, tmp_path: Path) -> None:
    """What was there when it was opened is replayed, whether the file grows, is cut or is replaced."""
    file = written(tmp_path / "changing.flight", answers(record))
    before = FlightReader(file)
    written_on = FlightWriter(file, Header("", "later", before.times[-1], "0"), append=True)
    written_on.add(before.answer(0)._replace(at_ms=before.times[-1] + 1000))
    written_on.close()
    assert len(FlightReader(file)) == len(before) + 1
    open_, whole = FlightReader(file), list(before.answers())
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
    """The later one is judged by its own brokers."""
    other = tmp_path / "other.flight"
    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        asyncio.run(watched(cluster.bootstrap, other, 2, lambda _: None))
    code, out, err = triaged(written(tmp_path / "both.flight", answers(record), answers(other)), capsys)
    assert code in (0, 4, 5), (out, err)


def test_names_with_control_characters_do_not_reach_the_terminal(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A host of the same length, so that the answers can still be read."""
    evil = [each._replace(body=each.body.replace(b"orders", b"o\x1b[2Js")) for each in answers(record)]
    _, out, err = triaged(written(tmp_path / "evil.flight", evil), capsys)
    assert "\x1b" not in out + err


def test_the_diagnosis_of_a_damaged_record_ends(record: Path, tmp_path: Path) -> None:
    """For the screen: whatever a record holds, its diagnosis ends, and says so."""
    wrong = [each._replace(body=each.body[: len(each.body) // 2]) for each in answers(record)]
    file = written(tmp_path / "half.flight", wrong)
    diagnosis = ReplayDiagnosis(Replay.of(FlightReader(file), file.name))
    diagnosis.start()
    diagnosis.close()
    assert diagnosis.ended


def test_a_record_opens_nothing(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket is opened for a replay: the cluster may be another by now."""
    import socket

    def refused(*_: object) -> None:
        raise AssertionError("a replay connects")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket.socket, "connect_ex", refused)

    async def work() -> int:
        replay = Replay.of(FlightReader(record), record.name)
        found = [poll async for poll in replay.polls(replay.times)]
        await replay.close()
        return len(found)

    with asyncio.Runner(loop_factory=InstantLoop) as runner:
        assert runner.run(work()) > 1
