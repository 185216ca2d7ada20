"""Tests of the call that replaces all overrides of a resource, and of the outcome of changes whose response was lost,
which follows from the configs that brokers describe afterwards.
"""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.changes import sender_of
from console.admin.configs import replacement
from console.admin.delivery import configs_verdict, same_value
from console.admin.partitions import elected, moved
from console.admin.scram import by_rounds, scram_verdict
from console.admin.topics import created, deleted, grown
from console.model import changes, codes
from console.model.cluster import Partition, Reassignment, Topic, TopicListing
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, topic_resource
from console.model.failure import Failure
from console.model.secret import Secret

TOPIC = topic_resource("t")
LIST, LONG, STRING, PASSWORD = codes.ConfigType(7), codes.ConfigType(5), codes.ConfigType(2), codes.ConfigType(9)


def described(own: Mapping[str, str | None], inherited: Mapping[str, str | None] | None = None) -> ConfigSet:
    """Return a topic's configs with these overrides and inherited values. A key with the value None is sensitive; None
    as `inherited` means no inherited values.
    """

    def entry(key: str, value: str | None, own: bool) -> ConfigEntry:
        type_ = PASSWORD if value is None else LIST if key.startswith("list") else LONG
        source = codes.DYNAMIC_TOPIC_CONFIG if own else codes.DEFAULT_CONFIG
        return ConfigEntry(key, value, source, sensitive=value is None, type=type_)

    found = [entry(key, value, True) for key, value in own.items()]
    found += [entry(key, value, False) for key, value in (inherited or {}).items() if key not in own]
    return ConfigSet(tuple(sorted(found, key=lambda entry: entry.name)))


# --- replacing all overrides


def test_a_replacement_names_every_override() -> None:
    known = described({"a": "1", "b": "2", "list": "x,y", "gone": "3"}, {"list.other": "p", "c": "9"})
    ops = (
        changes.ConfigOp("b", codes.SET, "5"),
        changes.ConfigOp("gone", codes.DELETE),
        changes.ConfigOp("list", codes.APPEND, "y,z"),
        changes.ConfigOp("list.other", codes.APPEND, "q"),
        changes.ConfigOp("new", codes.SET, Secret("s")),
    )
    assert replacement(TOPIC, ops, known, None) == {
        "a": "1",
        "b": "5",
        "list": "x,y,z",
        "list.other": "p,q",
        "new": "s",
    }


def test_a_replacement_may_leave_an_empty_value_and_takes_secrets_that_are_set_or_deleted() -> None:
    known = described({"list": "x,y"})
    assert replacement(TOPIC, (changes.ConfigOp("list", codes.SUBTRACT, "y,x,z"),), known, None) == {"list": ""}
    known = described({"secret": None, "other": None})
    ops = (changes.ConfigOp("secret", codes.SET, Secret("x")), changes.ConfigOp("other", codes.DELETE))
    assert replacement(TOPIC, ops, known, {"secret": None, "other": None}) == {"secret": "x"}


@pytest.mark.parametrize(
    ("own", "ops", "prior", "name"),
    [
        ({"a": "1", "secret": None}, (changes.ConfigOp("a", codes.SET, "2"),), None, "SENSITIVE_OVERRIDE"),
        ({"a": "1"}, (changes.ConfigOp("a", codes.SET, "2"), changes.ConfigOp("a", codes.DELETE)), None, "DUPLICATE"),
        ({"a": "1"}, (changes.ConfigOp("b", codes.SET, "2"),), {}, "CHANGED_MEANWHILE"),
        ({"a": "1"}, (changes.ConfigOp("b", codes.SET, "2"),), {"a": "2"}, "CHANGED_MEANWHILE"),
        ({"a": "1"}, (changes.ConfigOp("b", codes.SET, "2"),), {"a": ""}, "CHANGED_MEANWHILE"),
        ({}, (changes.ConfigOp("b", codes.SET, "2"),), {"a": "1"}, "CHANGED_MEANWHILE"),
    ],
)
def test_a_replacement_that_would_do_harm_is_refused(
    own: Mapping[str, str | None], ops: tuple[changes.ConfigOp, ...], prior: Mapping[str, str | None] | None, name: str
) -> None:
    outcome = replacement(TOPIC, ops, described(own), prior)
    assert isinstance(outcome, changes.Outcome)
    assert (outcome.target, outcome.status) == (TOPIC, changes.Status.FAILED)
    assert outcome.failure is not None
    assert outcome.failure.name == name
    assert outcome.failure.remedy


values = st.sampled_from(["1", "2", "x,y", ""])


@given(st.dictionaries(st.sampled_from(["a", "b", "list"]), values), st.sampled_from(["a", "b", "new"]), values)
def test_what_is_not_edited_stays(own: dict[str, str], key: str, value: str) -> None:
    assert replacement(TOPIC, (changes.ConfigOp(key, codes.SET, value),), described(own), own) == {**own, key: value}
    kept = {name: text for name, text in own.items() if name != key}
    assert replacement(TOPIC, (changes.ConfigOp(key, codes.DELETE),), described(own), own) == kept


# --- verdicts on changes without a response

APPLIED, NOT_APPLIED, UNKNOWN = changes.Status.APPLIED, changes.Status.NOT_APPLIED, changes.Status.UNKNOWN


@pytest.mark.parametrize(
    ("op", "own", "inherited", "status"),
    [
        (changes.ConfigOp("a", codes.SET, "1"), {"a": "1"}, {}, APPLIED),
        (changes.ConfigOp("a", codes.SET, "01"), {"a": "1"}, {}, APPLIED),
        (changes.ConfigOp("a", codes.SET, "1"), {"a": "2"}, {}, NOT_APPLIED),
        (changes.ConfigOp("a", codes.SET, "1"), {}, {"a": "1"}, NOT_APPLIED),
        (changes.ConfigOp("a", codes.SET, "1"), {}, {}, NOT_APPLIED),
        (changes.ConfigOp("a", codes.SET, Secret("1")), {"a": None}, {}, UNKNOWN),
        (changes.ConfigOp("a", codes.SET, Secret("1")), {}, {}, NOT_APPLIED),
        (changes.ConfigOp("a", codes.DELETE), {"a": "1"}, {}, NOT_APPLIED),
        (changes.ConfigOp("a", codes.DELETE), {"a": None}, {}, NOT_APPLIED),
        (changes.ConfigOp("a", codes.DELETE), {}, {"a": "1"}, APPLIED),
        (changes.ConfigOp("a", codes.DELETE), {}, {}, APPLIED),
        (changes.ConfigOp("list", codes.APPEND, "y"), {"list": "x, y"}, {}, APPLIED),
        (changes.ConfigOp("list", codes.APPEND, "y,z"), {"list": "x,y"}, {}, NOT_APPLIED),
        (changes.ConfigOp("list", codes.SUBTRACT, "y"), {"list": "x"}, {}, APPLIED),
        (changes.ConfigOp("list", codes.SUBTRACT, "y"), {"list": ""}, {}, APPLIED),
        (changes.ConfigOp("list", codes.SUBTRACT, "y"), {"list": "x,y"}, {}, NOT_APPLIED),
    ],
)
def test_one_key(
    op: changes.ConfigOp, own: Mapping[str, str | None], inherited: Mapping[str, str | None], status: changes.Status
) -> None:
    assert configs_verdict(TOPIC, (op,), described(own, inherited)) is status


def test_keys_of_a_resource_speak_for_each_other() -> None:
    seen, secret = changes.ConfigOp("a", codes.SET, "1"), changes.ConfigOp("s", codes.SET, Secret("x"))
    assert configs_verdict(TOPIC, (seen, secret), described({"a": "1", "s": None})) is APPLIED
    assert configs_verdict(TOPIC, (seen, secret), described({"a": "2", "s": None})) is NOT_APPLIED
    assert configs_verdict(TOPIC, (secret,), described({"s": None})) is UNKNOWN
    other = changes.ConfigOp("b", codes.SET, "1")
    assert configs_verdict(TOPIC, (seen, other), described({"a": "1", "b": "2"})) is UNKNOWN
    assert configs_verdict(TOPIC, (seen,), None) is UNKNOWN


def test_loggers() -> None:
    resource = ConfigResource(codes.BROKER_LOGGER, "1")
    known = ConfigSet((ConfigEntry("root", "DEBUG", codes.DYNAMIC_BROKER_LOGGER_CONFIG, type=STRING),))
    assert configs_verdict(resource, (changes.ConfigOp("root", codes.SET, "debug"),), known) is APPLIED
    assert configs_verdict(resource, (changes.ConfigOp("root", codes.SET, "INFO"),), known) is NOT_APPLIED
    assert configs_verdict(resource, (changes.ConfigOp("root", codes.DELETE),), known) is UNKNOWN


@pytest.mark.parametrize(
    ("type_", "one", "other", "same"),
    [
        (1, "TRUE", "true", True),
        (1, "true", "false", False),
        (3, " 5", "5", True),
        (5, "5", "6", False),
        (5, "many", "5", False),
        (6, "0.50", "0.5", True),
        (7, "a, b", "a,b", True),
        (7, "a,b", "b,a", False),
        (2, " x", "x", True),
        (2, "x", "X", False),
        (99, "x ", "x", True),
    ],
)
def test_the_same_value(type_: int, one: str, other: str, same: bool) -> None:
    assert same_value(codes.ConfigType(type_), one, other) is same


def listing(
    partitions: int | None, replicas: tuple[int, ...] = (1, 2), why: str = "UNKNOWN_TOPIC_OR_PARTITION"
) -> TopicListing:
    if partitions is None:
        return TopicListing({}, {"t": Failure(why)})
    return TopicListing({"t": Topic("t", tuple(Partition(n, 1, replicas, replicas) for n in range(partitions)))})


def test_topics() -> None:
    assert created(changes.NewTopic("t", 3, 2), listing(3)) is APPLIED
    assert created(changes.NewTopic("t"), listing(3)) is APPLIED
    assert created(changes.NewTopic("t", assignments=((1,), (2,))), listing(2)) is APPLIED
    assert created(changes.NewTopic("t", 2, 2), listing(3)) is NOT_APPLIED
    assert created(changes.NewTopic("t", 3, 1), listing(3)) is NOT_APPLIED
    assert created(changes.NewTopic("t", 3, 1), listing(None)) is NOT_APPLIED
    assert created(changes.NewTopic("t", 3, 1), listing(None, why="TOPIC_AUTHORIZATION_FAILED")) is UNKNOWN
    assert deleted("t", listing(None)) is APPLIED
    assert deleted("t", listing(1)) is NOT_APPLIED
    assert deleted("t", listing(None, why="TOPIC_AUTHORIZATION_FAILED")) is UNKNOWN
    assert grown(3, listing(3).topics["t"]) is APPLIED
    assert grown(3, listing(2).topics["t"]) is NOT_APPLIED
    assert grown(3, listing(4).topics["t"]) is UNKNOWN
    assert grown(3, None) is UNKNOWN


def test_leaders_and_moves() -> None:
    led, leaderless = Partition(0, 2, (1, 2), (1, 2)), Partition(0, -1, (1, 2), ())
    assert elected(Partition(0, 1, (1, 2), (1, 2)), unclean=False) is APPLIED
    assert elected(led, unclean=False) is NOT_APPLIED
    assert elected(led, unclean=True) is APPLIED
    assert elected(leaderless, unclean=True) is NOT_APPLIED
    assert elected(None, unclean=False) is UNKNOWN
    assert elected(Partition(0, -1, (), ()), unclean=False) is NOT_APPLIED
    move = Reassignment("t", 0, (1, 2, 3), adding=(3,), removing=(1,))
    assert moved((2, 3), led, move) is APPLIED
    assert moved((1, 3), led, move) is NOT_APPLIED
    assert moved((1, 2), led, None) is APPLIED
    assert moved((2, 1), led, None) is NOT_APPLIED
    assert moved(None, led, move) is NOT_APPLIED
    assert moved(None, led, None) is APPLIED
    assert moved((1, 2), None, None) is UNKNOWN


@pytest.mark.parametrize(
    ("wanted", "before", "now", "status"),
    [
        (4096, None, 4096, APPLIED),
        (4096, 8192, 4096, APPLIED),
        (4096, 8192, 8192, NOT_APPLIED),
        (4096, None, None, NOT_APPLIED),
        (4096, 4096, 4096, UNKNOWN),
        (None, 4096, None, APPLIED),
        (None, 4096, 4096, NOT_APPLIED),
    ],
)
def test_scram(wanted: int | None, before: int | None, now: int | None, status: changes.Status) -> None:
    assert scram_verdict(wanted, before, now) is status


scram_users = st.builds(changes.ScramUser, st.sampled_from("abc"), st.integers(1, 2).map(codes.ScramMechanism))


@given(st.lists(scram_users, unique=True))
def test_no_user_is_twice_in_a_request(users: list[changes.ScramUser]) -> None:
    parts = by_rounds(users)
    assert sorted(map(repr, users)) == sorted(repr(user) for part in parts for user in part)
    for part in parts:
        assert len({user.user for user in part}) == len(part) > 0
    assert len(parts) <= 2


def requests(of: type[changes.ChangeRequest]) -> set[type]:
    return set().union(*map(requests, below)) if (below := of.__subclasses__()) else {of}


def test_every_request_has_its_sender() -> None:
    for each in requests(changes.ChangeRequest):
        assert sender_of(each).__module__ == f"console.admin.{each.sender}"
