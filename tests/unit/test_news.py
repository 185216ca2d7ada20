"""Tests of the notifications about causes: one when a cause appears, one when it gets worse, and one when it
disappears.
"""

from collections import Counter
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model.severity import Certainty, Severity
from console.present.triage import MUTED_FOR, CauseRow, cause_id, cause_rows, member_ids
from console.telling.news import Known, News, What, news, no_answer
from console.triage.cause import Claim, Evidence
from console.triage.diagnosis import Named, Unexplained, Verdict
from console.triage.folding import one_of
from console.triage.settling import HELD
from console.triage.symptoms import Subject

START = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
SEVERITIES = list(Severity)


def row(
    cause: str = "broker-down",
    severity: Severity = Severity.HIGH,
    certainty: Certainty = Certainty.CERTAIN,
    subject: Subject | None = None,
    fold: tuple[str, str] | None = None,
) -> CauseRow:
    where = Subject(broker=1) if subject is None else subject
    return CauseRow(Named(claim(cause, severity, certainty, where, fold), {}))


def claim(
    cause: str, severity: Severity, certainty: Certainty, subject: Subject, fold: tuple[str, str] | None
) -> Claim:
    return Claim(
        cause=cause,
        subject=subject,
        severity=severity,
        certainty=certainty,
        evidence=(Evidence("seen", "Metadata"),),
        title=cause,
        fold=fold,
    )


def told(*polls: tuple[float, list[CauseRow]], blind: bool = False) -> list[tuple[str, str, float]]:
    """Return the notifications after these polls, given as (seconds, rows): event, id of the cause, and the seconds
    since the start. blind: whether the polls failed.
    """
    known, found = Known(), list[News]()
    for seconds, rows in polls:
        known, more = news(known, rows, START + seconds * SECOND, seconds, blind=blind)
        found += more
    return [(each.what.value, each.id, (each.at - START).total_seconds()) for each in found]


def test_a_cause_that_comes_gets_worse_and_goes_is_told_once_each() -> None:
    polls = [(t, [row(severity=Severity.WARNING if t < 20 else Severity.CRITICAL)]) for t in range(40)]
    gone = [(40.0 + t, list[CauseRow]()) for t in range(120)]
    assert told(*polls, *gone) == [
        ("came", "broker-down:broker:1", 0),
        ("worse", "broker-down:broker:1", 20),
        ("gone", "broker-down:broker:1", 100),
    ]


def test_what_flaps_is_told_once_and_what_comes_back_later_again() -> None:
    polls = [(10.0 * t, [row()] if t % 2 else []) for t in range(30)]
    assert told(*polls) == [("came", "broker-down:broker:1", 10)]
    both, alone = states((1, WARNING), (2, WARNING)), states((1, WARNING))
    flaps = [(10.0 * n, both if n % 2 else alone) for n in range(20)]
    later = [(200.0, alone), (270.0, alone), (280.0, both)]
    assert [(what, at) for what, _, at in told(*flaps, *later)] == [("came", 0), ("came", 10), ("came", 280)]


def test_a_step_of_the_wall_clock_is_no_time() -> None:
    known, found = news(Known(), [row()], START, 0)
    for now, hours in ((1, 0), (2, 5), (3, -5), (59, 0), (61, -7)):
        known, more = news(known, [], START + timedelta(hours=hours), now)
        found += more
    assert [(each.what, each.at) for each in found] == [
        (What.CAME, START),
        (What.GONE, START - timedelta(hours=7)),
    ]


def test_names_with_spaces_and_colons_are_other_causes() -> None:
    pair, one = Subject(group="billing", topic="orders"), Subject(group="billing topic orders")
    colons = Subject(group="billing:topic:orders")
    ids = [cause_id(row("consumer-slow", subject=each).claim) for each in (pair, one, colons)]
    assert ids == [
        "consumer-slow:group:billing:topic:orders",
        "consumer-slow:group:billing%20topic%20orders",
        "consumer-slow:group:billing%3Atopic%3Aorders",
    ]


NAMES = st.text(st.sampled_from("a :%\t2"), min_size=1, max_size=6)


@given(NAMES, NAMES, NAMES)
def test_subjects_that_differ_have_other_ids(one: str, topic: str, other: str) -> None:
    subjects = {Subject(group=one, topic=topic), Subject(group=other), Subject(group=one), Subject(topic=topic)}
    assert len({cause_id(row(subject=each).claim) for each in subjects}) == len(subjects)


def test_of_rows_with_one_id_the_worst_is_told() -> None:
    # An id has only the first 2,000 characters of a name.
    rows = [
        row(severity=severity, subject=Subject(group="g" * 4000 + end))
        for end, severity in (("a", Severity.CRITICAL), ("b", Severity.WARNING))
    ]
    known, found = news(Known(), rows, START, 0)
    known, more = news(known, rows, START, 1)
    assert [each.row.claim.severity for each in (*found, *more)] == [Severity.CRITICAL]


def test_possible_ones_information_and_what_is_muted_on_the_screen_are_not_told() -> None:
    muted = row()._replace(muted=START + MUTED_FOR)
    others = [row(certainty=Certainty.POSSIBLE), row(severity=Severity.INFO), muted]
    assert [told((0, [each]), (100, [each])) for each in others] == [[], [], []]
    assert told((0, [muted]), (100, [row()])) == [("came", "broker-down:broker:1", 100)]
    verdict = Verdict(START, (row().named,), (), ())
    rows = cause_rows(verdict, {cause_id(row().claim): START + MUTED_FOR})
    assert told((0, rows)) == []


def test_an_unexplained_symptom_waits_for_its_cause_whatever_its_number() -> None:
    def rows(count: int) -> list[CauseRow]:
        examples = (Subject(topic="a", partition=0),)
        return cause_rows(Verdict(START, (), (Unexplained("leaderless", count, examples),), ()), {})

    assert told(*((t, rows(1 + t % 3)) for t in range(59))) == []
    assert told(*((t, rows(1 + t % 3)) for t in range(90))) == [("came", "unexplained-leaderless", 60)]


def test_what_is_one_row_now_muted_or_unread_has_not_gone() -> None:
    fold = ("stands still", "stand still")
    few = [row("consumer-stuck", subject=Subject(group=f"g{n}"), fold=fold) for n in range(3)]
    many = [row("consumer-stuck", subject=Subject(), fold=fold)]
    found = told((0, few), *((1.0 + t, many) for t in range(100)))
    assert Counter(what for what, _, _ in found) == {"came": 4}
    assert told((0, few), (1, many), *((2.0 + t, list[CauseRow]()) for t in range(100)))[-1][0] == "gone"
    worse = row(severity=Severity.CRITICAL)._replace(muted=START + MUTED_FOR)
    assert told((0, [row()]), (1, [worse]), (2, []), (2 + HELD.total_seconds(), [])) == [
        ("came", "broker-down:broker:1", 0),
        ("gone", "broker-down:broker:1", 62),
    ]
    assert told((0, [row()]), (1, []), (500, []), blind=True) == [("came", "broker-down:broker:1", 0)]


def states(*severities: tuple[int, Severity]) -> list[CauseRow]:
    """Return the row for expiring certificates, with a state for each (broker, severity); empty without brokers."""
    made = [
        replace(
            row("certificate-expiring", each, subject=Subject(broker=id_)).claim, stands=(f"broker {id_}", "it ends")
        )
        for id_, each in severities
    ]
    return [CauseRow(Named(one_of(made), {}))] if made else []


WARNING, HIGH = Severity.WARNING, Severity.HIGH


def test_of_states_in_one_row_each_comes_and_the_row_goes_with_the_last() -> None:
    one, two, three = (1, WARNING), (2, WARNING), (3, HIGH)
    polls = [[one]] * 2 + [[one, two]] * 4 + [[one, two, three]] * 4 + [[two, three]] * 4 + [[two]] * 4 + [[]] * 4
    known, found = Known(), list[News]()
    for n, each in enumerate(polls):
        known, more = news(known, states(*each), START, 30.0 * n)
        found += more
    assert [(each.what.value, each.id, each.row.claim.title) for each in found] == [
        ("came", "certificate-expiring", "certificate-expiring"),
        ("came", "certificate-expiring", "certificate-expiring"),
        ("worse", "certificate-expiring", "broker 3 and 2 more: it ends"),
        ("gone", "certificate-expiring", "certificate-expiring"),
    ]
    assert [each.row.claim.subject.broker for each in found] == [1, 2, 3, 2]


def test_a_mute_of_a_row_of_states_keeps_those_back_that_it_had() -> None:
    both, three = (states(*((id_, WARNING) for id_ in ids)) for ids in ((1, 2), (1, 2, 3)))
    muted = dict.fromkeys(member_ids(both[0].claim), START + MUTED_FOR)
    before, later, less = (
        cause_rows(Verdict(START, (each[0].named,), (), ()), muted) for each in (both, three, states((2, WARNING)))
    )
    assert [each[0].muted is not None for each in (before, later, less)] == [True, False, True]
    assert told((0, before), (1, later)) == [("came", "certificate-expiring", 1)]


def test_a_cluster_that_does_not_answer_is_a_cause() -> None:
    lost, held = no_answer("no broker answers: refused"), HELD.total_seconds()
    known, found = news(Known(), [row()], START, 0)
    known, more = news(known, [lost], START, 1, blind=True)
    known, later = news(known, [lost], START, 10 * held, blind=True)
    assert [each.what for each in (*found, *more, *later)] == [What.CAME, What.CAME]
    known, back = news(known, [row()], START, 11 * held)
    known, gone = news(known, [row()], START, 12 * held)
    assert [(each.what, each.id) for each in (*back, *gone)] == [(What.GONE, "no-answer")]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.sampled_from(SEVERITIES), st.booleans()), max_size=4), max_size=40
    )
)
def test_each_cause_comes_before_it_gets_worse_or_goes(polls: list[list[tuple[int, Severity, bool]]]) -> None:
    known, state = Known(), dict[str, Severity]()
    for n, poll in enumerate(polls):
        sure = {True: Certainty.CERTAIN, False: Certainty.POSSIBLE}
        rows = [row(f"cause-{which}", severity, sure[is_sure]) for which, severity, is_sure in poll]
        known, found = news(known, rows, START, n * 0.4 * HELD.total_seconds())
        for each in found:
            before = state.get(each.id)
            assert each.was == before
            if each.what is What.GONE:
                assert before is not None
                del state[each.id]
            else:
                assert (before is None) == (each.what is What.CAME)
                assert before is None or SEVERITIES.index(each.row.claim.severity) < SEVERITIES.index(before)
                state[each.id] = each.row.claim.severity
    assert {name: each.worst for name, each in known.told.items()} == state
    gone = set()
    for days in (1, 2):
        known, found = news(known, [], START, 86_400.0 * days)
        gone |= {each.id for each in found}
    assert gone == state.keys()
    assert not known.told
