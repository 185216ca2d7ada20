"""Kafka's jars, by Maven coordinates, cached outside the checkout; a cached folder is always complete."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support import jars_without_maven
from tests.support.cached_folder import cache_home, cached_folder
from tests.support.patience import PATIENCE

OLDEST_JAVA = 17
_DEBIAN = "Debian: apt install default-jdk-headless"
FETCH_SECONDS = 600

RELEASES = {
    "2.8": "2.8.2",
    "3.7": "3.7.2",
    "3.9": "3.9.1",
    "4.0": "4.0.0",
    "4.1": "4.1.1",
    "4.2": "4.2.0",
    "4.3": "4.3.0",
    "4.4": "4.4.0",
}
"""The supported releases of Kafka -> the versions that tests run."""
NEWEST = list(RELEASES)[-1]
KAFKA_4_3 = RELEASES["4.3"]
KAFKA_3_9 = RELEASES["3.9"]
KAFKA_2_8 = RELEASES["2.8"]

_BROKER = ("org.apache.kafka:kafka_2.13:{version}",)
_TOOLS = ("org.apache.kafka:kafka-tools:{version}",)
_WITHOUT_TOOLS = {"4.4.0"}
"""Kafka versions that were published without the artifact kafka-tools: their brokers run, but some of Kafka's commands
can't run from their jars.
"""
# Kafka 4 logs through log4j 2, Kafka 3 through reload4j; both call slf4j 1.7.
_LOG4J_2 = ("org.apache.logging.log4j:log4j-slf4j-impl:2.25.4",)
_RELOAD4J = ("org.slf4j:slf4j-reload4j:1.7.36", "ch.qos.reload4j:reload4j:1.2.25")


class BrokersUnavailableError(RuntimeError):
    """Real brokers cannot run here; the text gives the reason and the packages to install."""


def coordinates(version: str) -> tuple[str, ...]:
    """Return the Maven coordinates (group:artifact:version) of the artifacts that a broker of this Kafka version and
    its tools need.
    """
    logging = _LOG4J_2 if major(version) >= 4 else _RELOAD4J
    tools = () if version in _WITHOUT_TOOLS else _TOOLS
    return tuple(artifact.format(version=version) for artifact in _BROKER + tools + logging)


def tools_version(version: str) -> str:
    """Return the Kafka version whose commands to use with brokers of this version: the same version, or, if it was
    published without commands, the newest version that has commands.
    """
    return version if version not in _WITHOUT_TOOLS else KAFKA_4_3


def tiered_storage(version: str) -> Path:
    """Return the path of the jar with LocalTieredStorage, a remote storage in a local folder; the jar is that of
    Kafka's own tests. Raises as `jars` does.
    """
    return next(fetched(f"{version}-tiered", (f"org.apache.kafka:kafka-storage:{version}:test",)).glob("*-test.jar"))


def major(version: str) -> int:
    """Return the first number of a version: 4 of ``4.3.0``."""
    return int(version.split(".", 1)[0])


def java(oldest: int = OLDEST_JAVA) -> str:
    """Return the path of a Java of at least this version: JAVA_HOME's, else the one on the PATH.

    Raises BrokersUnavailableError if there is no Java, or an older one.
    """
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if command is None or not Path(command).exists():
        where = f"JAVA_HOME ({home}) holds no bin/java" if home else "no Java found"
        raise BrokersUnavailableError(f"{where}: install Java {oldest} or newer ({_DEBIAN})")
    shown = subprocess.run([command, "-version"], capture_output=True, text=True, check=False, timeout=PATIENCE).stderr
    found = re.search(r'version "(\d+)', shown)
    if found is None or int(found[1]) < oldest:
        said = shown.strip().splitlines()[0] if shown.strip() else "nothing"
        raise BrokersUnavailableError(f"{command} is too old ({said}): install Java {oldest} or newer ({_DEBIAN})")
    return command


def keytool() -> str:
    """Return the path of the keytool next to the Java of `java`."""
    return str(Path(java()).resolve().with_name("keytool"))


def compiler() -> str:
    """Return the path of the javac next to the Java of `java`. Raises BrokersUnavailableError if there is no javac, as
    in a JRE.
    """
    beside = Path(java()).resolve().with_name("javac")
    if not beside.exists():
        raise BrokersUnavailableError(f"{java()} has no compiler: install a JDK ({_DEBIAN})")
    return str(beside)


def jars(version: str) -> Path:
    """Return the folder with every jar of this Kafka version, fetched at the first call.

    Raises BrokersUnavailableError if they are not cached and can't be fetched.
    """
    return fetched(version, coordinates(version))


def fetched(name: str, wanted: tuple[str, ...]) -> Path:
    """Return the folder with these artifacts and their dependencies; the first call fetches them. Raises as `jars`
    does.

    name: the beginning of the folder's name. wanted: Maven coordinates.
    """
    # The name contains a hash of the artifacts: another list has another folder, never a partly right one.
    folder = f"{name}-{hashlib.sha256(' '.join(wanted).encode()).hexdigest()[:8]}"
    return cached_folder(cache_home() / "jars" / folder, lambda folder: _fetch(wanted, folder))


def _fetch(wanted: tuple[str, ...], folder: Path) -> None:
    maven = shutil.which("mvn")
    try:
        done = _with_maven(maven, wanted, folder) if maven else jars_without_maven.fetch(wanted, folder, FETCH_SECONDS)
    except subprocess.TimeoutExpired as late:
        raise BrokersUnavailableError(f"fetching {', '.join(wanted)} took more than {FETCH_SECONDS} s") from late
    if done.returncode or not any(folder.glob("*.jar")):
        said = (done.stdout + done.stderr).strip().splitlines()
        reason = next((line for line in said if "ERROR" in line), said[-1] if said else "no output")
        raise BrokersUnavailableError(f"could not fetch {', '.join(wanted)} with {maven or 'jgo'}: {reason}")


def _with_maven(maven: str, wanted: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    pom = folder / "pom.xml"
    pom.write_text(_pom(wanted))
    command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    command += [f"-DoutputDirectory={folder}"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=FETCH_SECONDS)


def _pom(wanted: tuple[str, ...]) -> str:
    artifacts = (artifact.split(":") for artifact in wanted)
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        + "".join(f"<classifier>{each}</classifier>" for each in classifier)
        + "</dependency>"
        for group, name, version, *classifier in artifacts
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion>"
        "<groupId>kac</groupId><artifactId>brokers</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )


def main(arguments: Sequence[str] = ()) -> int:
    """Fetch the jars of the versions that most tests start, so that no test waits for them. Return 0, or 1 if no broker
    can run here.

    With ``--java`` as argument, only report whether real brokers can run here, without fetching; return 0.
    """
    if "--java" in arguments:
        print(_java_found(), flush=True)
        return 0
    try:
        found = java()
    except BrokersUnavailableError as reason:
        print(f"no brokers: {reason}")
        return 1
    ready = 0
    for version in (KAFKA_4_3, KAFKA_3_9, KAFKA_2_8):
        try:
            print(f"Kafka {version}: {jars(version)} on {found}", flush=True)
            ready += 1
        except BrokersUnavailableError as reason:
            print(f"Kafka {version}: no brokers: {reason}")
    return 0 if ready else 1


def _java_found() -> str:
    try:
        found = java()
    except BrokersUnavailableError as reason:
        return f"{reason}\nwithout it the core will NOT RUN; everything else does"
    try:
        compiler()
    except BrokersUnavailableError as reason:
        return f"{reason}\nwithout it tests that compile are skipped; everything else runs"
    return f"real brokers run on {found}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
