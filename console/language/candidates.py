"""Candidates for completion: their form, the selection by the typed text, and the values to offer for a key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from console.language.reader import Candidate, Form
from console.language.vocabulary import base_key
from console.model.codes import DEFAULT_CONFIG, ConfigType
from console.model.config import ConfigEntry, ConfigResource
from console.model.inheritance import in_terms_of
from console.model.quota import BY_KEY, QuotaValues
from console.plan.amounts import SIZES, TIMES, Unit, quota, unit_of
from console.plan.config_rules import LOG_LEVELS
from console.plan.values import LIST, parse_quota, parse_value
from console.present.configs import plain_text
from console.present.values import config_value
from widgets.cells import ELLIPSIS

LIMIT = 80
"""Maximum number of completions that are returned: enough for all verbs if nothing is typed."""


class Completion(NamedTuple):
    """A completion: `text`, quoted if necessary, replaces the characters from `start` to `end`, `end` excluded."""

    start: int
    end: int
    text: str
    display: str = ""
    """The text for a list, without control characters."""
    meta: str = ""
    """A short remark that a list of completions shows next to the text."""
    help: str = ""
    """One line of documentation."""


def matching(candidates: Iterable[Candidate], typed: str) -> list[Candidate]:
    """Return the candidates that begin with the typed text, then those that contain it. If there are none, return those
    that contain its letters in order. Without a typed text, return all. Candidates of equal rank keep their order.
    """
    folded = typed.casefold()
    if not folded:
        return list(candidates)
    ranked = [(rank, place, c) for place, c in enumerate(candidates) if (rank := _rank(c.text.casefold(), folded)) < 3]
    # Use matches of scattered letters only if nothing else matches: they match nearly any text.
    best = min((rank for rank, _, _ in ranked), default=3)
    return [candidate for rank, _, candidate in sorted(ranked) if rank < 2 or best == 2]


def _rank(text: str, typed: str) -> int:
    if text.startswith(typed):
        return 0
    if typed in text:
        return 1
    letters = iter(text)
    return 2 if len(typed) > 1 and all(letter in letters for letter in typed) else 3


# -- legal values of keys whose documentation lists them, and samples for amounts --------------------------------------
# Sources: TopicConfig, GroupConfig, BrokerSecurityConfigs, SslConfigs and QuotaConfig of Apache Kafka 3.9 to 4.3.

_POLICIES = {"compact": "keep the latest value of each key", "delete": "drop old segments"}
_COMPRESSION = {
    "producer": "as the producer sent it",
    "uncompressed": "",
    "zstd": "",
    "lz4": "",
    "snappy": "",
    "gzip": "",
}
_TIMESTAMPS = {"CreateTime": "as the producer says", "LogAppendTime": "as the broker's clock says"}
_STORES = {"JKS": "", "PKCS12": "", "PEM": ""}
_MECHANISMS = {"SCRAM-SHA-512": "", "SCRAM-SHA-256": "", "PLAIN": "", "OAUTHBEARER": "", "GSSAPI": "Kerberos"}
_TLS = {"TLSv1.3": "", "TLSv1.2": ""}
_THROTTLED = {"*": "all replicas of the topic"}

VALUES: Mapping[str, Mapping[str, str]] = {
    "cleanup.policy": _POLICIES,
    "log.cleanup.policy": _POLICIES,
    "compression.type": _COMPRESSION,
    "message.timestamp.type": _TIMESTAMPS,
    "log.message.timestamp.type": _TIMESTAMPS,
    "leader.replication.throttled.replicas": _THROTTLED,
    "follower.replication.throttled.replicas": _THROTTLED,
    "share.auto.offset.reset": {"earliest": "", "latest": "", "by_duration:PT1H": "an hour back"},
    "share.isolation.level": {"read_uncommitted": "", "read_committed": ""},
    "group.consumer.migration.policy": {"bidirectional": "", "upgrade": "", "downgrade": "", "disabled": ""},
    "ssl.client.auth": {"required": "", "requested": "", "none": ""},
    "ssl.keystore.type": _STORES,
    "ssl.truststore.type": _STORES,
    "ssl.protocol": _TLS,
    "ssl.enabled.protocols": _TLS,
    "ssl.endpoint.identification.algorithm": {
        "https": "host names are verified",
        "": "host names are not verified",
    },
    "sasl.enabled.mechanisms": _MECHANISMS,
    "sasl.mechanism.inter.broker.protocol": _MECHANISMS,
}
"""Key, without a listener's prefix -> value -> its meaning; ``""`` if the value needs no explanation."""

LEVELS: Mapping[str, str] = MappingProxyType(dict.fromkeys(LOG_LEVELS, ""))

SAMPLES: Mapping[Unit, tuple[str, ...]] = {
    Unit.MILLISECONDS: ("1d", "7d", "30d", "12h", "1h", "30min", "30s"),
    Unit.SECONDS: ("1d", "1h", "30min", "30s"),
    Unit.MINUTES: ("7d", "1d", "12h", "1h"),
    Unit.HOURS: ("30d", "7d", "1d"),
    Unit.BYTES: ("1MiB", "16MiB", "128MiB", "1GiB", "10GiB", "100GiB"),
    Unit.BYTES_PER_SECOND: ("1MB/s", "10MB/s", "100MB/s"),
}
"""Unit of a key -> values that completion offers."""

UNITS: Mapping[Unit, tuple[str, ...]] = {
    Unit.MILLISECONDS: ("d", "h", "min", "s", "ms"),
    Unit.SECONDS: ("d", "h", "min", "s"),
    Unit.MINUTES: ("d", "h", "min"),
    Unit.HOURS: ("d", "h"),
    Unit.BYTES: ("GiB", "MiB", "KiB", "GB", "MB", "kB"),
    Unit.BYTES_PER_SECOND: ("MB/s", "GB/s", "kB/s", "MiB/s", "GiB/s", "KiB/s"),
}
"""Unit of a key -> the suffixes of units that completion offers after a number."""

# -- values to offer for a key: legal ones with their meaning, the present one, the default ----------------------------

BOOLEAN = ConfigType(1)
_BEGINNING = 400
"""Number of characters at the beginning of a documentation in which the end of the first sentence is searched."""
_NUMBER = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([A-Za-z/]*)")


@lru_cache(maxsize=4096)
def first_sentence(html: str) -> str:
    """Return the first sentence of a key's documentation in HTML, as plain text."""
    paragraphs = plain_text(html[:_BEGINNING])
    sentence, stop, _ = paragraphs[0].partition(". ") if paragraphs else ("", "", "")
    if stop:
        return sentence + "."
    return sentence.partition(" <")[0] + ELLIPSIS if len(html) > _BEGINNING else sentence


def key_help(entry: ConfigEntry | None, key: str, html: str) -> str:
    """Return a line about a key: ``long, ms, default 7 d. How long a log is kept…``. The line may be longer than a
    display.

    Args:
        entry: the broker's description of the key; None if there is none.
        html: the key's documentation.
    """
    default = default_of(entry)
    words = (
        entry.type.name.lower() if entry is not None and entry.type.known else "",
        unit_of(key).short,
        f"default {config_value(key, default) or default}" if default else "",
    )
    facts = ", ".join(word for word in words if word)
    return f"{facts}. {first_sentence(html)}".strip(". ") + "." if facts or html else ""


def default_of(entry: ConfigEntry | None) -> str | None:
    """Return Kafka's default of a key as text, in the key's own unit; None if the broker does not report it."""
    if entry is None:
        return None
    if entry.is_default:
        return entry.value
    told = (synonym for synonym in entry.synonyms if synonym.source == DEFAULT_CONFIG)
    return next((in_terms_of(entry.name, synonym.name, synonym.value) for synonym in told), None)


def config_candidates(
    target: ConfigResource | None, key: str, entry: ConfigEntry | None, typed: str, help_: str
) -> Iterator[Candidate]:
    """Yield the values to offer for a config's key.

    Args:
        target: the resource; None if the statement names no resource. If its type has log levels as values
            (`has_levels`), these are offered.
        entry: the broker's description of the key; None for an unknown key, which has no type, value or default.
        typed: the part of the value before the cursor; for a list, of its last item. A typed number is offered with
            units.
        help_: the key's documentation, shown with each candidate.
    """
    now = entry.value if entry is not None else None
    default = default_of(entry)
    unit = unit_of(key)
    if entry is not None and entry.sensitive:
        yield Candidate("?", "asked for, hidden", help_, Form.BARE)
        yield Candidate("@", "read from a file", help_, Form.BARE)
        return
    legal = [each.values for each in target.type.entity.keys if each.name == key] if target is not None else []
    fixed = LEVELS if target is not None and target.type.entity.has_levels else VALUES.get(base_key(key))
    if legal and legal[0]:
        fixed = dict.fromkeys(legal[0], "")
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
        meaning = f"{value} {unit.short}" if value != text else config_value(key, value)
        yield Candidate(text, _meta(meaning, value, now, default), help_)


def _meta(meaning: str, value: str, now: str | None, default: str | None) -> str:
    marks = ("now" if value == now else "", "default" if value == default else "")
    return "  ".join(part for part in (meaning, *marks) if part)


def _amounts(unit: Unit, typed: str, known: Iterable[str | None]) -> Iterator[str]:
    """Yield the typed number with each suffix of the unit, then the known values, then sample values."""
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
    """Return an amount with the largest unit in which it is a whole number, as an operator would type it: ``7d``;
    unchanged if there is none.
    """
    if not value.isascii() or not value.isdigit() or len(value) > 19 or int(value) == 0:
        return value
    count = int(value)
    if unit.is_time:
        milliseconds = count * unit.milliseconds
        return next(
            (f"{milliseconds // TIMES[name]}{name}" for name in UNITS[unit] if milliseconds % TIMES[name] == 0), value
        )
    sizes = {SIZES[name.casefold().removesuffix("/s")]: name for name in UNITS.get(unit, ())}
    size = max((each for each in sizes if count % each == 0), default=0)
    return f"{count // size}{sizes[size]}" if size else value


def quota_candidates(key: str, values: QuotaValues, typed: str) -> Iterator[Candidate]:
    """Yield the values to offer for a key of a quota.

    Args:
        values: the entity's current quotas, key -> number in Kafka's unit (bytes/s, percent or per second).
        typed: the part of the value before the cursor.
    """
    known, now = BY_KEY.get(key), values.get(key)
    if known is None:
        return
    texts: list[str] = []
    number = _NUMBER.fullmatch(typed)
    if known.is_byte_rate:
        texts += list(_amounts(Unit.BYTES_PER_SECOND, typed, (str(int(now)) if now is not None else None,)))
    elif number is not None:
        texts += [number[1] + known.samples[0].lstrip("0123456789")]
    texts += [sample for sample in known.samples if sample.startswith(typed)]
    for text in dict.fromkeys(texts):
        try:
            value = parse_quota(key, text)
        except ValueError:
            continue
        meta = _meta(quota(key, value) if not text.endswith("/s") else f"{value:.0f}", str(value), str(now), None)
        yield Candidate(text, meta, known.about)
