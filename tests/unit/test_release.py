"""Tests of the program that makes releases: it refuses a release unless it has exactly the contents of the commit and
its locks; lists of parts are complete; environments contain only locked packages.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bundle.__main__ import first_ours
from bundle.inputs import LOCKS
from bundle.locks import for_python
from bundle.parts import PROJECT, listed, of_package, part, whole
from release import __main__ as release
from requirements.locked import locked, of_group
from tests.support.patience import PATIENCE

SCRIPT = Path(__file__).resolve().parents[2] / "requirements" / "make_venv.py"
COMMIT = ("git", "-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a git checkout with one commit of a generated page, its generator and a changelog."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("fresh\n")
    (tmp_path / "generator.py").write_text("print('fresh')")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [0.1.0] - unreleased\n")
    monkeypatch.setattr(release, "GENERATED", {"docs/page.md": ("generator",)})
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    for command in (["git", "init", "--quiet"], ["git", "add", "."], [*COMMIT, "-m", "all"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    return tmp_path


def refusals(checkout: Path, version: str = "0.1.0", *, files: bool = False) -> str:
    return "\n".join(release.refusals(checkout, version, pictures=False, files=files))


def test_a_release_is_refused_where_the_commit_would_not_say_what_is_published(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refusals(checkout) == ""
    assert refusals(checkout, "0.2.0") == "CHANGELOG.md has no section of 0.2.0"
    for name in ("docs/page.md", "new"):
        (checkout / name).write_text("changed\n")
        assert re.search(rf"not committed[^$]*{name}", refusals(checkout))
        subprocess.run(["git", "stash", "--quiet", "--include-untracked"], cwd=checkout, check=True)
    (checkout / "generator.py").write_text("print('fresher')")
    subprocess.run([*COMMIT, "-am", "b"], cwd=checkout, check=True)
    assert refusals(checkout) == "docs/page.md is stale: make docs"
    only_git = tmp_path_factory.mktemp("bin")
    (only_git / "git").symlink_to(shutil.which("git") or "")
    monkeypatch.setenv("PATH", str(only_git))
    assert "go is not installed" in refusals(checkout, files=True)


def test_every_file_has_its_sum(tmp_path: Path) -> None:
    (tmp_path / "kac").write_bytes(b"x")
    line = f"{hashlib.sha256(b'x').hexdigest()}  kac\n"
    assert release.sums(tmp_path) == line
    assert release.sums(tmp_path) == line == (tmp_path / release.SUMS).read_text()


def test_a_bundle_begins_with_this_hosts_architecture_and_takes_what_its_python_needs() -> None:
    assert [first_ours(arch)[0] for arch in ("aarch64", "x86_64", "riscv64")] == ["aarch64", "x86_64", "aarch64"]
    # The list is the same if an older Python makes it, whose version pip's markers would use.
    assert [(each.name, each.marker) for each in locked(for_python(LOCK))] == [("asked", ""), ("needed", "")]


@pytest.mark.parametrize("lock", sorted(LOCKS.glob("*.txt")), ids=lambda path: path.stem)
def test_locks_have_a_hash_for_everything_and_name_no_index(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    assert not re.search(r"^\s*-", re.sub(r"^\s*--hash=sha256:[0-9a-f]{64}( \\)?$", "", text, flags=re.M), flags=re.M)
    pins = re.findall(r"^(\S+)==\S+( ;[^\\]*)? \\\n    --hash=sha256:", text, flags=re.M)
    assert len(pins) == len(re.findall(r"^\w", text, flags=re.M)) > 0


LOCK = """asked==1.0 \\
    --hash=sha256:aa
    # via kafka-admin-console (pyproject.toml:site)
deep==2.0 ; python_full_version < '3.14' \\
    --hash=sha256:bb
    # via needed
needed==3.0 ; python_full_version >= '3.12' \\
    --hash=sha256:cc
    # via
    #   asked
    #   other
other==4.0 ; sys_platform == 'win32' \\
    --hash=sha256:dd
    # via kafka-admin-console (pyproject.toml:release)
"""


def test_a_group_of_a_lock_has_what_it_asks_for_and_what_that_needs() -> None:
    site = of_group(LOCK, "site")
    assert [each.name for each in locked(site)] == ["asked", "deep", "needed"]
    assert "deep==2.0 ; python_full_version < '3.14' \\\n    --hash=sha256:bb\n" in site
    assert [each.name for each in locked(of_group(LOCK, "release"))] == ["deep", "needed", "other"]
    assert of_group(LOCK, "asked") == ""


RUN, TOOLS = ((LOCKS / f"{name}.txt").read_text() for name in ("run", "tools"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wheel") / "kac.whl"
    path.write_bytes(b"wheel")
    return path


@pytest.fixture(scope="module")
def document(wheel: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(of_package(wheel, "0.1.0", RUN))
    return made


def test_a_wheel_asks_for_what_its_lock_names_by_all_of_its_hashes(document: dict[str, Any]) -> None:
    root = document["metadata"]["component"]
    assert (root["name"], root["version"], root["type"]) == (PROJECT, "0.1.0", "application")
    assert root["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(b"wheel").hexdigest()}]
    parts = {each["name"]: each for each in document["components"]}
    assert set(parts) == {each.name for each in locked(RUN)}
    for each in locked(RUN):
        (files,) = parts[each.name]["externalReferences"]
        assert parts[each.name]["version"] == each.version
        assert {file["content"] for file in files["hashes"]} == set(each.hashes)
        assert parts[each.name]["scope"] == ("optional" if each.marker else "required")
    assert parts["textual"]["licenses"] == [{"license": {"name": "MIT License"}}]
    needs = {each["ref"]: each.get("dependsOn", []) for each in document["dependencies"]}
    assert {"textual", "aiokafka", "pyyaml"} <= set(needs[PROJECT])
    assert "rich" not in needs[PROJECT]
    assert "rich" in needs["textual"]


def test_an_sdist_also_names_what_builds_it_and_one_commit_makes_the_same_bytes(
    wheel: Path, document: dict[str, Any]
) -> None:
    made = of_package(wheel, "0.1.0", RUN, of_group(TOOLS, "build"))
    scopes = {each["name"]: each["scope"] for each in json.loads(made)["components"]}
    assert scopes["hatchling"] == "excluded"
    assert "hatchling" not in {each["name"] for each in document["components"]}
    assert of_package(wheel, "0.1.0", RUN, of_group(TOOLS, "build")) == made
    serials = {listed(whole("kac", "1", architecture=arch), [], {"kac": []}) for arch in ("x86_64", "aarch64")}
    assert len({json.loads(each)["serialNumber"] for each in serials}) == 2


@pytest.mark.parametrize(
    ("licence", "said"),
    [
        ("Zlib", {"license": {"id": "Zlib"}}),
        ("Apache-2.0 WITH LLVM-exception", {"expression": "Apache-2.0 WITH LLVM-exception"}),
        ("MIT License", {"license": {"name": "MIT License"}}),
    ],
)
def test_a_licence_is_said_as_far_as_it_is_known(licence: str, said: dict[str, Any]) -> None:
    made = json.loads(listed(whole("kac", "1"), [part("one", "1", licence)], {"kac": ["one", "no part of it"]}))
    assert made["components"][0]["licenses"] == [said]
    assert {"ref": "kac", "dependsOn": ["one"]} in made["dependencies"]
    with pytest.raises(RuntimeError, match=r"kac is not what CycloneDX"):
        listed(whole("kac", "1"), [part("one", "1", licence, sha256="no hash")], {"kac": ["one"]})


def make(folder: Path, lock: Path, pretend: str = "pass") -> str:
    """Run the script that makes an environment, which has to fail, and return its standard error.

    pretend: Python code that runs first, to make the interpreter look like another one.
    """
    code = f"import runpy, sys; {pretend}; sys.argv[:] = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", code, str(SCRIPT), str(folder), str(lock)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize(
    ("pretend", "said"),
    [
        ("sys.modules['ensurepip'] = None", "apt install python{}.{}-venv".format(*sys.version_info[:2])),
        ("sys.version_info = (3, 10, 2)", "is Python 3.10; kac needs 3.11 or newer"),
    ],
)
def test_a_python_that_lacks_something_is_told_what_to_install(tmp_path: Path, pretend: str, said: str) -> None:
    assert said in make(tmp_path / "venv", tmp_path / "lock", pretend)
    assert not (tmp_path / "venv").exists()


def test_the_environment_of_another_checkout_is_left_alone(tmp_path: Path) -> None:
    """If the environment's folder is a link to another checkout's environment, the script refuses to change it."""
    lock, theirs, ours = tmp_path / "lock.txt", tmp_path / "theirs", tmp_path / "ours"
    lock.write_text("")
    theirs.mkdir()
    (theirs / "made-from").write_text("another lock, another checkout")
    ours.symlink_to(theirs)
    assert f"{ours} is a link to {theirs}, which is another checkout's environment" in make(ours, lock)
    assert [each.name for each in theirs.iterdir()] == ["made-from"]


@pytest.mark.slow
def test_a_lock_that_cannot_be_had_leaves_no_environment_that_looks_ready(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(f"./nowhere.whl --hash=sha256:{'0' * 64}\n")
    for _ in range(2):
        said = make(tmp_path / "venv", lock)
        assert "pip could not install lock.txt" in said
        # The installation takes minutes, so the output says what is being done.
        assert said.splitlines()[:2] == [
            f"making a virtual environment in {tmp_path / 'venv'}",
            "pip installs the packages of lock.txt: a minute or so",
        ]
