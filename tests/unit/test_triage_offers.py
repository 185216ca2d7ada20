"""Tests of values that a step never proposes: those that a change in this journal reverted, and those worse than the
present one.
"""

import pytest
from msgspec.structs import replace

from console.model import codes
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, topic_resource
from console.model.quota import QuotaEntity
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.plan import edits
from console.triage.cause import Claim, Evidence, Next
from console.triage.facts import ChangeKey
from console.triage.offers import offered
from console.triage.symptoms import CLUSTER
from tests.unit.test_triage import healthy

ORDERS = topic_resource("orders")
UNCLEAN, RETENTION = "unclean.leader.election.enable", "retention.ms"
ALICE = QuotaEntity.of({"user": "alice"})
ELECT = Next("elect", edits=(edits.ElectPreferred("orders", 0),))


def a_claim(*steps: Next) -> Claim:
    return Claim(
        cause="changed-lately",
        subject=CLUSTER,
        severity=Severity.WARNING,
        certainty=Certainty.CERTAIN,
        evidence=(Evidence("it is so", "two looks"),),
        title="a change",
        next=steps,
    )


def with_own(key: str, value: str, resource: ConfigResource = ORDERS) -> Snapshot:
    """Return the snapshot in which the resource overrides a config with this value."""
    known = healthy()
    entry = ConfigEntry(key, value, codes.DYNAMIC_TOPIC_CONFIG)
    others = tuple(each for each in known.configs.get(resource, ConfigSet(())) if each.name != key)
    return replace(known, configs={**known.configs, resource: ConfigSet((*others, entry))})


@pytest.mark.parametrize(
    ("stands", "edit", "is_offered"),
    [
        (with_own(RETENTION, "604800000"), edits.SetConfig(ORDERS, RETENTION, "1000"), False),
        (with_own(RETENTION, "1000"), edits.SetConfig(ORDERS, RETENTION, "604800000"), True),
        (with_own(RETENTION, "1000"), edits.SetConfig(ORDERS, RETENTION, "2000"), True),
        (with_own(UNCLEAN, "false"), edits.SetConfig(ORDERS, UNCLEAN, "true"), False),
        (with_own(UNCLEAN, "true"), edits.SetConfig(ORDERS, UNCLEAN, "false"), True),
        (with_own(UNCLEAN, "true"), edits.UnsetConfig(ORDERS, UNCLEAN), True),
        (healthy(), edits.SetQuota(ALICE, "request_percentage", 0.05), False),
        (healthy(), edits.SetQuota(ALICE, "request_percentage", 200.0), True),
    ],
)
def test_no_value_is_offered_that_is_worse_than_what_stands(
    stands: Snapshot, edit: edits.Edit, *, is_offered: bool
) -> None:
    claim = a_claim(Next("set it", edits=(edit,)), ELECT)
    (found,) = offered([claim], stands, frozenset())
    assert (found is claim) is is_offered
    assert found.next[1] is ELECT, "an election replaces no value"
    assert bool(found.next[0].edits) is is_offered
    assert is_offered or "set it would bring a new risk" in found.next[0].text


def test_nothing_is_offered_that_this_journal_took_back() -> None:
    taken: frozenset[ChangeKey] = frozenset(
        {(ORDERS, RETENTION, "604800000"), (ALICE, "consumer_byte_rate", "5000000.0")}
    )
    for edit in (
        edits.SetConfig(ORDERS, RETENTION, "604800000"),
        edits.SetQuota(ALICE, "consumer_byte_rate", 5_000_000.0),
    ):
        claim = a_claim(Next("take it back", edits=(edit,)))
        (found,) = offered([claim], with_own(RETENTION, "86400000"), taken)
        assert found.next == (Next("look at this host's journal: it took back what was there before"),)
        assert offered([claim], with_own(RETENTION, "86400000"), frozenset()) == [claim]
