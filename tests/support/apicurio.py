"""Apicurio Registry, with its API as Confluent's: the newest release that runs on Java 17, by Maven."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from tests.support.cached_folder import cache_home, cached_folder
from tests.support.free_ports import free_ports
from tests.support.kafka_jars import FETCH_SECONDS, BrokersUnavailableError, java
from tests.support.patience import PATIENCE

VERSION = "2.6.13.Final"
ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
API = "/apis/ccompat/v7"
READY = "Listening on: "


def apicurio_folder() -> Path:
    """The folder with its jars, fetched at the first call.

    Raises BrokersUnavailableError where there is no Java, or it is not cached and can't be fetched.
    """
    java()
    return cached_folder(cache_home() / "jars" / f"apicurio-{VERSION}", _fetch)


@contextmanager
def apicurio(folder: Path) -> Iterator[str]:
    """Run it until the end of the block; yields the URL of its API."""
    (port,) = free_ports(1)
    (jar,) = folder.glob("*-runner.jar")
    options = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}")
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [java(), *options, "-jar", str(jar)], stdout=subprocess.PIPE, stderr=errors, cwd=folder, text=True
        )
        try:
            assert process.stdout is not None
            said = []
            for line in process.stdout:
                said.append(line)
                if READY in line:
                    break
            else:
                raise AssertionError(f"Apicurio ended: {''.join(said[-20:])}")
            # It logs each refused request: unread, its output would fill the pipe and stop it.
            Thread(target=deque, args=(process.stdout, 0), daemon=True).start()
            yield f"http://127.0.0.1:{port}{API}"
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _fetch(folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise BrokersUnavailableError(f"no Maven, which fetches {ARTIFACT} (Debian: apt install maven)")
    command = [maven, "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:copy", f"-Dartifact={ARTIFACT}"]
    command += [f"-DoutputDirectory={folder}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=FETCH_SECONDS, cwd=folder)
    archives = list(folder.glob("*.tar.gz"))
    if done.returncode or not archives:
        raise BrokersUnavailableError(f"could not fetch {ARTIFACT}: {(done.stdout + done.stderr).strip()[-300:]}")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    archives[0].unlink()
