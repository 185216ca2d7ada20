"""Records the config keys that brokers can change while they run, as console/model/dynamic_keys.py.

``python -m tests.support.record_dynamic_keys`` writes the file from the jars of three releases, and then tries each key
on a broker of each release in `TRIED`, by an alter request with validate_only.
"""

import asyncio
import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from console.admin.changes import send
from console.admin.link import Link, broker
from console.admin.settings import Address, ConnectionSettings
from console.model import broker_keys, codes, config
from console.model.changes import AlterConfigs, ConfigOp
from tests.support import kafka_cluster, kafka_jars, kafka_messages, record_config_definitions, zookeeper_cluster
from tests.support.kafka_jars import RELEASES as VERSIONS

FILE = Path(__file__).parents[2] / "console" / "model" / "dynamic_keys.py"
RELEASES = tuple(dict.fromkeys(("3.9", "4.3", kafka_jars.NEWEST)))
"""The last release of each major version, and the newest: a key that is dynamic in one of them counts as dynamic in all
releases.
"""
TRIED = ("2.8", *RELEASES)
"""The releases on whose brokers each key is tried; 2.8 runs with ZooKeeper."""

_HEAD = '''"""How brokers alter keys. Written from Kafka's jars by ``python -m tests.support.record_dynamic_keys``."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())
'''
_SAID = {
    "PER_LISTENER_KEYS": "DynamicBrokerConfig.DYNAMIC_SECURITY_CONFIGS: without a listener's prefix they are refused.",
    "PER_BROKER_KEYS": "DynamicBrokerConfig.PER_BROKER_CONFIGS less PER_LISTENER_KEYS; some only up to 3.9.",
    "CLUSTER_WIDE_KEYS": "DynamicBrokerConfig.ALL_DYNAMIC_CONFIGS less those that are per broker.",
    "DYNAMIC_ONLY_KEYS": "In no file of a server: brokers describe those that are set, and call them read-only.",
    "CLUSTER_WIDE_LISTENER_KEYS": "Cluster-wide even under a listener's prefix (CLUSTER_LEVEL_LISTENER_CONFIGS).",
}


def tables(releases: Iterable[str] = RELEASES) -> dict[str, frozenset[str]]:
    """Return name of a table of the module -> its keys: all keys that one of these releases has in the table."""
    told: list[dict[str, Any]] = [json.loads(record_config_definitions.ask_kafka(release)) for release in releases]

    def together(section: str) -> frozenset[str]:
        return frozenset(name for each in told for name in each[section])

    listener, broker = together("per_listener"), together("per_broker")
    return {
        "PER_LISTENER_KEYS": listener,
        "PER_BROKER_KEYS": broker - listener,
        "CLUSTER_WIDE_KEYS": together("dynamic") - broker,
        "DYNAMIC_ONLY_KEYS": together("broker_dynamic_only"),
        "CLUSTER_WIDE_LISTENER_KEYS": together("cluster_level_listener"),
    }


# -- on real brokers ---------------------------------------------------------------------------------------------------

_PREFIX = "listener.name.plaintext."
_REFUSED, _BARE, _FOR_ALL = "Cannot update these configs dynamically", "only per-listener", "at default cluster level"
_VALUES = {"BOOLEAN": "true", "DOUBLE": "0.5", "INT": "1", "SHORT": "1", "LONG": "1"}


class Tried(NamedTuple):
    """The results of trying a config key on a broker.

    entry: the broker's description of the key; None if it does not describe the key. broker: the error message of a
    request that sets the key on this broker. everywhere: the error message of a request that sets it for all brokers.
    Both messages are ``""`` if the broker accepts the request.
    """

    entry: config.ConfigEntry | None
    broker: str
    everywhere: str


async def tried(addresses: Sequence[Address]) -> dict[str, Tried]:
    """Return config key -> the result of trying it on the cluster's first broker: every key of the tables, and every
    key that this broker describes. Changes nothing, because the requests have validate_only.
    """
    link = Link(ConnectionSettings(tuple(addresses)))
    try:
        id_ = min((await link.nodes()).brokers)
        described = await _described(link, id_)
        known = tables()
        names = set(described).union(*known.values())
        for base in known["PER_LISTENER_KEYS"] | known["CLUSTER_WIDE_LISTENER_KEYS"] | {"sasl.enabled.mechanisms"}:
            names.add(f"{_PREFIX}{base}")

        async def said(name: str, value: str, at: int | None) -> str:
            resource = config.CLUSTER_DEFAULT if at is None else config.broker_resource(at)
            request = AlterConfigs({resource: (ConfigOp(name, codes.SET, value),)}, broker=at)
            (outcome,) = await send(link, request, validate_only=True)
            return "" if outcome.failure is None else outcome.failure.message

        found = {}
        for name in sorted(names):
            entry = described.get(name)
            value = entry.value if entry is not None else None
            value = value or _VALUES.get(entry.type.name if entry is not None else "", "1")
            found[name] = Tried(entry, await said(name, value, id_), await said(name, value, None))
        return found
    finally:
        await link.close()


async def _described(link: Link, id_: int) -> dict[str, config.ConfigEntry]:
    """Return config key -> its entry as the broker describes it, without the corrections of `describe_configs`."""
    wanted = {"resources": [(codes.BROKER, str(id_), None)], "include_synonyms": False, "include_documentation": False}
    answer = await link.call("describe_configs", kafka_messages.with_fields(**wanted), to=broker(id_))
    return {
        each.name: config.ConfigEntry(
            each.name,
            each.value,
            codes.ConfigSource(each.config_source),
            each.read_only,
            each.is_sensitive,
            codes.ConfigType(each.config_type),
        )
        for each in answer.results[0].configs
    }


def contradictions(found: Mapping[str, Tried]) -> Iterator[str]:
    """Yield a message for each key whose `update_mode` in kac contradicts the broker's answer to an alter request.

    Brokers accept any unknown key. So a key that the broker does not describe is skipped, unless it can only be set
    dynamically, or has a listener's prefix.
    """
    dynamic_only = tables()["DYNAMIC_ONLY_KEYS"]
    for name, each in found.items():
        if each.entry is None and name not in dynamic_only and not name.startswith(_PREFIX):
            continue
        mode = broker_keys.update_mode(codes.BROKER, name, each.entry)
        is_refused, is_bare = _REFUSED in each.broker, _BARE in each.broker
        for_all = each.entry is None or _FOR_ALL not in each.everywhere
        fits = {
            broker_keys.UpdateMode.RESTART: is_refused,
            broker_keys.UpdateMode.PER_LISTENER: is_bare,
            broker_keys.UpdateMode.PER_BROKER: not (is_refused or is_bare) and bool(each.everywhere),
            broker_keys.UpdateMode.CLUSTER_WIDE: not (is_refused or is_bare) and for_all,
            broker_keys.UpdateMode.CUSTOM: not is_refused,
        }
        if not fits[mode]:
            said = f"{each.broker or 'altered'}; for all: {each.everywhere or 'altered'}"
            yield f"{name} is {mode.value}; the broker: {said}"


def cluster_of(release: str) -> kafka_cluster.KafkaCluster:
    """Return a cluster of one broker of this release."""
    return (zookeeper_cluster.ZooKeeperCluster if release == "2.8" else kafka_cluster.KafkaCluster)(
        VERSIONS[release], brokers=1
    )


def as_text(found: dict[str, frozenset[str]]) -> str:
    """Return the source text of the module. found: name of a table -> its keys."""
    parts = [_HEAD]
    for table, names in found.items():
        lines = textwrap.fill(" ".join(sorted(names)), 116, break_on_hyphens=False, break_long_words=False)
        parts.append(
            f'\n{table} = _names(\n    """\n{textwrap.indent(lines, "    ")}\n    """\n)\n"""{_SAID[table]}"""\n'
        )
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def main() -> int:
    """Write the file, and try its keys on brokers. Return 0, or 1 if a broker contradicts it."""
    FILE.write_text(as_text(tables()))
    print(FILE)
    wrong = 0
    for release in TRIED:
        with cluster_of(release) as cluster:
            for line in contradictions(asyncio.run(tried(cluster.addresses))):
                wrong += 1
                print(f"{release}: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
