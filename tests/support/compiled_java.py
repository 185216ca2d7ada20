"""kac's own Java programs, compiled once for each version of Kafka. ``java FILE.java`` compiles at each start, which
takes eight times as long.
"""

import subprocess
from pathlib import Path

from tests.support.cached_folder import recorded_folder
from tests.support.kafka_jars import compiler, jars
from tests.support.patience import PATIENCE


def compiled(source: Path, version: str, against: Path | None = None) -> Path:
    """Return the folder with a Java program's classes; the first call compiles them with the jars of a Kafka version.

    against: folder with other jars of that version; None for the brokers' jars.

    Raises BrokersUnavailableError if there is no compiler, or if the jars can't be fetched; RuntimeError with the
    compiler's output if the compiler fails.
    """
    command = [compiler(), "-proc:none", "-nowarn", "-cp", f"{against or jars(version)}/*", str(source), "-d"]

    def fill(folder: Path) -> None:
        done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False, timeout=PATIENCE)
        if done.returncode:
            raise RuntimeError(f"{source.name}: {done.stderr}")

    return recorded_folder(f"{source.stem}-{version}", (source,), fill)


def with_ours(source: Path, version: str) -> tuple[str, ...]:
    """Return Java's arguments that run a program of this project with a Kafka version: the class path and the main
    class. Compiles the program first. Raises as `compiled`.
    """
    return ("-cp", f"{jars(version)}/*:{compiled(source, version)}", source.stem)
