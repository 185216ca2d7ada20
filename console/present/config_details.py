"""All about one key of one entity: its type, what would apply without the override, its synonyms, its documentation."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from console.model.config import ConfigEntry, ConfigResource, Synonym, is_override
from console.model.inheritance import Inheritance, Inherited, given_as
from console.model.numbers import long_number
from console.model.snapshot import Snapshot
from console.model.update_mode import UpdateMode, update_mode
from console.present import names
from console.present.configs import ConfigRow
from console.present.documentation import plain_text
from console.present.failures import failure_text
from console.present.sanitize import clean
from console.present.spans import Line
from console.present.units import config_value, key_unit
from console.present.values import config_text, side_text, with_unit

_SHORT = 60
_MODES = {
    UpdateMode.RESTART: "needs a restart with a new server.properties",
    UpdateMode.CLUSTER_WIDE: "cluster-wide or per broker",
    UpdateMode.PER_BROKER: "per broker only",
    UpdateMode.PER_LISTENER: "per broker, under listener.name.…. only",
    UpdateMode.CUSTOM: "not known to the broker: for plug-ins",
}


def headline(resource: ConfigResource, row: ConfigRow) -> Line:
    """``7 d → 1 d   long, ms   per broker only``."""
    entry, line = row.entry, row.line
    spans: Line = []
    if line is not None:
        old = config_value(row.key, _text(line.old.value)) or side_text(resource, row.key, line.old)
        new = config_value(row.key, _text(line.new.value)) or side_text(resource, row.key, line.new)
        spans += [(f"{old} → ", "muted"), (f"{new}", "pending")]
    elif entry is not None:
        human = config_value(row.key, entry.value)
        spans.append(
            (human or config_text(entry.value, entry.sensitive, 60), "sensitive" if entry.hidden else "strong")
        )
    about = [entry.type.name.lower() if entry is not None and entry.type.known else "", key_unit(row.key)]
    if entry is not None and entry.sensitive:
        about.append("sensitive")
    if entry is not None and entry.read_only:
        about.append("read-only, as the broker says")
    mode = update_mode(resource.type, row.key, known=entry is None or entry.type.known)
    about.append(_MODES.get(mode, ""))
    if words := ", ".join(word for word in about if word):
        spans.append((f"   {words}", "muted"))
    return spans


def _text(value: str | float | None) -> str | None:
    return value if isinstance(value, str) else None


def beneath(resource: ConfigResource, entry: ConfigEntry, snapshot: Snapshot, broker: int | None) -> Line:
    """``Without the override: 259200000 (3 d) from cluster <default>``; empty where the key is no override."""
    if not is_override(entry, resource):
        return []
    below = Inheritance(snapshot).without_override(resource, entry.name)
    said: Line = [("Without the override: ", "muted")]
    if not below.known:
        return [*said, ("not known: the brokers do not tell", "muted")]
    if below.source is None:
        return [*said, ("nothing", "")]
    value = with_unit(entry.name, below.value, entry.sensitive or below.hidden)
    name = given_as(entry.name, below.name, below.value) or below.name
    there = f" {clean(name)}" if name not in ("", entry.name) else ""
    return [*said, (value, ""), (f" from {names.source(below.source, broker)}{there}", "muted")]


def chain(entry: ConfigEntry, broker: int | None) -> Line:
    """The synonyms in order of precedence: ``topic 604800000 ▸ cluster log.retention.ms 259200000 ▸ default …``."""
    if not entry.synonyms:
        return []
    line: Line = []
    for place, synonym in enumerate(entry.synonyms):
        if place:
            line.append((" ▸ ", "muted"))
        line.append((_link(entry, synonym, broker), "strong" if place == 0 else "muted"))
    return line


def _link(entry: ConfigEntry, synonym: Synonym, broker: int | None) -> str:
    name = f"{clean(synonym.name)} " if synonym.name != entry.name else ""
    return f"{names.source(synonym.source, broker)} {name}{_synonym_text(entry, synonym)}"


def _synonym_text(entry: ConfigEntry, synonym: Synonym) -> str:
    """A value in another unit than the entry's is said in words too."""
    if key_unit(synonym.name) != key_unit(entry.name):
        return with_unit(synonym.name, synonym.value, entry.sensitive)
    return config_text(synonym.value, entry.sensitive, _SHORT)


def documentation(text: str, width: int) -> list[Line]:
    """The documentation, wrapped."""
    lines: list[Line] = []
    for paragraph in plain_text(text):
        indent = "  " if paragraph.startswith("•") else ""
        wrapped = textwrap.wrap(paragraph, max(20, width), subsequent_indent=indent)
        lines += [[(line, "muted")] for line in wrapped]
    return lines


def outcome_lines(row: ConfigRow, width: int) -> list[Line]:
    """What the brokers said to the staged edit, where they refused it."""
    if row.outcome is None or row.outcome.ok:
        return []
    failure = row.outcome.failure
    text = failure_text(failure) if failure is not None else row.outcome.status.value
    return [[(line, "failed")] for line in textwrap.wrap(f"✗ {text}", max(20, width))]


def details(
    resource: ConfigResource,
    row: ConfigRow,
    snapshot: Snapshot,
    by_broker: Mapping[int, Inherited],
    width: int,
) -> list[Line]:
    """Everything about a row, the most important first. by_broker: what each broker would give the key without the
    override, where they differ (console.model.inheritance)."""
    lines = outcome_lines(row, width)
    lines.append(headline(resource, row))
    broker = described_by(resource, snapshot)
    if row.entry is not None:
        lines += [line for line in (beneath(resource, row.entry, snapshot, broker), chain(row.entry, broker)) if line]
    if by_broker:
        lines += per_broker(row.key, by_broker)
    text = snapshot.documentation.get((int(resource.type), row.key))
    if text:
        lines += documentation(text, width)
    return lines


def described_by(resource: ConfigResource, snapshot: Snapshot) -> int | None:
    """Whose values a resource's inherited ones are: its own broker's, or the one that described the topics."""
    broker_id = long_number(resource.name)
    if broker_id is not None and names.resource_word(resource.type) in ("broker", "logger"):
        return broker_id
    return snapshot.configs_from


def per_broker(key: str, by_broker: Mapping[int, Inherited]) -> list[Line]:
    """Which broker gives what, brokers with the same value together."""
    groups: dict[Inherited, list[int]] = {}
    for broker, inherited in sorted(by_broker.items()):
        groups.setdefault(inherited, []).append(broker)
    line: Line = [("Brokers differ: ", "changed")]
    for place, (inherited, brokers) in enumerate(groups.items()):
        who = ", ".join(map(str, brokers))
        text = f"{who} {'give' if len(brokers) > 1 else 'gives'} {with_unit(key, inherited.value, inherited.hidden)}"
        line.append((("; " if place else "") + text, ""))
        if inherited.source is not None:
            line.append((f" ({names.source(inherited.source)} {clean(inherited.name)})", "muted"))
    return [line]
