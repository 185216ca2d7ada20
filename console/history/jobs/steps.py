"""Which transform makes which table of which; a transform is imported when its table is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from ..store import Lake

if TYPE_CHECKING:  # a small build starts no Spark
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Step:
    """How one table is made. make: gets Spark, the lake, and the DataFrames of `reads` in their order; None: it is made
    without Spark, or by it where there is much (`build`)."""

    table: str
    reads: tuple[str, ...] = ()
    make: Callable[..., DataFrame] | None = None


def _transform(module: str, function: str) -> Callable[..., DataFrame]:
    """The function that makes a table. Its module is imported when it is called."""

    def make(_: SparkSession, __: Lake, *reads: object) -> DataFrame:
        made: DataFrame = getattr(import_module(module), function)(*reads)
        return made

    return make


STEPS = (
    Step("change_event"),
    Step("history"),
    Step("drift"),
    Step("quota_usage", ("request_1s", "history"), _transform("console.history.transforms.quota_usage", "quota_usage")),
    Step("policy_violation"),
)
"""In the order in which one needs the other."""
