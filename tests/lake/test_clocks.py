"""A wrong time zone of a request log is found by the metadata log, and refused with the one that fits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.lake.app import update
from console.lake.clocks import FURTHEST, fitting_zones, wrong_steps
from console.lake.files import Filesystem, LakeError
from console.lake.inputs import Inputs, MetadataLog, RequestLog
from console.lake.lake import Lake, Report
from console.lake.requests.log_files import QUARTER
from console.lake.runs import Plan, SparkFailed
from tests.lake.lake_tables import held
from tests.lake.request_lines import Logged, alter_configs, log_of
from tests.support.metadata_log import batch, value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Asia/Kathmandu"]
)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@given(ZONES, ZONES, st.lists(st.integers(0, 500), min_size=2, max_size=6, unique=True))
def test_the_zone_that_fits_is_found(true: str, given_zone: str, minutes: list[int]) -> None:
    moments = [NOON + timedelta(minutes=each) for each in minutes]
    shown = [each.astimezone(ZoneInfo(true)).replace(tzinfo=None) for each in moments]
    read = [each.replace(tzinfo=ZoneInfo(given_zone)).astimezone(UTC) for each in shown]
    (steps,) = {(moment - one) // QUARTER for moment, one in zip(moments, read, strict=True)}
    assert abs(steps) <= FURTHEST
    assert true in fitting_zones(given_zone, read, steps)
    assert wrong_steps({steps: len(minutes)}) == (steps or None)


def test_a_few_chances_make_no_zone_wrong() -> None:
    assert wrong_steps({}) is None
    assert wrong_steps({0: 5, 4: 5}) is None
    assert wrong_steps({4: 1}) is None
    assert wrong_steps({0: 20, 4: 55}) is None
    assert wrong_steps({0: 1, 4: 55, 8: 3}) == 4
    assert fitting_zones("Europe/Berlin", [NOON], 4)[0] == "UTC"


@pytest.mark.xdist_group("spark-two")
@pytest.mark.long
def test_a_wrong_zone_is_refused_with_the_one_that_fits(
    spark: SparkSession, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each quarter of an hour somebody sets the same again, which says nothing; and now and then something else. What
    dies between the writing of a batch and its being taken back is refused as well."""
    meta = tmp_path / "meta" / "__cluster_metadata-0"
    meta.mkdir(parents=True)
    (meta.parent / "meta.properties").write_text("cluster.id=c\n")
    records, lines = b"", []
    for number in range(20):
        at = NOON + timedelta(minutes=15 * number)
        changes = [("retention.ms", "1000")] + ([("segment.ms", str(number))] if number % 5 == 0 else [])
        for key, text in changes:
            record = value("ConfigRecord", resourceType=2, resourceName="orders", name=key, value=text)
            records += batch(records.count(b"orders"), [record], stamp_ms=int(at.timestamp() * 1000))
            lines.append(asked(at + timedelta(milliseconds=3), key, text))
    (meta / f"{0:020}.log").write_bytes(records)
    log = tmp_path / "request.log"
    log.write_bytes(log_of(lines))

    def update_as(zone: str) -> Report:
        inputs = Inputs((MetadataLog(str(meta)),), (RequestLog((str(log),), "c", 1, zone),))
        return update(Plan(lake, inputs), lambda: nullcontext(spark))

    monkeypatch.setattr("console.lake.app.check_clocks", dies("before the look at the clocks"))
    with pytest.raises(SparkFailed) as died:
        update_as("UTC")
    assert "died before the look at the clocks" in str(died.value.__cause__)
    monkeypatch.undo()
    assert len(held(lake, "request")) > 0
    for zone, off in (("UTC", "1:00 h earlier"), ("Asia/Kolkata", "4:30 h later")):
        with pytest.raises(LakeError) as refused:
            update_as(zone)
        said = str(refused.value)
        assert f"broker 1 of c is wrong: the metadata log has what 4 of its requests changed {off}" in said
        assert "write timezone: Europe/Berlin in sources.yaml" in said
        assert f"read as {zone}" in said
        assert next(lake.runs())["message"] == said
        assert held(lake, "request") == []
    assert len(held(lake, "kraft_record")) == 24
    remove = Filesystem.remove
    dead = dies("with the checkpoint still there")
    monkeypatch.setattr(
        Filesystem, "remove", lambda files, path: (dead if Path(path).exists() else remove)(files, path)
    )
    with pytest.raises(LakeError) as refused:
        update_as("UTC")
    assert "died with the checkpoint still there" in str(refused.value.__cause__)
    monkeypatch.undo()
    assert held(lake, "request") == []
    assert update_as("Europe/Berlin").taken["request_log"] == {"good": 24, "bad": 0}
    # The metadata log was taken in by the first of these, and gold is made of it once the zones are right.
    for _ in range(2):
        assert sum(row["alter"] is not None for row in held(lake, "request")) == 24
        assert sum(row["lines"] for row in held(lake, "request")) == 24
        found = [row for row in held(lake, "history") if row["attr"] == "segment.ms"]
        assert [(row["new_value"], row["principal"]) for row in sorted(found, key=lambda row: row["valid_from"])] == [
            (str(number), "User:alice") for number in (0, 5, 10, 15)
        ]
        assert update_as("Europe/Berlin").taken == {}


def dies(where: str) -> Callable[..., None]:
    """What raises an error in place of a death."""

    def die(*_: object) -> None:
        raise RuntimeError(f"died {where}")

    return die


def asked(at: datetime, key: str, text: str) -> Logged:
    shown = at.astimezone(ZoneInfo("Europe/Berlin")).replace(tzinfo=None)
    return alter_configs([(key, 0, text)], at=shown, correlation_id=int(at.timestamp()) % 100_000)
