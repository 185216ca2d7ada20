"""`kac lake demo`: creates a lake with the records of a day of three clusters, before the lake's first update.

The day was recorded (`demo_day.tar.xz`, by `python -m tests.support.demo_day`): metadata logs, request logs, a journal,
polls and states, in the layout of a lake. This module unpacks them and shifts their times.
"""

from __future__ import annotations

import re
import shutil
import tarfile
from base64 import b64decode, b64encode
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from gzip import decompress
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from console.collecting.collect import LastStates, Progress
from console.embedded.record_batch import moved_batches
from console.embedded.spec import ClusterSpec, clusters_of
from console.lake.files import LakeError
from console.lake.kraft import LOG_FOLDER
from console.lake.lake import Lake, NoLake
from console.lake.landing import POLLS, Landed, deliver
from console.model.foreign_json import json_as, json_of
from console.model.numbers import json_text
from console.safe_files import PRIVATE, write_whole

DAY = Path(__file__).with_name("demo_day.tar.xz")
DAY_END = datetime(2026, 3, 4, 12, tzinfo=UTC)
"""The end of the recorded day."""
FOLDER = "demo"
"""The name of the folder in the lake that has the clusters' logs, states and journals."""
STATE = "clusters.json"
_MARK = "made-by-kac-lake-demo"
_TIME = re.compile(rb"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)([.,])(\d{3,6})")
"""Matches times in request logs and journals."""


class Demo(NamedTuple):
    """A newly created demo: its lake, the ids of its clusters, and the file from which `kac demo` restores the
    clusters.
    """

    lake: Lake
    clusters: dict[str, str]
    """Name of a cluster -> its id."""
    state: Path
    """The file for the option ``--state`` of ``kac demo``, from which that command restores the clusters."""


def cluster_id_of(name: str) -> str:
    """Return the cluster id of the demo's cluster with this name."""
    return f"{FOLDER}-{name}"


def make(where: str, end: datetime, passed: Progress = lambda *_: None) -> Demo:
    """Create the demo's lake with a day of records that ends at `end`; an earlier demo at this place is deleted.

    Args:
        where: the path of the lake.
        end: the end of the day, with a time zone.
        passed: called after each file with its name, the number of files done, and their total.

    Raises:
        LakeError: another lake is at this place.
        OSError: the disk is full, or a permission is missing.
    """
    lake = new_lake(where)
    root = Path(lake.where)
    (root / FOLDER).mkdir()
    (root / FOLDER / _MARK).touch()
    with tarfile.open(DAY) as day:
        entries = day.getmembers()
        for done, entry in enumerate(entries, 1):
            packed = day.extractfile(entry)
            content = packed.read() if packed is not None else b""
            if entry.name.startswith(POLLS):
                deliver(lake, _moved_polls(content, end - DAY_END), FOLDER)
            else:
                (root / entry.name).parent.mkdir(parents=True, exist_ok=True)
                # Only the owner may read the files: the clusters' states contain credentials.
                write_whole(root / entry.name, _moved(Path(entry.name), content, end - DAY_END), PRIVATE)
            passed(entry.name, done, len(entries))
    names = clusters_of("fleet", ClusterSpec())
    return Demo(lake, {name: cluster_id_of(name) for name in names}, root / FOLDER / STATE)


def new_lake(where: str) -> Lake:
    """Create an empty lake; delete an earlier demo at this place. Raises LakeError if another lake is there, or a
    demo with further clusters.
    """
    with suppress(NoLake):
        former = Lake.open(where)
        if not (Path(former.where) / FOLDER / _MARK).exists():
            raise LakeError(
                f"There is a lake at {former.where} already: choose another folder for the demo with --lake."
            )
        owners = LastStates(former).owners()
        if own := {owner.context for owner in owners.values()} - clusters_of("fleet", ClusterSpec()).keys():
            raise LakeError(
                f"The demo at {former.where} also has polls of {', '.join(sorted(own))}, and would delete "
                "it: choose another folder for the demo with --lake."
            )
        shutil.rmtree(former.where)
    return Lake.create(where)


# -- shifted times ----------------------------------------------------------------------------------------------------


def _moved(path: Path, content: bytes, by: timedelta) -> bytes:
    """Return the content of a recorded file with its times shifted by `by`; a file of a kind without times is
    unchanged.
    """
    if path.parent.name == LOG_FOLDER:
        return moved_batches(content, by)
    if path.match("clusters-*.json"):
        return _moved_state(content, by)
    if path.suffix in (".log", ".jsonl"):
        return _TIME.sub(lambda found: _later(found, by), content)
    return content


def _later(found: re.Match[bytes], by: timedelta) -> bytes:
    text = found[0].decode()
    at = datetime.fromisoformat(text) + by
    return f"{at:%Y-%m-%d}{text[10]}{at:%H:%M:%S}{text[19]}{at.microsecond:06}"[: len(text)].encode()


def _moved_polls(content: bytes, by: timedelta) -> list[Landed]:
    polls = [json_as(line, Landed) for line in decompress(content).splitlines()]
    return [structs.replace(poll, at=poll.at + by // timedelta(microseconds=1)) for poll in polls]


def _moved_state(content: bytes, by: timedelta) -> bytes:
    """Return a cluster's state with the times of its records and of its groups' commits shifted by `by`."""
    state = {**json_of(content)}
    for log in state["logs"]:
        log["records"] = b64encode(moved_batches(b64decode(log["records"]), by)).decode()
    for group in state["groups"]:
        for _place, committed in group["offsets"]:
            committed["at"] += by.total_seconds()
    return json_text(state, separators=(",", ":"), ensure_ascii=False).encode()
