"""The config definitions of real Kafka, as the data files of console/embedded/data.

``python -m tests.support.record_config_definitions`` writes them anew: from the jars of each release, and from a broker
that runs on them.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_2_8, KAFKA_3_9, KAFKA_4_3, jars, java
from tests.support.patience import PATIENCE
from tests.support.zookeeper_cluster import ZooKeeperCluster

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "console" / "embedded" / "data"
VERSIONS = {"2.8": KAFKA_2_8, "3.9": KAFKA_3_9, "4.3": KAFKA_4_3}
SECTIONS = ("topic", "broker", "broker_dynamic_only", "group", "client_metrics")
NOT_CHECKED = ("ControllerQuorumVotersValidator", "ControllerQuorumBootstrapServersValidator", "NonNullValidator")
"""Validators of what nobody can alter, or of what nobody can send."""
_RULES = {
    "ThrottledReplicaListValidator": "throttled_replicas",
    "NonEmptyString": "not_empty",
    "Validator": "offset_reset",
}


def ask_kafka(release: str, *arguments: str, text: str = "") -> str:
    """What ConfigDefinitions.java prints with the jars of a release. Raises RuntimeError where it fails."""
    options = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars(VERSIONS[release])}/*")
    command = [java(), *options, str(HERE / "ConfigDefinitions.java"), *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(f"the definitions of Kafka {release}: {done.stderr.strip()}")
    return done.stdout


def verdicts(release: str, questions: Sequence[tuple[str, str, str]]) -> list[str | None]:
    """What Kafka says to values, None where it takes them. questions: a section, a key and a value each."""
    lines = ("\t".join((section, _encoded(key), _encoded(value))) for section, key, value in questions)
    said = ask_kafka(release, "verdicts", text="".join(f"{line}\n" for line in lines)).split()
    return [None if word == "ok" else base64.b64decode(word).decode() for word in said]


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def loggers(release: str) -> list[str]:
    """The loggers of a broker of a release that has just started."""
    started = ZooKeeperCluster(brokers=1) if release == "2.8" else KafkaCluster(VERSIONS[release], brokers=1)
    with started as cluster:
        asked = ("--describe", "--all", "--entity-type", "broker-loggers", "--entity-name", "1")
        told = cluster.run_admin_tool("kafka.admin.ConfigCommand", *asked)
    return sorted(set(re.findall(r"^  (\S+)=[A-Z]+ sensitive=", told, re.MULTILINE)))


def definitions(release: str) -> dict[str, Any]:
    """Everything that the data file of a release holds but for the loggers."""
    raw: dict[str, Any] = json.loads(ask_kafka(release))
    for section in SECTIONS:
        for definition in raw.get(section, {}).values():
            if "valid" in definition:
                told = definition.pop("valid")
                if told["kind"] not in NOT_CHECKED:
                    definition["valid"] = valid(told)
    return raw


def valid(told: Mapping[str, Any]) -> dict[str, Any]:
    """A validator of Kafka's as data: what it is, its bounds or values, and its own text."""
    kind, text = told["kind"].rstrip("$"), told.get("text", "")
    if kind == "Range":
        return {"rule": "range", "min": told.get("min"), "max": told.get("max"), "text": text}
    if kind in ("ValidString", "CaseInsensitiveValidString"):
        return {"rule": "one_of" if kind == "ValidString" else "one_of_any_case", "values": told["validStrings"]}
    if kind == "ValidList":
        return {
            "rule": "list_of",
            "values": told["validString"]["validStrings"],
            "distinct": "isEmptyAllowed" in told,
            "empty": told.get("isEmptyAllowed", True),
        }
    if kind in ("LambdaValidator", ""):
        return {"rule": "level_or_default" if text.endswith("or -1") else "positive_or_default", "text": text}
    if kind in ("ApiVersionValidator", "MetadataVersionValidator"):
        return {"rule": "metadata_version", "text": text, "quote": "`" if kind == "ApiVersionValidator" else ""}
    return {"rule": _RULES[kind], "text": text}


def file_of(release: str) -> Path:
    """The data file of a release."""
    return DATA / f"kafka_{release.replace('.', '_')}.json"


def as_text(data: Mapping[str, Any]) -> str:
    """A definition to a line, so that releases can be compared."""
    parts = []
    for name, part in data.items():
        if isinstance(part, dict):
            lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in part.items())
            parts.append(f"{json.dumps(name)}: {{\n{lines}\n}}")
        else:
            lines = ",\n".join(json.dumps(value) for value in part)
            parts.append(f"{json.dumps(name)}: [\n{lines}\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> int:
    """Write every release's file."""
    for release in VERSIONS:
        told = definitions(release) | {"loggers": loggers(release)}
        file_of(release).write_text(as_text(told))
        print(file_of(release))
    return 0


if __name__ == "__main__":
    sys.exit(main())
