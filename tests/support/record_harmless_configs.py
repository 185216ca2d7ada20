"""Writes `console/lake/harmless_configs.json`: the config keys that Kafka defines and that no release treats as a
password.

``python -m tests.support.record_harmless_configs`` makes it from the definitions in the jars of all releases;
`defined_configs.json` keeps the names and types of these definitions.
"""

import json
import sys
from pathlib import Path

from tests.support.kafka_jars import RELEASES
from tests.support.record_config_definitions import ask_kafka

ROOT = Path(__file__).parents[2]
WRITTEN = ROOT / "console" / "lake" / "harmless_configs.json"
SECTIONS = {
    "topic": "topic",
    "broker": "broker",
    "broker_dynamic_only": "broker",
    "group": "group",
    "client_metrics": "client-metrics",
}
"""Section in the output of ConfigDefinitions.java -> the lake's name for the type of entity."""
DEFINED = Path(__file__).with_name("defined_configs.json")
Defined = dict[str, dict[str, list[str]]]
"""Section -> config key -> the types that releases define for it, sorted."""


def definitions() -> Defined:
    """Return the definitions of all releases that `defined_configs.json` keeps."""
    found: Defined = json.loads(DEFINED.read_text())
    return found


def defined_by(release: str) -> Defined:
    """Return the definitions in the jars of a release."""
    told = json.loads(ask_kafka(release))
    return {
        section: {name: [definition["type"]] for name, definition in told.get(section, {}).items()}
        for section in SECTIONS
    }


def harmless() -> dict[str, list[str]]:
    """Return entity type -> the sorted config keys that some release defines and that no release defines as a password;
    for connectors, the keys of `of_connectors`.
    """
    found: dict[str, set[str]] = {entity_type: set() for entity_type in SECTIONS.values()}
    passwords: dict[str, set[str]] = {entity_type: set() for entity_type in SECTIONS.values()}
    for section, names in definitions().items():
        found[SECTIONS[section]].update(names)
        passwords[SECTIONS[section]].update(name for name, types in names.items() if "PASSWORD" in types)
    told = {entity_type: sorted(names - passwords[entity_type]) for entity_type, names in found.items()}
    return {**told, "connector": of_connectors()}


def of_connectors() -> list[str]:
    """Return the config keys that Connect itself defines for each connector, and that no release defines as a password.
    Keys of plugins are left out, because a plugin may use any key for a secret.
    """
    types: dict[str, set[str]] = {}
    for file in sorted((ROOT / "console" / "embedded" / "data").glob("connect_*.json")):
        recorded = json.loads(file.read_text())
        for name, definition in (*recorded["source"].items(), *recorded["sink"].items()):
            if isinstance(definition, dict):
                types.setdefault(name, set()).add(definition["type"])
    return sorted(name for name, mine in types.items() if "PASSWORD" not in mine)


def together(releases: list[Defined]) -> Defined:
    found: dict[str, dict[str, set[str]]] = {section: {} for section in SECTIONS}
    for release in releases:
        for section, names in release.items():
            for name, types in names.items():
                found[section].setdefault(name, set()).update(types)
    return {section: {name: sorted(types) for name, types in sorted(names.items())} for section, names in found.items()}


def as_lines(defined: Defined) -> str:
    """Return the definitions as JSON with a line for each config key."""
    parts = (
        f"{json.dumps(section)}: {{\n"
        + ",\n".join(f"{json.dumps(name)}: {json.dumps(types)}" for name, types in names.items())
        + "\n}"
        for section, names in defined.items()
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


def as_text(names: dict[str, list[str]]) -> str:
    """Return the config keys as JSON, one on each line."""
    return json.dumps(names, indent=0) + "\n"


def main() -> int:
    """Write `defined_configs.json` from the jars of all releases, and `harmless_configs.json` from these
    definitions.
    """
    DEFINED.write_text(as_lines(together([defined_by(release) for release in RELEASES])))
    WRITTEN.write_text(as_text(harmless()))
    print(WRITTEN)
    return 0


if __name__ == "__main__":
    sys.exit(main())
