"""What came into the lake since the last build of all tables, and whether anything did; without Spark."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from console.history.jobs.record import Report
from console.history.policy_files import BASELINE_FILE, POLICIES_FILE
from console.history.schema import TABLES
from console.history.store import Lake, Release
from console.history.store.write import kac_version

JOB = "build"
_BUILT = "build"
"""The input under which a release remembers its last build of all tables."""
BRONZE = ("kraft_record", "snapshot", "journal", "alter_request")
TAKEN = (*BRONZE, "poll", "request_1s")
"""The tables that builds read and do not make."""
OWN_FILES = {"drift": BASELINE_FILE, "policy_violation": POLICIES_FILE}
"""Files of the operator that tables are made with, besides others."""


class Built(NamedTuple):
    """A build of all tables. run: its id; what later runs wrote is new. made_by: the version of kac, whose transforms
    made them. files: digests of `OWN_FILES`, by table."""

    run: str
    made_by: str
    files: dict[str, str]

    def as_input(self) -> dict[str, object]:
        """What `Write.remember` takes."""
        return {_BUILT: self._asdict()}


FORGOTTEN = {_BUILT: None}
"""For `Write.remember`: the next build makes everything again."""


def this_build(lake: Lake, run: str) -> Built:
    """A build by this version of kac, with the operator's files as they are now. OSError."""
    digests = {table: hashlib.sha256(own_file(lake, name) or b"").hexdigest() for table, name in OWN_FILES.items()}
    return Built(run, kac_version(), digests)


def last_build(release: Release) -> Built | None:
    """The last build, where the next one can go on from it; None: all has to be made."""
    known = release.inputs.get(_BUILT)
    return None if known is None or known["made_by"] != kac_version() else Built(**known)


def own_file(lake: Lake, name: str) -> bytes | None:
    """A file that the operator has put into the lake; None: there is none. OSError."""
    try:
        return lake.filesystem.read(lake.path(name))
    except FileNotFoundError:
        return None


def new_files(release: Release, table: str, built: Built) -> list[str]:
    """The files of a table that were written after that build, relative to the lake. Compaction writes files, too: of
    rows with a run's id only those of later runs are new."""
    return [path for path in release.table(TABLES[table]).files if run_of(path) > built.run]


def run_of(path: str) -> str:
    """The run that wrote a file, by its path in the lake: ``data/<table>/v=<run>/…``."""
    return path.split("/")[2].removeprefix("v=")


def nothing_to_build(lake: Lake) -> Report | None:
    """The report of a build that has nothing to make; None where there is something. DamagedLake, OSError."""
    release = lake.current()
    built = last_build(release)
    if built is None or this_build(lake, built.run) != built:
        return None
    return None if any(new_files(release, table, built) for table in TAKEN) else Report(built.run, JOB)
