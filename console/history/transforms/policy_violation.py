"""What is or was against a policy, from when until when.

Each policy, on each entity and attribute that it is about, is judged anew whenever something changes that it looks at:
the value, whether the entity is there, what it inherits, and what it is compared with. Times in which it was broken are
put together where they touch. Of a value that is hidden only that it is set is known: nothing else is held against it.
Kafka's own default counts only in clusters that were looked at: the metadata log does not have brokers' files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..policies.rules import Policy
from ..schema.gold import POLICY_VIOLATION
from .policy_checks import is_broken
from .policy_events import STATE, SUBJECT, policy_events


def policy_violation(history: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """POLICY_VIOLATION's rows. history: the table of that name."""
    if not policies:
        empty = (F.lit(None).cast(column.type).alias(column.name) for column in POLICY_VIOLATION.columns)
        return history.where(F.lit(False)).select(*empty)
    states = _states(policy_events(history, policies))
    broken = _of_each(policies, is_broken)
    shown = _constant(policies, lambda policy: policy.show_actual)
    judged = states.withColumn("broken", broken).withColumn("actual", F.when(shown & (F.col("live") > 0), F.col("own")))
    return (
        _together(judged)
        .select(
            "cluster_id",
            _constant(policies, lambda policy: policy.id).alias("policy_id"),
            F.concat(_constant(policies, lambda policy: f"{policy.entity_type}:"), F.col("entity_key")).alias(
                "entity_key"
            ),
            "attr",
            "actual",
            _constant(policies, lambda policy: policy.expected_words or policy.expected.words).alias("expected"),
            _constant(policies, lambda policy: policy.severity).alias("severity"),
            "first_seen",
            "last_seen",
        )
        .select(*POLICY_VIOLATION.names)
    )


def _states(events: DataFrame) -> DataFrame:
    """What held after each event, until the next."""
    # The frame has all events of one time in it.
    so_far = Window.partitionBy(*SUBJECT).orderBy("ts").rangeBetween(Window.unboundedPreceding, Window.currentRow)
    following = Window.partitionBy(*SUBJECT).orderBy("ts")
    return events.select(
        *SUBJECT,
        "looked_at",
        "ts",
        F.lead("ts").over(following).alias("until"),
        F.coalesce(F.sum("live").over(so_far), F.lit(0)).alias("live"),
        F.coalesce(F.sum("exists").over(so_far), F.lit(0)).alias("exists"),
        *(F.last(name, ignorenulls=True).over(so_far)["value"].alias(name) for name in STATE),
    ).where(F.col("until").isNull() | (F.col("until") > F.col("ts")))


def _together(judged: DataFrame) -> DataFrame:
    """One row for each time without a gap in which something was broken."""
    in_time = Window.partitionBy(*SUBJECT).orderBy("ts")
    began = F.col("broken") & ~F.coalesce(F.lag("broken").over(in_time), F.lit(False))
    numbered = judged.withColumn("began", began.cast("int")).withColumn("time", F.sum("began").over(in_time))
    return (
        numbered.where(F.col("broken"))
        .groupBy(*SUBJECT, "time")
        .agg(
            F.min("ts").alias("first_seen"),
            F.when(F.count("until") == F.count("*"), F.max("until")).alias("last_seen"),
            F.max_by("actual", "ts").alias("actual"),
        )
    )


def _constant(policies: Sequence[Policy], of: Callable[[Policy], str | bool]) -> Column:
    """What each policy says, by the number in the column `policy`."""
    return F.element_at(F.array(*(F.lit(of(policy)) for policy in policies)), F.col("policy") + 1)


def _of_each(policies: Sequence[Policy], expression: Callable[[Policy], Column]) -> Column:
    """The expression of the policy whose number is in the column `policy`."""
    first, *others = ((F.col("policy") == number, expression(policy)) for number, policy in enumerate(policies))
    return reduce(lambda made, case: made.when(*case), others, F.when(*first))
