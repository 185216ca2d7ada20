"""Tests of share groups that begin at the end of a topic: triage names this as a possible cause, and only if no other
group reads the records.
"""

import pytest
from msgspec.structs import replace

from console.model.cluster import Group, GroupLag, GroupMember, PartitionLag
from console.model.codes import DEFAULT_CONFIG, DYNAMIC_GROUP_CONFIG, ConfigSource
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage.cause import Claim
from console.triage.diagnosis import diagnose
from console.triage.share_beginnings import FEW, RESET, SHARE, share_group_config
from console.triage.symptoms import Subject
from tests.support import samples
from tests.unit.test_triage import START, TICK, healthy, kept_logs, watched

CAME = 4


def causes(
    *,
    value: str = "latest",
    source: ConfigSource = DEFAULT_CONFIG,
    type_: str = SHARE,
    came: int = CAME,
    records: int = 5_000,
    others: bool = False,
    is_read: bool = True,
) -> list[Claim]:
    """Return the claims while a share group joins a topic and processes all records that arrive.

    Args:
        value, source: share.auto.offset.reset of the group, and where it is set.
        type_: the type of the group.
        came: the first poll that lists the group.
        records: the number of records in the topic before that.
        others: whether another group reads the topic.
        is_read: whether the group's configs were read.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        end = records + 10 * tick
        groups, lags = ({**snapshot.groups}, {**snapshot.lags}) if others else ({}, {})
        if tick >= came:
            member = GroupMember("m", "mailer", "/10.0.0.7", (("orders", 0),))
            groups["mailers"] = Group("mailers", "Stable", type_, coordinator=1, members=(member,))
            lags["mailers"] = GroupLag((PartitionLag("orders", 0, end, end, 0, "m"),))
        configs = {**snapshot.configs}
        if is_read:
            configs[share_group_config("mailers")] = samples.config_set({RESET: value}, source)
        read_at = {**snapshot.read_at, "groups": START + tick * TICK}
        return replace(snapshot, groups=groups, lags=lags, configs=configs, read_at=read_at)

    facts = kept_logs(lambda tick: {("orders", 0): records + 10 * tick})
    before = change(healthy(), 0)
    return [each.claim for each in diagnose(watched(change, 12, before=before, facts=facts)).causes]


def test_a_share_group_that_comes_to_records_that_nobody_reads_may_pass_them_over() -> None:
    (claim,) = causes()
    assert (claim.cause, claim.subject) == ("share-group-from-the-end", Subject(group="mailers", topic="orders"))
    assert (claim.severity, claim.certainty) == (Severity.WARNING, Certainty.POSSIBLE)
    assert "5,000 records from before are not delivered" in claim.title
    assert claim.since == START + CAME * TICK
    assert [each.command for each in claim.next] == ["reset group mailers topic orders to earliest", ""]
    assert not any(each.edits for each in claim.next)


@pytest.mark.parametrize(
    "calm",
    [
        {"value": "earliest", "source": DYNAMIC_GROUP_CONFIG},
        {"source": DYNAMIC_GROUP_CONFIG},  # set on purpose
        {"type_": "consumer"},
        {"came": 0},  # the group existed before, so it may have read the records
        {"records": FEW - 1},
        {"others": True},
        {"is_read": False},
    ],
    ids=str,
)
def test_a_group_that_may_have_read_them_or_was_told_where_to_begin_is_none(calm: dict[str, object]) -> None:
    assert "share-group-from-the-end" not in {each.cause for each in causes(**calm)}  # type: ignore[arg-type]
