"""Tests of records in Kafka's internal topics: for each release, kac's JSON equals that of Kafka's own classes and
formatters.
"""

import base64
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from console.model.coordinators import OFFSETS
from console.model.kafka_structs import Field, schemas_of, versions_of
from tests.support import internal_topics, kafka_jars, real_clusters
from tests.support import record_metadata_schemas as recorded
from tests.support.internal_topics import Sent, by_kac

pytestmark = [pytest.mark.broker, pytest.mark.slow]

WITH_CONVERTERS = real_clusters.by_release((each for each in kafka_jars.RELEASES if each not in ("2.8", "3.7")), "4.4")
"""Parametrizes tests with the releases whose jars have classes that write these records as JSON."""
_BOUNDS = {"int8": 7, "int16": 15, "uint16": 16, "int32": 31, "uint32": 32, "int64": 63}

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
"""Release -> record types whose values had other fields in the early access of this release. kac has the fields of the
first stable release.
"""


@pytest.mark.long
def test_the_table_is_that_of_the_jars_and_has_the_records_of_every_release() -> None:
    with real_clusters.or_skip():
        rows = recorded.all_coordinator_records()
    assert recorded.COORDINATORS.read_text() == recorded.as_text(rows)
    known = {(each["topic"], each["apiKey"]): each for each in rows}
    for release in kafka_jars.RELEASES:
        odd = set()
        for row in recorded.coordinator_records(release):
            mine = known[row["topic"], row["apiKey"]]
            assert placed_of(row["key"], set()) <= placed_of(mine["key"], set()) or row["apiKey"] in (0, 1)
            if not placed_of(row["value"]) <= placed_of(mine["value"]):
                odd.add(row["name"])
        assert odd == EARLY.get(release, set()), release


def placed_of(half: Mapping[str, Any], versions: set[int] | None = None) -> set[Any]:
    """Return (version, untagged fields) of each version of a schema. half: the schema of the key or of the value of a
    record type.

    versions: None returns each version number. A set, also an empty one, returns -1 for every version: use it for
    record keys, which have no version of their own.
    """
    found = schemas_of([{"apiKey": 0, "name": "", **half}]).values()
    return {(-1 if versions is not None else each.version, untagged(each.fields)) for each in found}


def untagged(fields: Sequence[Field]) -> tuple[Any, ...]:
    """Return the fields of a struct as tuples, without tagged fields, also in structs inside it."""
    return tuple(
        (each.name, each.type, each.is_array, each.nullable, untagged(each.fields))
        for each in fields
        if each.tag is None
    )


@pytest.mark.parametrize("version", real_clusters.by_release(internal_topics.BROKERS, kafka_jars.KAFKA_4_3))
@pytest.mark.takes(30)
def test_what_brokers_write_is_what_kafkas_formatters_print(version: str) -> None:
    """For the records that a real broker writes for its clients - offsets, groups of all protocols, transactions and
    share state - kac gives the same JSON as Kafka's own formatters.
    """
    with real_clusters.or_skip():
        recording = internal_topics.recorded_brokers(version)
    compared = internal_topics.compare(recording)
    assert compared["classes"] == (0 if version == kafka_jars.KAFKA_2_8 else len(recording.sent))
    types = {int.from_bytes((each.key or b"")[:2], "big") for each in recording.sent if each.topic == OFFSETS}
    # Kafka 4 no longer writes 0, 4 and 9, and no release writes 18.
    assert types == ({1, 2} if kafka_jars.major(version) < 4 else {*range(1, 24)} - {4, 9, 18})
    formatters = {each.name.rpartition(".")[2] for each in internal_topics.formatters(version)}
    assert {name for name, count in compared.items() if count} >= formatters


@pytest.mark.long  # its first checkpoints take minutes on a busy machine; the fast tests use a recording
@pytest.mark.parametrize("version", real_clusters.by_release(internal_topics.MIRRORS, kafka_jars.KAFKA_4_3))
@pytest.mark.takes(30)
def test_what_mirrormaker_writes_is_what_its_formatters_print(version: str, tmp_path: Path) -> None:
    with real_clusters.or_skip():
        recording = internal_topics.recorded_mirror(version, tmp_path)
    assert internal_topics.compare_mirror(recording).keys() == internal_topics.MIRRORED.keys()


def test_what_connect_writes_is_what_its_rest_api_answers() -> None:
    with real_clusters.or_skip():
        recording = internal_topics.recorded_connect(kafka_jars.KAFKA_4_3)
    assert internal_topics.compare_connect(recording)["Connect's session key"] == 1


@pytest.mark.parametrize("release", WITH_CONVERTERS)
def test_every_type_and_version_is_what_kafkas_own_classes_read(release: str) -> None:
    """For records with random values in all fields, written by the classes of each release, kac gives the same JSON as
    these classes.
    """
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
    with real_clusters.or_skip():
        made = list(internal_topics.kafkas_own(kafka_jars.RELEASES[release], lines))
    assert len(made) == len(lines) > 20
    for (topic, number, part, prefix), (data, shown) in zip(places, made, strict=True):
        whole = prefix.to_bytes(2, "big") + data
        record = Sent(topic, whole if part == "Key" else number.to_bytes(2, "big"), whole if part == "Value" else None)
        assert by_kac(record, part)[part == "Value"] == shown, record


def by_chance(fields: Sequence[Mapping[str, Any]], version: int, chance: random.Random) -> dict[str, Any]:
    """Return random contents of a struct, in the JSON of Kafka's classes. Some tagged fields are missing."""
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
            # The length of more than 127 elements takes two bytes.
            count = chance.choice((0, 1, 2) if "fields" in field else (0, 1, 3, 130))
            made[field["name"]] = [one_by_chance(field, version, chance) for _ in range(count)]
        else:
            made[field["name"]] = one_by_chance(field, version, chance)
    return made


def one_by_chance(field: Mapping[str, Any], version: int, chance: random.Random) -> Any:
    """Return a random value of a field, in the JSON of Kafka's classes; for an array, of one element."""
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
