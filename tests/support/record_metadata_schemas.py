"""Records the schemas of Kafka's internal records as data files: those of the metadata log (console/lake/kraft) and
those of the coordinators' topics (console/model/internal_records).

``python -m tests.support.record_metadata_schemas`` writes both files from the jars of the releases.
"""

import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from console.model.kafka_structs import versions_of
from tests.support.kafka_jars import NEWEST, RELEASES, jars

_CONSOLE = Path(__file__).parents[2] / "console"
DATA = _CONSOLE / "lake" / "kraft_records.json"
COORDINATORS = _CONSOLE / "model" / "coordinator_records.json"
_SCHEMA = re.compile(r"common/metadata/\w+\.json")
_HALF = re.compile(r"common/message/(\w+)(Key|Value)\.json")
_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
_OF_A_FIELD = ("type", "versions", "nullableVersions", "taggedVersions")
_TOPICS = {"TransactionLog": "__transaction_state", "ShareSnapshot": "__share_group_state"}
_TOPICS["ShareUpdate"] = _TOPICS["ShareSnapshot"]
"""Name of a record type -> its topic; all other types are in `__consumer_offsets`."""


def records(version: str) -> list[dict[str, Any]]:
    """Return the schema of every metadata record type in a Kafka version, by the type's number. Raises ValueError if
    the jar has no schemas.
    """
    with zipfile.ZipFile(jars(version) / f"kafka-metadata-{version}.jar") as jar:
        texts = [jar.read(name).decode() for name in jar.namelist() if _SCHEMA.fullmatch(name)]
    schemas = [json.loads(_COMMENT.sub("", text)) for text in texts]
    made = [record(schema) for schema in schemas if schema["type"] == "metadata"]
    if not made:
        raise ValueError(f"no schemas in kafka-metadata-{version}.jar")
    return sorted(made, key=lambda each: int(each["apiKey"]))


def record(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a record type's schema that decoding needs. Raises ValueError if one of its versions is not
    flexible (has no tagged fields).
    """
    if schema["flexibleVersions"] != "0+":
        raise ValueError(f"{schema['name']} has versions that are not flexible: the decoder knows none such")
    return {
        "apiKey": schema["apiKey"],
        "name": schema["name"],
        "validVersions": schema["validVersions"],
        "fields": [field(each) for each in schema["fields"]],
    }


def field(schema: Mapping[str, Any], structs: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the attributes `_OF_A_FIELD` of a field's schema, its tag, and its own fields in the same form; names are
    those of Kafka's JSON.

    structs: name -> structure that several fields share; None for no such structures.
    """
    name = schema["name"]
    made: dict[str, Any] = {"name": name[0].lower() + name[1:]}
    made |= {key: schema[key] for key in _OF_A_FIELD if key in schema}
    made.setdefault("versions", schema.get("taggedVersions"))
    if "tag" in schema:
        made["tag"] = int(schema["tag"])  # 3.9 writes some tags as text
    parts = schema.get("fields") or (structs or {}).get(schema["type"].removeprefix("[]"))
    if parts:
        made["fields"] = [field(each, structs) for each in parts]
    return made


def coordinator_records(release: str) -> list[dict[str, Any]]:
    """Return the schema of every record type of the coordinators' topics in a release, by topic and number."""
    halves = dict(_halves(release))
    made = [
        {
            "topic": _TOPICS.get(name, "__consumer_offsets"),
            "apiKey": number,
            "name": name,
            "release": release,
            "key": _half(halves[name, "Key"]),
            "value": _half(halves[name, "Value"]),
        }
        for (name, part), schema in halves.items()
        if part == "Key"
        for number in _numbers(schema)
    ]
    return sorted(made, key=lambda each: (each["topic"], each["apiKey"]))


def all_coordinator_records() -> list[dict[str, Any]]:
    """Return the schemas of the record types of all releases, each as the newest release with that type defines it. A
    value version that only an older release has is added in that release's form.
    """
    made: dict[tuple[str, int], dict[str, Any]] = {}
    for name in reversed(RELEASES):
        for each in coordinator_records(name):
            newest = made.setdefault((each["topic"], each["apiKey"]), each)
            if not _value_versions(each) <= _value_versions(newest):
                newest["value"] = each["value"]
    return [made[place] for place in sorted(made)]


def _value_versions(row: Mapping[str, Any]) -> set[int]:
    return set(versions_of(row["value"]["validVersions"]))


def _halves(release: str) -> Iterator[tuple[tuple[str, str], Mapping[str, Any]]]:
    for path in jars(RELEASES[release]).glob("kafka*.jar"):
        with zipfile.ZipFile(path) as jar:
            for name in jar.namelist():
                if found := _HALF.fullmatch(name):
                    yield (found[1], found[2]), json.loads(_COMMENT.sub("", jar.read(name).decode()))


def _numbers(key: Mapping[str, Any]) -> Sequence[int]:
    """Return the numbers that a record type's keys begin with; up to 4.0 these are the versions of the key's schema."""
    return [key["apiKey"]] if "apiKey" in key else versions_of(key["validVersions"])


def _half(schema: Mapping[str, Any]) -> dict[str, Any]:
    structs = {each["name"]: each["fields"] for each in schema.get("commonStructs", ())}
    return {
        "validVersions": schema["validVersions"],
        "flexibleVersions": schema.get("flexibleVersions", "none"),
        "fields": [field(each, structs) for each in schema["fields"]],
    }


def as_text(made: list[dict[str, Any]]) -> str:
    """Return the record types as JSON with a line for each type, so that files of two releases can be compared by
    line.
    """
    return "[\n" + ",\n".join(map(json.dumps, made)) + "\n]\n"


def main() -> int:
    """Write both files, and print their paths."""
    for file, made in ((DATA, records(RELEASES[NEWEST])), (COORDINATORS, all_coordinator_records())):
        file.write_text(as_text(made))
        print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
