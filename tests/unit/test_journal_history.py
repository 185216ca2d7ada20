"""Tests of the history that the journal's records give: the state of each edit, the reverted edits, and those whose
revert is due.
"""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.journal import open_changes
from console.journal.entries import (
    Answered,
    Ended,
    Entry,
    Intent,
    Note,
    Numbered,
    intent_line,
    note_line,
    still_runs,
    this_operator,
    this_process,
)
from console.journal.history import Change, History, State, history, latest_changes
from console.journal.open_changes import OpenChanges
from console.model import journal_lines as log
from console.model.changes import NewTopic, Status
from console.model.config import topic_resource
from console.model.failure import Failure
from console.model.quota import QuotaEntity
from console.plan.edits import CreateTopic, Edit, SetConfig, SetQuota, UnsetQuota
from console.plan.staged import Staged, Was
from console.session.journal_changes import opposites
from tests.support.examples import examples

AT = datetime(2026, 3, 4, tzinfo=UTC)
ALICE = QuotaEntity.of({"user": "alice"})
BOB = QuotaEntity.of({"user": "bob"})
APPLIED, FAILED = Ended(Status.APPLIED), Ended(Status.FAILED)
LOST = Ended(Status.UNKNOWN, Failure("TIMED_OUT", "no answer", "Look."))
BY = log.Who("alice", "bob")


def rate(value: float, entity: QuotaEntity = ALICE) -> SetQuota:
    return SetQuota(entity, "producer_byte_rate", value)


def change(
    number: int,
    *edits: Edit,
    was: Was = None,
    hours: int | None = None,
    back: log.Place | None = None,
    days: int = 0,
) -> Numbered:
    until = AT + timedelta(hours=hours) if hours is not None else None
    entries = tuple(Entry(Staged(edit, was, reverts=back), until) for edit in edits)
    requests = tuple(log.Request("AlterClientQuotas", None, (place,)) for place in range(len(edits)))
    return Numbered(
        number, Intent(AT + timedelta(days=days), "c", log.Who("a", "b"), log.Origin("h", "run", 1), entries, requests)
    )


def answered(number: int, request: int = 0, ended: Ended = APPLIED) -> tuple[Note, ...]:
    return log.Sending(number, request, AT), Answered(number, request, AT, {request: ended})


@pytest.mark.parametrize(
    ("records", "open_"),
    [
        ([change(1, rate(1))], True),
        ([change(1, rate(1)), log.Told(1, AT), change(2, rate(1), days=2), *answered(2)], False),
        ([change(1, rate(1)), log.Sending(1, 0, AT)], True),
        ([change(1, rate(1)), *answered(1)], False),
        ([change(1, rate(1)), *answered(1, ended=Ended(Status.UNKNOWN))], True),
        (
            [change(1, rate(1)), log.Sending(1, 0, AT), log.Settled(1, AT, {0: Status.UNKNOWN})],
            True,
        ),
        (
            [
                change(1, rate(1)),
                log.Sending(1, 0, AT),
                log.Settled(1, AT, {0: Status.NOT_APPLIED}),
            ],
            True,
        ),
        (
            [
                change(1, rate(1)),
                *answered(1, ended=Ended(Status.UNKNOWN)),
                log.Settled(1, AT, {0: Status.APPLIED}),
            ],
            False,
        ),
        (
            [
                change(1, rate(1)),
                *answered(1, ended=LOST),
                log.Decided(1, AT, {0: Status.NOT_APPLIED}, BY, "seen"),
            ],
            False,
        ),
        ([change(1, rate(1), rate(2, BOB), hours=1), *answered(1), log.Closed(log.Place(1, 0), AT, "")], True),
        (
            [
                change(1, rate(1), rate(2, BOB), hours=1),
                *answered(1),
                *answered(1, 1),
                log.Closed(log.Place(1, 0), AT, ""),
                change(2, UnsetQuota(BOB, "producer_byte_rate"), back=log.Place(1, 1)),
                *answered(2),
                log.Mended(AT, log.Who("a", "b")),
            ],
            False,
        ),
    ],
)
def test_whether_anything_is_open_is_told_without_reading_it_all(records: list[Numbered | Note], open_: bool) -> None:
    lines = [intent_line(*each) if isinstance(each, Numbered) else note_line(each) for each in records]
    assert anything_open(lines) is open_
    past = history(records)
    if not open_:
        assert not past.unfinished()
        assert not past.expiring()


def anything_open(lines: list[bytes]) -> bool:
    found = OpenChanges[int]()
    for place, line in enumerate(lines):
        found.take(line, place)
    return bool(found.open())


def states(past: History, number: int) -> list[str]:
    found: Change = past.changes[number]
    return [found.state(place).value for place in range(len(found.entries))]


def test_how_an_edit_stands() -> None:
    past = history(
        [
            change(1, rate(1), rate(2, BOB), rate(3), rate(4), rate(5)),
            *answered(1, 0),
            *answered(1, 1, FAILED),
            log.Sending(1, 2, AT),
            *answered(1, 3, Ended(Status.UNKNOWN)),
        ]
    )
    assert states(past, 1) == ["applied", "failed", "unknown", "unknown", "not sent"]
    assert [each.number for each in past.unfinished()] == [1]


def test_what_a_later_start_found() -> None:
    records = [change(1, rate(1), rate(2, BOB)), log.Sending(1, 0, AT), log.Sending(1, 1, AT)]
    past = history([*records, log.Settled(1, AT, {0: Status.APPLIED, 1: Status.UNKNOWN})])
    assert states(past, 1) == ["applied", "unknown"]
    assert [each.number for each in past.unfinished()] == [1], "what is not there yet may still come"
    past = history([*records, log.Settled(1, AT, {0: Status.APPLIED, 1: Status.NOT_APPLIED})])
    assert states(past, 1) == ["applied", "unknown"], "a look proves nothing that it does not see"
    decided = log.Decided(1, AT, {1: Status.NOT_APPLIED}, BY, "the proxy was restarted")
    past = history([*records, log.Settled(1, AT, {0: Status.APPLIED}), decided])
    assert states(past, 1) == ["applied", "not applied"]
    assert past.unfinished() == ()
    assert past.changes[1].decided[1].why == "the proxy was restarted"


def test_a_change_whose_process_runs_is_under_way() -> None:
    records = [change(1, rate(1)), log.Sending(1, 0, AT)]
    assert states(history(records, at_work=lambda _: True), 1) == ["under way"]
    assert states(history([*records, *answered(1)], at_work=lambda _: True), 1) == ["applied"]
    assert still_runs(this_process("run"))
    assert not still_runs(log.Origin(this_process("run").host, "run", this_process("run").pid, "another start"))
    assert not still_runs(log.Origin("another-host", "run", 1))


def test_a_record_of_no_change_and_a_change_twice_do_no_harm() -> None:
    past = history(
        [
            log.Sending(9, 0, AT),
            *answered(9),
            log.Closed(log.Place(9, 0), AT, ""),
            change(1, rate(1)),
            change(1, rate(2)),
        ]
    )
    assert list(past.changes) == [1]
    assert "twice" in past.problems[0]


def test_what_was_taken_back() -> None:
    records = [change(1, rate(1), hours=1), *answered(1)]
    back = change(2, UnsetQuota(ALICE, "producer_byte_rate"), was=1.0, back=log.Place(1, 0))
    assert history([*records, back]).changes[1].undone == {}
    past = history([*records, back, *answered(2)])
    assert past.changes[1].undone == {0: log.Place(2, 0)}
    assert past.expiring() == ()
    (again,) = opposites(past.changes[1])
    assert not again.staged
    assert "change 2 took it back already" in again.note


def test_what_is_due_is_what_still_holds() -> None:
    first = [change(1, rate(1), rate(2, BOB), hours=2), *answered(1, 0), *answered(1, 1)]
    assert [due.place for due in history(first).expiring()] == [log.Place(1, 0), log.Place(1, 1)]
    assert [due.place for due in history([*first, log.Closed(log.Place(1, 0), AT, "stays")]).expiring()] == [
        log.Place(1, 1)
    ]
    later = [*first, change(2, rate(9, BOB)), *answered(2)]
    assert [due.place for due in history(later).expiring()] == [log.Place(1, 0)], "it was set anew, for good"
    failed = [*first, change(2, rate(9, BOB)), *answered(2, ended=FAILED)]
    assert len(history(failed).expiring()) == 2
    sooner = [*first, change(2, rate(9, BOB), hours=1), *answered(2)]
    assert [due.place for due in history(sooner).expiring()] == [log.Place(2, 0), log.Place(1, 0)]


def test_a_change_for_a_time_over_another_uncovers_it_again() -> None:
    first = [change(1, rate(1), hours=2), *answered(1), change(2, rate(2), was=1.0, hours=1), *answered(2)]
    assert [due.place for due in history(first).expiring()] == [log.Place(2, 0)]
    back = [change(3, rate(1), was=2.0, back=log.Place(2, 0)), *answered(3)]
    assert [due.place for due in history([*first, *back]).expiring()] == [log.Place(1, 0)]


def test_what_never_was_applied_is_not_taken_back() -> None:
    past = history([change(1, rate(1), rate(2, BOB)), *answered(1, 0, FAILED), *answered(1, 1)])
    first, second = opposites(past.changes[1])
    assert not first.staged
    assert "it is failed" in first.note
    (back,) = second.staged
    assert back.edit == UnsetQuota(BOB, "producer_byte_rate")
    assert back.was == 2.0
    assert back.reverts == log.Place(1, 1)


def test_the_configs_of_a_new_topic_go_with_it() -> None:
    resource = topic_resource("new")
    records = [change(1, CreateTopic(NewTopic("new", 1, 1)), SetConfig(resource, "retention.ms", "1"))]
    past = history([*records, *answered(1, 0), *answered(1, 1)])
    topic, config = opposites(past.changes[1])
    assert topic.staged
    assert "deleted with it" in topic.note
    assert (config.staged, config.note) == ((), "")


def test_who_it_was() -> None:
    environ = {"SSH_CONNECTION": "10.0.0.7 5000 10.0.0.1 22", "SUDO_USER": "bob"}
    found = this_operator("alice", environ)
    assert (found.principal, found.sudo_user, found.ssh_client) == ("alice", "bob", "10.0.0.7")
    assert found.os_user
    assert this_operator("alice", {}).ssh_client == ""
    assert State.APPLIED.value == "applied"


ENDS = st.sampled_from([APPLIED, FAILED, Ended(Status.UNKNOWN)])
FOUND = st.sampled_from([Status.APPLIED, Status.NOT_APPLIED, Status.UNKNOWN])
PLACES = st.sampled_from([log.Place(1, 0), log.Place(2, 0), log.Place(2, 1), log.Place(3, 0)])
"""Draws the place (change number, index) of an edit in one of three changes; the second change has two edits, with a
request each.
"""
NOTES = st.one_of(
    st.builds(lambda place: log.Sending(*place, AT), PLACES),
    st.builds(lambda place, end: Answered(*place, AT, {place.edit: end}), PLACES, ENDS),
    st.builds(lambda place, one, other: log.Settled(place.change, AT, {0: one, 1: other}), PLACES, FOUND, FOUND),
    st.builds(lambda place, one: log.Decided(place.change, AT, {place.edit: one}, BY, ""), PLACES, FOUND),
    st.builds(lambda place: log.Told(place.change, AT), PLACES),
    st.builds(lambda place: log.Closed(place, AT, ""), PLACES),
)


@given(
    hours=st.lists(st.none() | st.integers(1, 5), min_size=3, max_size=3),
    backs=st.lists(st.none() | PLACES, min_size=3, max_size=3),
    notes=st.lists(NOTES, max_size=12),
)
@examples(60, at_length=300)
def test_the_open_changes_alone_come_to_what_the_whole_journal_does(
    hours: list[int | None], backs: list[log.Place | None], notes: list[Note]
) -> None:
    """The open changes are the same whether kac reads only their records or the whole journal, in any order of the
    records, as two consoles may write them.
    """
    intents = [
        change(number, *edits, hours=hours[number - 1], back=backs[number - 1])
        for number, edits in ((1, (rate(1),)), (2, (rate(2), rate(2, BOB))), (3, (UnsetQuota(ALICE, rate(1).key),)))
    ]
    records = [*intents, *notes]
    assert_the_same(records, prune_every=1_000)


@given(rng=st.randoms(use_true_random=False))
@examples(15, at_length=40)
def test_what_is_dropped_on_the_way_is_not_missed(rng: Random) -> None:
    """If the journal is pruned after every change, its open changes are the same as without pruning: thirty changes of
    four entities, with kills, lost responses, checks, decisions, expiry times and reverts.
    """
    entities = [QuotaEntity.of({"user": name}) for name in "abcd"]
    records: list[Numbered | Note] = []
    for number in range(1, 31):
        edits = [rate(number, entity) for entity in rng.sample(entities, rng.randint(1, 2))]
        back = log.Place(rng.randrange(1, number), 0) if number > 1 and rng.randrange(3) == 0 else None
        hours = rng.choice((None, None, 1))
        records.append(change(number, *edits, hours=hours, back=back))
        for place in range(len(edits)):
            if rng.randrange(8) == 0:
                break
            records.append(log.Sending(number, place, AT))
            if rng.randrange(8) == 0:
                break
            end = rng.choice((APPLIED, APPLIED, APPLIED, FAILED, LOST))
            records.append(Answered(number, place, AT, {place: end}))
        old = rng.randint(1, number)
        later = rng.randrange(8)
        if later == 0:
            records.append(log.Closed(log.Place(old, 0), AT, "stays"))
        unknown = [each for each in history(records).unfinished() if each.number == old]
        if later == 1 and unknown:
            there = unknown[0].in_state(State.UNKNOWN)
            records.append(log.Settled(old, AT, {there[0]: Status.APPLIED}))
        if later == 2 and unknown:
            said = dict.fromkeys(unknown[0].in_state(State.UNKNOWN), Status.NOT_APPLIED)
            records.append(log.Decided(old, AT, said, BY, "seen"))
    assert_the_same(records, prune_every=1)
    assert list(latest_changes(reversed(records))) == list(reversed(history(records).changes.values()))


def assert_the_same(records: list[Numbered | Note], prune_every: int) -> None:
    found = OpenChanges[int]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(open_changes, "PRUNE_EVERY", prune_every)
        for place, each in enumerate(records):
            found.take(intent_line(*each) if isinstance(each, Numbered) else note_line(each), place)
    kept = sorted(place for places in found.open().values() for place in places)
    whole, part = history(records), history(records[place] for place in kept)
    assert part.expiring() == whole.expiring()
    assert [each.number for each in part.untold()] == [each.number for each in whole.untold()]
    assert [each.number for each in part.unfinished()] == [each.number for each in whole.unfinished()]
    for each in whole.unfinished():
        for place in each.in_state(State.UNKNOWN):
            slot = each.entries[place].staged.edit.slot
            one, other = (past.touched_later(each.number, slot) for past in (whole, part))
            assert (one is None) == (other is None)
    assert found.last == max((each.number for each in records if isinstance(each, Numbered)), default=0)
