"""Tests of topics that belong to other programs: which program a topic belongs to, and that an edit that damages such a
topic needs its typed name.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model.changes import LogTarget, TopicTarget
from console.model.cluster import Group, LogRange, Partition, Topic
from console.model.codes import DYNAMIC_TOPIC_CONFIG
from console.model.config import ConfigResource, ConfigSet, topic_resource
from console.model.snapshot import Snapshot
from console.model.system_topics import SystemTopic, is_kafkas_own, system_topic
from console.model.topic_readers import TopicReaders
from console.plan import edits as do
from console.plan.kinds.registry import KINDS, kind_of
from console.plan.plan import EMPTY, stage
from console.plan.risk_rules import Risk, RiskFacts
from console.plan.risks import risk_needs, risks
from console.plan.staged import Draft, Refused
from tests.support import samples

AT = datetime(2026, 1, 2, tzinfo=UTC)
KAFKAS_OWN = {
    "__consumer_offsets": "compact",
    "__transaction_state": "compact",
    "__share_group_state": "delete",
    "__remote_log_metadata": "delete",
}
OTHERS = {
    "_schemas": "compact",
    "connect-configs": "compact",
    "my-connect-cluster-offsets": "compact",
    "mm2-offset-syncs.b.internal": "compact",
    "heartbeats": "compact",
    "shop-counts-changelog": "compact",
    "shop-KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition": "delete",
    "_confluent-ksql-default__command_topic": "delete",
    "schemahistory.inventory": "delete",
    "shop.schema-history": "delete",
    "__CruiseControlMetrics": "delete",
    "__amazon_msk_canary": "delete",
    "_redpanda.audit_log": "delete",
}
SYSTEM = {**KAFKAS_OWN, **OTHERS}
ANYBODYS = {
    "heartbeats": ("delete", 1),
    "device.heartbeats": ("compact", 12),
    "orders-changelog": ("compact", 3),
    "connect-status": ("delete", 5),
    "consumer_offsets": ("compact", 1),
    "schemas": ("compact", 1),
    "reconnect-configs": ("compact", 1),
    "confluent-orders": ("delete", 1),
    "schema-changes.inventory": ("delete", 6),
    "schemahistory": ("delete", 1),
}


FOR_EVER = (("retention.ms", "-1"), ("retention.bytes", "-1"))


def snapshot(policies: Mapping[str, str], partitions: int = 1, **own: str) -> Snapshot:
    made = tuple(Partition(number, 1, (1,), (1,)) for number in range(partitions))
    return Snapshot(
        topics={name: Topic(name, made) for name in policies},
        configs={
            topic_resource(name): ConfigSet(
                tuple(
                    samples.own_entry(*each, DYNAMIC_TOPIC_CONFIG) for each in (("cleanup.policy", policy), *FOR_EVER)
                )
            )
            for name, policy in policies.items()
        },
        log_ranges={(name, 0): LogRange(0, 100) for name in policies},
        groups={"shop": Group("shop", "Empty", "classic")},
        read_at=dict.fromkeys(("topics", "groups"), AT),
    )


def warned(known: Snapshot, *edits: do.Edit, facts: RiskFacts | None = None) -> tuple[Risk, ...]:
    staged = stage(EMPTY, edits, known)
    assert not staged.refused
    return risks(staged.plan.staged, known, facts)


def empty(*names: str, **readers: int) -> RiskFacts:
    nobody = TopicReaders({}, 1, 1, members=readers, listed=frozenset({"shop"}))
    return RiskFacts(dict.fromkeys(names, 0), readers=dict.fromkeys(names, nobody))


HURTS: Mapping[type[do.Edit], Callable[[str, str], list[do.Edit]]] = {
    do.DeleteTopic: lambda name, _: [do.DeleteTopic(name)],
    do.GrowTopic: lambda name, _: [do.GrowTopic(name, 60)] if _owner(name).grown else [],
    do.TrimLog: lambda name, _: [do.TrimLog(name, 0, 50)],
    do.SetConfig: lambda name, policy: [
        *_policy(name, do.SetConfig(topic_resource(name), "cleanup.policy", _other(policy))),
        *_kept(name, do.SetConfig(topic_resource(name), "retention.ms", "60000")),
        *_kept(name, do.SetConfig(topic_resource(name), "retention.bytes", "2000000")),
    ],
    do.AppendConfig: lambda name, policy: _policy(
        name, do.AppendConfig(topic_resource(name), "cleanup.policy", _other(policy))
    ),
    # The inherited policy is delete, so only an unset of compact changes it.
    do.UnsetConfig: lambda name, policy: (
        _policy(name, do.UnsetConfig(topic_resource(name), "cleanup.policy")) if policy == "compact" else []
    ),
    do.SubtractConfig: lambda name, policy: _policy(
        name, do.SubtractConfig(topic_resource(name), "cleanup.policy", policy)
    ),
}
"""Class of edits -> a function that returns, for a topic and its policy, the edits of this class by which the topic's
program loses data or settings.
"""


def _other(policy: str) -> str:
    return "delete" if policy == "compact" else "compact"


def _owner(name: str) -> SystemTopic:
    found = system_topic(name, groups=["shop"])
    assert found is not None
    return found


def _policy(name: str, edit: do.Edit) -> list[do.Edit]:
    return [edit] if _owner(name).policy else []


def _kept(name: str, edit: do.Edit) -> list[do.Edit]:
    return [edit] if _owner(name).keeps else []


@given(st.sampled_from(sorted(SYSTEM)), st.sampled_from(sorted(HURTS, key=lambda each: each.__name__)))
def test_no_edit_hurts_a_topic_of_other_machinery_unless_its_name_is_typed(
    name: str, edit_class: type[do.Edit]
) -> None:
    known = snapshot(SYSTEM)
    for edit in HURTS[edit_class](name, SYSTEM[name]):
        staged = stage(EMPTY, [edit], known)
        assert staged.added or staged.refused
        found = risks(staged.plan.staged, known, empty(*SYSTEM))
        assert staged.refused or f"={name}" in "".join(risk.accepted_as for risk in found), edit
        assert staged.refused or all(risk.subject == name for risk in found)


def test_every_kind_of_edit_of_a_topic_is_tried() -> None:
    changes_data = {kind.edit for kind in KINDS if kind.edit in HURTS or _takes_records(kind.edit)}
    assert changes_data == HURTS.keys()


def _takes_records(edit_class: type[do.Edit]) -> bool:
    """Return whether the target of a class of edits is an existing topic as a whole, its log or its configs."""
    names = {each.__name__ for each in (ConfigResource, TopicTarget, LogTarget)}
    said = edit_class.target.fget.__annotations__.get("return", "")  # type: ignore[attr-defined]
    return said in names and edit_class is not do.CreateTopic


@pytest.mark.parametrize("name", KAFKAS_OWN)
def test_kafkas_own_topics_are_never_grown_nor_emptied(name: str) -> None:
    known = snapshot(SYSTEM)
    assert is_kafkas_own(name)
    for edit in (do.GrowTopic(name, 60), do.TrimLog(name, 0, 50)):
        with pytest.raises(Refused):
            kind_of(edit).judge(edit, Draft((), known))


@pytest.mark.parametrize("name", ANYBODYS)
def test_names_that_look_alike_are_anybodys(name: str) -> None:
    policy, partitions = ANYBODYS[name]
    assert system_topic(name, partitions, policy, {"shop"}) is None
    known = snapshot({name: policy}, partitions)
    assert warned(known, do.DeleteTopic(name), facts=empty(name)) == ()
    assert warned(known, do.GrowTopic(name, 60), facts=empty(name)) == ()


def test_streams_topics_are_known_by_the_name_of_a_group() -> None:
    assert system_topic("shop-counts-changelog", groups={"shop"}) is not None
    assert system_topic("shop-eu-counts-repartition", groups={"shop-eu"}) is not None
    assert system_topic("shop-counts-changelog", groups={"sho", "shop-counts-changelog"}) is None


def test_an_empty_topic_that_nobody_reads_is_deleted_without_a_warning() -> None:
    known = snapshot({"t": "delete"})
    assert warned(known, do.DeleteTopic("t"), facts=empty("t")) == ()
    assert risk_needs(stage(EMPTY, [do.DeleteTopic("t")], known).added).newest_of == {"t"}


def test_a_topic_with_records_or_readers_says_so_and_is_typed() -> None:
    known = snapshot({"t": "delete"})
    readers = TopicReaders({("audit", 0): 7}, 2, 2, "", {"billing": 3}, frozenset({"audit", "billing"}))
    facts = RiskFacts({"t": 36 << 30}, readers={"t": readers}, ages={"t": 3.0})
    (found,) = warned(known, do.DeleteTopic("t"), facts=facts)
    assert found.accepted_as == "topic-deleted=t"
    assert found.text == ("36 GiB go for good, the newest record is 3 s old; read by groups billing (3 members), audit")
    (ahead,) = warned(known, do.DeleteTopic("t"), facts=replace(facts, ages={"t": -2e9}))
    assert ", the newest record's time lies in the future; read by" in ahead.text
    (idle,) = warned(known, do.DeleteTopic("t"), facts=empty("t", audit=1))
    assert idle.text == "it holds no records; read by group audit (1 member)"
    (unread,) = warned(known, do.DeleteTopic("t"))
    assert unread.text == "how much it holds could not be read; who reads it was not read"


@given(st.integers(1, 9), st.booleans())
def test_of_many_topics_their_number_is_typed_but_for_those_of_others(many: int, also: bool) -> None:
    names = [f"tmp-{number}" for number in range(many)]
    known = snapshot({**dict.fromkeys(names, "delete"), "_schemas": "compact"})
    edits = [*map(do.DeleteTopic, names), *([do.DeleteTopic("_schemas")] if also else [])]
    accepted = {risk.accepted_as for risk in warned(known, *edits)}
    mine = {f"topic-deleted={many}"} if many > 3 else {f"topic-deleted={name}" for name in names}
    assert accepted == mine | ({"topic-deleted=_schemas"} if also else set())


@pytest.mark.parametrize("name", [name for name, policy in OTHERS.items() if policy == "compact"])
def test_nobody_is_sent_to_empty_a_compacted_topic_of_other_machinery(name: str) -> None:
    known = snapshot({name: "compact", "mine": "compact"})
    (other,) = stage(EMPTY, [do.TrimLog(name, 0, 50)], known).refused
    assert other.remedy.startswith("Leave them: they belong to ")
    (mine,) = stage(EMPTY, [do.TrimLog("mine", 0, 50)], known).refused
    assert "append topic mine cleanup.policy=delete" in mine.remedy


@pytest.mark.parametrize(
    ("policy", "size", "is_warned"),
    [("compact", 10, True), ("compact,delete", 10, False), ("delete", 10, False), ("compact", 0, False)],
)
def test_more_partitions_of_a_compacted_topic_split_its_keys(policy: str, size: int, *, is_warned: bool) -> None:
    known = snapshot({"prices": policy}, 3)
    found = warned(known, do.GrowTopic("prices", 6), facts=RiskFacts({"prices": size}))
    assert [each.name for each in found] == ["keys-split"] * is_warned
    assert all("readers find two latest values" in each.text for each in found)
