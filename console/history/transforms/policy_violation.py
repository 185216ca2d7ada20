"""`policy_violation`: what violates or violated a policy, from when until when.

Each policy is judged, for each entity and attribute that it is about, at every change of what it depends on: the value,
whether the entity exists, what it inherits, and what it is compared with. Adjacent times of violation are merged. Of a
hidden value only that it is set is judged. Kafka's own default counts only in clusters that were polled: the metadata
log does not have brokers' files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from console.history.entities import CLUSTER, DEFAULT
from console.history.policy_files import Expected, Policy
from console.history.schema import POLICY_VIOLATION

# -- whether a state violates a policy, as an expression of the columns `live` (how many values are set), `exists`
# (above 0: the entity exists), own, default and brokers (the value; that of the brokers' common default; that of a
# broker), other (what it is compared with), looked_at (whether Kafka's own default may be assumed)


def is_broken(policy: Policy) -> Column:
    """True or false, never empty."""
    is_set = F.col("live") > 0
    judged = (F.col("exists") > 0) if policy.counts_missing else is_set
    expected = policy.expected
    broken = [F.coalesce(each, F.lit(False)) for each in _against(expected, _effective_value(policy))]
    if expected.is_set is not None:
        broken.append(~is_set if expected.is_set else is_set)
    if expected.set_on_one:
        broken.append(~is_set)
    return judged & reduce(or_, broken)


def _effective_value(policy: Policy) -> Column:
    """The value that counts; empty if it is hidden or unknown."""
    own = F.col("own")
    if not policy.counts_missing:
        return own
    inherited = [F.col("default"), F.col("brokers")] if policy.inherits else []
    if policy.default is not None:
        inherited.append(F.when(F.col("looked_at"), F.lit(policy.default)))
    return F.when(F.col("live") > 0, own).otherwise(F.coalesce(*inherited) if inherited else F.lit(None).cast("string"))


def _against(expected: Expected, value: Column) -> list[Column]:
    number = value.try_cast("double")
    endless = F.lit(False) if expected.infinite is None else number == expected.infinite
    found = []
    if expected.at_least is not None:
        found.append(~endless & (number < expected.at_least))
    if expected.at_most is not None:
        found.append(endless | (number > expected.at_most))
    if expected.below is not None:
        found.append(number >= F.col("other").try_cast("double"))
    if expected.one_of:
        found.append(~value.isin(*expected.one_of))
    if expected.none_of:
        found.append(value.isin(*expected.none_of))
    if expected.matches is not None:
        found.append(~value.rlike(expected.matches))
    if expected.matches_not is not None:
        found.append(value.rlike(expected.matches_not))
    return found


# -- what policies depend on, as events of their subjects (an attribute of an entity). An event has `live` and `exists`
# (+1, -1: a value, any value of the entity, began or ended), and each of `STATE` that it changes: a struct of the value
# that counts from then on, empty if it was deleted.

SUBJECT = ("cluster_id", "policy", "entity_key", "attr")
"""policy: its number."""
STATE = ("own", "default", "brokers", "other")
"""The value; that of the brokers' common default; that of a broker; that of the attribute that it is compared with."""

_DELTAS = ("live", "exists")


def policy_events(history: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """SUBJECT, ts, live, exists, STATE, and looked_at: whether a poll of the cluster showed its brokers' files."""
    rows = history.where(F.col("entity_type") != CLUSTER)
    clusters = rows.groupBy("cluster_id").agg(
        F.min("valid_from").alias("first"),
        F.max((F.col("source") == "snapshot") & (F.col("entity_type") == "broker")).alias("looked_at"),
    )
    made = [_values(rows, policies)]
    if any(policy.counts_missing for policy in policies):
        existing = _existing(rows, clusters, policies)
        made.append(existing)
        if any(policy.inherits for policy in policies):
            made.append(_inherited(rows, existing, policies))
    if any(policy.expected.below for policy in policies):
        made.append(_others(rows, policies))
    events = reduce(DataFrame.unionByName, made)
    return events.join(F.broadcast(clusters.select("cluster_id", "looked_at")), on="cluster_id", how="left")


def _values(rows: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """The attributes' own values."""

    def about(policy: Policy) -> Column:
        return _is_entity(policy) & F.col("attr").rlike(policy.acl or policy.attrs.pattern)

    value = F.struct(F.col("new_value").alias("value"))
    return _events(
        _began_and_ended(_with_policies(rows.where(~F.col("is_deleted")), policies, about)).withColumn(
            "entity_key", _whose(policies)
        ),
        live=F.col("delta"),
        own=F.when(F.col("delta") > 0, value),
    )


def _existing(rows: DataFrame, clusters: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """That an entity exists, for policies about entities without a value."""

    def about(policy: Policy) -> Column | None:
        return _is_entity(policy) if policy.counts_missing and not policy.expected.set_on_one else None

    there = _began_and_ended(_with_policies(rows.where(~F.col("is_deleted")), policies, about))
    seen = _events(there.withColumn("attr", _attr(policies)), exists=F.col("delta"))
    named = [
        F.when(
            F.col("cluster_id").rlike(policy.clusters.pattern),
            F.struct(F.lit(number).alias("policy"), F.lit(name).alias("entity_key")),
        )
        for number, policy in enumerate(policies)
        for name in (policy.looked_for[:1] if policy.expected.set_on_one else policy.looked_for)
    ]
    if not named:
        return seen
    always = clusters.select(
        "cluster_id", F.col("first").alias("ts"), F.explode(F.array_compact(F.array(*named))).alias("named")
    ).select("cluster_id", "ts", "named.*")
    return seen.unionByName(_events(always.withColumn("attr", _attr(policies)), exists=F.lit(1)))


def _inherited(rows: DataFrame, existing: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """The brokers' configs, for every subject of a policy that inherits them: those of the common default, and of the
    first broker that has one. A broker inherits from no other."""

    def about(policy: Policy) -> Column | None:
        if policy.inherits is None:
            return None
        inherited = F.col("attr") == policy.inherits
        return inherited & (F.col("entity_key") == DEFAULT) if policy.entity_type == "broker" else inherited

    brokers = rows.where(F.col("entity_type") == "broker")
    first = F.min(F.when(F.col("entity_key") != DEFAULT, F.col("entity_key"))).over(
        Window.partitionBy("cluster_id", "attr")
    )
    sources = brokers.withColumn("first", first).where(
        F.col("entity_key").isin(DEFAULT) | (F.col("entity_key") == F.col("first"))
    )
    told = _with_policies(sources, policies, about).select(
        "cluster_id",
        "policy",
        F.col("valid_from").alias("ts"),
        (F.col("entity_key") == DEFAULT).alias("is_default"),
        F.struct(F.col("new_value").alias("value")).alias("told"),
    )
    subjects = existing.select(*SUBJECT).distinct()
    return _events(
        subjects.join(F.broadcast(told), on=["cluster_id", "policy"], how="inner"),
        default=F.when(F.col("is_default"), F.col("told")),
        brokers=F.when(~F.col("is_default"), F.col("told")),
    )


def _others(rows: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """The values that others are compared with."""

    def about(policy: Policy) -> Column | None:
        below = policy.expected.below
        return None if below is None else _is_entity(policy) & (F.col("attr") == below)

    compared = _with_policies(rows, policies, about).withColumn("attr", _attr(policies))
    value = F.struct(F.col("new_value").alias("value"))
    return _events(compared.withColumn("ts", F.col("valid_from")), other=value)


def _with_policies(rows: DataFrame, policies: Sequence[Policy], about: Callable[[Policy], Column | None]) -> DataFrame:
    """A row for each policy that a row is about, with its number."""
    cases = ((number, about(policy)) for number, policy in enumerate(policies))
    numbers = [F.when(case, F.lit(number)) for number, case in cases if case is not None]
    if not numbers:
        return rows.where(F.lit(False)).withColumn("policy", F.lit(0))
    return rows.withColumn("policy", F.explode(F.array_compact(F.array(*numbers))))


def _began_and_ended(rows: DataFrame) -> DataFrame:
    """A row for the beginning and, if there is one, the end of each value: ts, delta."""
    began = F.struct(F.col("valid_from").alias("ts"), F.lit(1).alias("delta"))
    ended = F.when(F.col("valid_to").isNotNull(), F.struct(F.col("valid_to").alias("ts"), F.lit(-1).alias("delta")))
    return rows.withColumn("at", F.explode(F.array_compact(F.array(began, ended)))).select("*", "at.*")


def _events(rows: DataFrame, **said: Column) -> DataFrame:
    """The columns of events; missing ones are empty."""
    empty = {name: F.lit(None).cast("int") for name in _DELTAS}
    empty |= {name: F.lit(None).cast("struct<value:string>") for name in STATE}
    return rows.select(*SUBJECT, "ts", *(said.get(name, column).alias(name) for name, column in empty.items()))


def _is_entity(policy: Policy) -> Column:
    return (
        (F.col("entity_type") == policy.entity_type)
        & F.col("entity_key").rlike(policy.names.pattern)
        & F.col("cluster_id").rlike(policy.clusters.pattern)
    )


def _attr(policies: Sequence[Policy]) -> Column:
    """The attribute of a policy that is about one."""
    return F.element_at(F.array(*(F.lit((*policy.attrs.exact, "")[0]) for policy in policies)), F.col("policy") + 1)


def _whose(policies: Sequence[Policy]) -> Column:
    """The entity; of a policy that needs one of several entities, always the first."""
    firsts = [policy.names.exact[0] if policy.expected.set_on_one else None for policy in policies]
    named = F.element_at(F.array(*(F.lit(first).cast("string") for first in firsts)), F.col("policy") + 1)
    return F.coalesce(named, F.col("entity_key"))


# -- the table -------------------------------------------------------------------------------------------------------


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
    """The state after each event, until the next."""
    # The frame includes all events of one time.
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
    """One row for each time without a gap in which a policy was violated."""
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
    """A value of each policy, by the number in the column `policy`."""
    return F.element_at(F.array(*(F.lit(of(policy)) for policy in policies)), F.col("policy") + 1)


def _of_each(policies: Sequence[Policy], expression: Callable[[Policy], Column]) -> Column:
    """The expression of the policy whose number is in the column `policy`."""
    first, *others = ((F.col("policy") == number, expression(policy)) for number, policy in enumerate(policies))
    return reduce(lambda made, case: made.when(*case), others, F.when(*first))
