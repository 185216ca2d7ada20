"""Fetches jars by Maven coordinates without Maven: jgo resolves them, in a temporary environment.

Run as a script in that environment: ``python jars_without_maven.py FOLDER GROUP:ARTIFACT:VERSION…``.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from itertools import groupby
from pathlib import Path

LOCK = Path(__file__).resolve().parents[2] / "requirements" / "tools.txt"


def fetch(wanted: tuple[str, ...], folder: Path, timeout: float) -> subprocess.CompletedProcess[str]:
    """Copy the jars of Maven artifacts and all their dependencies into a folder. Return the process of the last command
    that ran; the first command that fails is the last.

    wanted: ``group:artifact:version`` of each artifact. timeout: seconds for each command. Raises
    subprocess.TimeoutExpired.
    """
    # A local import: the environment in which this file runs as a script lacks this module.
    from requirements.locked import of_group

    with tempfile.TemporaryDirectory(prefix="kac-jgo-") as scratch:
        lock = Path(scratch, "jars.txt")
        lock.write_text(of_group(LOCK.read_text(), "jars"))
        venv.create(scratch, with_pip=True)
        # Otherwise jgo fills ~/.m2, which is Maven's.
        places = {**os.environ, "M2_REPO": str(Path(scratch, "m2"))}
        python = str(Path(scratch, "bin", "python"))
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        for command in ([*pip, "-r", str(lock)], [python, __file__, str(folder), *wanted]):
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout, env=places)
            if done.returncode:
                break
        return done


def resolve(folder: Path, wanted: list[str]) -> None:
    """Copy the jars of the artifacts and of their dependencies into a folder. The environment needs jgo.

    Kafka's artifacts are resolved apart from the others. Otherwise jgo would apply the versions that log4j's parent
    manages to all artifacts, and replace kafka-clients by an older version.
    """
    import jgo  # type: ignore[import-not-found]

    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kac-jgo-") as cache:
        for _, artifacts in groupby(wanted, key=lambda artifact: artifact.startswith("org.apache.kafka:")):
            for jar in jgo.build("+".join(artifacts), cache_dir=Path(cache)).all_jars:
                shutil.copyfile(jar, folder / jar.name)


if __name__ == "__main__":
    resolve(Path(sys.argv[1]), sys.argv[2:])
