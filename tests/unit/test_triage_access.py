"""Tests of removed rights as a cause: if reads or writes that need a right stop right after a change of ACLs removed
it, triage names this change, and the fix grants the right again.
"""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.language.interpret import command_of
from console.model.acl import Acl, acl_differences
from console.model.authorizer import OPEN, covers, pattern_of, patterns_on, within_whole
from console.model.cluster import Topic
from console.model.codes import STATIC_BROKER_CONFIG, AclOperation, Permission
from console.model.config import ConfigResource, ConfigSet, broker_resource
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.plan.edits import AddAcl, RemoveAcl
from console.triage import past
from console.triage.cause import Claim
from console.triage.causes import access
from console.triage.diagnosis import diagnose
from console.triage.facts import Author, ChangeKey
from console.triage.past import DENY, NOTHING, past_after
from console.triage.symptoms import Poll
from tests.support import samples
from tests.unit import test_triage
from tests.unit.test_triage import START, TICK, healthy, moved, watched

WHEN = 6
"""The number of the first poll that sees the changed ACLs."""


def acl(
    permission: str,
    operation: str,
    name: str = "orders",
    type_: str = "TOPIC",
    pattern: str = "LITERAL",
    host: str = "*",
) -> Acl:
    return samples.acl("User:app", name, operation, permission, on=type_, pattern=pattern, host=host)


OTHER = acl("ALLOW", "READ", "payments")


def seen(
    before: tuple[Acl, ...],
    now: tuple[Acl, ...],
    *,
    stops: bool,
    ticks: int = 16,
    authors: Mapping[ChangeKey, Author] = MappingProxyType({}),
) -> list[Claim]:
    """Return the claims above INFO after ACLs changed from `before` to `now` at `WHEN`, on a topic that is written to.

    stops: whether the writes stop with the change. authors: the known authors of changes.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        at = START + tick * TICK
        acls = tuple(sorted(now if tick >= WHEN else before))
        return replace(snapshot, acls=acls, read_at={**snapshot.read_at, "acls": at})

    written = test_triage.kept_logs(
        lambda each: {("orders", 0): 100 + 10 * (min(each, WHEN) if stops else each)}, authors=authors
    )
    first = replace(healthy(), acls=tuple(sorted(before)), read_at={**healthy().read_at, "acls": START})
    claims = [each.claim for each in diagnose(watched(change, ticks, before=first, facts=written)).causes]
    return [each for each in claims if each.severity is not Severity.INFO]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ((OTHER,), (OTHER, acl("DENY", "WRITE"))),
        ((OTHER,), (OTHER, acl("DENY", "ALL", "ord", pattern="PREFIXED"))),
        ((OTHER,), (OTHER, acl("DENY", "WRITE", "*"))),
        ((OTHER, acl("ALLOW", "WRITE")), (OTHER,)),
    ],
)
def test_a_topic_that_nobody_may_write_to_any_more(before: tuple[Acl, ...], now: tuple[Acl, ...]) -> None:
    (only,) = seen(before, now, stops=True)
    assert (only.cause, only.certainty) == ("access-changed", Certainty.LIKELY)
    assert only.subject.topic == "orders"
    assert only.since == START + WHEN * TICK
    (edit,) = only.next[0].edits
    (changed,) = set(before) ^ set(now)
    assert edit == (RemoveAcl(changed) if changed in now else AddAcl(changed))
    assert command_of(edit)


@pytest.mark.parametrize(("principal", "is_named"), [("user:courier", True), ("User:courier", False)])
def test_a_right_of_another_client_that_nobody_gets_is_a_row_with_the_reason(principal: str, *, is_named: bool) -> None:
    given = samples.acl(principal, "orders", "READ", "ALLOW")
    claims = seen((OTHER, acl("ALLOW", "WRITE")), (OTHER, acl("ALLOW", "WRITE"), given), stops=False)
    assert [each.cause for each in claims] == ["changed-lately"] * is_named
    assert all("no login has the type user" in each.title for each in claims)


@pytest.mark.parametrize(
    ("left", "hosts"),
    [
        ((acl("ALLOW", "WRITE", host="10.20.0.7"),), "host 10.20.0.7"),
        ((acl("ALLOW", "ALL", "ord", pattern="PREFIXED", host="10.20.0.7"),), "host 10.20.0.7"),
        (
            (acl("ALLOW", "WRITE", "*", host="10.0.0.1"), acl("ALLOW", "WRITE", host="10.0.0.2")),
            "hosts 10.0.0.1, 10.0.0.2",
        ),
        ((acl("ALLOW", "READ", host="10.20.0.7"),), ""),
        ((acl("DENY", "WRITE", host="10.20.0.7"),), ""),
        ((acl("ALLOW", "WRITE", "payments", host="10.20.0.7"),), ""),
        ((samples.acl("User:bob", "orders", "WRITE", "ALLOW", host="10.20.0.7"),), ""),
    ],
)
def test_rights_that_are_left_for_single_hosts_are_evidence(left: tuple[Acl, ...], hosts: str) -> None:
    (only,) = seen((OTHER, *left, acl("ALLOW", "WRITE")), (OTHER, *left), stops=True)
    found = [each.fact for each in only.evidence if " hold for " in each.fact]
    assert found == ([f"User:app's other ACLs on it hold for {hosts} only"] if hosts else [])


PAY = acl("ALLOW", "WRITE", "pay-", "TRANSACTIONAL_ID", "PREFIXED")


@pytest.mark.parametrize(
    ("others", "is_named"),
    [
        ((acl("ALLOW", "WRITE"),), True),
        ((acl("ALLOW", "ALL", "ord", pattern="PREFIXED"),), True),
        ((acl("ALLOW", "WRITE", "*"),), False),  # it may write anywhere
        ((acl("ALLOW", "READ"),), False),
        ((samples.acl("User:bob", "orders", "WRITE", "ALLOW"),), False),
        ((acl("ALLOW", "WRITE"), acl("ALLOW", "WRITE", "*", "TRANSACTIONAL_ID")), False),  # it has the right still
    ],
)
@pytest.mark.parametrize("stops", [True, False])
def test_a_right_on_a_transactional_id_stops_the_topics_of_its_user(
    others: tuple[Acl, ...], *, is_named: bool, stops: bool
) -> None:
    claims = [each for each in seen((PAY, *others), others, stops=stops) if each.cause == "access-changed"]
    assert [each.title for each in claims] == (
        ["ALLOW WRITE for User:app on transactional id pay-* was removed, and nothing is written to orders since"]
        if is_named and stops
        else []
    )


@pytest.mark.parametrize(
    ("now", "stops"),
    [
        ((OTHER, acl("DENY", "WRITE")), False),
        ((OTHER, acl("DENY", "READ")), True),
        ((OTHER, acl("DENY", "WRITE", "payments")), True),
        ((OTHER,), True),
    ],
    ids=["it is written to on", "who reads is not who writes", "another topic", "nothing changed"],
)
def test_what_stops_by_itself_or_goes_on_is_no_trouble(now: tuple[Acl, ...], *, stops: bool) -> None:
    assert not seen((OTHER,), now, stops=stops)


def test_more_rights_stop_nobody_and_a_change_of_long_ago_is_not_the_cause() -> None:
    before = (OTHER, acl("ALLOW", "READ"))
    assert not seen(before, (*before, acl("ALLOW", "WRITE")), stops=True)
    assert not seen((OTHER,), (OTHER, acl("DENY", "WRITE")), stops=True, ticks=WHEN + 62)  # long ago


@pytest.mark.parametrize(
    ("taken", "is_named"),
    [
        (acl("ALLOW", "READ"), True),
        (acl("DENY", "READ"), True),
        (acl("DENY", "READ", "billing", "GROUP"), True),
        (acl("DENY", "READ", "shipping", "GROUP"), False),
        (acl("DENY", "READ", "payments"), False),
    ],
    ids=["the first on the topic", "read", "the group", "another group", "another topic"],
)
def test_a_reader_that_stops_right_after_it_is_explained_by_it(taken: Acl, *, is_named: bool) -> None:
    """If a reader, which committed every 5 s until then, stops right after a change of ACLs took away a right that
    it needs, triage names this change. If the reader does not need the right, triage names a record that blocks
    the reader.
    """
    causes = all_of_a_reader((OTHER,), (OTHER, taken))
    found = [each for each in causes if each.cause == "access-changed"]
    assert bool(found) is is_named
    assert ("consumer-stuck" in [each.cause for each in causes]) is not is_named
    if is_named:
        assert found[0].next[0].edits == (RemoveAcl(taken),)
        assert found[0].since == START + WHEN * TICK


def all_of_a_reader(
    before: tuple[Acl, ...], now: tuple[Acl, ...], configs: Mapping[ConfigResource, ConfigSet] = MappingProxyType({})
) -> list[Claim]:
    """Return all claims after a reader stops at the poll that sees ACLs change from `before` to `now`. configs: of
    brokers.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        at = START + tick * TICK
        committed = 100 + 50 * min(tick, WHEN)
        changed = moved(snapshot, {0: (committed, 110 + 50 * tick), 1: (committed, 110 + 50 * tick)})
        read_at = {**snapshot.read_at, "acls": at}
        acls = tuple(sorted(now if tick >= WHEN else before))
        return replace(changed, acls=acls, read_at=read_at, configs={**snapshot.configs, **configs})

    first = replace(change(healthy(), 0), read_at={**healthy().read_at, "acls": START})
    return [each.claim for each in diagnose(watched(change, 20, before=first)).causes]


def test_a_right_on_a_transactional_id_says_nothing_about_readers() -> None:
    """If a group stops right after a right on a transactional id was removed from a user who writes to its topic,
    triage does not name that change.
    """
    writes = acl("ALLOW", "WRITE")
    new = acl("ALLOW", "DESCRIBE", "app-", "TRANSACTIONAL_ID", "PREFIXED")
    (stuck,) = [each for each in all_of_a_reader((writes,), (writes, new)) if each.cause == "consumer-stuck"]
    assert not [each.fact for each in stuck.evidence if "transactional id" in each.fact]
    assert "transactional id" not in stuck.title


def test_changes_of_rights_stay_the_same_object_while_no_right_changes() -> None:
    states = [replace(healthy(), acls=acls, read_at={"acls": START}) for acls in ((), (acl("DENY", "READ"),))]
    first, then = (Poll(START + tick * TICK, state) for tick, state in enumerate(states))
    known = past_after(NOTHING, first, then)
    assert known.access
    assert past_after(known, then, Poll(START + 2 * TICK, then.snapshot)).access is known.access


@given(
    st.sets(st.sampled_from(["a", "ab", "abc", "b", "ba", "c", "orders"])),
    st.sampled_from(["a", "ab", "b", "c", "*", "ordersx", ""]),
    st.sampled_from(["LITERAL", "PREFIXED"]),
)
def test_the_topics_of_a_pattern_are_those_that_it_covers(names: set[str], name: str, pattern: str) -> None:
    one = pattern_of(acl("ALLOW", "READ", name, pattern=pattern))
    topics = {each: Topic(each, ()) for each in names}
    found = {each for each in names if covers(one, one.resource_type, each)}
    assert {*access._covered(one, topics)} == found


@pytest.mark.parametrize(("value", "is_offered"), [(None, True), ("true", False)], ids=["hidden", "everyone"])
def test_the_last_acl_is_offered_again_unless_brokers_let_everyone_in(value: str | None, *, is_offered: bool) -> None:
    """If a group stops when the only ACL is removed, the fix adds it again, unless allow.everyone.if.no.acl.found is
    true; a hidden value counts as false.
    """
    last = acl("ALLOW", "READ", "billing", "GROUP")
    configs = {broker_resource(1): samples.config_set({OPEN: value}, STATIC_BROKER_CONFIG)}
    (claim,) = [each for each in all_of_a_reader((OTHER, last), (OTHER,), configs) if each.cause == "access-changed"]
    assert claim.next[0].edits == ((AddAcl(last),) if is_offered else ())
    assert claim.next[0].text.startswith("look at it before it is changed") is not is_offered


def of_a_reader(before: tuple[Acl, ...], now: tuple[Acl, ...]) -> list[Claim]:
    return [each for each in all_of_a_reader(before, now) if each.cause == "access-changed"]


@pytest.mark.parametrize(
    "taken",
    [
        acl("DENY", "DELETE"),
        acl("DENY", "ALTER_CONFIGS", "*"),
        acl("DENY", "WRITE"),
        acl("DENY", "DELETE", "billing", "GROUP"),
    ],
    ids=lambda each: f"{each.operation} {each.resource_name}",
)
def test_what_no_reader_needs_did_not_stop_one(taken: Acl) -> None:
    """Triage does not name a removed right that the reader does not need, even if the reader stops right after it."""
    read = (OTHER, acl("ALLOW", "READ"), acl("ALLOW", "READ", "billing", "GROUP"))
    assert not of_a_reader(read, (*read, taken))


@pytest.mark.parametrize(
    "wider",
    [acl("ALLOW", "ALL"), acl("ALLOW", "READ", "ord", pattern="PREFIXED"), acl("ALLOW", "READ", "*")],
    ids=["all", "a prefix", "every topic"],
)
def test_what_another_acl_says_too_took_nothing(wider: Acl) -> None:
    mine = acl("ALLOW", "READ")
    assert not of_a_reader((OTHER, mine, wider), (OTHER, wider))
    assert of_a_reader((OTHER, wider), (OTHER,)), "the last one that says it did"
    denies = mine._replace(permission=Permission.parse("DENY"))
    wide = wider._replace(permission=Permission.parse("DENY"))
    assert not of_a_reader((OTHER, wide), (OTHER, wide, denies))


def test_rights_that_are_taken_at_once_come_back_at_once() -> None:
    """ACLs that one statement removed are one row, with one fix that adds them all."""
    mine = tuple(acl("ALLOW", each) for each in ("READ", "DESCRIBE", "WRITE"))
    (only,) = of_a_reader((OTHER, *mine), (OTHER,))
    assert {*only.next[0].edits} == {AddAcl(each) for each in mine}
    assert only.title.startswith("ALLOW READ, WRITE, DESCRIBE for User:app on topic orders were removed, and group")


def test_the_first_acl_on_a_topic_shuts_out_writers_whatever_it_allows() -> None:
    (only,) = seen((OTHER,), (OTHER, acl("ALLOW", "READ")), stops=True)
    assert only.subject.topic == "orders"
    assert only.evidence[-1].fact == "it is the first ACL on it: before, everyone had access"
    assert only.next[0].edits == (RemoveAcl(acl("ALLOW", "READ")),)


def test_acls_that_are_read_for_the_first_time_did_not_change() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        if tick < WHEN:
            return snapshot
        return replace(snapshot, acls=(acl("DENY", "ALL"),), read_at={**snapshot.read_at, "acls": START + tick * TICK})

    assert diagnose(watched(change)).is_healthy


def test_who_changed_it_is_said_where_the_journal_has_it() -> None:
    mine = acl("DENY", "WRITE")
    authors = {(mine, "", "present"): Author("carol", 7, START), (mine, "", None): Author("dave", 8, START)}
    (only,) = seen((OTHER,), (OTHER, mine), stops=True, authors=authors)
    (who,) = (each for each in only.evidence if each.source == "this host's journal")
    assert who.fact.startswith("carol added it: change 7, ")
    (nobody,) = seen((OTHER,), (OTHER, acl("DENY", "ALL")), stops=True, authors=authors)
    assert "this host's journal" not in {each.source for each in nobody.evidence}


_ACLS = st.builds(
    acl,
    st.sampled_from(["ALLOW", "DENY"]),
    st.sampled_from(["READ", "WRITE", "ALL"]),
    st.sampled_from(["*", "a", "ab", "abc", "*a", "b"]),
    st.sampled_from(["TOPIC", "GROUP"]),
    st.sampled_from(["LITERAL", "PREFIXED"]),
)


@given(st.frozensets(_ACLS), st.frozensets(_ACLS))
def test_only_what_differs_is_compared_and_what_a_change_takes_no_other_acl_says(
    one: frozenset[Acl], other: frozenset[Acl]
) -> None:
    assert acl_differences(sorted(one), sorted(other)) == (sorted(one - other), sorted(other - one))
    # The expected value compares each ACL with all others, which is too slow for thousands.
    poll = Poll(START, replace(healthy(), acls=tuple(sorted(one)), read_at={**healthy().read_at, "acls": START}))
    later = Poll(START + TICK, replace(poll.snapshot, acls=tuple(sorted(other))))
    for each in past_after(NOTHING, poll, later).access:
        others = one if each.added else other
        said = any(
            known.permission == each.acl.permission and within_whole(each.acl, known, ranges=False) for known in others
        )
        on_it = {pattern_of(known) for known in one}
        first = each.added and not on_it & {
            pattern_of(each.acl),
            *patterns_on(each.acl.resource_type, each.acl.resource_name),
        }
        is_taken = (each.acl.permission == DENY) is each.added and not said
        assert each.takes == (is_taken or first), each


def test_of_many_only_those_on_the_same_resource_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """If one of 20,000 ACLs of a principal is removed, triage compares it only with the ACLs on the same resource."""
    many = tuple(sorted(acl("ALLOW", "READ", f"topic-{number:05}") for number in range(20_000)))
    compared: Counter[str] = Counter()

    def within(mine: Acl, known: Acl, *, ranges: bool) -> bool:
        compared[known.resource_name] += 1
        return within_whole(mine, known, ranges=ranges)

    monkeypatch.setattr(past, "within_whole", within)
    poll = Poll(START, replace(healthy(), acls=many, read_at={**healthy().read_at, "acls": START}))
    same = Poll(START + TICK, replace(poll.snapshot, acls=tuple(each._replace() for each in many)))
    assert not past_after(NOTHING, poll, same).access
    fewer = Poll(START + TICK, replace(poll.snapshot, acls=(*many[:7_000], *many[7_001:])))
    (only,) = past_after(NOTHING, poll, fewer).access
    assert (only.acl, only.takes) == (many[7_000], True)
    assert not compared
    another = many[7_000]._replace(operation=AclOperation.parse("ALL"))
    with_it = Poll(START, replace(poll.snapshot, acls=tuple(sorted((*many, another)))))
    without = Poll(START + TICK, replace(poll.snapshot, acls=tuple(sorted({*many, another} - {many[7_000]}))))
    (only,) = past_after(NOTHING, with_it, without).access
    assert not only.takes
    assert compared == {"topic-07000": 1}
