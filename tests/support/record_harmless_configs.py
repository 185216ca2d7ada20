"""Writes `console/pipeline/harmless_configs.json`: the configs that Kafka defines and never hides.

``python -m tests.support.record_harmless_configs`` makes it from the definitions of all releases that are on record.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from console.embedded.config_definitions import release_data

ROOT = Path(__file__).parents[2]
WRITTEN = ROOT / "console" / "pipeline" / "harmless_configs.json"
SECTIONS = {
    "topic": "topic",
    "broker": "broker",
    "broker_dynamic_only": "broker",
    "group": "group",
    "client_metrics": "client-metrics",
}
"""Of a release's file -> the type that the history calls it."""


def definitions() -> Iterator[dict[str, Any]]:
    """Of each release that is on record, by section and name."""
    for file in sorted((ROOT / "console" / "embedded" / "data").glob("kafka_*.json")):
        yield release_data(file.stem.removeprefix("kafka_").replace("_", "."))


def harmless() -> dict[str, list[str]]:
    """Names by type, sorted: defined by some release, and a password in none."""
    known: dict[str, set[str]] = {entity_type: set() for entity_type in SECTIONS.values()}
    passwords: dict[str, set[str]] = {entity_type: set() for entity_type in SECTIONS.values()}
    for release in definitions():
        for section, entity_type in SECTIONS.items():
            for name, definition in release.get(section, {}).items():
                known[entity_type].add(name)
                if definition["type"] == "PASSWORD":
                    passwords[entity_type].add(name)
    return {entity_type: sorted(names - passwords[entity_type]) for entity_type, names in known.items()}


def as_text(names: dict[str, list[str]]) -> str:
    """A name to a line."""
    return json.dumps(names, indent=0) + "\n"


def main() -> int:
    """Write the file."""
    WRITTEN.write_text(as_text(harmless()))
    print(WRITTEN)
    return 0


if __name__ == "__main__":
    sys.exit(main())
