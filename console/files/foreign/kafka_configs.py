"""The output of kafka-configs --describe (ConfigCommand) with --bootstrap-server, an option that it has since 2.5.

The output for an entity has all keys that the entity itself sets. With --all it also has entries from other sources,
which are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from console.files.foreign_form import TextForm, fields
from console.files.read import Read
from console.files.wanted import HIDDEN, Value, WantedTopic
from console.model.codes import DYNAMIC_DEFAULT_BROKER_CONFIG, ResourceType
from console.model.config import ConfigResource
from console.model.entity_types import EntityType, FileForm, of_kafka
from console.model.numbers import has_number_form
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from console.model.yaml_places import FileProblem

_BY_WORD = {each.kafka_type[:-1]: each for each in of_kafka() if each.number is not None}
"""Name of a type in the tool's output, in the singular (``client-metric``) -> the type."""
_WORDS = "|".join(_BY_WORD)
_OF_ONE = re.compile(rf"\A(Dynamic|All) configs for ({_WORDS}) (.+) are:")
_OF_ALL = re.compile(r"Default configs for brokers in the cluster are:")
_QUOTAS = re.compile(r"\AQuota configs for (.+) are (.*)")
_SCRAM = re.compile(r"\ASCRAM credential configs for user-principal '(.*)' are (.*)")
_OLD = re.compile(r"\AConfigs for .+ are ?.*")
_PART = r"(?:the default (user-principal|client-id|ip)|(user-principal|client-id|ip) '(.*?)')"
_PARTS = re.compile(rf"{_PART}(?:, {_PART})?")
"""Matches the description of an entity, which has one or two components. A name may contain a quote, as in
CN=O'Brien, because the tool does not escape quotes.
"""
_QUOTA_TYPES = {"user-principal": USER, "client-id": CLIENT_ID, "ip": IP}
_HEADS = (_OF_ONE, _OF_ALL, _QUOTAS, _SCRAM, _OLD)
_NOT_FINITE = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}


def _owns(beginning: str) -> bool:
    first = beginning.partition("\n")[0].rstrip()
    return _is_absent(first) or any(head.fullmatch(first) for head in _HEADS)


def _entry(line: str) -> tuple[str, str, str, str] | None:
    """Return the key, the value, whether it is sensitive (``true`` or ``false``) and the synonyms in a line of an
    entry; None for other lines.
    """
    key, equals, rest = line.removeprefix("  ").partition("=")
    if not line.startswith("  ") or not equals or not key or any(each.isspace() for each in key):
        return None
    for_each = ((answer, fields(rest, "", (f" sensitive={answer} synonyms={{",), "}")) for answer in ("true", "false"))
    # The value may contain either text, so take the rightmost one, which the tool wrote.
    found = [(len(parts[0]), answer, parts) for answer, parts in for_each if parts is not None]
    if not found:
        return None
    _, answer, (value, synonyms) = max(found)
    return key, value, answer, synonyms


def _is_absent(line: str) -> bool:
    return fields(line, "The ", (" '",), "' doesn't exist and doesn't have dynamic config.") is not None


def _take(text: str, source: str, read: Read) -> Iterator[FileProblem]:
    now: _Listing | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if not line.isprintable():
            problem = FileProblem(source, number, "the line has a character that does not show itself", "take it out")
            yield problem
        elif found := _OF_ONE.fullmatch(line):
            type_, name = _BY_WORD[found[2]], found[3]
            now = _Listing(type_, name, type_.own_source_name, found[1] == "All")
            yield from _begin(now, source, number, read)
        elif _OF_ALL.fullmatch(line):
            now = _Listing(_BY_WORD["broker"], "", DYNAMIC_DEFAULT_BROKER_CONFIG.name, False)
            yield from _begin(now, source, number, read)
        elif (entry := _entry(line)) and now is not None:
            key, value, sensitive, synonyms = entry
            if now.is_own(synonyms):
                now.values[key] = HIDDEN if sensitive == "true" else value
                read.remember(now.resource, source, [(key, number)])
        elif found := _QUOTAS.fullmatch(line):
            now = None
            yield from _quota(found[1], found[2], source, number, read)
        elif found := _SCRAM.fullmatch(line):
            now = None
            what = f"the SCRAM credentials of {found[1]} are left out: no file holds one"
            read.notes.append(FileProblem(source, number, what, "kac scram --create sets one"))
        elif _is_absent(line):
            read.notes.append(FileProblem(source, number, "it does not exist: left out"))
        elif _OLD.fullmatch(line):
            hint = "kac export writes what is set, from the cluster itself"
            yield FileProblem(source, number, "this form, with all on one line, does not tell commas apart", hint)
        else:
            yield FileProblem(source, number, "this is no line of kafka-configs --describe", "take it out")


FORM = TextForm("kafka-configs --describe", _owns, _take)


class _Listing:
    """The entity whose entries are being read, with the entries read so far."""

    def __init__(self, type_: EntityType, name: str, source: str, is_all: bool) -> None:
        self.type = type_
        self.resource = ConfigResource(ResourceType(type_.number or 0), name)
        self.values: dict[str, Value] = {}
        self._source, self._is_all = source, is_all

    def is_own(self, synonyms: str) -> bool:
        """Return whether the entity itself sets the value of an entry. The synonyms show that; an entry without
        synonyms counts as set, unless the output was made with --all.
        """
        return synonyms.startswith(f"{self._source}:") or (not synonyms and not self._is_all)


def _begin(listing: _Listing, source: str, number: int, read: Read) -> Iterator[FileProblem]:
    type_, name = listing.type, listing.resource.name
    if type_.form is FileForm.NOWHERE:
        read.notes.append(FileProblem(source, number, f"{type_.spoken} of {name} are left out: they are in no file"))
        return
    if name and not type_.names.allows(name):
        yield FileProblem(source, number, f"{name[:80]!r} is no {type_.names.whose}", f"write {type_.names.write}")
        return
    yield from read.begin(listing.resource, f"{type_.word} {name or '<default>'}", source, number)
    if type_.form is FileForm.TOPICS:
        read.topics[name] = WantedTopic(configs=listing.values)
    else:
        read.configs[listing.resource] = listing.values


def _quota(entity: str, pairs: str, source: str, number: int, read: Read) -> Iterator[FileProblem]:
    found = _PARTS.fullmatch(entity)
    if found is None:
        yield FileProblem(source, number, f"no entity of a quota: {entity[:80]!r}", "take the line out")
        return
    parts: dict[str, str | None] = {}
    for default, word, name in (found.groups()[:3], found.groups()[3:]):
        if default or word:
            parts[_QUOTA_TYPES[default or word]] = None if default else name
    of = QuotaEntity.of(parts)
    yield from read.begin(of, f"the quota of {of.as_dict()}", source, number)
    limits: Mapping[str, str] = dict(pair.partition("=")[::2] for pair in pairs.split(", ") if pair)
    wrong = [key for key, text in limits.items() if not has_number_form(text) and text not in _NOT_FINITE]
    yield from (FileProblem(source, number, f"{key[:80]} has no number", "take it out") for key in wrong)
    read.quotas[of] = {key: float(_NOT_FINITE.get(text, text)) for key, text in limits.items() if key not in wrong}
