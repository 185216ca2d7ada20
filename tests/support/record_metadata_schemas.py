"""The schemas of the metadata log's records, as the data file of console/lake/kraft.

``python -m tests.support.record_metadata_schemas`` writes it anew: each release has its own in kafka-metadata's jar.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.kafka_jars import NEWEST, RELEASES, jars

DATA = Path(__file__).parents[2] / "console" / "lake" / "kraft_records.json"
_SCHEMA = re.compile(r"common/metadata/\w+\.json")
_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
_OF_A_FIELD = ("type", "versions", "nullableVersions", "taggedVersions")


def records(version: str) -> list[dict[str, Any]]:
    """Every record type of a version of Kafka, by its number. Raises ValueError where the jar holds none."""
    with zipfile.ZipFile(jars(version) / f"kafka-metadata-{version}.jar") as jar:
        texts = [jar.read(name).decode() for name in jar.namelist() if _SCHEMA.fullmatch(name)]
    schemas = [json.loads(_COMMENT.sub("", text)) for text in texts]
    made = [record(schema) for schema in schemas if schema["type"] == "metadata"]
    if not made:
        raise ValueError(f"no schemas in kafka-metadata-{version}.jar")
    return sorted(made, key=lambda each: int(each["apiKey"]))


def record(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What decoding a record needs of its schema. Raises ValueError for one that is not flexible throughout."""
    if schema["flexibleVersions"] != "0+":
        raise ValueError(f"{schema['name']} has versions that are not flexible: the decoder knows none such")
    return {
        "apiKey": schema["apiKey"],
        "name": schema["name"],
        "validVersions": schema["validVersions"],
        "fields": [field(each) for each in schema["fields"]],
    }


def field(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same of a field: its name as in Kafka's JSON, and its parts."""
    name = schema["name"]
    made: dict[str, Any] = {"name": name[0].lower() + name[1:]}
    made |= {key: schema[key] for key in _OF_A_FIELD if key in schema}
    if "tag" in schema:
        made["tag"] = int(schema["tag"])  # 3.9 has some as text
    if "fields" in schema:
        made["fields"] = [field(each) for each in schema["fields"]]
    return made


def as_text(made: list[dict[str, Any]]) -> str:
    """A record type to a line, so that releases can be compared."""
    return "[\n" + ",\n".join(map(json.dumps, made)) + "\n]\n"


def main() -> int:
    """Write the newest release's file."""
    DATA.write_text(as_text(records(RELEASES[NEWEST])))
    print(DATA)
    return 0


if __name__ == "__main__":
    sys.exit(main())
