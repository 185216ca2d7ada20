"""Contents of the lake as text: entities, values, authors and their certainty, age of data, rates over time. The texts
are untrusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

from console.lake import entities
from console.model.authorizer import WILDCARD
from console.model.half_hour import EVERY, MOST_THROTTLED
from console.plan.amounts import duration, measured_rate, quota
from console.present.names import named
from console.present.text import clean
from console.present.values import config_value

if TYPE_CHECKING:
    from console.lake import reader
    from console.lake.denials import Denied

NOTHING = "–"
FIRST_SEEN = "first seen"
"""Text in place of the unknown old value of a change that the first poll of a cluster found."""
_NAMED = 5
"""Maximum number of clusters listed in a line."""
HIDDEN = "······"
REDACTED = "[hidden]"
"""The text that replaces a secret in tables that compare values (console.lake.redact)."""

HOW_SURE = {
    "request": ("R", "one request fits in time and content"),
    "journal": ("J", "kac's own journal says so"),
    "several": ("?", "several requests fit: all are named"),
    "none": ("-", "no source says who"),
}
"""The source from which the author of a change is known -> a letter, and a text about the source."""
LEVELS = (
    "(user, client)",
    "(user, default client)",
    "user",
    "(default user, client)",
    "(default user, default client)",
    "default user",
    "client",
    "default client",
)
"""The names of the levels at which a quota can be set, the most specific first."""
SEVERITIES = {"high": ("H", "danger"), "medium": ("M", "pending"), "low": ("L", "muted")}
"""Severity -> a letter, and the meaning of its colour."""
BARS = "▁▂▃▄▅▆▇█"


def entity_text(type_: str, key: str) -> str:
    """Return an entity's name: ``topic orders``, ``broker <default>``, ``user alice client checkout``, ``acl topic
    orders``.

    Args:
        type_: the entity's type, as the tables of the lake spell it.
        key: the entity's key, in the form of `console.lake.entities`.
    """
    match type_:
        case "quota":
            parts = entities.quota_parts(key).items()
            return " ".join(f"{'client' if part == 'client-id' else clean(part)} {named(name)}" for part, name in parts)
        case "acl" if key.count(":") >= 2:
            resource, pattern, name = entities.acl_resource(key)
            prefixed = " prefixed" if pattern == "PREFIXED" else ""
            return f"acl {clean(resource).lower()} {clean(name)}{prefixed}"
        case "cluster":
            return "cluster"
        case _:
            return f"{clean(type_)} {clean(key)}"


def resource_text(denied: Denied) -> str:
    """Return the resource to which access was denied: ``topic orders``, ``transactional-id pay``, ``any topic``,
    ``cluster``.
    """
    word = clean(denied.resource_type).lower().replace("_", "-")
    if denied.resource_name == WILDCARD:
        return f"any {word}"
    return word if word == "cluster" else f"{word} {clean(denied.resource_name)}"


def typed_text(entity_key: str) -> str:
    """Return the name of an entity, ``topic orders``, from its form ``topic:orders`` in the tables `drift` and
    `policy_violation`.
    """
    type_, _, key = entity_key.partition(":")
    return entity_text(type_, key)


def attr_text(attr: str) -> str:
    """Return an attribute's name. The name of an attribute that is not a config begins with a colon, which is
    removed.
    """
    return clean(attr.removeprefix(":"))


def value_text(type_: str, attr: str, value: str | None) -> str:
    """Return a value; if the key has a unit, also with that: ``604800000 (7 d)``.

    Args:
        type_: the type of the entity: a quota is shown in its key's unit.
        attr: a config's key, or ``:name`` for other attributes.
        value: the value; None for a missing value, shown as a dash. A redacted value becomes dots.
    """
    if value is None:
        return NOTHING
    if value == REDACTED:
        return HIDDEN
    if type_ == "quota":
        try:
            return quota(attr, float(value))
        except ValueError:
            return clean(value)
    human = config_value(attr, value) if type_ in ("topic", "broker") and not attr.startswith(":") else ""
    return f"{clean(value)} ({human})" if human else clean(value)


class Sides(NamedTuple):
    """The old and new value of a change as text."""

    old: str
    new: str
    hidden: bool
    """Whether the values are secrets, which the lake does not contain."""


def sides(change: reader.Change) -> Sides:
    """Return the old and new value of a change; dots if they are secrets."""
    hidden = is_hidden(change)
    old = value_text(change.entity_type, change.attr, change.old_value)
    if change.is_deleted:
        return Sides(HIDDEN if hidden else old, "deleted", hidden)
    new = HIDDEN if hidden else value_text(change.entity_type, change.attr, change.new_value)
    return Sides(HIDDEN if hidden else old, new, hidden)


def is_hidden(change: reader.Change) -> bool:
    """Return whether the values of a change are secrets. The lake has no value of a secret, only that it is set."""
    # Facts about entities (`:partitions`) and ACLs are no configs: no broker hides their values.
    if change.attr.startswith(":") or change.entity_type == "acl":
        return False
    told = change.old_value if change.is_deleted else change.new_value
    return told is None or REDACTED in (change.old_value, change.new_value)


def who_text(principal: str | None) -> str:
    """Return the authors that a change may have, ``alice`` or ``alice or bob``, without the type User; a dash for
    None.
    """
    if principal is None:
        return NOTHING
    return " or ".join(clean(each.removeprefix("User:")) for each in principal.split(", "))


def how_sure(change: reader.Change) -> tuple[str, str]:
    """Return a letter and a text for the source from which the author of a change is known. If there is no author,
    or kac does not know the source, return those of the source ``none``.
    """
    named = change.attribution if change.principal is not None else "none"
    return HOW_SURE.get(named, HOW_SURE["none"])


def level_text(level: int | None) -> str:
    """Return the name of the level at which a quota is set, from 1 to 8; ``no quota`` for None and other numbers."""
    return LEVELS[level - 1] if level is not None and 1 <= level <= len(LEVELS) else "no quota"


def pair_text(pair: reader.Pair | reader.ThrottledMinute) -> str:
    """Return a user and a client id as ``alice / checkout``; ``*`` for all."""
    user = "*" if pair.scope_user is None else _pair_name(pair.scope_user)
    client = "*" if pair.scope_client is None else _pair_name(pair.scope_client)
    return f"{user} / {client}"


def usage_by_minute(minutes: Iterable[reader.ThrottledMinute]) -> Mapping[str, Mapping[int, float]]:
    """Return the throttled requests of the pairs of user and client id that were throttled most.

    Returns:
        Text of a pair -> number of a time slot -> throttled requests per minute. The text has the highest percentage of
        the quota, if it is known.
    """
    found: dict[str, dict[int, float]] = {}
    highest: dict[str, float] = {}
    slots = 60 // EVERY
    for each in minutes:
        name = pair_text(each)
        first = int(each.minute.timestamp()) // EVERY
        found.setdefault(name, {}).update(dict.fromkeys(range(first, first + slots), float(each.requests)))
        highest[name] = max(highest.get(name, 0.0), each.utilisation or 0.0)
    most = nlargest(MOST_THROTTLED, found, key=lambda name: max(found[name].values()))
    return {
        f"{name}{f' {100 * highest[name]:.0f} % of quota' if highest[name] else ''} by lake": found[name]
        for name in most
    }


def _pair_name(name: str) -> str:
    return clean(name) if name else "''"


def local(at: datetime, now: datetime) -> str:
    """Return a local time: ``14:02`` if it is today, ``11-20 14:02`` if it is this year, else with the year."""
    here, today = at.astimezone(), now.astimezone()
    if here.date() == today.date():
        return f"{here:%H:%M}"
    return f"{here:%m-%d %H:%M}" if here.year == today.year else f"{here:%Y-%m-%d %H:%M}"


def fresh_text(fresh: reader.Freshness, now: datetime) -> str:
    """Return the age of the tables: ``as of 14:02, built 14:05 by run 20261121T140455Z-3f9a1c``; another text if they
    have no data of the cluster, or the cluster was never polled.
    """
    if fresh.built is None:
        return "nothing of this cluster"
    seen = f"as of {local(fresh.as_of, now)}" if fresh.as_of is not None else "not polled"
    return f"{seen}, built {local(fresh.built, now)}{_by(fresh.run)}"


def _by(run: str | None) -> str:
    return "" if run is None else f" by run {clean(run, 40)}"


def fleet_text(fresh: reader.FleetFreshness, now: datetime) -> str:
    """Return the age of the tables of all clusters: ``100 clusters: as of 14:02, built 14:05; the oldest is prod-7 as
    of 13:10; not polled now: prod-7``.
    """
    if fresh.as_of is None or fresh.built is None or fresh.oldest is None:
        return f"{fresh.clusters:,} clusters: not polled"
    told = f"{fresh.clusters:,} clusters: as of {local(fresh.as_of, now)}, built {local(fresh.built, now)}"
    told += _by(fresh.run)
    told += f"; the oldest is {clean(fresh.oldest_cluster)} as of {local(fresh.oldest, now)}"
    if fresh.unpolled:
        more = f" and {len(fresh.unpolled) - _NAMED:,} more" if len(fresh.unpolled) > _NAMED else ""
        told += f"; not polled now: {', '.join(map(clean, fresh.unpolled[:_NAMED]))}{more}"
    return told


def gap_text(gap: reader.Gap, now: datetime) -> str:
    """Return a range of time without polls: ``unobserved 09:00–10:00``."""
    until = local(gap.until, now) if gap.until is not None else "now"
    return f"unobserved {local(gap.since, now)}–{until}"


def rate_text(key: str, value: float | None, limit: float | None = None) -> str:
    """Return a measured rate in the unit of its quota; a dash for None, an unknown rate.

    Args:
        key: the key of the quota.
        limit: the limit with which the rate is compared; None if there is none.
    """
    return NOTHING if value is None else measured_rate(key, value, limit)


def limit_text(usage: reader.Usage) -> str:
    """Return the effective quota with its unit; a dash if there is none."""
    return NOTHING if usage.quota_value is None else quota(usage.pair.quota_key, usage.quota_value)


def waited(usage: reader.Usage) -> str:
    """Return the total time for which clients were throttled; ``""`` for 0."""
    return duration(usage.throttle_ms).removeprefix("≈ ") if usage.throttle_ms else ""


def spark(series: Sequence[tuple[datetime, float]], width: int, top: float | None = None) -> str:
    """Return a series as a row of bars, one for each of equal parts of the time; a bar is as high as the highest value
    in its part.

    Args:
        series: times and values, the earliest first.
        width: maximum number of bars, each one cell; there are no more bars than values.
        top: the value of a full bar; None, or a value below the highest, for the highest.

    Returns:
        The bars, with a blank for a part without a value; ``""`` without values.
    """
    if not series or width < 1:
        return ""
    begin, end = series[0][0].timestamp(), series[-1][0].timestamp()
    count = min(width, len(series))
    step = (end - begin) / count if end > begin else 1.0
    parts: list[float | None] = [None] * count
    for at, rate in series:
        place = min(count - 1, int((at.timestamp() - begin) / step))
        # Take the highest value of each part: a mean would hide a short peak.
        parts[place] = max(rate, parts[place] or 0.0)
    most = max(top or 0.0, *(rate for _, rate in series))
    return "".join(" " if part is None else BARS[_height(part, most, len(BARS))] for part in parts)


def _height(rate: float, most: float, heights: int) -> int:
    return min(heights - 1, max(0, int(rate / most * heights))) if most > 0 else 0


def drift_sides(row: reader.Drifted) -> tuple[str, str]:
    """Return the value that most entities have, and the value of the entity that differs."""
    type_, _ = row.entity
    return value_text(type_, row.attr, row.majority_value), value_text(type_, row.attr, row.this_value)
