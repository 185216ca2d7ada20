"""Writes a wanted state as YAML that a person can review: always in the same order, with one line for each value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from types import MappingProxyType

from console.files.subjects import WantedSubject
from console.files.wanted import HIDDEN, Value, Wanted, WantedConnector, WantedTopic, owned_lines
from console.model.acl import Acl
from console.model.codes import AclResourceType, Permission
from console.model.config import ConfigResource
from console.model.entity_types import in_sections
from console.model.numbers import json_text
from console.model.quota import QuotaEntity
from console.plan.amounts import quota
from console.plan.values import parse_quota
from console.present.values import config_value
from widgets.cells import clean, escaped

DEFAULT = "<default>"
VERSION = 1
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf"})


Notes = Mapping[tuple[ConfigResource, str], str]
"""(resource, key of a config) -> a comment on the value."""


def yaml_text(wanted: Wanted, title: str, unread: Iterable[str] = (), notes: Notes | None = None) -> str:
    """Return a wanted state as a YAML document.

    Args:
        title: a comment for the first line; characters in it that would end the line are replaced.
        unread: parts that were not read completely, so that what the document lacks may still exist; comments name
            them.
        notes: comments on values; None for no comments.
    """
    lines = [f"# {clean(title)}", *(f"# unknown {clean(part)}: they could not be read" for part in unread)]
    lines += [f"# left out: {clean(line)}" for line in owned_lines(wanted.owned)]
    lines.append(f"version: {VERSION}")
    for section in (
        _topics(wanted.topics),
        *_configs(wanted.configs, notes or {}),
        _quotas(wanted.quotas),
        _acls(wanted.acls),
        _connectors(wanted.connectors),
        _subjects(wanted.schemas),
    ):
        lines += section
    return "\n".join(lines) + "\n"


def _topics(topics: Mapping[str, WantedTopic]) -> Iterator[str]:
    if topics:
        yield "topics:"
    blocks: dict[int, list[str]] = {}
    for name in sorted(topics):
        topic = topics[name]
        yield f"  {key_text(name)}:"
        if topic.partitions is not None:
            yield f"    partitions: {topic.partitions}"
        if topic.replication is not None:
            yield f"    replication: {topic.replication}"
        if topic.configs is not None:
            # Topics with equal configs share one object, so make its lines once: there may be 100,000 topics.
            block = blocks.get(id(topic.configs))
            if block is None:
                block = blocks[id(topic.configs)] = list(_block("configs", topic.configs, "    "))
            yield from block


def _configs(configs: Mapping[ConfigResource, Mapping[str, Value]], notes: Notes) -> Iterator[list[str]]:
    for type_ in in_sections():
        resources = sorted((each for each in configs if each.type == type_.number), key=_order)
        if resources:
            lines = [f"{type_.section}:"]
            for resource in resources:
                name = DEFAULT if resource.is_default else resource.name
                beside = {key: text for (noted, key), text in notes.items() if noted == resource}
                lines += _block(key_text(name), configs[resource], "  ", beside)
            yield lines


def _connectors(connectors: Mapping[ConfigResource, WantedConnector]) -> Iterator[str]:
    if connectors:
        yield "connectors:"
    for resource in sorted(connectors):
        wanted = connectors[resource]
        yield f"  {key_text(resource.name)}:"
        if wanted.state is not None and wanted.is_held:
            yield f"    state: {wanted.state.lower()}"
        yield from _block("config", wanted.config, "    ")


def _subjects(subjects: Mapping[ConfigResource, WantedSubject]) -> Iterator[str]:
    if subjects:
        yield "schemas:"
    for resource in sorted(subjects):
        wanted = subjects[resource]
        source = wanted.schema
        name = key_text(DEFAULT if resource.is_default else resource.name)
        yield f"  {name}:" + ("" if source is not None or wanted.configs else " {}")
        if source is not None:
            yield f"    type: {source.kind}"
            yield f"    schema: {_single_quoted(source.text)}"
            if source.references:
                yield "    references:"
                yield from (f"      - {quoted(each.text)}" for each in source.references)
        yield from (f"    {key}: {quoted(wanted.configs[key])}" for key in sorted(wanted.configs))


def _single_quoted(text: str) -> str:
    """Return a text in single quotes, in which JSON's quotes need no escapes; in double quotes if single quotes can't
    contain it.
    """
    return f"'{text.replace(chr(39), chr(39) * 2)}'" if text.isprintable() else quoted(text)


def _order(resource: ConfigResource) -> tuple[int, str]:
    # Sort broker 10 after broker 2. The name of a group may consist of digits, too many for a number.
    return (int(resource.name) if resource.name.isdecimal() and len(resource.name) < 10 else -1, resource.name)


def _block(
    name: str, values: Mapping[str, Value], indent: str, notes: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    if not values:
        yield f"{indent}{name}: {{}}"
        return
    yield f"{indent}{name}:"
    for key in sorted(values):
        if key in notes:
            yield f"{indent}  # {clean(notes[key])}"
        yield f"{indent}  {key_text(key)}: {_value(key, values[key])}"


def _value(key: str, value: Value) -> str:
    if value is HIDDEN:
        return "{secret: set}"
    assert isinstance(value, str)
    amount = config_value(key, value)
    return f"{quoted(value)}  # {clean(amount)}" if amount else quoted(value)


def _quotas(quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> Iterator[str]:
    if quotas:
        yield "quotas:"
    for entity in sorted(quotas, key=_entity_order):
        start = "  - "
        for part in entity.parts:
            yield f"{start}{key_text(part.type)}: {_part(part.name)}"
            start = "    "
        yield "    limits:"
        for key in sorted(quotas[entity]):
            amount = quota(key, quotas[entity][key])
            yield f"      {key_text(key)}: {_limit(key, quotas[entity][key])}" + (
                f"  # {clean(amount)}" if amount else ""
            )


def _part(name: str | None) -> str:
    if name is None:
        return DEFAULT
    # A client may be called <default>: a mapping with `name` distinguishes it from the default entity.
    return f"{{name: {quoted(name)}}}" if name == DEFAULT else quoted(name)


def _entity_order(entity: QuotaEntity) -> list[tuple[str, bool, str]]:
    return [(part.type, part.name is not None, part.name or "") for part in entity.parts]


def _limit(key: str, value: float) -> str:
    """Return a limit as text: in the usual form if a new quota may have this limit, else as ``{as-is: …}``."""
    text = number_text(value)
    try:
        is_plain = parse_quota(key, text) == value
    except ValueError:
        is_plain = False
    return text if is_plain else f"{{as-is: {text}}}"


def number_text(value: float) -> str:
    """Return a limit in digits, without a fraction of zero."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _acls(acls: Iterable[Acl]) -> Iterator[str]:
    ordered = sorted(acls, key=_acl_order)
    if ordered:
        yield "acls:"
    for (permission, principal, host, type_, name, pattern), group in groupby(ordered, key=_subject):
        # A permission or type of a newer broker has a number and no word, so write it as a value instead of a key.
        if Permission.parse(permission).known:
            yield f"  - {permission.lower()}: {quoted(principal)}"
        else:
            yield f"  - permission: {permission}"
            yield f"    principal: {quoted(principal)}"
        yield f"    operations: [{', '.join(acl.operation.name for acl in group)}]"
        if AclResourceType.parse(type_).known:
            yield f"    {type_.lower().replace('_', '-')}: {quoted(name)}"
        else:
            yield f"    type: {type_}"
            yield f"    name: {quoted(name)}"
        if pattern != "LITERAL":
            yield f"    pattern: {pattern.lower()}"
        if host != "*":
            yield f"    host: {quoted(host)}"


def _subject(acl: Acl) -> tuple[str, str, str, str, str, str]:
    return (
        acl.permission.name,
        acl.principal,
        acl.host,
        acl.resource_type.name,
        acl.resource_name,
        acl.pattern_type.name,
    )


def _acl_order(acl: Acl) -> tuple[str, ...]:
    permission, principal, host, type_, name, pattern = _subject(acl)
    return (principal, type_, name, pattern, permission, host, acl.operation.name)


def key_text(text: str) -> str:
    """Return the text of a key of a mapping: without quotes if YAML then reads the same text, else in double quotes."""
    return text if (_PLAIN.fullmatch(text) and text.lower() not in _WORDS) or text == DEFAULT else quoted(text)


def quoted(text: str) -> str:
    """Return a text in double quotes, on one line; characters that end lines or control terminals are escaped."""
    quoted = json_text(text, ensure_ascii=False)
    # Like `kac … --output yaml`, write only ASCII if the text has invisible characters.
    return quoted if clean(text) == text else "".join(char if " " <= char <= "~" else escaped(char) for char in quoted)
