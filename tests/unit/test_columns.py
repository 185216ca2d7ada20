"""Tests of each noun's columns: the rows on the screen have the same values as ``list --output json`` for the same
snapshot.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import console.answers
import console.present
from console.answers.plan_results import conflict_columns
from console.answers.queries import answer
from console.answers.results import to_data
from console.lake.denials import Denied
from console.lake.reader import Change, Drifted, Pair, Usage
from console.language.grammar import parse
from console.language.statements import QueryStatement
from console.model import cluster as model
from console.model import codes
from console.model.acl import Acl
from console.model.config import ConfigEntry, ConfigSet, Synonym, topic_resource
from console.model.lag_trend import trend_after
from console.model.quota import QUOTA_KEYS, QuotaEntity
from console.model.snapshot import Snapshot
from console.model.topic_readers import TopicLags
from console.plan.plan import EMPTY
from console.present import lake_rows
from console.present.acls import ACLS, acl_rows
from console.present.brokers import broker_loads, broker_rows
from console.present.columns import Column, Columns, Type
from console.present.configs import CONFIGS, ConfigLine, config_rows
from console.present.groups import LAGS, GroupRow, partition_rows
from console.present.kinds import KINDS
from console.present.quotas import QuotaRow, QuotaTree
from console.present.text import plain
from console.present.topics import TopicFacts, TopicRow, partition_columns, rows_of_partitions, topic_marks
from tests.support.shown_values import says

IDS = st.integers(0, 4)
NAMES = st.text("abz.-_é", min_size=1, max_size=8)
NUMBERS = st.integers(0, 10**7)
SOURCES = st.sampled_from([codes.DYNAMIC_TOPIC_CONFIG, codes.DEFAULT_CONFIG])


@st.composite
def partitions(draw: st.DrawFn) -> tuple[model.Partition, ...]:
    made = []
    for number in range(draw(st.integers(1, 4))):
        replicas = tuple(draw(st.lists(IDS, min_size=1, max_size=3, unique=True)))
        in_sync = tuple(each for each in replicas if draw(st.booleans()))
        made.append(model.Partition(number, draw(st.sampled_from([-1, *in_sync])), replicas, in_sync))
    return tuple(made)


@st.composite
def entries(draw: st.DrawFn) -> ConfigSet:
    made = []
    for name in draw(st.lists(st.sampled_from(["retention.ms", "cleanup.policy", "ssl.key"]), unique=True)):
        sensitive = name == "ssl.key"
        value = None if sensitive else draw(st.sampled_from(["604800000", "-1", "delete", "", "1"]))
        source = draw(SOURCES)
        synonyms = (Synonym(name, value, source),) if draw(st.booleans()) else ()
        made.append(
            ConfigEntry(
                name, value, source, sensitive, draw(st.booleans()), synonyms=synonyms, type=codes.ConfigType(5)
            )
        )
    return ConfigSet(tuple(sorted(made, key=lambda entry: entry.name)))


def entity(user: str | None, client: str | None, which: int) -> QuotaEntity:
    parts = ({"user": user}, {"client-id": client}, {"user": user, "client-id": client}, {"ip": user})
    return QuotaEntity.of(parts[which])


ENTITIES = st.builds(entity, NAMES | st.none(), NAMES | st.none(), st.integers(0, 3))
VALUES = st.dictionaries(st.sampled_from([*QUOTA_KEYS, "other_rate"]), NUMBERS.map(float), min_size=1)
QUOTAS = st.dictionaries(ENTITIES, VALUES, max_size=4)
ACL = st.builds(
    Acl,
    st.sampled_from([codes.AclResourceType(code) for code in (2, 3, 4, 5)]),
    NAMES,
    st.sampled_from([codes.PatternType(3), codes.PatternType(4)]),
    NAMES.map("User:{}".format),
    NAMES | st.just("*"),
    st.sampled_from([codes.AclOperation(code) for code in range(2, 10)]),
    st.sampled_from([codes.Permission(2), codes.Permission(3)]),
)
PLACES = st.lists(st.tuples(NAMES, IDS), max_size=3).map(lambda places: tuple(sorted(places)))
LAG = st.builds(
    model.GroupLag,
    st.lists(st.builds(model.PartitionLag, NAMES, IDS, NUMBERS, NUMBERS, NUMBERS | st.just(-1), NAMES)).map(tuple),
)
SECONDS = st.floats(1, 1e4)
"""The seconds between two polls of a group."""
OF_GROUP = st.none() | st.lists(
    st.builds(model.GroupMember, NAMES, NAMES, NAMES, PLACES, target=st.none() | PLACES), max_size=3
).map(tuple)
GROUP = st.tuples(
    st.sampled_from(["Stable", "Empty", "Dead"]),
    st.sampled_from(["classic", "consumer"]),
    st.sampled_from(["", "range"]),
    st.integers(-1, 4),
    OF_GROUP,
)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    topics = draw(st.dictionaries(NAMES, partitions(), min_size=1, max_size=4))
    ids = draw(st.lists(IDS, unique=True, max_size=4))
    racks = NAMES | st.none()
    brokers = tuple(model.Broker(number, f"host-{number}", 9092, draw(racks), draw(st.booleans())) for number in ids)
    groups = draw(st.dictionaries(NAMES, GROUP, max_size=3))
    lags = {name: draw(LAG) for name in groups if draw(st.booleans())}
    trends = {name: trend_after(trend_after(None, draw(LAG), 0.0), lag, draw(SECONDS)) for name, lag in lags.items()}
    return Snapshot(
        cluster=model.ClusterInfo("c", ids[0] if ids else -1, brokers),
        topics={name: model.Topic(name, made, draw(st.booleans())) for name, made in topics.items()},
        configs={topic_resource(name): draw(entries()) for name in topics},
        quotas=draw(QUOTAS),
        acls=tuple(draw(st.lists(ACL, unique=True, max_size=4))),
        groups={name: model.Group(name, *facts) for name, facts in groups.items()},
        lags=lags,
        lag_trends=trends,
        read_at={"groups": datetime(2026, 11, 20, tzinfo=UTC)} if draw(st.booleans()) else {},
        versions={number: model.BrokerVersion("4.3", {}) for number in ids if draw(st.booleans())},
    )


def topics(snapshot: Snapshot) -> Iterable[Any]:
    facts = TopicFacts(marks=topic_marks(EMPTY), lags=TopicLags().after(snapshot))
    return (TopicRow(snapshot.topics[name], facts) for name in sorted(snapshot.topics))


def quotas(snapshot: Snapshot) -> Iterable[Any]:
    tree = QuotaTree(snapshot.quotas)
    for root in tree.roots:
        yield QuotaRow(root, snapshot.quotas.get(root, {}))
        yield from (QuotaRow(child, snapshot.quotas[child], child=True) for child in tree.children(root))


SCREEN: dict[str, Callable[[Snapshot], Iterable[Any]]] = {
    "topics": topics,
    "brokers": lambda snapshot: broker_rows(snapshot, EMPTY, broker_loads(snapshot)),
    "groups": lambda snapshot: (
        GroupRow(group, snapshot.lags.get(name), snapshot.lag_trends.get(name))
        for name, group in snapshot.groups.items()
    ),
    "quotas": quotas,
    "acls": lambda snapshot: acl_rows(snapshot.acls, EMPTY, "resource"),
}
"""Noun -> the function that makes its pane's rows from a snapshot."""


def of_screen(snapshot: Snapshot) -> Iterator[tuple[str, Columns[Any], list[Any]]]:
    """Yield name, columns and rows of each noun as its pane has them, without what only the pane has: the cluster
    default among brokers, and the sizes of topics, which `list` reads only on request.
    """
    for kind, rows in SCREEN.items():
        kept = [row for row in rows(snapshot) if kind != "brokers" or row.broker is not None]
        columns: Columns[Any] = ACLS["resource"] if kind == "acls" else KINDS[kind].columns
        yield kind, columns.without({"size"}) if kind == "topics" else columns, kept


def listed(text: str, snapshot: Snapshot, name: str) -> list[dict[str, Any]]:
    """Run a statement with ``--output json`` on a snapshot, and return the objects under `name`."""
    (statement,) = parse(text)
    assert isinstance(statement, QueryStatement)
    found = json.loads(json.dumps(to_data(answer(statement, snapshot))))[name]
    assert isinstance(found, list)
    return found


def agree(columns: Columns[Any], rows: Iterable[Any], found: list[dict[str, Any]]) -> None:
    """Raise AssertionError unless the screen and JSON have the same rows, and each cell shows the value of its column.
    The screen may show another word than Kafka's, but always the same one.
    """
    words: set[tuple[str, str, str]] = set()
    shown = {json.dumps(columns.data(row)): row for row in rows}
    assert shown.keys() == {json.dumps(each) for each in found}
    for text, row in shown.items():
        data = json.loads(text)
        data |= data.get("values", {})  # quotas have their values by key
        for column, cell in zip(columns.of("screen"), columns.cells(row), strict=True):
            if (key := column.key or column.name) in data:
                assert column.value(row) == data[key], column.name
                assert says(column, plain(cell), data[key]), (column.name, cell, data[key])
                words |= {(column.name, plain(cell), data[key])} if column.type == "word" else set()
    texts, meant = {(name, text) for name, text, _ in words}, {(name, word) for name, _, word in words}
    assert len(words) == len(texts) == len(meant)


@given(snapshots())
def test_the_screen_says_what_json_says_and_sorts_by_what_it_shows(snapshot: Snapshot) -> None:
    for kind, columns, rows in of_screen(snapshot):
        # The screen also has users and defaults without a quota.
        shown = [row for row in rows if row.values] if kind == "quotas" else rows
        agree(columns, shown, listed(f"list {kind}", snapshot, kind))
    # Numbers descend, texts ascend, and unknown values come last.
    for kind, columns, rows in of_screen(snapshot):
        for column in columns.of("screen"):
            ordered = [column.value(row) for row in sorted(rows, key=columns.sort_key(column.name))]
            if column.type == "number" and not column.order:
                known = [value for value in ordered if isinstance(value, int | float)]
                assert known == sorted(known, reverse=True), (kind, column.name)
                assert ordered[: len(known)] == known, (kind, column.name)
            elif column.type in ("text", "word") and not column.order:
                texts = [value if isinstance(value, str) else "" for value in ordered]
                assert texts == sorted(texts), (kind, column.name)


@given(snapshots())
def test_describe_says_what_the_screen_says_of_one(snapshot: Snapshot) -> None:
    for name, topic in snapshot.topics.items():
        partitions = rows_of_partitions(topic, snapshot.reassignments, snapshot.rates, snapshot.tiered)
        agree(
            partition_columns(partitions),
            partitions,
            listed(f"describe topic '{name}'", snapshot, "partitions"),
        )
        target = topic_resource(name)
        rows = config_rows(target, snapshot.configs[target], {}, EMPTY, overrides_only=False)
        shown = [ConfigLine(row, snapshot.configs_from) for row in rows]
        agree(CONFIGS, shown, listed(f"describe topic '{name}'", snapshot, "configs"))
    for name, lag in snapshot.lags.items():
        rows = map(partition_rows(snapshot.groups.get(name), snapshot.lag_trends.get(name)), lag.partitions)
        agree(LAGS, rows, listed(f"describe group '{name}'", snapshot, "partitions"))


def tables() -> list[Any]:
    """Return the columns of all nouns and all `Columns` of the modules in `console.present` and `console.answers`,
    as test parameters; also examples of columns that depend on arguments.
    """
    found: dict[str, Columns[Any]] = {name: kind.columns for name, kind in KINDS.items()}
    found["acls by resource"] = ACLS["resource"]
    for room in (console.present, console.answers):
        for module in iter_modules(room.__path__, f"{room.__name__}."):
            found |= {
                name: made for name, made in vars(import_module(module.name)).items() if isinstance(made, Columns)
            }
    found |= {"drift": lake_rows.drift_columns("broker", ("1", "2")), "drifted": lake_rows.drifted_columns(None)}
    found["conflicts"] = conflict_columns("Was")
    return [pytest.param(columns, id=name) for name, columns in found.items()]


def test_a_row_of_a_lake_is_whole_in_json() -> None:
    at = datetime(2026, 11, 20, tzinfo=UTC)
    usage = Usage("c", Pair("u", None, "producer_byte_rate"), 1, 1.0, 3, 1.0, 1.0, 0.5, 0, 0, None, None, "", ())
    change = Change("c", "topic", "t", "retention.ms", "1", "2", at, None, True, False, None, "none", "snapshot")
    drifted = Drifted("c", "broker", "broker:1", "k", "1", "2", 3, 1, None, "high")
    assert lake_rows.USAGE.data(usage).keys() == {*Usage._fields, *Pair._fields} - {"pair"}
    assert tuple(lake_rows.HISTORY.data(lake_rows.dated(change, None))) == Change._fields
    assert tuple(lake_rows.drifted_columns(None).data(drifted)) == Drifted._fields
    denied = Denied("c", "User:a", "READ", "TOPIC", "t", 1, at, at, None, ("10.0.0.7",), ("FETCH",), None, change)
    assert tuple(lake_rows.DENIED.data(denied)) == Denied._fields


@pytest.mark.parametrize("columns", tables())
def test_every_column_is_whole(columns: Columns[Any]) -> None:
    for column in columns.all:
        assert column.type in get_args(Type)
        assert ("screen" in column.views) == (column.layout is not None), column.name
        assert column.views, column.name
    assert len({column.name for column in columns.all}) == len(columns.all)
    assert len(columns.layout) == len(columns.of("screen"))
    assert [each.id for each in columns.layout] == [column.name for column in columns.of("screen")]
    letters = [each.sort_key for each in columns.layout if each.sort_key]
    assert len(set(letters)) == len(letters)


def test_what_leads_stays_on_top_and_equal_rows_are_put_in_order_by_the_tie() -> None:
    cluster = model.ClusterInfo("c", 1, tuple(model.Broker(number, f"host-{number}", 9092) for number in (3, 1, 2)))
    topic = model.Topic(
        "t", (model.Partition(0, 2, (2,), (2,)), model.Partition(1, 2, (2,), (2,)), model.Partition(2, 3, (3,), (3,)))
    )
    known = Snapshot(cluster=cluster, topics={"t": topic})
    rows = broker_rows(known, EMPTY, broker_loads(known))
    by_leaders = KINDS["brokers"].columns.sort_key("leaders")
    assert [row.key for row in sorted(rows, key=by_leaders)] == ["", "2", "3", "1"]
    by_elections = KINDS["brokers"].columns.sort_key("to_elect")
    assert [row.key for row in sorted(rows[1:] + rows[:1], key=by_elections)] == ["", "1", "2", "3"]


def test_a_new_column_is_one_edit() -> None:
    """A column that is added to a noun's table is at once available to filters, lists, panes and JSON."""
    added: Column[TopicRow] = Column(
        "leaders",
        KINDS["topics"].columns.of("screen")[2].views,
        lambda row: len({partition.leader for partition in row.topic.partitions}),
        "number",
        title="Leaders",
        layout=KINDS["topics"].columns.layout[3],
    )
    columns = Columns(*KINDS["topics"].columns.all, added)
    row = TopicRow(model.Topic("t", (model.Partition(0, 1, (1,), (1,)), model.Partition(1, 2, (2,), (2,)))))
    assert columns.data(row)["leaders"] == 2
    assert columns.texts(row)[-1] == "2"
    assert columns.cells(row)[-1] == "2"
    assert columns.layout[-1].id == "leaders"
    assert columns.of("filter")[-1] is added


@pytest.mark.parametrize("kind", SCREEN)
def test_the_pane_of_a_noun_draws_its_columns(kind: str) -> None:
    view = import_module(f"console.tui.panes.{kind}")
    (columns,) = [
        found.COLUMNS for name, found in vars(view).items() if getattr(found, "NAME", "") == kind and name[0].isupper()
    ]
    assert columns == KINDS[kind].columns.layout
