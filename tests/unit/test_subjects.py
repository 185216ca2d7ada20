"""Tests of the subjects of a schema registry: which topics use them, references as text, events, and modes."""

import json
from datetime import UTC, datetime

import pytest

from console.embedded.registry import Registry
from console.model.snapshot import Snapshot, with_schemas
from console.model.subjects import (
    SchemaListing,
    SchemaReference,
    SchemaVersion,
    Subject,
    SubjectTarget,
    parsed_reference,
    topics_of,
)
from console.triage.events import Kind, differences

NOW = datetime(2026, 11, 21, tzinfo=UTC)
AT = "/subjects/orders-value/versions"


def subject(
    name: str, record: str = "shop.Order", *, live: tuple[int, ...] = (1,), gone: tuple[int, ...] = ()
) -> Subject:
    numbers = sorted((*live, *gone))
    return Subject(name, tuple(SchemaVersion(n, n, "AVRO", "shop.Order", is_deleted=n in gone) for n in numbers))


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("orders-value", [("orders", "value", True)]),
        ("orders-key", [("orders", "key", True)]),
        (":.test:orders-value", [("orders", "value", True)]),
        ("orders-shop.Order", [("orders", "record", True)]),
        ("orders", [("orders", "value", False)]),
        ("shop.Order", []),
        ("gone-value", []),
    ],
)
def test_the_topics_of_a_subject_by_its_name(name: str, uses: list[tuple[str, str, bool]]) -> None:
    found = topics_of(subject(name), {"orders": None, "payments": None})
    assert [(each.topic, each.part, each.is_sure) for each in found] == uses


def test_a_reference_is_read_as_it_is_written() -> None:
    reference = SchemaReference("shop.Order", "a:b-value", 3)
    assert parsed_reference(reference.text) == reference
    for text in ("", "a", "a:b", "a:b:", "a:b:x", ":b:1", "a::1"):
        with pytest.raises(ValueError, match="is no reference"):
            parsed_reference(text)


def seen(*subjects: Subject) -> Snapshot:
    return with_schemas(Snapshot(), SchemaListing({each.name: each for each in subjects}), NOW)


def test_registered_and_deleted_versions_are_events() -> None:
    def events(old: Snapshot, new: Snapshot) -> list[tuple[object, str | None, str | None]]:
        found = differences(old, new)
        return [(each.place.about, each.was, each.became) for each in found if each.place.kind is Kind.SCHEMA]

    one, two = seen(subject("a")), seen(subject("a", live=(1, 2)))
    assert events(one, two) == [(SubjectTarget("a", 0), "version 1", "version 2")]
    assert events(two, seen(subject("a", live=(1,), gone=(2,)))) == [(SubjectTarget("a", 2), "registered", None)]
    assert events(seen(), one) == [(SubjectTarget("a", 0), None, "version 1")]
    assert events(one, one) == []


# -- the embedded registry, for behaviour that Apicurio does not have -------------------------------------------------


def body(text: str) -> bytes:
    return json.dumps({"schema": text}).encode()


def test_a_readonly_subject_takes_no_version_and_loses_none() -> None:
    registry = Registry()
    assert registry.answer("POST", AT, body('"int"')).status == 200
    assert registry.answer("PUT", "/mode/orders-value", b'{"mode":"READONLY"}').status == 200
    for method, path, data in (("POST", AT, body('"long"')), ("DELETE", f"{AT}/1", b"")):
        reply = registry.answer(method, path, data)
        assert (reply.status, reply.body["error_code"]) == (422, 42205)
    assert registry.answer("DELETE", "/mode/orders-value").status == 200
    assert registry.answer("DELETE", f"{AT}/1").body == 1


def test_own_values_differ_from_those_of_the_default() -> None:
    registry = Registry()
    missing = registry.answer("GET", "/config/orders-value")
    assert (missing.status, missing.body["error_code"]) == (404, 40408)
    inherited = registry.answer("GET", "/config/orders-value?defaultToGlobal=true")
    assert inherited.body == {"compatibilityLevel": "BACKWARD"}
    refused = registry.answer("PUT", "/config", b'{"compatibility":"SILLY"}')
    assert (refused.status, refused.body["error_code"]) == (422, 42203)


def test_a_version_is_purged_only_once_it_is_deleted() -> None:
    registry = Registry()
    registry.answer("POST", AT, body('"int"'))
    assert registry.answer("DELETE", f"{AT}/1?permanent=true").body["error_code"] == 40407
    assert registry.answer("DELETE", f"{AT}/1").status == 200
    assert registry.answer("GET", f"{AT}?deleted=true").body == [1]
    assert registry.answer("DELETE", f"{AT}/1?permanent=true").status == 200
    assert registry.answer("GET", "/subjects?deleted=true").body == []
