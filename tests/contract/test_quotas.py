"""Tests of client quotas."""

from collections.abc import Iterator

import pytest

from tests.contract import verbs
from tests.contract.messages import told
from tests.contract.target import Target
from tests.support.kafka_messages import with_fields

FOUND = ("NONE", "")
PRODUCE, CONSUME, REQUEST, MUTATION = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)
CONNECTIONS = "connection_creation_rate"


@pytest.fixture(autouse=True)
def nothing_is_left(target: Target) -> Iterator[None]:
    """Delete all quotas after each test."""
    yield
    for entity, values in verbs.quotas(target, [])[1]:
        assert verbs.alter_quotas(target, [(entity, dict.fromkeys(values))]) == [verbs.FINE]
    assert verbs.quotas(target, []) == (FOUND, [])


def alter(
    target: Target, entity: verbs.Entity, key: str, value: float | None, *, dry: bool = False
) -> tuple[str, str | None]:
    (told_of,) = verbs.alter_quotas(target, [(entity, {key: value})], dry=dry)
    return told_of


def test_every_key_and_entity(target: Target, name: str) -> None:
    """Each valid combination of entity types (user, client id, IP) accepts every quota key of its kind."""
    every = {PRODUCE: 1000.0, CONSUME: 5.0, REQUEST: 12.5, MUTATION: 1.5}
    entities: list[dict[str, str | None]] = [
        {"user": user, "client-id": client} for user in (name, None) for client in (name, None)
    ]
    entities += [{kind: each} for kind in ("user", "client-id") for each in (name, None)]
    assert verbs.alter_quotas(target, [(entity, every) for entity in entities]) == [verbs.FINE] * len(entities)
    ips: list[dict[str, str | None]] = [{"ip": "192.0.2.9"}, {"ip": None}]
    assert verbs.alter_quotas(target, [(entity, {CONNECTIONS: 5.0}) for entity in ips]) == [verbs.FINE] * 2
    error, found = verbs.quotas(target, [])
    assert error == FOUND
    wanted = [*((entity, every) for entity in entities), *((entity, {CONNECTIONS: 5.0}) for entity in ips)]
    assert sorted(map(_sortable, found)) == sorted(map(_sortable, wanted))


def _sortable(described: tuple[dict[str, str | None], dict[str, float]]) -> str:
    entity, values = described
    return f"{sorted(entity.items())} {sorted(values.items())}"


def test_set_and_remove(target: Target, name: str) -> None:
    entity = {"user": name}
    assert verbs.alter_quotas(target, [(entity, {PRODUCE: 1000.0, CONSUME: 5.0})]) == [verbs.FINE]
    assert verbs.alter_quotas(target, [(entity, {PRODUCE: 2000.0, CONSUME: None})]) == [verbs.FINE]
    assert verbs.quotas(target, [("user", verbs.EXACT, name)]) == (FOUND, [(entity, {PRODUCE: 2000.0})])
    assert verbs.alter_quotas(target, [(entity, {})]) == [verbs.FINE]
    assert verbs.quotas(target, [("user", verbs.EXACT, name)]) == (FOUND, [(entity, {PRODUCE: 2000.0})])


def test_removing_is_not_checked(target: Target, name: str) -> None:
    """The removal of a key that is unknown or not set succeeds, but fails if the entity is invalid."""
    for key in (PRODUCE, "no.such.key", CONNECTIONS):
        assert alter(target, {"user": name}, key, None) == verbs.FINE
    assert alter(target, {}, PRODUCE, None) == told(target, "empty entity")


@pytest.mark.parametrize("user", ["<default>", "a/b c%*+,=\u00fc"])
def test_names_are_taken_as_they_are(target: Target, user: str) -> None:
    """An entity with the name `<default>` is an ordinary one, not the default entity, which has the name null."""
    assert alter(target, {"user": user}, PRODUCE, 5.0) == verbs.FINE
    assert verbs.quotas(target, [("user", verbs.EXACT, user)]) == (FOUND, [({"user": user}, {PRODUCE: 5.0})])
    assert verbs.quotas(target, [("user", verbs.DEFAULT, None)]) == (FOUND, [])


@pytest.mark.parametrize(
    ("entity", "situation"),
    [
        ({}, "empty entity"),
        ({"group": "x"}, "unhandled entity"),
        ({"group": "x", "user": "u"}, "unhandled entity"),
        ({"user": ""}, "empty name"),
        ({"client-id": ""}, "empty name"),
        ({"ip": ""}, "empty name"),
        ({"ip": "192.0.2.9", "user": "u"}, "ip with user"),
        ({"ip": "192.0.2.9", "client-id": "c"}, "ip with user"),
        ({"ip": "no such host"}, "no ip"),
    ],
)
def test_an_entity_that_can_not_be(target: Target, entity: dict[str, str | None], situation: str) -> None:
    """The entry of an invalid entity gets the error INVALID_REQUEST."""
    kind = next(iter(entity), "")
    name = entity.get(kind) or ""
    key = CONNECTIONS if "ip" in entity else PRODUCE
    refused = told(target, situation, kind=kind, name=name)
    assert alter(target, entity, key, 5.0) == refused
    assert alter(target, entity, key, 5.0, dry=True) == refused


@pytest.mark.parametrize(
    ("entity", "key", "value", "situation"),
    [
        ("user", "no.such.key", 1.0, "unknown quota"),
        ("user", CONNECTIONS, 1.0, "unknown quota"),
        ("ip", PRODUCE, 1.0, "unknown quota"),
        ("user", PRODUCE, -1.0, "negative"),
        ("user", PRODUCE, 1000.5, "fraction"),
        ("user", PRODUCE, 1e19, "too large"),
        ("user", PRODUCE, float("inf"), "too large"),
        ("ip", CONNECTIONS, 5.5, "fraction"),
        ("ip", CONNECTIONS, 3e9, "too large"),
    ],
)
def test_a_value_that_can_not_be(target: Target, entity: str, key: str, value: float, situation: str) -> None:
    name = "192.0.2.9" if entity == "ip" else "u"
    kind = {"type": "INT", "a": "an"} if key == CONNECTIONS else {"type": "LONG", "a": "a"}
    if value == float("inf") and target.is_since("4.4"):
        situation = "not finite"
    assert alter(target, {entity: name}, key, value) == told(target, situation, key=key, **kind)
    assert verbs.quotas(target, []) == (FOUND, [])


def test_zero(target: Target, name: str) -> None:
    """A quota of 0 is refused."""
    assert alter(target, {"user": name}, PRODUCE, 0.0) == told(target, "zero", key=PRODUCE)


def test_almost_whole(target: Target, name: str) -> None:
    """A quota that must be a whole number may deviate from one by up to 1e-6; brokers keep the fraction."""
    assert alter(target, {"user": name}, PRODUCE, 1000.0000001) == verbs.FINE
    assert verbs.quotas(target, [("user", verbs.EXACT, name)]) == (FOUND, [({"user": name}, {PRODUCE: 1000.0000001})])


def test_what_validate_only_lets_through(target: Target, name: str) -> None:
    """A validate-only request accepts some entries that a real one refuses: NaN up to 4.3, and an entity with two names
    of the same type.
    """
    nan = told(target, "not finite", key=PRODUCE) if target.is_since("4.4") else verbs.FINE
    assert alter(target, {"user": name}, PRODUCE, float("nan"), dry=True) == nan
    assert alter(target, [("user", name), ("user", f"{name}-2")], PRODUCE, 5.0, dry=True) == verbs.FINE
    assert verbs.quotas(target, []) == (FOUND, [])


def test_all_or_nothing_within_an_entity(target: Target, name: str) -> None:
    one, other = {"user": name}, {"user": f"{name}-2"}
    wanted = [(one, {PRODUCE: 5.0}), (other, {PRODUCE: 5.0, "no.such.key": 1.0})]
    assert sorted(verbs.alter_quotas(target, wanted)) == sorted(
        [verbs.FINE, told(target, "unknown quota", key="no.such.key")]
    )
    assert verbs.quotas(target, []) == (FOUND, [(one, {PRODUCE: 5.0})])


def test_the_same_entity_twice(target: Target, name: str) -> None:
    """If a request has an entity twice, brokers apply its first entry and then report an error for the entity."""
    entity = {"user": name}
    answered = verbs.alter_quotas(target, [(entity, {PRODUCE: 5.0}), (entity, {CONSUME: 7.0})])
    assert answered == [told(target, "entity twice", name=name)]
    assert verbs.quotas(target, []) == (FOUND, [(entity, {PRODUCE: 5.0})])


def test_validate_only_writes_nothing(target: Target, name: str) -> None:
    assert alter(target, {"user": name}, PRODUCE, 5.0, dry=True) == verbs.FINE
    assert verbs.quotas(target, []) == (FOUND, [])


@pytest.mark.slow
def test_a_controller_takes_so_many_records_in_one_change(target: Target) -> None:
    """A request that would write more than 10,000 records to the metadata log, one for each key of an entity, is
    refused.
    """
    many: list[tuple[verbs.Entity, dict[str, float | None]]] = [
        ({"user": f"u{number}"}, {PRODUCE: 5.0, CONSUME: 5.0}) for number in range(5_000)
    ]
    many.append(({"user": "one more"}, {PRODUCE: 5.0}))
    (refused,) = set(verbs.alter_quotas(target, many, dry=True))
    assert refused[0] in ("POLICY_VIOLATION", "UNKNOWN_SERVER_ERROR")


def test_filters(target: Target, name: str) -> None:
    """Filters match an entity with an exact name, the default entity, or any entity including the default. A strict
    filter matches only entities without further types. A strict filter without components matches nothing.
    """
    user: dict[str, str | None] = {"user": name}
    client: dict[str, str | None] = {"client-id": name}
    pair: dict[str, str | None] = {"user": name, "client-id": name}
    default: dict[str, str | None] = {"user": None}
    pair_default: dict[str, str | None] = {"user": name, "client-id": None}
    everything = (user, client, pair, default, pair_default)
    limit = {PRODUCE: 5.0}
    assert verbs.alter_quotas(target, [(entity, limit) for entity in everything]) == [verbs.FINE] * 5

    def found(*components: tuple[str, int, str | None], strict: bool = False) -> list[str]:
        error, entries = verbs.quotas(target, components, strict=strict)
        assert error == FOUND
        assert {str(values) for _, values in entries} <= {str(limit)}
        return sorted(str(dict(sorted(entity.items()))) for entity, _ in entries)

    def only(*entities: dict[str, str | None]) -> list[str]:
        return sorted(str(dict(sorted(entity.items()))) for entity in entities)

    assert found(("user", verbs.EXACT, name)) == only(user, pair, pair_default)
    assert found(("user", verbs.EXACT, name), strict=True) == only(user)
    assert found(("user", verbs.DEFAULT, None)) == only(default)
    assert found(("user", verbs.ANY, None)) == only(user, pair, default, pair_default)
    assert found(("user", verbs.ANY, None), strict=True) == only(user, default)
    assert found(("user", verbs.EXACT, name), ("client-id", verbs.ANY, None)) == only(pair, pair_default)
    assert found(("user", verbs.EXACT, name), ("client-id", verbs.DEFAULT, None)) == only(pair_default)
    assert found(("user", verbs.EXACT, f"{name}-no")) == []
    assert found() == only(*everything)
    assert found(strict=True) == []


@pytest.mark.parametrize(
    ("components", "situation"),
    [
        ([("", verbs.EXACT, "x")], "filter without type"),
        ([("user", verbs.EXACT, "x"), ("user", verbs.EXACT, "y")], "filter type twice"),
        ([("user", 7, "x")], "filter match"),
        ([("user", verbs.EXACT, None)], "filter exactly null"),
        ([("ip", verbs.EXACT, "192.0.2.9"), ("user", verbs.EXACT, "x")], "filter ip with user"),
        ([("ip", verbs.EXACT, "192.0.2.9"), ("client-id", verbs.ANY, None)], "filter ip with user"),
        ([("group", verbs.EXACT, "x")], "filter type"),
        ([("user", verbs.EXACT, "x"), ("group", verbs.EXACT, "x")], "filter type"),
    ],
)
def test_a_filter_that_can_not_be(
    target: Target, components: list[tuple[str, int, str | None]], situation: str
) -> None:
    """An invalid filter fails the whole request; the error for an unknown match type is UNSUPPORTED_VERSION."""
    kind, match, _ = components[-1]
    assert verbs.quotas(target, components) == (told(target, situation, kind=kind, match=match), [])


def test_version_0(target: Target, name: str) -> None:
    """Version 0 of the quota APIs, the only one that is not a flexible version, gives the same answers."""
    limited = ([("user", name)], [(PRODUCE, 5.0, False)])
    answer = target.ask("alter_client_quotas", 0, with_fields(entries=[limited], validate_only=False))
    assert [entry["error_code"] for entry in answer["entries"]] == ["NONE"]
    answer = target.ask("describe_client_quotas", 0, with_fields(components=[], strict=False))
    (described,) = answer["entries"]
    assert described["values"] == [{"key": PRODUCE, "value": 5.0}]
