"""What was found and done in kafka-configs' own lines. Its order is that of Java's hashes; ours is by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console.commands.kafka_configs.described import (
    Absent,
    Described,
    QuotaConfigs,
    ResourceConfigs,
    ScramConfigs,
    Unread,
    singular,
)
from console.commands.kafka_configs.request import ConfigsRequest
from console.model.config import ConfigEntry
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from console.present.sanitize import clean

_WIDEST = 40_000
"""Characters of a line: a value has at most 32,767."""
_QUOTA_WORDS = {USER: "user-principal", CLIENT_ID: "client-id", IP: "ip"}


def kafka_lines(found: Sequence[Described], *, all_: bool) -> Iterator[str]:
    """The lines of --describe; what could not be read is not among them. all_: inherited entries too."""
    for each in found:
        match each:
            case ResourceConfigs(type=type_, name=name):
                yield _heading(type_, name, all_)
                yield from (_safe(f"  {_entry(entry)}") for entry in (each.entries if all_ else each.own))
            case Unread(type=type_, name=name) if type_:
                yield _heading(type_, name, all_)  # it is printed before the answer is there
            case Absent(type=type_, name=name):
                yield _safe(f"The {singular(type_)} '{name}' doesn't exist and doesn't have dynamic config.")
            case QuotaConfigs(entity=entity, values=values):
                pairs = ", ".join(f"{key}={quota_text(values[key])}" for key in sorted(values))
                yield _safe(f"Quota configs for {_entity(entity)} are {pairs}")
            case ScramConfigs(user=user, credentials=credentials):
                pairs = ", ".join(f"{each.mechanism.label}=iterations={each.iterations}" for each in credentials)
                yield _safe(f"SCRAM credential configs for user-principal '{user}' are {pairs}")


def _heading(type_: str, name: str, all_: bool) -> str:
    if not name:
        return f"Default configs for {type_} in the cluster are:"
    return _safe(f"{'All' if all_ else 'Dynamic'} configs for {singular(type_)} {name} are:")


def _entry(entry: ConfigEntry) -> str:
    synonyms = ", ".join(f"{each.source.name}:{each.name}={_value(each.value)}" for each in entry.synonyms)
    sensitive = "true" if entry.sensitive else "false"
    return f"{entry.name}={_value(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _value(value: str | None) -> str:
    return "null" if value is None else value


def _entity(entity: QuotaEntity) -> str:
    def part(type_: str, name: str | None) -> str:
        word = _QUOTA_WORDS.get(type_, type_)
        return f"the default {word}" if name is None else f"{word} '{name}'"

    return ", ".join(part(each.type, each.name) for each in entity.parts)


def quota_text(value: float) -> str:
    """A quota as Java writes a double."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    from console.plan.values import java_double  # only for quotas: to read it takes its time

    return java_double(value)


def completed(request: ConfigsRequest) -> str:
    """What is said after a change."""
    if request.name:
        return _safe(f"Completed updating config for {singular(request.type)} {request.name}.")
    return f"Completed updating default config for {request.type} in the cluster."


def _safe(line: str) -> str:
    return clean(line, _WIDEST)
