"""Tests of leads: changes and unusual states that are told beside a symptom without a known cause."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from console.answers.triage import text_lines, verdict_data
from console.model import cluster
from console.model.config import broker_resource
from console.model.coordinators import OFFSETS, partition_of
from console.model.snapshot import Snapshot
from console.model.transactions import OpenTransaction, Producer, StableOffsets, Transaction, Transactions
from console.present.triage import cause_rows
from console.triage import leads
from console.triage.cause import Claim, Evidence, Next
from console.triage.created import MOST, created_after
from console.triage.diagnosis import Unexplained, diagnose
from console.triage.facts import Facts
from console.triage.observations import Observations
from console.triage.symptoms import Subject
from tests.unit.test_triage import START, TICK, Change, config, healthy, moved, watched

CHANGES, STOPS, TICKS = 4, 6, 30
"""The ticks of the change, of the beginning of the symptom, and of the last poll."""
MECHANISMS, STATIC, DYNAMIC = "sasl.enabled.mechanisms", 4, 2


def stands(*still: int) -> Change:
    """Return a change by which partitions of group billing stand still from `STOPS` on, and the others move."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        ends = dict.fromkeys(range(6), 100 + 50 * tick)
        at = {n: 100 + 50 * min(tick, STOPS) if n in still else end for n, end in ends.items()}
        return moved(snapshot, {n: (at[n], end) for n, end in ends.items()})

    return change


def configured(value_at: Callable[[int], str], key: str = MECHANISMS, source: int = STATIC, broker: int = 3) -> Change:
    """Return a change of the configs of the brokers: all have `PLAIN,SCRAM`, one has `value_at` of the tick."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        values = {n: value_at(tick) if n == broker else "PLAIN,SCRAM" for n in (1, 2, 3)}
        sets = {broker_resource(n): config(key, value, source) for n, value in values.items()}
        at = dict.fromkeys(sets, START + tick * TICK)
        return replace(snapshot, configs=sets, configs_at=at)

    return change


def both(*some: Change) -> Change:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        for each in some:
            snapshot = each(snapshot, tick)
        return snapshot

    return change


def lost(tick: int) -> str:
    return "PLAIN" if tick >= CHANGES else "PLAIN,SCRAM"


def with_offsets(snapshot: Snapshot, _tick: int) -> Snapshot:
    topic = cluster.Topic(OFFSETS, tuple(cluster.Partition(n, 1, (1, 2, 3), (1, 2, 3)) for n in range(3)), True)
    return replace(snapshot, topics={**snapshot.topics, OFFSETS: topic})


def seen(change: Change, facts: Callable[[int], Facts] = lambda _: Facts()) -> Observations:
    return watched(change, TICKS, before=change(healthy(), 0), facts=facts)


def told(observations: Observations) -> list[str]:
    """Return the leads and the advice of all rows of group billing."""
    claims = [each.claim for each in cause_rows(diagnose(observations), {})]
    starts = leads.SHORTLY_BEFORE, leads.STANDS_OUT, leads.RELATED
    texts = [one for each in claims for one in (*(e.fact for e in each.evidence), *(n.text for n in each.next))]
    return [each for each in dict.fromkeys(texts) if each.startswith(starts)]


def test_a_changed_broker_that_leads_all_partitions_that_stand_is_a_lead() -> None:
    contrast, changed, advice = told(seen(both(stands(2, 5), configured(lost))))
    assert contrast == "stands out: all 2 that stand still are led by broker 3, the 4 that move are not"
    assert changed.startswith(f"shortly before: broker 3: {MECHANISMS} was PLAIN,SCRAM, and is PLAIN since ")
    assert advice == f"may be related: compare broker 3 with the others: {MECHANISMS} first"


@pytest.mark.parametrize(
    "change",
    [
        both(stands(2, 5), configured(lost, broker=1)),  # it leads only partitions that move
        both(stands(2, 5), configured(lambda _: "PLAIN")),  # nobody changed it, and it is in a file
        both(stands(2, 5), configured(lambda tick: "PLAIN" if tick == CHANGES else "PLAIN,SCRAM")),  # taken back
        both(stands(2, 5), configured(lambda tick: "PLAIN" if tick > TICKS - 2 else "PLAIN,SCRAM")),  # later
    ],
)
def test_other_changes_are_no_leads(change: Change) -> None:
    assert told(seen(change)) == []


def test_a_config_that_one_broker_alone_was_given_is_a_lead() -> None:
    found = told(seen(both(stands(2, 5), configured(lambda _: "4", key="background.threads", source=DYNAMIC))))
    assert "stands out: broker 3 alone has background.threads = 4; the others have PLAIN,SCRAM" in found


def test_a_cordoned_directory_is_a_lead() -> None:
    def cordoned(snapshot: Snapshot, _tick: int) -> Snapshot:
        (one,) = snapshot.log_dirs[3]
        return replace(snapshot, log_dirs={**snapshot.log_dirs, 3: (replace(one, cordoned=True),)})

    found = told(seen(both(stands(2, 5), cordoned)))
    assert "stands out: broker 3 gets no new replicas in /data: cordoned" in found
    assert told(seen(both(stands(1, 4), cordoned))) == []


@pytest.mark.parametrize(("number", "is_told"), [(partition_of("billing", 3), True), (None, False)])
def test_an_open_transaction_in_the_partition_of_the_offsets_is_a_lead(number: int | None, *, is_told: bool) -> None:
    where = OFFSETS, (partition_of("billing", 3) + 1) % 3 if number is None else number

    def facts(_tick: int) -> Facts:
        known = {"tx": Transaction("tx", 7, "Ongoing", 1, 0, 900_000, 0, frozenset({where}))}
        one = OpenTransaction(*where, Producer(7, 0, 1, 0, 0, 50))
        return Facts(transactions=Transactions({where: StableOffsets(50, 53)}, (one,), known, at_ms=60_000))

    said = (
        f"stands out: transaction tx is open in {where[0]}/{where[1]}, the partition with the offsets of group billing"
    )
    assert (said in told(seen(both(stands(2, 5), with_offsets), facts))) is is_told


@pytest.mark.parametrize(("behind", "is_told"), [("traces", True), ("orders", False)])
def test_a_new_topic_with_most_of_the_lag_is_a_lead(behind: str, *, is_told: bool) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        grown = 400 * max(0, tick - STOPS)
        places = {"orders": 100, **({"traces": 0} if tick >= CHANGES else {})}
        lags = tuple(
            cluster.PartitionLag(topic, 0, first + tick, first + tick + late, late, "m1")
            for topic, first in places.items()
            for late in (grown if topic == behind else 0,)
        )
        topic = cluster.Topic("traces", (cluster.Partition(0, 1, (1, 2, 3), (1, 2, 3)),), topic_id="t")
        topics = {**snapshot.topics, **({"traces": topic} if tick >= CHANGES else {})}
        return replace(snapshot, topics=topics, lags={"billing": cluster.GroupLag(lags)})

    found = told(seen(change))
    assert any("topic traces was created at" in each and "100% of its lag" in each for each in found) is is_told


def test_leads_are_few_and_never_twice() -> None:
    change = both(stands(2, 5), configured(lost))
    observations = seen(change)
    verdict = diagnose(observations)
    for _ in range(3):
        verdict = diagnose(observations, before=verdict)
    for each in verdict.causes:
        facts = [one.fact for one in each.claim.evidence]
        assert len(facts) == len(set(facts))
        assert sum(one.startswith((leads.SHORTLY_BEFORE, leads.STANDS_OUT)) for one in facts) <= leads.MOST
        assert sum(one.text.startswith(leads.RELATED) for one in each.claim.next) <= 1


def test_leads_change_nothing_else_of_a_claim() -> None:
    (claim,) = [each.claim for each in diagnose(seen(stands(2))).causes][:1]
    lead = leads.Leads((Evidence(f"{leads.STANDS_OUT}x", "y"),))
    assert leads.without(lead.added(claim)) == claim
    assert leads.without(claim) is claim
    assert leads.NOTHING.added(claim) is claim
    assert isinstance(claim, Claim)


def test_symptoms_without_a_cause_have_leads_in_the_row_the_text_and_the_json() -> None:
    lead = leads.Leads((Evidence(f"{leads.STANDS_OUT}x", "y"),), (Next(f"{leads.RELATED}z"),))
    verdict = replace(
        diagnose(watched(lambda snapshot, _: snapshot)),
        unexplained=(Unexplained("under-replicated", 1, (Subject(topic="orders", partition=0),), lead),),
    )
    (row,) = cause_rows(verdict, {})
    assert row.claim.evidence[1:] == lead.evidence
    assert row.claim.next[1:] == lead.next
    assert [each for each in text_lines(verdict, 40) if each.startswith("  ")] == [
        "  evidence   stands out: x (y)",
        "  next       may be related: z",
    ]
    (data,) = verdict_data(verdict)["unexplained"]  # type: ignore[misc, union-attr]
    assert data["next"] == [{"text": "may be related: z", "command": ""}]  # type: ignore[index, call-overload]


def test_a_symptom_without_a_cause_is_looked_up_at_its_replicas() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        if tick < STOPS:
            return snapshot
        known = snapshot.topics["orders"]
        first = known.partitions[0]._replace(isr=known.partitions[0].isr[:1])
        return replace(snapshot, topics={"orders": replace(known, partitions=(first, *known.partitions[1:]))})

    verdict = diagnose(seen(both(change, configured(lost))))
    assert [each.symptom for each in verdict.unexplained] == ["under-replicated"]
    assert any(MECHANISMS in each.fact for each in verdict.unexplained[0].leads.evidence)


def test_topics_that_are_only_read_anew_were_not_created() -> None:
    many = {f"t{n}": cluster.Topic(f"t{n}", ()) for n in range(MOST + 1)}
    old, new = healthy(), replace(healthy(), topics=many)
    assert created_after({}, old, new, START, START) == {}
    one = replace(healthy(), topics={**old.topics, "x": cluster.Topic("x", ())})
    assert created_after({}, old, one, START, START - TICK) == {"x": START}
    assert created_after({"x": START}, one, old, START + TICK, START - TICK) == {}
    assert created_after({}, Snapshot(), one, START, START) == {}


@pytest.mark.parametrize("read_again", [STOPS + 2, 25])
def test_a_change_that_a_late_read_shows_may_be_the_repair_and_is_no_lead(read_again: int) -> None:
    """Configs were read at the first poll, and again long after the symptom began."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        changed = configured(lambda at: "PLAIN" if at >= read_again else "PLAIN,SCRAM")(snapshot, tick)
        at = START + (read_again if tick >= read_again else 0) * TICK
        return replace(changed, configs_at=dict.fromkeys(changed.configs_at, at))

    assert any(MECHANISMS in each for each in told(seen(both(stands(2, 5), change)))) is (read_again < 25)


def test_an_open_transaction_is_named_by_its_own_producer_once_it_is_old() -> None:
    where = OFFSETS, partition_of("billing", 3)

    def facts(age_ms: int) -> Facts:
        ids = {"fresh": 8, "hangs": 7}
        known = {
            id_: Transaction(id_, producer, "Ongoing", 1, 0, 900_000, 0, frozenset({where}))
            for id_, producer in ids.items()
        }
        one = OpenTransaction(*where, Producer(7, 0, 1, 1_000_000 - age_ms, 0, 50))
        return Facts(transactions=Transactions({where: StableOffsets(50, 53)}, (one,), known, at_ms=1_000_000))

    old, young = (
        told(seen(both(stands(2, 5), with_offsets), lambda _, age=age: facts(age))) for age in (60_000, 10_000)
    )  # type: ignore[misc]
    assert any(each.startswith("stands out: transaction hangs is open") for each in old)
    assert not any("fresh" in each for each in old)
    assert not any("is open in" in each for each in young)


def test_topics_that_the_login_may_describe_only_now_were_not_created() -> None:
    old = healthy()
    shown = cluster.Topic("ledger", (cluster.Partition(0, 1, (1, 2), (1, 2), leader_epoch=57),), topic_id="t")
    assert not created_after({}, old, replace(old, topics={**old.topics, "ledger": shown}), START, START - TICK)
