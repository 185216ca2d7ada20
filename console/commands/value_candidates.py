"""Values to offer for a key: what is legal, with what it means, and which of them holds now or is the default."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from console.commands.candidates import Candidate, Form
from console.commands.known_values import LEVELS, QUOTA_HELP, QUOTA_SAMPLES, SAMPLES, SHORT, UNITS, VALUES
from console.commands.vocabulary import base_key
from console.model.codes import BROKER_LOGGER, DEFAULT_CONFIG, ConfigType
from console.model.config import ConfigEntry, ConfigResource
from console.model.inheritance import in_terms_of
from console.model.quota import QuotaValues
from console.plan.amounts import SIZES, TIMES, Unit, quota, unit_of
from console.plan.values import LIST, parse_quota, parse_value
from console.present.configs import plain_text
from console.present.values import config_value
from widgets.cells import ELLIPSIS

BOOLEAN = ConfigType(1)
_BEGINNING = 400
"""Characters of the documentation that hold its first sentence."""
_NUMBER = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([A-Za-z/]*)")
_IN_MS = {Unit.MILLISECONDS: 1, Unit.SECONDS: 1_000, Unit.MINUTES: 60_000, Unit.HOURS: 3_600_000}


@lru_cache(maxsize=4096)
def first_sentence(html: str) -> str:
    """The first sentence of a key's documentation, as plain text."""
    paragraphs = plain_text(html[:_BEGINNING])
    sentence, stop, _ = paragraphs[0].partition(". ") if paragraphs else ("", "", "")
    if stop:
        return sentence + "."
    return sentence.partition(" <")[0] + ELLIPSIS if len(html) > _BEGINNING else sentence


def key_help(entry: ConfigEntry | None, key: str, html: str) -> str:
    """``long, ms, default 7 d. How long a log is kept…``: what decides comes before what may be cut off."""
    default = default_of(entry)
    words = (
        entry.type.name.lower() if entry is not None and entry.type.known else "",
        SHORT[unit_of(key)],
        f"default {config_value(key, default) or default}" if default else "",
    )
    facts = ", ".join(word for word in words if word)
    return f"{facts}. {first_sentence(html)}".strip(". ") + "." if facts or html else ""


def default_of(entry: ConfigEntry | None) -> str | None:
    """Kafka's own default of a key, in the key's own unit, as far as the broker tells it."""
    if entry is None:
        return None
    if entry.is_default:
        return entry.value
    told = (synonym for synonym in entry.synonyms if synonym.source == DEFAULT_CONFIG)
    return next((in_terms_of(entry.name, synonym.name, synonym.value) for synonym in told), None)


def config_candidates(
    target: ConfigResource | None, key: str, entry: ConfigEntry | None, typed: str, help_: str
) -> Iterator[Candidate]:
    """Values for a config's key. typed: what of the value stands there already."""
    now = entry.value if entry is not None else None
    default = default_of(entry)
    unit = unit_of(key)
    if entry is not None and entry.sensitive:
        yield Candidate("?", "asked for, hidden", help_, Form.BARE)
        yield Candidate("@", "read from a file", help_, Form.BARE)
        return
    fixed = LEVELS if target is not None and target.type == BROKER_LOGGER else VALUES.get(base_key(key))
    if fixed is None and entry is not None and entry.type == BOOLEAN:
        fixed = {"true": "", "false": ""}
    if fixed is not None:
        for value, meaning in fixed.items():
            yield Candidate(value, _meta(meaning, value, now, default), help_)
        return
    type_ = entry.type if entry is not None else ConfigType(0)
    if type_ == LIST:
        for item in dict.fromkeys((now or "").split(",") + (default or "").split(",")):
            if item:
                yield Candidate(item, "", help_)
        return
    unlimited = "-1" if base_key(key).endswith(("retention.ms", "retention.bytes")) else None
    for text in _amounts(unit, typed, (now, default, unlimited)):
        try:
            value = parse_value(key, type_, text)
        except ValueError:
            continue
        meaning = f"{value} {SHORT[unit]}" if value != text else config_value(key, value)
        yield Candidate(text, _meta(meaning, value, now, default), help_)


def _meta(meaning: str, value: str, now: str | None, default: str | None) -> str:
    marks = ("now" if value == now else "", "default" if value == default else "")
    return "  ".join(part for part in (meaning, *marks) if part)


def _amounts(unit: Unit, typed: str, known: Iterable[str | None]) -> Iterator[str]:
    """The number that was typed with each unit, the values that are known, samples."""
    texts: list[str] = []
    number = _NUMBER.fullmatch(typed)
    if number is not None:
        letters = number[2].casefold()
        texts += [number[1] + name for name in UNITS.get(unit, ()) if name.casefold().startswith(letters)]
    texts += [spelled(unit, value) for value in known if value]
    if number is None or not typed:
        texts += SAMPLES.get(unit, ())
    yield from dict.fromkeys(texts)


def spelled(unit: Unit, value: str) -> str:
    """A value in the largest unit that is exact, as an operator would type it; as it is where there is none."""
    if not value.isascii() or not value.isdigit() or len(value) > 19 or int(value) == 0:
        return value
    count = int(value)
    if unit.is_time:
        milliseconds = count * _IN_MS[unit]
        return next(
            (f"{milliseconds // TIMES[name]}{name}" for name in UNITS[unit] if milliseconds % TIMES[name] == 0), value
        )
    for name in UNITS.get(unit, ()):
        size = SIZES[name.casefold().removesuffix("/s")]
        if count % size == 0:
            return f"{count // size}{name}"
    return value


def quota_candidates(key: str, values: QuotaValues, typed: str) -> Iterator[Candidate]:
    """Values for a quota's key."""
    now = values.get(key)
    texts: list[str] = []
    number = _NUMBER.fullmatch(typed)
    if key.endswith("byte_rate"):
        texts += list(_amounts(Unit.BYTES_PER_SECOND, typed, (str(int(now)) if now is not None else None,)))
    elif number is not None:
        texts += [number[1] + QUOTA_SAMPLES[key][0].lstrip("0123456789")]
    texts += [sample for sample in QUOTA_SAMPLES.get(key, ()) if sample.startswith(typed)]
    for text in dict.fromkeys(texts):
        try:
            value = parse_quota(key, text)
        except ValueError:
            continue
        meta = _meta(quota(key, value) if not text.endswith("/s") else f"{value:.0f}", str(value), str(now), None)
        yield Candidate(text, meta, QUOTA_HELP.get(key, ""))
