"""Records real Connect workers as the data files of console/embedded/data: plugins, their config definitions, and the
stack trace of a failing task.

``python -m tests.support.record_connect [RELEASE …]`` writes the files of these releases (by default of all) from the
jars of each release and from a worker that runs on them. The files of other releases than the newest only have the
differences.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from console.embedded.config_definitions import LIKE, release_data
from console.embedded.connect.definitions import RELEASES_OF_CONNECT, TRACED_FILE
from tests.support import compiled_java, connect_cluster, kafka_cluster, kafka_jars, patience, record_config_definitions
from tests.support.connect_cluster import ConnectCluster, class_path, until

NEWEST = RELEASES_OF_CONNECT[-1]
"""The release whose file the files of the other releases refer to."""
_RUNTIME, _FILES = "org.apache.kafka.connect.runtime.", "org.apache.kafka.connect.file."
_HOLDERS = {
    "source": (f"{_RUNTIME}SourceConnectorConfig", "configDef"),
    "sink": (f"{_RUNTIME}SinkConnectorConfig", "configDef"),
    f"{_FILES}FileStreamSourceConnector": (f"{_FILES}FileStreamSourceConnector", "CONFIG_DEF"),
    f"{_FILES}FileStreamSinkConnector": (f"{_FILES}FileStreamSinkConnector", "CONFIG_DEF"),
}
"""Section of a data file -> class and member in Connect's jars that have its definitions."""


def definitions_of_jars(version: str) -> dict[str, Any]:
    """Return the definitions of `_HOLDERS` by section and key, as ConfigDefinitions.java prints them. Raises
    RuntimeError if the program fails.
    """
    program = Path(record_config_definitions.__file__).with_name("ConfigDefinitions.java")
    path = f"{class_path(version)}:{compiled_java.compiled(program, version)}"
    words = [word for holder in _HOLDERS.values() for word in holder]
    command = [kafka_jars.java(), "-Xmx256m", "-cp", path, program.stem, "of", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience.PATIENCE)
    if done.returncode:
        raise RuntimeError(f"the definitions of Connect {version}: {done.stderr.strip()}")
    told = json.loads(done.stdout)
    return {section: told[holder] for section, (holder, _) in _HOLDERS.items()}


def rules(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one of Kafka's validators as a list of the rules that it checks, without rules that every value meets.
    told: the validator as ConfigDefinitions.java prints it.
    """
    kind = told["kind"].rstrip("$")
    match kind:
        case "CompositeValidator":
            return [rule for each in told["validators"] for rule in rules(each)]
        case "NonEmptyStringWithoutControlChars":
            return [{"rule": "no_control_characters"}]
        case "ConcreteSubClassValidator":
            return [{"rule": "subclass", "of": told["text"].rpartition(".")[2]}]
        case "InstantiableClassValidator" | "NonNullValidator" | "PluginVersionValidator":
            return []
        case "RegexValidator":
            return [{"rule": "pattern"}]
        case "LambdaValidator" | "" if told["text"].startswith("unique"):
            return [{"rule": "unique"}]
        case "LambdaValidator" | "":
            return [{"rule": "range", "min": int(told["text"].strip("[,.]")), "max": None, "text": told["text"]}]
        case "ValidList":
            return [{"rule": "distinct"}]
        case _:
            return [record_config_definitions.valid(told)]


def recorded(version: str) -> dict[str, Any]:
    """Return the content of a version's data file."""
    with (
        kafka_cluster.KafkaCluster(version, brokers=1) as brokers,
        ConnectCluster(version, brokers.bootstrap) as workers,
    ):
        (url,) = workers.urls

        def get(path: str) -> Any:
            return connect_cluster.ask(url, "GET", path).body

        root, plugins = get("/"), get("/connector-plugins?connectorsOnly=false")
        found: dict[str, Any] = {"version": root["version"], "commit": root["commit"], "plugins": plugins}
        for name in sorted({each["class"] for each in plugins}):
            found[name] = _by_name(get(f"/connector-plugins/{name}/config"))
        for kind in ("source", "sink"):
            name = f"{_FILES}FileStream{kind.capitalize()}Connector"
            body = {"connector.class": name}
            shown = connect_cluster.ask(url, "PUT", f"/connector-plugins/{name}/config/validate", body).body
            found[kind] = _validated(shown["configs"], found[name])
            found[name] = {key: value for key, value in found[name].items() if key not in found[kind]}
        found["task_fields"], found["trace"] = _failed_task(url)
        found["place_field"] = _place_field(get(f"/connector-plugins/{_FILES}FileStreamSinkConnector/config"))
    for section, definitions in definitions_of_jars(version).items():
        for name, definition in definitions.items():
            if checks := rules(definition["valid"]) if "valid" in definition else []:
                found[section][name]["valid"] = checks
    return found


def _place_field(definitions: Sequence[Mapping[str, Any]]) -> str:
    """Return the name that a release gives to the field that has a config key's position in its group."""
    (name,) = {field for each in definitions for field in each if field.startswith("order")}
    return name


def _by_name(definitions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return config key -> its definition; the field with a key's position in its group gets the same name for every
    release.
    """
    return {
        each["name"]: {
            "order_in_group" if field == "order" else field: value for field, value in each.items() if field != "name"
        }
        for each in definitions
    }


def _validated(configs: Sequence[Mapping[str, Any]], told: Mapping[str, Any]) -> dict[str, Any]:
    """Return config key -> its definition, for the keys that all connectors share, in the order in which Connect
    validates them. The keys of the file connector itself are left out.

    configs: the items of a worker's answer to a validation. told: all definitions of the plugin, without the defaults
    that the worker sets.
    """
    found = {}
    for definition, value in ((each["definition"], each["value"]) for each in configs):
        if definition["name"] in ("file", "topic", "batch.size"):
            continue
        (one,) = _by_name([definition]).values()
        if one["default_value"] != told[definition["name"]]["default_value"]:
            one["of_worker"] = True
        if value["recommended_values"]:
            one["recommended"] = value["recommended_values"]
        found[definition["name"]] = one
    return found


def _failed_task(url: str) -> tuple[list[str], str]:
    """Let a sink fail because its folder does not exist. Return the names of the fields of the task's status, and its
    stack trace.
    """
    config = {"connector.class": f"{_FILES}FileStreamSinkConnector", "topics": "none", "file": TRACED_FILE}
    connect_cluster.ask(url, "POST", "/connectors", {"name": "failing", "config": config})
    found: list[dict[str, Any]] = []

    def failed() -> bool:
        status = connect_cluster.ask(url, "GET", "/connectors/failing/status").body
        found.extend(each for each in status.get("tasks", ()) if "trace" in each)
        return bool(found)

    until(failed, "the sink fails")
    return sorted(found[0]), found[0]["trace"]


def file_of(release: str) -> Path:
    """Return the path of a release's data file."""
    return record_config_definitions.DATA / f"connect_{release.replace('.', '_')}.json"


def main() -> int:
    """Write the files of the releases in the arguments, by default of all releases. The newest is first, because the
    files of the others refer to it.
    """
    for release in sorted(sys.argv[1:] or RELEASES_OF_CONNECT, key=list(kafka_jars.RELEASES).index, reverse=True):
        found = recorded(kafka_jars.RELEASES[release])
        if release != NEWEST:
            found = {LIKE: NEWEST, **record_config_definitions.difference(found, release_data(NEWEST, "connect"))}
        file_of(release).write_text(record_config_definitions.as_text(found))
        print(file_of(release), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
