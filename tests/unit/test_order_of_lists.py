"""Tests for lists that brokers treat as sets: another order of the items is not a change, in every part of kac that
compares such lists.
"""

from datetime import UTC, datetime

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from console.admin.delivery import op_verdict
from console.files.compare import compare, entity_table
from console.files.wanted import Wanted, WantedTopic
from console.model import config
from console.model.broker_matrix import broker_matrix
from console.model.changes import ConfigOp, Status
from console.model.cluster import Topic
from console.model.codes import SET, ConfigSource, ConfigType
from console.model.severity import Severity
from console.model.snapshot import Snapshot
from console.model.unordered import UNORDERED, as_it_counts
from console.plan.conflicts import changed_since, conflicts
from console.plan.current_state import verdict, wanted
from console.plan.edits import SetConfig
from console.plan.plan import EMPTY, stage
from console.plan.staged import Dropped
from console.present.drift_now import since_start
from console.triage.config_changes import config_differences
from console.triage.events import Event, Kind, Place, Record

AT = datetime(2026, 3, 1, tzinfo=UTC)
ITEMS = st.lists(st.sampled_from(["compact", "delete", "0:1", "1:2"]), min_size=1, max_size=4)
KEYS = st.sampled_from(sorted(UNORDERED))
LIST = ConfigType(7)


@st.composite
def spellings(draw: st.DrawFn) -> tuple[str, str]:
    """Draw two texts with the same items: in different orders, with blanks, and with some items twice."""
    items = draw(ITEMS)
    other = draw(st.permutations(items)) + draw(st.lists(st.sampled_from(items), max_size=2))
    blank = st.sampled_from(["", " ", "  "])
    texts = [",".join(f"{draw(blank)}{each}{draw(blank)}" for each in some) for some in (items, other)]
    return texts[0], texts[1]


def place(key: str) -> config.ConfigResource:
    return config.CLUSTER_DEFAULT if key in ("log.cleanup.policy", "cordoned.log.dirs") else config.topic_resource("t")


def entry(key: str, value: str) -> config.ConfigEntry:
    return config.ConfigEntry(key, value, config.own_source(place(key)), type=LIST)


def snapshot(key: str, value: str) -> Snapshot:
    return Snapshot(
        topics={"t": Topic("t", ())},
        configs={place(key): config.ConfigSet((entry(key, value),))},
        read_at={"topics": AT},
    )


@given(KEYS, spellings())
def test_it_is_no_change(key: str, texts: tuple[str, str]) -> None:
    one, other = texts
    resource = place(key)
    edit = SetConfig(resource, key, other)
    (dropped,) = stage(EMPTY, [edit], snapshot(key, one)).dropped
    assert isinstance(dropped, Dropped)
    assert wanted(edit, entry(key, one)) is True
    assert op_verdict(resource, ConfigOp(key, SET, other), entry(key, one)) == Status.APPLIED
    assert [*config_differences(snapshot(key, one).configs, snapshot(key, other).configs)] == []
    assert broker_matrix({1: config.ConfigSet((entry(key, one),)), 2: config.ConfigSet((entry(key, other),))}) == ()
    assert (
        entity_table(config.ConfigSet((entry(key, one),)), config.ConfigSet((entry(key, other),)), "a", "b").rows == ()
    )
    files = [Wanted({"t": WantedTopic(1, 1, {key: text})}) for text in texts]
    assert compare(*files) == ()


@given(KEYS, spellings(), st.sampled_from(["lz4", "3:1"]))
def test_another_clients_order_is_no_conflict_and_a_list_that_is_back_no_drift(
    key: str, texts: tuple[str, str], more: str
) -> None:
    """A staged edit of a list has no conflict if another client then writes the same items in another order, or writes
    the wanted items.
    """
    one, other = texts
    on_this = stage(EMPTY, [SetConfig(place(key), key, f"{one},{more}")], snapshot(key, one)).plan.staged
    assert conflicts(on_this, snapshot(key, other)) == ()
    done_already = snapshot(key, f"{more},{other}")
    assert conflicts(on_this, done_already) == ()
    assert verdict(on_this[0].edit, on_this[0].was, done_already.configs[place(key)].get(key)) == Status.APPLIED
    assert [each.theirs.value for each in changed_since(on_this, snapshot(key, "other"))] == ["other"]
    # Another client changed the list while the console was open, and then set it back in another order.
    here = Place(Kind.CONFIG, place(key), key)
    record = Record(AT).with_events(
        [
            Event(Kind.CONFIG, (here,), 1, 1, one, more, AT, AT, Severity.INFO),
            Event(Kind.CONFIG, (here,), 1, 1, more, other, AT, AT, Severity.INFO),
        ]
    )
    assert since_start(record, "c") == []
    assert [each.this_value for each in since_start(Record(AT, record.events[1:]), "c")] == [more]


@given(KEYS, ITEMS, ITEMS)
def test_other_items_are_a_change(key: str, one: list[str], other: list[str]) -> None:
    assume({*one} != {*other})
    sides = [snapshot(key, ",".join(some)).configs for some in (one, other)]
    assert len([*config_differences(*sides)]) == 1
    sets = {number: config.ConfigSet((entry(key, ",".join(some)),)) for number, some in ((1, one), (2, other))}
    assert len(broker_matrix(sets, every=True)) == 1


@pytest.mark.parametrize("key", ["ssl.cipher.suites", "group.consumer.assignors"])
def test_the_order_of_other_lists_counts(key: str) -> None:
    assert as_it_counts(key, "b,a") == "b,a"
    sets = {
        at: config.ConfigSet((config.ConfigEntry(key, text, ConfigSource(4), type=LIST),))
        for at, text in ((1, "a,b"), (2, "b,a"))
    }
    assert [row.key for row in broker_matrix(sets)] == [key]


@pytest.mark.parametrize(("text", "counts"), [("", ""), (" ", " "), ("delete,", ",delete"), ("a , a", "a")])
def test_what_is_empty_stays(text: str, counts: str) -> None:
    assert as_it_counts("cleanup.policy", text) == counts
