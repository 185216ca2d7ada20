"""Tests of `kac lake run`: a change is soon in the table `history`, a failing source is reported once while the others
continue, and logs may be rotated.
"""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.lake.app import run, update
from console.lake.lake import Lake
from console.lake.runs import is_behind
from console.lake.schema import TABLES
from tests.lake.lake_tables import gold_of, held, unequal
from tests.lake.small_site import Site, new_lake
from tests.support.patience import LONG_PATIENCE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

_BETWEEN_POLLS = 0.5
"""Seconds between two checks of a condition, in which the run can use the processor."""


class Running:
    """A run of the lake in a thread. told: the lines that it printed."""

    def __init__(self, site: Site, lake: Lake, spark: SparkSession) -> None:
        self.site, self.lake = site, lake
        self.told: list[str] = []
        self._stop = threading.Event()
        self._failed: list[BaseException] = []
        self._spark = spark
        self._thread = threading.Thread(target=self._run, name="run")
        self._seen: list[int] = []

    def _run(self) -> None:
        try:
            run(self.site.plan(self.lake), lambda: nullcontext(self._spark), self.told.append, self._stop)
        except BaseException as wrong:  # noqa: BLE001 - raised where it is waited for
            self._failed.append(wrong)

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Let the run work until the end of the block. Raises AssertionError if it then does not stop within
        `LONG_PATIENCE` seconds, or has failed.
        """
        self._thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join(LONG_PATIENCE)
        assert not self._thread.is_alive()
        assert self._failed == []

    def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait until `holds` returns true. Raises AssertionError after `LONG_PATIENCE` seconds, or if the run has
        ended.
        """
        limit = time.monotonic() + LONG_PATIENCE
        while not holds():
            assert self._thread.is_alive(), f"the run has ended before {what}: {self._failed}"
            assert time.monotonic() < limit, f"not {what}: {self.site.problems(self.lake)}, {self.told}"
            time.sleep(_BETWEEN_POLLS)

    def has_all(self) -> None:
        """Wait until bronze has all data of the site exactly once, and gold is built from all of bronze. Raises
        AssertionError if the last change is not in the table `history`.
        """
        self.has_read_all()
        self.until(lambda: not is_behind(self.lake), "gold has all of bronze")
        assert str(self.site.rounds * 1000) in self.retentions(), "the last change is in history"

    def has_read_all(self) -> None:
        """Wait until bronze has all data of the site exactly once."""
        self._seen = []
        self.until(lambda: self._is_written() and not self.site.problems(self.lake), "bronze is whole")

    def _is_written(self) -> bool:
        """Return whether any table has a new version since the last call. To compare versions takes less time than to
        read all tables.
        """
        before, self._seen = self._seen, [self.lake.version(table) for table in TABLES.values()]
        return before != self._seen

    def retentions(self) -> list[str]:
        """Return the values of the topic's retention.ms in the table `history`."""
        rows = held(self.lake, "history")
        return [row["new_value"] for row in rows if (row["entity_key"], row["attr"]) == ("orders", "retention.ms")]


@pytest.mark.long
def test_a_run_goes_on_whatever_happens_to_its_logs(spark: SparkSession, tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    running = Running(site, new_lake(tmp_path / "lake"), spark)
    site.go_on(running.lake)
    with running.going_on():
        running.has_read_all()

        # The request log is rotated and compressed while it is written.
        site.go_on(running.lake)
        old = site.request_log.with_suffix(".log.1")
        site.request_log.rename(old)
        site.go_on(running.lake)
        running.has_read_all()
        packed = old.with_suffix(".1.gz")
        whole = gzip.compress(old.read_bytes())
        (tmp_path / "packing").write_bytes(whole)
        (tmp_path / "packing").rename(packed)
        old.unlink()

        # A metadata log that can't be read is reported once, and the other sources continue.
        hidden = site.log.with_name("hidden")
        site.log.rename(hidden)
        running.until(lambda: any(line.startswith("kraft_log: ") for line in running.told), "line about the log")
        running.until(lambda: "kraft_log: " in str(next(running.lake.runs())["message"]), "failure in the run's report")
        taken = len(held(running.lake, "request"))
        site.segment = hidden / site.segment.name
        site.go_on(running.lake)
        running.until(lambda: len(held(running.lake, "request")) > taken, "request logs are read all the same")
        hidden.rename(site.log)
        site.segment = site.log / site.segment.name
        running.has_all()
        running.until(lambda: "kraft_log: it works again" in running.told, "line that it works again")
        running.until(lambda: next(running.lake.runs())["message"] is None, "report without the failure")
        of_log = [line for line in running.told if line.startswith("kraft_log: ") and "kraft_log: read " not in line]
        assert len(of_log) == 2, of_log
        assert str(site.log) in of_log[0]

        # Data that were read may be deleted: a compressed file, the lines of the file, and the file.
        packed.unlink()
        site.request_log.write_bytes(b"")
        site.go_on(running.lake)
        running.has_read_all()
        site.request_log.unlink()
        site.go_on(running.lake)
        running.has_all()
    before = gold_of(running.lake)
    report = update(site.plan(running.lake), lambda: nullcontext(spark))
    assert report.taken == {}, "the run has left nothing"
    assert unequal(before, gold_of(running.lake)) == ""
