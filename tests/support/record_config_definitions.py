"""Records real Kafka's config definitions, APIs and features as the data files of console/embedded/data.

``python -m tests.support.record_config_definitions [RELEASE …]`` writes the files of these releases (by default of all)
from the jars of each release, and from a broker that runs on them. If a release is similar to another one, its file
only has the differences.
"""

import asyncio
import base64
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from console.admin import cluster, configs
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.embedded.config_definitions import LIKE, release_data
from console.embedded.spec import RELEASE_NAMES
from console.model.codes import BROKER_LOGGER
from console.model.config import ConfigResource
from console.wire.schemas import api_name
from tests.support.compiled_java import with_ours
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import RELEASES, java
from tests.support.patience import PATIENCE

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "console" / "embedded" / "data"
FEATURES = DATA / "releases.json"
LIKENESS = {"4.0": "4.4"}
"""Release -> the similar release whose file has the definitions that this release's file lacks."""
SECTIONS = ("topic", "broker", "broker_dynamic_only", "group", "client_metrics")
NOT_CHECKED = ("ControllerQuorumVotersValidator", "ControllerQuorumBootstrapServersValidator", "NonNullValidator")
"""Names of validators for values that no client can alter or send; they are left out."""
_RULES = {
    "ThrottledReplicaListValidator": "throttled_replicas",
    "NonEmptyString": "not_empty",
    "Validator": "offset_reset",
}


def ask_kafka(release: str, *arguments: str, text: str = "") -> str:
    """Return the output of ConfigDefinitions.java with the jars of a release. Raises RuntimeError if it fails."""
    program = with_ours(HERE / "ConfigDefinitions.java", RELEASES[release])
    command = [java(), "-Xmx256m", "-XX:TieredStopAtLevel=1", *program, *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(f"the definitions of Kafka {release}: {done.stderr.strip()}")
    return done.stdout


def verdicts(release: str, questions: Sequence[tuple[str, str, str]]) -> list[str | None]:
    """Return Kafka's error message for each value; None if Kafka accepts the value. questions: section, key and
    value.
    """
    lines = ("\t".join((section, _encoded(key), _encoded(value))) for section, key, value in questions)
    said = ask_kafka(release, "verdicts", text="".join(f"{line}\n" for line in lines)).split()
    return [None if word == "ok" else base64.b64decode(word).decode() for word in said]


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def loggers(running: KafkaCluster) -> list[str]:
    """Return the names of the loggers of a broker that has just started. They are read by a request, because a release
    may be published without command-line tools.
    """
    resource = ConfigResource(BROKER_LOGGER, "1")
    link = Link(ConnectionSettings(running.addresses))
    try:
        found = await configs.describe_configs(link, [resource])
    finally:
        await link.close()
    return sorted(entry.name for entry in found.sets[resource])


async def as_told(running: KafkaCluster) -> dict[str, Any]:
    """Return a new broker's API versions and features, as the release's entry in releases.json."""
    link = Link(ConnectionSettings(running.addresses))
    try:
        told = await link.call("api_versions", cluster.ASK_VERSIONS)
    finally:
        await link.close()
    return {
        "apis": {
            api_name(api.api_key) or f"api_{api.api_key}": {
                "key": api.api_key,
                "min": api.min_version,
                "max": api.max_version,
            }
            for api in sorted(told.api_keys, key=lambda api: api.api_key)
        },
        "supported": {
            feature.name: {"min": feature.min_version, "max": feature.max_version}
            for feature in told.supported_features
        },
        "finalized": {each.name: each.max_version_level for each in told.finalized_features},
    }


def definitions(release: str) -> dict[str, Any]:
    """Return the content of a release's data file, without the loggers."""
    raw: dict[str, Any] = json.loads(ask_kafka(release))
    for section in SECTIONS:
        for definition in raw.get(section, {}).values():
            if "valid" in definition:
                told = definition.pop("valid")
                if told["kind"] not in NOT_CHECKED:
                    definition["valid"] = valid(told)
    return raw


def valid(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return one of Kafka's validators as data: its rule, its bounds or values, and its text by `toString`.

    told: the validator as ConfigDefinitions.java prints it.
    """
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
    """Return the path of a release's data file."""
    return DATA / f"kafka_{release.replace('.', '_')}.json"


def as_text(data: Mapping[str, Any]) -> str:
    """Return data as JSON with a line for each definition, so that files of two releases can be compared by line."""
    parts = []
    for name, part in data.items():
        if isinstance(part, dict):
            lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in part.items())
            parts.append(f"{json.dumps(name)}: {{\n{lines}\n}}")
        elif not isinstance(part, list):
            parts.append(f"{json.dumps(name)}: {json.dumps(part)}")
        else:
            lines = ",\n".join(json.dumps(value) for value in part)
            parts.append(f"{json.dumps(name)}: [\n{lines}\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def difference(data: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """Return a release's data with ``true`` in place of each value that equals the base's value. The result has all
    keys of the release, in the release's order.
    """
    found: dict[str, Any] = {}
    for name, part in data.items():
        known = base.get(name)
        if part == known and (not isinstance(part, dict) or list(part) == list(known or ())):
            found[name] = True
        elif isinstance(part, dict) and isinstance(known, dict):
            found[name] = {key: True if key in known and known[key] == value else value for key, value in part.items()}
        else:
            found[name] = part
    return found


def releases_text(releases: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the releases as JSON with a line for each API or feature."""
    parts = []
    for name, told in releases.items():
        fields = []
        for field in ("apis", "supported", "finalized"):
            lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in told[field].items())
            fields.append(f' "{field}": {{\n{lines}\n }}' if lines else f' "{field}": {{}}')
        parts.append(f'"{name}": {{\n' + ",\n".join(fields) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> int:
    """Write the files of the releases in the arguments, by default of all. Newer releases are first, because files of
    older releases refer to theirs.
    """
    told = json.loads(FEATURES.read_text())
    for release in sorted(sys.argv[1:] or RELEASE_NAMES, key=list(RELEASES).index, reverse=True):
        with KafkaCluster(RELEASES[release], brokers=1) as running:
            found = definitions(release) | {"loggers": asyncio.run(loggers(running))}
            told[release] = asyncio.run(as_told(running))
        if base := LIKENESS.get(release):
            found = {LIKE: base, **difference(found, release_data(base))}
        file_of(release).write_text(as_text(found))
        FEATURES.write_text(releases_text({each: told[each] for each in RELEASES if each in told}))
        print(file_of(release))
    return 0


if __name__ == "__main__":
    sys.exit(main())
