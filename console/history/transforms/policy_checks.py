"""Whether a state is against a policy, as an expression.

Of the columns `live` (how many values are set), `exists` (above 0: the entity is there), own, default and brokers (the
value, the one of the brokers' common default, the one of a broker), other (what it is compared with), looked_at
(whether Kafka's own default may be assumed).
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from ..policies.rules import Expected, Policy


def is_broken(policy: Policy) -> Column:
    """True or false, never empty."""
    is_set = F.col("live") > 0
    judged = (F.col("exists") > 0) if policy.counts_missing else is_set
    expected = policy.expected
    broken = [F.coalesce(each, F.lit(False)) for each in _against(expected, _value(policy))]
    if expected.is_set is not None:
        broken.append(~is_set if expected.is_set else is_set)
    if expected.set_on_one:
        broken.append(~is_set)
    return judged & reduce(or_, broken)


def _value(policy: Policy) -> Column:
    """What holds; empty where it is hidden or unknown."""
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
