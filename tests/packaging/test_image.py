"""Tests of the container image with the one-file kac: it is built with its Dockerfile, and runs without privileges on a
read-only root directory.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from bundle.inputs import ROOT, Missing
from bundle.make import make
from tests.support.patience import LONG_PATIENCE, PATIENCE

TOOLS = ("buildah", "debootstrap", "go")
FILE = "kac-0.0.test-linux-x86_64"
# The process id makes these names unique.
BASE, IMAGE, CONTAINER = (f"localhost/kac-test-{each}-{os.getpid()}" for each in ("base", "image", "container"))
pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("bundle"),
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        os.geteuid() != 0 or os.uname().machine != "x86_64", reason="an image is made as root, on x86_64"
    ),
    *(pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not installed") for tool in TOOLS),
]
ENTER = """
mount --bind "$1" "$2"
mount -o remount,bind,ro "$2"
mount --rbind /dev "$2/dev"
mount --rbind /proc "$2/proc"
mount -t tmpfs -o size=1m tmpfs "$2/dev/shm"
folder=$2 user=$3
shift 3
exec chroot --userspec="$user" "$folder" env -i "$@"
"""
"""A script that runs a command in an image's root as a container engine does with --read-only: with its user, its
environment, and a small writable file system in memory."""


class Image(NamedTuple):
    """The root directory of a built image, and its configuration."""

    root: Path
    config: dict[str, object]


def tool(*words: str, folder: Path = ROOT) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=LONG_PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    folder = tmp_path_factory.mktemp("image")
    cache = ROOT / "build" / "bundle"
    cache.mkdir(parents=True, exist_ok=True)
    try:
        make("x86_64", "x86_64", folder / "dist", cache, with_lake=False, level=3, version="0.0.test")
    except Missing as missing:
        pytest.skip(str(missing))
    # The same system as debian:12-slim, with more packages; tests fetch no images from registries.
    tool("debootstrap", "--variant=minbase", "bookworm", str(folder / "base"))
    try:
        tool("buildah", "from", "--name", CONTAINER, "scratch")
        tool("buildah", "add", CONTAINER, str(folder / "base"), "/")
        tool("buildah", "commit", "--rm", CONTAINER, BASE)
        dockerfile = ("--file", str(ROOT / "bundle" / "Dockerfile"))
        options = ("--build-arg", f"BASE={BASE}", "--build-arg", f"FILE={FILE}", "--tag", IMAGE)
        tool("buildah", "build", "--isolation", "chroot", *dockerfile, *options, str(folder / "dist"))
        found = json.loads(tool("buildah", "inspect", "--type", "image", IMAGE))["OCIv1"]["config"]
        tool("buildah", "from", "--pull-never", "--name", CONTAINER, IMAGE)
        yield Image(Path(tool("buildah", "mount", CONTAINER).strip()), found)
    finally:
        for words in (("rm", CONTAINER), ("rmi", "--force", IMAGE, BASE)):
            subprocess.run(["buildah", *words], check=False, capture_output=True, timeout=PATIENCE)


def ran(image: Image, place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ, user, entry = image.config["Env"], str(image.config["User"]), image.config["Entrypoint"]
    assert isinstance(environ, list)
    assert entry == ["kac"]
    inside = [str(image.root), str(place), user, *environ, "kac", *words]
    command = ["unshare", "-m", "sh", "-ec", ENTER, "sh", *inside]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


def test_it_runs_without_rights_on_a_root_that_cannot_be_written(image: Image, tmp_path: Path) -> None:
    assert image.config["User"] == "1000:1000"
    said = ran(image, tmp_path, "--version")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith("kac ")
    # The image has the unpacked tree, so kac writes nothing.
    folder = ran(image, tmp_path, "self", "folder").stdout
    assert folder.startswith("/home/kac/.cache/kac/"), folder
    assert ran(image, tmp_path, "self", "verify").returncode == 0


def test_it_says_what_it_can_write_nowhere(image: Image, tmp_path: Path) -> None:
    said = ran(image, tmp_path, "doctor")
    assert "/home/kac/.local is not writable" in said.stdout
    assert "set XDG_STATE_HOME" in said.stdout
