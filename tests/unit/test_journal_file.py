"""Tests of the journal on a real file system: it contains whole records only, several processes can write at once, and
damage is never repaired silently.
"""

import fcntl
import json
import os
import resource
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.journal import file as journal_file
from console.journal.entries import Answered, Ended, Entry, Intent, Numbered, note_line, record
from console.journal.file import Contents, JournalFile, journal_path
from console.journal.segments import JournalError
from console.model.changes import Status
from console.model.config import topic_resource
from console.model.failure import Failure
from console.model.journal_lines import LONGEST_LINE, Closed, Mended, Origin, Place, Request, Sending, Who
from console.plan.edits import SetConfig
from console.plan.staged import Staged
from tests.support.children import Child

AT = datetime(2026, 3, 4, tzinfo=UTC)
WHO = Who("alice", "root")
EDIT = SetConfig(topic_resource("orders"), "retention.ms", "1")
INTENT = Intent(AT, "prod", WHO, Origin("h", "run", 1), (Entry(Staged(EDIT, None)),), (Request("X", None, (0,)),))
ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return journal_path(tmp_path / "state" / "kac", "a-cluster")


def numbers(contents: Contents) -> list[int]:
    return [record.number for record in contents.records if isinstance(record, Numbered)]


def test_it_belongs_to_its_owner_alone_and_numbers_go_on(path: Path) -> None:
    old = os.umask(0)
    try:
        assert JournalFile(path).begin(INTENT) == 1
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700
    journal = JournalFile(path)
    journal.note(Sending(1, 0, AT))
    assert journal.begin(INTENT) == 2
    assert JournalFile(path).begin(INTENT) == 3
    assert journal.begin(INTENT) == 4


def test_what_is_written_is_read(path: Path) -> None:
    journal = JournalFile(path)
    journal.begin(INTENT)
    failure = Failure("INVALID_CONFIG", "no\x1b[31m", "Mend it.")
    notes = [
        Sending(1, 0, AT),
        Answered(1, 0, AT, {0: Ended(Status.FAILED, failure)}),
        Closed(Place(1, 0), AT, "because"),
        Mended(AT, WHO),
    ]
    for note in notes:
        journal.note(note)
    found = journal.read()
    assert (found.records, found.problems) == ((Numbered(1, INTENT), *notes), ())
    assert journal.since(found.through).records == ()
    journal.note(notes[0])
    assert journal.since(found.through).records == (notes[0],)
    assert "\x1b" not in path.read_text()


def test_there_is_none(path: Path) -> None:
    assert JournalFile(path).read() == Contents()
    assert not JournalFile(path).mend(Mended(AT, WHO))
    assert not path.exists()


@pytest.mark.parametrize("cut", [1, 2, 20])
def test_a_line_that_was_cut_is_told_and_keeps_every_change_from_being_sent(path: Path, cut: int) -> None:
    journal = JournalFile(path)
    journal.begin(INTENT)
    journal.note(Sending(1, 0, AT))
    path.write_bytes(path.read_bytes()[:-cut])
    before = path.read_bytes()
    contents = JournalFile(path).read()
    assert numbers(contents) == [1]
    assert len(contents.records) == 1
    (problem,) = contents.problems
    assert "line 2" in problem
    assert "kac history --mend" in problem
    for journal_ in (journal, JournalFile(path)):
        with pytest.raises(JournalError) as refused:
            journal_.begin(INTENT)
        assert refused.value.failure.name == "JOURNAL_CUT"
        assert "--mend" in refused.value.failure.remedy
        assert "--no-journal" in refused.value.failure.remedy
    assert path.read_bytes() == before, "nobody mends it in silence"
    assert JournalFile(path).mend(Mended(AT, WHO))
    assert journal.begin(INTENT) == 2
    assert path.read_bytes().startswith(before)
    # A line that lacks only its newline is valid.
    assert JournalFile(path).read().problems == ()
    assert not JournalFile(path).mend(Mended(AT, WHO))


def test_a_line_that_is_no_record_is_told_and_the_others_count(path: Path) -> None:
    journal = JournalFile(path)
    journal.begin(INTENT)
    lines = [
        b"no json",
        b"[]",
        b'{"v":2,"kind":"intent","change":9}',
        b'{"v":1,"kind":"later"}',
        b'{"v":1,"kind":"sending","change":"x"}',
        b'{"v":1,"kind":"intent","change":7,"at":"x"}',
    ]
    with path.open("ab") as file:
        file.write(b"\n".join(lines) + b"\n")
    contents = JournalFile(path).read()
    assert numbers(contents) == [1]
    assert len(contents.problems) == len(lines)
    assert "version is 2" in contents.problems[2]
    assert JournalFile(path).begin(INTENT) == 10, "a number that another version gave away is not given away again"


def test_who_holds_it_locked_keeps_changes_from_being_sent(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_file, "LOCK_SECONDS", 0.05)
    journal = JournalFile(path)
    journal.begin(INTENT)
    with path.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(JournalError) as refused:
            journal.begin(INTENT)
    assert refused.value.failure.name == "JOURNAL_LOCKED"
    assert f"fuser {path}" in refused.value.failure.remedy
    assert journal.begin(INTENT) == 2


def test_a_folder_that_can_not_be_written(path: Path) -> None:
    path.parent.parent.parent.mkdir(parents=True)
    path.parent.parent.write_text("a file in the way")
    with pytest.raises(JournalError) as refused:
        JournalFile(path).begin(INTENT)
    assert refused.value.failure.name == "JOURNAL_UNAVAILABLE"
    assert "XDG_STATE_HOME" in refused.value.failure.remedy


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_home(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.parent.chmod(0o500)
    with pytest.raises(JournalError, match="Permission denied"):
        JournalFile(path).begin(INTENT)


def test_a_cluster_without_an_id_has_none(tmp_path: Path) -> None:
    for name in ("", "x" * 500):
        with pytest.raises(JournalError):
            journal_path(tmp_path, name)
    assert journal_path(tmp_path, "../../etc/x").parent == tmp_path / "journal"


def test_a_disk_that_is_full_leaves_no_half_record(path: Path) -> None:
    """If the kernel writes only a part of a record and then fails, as on a full disk, the part is removed again."""
    journal = JournalFile(path)
    journal.begin(INTENT)
    before = path.read_bytes()
    big = Intent(AT, "x" * 100_000, WHO, INTENT.origin, INTENT.entries, INTENT.requests)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50_000, hard))
    try:
        with pytest.raises(JournalError) as refused:
            journal.begin(big)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert refused.value.failure.name == "JOURNAL_UNWRITABLE"
    assert path.read_bytes() == before
    assert journal.begin(INTENT) == 2


WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from console.journal.file import JournalFile
from tests.unit.test_journal_file import AT, INTENT
from console.model.journal_lines import Sending
journal = JournalFile(Path(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    number = journal.begin(INTENT)
    journal.note(Sending(number, 0, AT))
    print(number)
"""


def test_several_processes_write_side_by_side(path: Path) -> None:
    """If several processes write at once, no change number is given twice, and no line is lost or mixed with
    another.
    """
    processes, each = 4, 25
    running = [
        Child([sys.executable, "-c", WRITER, str(path), str(each)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(processes)
    ]
    given = [int(line) for process in running for line in process.communicate()[0].split()]
    assert sorted(given) == list(range(1, processes * each + 1))
    contents = JournalFile(path).read()
    assert contents.problems == ()
    assert numbers(contents) == sorted(given)
    assert len(contents.records) == 2 * len(given)
    assert all(json.loads(line)["v"] == 1 for line in path.read_text().splitlines())


def test_a_line_of_what_10_000_edits_came_to_is_read_again() -> None:
    """The line with the outcomes of 10,000 edits is short enough to be read again, however long the brokers' messages
    are.
    """
    failure = Failure("INVALID_CONFIG", "\x01" * 100_000, "Look at the value.")
    line = note_line(Answered(1, 0, AT, dict.fromkeys(range(10_000), Ended(Status.FAILED, failure))))
    assert len(line) < LONGEST_LINE
    found = record(line)
    assert isinstance(found, Answered)
    assert len(found.edits) == 10_000
