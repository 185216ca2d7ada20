"""Tests of the launcher of the one-file kac, with an archive of two files: the directory into which it unpacks, and
when it refuses to start.
"""

import os
import shutil
import subprocess
from pathlib import Path

import cramjam
import pytest

from bundle.inputs import LAUNCHER
from bundle.make import link
from tests.support.children import Child
from tests.support.patience import PATIENCE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("bundle_launcher"),
    pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed, and the launcher is compiled with it"),
    pytest.mark.skipif(
        subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0,
        reason="no namespaces of our own here",
    ),
]
SCRIPT = '#!/bin/sh\necho "ran: $*"\nif [ "$SHOW" ]; then echo "$SSL_CERT_FILE"; fi\n'
"""A script in place of Python, which prints its arguments."""


@pytest.fixture(scope="module")
def kac(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("launcher")
    program = work / "tree" / "bin" / "python3.14"
    program.parent.mkdir(parents=True)
    program.write_text(SCRIPT)
    program.chmod(0o755)
    (work / "tree" / "lib").mkdir()
    (work / "tree" / "lib" / "text").write_bytes(b"x" * 300_000)
    done = subprocess.run(["go", "mod", "download"], cwd=LAUNCHER, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"Go can't fetch the launcher's modules here: {done.stderr.strip()[:200]}")

    def pack(plain: Path, packed: Path) -> None:
        packed.write_bytes(bytes(cramjam.zstd.compress(plain.read_bytes())))

    link(work / "tree", work / "kac", os.uname().machine, work, pack)
    return work / "kac"


def start(kac: Path, *arguments: str, before: str = "true", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the launcher in a namespace with an empty /var/tmp and /dev/shm; return its result. before: shell commands to
    run first. environment: further variables.
    """
    empty = "mount -t tmpfs -o mode=1777 none"
    script = f'{empty} /var/tmp; {empty} /dev/shm; {before}; exec "$0" "$@"'
    return subprocess.run(
        ["unshare", "-rm", "sh", "-ec", script, str(kac), *arguments],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def ran(done: subprocess.CompletedProcess[str], *arguments: str) -> bool:
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    isolated = "ran: -I -B -c import sys; from console.__main__ import main; sys.exit(main())"
    return done.stdout == " ".join((isolated, *arguments)) + "\n"


def trees(cache: Path) -> list[Path]:
    return sorted(path for path in (cache / "kac").iterdir() if path.name != ".lock")


def folder_of(kac: Path, before: str = "true", **environment: str) -> str:
    done = start(kac, "self", "folder", before=before, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_first_start_unpacks_and_later_ones_leave_it_alone(kac: Path, tmp_path: Path) -> None:
    assert ran(start(kac, "topics", "a b", XDG_CACHE_HOME=str(tmp_path)), "topics", "a b")
    (tree,) = trees(tmp_path)
    first = (tree / "lib" / "text").stat()
    assert first.st_mode & 0o777 == 0o600
    assert ran(start(kac, XDG_CACHE_HOME=str(tmp_path)))
    assert (tree / "lib" / "text").stat().st_ino == first.st_ino


def test_a_home_has_its_cache_in_the_usual_place(kac: Path, tmp_path: Path) -> None:
    assert folder_of(kac, HOME=str(tmp_path)).startswith(f"{tmp_path}/.cache/kac/")
    # The launcher ignores a relative directory, and does not create a missing home.
    assert folder_of(kac, XDG_CACHE_HOME="here", HOME=str(tmp_path / "gone")).startswith("/var/tmp/kac-0/")
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("harm", ["lib/text gone", "lib/text shorter", "link", "writable"])
def test_a_tree_that_is_not_whole_is_made_again(kac: Path, tmp_path: Path, harm: str) -> None:
    start(kac, XDG_CACHE_HOME=str(tmp_path))
    (tree,) = trees(tmp_path)
    text = tree / "lib" / "text"
    if harm.endswith("shorter"):
        os.truncate(text, 5)
    elif harm == "writable":
        tree.chmod(0o777)
    else:
        text.unlink()
        if harm == "link":
            text.symlink_to("/etc/passwd")
    assert ran(start(kac, XDG_CACHE_HOME=str(tmp_path)))
    assert trees(tmp_path) == [tree]
    assert text.read_bytes() == b"x" * 300_000
    assert not text.is_symlink()
    assert tree.stat().st_mode & 0o777 == 0o700


def test_starts_at_once_make_one_tree(kac: Path, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(tmp_path)}
    started = [Child([kac, str(n)], env=environment, stdout=subprocess.PIPE, text=True) for n in range(8)]
    said = [process.communicate(timeout=PATIENCE)[0] for process in started]
    assert [line.split()[-1] for line in said] == [str(n) for n in range(8)]
    assert [process.returncode for process in started] == [0] * 8
    assert len(trees(tmp_path)) == 1


def test_what_a_killed_start_left_is_cleared(kac: Path, tmp_path: Path) -> None:
    left = tmp_path / "kac" / ".partial-123" / "bin"
    left.mkdir(parents=True)
    (left / "python3.14").write_text("half")
    assert ran(start(kac, XDG_CACHE_HOME=str(tmp_path)))
    assert len(trees(tmp_path)) == 1
    assert not left.exists()


def test_a_planted_folder_is_not_used(kac: Path, tmp_path: Path) -> None:
    (tmp_path / "kac").mkdir()
    (tmp_path / "kac").chmod(0o777)
    assert folder_of(kac, XDG_CACHE_HOME=str(tmp_path)).startswith("/var/tmp/kac-0/")
    (tmp_path / "kac").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "kac").symlink_to(tmp_path / "elsewhere")
    assert folder_of(kac, XDG_CACHE_HOME=str(tmp_path)).startswith("/var/tmp/kac-0/")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_cache_below_a_folder_that_others_may_exchange_is_not_used(kac: Path, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert folder_of(kac, XDG_CACHE_HOME=str(tmp_path / "open")).startswith("/var/tmp/kac-0/")
    # With the sticky bit only the owner of a file in it may rename the file.
    (tmp_path / "open").chmod(0o1777)
    assert folder_of(kac, XDG_CACHE_HOME=str(tmp_path / "open")).startswith(str(tmp_path / "open"))


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives a folder to another user")
def test_another_users_cache_is_not_used(kac: Path, tmp_path: Path) -> None:
    start(kac, XDG_CACHE_HOME=str(tmp_path))
    (tree,) = trees(tmp_path)
    (tree / "bin" / "python3.14").write_text(SCRIPT.replace("ran", "bad"))
    for folder in (tmp_path / "kac", tree):
        os.chown(folder, 12345, 12345)
    assert ran(start(kac, XDG_CACHE_HOME=str(tmp_path)))


def test_nothing_is_unpacked_where_nothing_executes(kac: Path, tmp_path: Path) -> None:
    home = f"mount -t tmpfs -o noexec,mode=700 none {tmp_path}"
    assert folder_of(kac, before=home, HOME=str(tmp_path)).startswith("/var/tmp/kac-0/")
    var = "mount -o remount,noexec /var/tmp"
    assert folder_of(kac, before=f"{home}; {var}", HOME=str(tmp_path)).startswith("/dev/shm/kac-0/")


def test_a_read_only_home(kac: Path, tmp_path: Path) -> None:
    home = f"mount -t tmpfs -o ro none {tmp_path}"
    assert folder_of(kac, before=home, HOME=str(tmp_path)).startswith("/var/tmp/kac-0/")


def test_a_full_disk_leaves_nothing_behind(kac: Path, tmp_path: Path) -> None:
    home = f"mount -t tmpfs -o size=128k,mode=700 none {tmp_path}"
    listed = f'{home}; "$0" --version >/dev/null; ls -A {tmp_path}/.cache/kac; ls /var/tmp/kac-0'
    done = start(kac, before=listed, HOME=str(tmp_path))
    assert done.stdout.split()[0] == ".lock", done.stdout
    assert len(done.stdout.splitlines()[1]) == 64


def test_no_place_at_all_is_said_with_each_reason(kac: Path, tmp_path: Path) -> None:
    nowhere = f"mount -t tmpfs -o ro none {tmp_path}; mount -o remount,noexec /var/tmp; mkdir -m 777 /dev/shm/kac-0"
    done = start(kac, "--version", before=nowhere, HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "kac: no folder to unpack into, 0 MB are needed:\n"
        f"  {tmp_path}/.cache/kac: read-only file system\n"
        "  /var/tmp/kac-0: mounted noexec: files there can't be executed\n"
        "  /dev/shm/kac-0: kac-0 is writable by others (mode 0777); chmod go-w it\n"
        "Set XDG_CACHE_HOME to a folder of your own that allows execution, or install the deb, the rpm or the wheel\n"
    )


def test_self_verify_names_what_differs(kac: Path, tmp_path: Path) -> None:
    good = start(kac, "self", "verify", XDG_CACHE_HOME=str(tmp_path))
    (tree,) = trees(tmp_path)
    assert good.returncode == 0, good.stderr
    assert good.stdout.splitlines()[1] == f"{tree}: every file is as in it"
    (tree / "lib" / "text").write_bytes(b"y" * 300_000)
    (tree / "lib" / "more.py").write_text("")
    (tree / "bin" / "python3.14").chmod(0o755)
    bad = start(kac, "self", "verify", XDG_CACHE_HOME=str(tmp_path))
    assert bad.returncode == 1
    assert bad.stderr.splitlines() == [
        f"kac: {tree}/bin/python3.14: mode -rwxr-xr-x instead of -rwx------",
        f"kac: {tree}/lib/text: changed",
        f"kac: {tree}/lib/more.py: not part of kac",
        f"kac: 3 of 4 files differ. Delete {tree}: the next start unpacks it again.",
    ]
    assert start(kac, "self", XDG_CACHE_HOME=str(tmp_path)).returncode == 2


def test_the_hosts_authorities_are_named_unless_the_user_names_some(kac: Path, tmp_path: Path) -> None:
    file = "/etc/ssl/certs/ca-certificates.crt"
    bundle = f"mount -t tmpfs none /etc/ssl; mkdir /etc/ssl/certs; echo > {file}"
    environment = {"XDG_CACHE_HOME": str(tmp_path), "SHOW": "1"}
    assert start(kac, before=bundle, **environment).stdout.splitlines()[1] == file
    assert start(kac, before=bundle, **environment, SSL_CERT_FILE="/mine").stdout.splitlines()[1] == "/mine"
    assert start(kac, before=bundle, **environment, SSL_CERT_DIR="/mine").stdout.splitlines()[1] == ""
