"""Object stores with S3's API on loopback: gofakes3, which builds in seconds and accepts any key, and versitygw, which
takes minutes to build and checks signatures. Both implement If-None-Match and If-Match. They are built once, with
Go, and cached. ``python -m tests.support.s3_store`` builds gofakes3, so that no test waits for it.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tests.support.cached_folder import cache_home, cached_folder
from tests.support.free_ports import LOOPBACK, free_ports
from tests.support.patience import PATIENCE

BUCKET = "lakes"
KEYS = ("AKIATESTKEY", "planted-s3-secret-4711")
BUILD_SECONDS = 3600.0
_MODULES = {
    "gofakes3": "github.com/johannesboyne/gofakes3/cmd/gofakes3@v1.2.0",
    "versitygw": "github.com/versity/versitygw/cmd/versitygw@v1.8.0",
}
STORES = tuple(_MODULES)


class NoStoreError(RuntimeError):
    """A store can't be built here; the message gives the reason."""


class Store(NamedTuple):
    """A running store. endpoint: the URL of its API."""

    name: str
    endpoint: str

    def environ(self, home: Path) -> dict[str, str]:
        """Return the environment variables with which AWS clients use the store. `home` replaces the user's home, so
        that clients don't read the user's own settings.
        """
        return {
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEYS[0],
            "AWS_SECRET_ACCESS_KEY": KEYS[1],
            "AWS_EC2_METADATA_DISABLED": "true",
        }


def program(name: str) -> Path:
    """Return the path of a store's program; the first call builds it. Raises NoStoreError."""
    module = _MODULES[name]
    return (
        cached_folder(cache_home() / "s3" / f"{name}-{module.rpartition('@')[2]}", lambda at: _build(module, at)) / name
    )


def _build(module: str, folder: Path) -> None:
    if shutil.which("go") is None:
        raise NoStoreError("a store with S3's API is built with Go 1.24 or newer, and there is no go")
    # Without optimizations and symbols, which the tests do not need, Go takes two thirds of the CPU time.
    command = ["nice", "-n", "10", "go", "install", "-gcflags=all=-N -l", "-ldflags=-s -w", module]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "GOBIN": str(folder)},
            capture_output=True,
            text=True,
            check=False,
            timeout=BUILD_SECONDS,
        )
    except subprocess.TimeoutExpired as late:
        raise NoStoreError(f"building {module} took more than {BUILD_SECONDS:g} s") from late
    if done.returncode:
        raise NoStoreError(f"{module} could not be built: {done.stderr.strip().splitlines()[-1:]}")


@contextmanager
def running(name: str, folder: Path) -> Iterator[Store]:
    """Run a store with the empty bucket `BUCKET` until the end of the block. folder: an empty folder for its files.
    Raises NoStoreError.
    """
    (port,) = free_ports(1)
    at = f"{LOOPBACK}:{port}"
    (folder / "data" / BUCKET).mkdir(parents=True)
    options = {
        "gofakes3": ["-host", at, "-backend", "memory", "-initialbucket", BUCKET],
        "versitygw": ["--port", at, "posix", str(folder / "data")],
    }
    environ = {**os.environ, "ROOT_ACCESS_KEY": KEYS[0], "ROOT_SECRET_KEY": KEYS[1]}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program(name), *options[name]], env=environ, stdout=log, stderr=log)
    try:
        _wait(process, port, folder / "log")
        yield Store(name, f"http://{at}")
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    while process.poll() is None:
        with suppress(ConnectionRefusedError), socket.create_connection((LOOPBACK, port), PATIENCE):
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
    raise NoStoreError(f"it ended: {log.read_text(errors='replace')[-500:]}")


if __name__ == "__main__":
    try:
        print(program("gofakes3"))
    except NoStoreError as missing:
        print(missing)
