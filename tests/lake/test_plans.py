"""Tests of the new data of each source: the data between two offsets are read exactly once, whatever happens to the
files meanwhile.
"""

import gzip
import json
import pickle
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from console.lake import kraft, landing, plans
from console.lake.inputs import Inputs, Journals, MetadataLog, RequestLog, UnreadableInput
from console.lake.lake import Lake
from console.lake.plans import Polls as PollsSource
from console.lake.schema import TABLES, arrow_schema
from tests.lake.request_lines import log_of, produce
from tests.support.metadata_log import SNAPSHOT_FOOTER, SNAPSHOT_HEADER, batch, control, value

CLUSTER = "5L6g3nShT-eMCtK--X86sw"


class Reading:
    """Reads a source as Spark does, with its offsets as JSON, and keeps the rows of all batches."""

    def __init__(self, source: plans.Source) -> None:
        self.source = source
        self.at = source.initial()
        self.rows: list[dict[str, Any]] = []

    def go_on(self, between: Callable[[], object] = lambda: None) -> int:
        """Read the new rows twice, and return their number. Raises AssertionError if the two reads differ, or if they
        have more rows than the plan says. between: called between planning and reading.
        """
        self.source.committed(self.at)
        end = json.loads(json.dumps(self.source.newest(self.at)))
        assert (self.source.newest(self.at) == self.at) == (end == self.at), "nothing new is the same offset"
        between()
        first, second = (self._read(end) for _ in range(2))
        assert first == second
        assert bool(first) <= (end != self.at)
        most = self.source.most_rows(self.at, end)
        assert most is not None
        assert sum(row["quarantined"] is None for row in first) <= most
        self.rows += first
        self.at = end
        return len(first)

    def _read(self, end: Any) -> list[dict[str, Any]]:
        schema = arrow_schema(TABLES[self.source.table])
        parts, at_a_task = self.source.parts(self.at, end), pickle.loads(pickle.dumps(self.source))
        batches = [each for part in parts for each in at_a_task.read(part)]
        assert all(each.schema == schema for each in batches)
        return [row for each in batches for row in each.to_pylist()]

    @property
    def bad(self) -> list[dict[str, Any]]:
        return [row["quarantined"] for row in self.rows if row["quarantined"] is not None]


def settings(lake: Lake, **inputs: Any) -> plans.Settings:
    return plans.Settings(lake.where, Inputs(**inputs), lake.path("hmac.key"))


@pytest.mark.parametrize("name", plans.SOURCES)
def test_where_nothing_is_there_is_nothing_new(lake: Lake, name: str) -> None:
    source = plans.SOURCES[name](settings(lake))
    start = source.initial()
    assert source.newest(start) == start
    assert list(source.parts(start, start)) == []
    source.committed(start)


@pytest.mark.parametrize("name", plans.SOURCES)
def test_a_source_without_a_checkpoint_begins_where_bronze_ends(lake: Lake, name: str) -> None:
    known = {"read": {"x": 1}, "parts": []}
    assert plans.SOURCES[name](plans.Settings(lake.where, Inputs(), "", begin={name: known})).initial() == known
    assert plans.SOURCES[name](plans.Settings(lake.where, Inputs(), "", begin={"another": known})).initial() != known


# -- metadata logs -----------------------------------------------------------------------------------------------------


class Controller:
    """Writes the metadata log of a controller, which grows in segments, with damage and snapshots."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / kraft.LOG_FOLDER
        self.folder.mkdir(parents=True)
        (folder / "meta.properties").write_text(f"cluster.id={CLUSTER}\n")
        self.next = 0
        self.written: list[int] = []
        self.damaged = 0
        self.roll()

    def roll(self) -> None:
        self.live = self.folder / f"{self.next:020}.log"
        self.live.touch()

    def write(self, records: int = 1) -> None:
        values = [value("FeatureLevelRecord", name=f"f{self.next + n}", featureLevel=1) for n in range(records)]
        self._append(batch(self.next, values))
        self.written += range(self.next, self.next + records)
        self.next += records

    def damage(self) -> None:
        whole = bytearray(batch(self.next, [value("FeatureLevelRecord", name="lost", featureLevel=1)]))
        whole[-1] ^= 0xFF
        self._append(bytes(whole))
        self.next += 1
        self.damaged += 1

    def half(self) -> None:
        """Append only the beginning of a batch, as while a controller is writing it."""
        self._append(batch(self.next, [value("FeatureLevelRecord", name="half", featureLevel=1)])[:30])

    def snapshot(self) -> None:
        """Write a snapshot that ends at the present offset, as a controller does before it deletes older segments."""
        data = control(0, SNAPSHOT_HEADER) + batch(1, [value("FeatureLevelRecord", name="f", featureLevel=1)])
        (self.folder / f"{self.next:020}-0000000001.checkpoint").write_bytes(data + control(2, SNAPSHOT_FOOTER))

    def _append(self, data: bytes) -> None:
        with self.live.open("ab") as file:
            file.write(data)


def log_of_controllers(lake: Lake, *folders: Path) -> Reading:
    logs = tuple(MetadataLog(str(folder / kraft.LOG_FOLDER), CLUSTER) for folder in folders)
    return Reading(plans.MetadataLogs(settings(lake, metadata_logs=logs)))


def offsets(reading: Reading) -> list[int]:
    return [row["log_offset"] for row in reading.rows if row["quarantined"] is None and not row["in_snapshot"]]


@pytest.mark.parametrize("seed", range(12))
def test_each_record_and_each_damage_of_a_metadata_log_is_read_once(lake: Lake, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    log = Controller(tmp_path / "c")
    reading = log_of_controllers(lake, tmp_path / "c")
    log.write()
    for _ in range(12):
        for _ in range(chance.randrange(3)):
            chance.choice([log.write, lambda: log.write(5), log.damage, log.roll])()
        reading.go_on()
    log.write()  # damage at the very end is reported once it can't be a batch that is being written
    reading.go_on()
    assert offsets(reading) == log.written
    places = [(row["file"], row["byte_pos"]) for row in reading.bad]
    assert len(places) == len(set(places))
    assert bool(places) == bool(log.damaged)
    assert reading.go_on() == 0


def test_the_key_goes_to_the_tasks(lake: Lake, tmp_path: Path) -> None:
    """A pickled source contains the HMAC key itself, because Spark's tasks may run on hosts without the key file."""
    log = Controller(tmp_path / "c")
    source = log_of_controllers(lake, tmp_path / "c").source
    log.write()
    end = source.newest(source.initial())
    (part,) = source.parts(source.initial(), end)
    task = pickle.loads(pickle.dumps(source))
    Path(lake.path("hmac.key")).unlink()
    assert sum(each.num_rows for each in task.read(part)) == len(log.written)


def test_damage_that_is_told_stops_nobody_later(lake: Lake, tmp_path: Path) -> None:
    """If an earlier read reported damage, a later read does not report it again, and does not count the records
    before its first offset as new.
    """
    log = Controller(tmp_path / "c")
    reading = log_of_controllers(lake, tmp_path / "c")
    for _ in range(4):
        log.write()
        log.damage()
    log.write()
    reading.go_on()
    assert len(reading.bad) == 4
    for _ in range(120):
        log.write()
    assert reading.go_on() == 120


def test_a_damaged_end_is_told_once_and_a_half_one_is_awaited(lake: Lake, tmp_path: Path) -> None:
    log = Controller(tmp_path / "c")
    reading = log_of_controllers(lake, tmp_path / "c")
    log.write(3)
    log.damage()
    assert reading.go_on() == 4
    assert len(reading.bad) == 1
    assert reading.go_on() == 0
    log.write(2)
    assert reading.go_on() == 2
    log.half()
    assert reading.go_on() == 0
    assert (len(reading.bad), offsets(reading)) == (1, log.written)


def test_too_much_damage_is_refused_until_it_is_allowed(lake: Lake, tmp_path: Path) -> None:
    log = Controller(tmp_path / "c")
    for _ in range(98):
        log.write()
    for _ in range(2):
        log.damage()
        log.write()
    source = log_of_controllers(lake, tmp_path / "c").source
    end = source.newest(source.initial())
    with pytest.raises(
        plans.TooMuchIsBad, match=rf"2 of 102 batches of the metadata log of {CLUSTER} can't be read: 2\.0%"
    ):
        source.parts(source.initial(), end)
    allowed = plans.Settings(lake.where, source._settings.inputs, lake.path("hmac.key"), 0.02)  # type: ignore[attr-defined]
    reading = Reading(plans.MetadataLogs(allowed))
    assert reading.go_on() == 102


def test_a_log_whose_beginning_was_deleted_goes_on_from_its_snapshot(lake: Lake, tmp_path: Path) -> None:
    log = Controller(tmp_path / "c")
    log.write(4)
    first = log.live
    log.snapshot()
    log.roll()
    log.write(2)
    first.unlink()
    reading = log_of_controllers(lake, tmp_path / "c")
    reading.go_on()
    assert offsets(reading) == [4, 5]
    assert [row["log_offset"] for row in reading.rows if row["in_snapshot"]] == [4]
    log.write()
    assert reading.go_on() == 1


def test_what_was_written_after_a_plan_is_of_the_next(lake: Lake, tmp_path: Path) -> None:
    log = Controller(tmp_path / "c")
    log.write(2)
    reading = log_of_controllers(lake, tmp_path / "c")

    def more() -> None:
        log.write(3)
        log.damage()
        log.write()

    assert reading.go_on(more) == 2
    assert reading.go_on() == 5
    assert (offsets(reading), len(reading.bad)) == (log.written, 1)


def test_two_controllers_of_a_cluster_are_one_log(lake: Lake, tmp_path: Path) -> None:
    one, other = Controller(tmp_path / "a"), Controller(tmp_path / "b")
    reading = log_of_controllers(lake, tmp_path / "a", tmp_path / "b")
    one.write(2)
    other.write(2)
    other.write(1)
    assert reading.go_on() == 3
    one.write(1)
    one.write(3)
    assert reading.go_on() == 3
    assert offsets(reading) == list(range(6))


def test_a_folder_without_a_log_is_said(lake: Lake, tmp_path: Path) -> None:
    source = log_of_controllers(lake, tmp_path / "nothing").source
    with pytest.raises(UnreadableInput, match="is not a folder"):
        source.newest(source.initial())


# -- request logs ------------------------------------------------------------------------------------------------------


def requests_of(lake: Lake, pattern: str, *, zone: str = "UTC", bad: float = 0.01) -> Reading:
    inputs = Inputs(request_logs=(RequestLog((pattern,), "c", 1, zone),))
    return Reading(plans.RequestLogs(plans.Settings(lake.where, inputs, "", bad)))


def clients(reading: Reading) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in reading.rows:
        if row["second"]:
            found[row["second"]["client_id"]] += row["second"]["requests"]
    return found


def lines(*numbers: int) -> bytes:
    return log_of([produce(1, client_id=f"c{number}").later(number) for number in numbers])


def test_what_is_written_on_renamed_packed_and_begun_anew_is_read_once(lake: Lake, tmp_path: Path) -> None:
    live = tmp_path / "request.log"
    reading = requests_of(lake, f"{live}*")
    with pytest.raises(UnreadableInput, match="No request log of broker 1 is at"):
        reading.go_on()
    live.write_bytes(lines(*range(5)) + lines(5)[:-1])
    reading.go_on()
    assert clients(reading) == Counter(f"c{n}" for n in range(5))
    live.write_bytes(lines(*range(9)))
    reading.go_on()
    assert reading.go_on() == 0
    live.rename(f"{live}.1")
    live.write_bytes(lines(9, 10))
    reading.go_on()
    Path(f"{live}.1.gz").write_bytes(gzip.compress(Path(f"{live}.1").read_bytes()))
    Path(f"{live}.1").unlink()
    assert reading.go_on() == 0
    live.write_bytes(b"")
    assert reading.go_on() == 0
    live.write_bytes(lines(11))
    reading.go_on()
    Path(f"{live}.1.gz").unlink()
    assert reading.go_on() == 0
    assert clients(reading) == Counter(f"c{n}" for n in range(12))
    assert sum(row["lines"] for row in reading.rows) == 12


def test_a_planned_file_that_is_gone_is_one_row_and_not_read_again(lake: Lake, tmp_path: Path) -> None:
    live = tmp_path / "request.log"
    live.write_bytes(lines(*range(30)))
    reading = requests_of(lake, f"{live}*")
    assert reading.go_on(live.unlink) == 1
    (row,) = reading.rows
    size = len(lines(*range(30)))
    assert (row["cluster_id"], row["lines"], row["damaged"]) == ("c", 0, 0)
    assert (row["quarantined"]["file"], row["quarantined"]["byte_pos"]) == ("request.log", 0)
    assert row["quarantined"]["reason"].startswith(f"{size:,} bytes are lost: {live} is not the file any more")
    live.write_bytes(lines(*range(30, 33)))
    reading.go_on()
    assert clients(reading) == Counter(f"c{n}" for n in range(30, 33))


def test_too_many_unreadable_lines_are_refused_until_they_are_allowed(lake: Lake, tmp_path: Path) -> None:
    live = tmp_path / "request.log"
    live.write_bytes(lines(*range(98)) + b"".join(lines(n)[:-80] + b"\n" for n in (98, 99)))
    reading = requests_of(lake, str(live))
    with pytest.raises(plans.TooMuchIsBad, match=f"2 of 100 lines of {live} can't be read"):
        reading.go_on()
    allowed = requests_of(lake, str(live), bad=0.02)
    allowed.go_on()
    assert (len(allowed.bad), clients(allowed).total()) == (2, 98)
    live.write_bytes(lines(*range(10)) + lines(11)[:-80] + b"\n")
    few = requests_of(lake, str(live))
    few.go_on()
    assert len(few.bad) == 1, "of so few lines the share says nothing"


def test_a_zone_that_is_named_later_holds_for_what_is_planned(lake: Lake, tmp_path: Path) -> None:
    live = tmp_path / "request.log"
    live.write_bytes(lines(0))
    start = requests_of(lake, str(live)).source.initial()
    end = requests_of(lake, str(live)).source.newest(start)
    later = requests_of(lake, str(live), zone="Asia/Tokyo")
    (row,) = [row["second"] for row in later._read(end) if row["second"]]
    assert f"{row['second']:%d %H:%M}" == "21 01:00"


# -- polls -------------------------------------------------------------------------------------------------------------


def poll(number: int) -> landing.Landed:
    return landing.Landed("c", number, [("state", "topic", f"t{number}", "a", "1", None, False)])


def keys(rows: list[dict[str, Any]]) -> list[str]:
    return [row["entity_key"] for row in rows]


def test_landed_polls_are_read_once_and_deleted_when_they_are_in_the_lake(lake: Lake) -> None:
    source = PollsSource(settings(lake))
    folder = Path(lake.path(landing.POLLS))
    at = source.initial()
    landing.deliver(lake, [poll(1), poll(2)], "a")
    landing.deliver(lake, [poll(3)], "b")
    end = source.newest(at)
    rows = [row for part in source.parts(at, end) for each in source.read(part) for row in each.to_pylist()]
    assert keys(rows) == ["t1", "t2", "t3"]
    landing.deliver(lake, [poll(4)], "c")
    assert source.newest(end) == {"files": ["c.json.gz"]}
    assert len(list(folder.iterdir())) == 3, "nothing goes before it is in the lake"
    source.committed(end)
    assert [path.name for path in folder.iterdir()] == ["c.json.gz"]
    after = source.newest(end)
    source.committed(after)
    assert source.newest(after) == after
    assert list(source.parts(after, after)) == []


def test_a_landed_file_that_is_gone_is_no_rows_and_no_path_leads_out(lake: Lake, tmp_path: Path) -> None:
    source = PollsSource(settings(lake))
    Path(landing.deliver(lake, [poll(1)], "a")).unlink()
    assert list(source.read(("a.json.gz", b""))) == []
    elsewhere = Path(landing.deliver(Lake.create(str(tmp_path / "other")), [poll(1)], "a"))
    assert list(source.read((f"../../../other/landing/polls/{elsewhere.name}", b""))) == []
    source.committed({"files": [str(elsewhere), "../../lake.json"]})
    assert elsewhere.exists()
    assert (Path(lake.where) / "lake.json").exists()


# -- journals ----------------------------------------------------------------------------------------------------------


def test_a_journal_that_is_mostly_unreadable_is_refused(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / f"{CLUSTER}.jsonl"
    path.write_bytes(b"[1]\n" * 150)
    reading = Reading(plans.SOURCES["journals"](settings(lake, journals=(Journals(str(tmp_path)),))))
    with pytest.raises(plans.TooMuchIsBad, match=f"150 of 150 lines of {path}"):
        reading.go_on()
    path.write_bytes(b"[1]\n" * 50)
    assert reading.go_on() == 50
    assert {row["reason"] for row in reading.bad} == {"it is no JSON object"}
