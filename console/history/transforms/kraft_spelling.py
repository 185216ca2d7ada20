"""`console.history.entities` in Spark's words: the one spelling of entities, for columns of metadata records."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from ..entities import CONFIG_TYPES, DEFAULT
from ..kafka_codes import OPERATIONS, PATTERN_TYPES, PERMISSIONS, RESOURCE_TYPES

_ESCAPED = r"[%,=:<>\x00-\x1f\x7f]"
_EXACT = 1e18
"""Whole doubles below this fit in 64 bits."""


def named(names: Mapping[int, str], code: Column) -> Column:
    """A code's name; `UNKNOWN(n)` where it has none."""
    found = F.lit(None).cast("string")
    for number, name in names.items():
        found = F.when(code == number, F.lit(name)).otherwise(found)
    return F.coalesce(found, F.concat(F.lit("UNKNOWN("), code.cast("string"), F.lit(")")))


def config_type(code: Column) -> Column:
    """The type of what a config belongs to, of Kafka's number."""
    return named(CONFIG_TYPES, code)


def config_key(entity_type: Column, name: Column) -> Column:
    """The key of what a config belongs to."""
    return F.when((entity_type == "broker") & (name == ""), F.lit(DEFAULT)).otherwise(name)


def quota_key(parts: Column) -> Column:
    """The key of a quota's entity. parts: an array of structs of entityType and entityName (empty: the default)."""
    rank = {"user": "0", "client-id": "1", "ip": "2"}

    def part(each: Column) -> Column:
        type_, name = each["entityType"], each["entityName"]
        order = F.lit("3")
        for known, place in rank.items():
            order = F.when(type_ == known, F.lit(place)).otherwise(order)
        text = F.concat(type_, F.lit("="), F.when(name.isNull(), F.lit(DEFAULT)).otherwise(escaped(name)))
        return F.struct(order.alias("order"), text.alias("text"))

    return F.array_join(F.transform(F.array_sort(F.transform(parts, part)), lambda each: each["text"]), ",")


def quota_value(text: Column) -> Column:
    """A quota's value as text: a whole number has no point."""
    number = text.try_cast("double")
    whole = (number == F.floor(number)) & (F.abs(number) < _EXACT)
    return F.when(whole, number.try_cast("bigint").cast("string")).otherwise(text)


def acl_key(resource_type: Column, pattern_type: Column, name: Column) -> Column:
    """The key of what ACLs are upon, of Kafka's numbers and the name."""
    return F.concat_ws(":", named(RESOURCE_TYPES, resource_type), named(PATTERN_TYPES, pattern_type), escaped(name))


def acl_attr(permission: Column, operation: Column, principal: Column, host: Column) -> Column:
    """An ACL upon its resource, of Kafka's numbers and the names."""
    by_whom = F.concat(named(PERMISSIONS, permission), F.lit(" "), named(OPERATIONS, operation), F.lit(" "), principal)
    return F.concat(by_whom, F.lit(" from "), host)


def escaped(name: Column) -> Column:
    """A name as it stands in keys; all that is escaped is ASCII."""

    def spelled(each: Column) -> Column:
        return F.when(each.rlike(_ESCAPED), F.concat(F.lit("%"), F.hex(F.encode(each, "UTF-8")))).otherwise(each)

    letters = F.transform(F.split(name, ""), spelled)
    return F.when(name.rlike(_ESCAPED), F.array_join(letters, "")).otherwise(name)
