"""The effective quota of many requests at once: the rules of `console.model.quota` as joins.

Limits are pivoted by their lookup key (user and client, user, client, nothing), so that four broadcast equi-joins
resolve all eight levels for all quota keys. Each row of these holds for a time, and the join takes the one that held
when the request ended.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from console.history.entities import DEFAULT, POLL_SOURCES
from console.history.schema import USAGE_KEYS
from console.model.quota import DEFAULT_CLIENT_LEVELS

_LEVELS_BY_LOOKUP: dict[tuple[str, ...], tuple[int, ...]] = {
    ("cluster_id", "user", "client_id"): (1,),
    ("cluster_id", "user"): (2, 3),
    ("cluster_id", "client_id"): (4, 7),
    ("cluster_id",): (5, 6, 8),
}
_LEVELS = tuple(range(1, 9))
_USER, _CLIENT = "user=", "client-id="
_OF_CLIENTS = f"^({_USER}[^,]*|({_USER}[^,]*,)?{_CLIENT}[^,]+)$"
"""A client without an id falls under no limit of client ids, so a limit of an empty client id applies to no client."""
_LONG = 1 << 20
_BEGINNING = "0001-01-01 00:00:00"
_END = "9999-12-31 00:00:00"
_TAKEN_AWAY = float("nan")
"""Spark treats NaN as equal to itself, and no broker accepts it as a limit."""


def with_first_poll(rows: DataFrame, history: DataFrame) -> DataFrame:
    """`rows`, some of `history`, with `first_poll`: the first time of a poll of the cluster, or of a snapshot of its
    log. What that shows was there before, since an unknown time."""
    looks = history.where(F.col("source").isin(*POLL_SOURCES)).groupBy("cluster_id")
    first = looks.agg(F.min("valid_from").alias("first_poll"))
    return rows.join(F.broadcast(first), on="cluster_id", how="left")


def since_before() -> Column:
    """Whether a row of `with_first_poll` may have held before anything was known."""
    return F.coalesce(F.col("source").isin(*POLL_SOURCES) & (F.col("valid_from") == F.col("first_poll")), F.lit(False))


def quota_values(history: DataFrame) -> DataFrame:
    """Limits by level and time, from history's rows: cluster_id, user, client_id (empty if the entity has none or its
    default), level, attr, value (empty: deleted) and valid_from, the time until the next of the same.

    What the first poll of a cluster shows was set before it, at an unknown time.
    """
    is_limit = (F.col("entity_type") == "quota") & F.col("attr").isin(*USAGE_KEYS)
    rows = with_first_poll(history.where(is_limit & F.col("entity_key").rlike(_OF_CLIENTS)), history)
    return rows.select(
        "cluster_id",
        _user().alias("user"),
        _client().alias("client_id"),
        _level().alias("level"),
        "attr",
        F.when(~F.col("is_deleted"), F.col("new_value").try_cast("double")).alias("value"),
        F.when(since_before(), F.lit(_BEGINNING).cast("timestamp")).otherwise(F.col("valid_from")).alias("valid_from"),
    )


def limits_by_lookup(values: DataFrame) -> tuple[DataFrame, ...]:
    """The lookup tables of `effective_quotas`, from the result of `quota_values`: one for each lookup key."""
    return tuple(
        _by_time(values.where(F.col("level").isin(*levels)), lookup, levels, _limits(levels))
        for lookup, levels in _LEVELS_BY_LOOKUP.items()
    )


def effective_quotas(uses: DataFrame, limits: Sequence[DataFrame], at: str) -> DataFrame:
    """The rows of `uses` and, for each quota key, the limit in a column of its name (bytes/s or %), and its level in
    one of its name and `_level`; empty if nothing limits it.

    uses: cluster_id, user, client_id and a timestamp named `at`. limits: the result of `limits_by_lookup`.
    """
    joined = uses
    for (lookup, levels), table in zip(_LEVELS_BY_LOOKUP.items(), limits, strict=True):
        same = (f"u.{name} = l.{name}" for name in lookup)
        during = f"u.{at} >= l.valid_from AND u.{at} < l.valid_to"
        joined = (
            joined.alias("u")
            .join(F.broadcast(table).alias("l"), on=F.expr(" AND ".join([*same, during])), how="left")
            .select("u.*", f"l.{_limits(levels)}")
        )
    return joined.selectExpr(*uses.columns, *(_first_of(key) for key in USAGE_KEYS), *map(_level_of, USAGE_KEYS))


def _by_time(values: DataFrame, lookup: tuple[str, ...], levels: tuple[int, ...], name: str) -> DataFrame:
    """The times in which no limit of a lookup changes, with a struct of the limits of each level and key."""
    in_time = Window.partitionBy(*lookup).orderBy("valid_from")
    # The frame includes all rows of one time; the last of them is kept.
    so_far = in_time.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    until = F.coalesce(F.lead("valid_from").over(in_time), F.lit(_END).cast("timestamp"))
    slots = {_slot(key, level): _change(key, level) for level in levels for key in USAGE_KEYS}
    held = values.select(
        *lookup,
        "valid_from",
        until.alias("valid_to"),
        *(F.last(change, ignorenulls=True).over(so_far).alias(slot) for slot, change in slots.items()),
    ).where(F.col("valid_from") < F.col("valid_to"))
    there = F.struct(*(F.nullif(F.col(slot), F.lit(_TAKEN_AWAY)).alias(slot) for slot in slots))
    return held.select(*lookup, "valid_from", "valid_to", there.alias(name))


def _change(key: str, level: int) -> Column:
    """The limit that begins, NaN if it is deleted; empty if the row is about another level or key."""
    mine = (F.col("level") == level) & (F.col("attr") == key)
    return F.when(mine, F.coalesce(F.col("value"), F.lit(_TAKEN_AWAY)))


# SQL text is one call of Java instead of hundreds; it is flat, since a Java method that is too long is never compiled.


def _first_of(key: str) -> str:
    """The limit of the most specific level."""
    return f"coalesce({', '.join(_limit(key, level) for level in _LEVELS)}) AS {key}"


def _level_of(key: str) -> str:
    """Its level."""
    cases = (f"WHEN {_limit(key, level)} IS NOT NULL THEN {level}" for level in _LEVELS)
    return f"CASE {' '.join(cases)} END AS {key}_level"


def _limit(key: str, level: int) -> str:
    limits = next(_limits(levels) for levels in _LEVELS_BY_LOOKUP.values() if level in levels)
    limit = f"{limits}.{_slot(key, level)}"
    return f"if(client_id <> '', {limit}, NULL)" if level in DEFAULT_CLIENT_LEVELS else limit


def _limits(levels: Sequence[int]) -> str:
    """The column of a lookup's limits."""
    return f"limits_{levels[0]}"


def _slot(key: str, level: int) -> str:
    return f"{key}_{level}"


# Names are escaped, so they have no `,`, `=` and `<`, and `user` comes first: simple text functions suffice, which are
# many times faster than a map of the parts.


def _level() -> Column:
    key = F.col("entity_key")
    default_user, default_client = key.startswith(f"{_USER}{DEFAULT}"), key.endswith(f"{_CLIENT}{DEFAULT}")
    return (
        F.when(~key.contains(_CLIENT), F.when(default_user, 6).otherwise(3))
        .when(~key.startswith(_USER), F.when(default_client, 8).otherwise(7))
        .when(default_user, F.when(default_client, 5).otherwise(4))
        .otherwise(F.when(default_client, 2).otherwise(1))
    )


def _user() -> Column:
    first = F.substring_index("entity_key", ",", 1)
    return F.when(F.col("entity_key").startswith(_USER), _name(F.substring(first, len(_USER) + 1, _LONG)))


def _client() -> Column:
    return F.when(F.col("entity_key").contains(_CLIENT), _name(F.substring_index("entity_key", _CLIENT, -1)))


def _name(spelled: Column) -> Column:
    """A name without its escapes; url_decode would take + for a space."""
    plain = F.try_url_decode(F.replace(spelled, F.lit("+"), F.lit("%2B")))
    return F.when(spelled != DEFAULT, F.when(spelled.contains("%"), plain).otherwise(spelled))
