"""The keys that brokers alter while they run, as console/model/dynamic_keys.py.

``python -m tests.support.record_dynamic_keys`` writes it anew from the jars of the releases, the newest among them.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support.kafka_jars import NEWEST
from tests.support.record_config_definitions import ask_kafka

FILE = Path(__file__).parents[2] / "console" / "model" / "dynamic_keys.py"
RELEASES = tuple(dict.fromkeys(("3.9", "4.3", NEWEST)))
"""The last of each generation, and the newest: what one of them alters is dynamic for all."""

_HEAD = '''"""How brokers alter keys. Written from Kafka's jars by ``python -m tests.support.record_dynamic_keys``."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())
'''
_SAID = {
    "PER_LISTENER_KEYS": "DynamicBrokerConfig.DYNAMIC_SECURITY_CONFIGS: without a listener's prefix they are refused.",
    "PER_BROKER_KEYS": "DynamicBrokerConfig.PER_BROKER_CONFIGS less PER_LISTENER_KEYS; some only up to 3.9.",
    "CLUSTER_WIDE_KEYS": "DynamicBrokerConfig.ALL_DYNAMIC_CONFIGS less those that are per broker.",
    "CLUSTER_WIDE_LISTENER_KEYS": "Cluster-wide even under a listener's prefix (CLUSTER_LEVEL_LISTENER_CONFIGS).",
}


def tables(releases: Iterable[str] = RELEASES) -> dict[str, frozenset[str]]:
    """The names of each table, of all releases together."""
    told: list[dict[str, Any]] = [json.loads(ask_kafka(release)) for release in releases]

    def together(section: str) -> frozenset[str]:
        return frozenset(name for each in told for name in each[section])

    listener, broker = together("per_listener"), together("per_broker")
    return {
        "PER_LISTENER_KEYS": listener,
        "PER_BROKER_KEYS": broker - listener,
        "CLUSTER_WIDE_KEYS": together("dynamic") - broker,
        "CLUSTER_WIDE_LISTENER_KEYS": together("cluster_level_listener"),
    }


def as_text(found: dict[str, frozenset[str]]) -> str:
    """The module."""
    parts = [_HEAD]
    for table, names in found.items():
        lines = textwrap.fill(" ".join(sorted(names)), 116, break_on_hyphens=False, break_long_words=False)
        parts.append(
            f'\n{table} = _names(\n    """\n{textwrap.indent(lines, "    ")}\n    """\n)\n"""{_SAID[table]}"""\n'
        )
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def main() -> int:
    """Write the file."""
    FILE.write_text(as_text(tables()))
    print(FILE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
