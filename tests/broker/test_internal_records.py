"""Records of the topics that Kafka's own parts keep: kac's JSON of them is that of Kafka's own classes and formatters,
release by release."""

from __future__ import annotations

import base64
import json
import random
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from console.model.internal_records import internal_decoders
from console.model.kafka_structs import Field, schemas_of, versions_of
from console.model.record_decoding import RecordDecoder
from console.model.records import BatchFacts, Record
from console.model.schemas import Allowance
from tests.support import record_metadata_schemas as recorded
from tests.support.compiled_java import with_ours
from tests.support.kafka_jars import RELEASES, java
from tests.support.patience import PATIENCE
from tests.support.real_clusters import RARE, or_skip

pytestmark = [pytest.mark.broker, pytest.mark.slow]

JAVA = Path(__file__).with_name("CoordinatorRecords.java")
WITH_CONVERTERS = [
    pytest.param(release, marks=[pytest.mark.long] if release in RARE else [])
    for release in RELEASES
    if release not in ("2.8", "3.7")
]
"""Releases whose jars have classes that write records as JSON."""
_BOUNDS = {"int8": 7, "int16": 15, "uint16": 16, "int32": 31, "uint32": 32, "int64": 63}


def kafkas_own(release: str, lines: Sequence[str]) -> Iterator[tuple[bytes, Any]]:
    """For each line of CoordinatorRecords the bytes of its record, and its JSON."""
    with or_skip():
        program = with_ours(JAVA, RELEASES[release])
    command = [java(), "-Xmx256m", "-XX:TieredStopAtLevel=1", *program]
    done = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        data, shown = map(base64.b64decode, line.split(" "))
        yield data, json.loads(shown)


class Half(NamedTuple):
    """A key or a value to compare. number: of the record's type. shown: Kafka's JSON of it."""

    topic: str
    number: int
    part: str
    data: bytes
    shown: Any


def read_by_kac(half: Half) -> Any:
    """The JSON of kac."""
    key = half.data if half.part == "Key" else half.number.to_bytes(2, "big")
    record = Record(half.topic, 0, 0, 0, key, half.data if half.part == "Value" else None, (), BatchFacts(0))
    shown = RecordDecoder((), own=internal_decoders(lambda data: data)).readable(record, Allowance())
    encoding = shown.key_encoding if half.part == "Key" else shown.value_encoding
    assert encoding is not None
    assert not encoding.why, (half, encoding)
    assert encoding.form == "kafka"
    made = shown.key if half.part == "Key" else shown.value
    assert made is not None
    return json.loads(made)


EARLY = {
    "3.7": {
        "ConsumerGroupCurrentMemberAssignment",
        "ConsumerGroupMemberMetadata",
        "ConsumerGroupPartitionMetadata",
        "ConsumerGroupTargetAssignmentMember",
    },
    "3.9": {"ShareGroupMetadata", "ShareGroupPartitionMetadata"},
    "4.0": {"ShareGroupMetadata", "ShareGroupStatePartitionMetadata", "ShareSnapshot", "ShareUpdate"},
}
"""Types whose values had other fields while they were an early access: kac has those of the release that kept them."""


def test_the_table_is_that_of_the_jars_and_has_the_records_of_every_release() -> None:
    with or_skip():
        rows = recorded.all_coordinator_records()
    assert recorded.COORDINATORS.read_text() == recorded.as_text(rows)
    known = {(each["topic"], each["apiKey"]): each for each in rows}
    for release in RELEASES:
        odd = set()
        for row in recorded.coordinator_records(release):
            mine = known[row["topic"], row["apiKey"]]
            assert placed_of(row["key"], set()) <= placed_of(mine["key"], set()) or row["apiKey"] in (0, 1)
            if not placed_of(row["value"]) <= placed_of(mine["value"]):
                odd.add(row["name"])
        assert odd == EARLY.get(release, set()), release


def placed_of(half: Mapping[str, Any], versions: set[int] | None = None) -> set[Any]:
    """The untagged fields of each version, which all releases with the version have. versions: of a key, none: its
    version is the number of its type, or 0."""
    found = schemas_of([{"apiKey": 0, "name": "", **half}]).values()
    return {(-1 if versions is not None else each.version, untagged(each.fields)) for each in found}


def untagged(fields: Sequence[Field]) -> tuple[Any, ...]:
    """The fields of a struct without tags, and of theirs."""
    return tuple(
        (each.name, each.type, each.is_array, each.nullable, untagged(each.fields))
        for each in fields
        if each.tag is None
    )


@pytest.mark.parametrize("release", WITH_CONVERTERS)
def test_every_type_and_version_is_what_kafkas_own_classes_read(release: str) -> None:
    """Contents by chance, of every field: bytes written and shown by that release's own classes."""
    chance = random.Random(release)
    lines, places = [], []
    for row in recorded.coordinator_records(release):
        for part in ("Key", "Value"):
            if part == "Value" and row["name"] in EARLY.get(release, ()):
                continue
            half = row[part.lower()]
            # Up to 4.0 the version of a key is the number of its type.
            own = row["apiKey"] if row["apiKey"] in versions_of(half["validVersions"]) else 0
            for version in [own] if part == "Key" else versions_of(half["validVersions"]):
                for _ in range(20):
                    content = by_chance(half["fields"], version, chance)
                    text = base64.b64encode(json.dumps(content).encode()).decode()
                    lines.append(f"make {row['name']}{part} {version} {text}")
                    places.append((row["topic"], row["apiKey"], part, row["apiKey"] if part == "Key" else version))
    made = list(kafkas_own(release, lines))
    assert len(made) == len(lines) > 20
    for (topic, number, part, prefix), (data, shown) in zip(places, made, strict=True):
        found = Half(topic, number, part, prefix.to_bytes(2, "big") + data, shown)
        assert read_by_kac(found) == shown, found


def by_chance(fields: Sequence[Mapping[str, Any]], version: int, chance: random.Random) -> dict[str, Any]:
    """Contents of a struct in Kafka's JSON. Tagged fields may be missing."""
    made = {}
    for field in fields:
        if version not in versions_of(field["versions"]):
            continue
        if "tag" in field and version in versions_of(field["taggedVersions"]) and chance.random() < 0.3:
            continue
        is_nullable = "nullableVersions" in field and version in versions_of(field["nullableVersions"])
        if is_nullable and chance.random() < 0.3:
            made[field["name"]] = None
        elif field["type"].startswith("[]"):
            # More than 127 take two bytes for their number.
            count = chance.choice((0, 1, 2) if "fields" in field else (0, 1, 3, 130))
            made[field["name"]] = [one_by_chance(field, version, chance) for _ in range(count)]
        else:
            made[field["name"]] = one_by_chance(field, version, chance)
    return made


def one_by_chance(field: Mapping[str, Any], version: int, chance: random.Random) -> Any:
    """A value of a field, or an element of its array."""
    type_ = field["type"].removeprefix("[]")
    if "fields" in field:
        return by_chance(field["fields"], version, chance)
    if bits := _BOUNDS.get(type_):
        lowest = 0 if type_.startswith("u") else -(1 << bits)
        return chance.choice((lowest, (1 << bits) - 1, 0, chance.randrange(lowest, 1 << bits)))
    match type_:
        case "bool":
            return chance.random() < 0.5
        case "uuid":
            return base64.urlsafe_b64encode(chance.randbytes(16)).decode().rstrip("=")
        case "bytes":
            return base64.b64encode(chance.randbytes(chance.choice((0, 1, 200)))).decode()
        case "float64":
            return chance.uniform(-1e9, 1e9)
        case "string":
            return "".join(chance.choices('aé\u20ac\U0001f600\n"\\/', k=chance.choice((0, 1, 9, 200))))
    raise AssertionError(type_)
