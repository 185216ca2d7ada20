"""Values of configs, quotas and edits as text: exact, with a unit (``7 d``), or as dots for a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.model.acl import Acl
from console.model.changes import Target
from console.model.config import ConfigEntry
from console.model.inheritance import given_as
from console.model.numbers import LONG_MAX, long_number
from console.model.quota import QuotaEntity
from console.plan import amounts
from console.plan.effective_values import EffectiveValue
from console.present.failures import failure_text
from console.present.names import HIDDEN, NOTHING, plural
from console.present.text import Line, Span, clean

if TYPE_CHECKING:
    from console.plan.retention import Deletion

_UNLIMITED_AT_MINUS_ONE = ("retention.ms", "retention.bytes", "retention.minutes", "retention.hours")


def is_unlimited(key: str, value: str | None) -> bool:
    """Return whether the value of a key means no limit, such as -1 for retention.ms."""
    return value == "-1" and key.endswith(_UNLIMITED_AT_MINUS_ONE)


def config_value(key: str, value: str | None) -> str:
    """Return a config's value in a form for people: with its unit (``7 d``), ``no limit``, or ``max`` for the
    largest 64-bit integer. ``""`` if the key has no unit, the value is no number above 0, or that form adds
    nothing.
    """
    unit = amounts.unit_of(key)
    count = long_number(value)
    if unit is amounts.Unit.NONE or count is None:
        return ""
    if count == LONG_MAX:
        return "max"
    if is_unlimited(key, value):
        return "no limit"
    if count <= 0:
        return ""
    if unit.is_time:
        text = amounts.duration(count * unit.milliseconds)
    else:
        text = amounts.byte_rate(count) if unit is amounts.Unit.BYTES_PER_SECOND else amounts.byte_count(count)
    return "" if text.replace(",", "") in (f"{count} {unit.short}", f"{count} B") else text


# Values of configs, quotas and edits for display: the text, its human form, dots for a secret.

EMPTY = '""'
"""The text for an empty value, to distinguish it from a missing value."""


def config_text(value: str | None, sensitive: bool = False, limit: int = 500) -> str:
    """Return a config's value in one line: ``""`` in quotes if it is empty; for None, dots if it is sensitive, else
    ``–``. limit: maximum characters.
    """
    if value is None:
        return HIDDEN if sensitive else NOTHING
    return clean(value, limit) if value else EMPTY


def with_unit(key: str, value: str | None, sensitive: bool = False) -> str:
    """Return a value, and in brackets the same with its unit: ``604800000 (7 d)``; for None, dots if it is `sensitive`,
    else ``–``.
    """
    text, human = config_text(value, sensitive), config_value(key, value)
    return f"{text} ({human})" if human else text


def human_or_text(key: str, value: str | None, sensitive: bool = False) -> str:
    """Return a value with its unit, ``7 d``; the value itself if it has no unit. For None, as `config_text`."""
    return config_value(key, value) or config_text(value, sensitive, 120)


def entry_spans(entry: ConfigEntry) -> Line:
    """Return the value of an entry and, muted, the same with its unit."""
    if entry.hidden:
        return [(HIDDEN, "sensitive")]
    spans: list[Span] = [(config_text(entry.value), "muted" if entry.value is None else "")]
    if human := config_value(entry.name, entry.value):
        spans.append((f"  {human}", "muted"))
    return spans


def side_text(target: Target, key: str, side: EffectiveValue) -> str:
    """Return the old or new value in a line of the diff, exactly; ``?`` if it is unknown, dots if it is hidden, ``–``
    if it is missing.

    Args:
        target: the target of the line: a quota is shown in its key's unit.
        key: the key of a config or quota; ``""`` for the entity itself.
        side: the value.
    """
    if not side.known:
        return "?"
    if side.hidden:
        return HIDDEN
    if side.value is None:
        return NOTHING
    if isinstance(side.value, float | int):
        if isinstance(target, QuotaEntity):
            return amounts.quota(key, side.value)
        return str(side.value) if isinstance(side.value, int) else f"{side.value:g}"
    if isinstance(target, Acl):
        return clean(side.value)
    return config_text(side.value)


def origin(key: str, side: EffectiveValue, source: str) -> str:
    """Return the source of a value: ``default``; ``log.retention.hours=168, default`` if it is set by a key with
    another unit.

    Args:
        key: the config key.
        side: the value.
        source: the name of the source (`names.source`).
    """
    value = side.value if isinstance(side.value, str) else None
    given = given_as(key, side.name, value)
    return f"{clean(given, 120)}, {source}" if given else source


def side_human(target: Target, key: str, side: EffectiveValue) -> str:
    """Return the old or new value in a line of the diff with its unit, ``7 d``. ``""`` if the value has no unit, is
    unknown or hidden, or belongs to an ACL or a quota.
    """
    if side.known and not side.hidden and isinstance(side.value, str) and not isinstance(target, Acl | QuotaEntity):
        return config_value(key, side.value)
    return ""


def deletion_text(deletion: Deletion) -> str:
    """Return the amount of data that an edit deletes, on all replicas: ``310–330 GiB are deleted within minutes``; with
    ``at least`` if it is unknown for some partitions, and only the reason if it is unknown for all.
    """
    if deletion.partitions == 0 and deletion.why is not None:
        return f"how much is deleted is not known: {failure_text(deletion.why)}"
    of = f"; {deletion.partitions:,} of {plural(deletion.partitions + deletion.unknown, 'partition')} looked at"
    least, some = ("at least ", of) if deletion.unknown else ("", "")
    if deletion.most == 0:
        return f"no whole segment is deleted at once{some}"
    return f"{least}{amounts.size_range(deletion.least, deletion.most)} are deleted within minutes{some}"
