"""Which transform makes which table of which; a transform is imported when its table is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from pyspark.sql import DataFrame, SparkSession

from console.history.jobs.plan_build import own_file
from console.history.jobs.record import UnreadableInput

from ..store import Lake


@dataclass(frozen=True)
class Source:
    """A table that a step reads. cut: in a build since some time, rows before that time may be left out."""

    table: str
    cut: bool = False


@dataclass(frozen=True)
class Step:
    """How one table is made. make: gets Spark, the lake, and the DataFrames of `reads` in their order."""

    table: str
    reads: tuple[Source, ...]
    make: Callable[..., DataFrame]


def _transform(module: str, function: str) -> Callable[..., DataFrame]:
    """The function that makes a table. Its module is imported when it is called."""

    def make(_: SparkSession, __: Lake, *reads: object) -> DataFrame:
        made: DataFrame = getattr(import_module(module), function)(*reads)
        return made

    return make


def _drift(spark: SparkSession, lake: Lake, history: DataFrame, snapshot: DataFrame) -> DataFrame:
    from console.history.policy_files import BASELINE_FILE, read_baseline
    from console.model.yaml_places import FileProblem

    text = _text(own_file(lake, BASELINE_FILE))
    try:
        baseline = () if text is None else read_baseline(text, lake.path(BASELINE_FILE))
    except FileProblem as wrong:
        raise UnreadableInput(str(wrong)) from wrong
    return _transform("console.history.transforms.drift", "drift")(spark, lake, history, snapshot, baseline)


def _policy_violation(spark: SparkSession, lake: Lake, history: DataFrame) -> DataFrame:
    from console.history.policy_files import POLICIES_FILE, default_policies, read_policies
    from console.model.yaml_places import FileProblem

    text = _text(own_file(lake, POLICIES_FILE))
    try:
        policies = default_policies() if text is None else read_policies(text, lake.path(POLICIES_FILE))
    except FileProblem as wrong:
        raise UnreadableInput(str(wrong)) from wrong
    return _transform("console.history.transforms.policy_violation", "policy_violation")(spark, lake, history, policies)


def _text(own: bytes | None) -> str | None:
    return None if own is None else own.decode("utf-8-sig")


STEPS = (
    Step(
        "change_event",
        (Source("kraft_record"), Source("snapshot"), Source("journal"), Source("alter_request")),
        _transform("console.history.transforms.change_event", "change_event"),
    ),
    Step(
        "history",
        (Source("change_event"), Source("snapshot")),
        _transform("console.history.transforms.history", "history"),
    ),
    Step("drift", (Source("history"), Source("snapshot")), _drift),
    Step(
        "quota_usage",
        (Source("request_1s", cut=True), Source("history")),
        _transform("console.history.transforms.quota_usage", "quota_usage"),
    ),
    Step("policy_violation", (Source("history"),), _policy_violation),
)
"""In the order in which one needs the other."""
