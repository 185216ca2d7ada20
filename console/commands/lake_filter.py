"""Which part of the past, as words of a filter: ``since=2h key=retention.* by=alice dlq``."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

NAMES = ("since", "until", "key", "by")


class LakeFilter(NamedTuple):
    """What to ask a lake for; None asks for nothing. text: what rows have to hold besides, as every filter's."""

    since: datetime | None = None
    until: datetime | None = None
    key: str | None = None
    principal: str | None = None
    text: str = ""


def lake_filter(text: str, now: datetime) -> LakeFilter:
    """From words, those of NAMES with their values. Raises ValueError with words for the operator."""
    found: dict[str, str] = {}
    rest = []
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals or name not in NAMES:
            rest.append(word)
        elif value:
            found[name] = value
    since, until = (moment(found[name], now) if name in found else None for name in ("since", "until"))
    return LakeFilter(since, until, found.get("key"), found.get("by"), " ".join(rest))


def moment(text: str, now: datetime) -> datetime:
    """A time: ``2h`` (ago), ``14:05`` (the last), ``2026-11-20``, ``2026-11-20T14:05``, by this host's clock where it
    has no offset of its own. Raises ValueError with words for the operator."""
    from console.commands.durations import parse_duration

    here = now.astimezone()
    try:
        return now - timedelta(milliseconds=parse_duration(text))
    except ValueError:
        pass
    try:
        if len(text) <= 8 and ":" in text:
            clock = datetime.fromisoformat(f"{here:%Y-%m-%d}T{text:0>5}").astimezone()
            return clock if clock <= here else clock - timedelta(days=1)
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text!r} is no time: 2h and 7d (ago), 14:05, 2026-11-20, 2026-11-20T14:05 and 2026-11-20T14:05Z are"
        ) from None
