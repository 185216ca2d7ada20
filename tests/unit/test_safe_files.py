"""Tests of the files that kac writes: it writes into devices and pipes, refuses symbolic links of other users, and
keeps file modes.
"""

import logging
import os
import stat
import threading
from pathlib import Path

import pytest

from console import safe_files
from console.collecting.executor_package import write_package
from console.embedded import state_file
from console.log_file import KEPT, open_log
from console.session.command_history import CommandHistory
from tests.support.patience import PATIENCE

OTHER = 12_345
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    file = tmp_path / "victim"
    file.write_text("precious")
    return file


def planted(at: Path, victim: Path) -> None:
    at.symlink_to(victim)
    os.lchown(at, OTHER, OTHER)


def test_a_new_file_has_its_mode_and_an_old_one_keeps_it(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        safe_files.write_whole(tmp_path / "a", "x", safe_files.SHARED)
        safe_files.write_whole(tmp_path / "b", "x", safe_files.PRIVATE)
    finally:
        os.umask(before)
    assert (mode(tmp_path / "a"), mode(tmp_path / "b")) == (0o640, 0o600)
    (tmp_path / "b").chmod(0o664)
    safe_files.write_whole(tmp_path / "b", "y", safe_files.PRIVATE)
    assert (mode(tmp_path / "b"), (tmp_path / "b").read_text()) == (0o664, "y")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "b"]


def test_a_link_of_this_user_stays_a_link_and_a_circle_is_an_error(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "link").symlink_to("again")
    (tmp_path / "again").symlink_to(victim)
    safe_files.write_whole(tmp_path / "link", "new")
    assert victim.read_text() == "new"
    assert (tmp_path / "link").readlink() == Path("again")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        safe_files.write_whole(tmp_path / "a", "x")


@root
def test_a_link_of_another_user_is_refused(tmp_path: Path, victim: Path) -> None:
    planted(tmp_path / "link", victim)
    with pytest.raises(safe_files.UntrustedPath):
        safe_files.write_whole(tmp_path / "link", "x")
    (tmp_path / "mine").symlink_to("link")
    with pytest.raises(safe_files.UntrustedPath):
        safe_files.write_whole(tmp_path / "mine", "x")
    assert victim.read_text() == "precious"


@root
def test_the_mode_of_a_file_of_another_user_is_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    (tmp_path / "a").chmod(0o666)
    os.chown(tmp_path / "a", OTHER, OTHER)
    safe_files.write_whole(tmp_path / "a", "x", safe_files.PRIVATE)
    assert (mode(tmp_path / "a"), (tmp_path / "a").stat().st_uid) == (0o600, 0)


def test_a_device_stays_one(tmp_path: Path) -> None:
    before = Path("/dev/null").stat()
    safe_files.write_whole(Path("/dev/null"), "x")
    (tmp_path / "null").symlink_to("/dev/null")
    safe_files.write_whole(tmp_path / "null", "x")
    after = Path("/dev/null").stat()
    assert (after.st_ino, after.st_mode, after.st_rdev) == (before.st_ino, before.st_mode, before.st_rdev)


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_text()), daemon=True)
    reader.start()
    safe_files.write_whole(tmp_path / "pipe", "content")
    reader.join(PATIENCE)
    assert found == ["content"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("how", ["ab", "wb"])
def test_an_open_descriptor_is_written_into(tmp_path: Path, how: str) -> None:
    """If the path is a link to an open descriptor, such as /dev/stdout, kac writes into it and does not replace the
    file.
    """
    with (tmp_path / "out").open("wb") as out:
        out.write(b"first\n")
    with (tmp_path / "out").open(how) as out:
        safe_files.write_whole(Path(f"/proc/self/fd/{out.fileno()}"), "second\n")
    assert (tmp_path / "out").read_text() == ("first\nsecond\n" if how == "ab" else "second\n")


def test_what_can_not_be_written_leaves_what_was_there(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        safe_files.write_whole(tmp_path / "folder", "x")
    with pytest.raises(FileNotFoundError):
        safe_files.write_whole(tmp_path / "none" / "file", "x")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder", victim.name]
    with pytest.raises(UnicodeEncodeError):
        safe_files.write_whole(victim, "half \ud800")
    assert victim.read_text() == "precious"


@root
def test_every_writer_refuses_a_planted_link(tmp_path: Path, victim: Path) -> None:
    """Each function that writes a file refuses a link that another user planted; the temporary file can't be planted,
    because its name is random.
    """
    for name in ("state", ".state.new", "commands", "commands.new", "lake.zip", ".lake.zip.new", "kac_lake.py"):
        planted(tmp_path / name, victim)
    tmp_path.chmod(0o700)
    with pytest.raises(state_file.StateFileError):
        state_file.write_state(tmp_path / "state", b"x")
    (tmp_path / "state").unlink()
    state_file.write_state(tmp_path / "state", b"x")
    CommandHistory(tmp_path / "commands").add("list topics")
    with pytest.raises(safe_files.UntrustedPath):
        write_package(tmp_path / "lake.zip")
    (tmp_path / "lake.zip").unlink()
    with pytest.raises(safe_files.UntrustedPath):
        write_package(tmp_path / "lake.zip")
    assert victim.read_text() == "precious"


@pytest.fixture
def loose_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("loose_umask")
def test_every_log_is_private_also_once_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.log_file.MAX_BYTES", 2_000)
    folder = tmp_path / "kac"
    folder.mkdir(mode=0o755)
    (folder / "kac.log").write_text("of a former version\n")
    (folder / "kac.log.1").write_text("of a former version\n")
    assert open_log({"XDG_STATE_HOME": str(tmp_path)}) is None
    assert (mode(folder), mode(folder / "kac.log"), mode(folder / "kac.log.1")) == (0o700, 0o600, 0o600)
    for _ in range(200):
        logging.getLogger("console.x").warning("x" * 100)
    files = sorted(each.name for each in folder.iterdir())
    assert files == ["kac.log", *(f"kac.log.{number}" for number in range(1, KEPT + 1))]
    assert {mode(folder / name) for name in files} == {0o600}


@root
def test_a_log_is_not_written_through_a_planted_link(
    tmp_path: Path, victim: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kac").mkdir()
    planted(tmp_path / "kac" / "kac.log", victim)
    problem = open_log({"XDG_STATE_HOME": str(tmp_path)})
    assert problem is not None
    assert "another user" in problem
    assert victim.read_text() == "precious"


@root
def test_nothing_private_goes_into_a_folder_of_another_user(tmp_path: Path) -> None:
    (tmp_path / "kac").mkdir(mode=0o777)
    os.chown(tmp_path / "kac", OTHER, OTHER)
    with pytest.raises(safe_files.UntrustedPath):
        safe_files.open_private(tmp_path / "kac" / "commands", os.O_WRONLY)
    assert list((tmp_path / "kac").iterdir()) == []


def test_a_private_file_is_no_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "commands")
    reader = os.open(tmp_path / "commands", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(safe_files.UntrustedPath):
            safe_files.open_private(tmp_path / "commands", os.O_WRONLY)
    finally:
        os.close(reader)


@pytest.mark.usefixtures("loose_umask")
def test_the_history_of_commands_is_private(tmp_path: Path) -> None:
    CommandHistory(tmp_path / "kac" / "commands").add("list topics")
    assert (mode(tmp_path / "kac"), mode(tmp_path / "kac" / "commands")) == (0o700, 0o600)


def test_no_more_is_read_than_is_taken(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="larger than 1 MiB"):
        safe_files.read_text(Path("/dev/zero"), 1 << 20)
    (tmp_path / "a").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="UTF-8"):
        safe_files.read_text(tmp_path / "a", 10)
