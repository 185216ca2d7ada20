"""A release is refused where what is published would not be what the commit says."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from release import __main__ as release

PAGE = "print('fresh')"
COMMIT = ("git", "-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A commit with a generated page, its generator and a changelog."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("fresh\n")
    (tmp_path / "generator.py").write_text(PAGE)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [0.1.0] - unreleased\n")
    monkeypatch.setattr(release, "GENERATED", {"docs/page.md": ("generator",)})
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    commit = [*COMMIT, "-m", "all"]
    for command in (["git", "init", "--quiet"], ["git", "add", "."], commit):
        subprocess.run(command, cwd=tmp_path, check=True)
    return tmp_path


def refusals(checkout: Path, version: str = "0.1.0") -> list[str]:
    return list(release.refusals(checkout, version, pictures=False, files=False))


def test_a_clean_checkout_is_taken(checkout: Path) -> None:
    assert refusals(checkout) == []


@pytest.mark.parametrize("name", ["docs/page.md", "new"])
def test_a_change_that_is_not_committed_is_named(checkout: Path, name: str) -> None:
    (checkout / name).write_text("changed\n")
    (why,) = refusals(checkout)
    assert "not committed" in why
    assert name in why


def test_a_stale_page_is_named(checkout: Path) -> None:
    (checkout / "generator.py").write_text("print('fresher')")
    subprocess.run([*COMMIT, "-am", "b"], cwd=checkout, check=True)
    assert refusals(checkout) == ["docs/page.md is stale: make docs"]


def test_a_version_that_the_changelog_lacks_is_named(checkout: Path) -> None:
    assert refusals(checkout, "0.2.0") == ["CHANGELOG.md has no section of 0.2.0"]


def test_a_host_without_go_is_told_before_anything_is_made(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = shutil.which("git")
    assert git is not None
    only_git = tmp_path_factory.mktemp("bin")
    (only_git / "git").symlink_to(git)
    monkeypatch.setenv("PATH", str(only_git))
    (why,) = release.refusals(checkout, "0.1.0", pictures=False, files=True)
    assert "go is not installed" in why
    assert refusals(checkout) == []


def test_every_file_has_its_sum(tmp_path: Path) -> None:
    (tmp_path / "kac").write_bytes(b"x")
    line = f"{hashlib.sha256(b'x').hexdigest()}  kac\n"
    assert release.sums(tmp_path) == line
    assert release.sums(tmp_path) == line == (tmp_path / release.SUMS).read_text()
