"""A standalone Spark cluster on loopback: a master and workers from the pyspark wheel's jars. Each is killed by its
process id.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from console.collecting.java import find_java
from tests.support.quick_spark import INTERPRETED, java_options

SPARK = Path(pyspark.__file__).parent
PATIENCE = 180.0
_ISOLATED = """\
#!/bin/sh
# Python without site: what is installed by name, and nothing of this checkout.
PYTHONPATH="$PYTHONPATH:{packages}" exec {python} -S "$@"
"""


@dataclass
class SparkCluster:
    """A running Spark cluster. url: of its master. folder: for the logs, and the files of each worker in `worker-N`."""

    url: str
    folder: Path
    environ: Mapping[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def executors(self) -> list[int]:
        """The number of executors that each worker has started so far."""
        return [len(list(path.glob("app-*/*"))) for path in sorted(self.folder.glob("worker-*[0-9]"))]

    def submit(
        self, script: Path, arguments: Sequence[str], *, zips: Path, jars: Sequence[Path] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run a script by `spark-submit`, with a Python that can't import this checkout. Return the ended process.

        zips: a zip file with the modules that the script imports. jars: for the driver and the executors.
        """
        command = [str(SPARK / "bin" / "spark-submit"), "--master", self.url, "--py-files", str(zips)]
        command += ["--jars", ",".join(map(str, jars))] if jars else []
        command += ["--executor-memory", "512m", "--conf", "spark.ui.enabled=false"]
        command += ["--conf", "spark.sql.shuffle.partitions=2", "--conf", "spark.driver.host=127.0.0.1"]
        options = " ".join(java_options())
        quick = INTERPRETED | {f"spark.{who}.extraJavaOptions": options for who in ("driver", "executor")}
        command += [word for name, value in quick.items() for word in ("--conf", f"{name}={value}")]
        return subprocess.run(
            [*command, str(script), *arguments],
            env=self.environ,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE * 5,
        )


@contextlib.contextmanager
def spark_cluster(folder: Path, workers: int = 2) -> Iterator[SparkCluster]:
    """Run a master, and workers with a core each, until the end of the block."""
    java = find_java(os.environ)
    python = folder / "python"
    packages = SPARK.parent
    python.write_text(_ISOLATED.format(packages=packages, python=sys.executable))
    python.chmod(0o755)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK_", "PYSPARK_"))}
    environ = own | {
        "JAVA_HOME": str(java.home),
        "SPARK_HOME": str(SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": " ".join(java_options()),
        "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": str(python),
    }
    cluster = SparkCluster("", folder, environ)
    try:
        master = _start(cluster, "master", ["Master", "--port", "0", "--webui-port", "0"])
        cluster.url = _said(cluster.processes[0], master, r"Starting Spark master at (spark://\S+)")
        logs = []
        for number in range(workers):
            work = folder / f"worker-{number}"
            options = ["--cores", "1", "--memory", "600m", "--webui-port", "0", "--work-dir", str(work)]
            logs.append(_start(cluster, f"worker-{number}", ["Worker", *options, cluster.url]))
        for process, log in zip(cluster.processes[1:], logs, strict=True):
            _said(process, log, r"(Successfully registered with master)")
        yield cluster
    finally:
        for process in cluster.processes:
            process.send_signal(signal.SIGTERM)
        for process in cluster.processes:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _start(cluster: SparkCluster, name: str, arguments: Sequence[str]) -> Path:
    """Start a master or worker, and return the path of its log. The script spark-class replaces itself by Java, so the
    process id stays the same.
    """
    log = cluster.folder / f"{name}.log"
    role = arguments[0]
    command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{role.lower()}.{role}"]
    with log.open("wb") as output:
        cluster.processes.append(
            subprocess.Popen(
                [*command, "--host", "127.0.0.1", *arguments[1:]],
                env={**cluster.environ, "SPARK_CONF_DIR": str(_quiet(cluster.folder))},
                cwd=cluster.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        )
    return log


def _quiet(folder: Path) -> Path:
    """Return an empty folder as Spark's folder for settings, so that it reads none of this machine's settings."""
    conf = folder / "conf"
    conf.mkdir(exist_ok=True)
    return conf


def _said(process: subprocess.Popen[bytes], log: Path, pattern: str) -> str:
    """Wait until a line of a log matches a pattern, and return the pattern's first group. Raises AssertionError if the
    process ends, or after `PATIENCE` seconds.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise AssertionError(f"it ended with {process.wait(0.05)}: {log.read_text(errors='replace')[-2000:]}")
    raise AssertionError(f"{log} does not say {pattern}: {log.read_text(errors='replace')[-2000:]}")
