"""Tests of the statement `unset`."""

import pytest
from hypothesis import strategies as st

from console.language.interpret import command_of
from console.language.statements import Entity, Key
from console.language.verbs.unset import Unset
from console.model.config import topic_resource
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.edits import UnsetConfig, UnsetQuota
from tests.language import said
from tests.language.strategies import entities, keys, read_back

ORDERS = topic_resource("orders")
ALICE = QuotaEntity.of({"user": "alice"})


test_what_is_written_reads_back = read_back(
    st.builds(Unset, entities, st.lists(keys, min_size=1, max_size=3).map(tuple))
)


def test_the_selected_entity_is_meant_only_where_no_entity_keyword_follows():
    assert said.one("unset 'topic' retention.ms") == Unset(None, (Key("topic", True), Key("retention.ms")))
    assert said.wrong("unset topic retention.ms").expected == ("a KEY",)
    assert said.one("unset user alice 'client'") == Unset(Entity(said.user("alice")), (Key("client", True),))
    assert said.one("unset user alice client c k") == Unset(Entity(said.user("alice", client_id="c")), (Key("k"),))
    assert said.edits("unset producer_byte_rate", selected=ALICE) == (UnsetQuota(ALICE, "producer_byte_rate"),)
    assert "did you mean 'topic'?" in said.refused("unset topik orders retention.ms").hint
    assert said.texts("unset pro|", selected=QuotaEntity.of({"user": None})) == ["producer_byte_rate"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unset topic orders retention.ms", UnsetConfig(ORDERS, "retention.ms")),
        ("unset user alice producer_byte_rate", UnsetQuota(ALICE, "producer_byte_rate")),
    ],
)
def test_edits(text, expected):
    assert said.edits(text) == (expected,)
    assert command_of(expected) == text


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("unset topic orders retension.ms", "retension.ms", "did you mean 'retention.ms'?"),
        ("unset user alice nothing", "nothing", "producer_byte_rate"),
    ],
)
def test_what_is_wrong_is_named_where_it_stands(text, at, words):
    error = said.refused(text)
    assert words in str(error)
    assert error.column == text.rindex(at) + 1


def test_a_quota_that_another_broker_keeps_can_be_removed():
    odd = QuotaEntity.of({"user": "alice"})
    snapshot = Snapshot(quotas={odd: {"odd_rate": 1.0}})
    assert said.edits("unset user alice odd_rate", snapshot) == (UnsetQuota(odd, "odd_rate"),)


test_what_can_stand_at_the_cursor = said.completes(
    ("unset topic orders |", ["retention.ms"]),
    ("unset user alice client <default> |", ["producer_byte_rate"]),
)
