"""Tests of the verdict on open transactions: which ones are called hanging, and which never are."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.language.completion import complete
from console.model import transactions as txns
from console.model.failure import Failure
from console.model.snapshot import Snapshot
from console.plan.edits import EndTransaction
from console.plan.plan import EMPTY, stage
from console.plan.risks import risks
from console.plan.staged import Dropped, Refusal
from console.present.text import plain
from console.present.transactions import detail_lines, transaction_rows

T, P = "orders", 3
PLACE = T, P
NOW = 1_790_000_000_000
MAX = 900_000
GAP = Failure("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "not all ids may be described", "Grant DESCRIBE.")

producers = st.builds(
    txns.Producer,
    id=st.integers(0, 3),
    epoch=st.integers(0, 3),
    last_timestamp=st.one_of(st.just(-1), st.integers(NOW - 3 * MAX, NOW + MAX)),
    coordinator_epoch=st.integers(-1, 3),
    start_offset=st.integers(0, 50),
)
transactions = st.builds(
    txns.Transaction,
    id=st.sampled_from(["a", "b", "c"]),
    producer_id=st.integers(0, 3),
    state=st.sampled_from(["Empty", "CompleteCommit", "CompleteAbort", *sorted(txns.UNFINISHED)]),
    timeout_ms=st.sampled_from([-1, 1000, MAX]),
    start_ms=st.one_of(st.just(-1), st.integers(NOW - 3 * MAX, NOW)),
    partitions=st.one_of(st.none(), st.frozensets(st.sampled_from([PLACE, (T, 4), ("other", 3)]))),
)


@st.composite
def polled(draw: st.DrawFn) -> tuple[txns.OpenTransaction, txns.Transactions]:
    """Draw an open transaction, and the poll of all transactions that found it."""
    found = draw(st.lists(transactions, max_size=3, unique_by=(lambda each: each.id, lambda each: each.producer_id)))
    open_ = txns.OpenTransaction(*PLACE, draw(producers), draw(st.booleans()))
    return open_, txns.Transactions(
        {PLACE: txns.StableOffsets(open_.producer.start_offset, open_.producer.start_offset + 5)},
        (open_,),
        {each.id: each for each in found},
        gaps=draw(st.sampled_from([(), (GAP,)])),
        at_ms=NOW,
    )


def as_kafka_finds(each: txns.OpenTransaction, seen: txns.Transactions) -> bool:
    """Return whether Kafka's command (TransactionsCommand.FindHangingTransactionsCommand) calls a transaction hanging:
    it is older than the longest timeout, and either no transactional id has its producer, or the description of that
    id's transaction does not name the partition.
    """
    if seen.at_ms - each.producer.last_timestamp <= seen.max_timeout_ms:
        return False
    ours = [known for known in seen.transactions.values() if known.producer_id == each.producer.id]
    return not ours or each.place not in (ours[0].partitions or frozenset())


@given(polled())
def test_what_hangs_here_hangs_for_kafkas_command_too(
    case: tuple[txns.OpenTransaction, txns.Transactions],
) -> None:
    each, seen = case
    hangs = txns.verdict(each, seen).standing is txns.Standing.HANGS
    assert not hangs or as_kafka_finds(each, seen)
    known = seen.by_producer.get(each.producer.id)
    if known is not None and known.state in txns.DECIDED:
        assert not hangs, "a marker may still come, and an abort would undo a part of a commit"
        return
    sure = each.confirmed and not seen.gaps and all(t.partitions is not None for t in seen.transactions.values())
    if sure:
        assert hangs is as_kafka_finds(each, seen), "where all is seen, both say the same"


@given(polled(), st.integers(0, 10 * MAX))
def test_what_a_coordinator_will_end_never_hangs_however_old(
    case: tuple[txns.OpenTransaction, txns.Transactions], later: int
) -> None:
    each, seen = case
    kept = txns.Transaction("kept", each.producer.id, "Ongoing", 1, 0, MAX, NOW - MAX, frozenset({PLACE}))
    others = {id_: t for id_, t in seen.transactions.items() if t.producer_id != each.producer.id}
    seen = replace(seen, transactions={**others, "kept": kept}, at_ms=NOW + later)
    found = txns.verdict(each, seen)
    assert found.standing in (txns.Standing.HEALTHY, txns.Standing.SLOW)
    assert (found.standing is txns.Standing.SLOW) is (later > txns.LOOKS_MS)
    assert found.transactional_id == "kept"


@given(polled(), st.sampled_from(sorted(txns.DECIDED)), st.integers(0, 10 * MAX), st.booleans())
def test_what_is_decided_is_never_aborted(
    case: tuple[txns.OpenTransaction, txns.Transactions],
    state: str,
    later: int,
    named: bool,
) -> None:
    """kac never proposes to abort a transaction that its coordinator has decided, whatever its age, whether or not the
    coordinator still names the partition.
    """
    each, seen = case
    places = frozenset({PLACE}) if named else frozenset({("other", 0)})
    kept = txns.Transaction("kept", each.producer.id, state, 1, 0, MAX, NOW - MAX, places)
    others = {id_: t for id_, t in seen.transactions.items() if t.producer_id != each.producer.id}
    seen = replace(seen, transactions={**others, "kept": kept}, at_ms=NOW + later)
    found = txns.verdict(each, seen)
    assert found.standing is (txns.Standing.UNDELIVERED if later > txns.MARKERS_MS else txns.Standing.HEALTHY)
    assert "by itself" not in f"{found.why} {found.remedy}"
    report = stage(EMPTY, [EndTransaction(*PLACE, each.producer.id)], Snapshot(transactions={PLACE: seen}))
    assert not report.plan.staged
    (refused,) = report.refused
    assert "by itself" not in f"{refused.reason} {refused.remedy}"


@given(polled(), st.sampled_from(["CompleteCommit", "CompleteAbort", "Ongoing"]), st.integers(-MAX, MAX))
def test_what_its_producer_takes_as_committed_is_named_so(
    case: tuple[txns.OpenTransaction, txns.Transactions], state: str, began: int
) -> None:
    """If the coordinator has completed a commit, but a partition without a leader got no marker, the verdict on the
    hanging transaction and the warning say that its producer counts it as committed.
    """
    each, seen = case
    each = each._replace(confirmed=True, producer=replace(each.producer, last_timestamp=NOW - 2 * MAX))
    # Records may seem older than their transaction, by the difference of two clocks.
    start = NOW - 2 * MAX + began
    kept = txns.Transaction("kept", each.producer.id, state, 1, 0, MAX, start, frozenset())
    seen = replace(seen, transactions={"kept": kept}, open=(each,), gaps=())
    found = txns.verdict(each, seen)
    assert found.standing is txns.Standing.HANGS
    assert found.was_committed is (state == "CompleteCommit" and began <= txns.MARKERS_MS)
    assert ("Copy its records first" in found.remedy) is found.was_committed
    report = stage(EMPTY, [EndTransaction(*PLACE, each.producer.id)], Snapshot(transactions={PLACE: seen}))
    (warning,) = risks(report.plan.staged, Snapshot(transactions={PLACE: seen}))
    assert ("its producer was told that it is committed" in warning.text) is found.was_committed


@given(polled())
def test_what_is_unseen_is_possible_at_most(
    case: tuple[txns.OpenTransaction, txns.Transactions],
) -> None:
    each, seen = case
    unknown = {id_: t for id_, t in seen.transactions.items() if t.producer_id != each.producer.id}
    hidden = replace(seen, transactions=unknown, gaps=(GAP,))
    found = txns.verdict(each, hidden)
    assert found.standing in (txns.Standing.POSSIBLE, txns.Standing.YOUNG)
    if found.standing is txns.Standing.POSSIBLE and each.producer.last_timestamp <= NOW:
        assert found.remedy == GAP.remedy
    moved = txns.verdict(each._replace(confirmed=False), replace(seen, gaps=()))
    assert moved.standing is not txns.Standing.HANGS


@given(polled())
def test_only_what_hangs_is_staged(
    case: tuple[txns.OpenTransaction, txns.Transactions],
) -> None:
    each, seen = case
    snapshot = Snapshot(transactions={PLACE: seen})
    edit = EndTransaction(*PLACE, each.producer.id)
    report = stage(EMPTY, [edit], snapshot)
    hangs = txns.verdict(each, seen).standing is txns.Standing.HANGS
    assert bool(report.plan.staged) is hangs
    if hangs:
        assert report.plan.staged[0].was == txns.seen_transaction(*PLACE, each.producer.id, seen)
    else:
        (refused,) = report.refused
        assert isinstance(refused, Refusal)
        assert refused.reason
        assert refused.remedy
    other = stage(EMPTY, [EndTransaction(*PLACE, each.producer.id + 10)], snapshot)
    assert [type(dropped) for dropped in other.dropped] == [Dropped]


def test_what_was_not_looked_at_is_refused_and_says_why() -> None:
    edit = EndTransaction(*PLACE, 1)
    (refused,) = stage(EMPTY, [edit], Snapshot()).refused
    assert "were not read" in refused.reason
    denied = txns.Transactions(
        failures={PLACE: Failure("TOPIC_AUTHORIZATION_FAILED", "orders-3", "Grant READ.")}, at_ms=NOW
    )
    (refused,) = stage(EMPTY, [edit], Snapshot(transactions={PLACE: denied})).refused
    assert "can't be known" in refused.reason
    assert refused.remedy == "Grant READ."
    (row,) = transaction_rows(Snapshot(transactions={PLACE: denied}))
    assert row.word == "can't be known"


@given(polled(), st.integers(30, 120))
def test_a_row_for_each_open_transaction_and_its_details_fit(
    case: tuple[txns.OpenTransaction, txns.Transactions], width: int
) -> None:
    each, seen = case
    rows = transaction_rows(Snapshot(transactions={PLACE: seen}))
    mine = [row for row in rows if row.start_offset >= 0]
    assert [(row.place, row.producer_id) for row in mine] == [(PLACE, each.producer.id)]
    assert len({(row.place, row.producer_id) for row in rows}) == len(rows)
    for row in rows:
        for line in detail_lines(row, width):
            assert len(plain(line)) <= max(width, 42)


def test_a_partition_is_judged_by_the_poll_that_it_was_in() -> None:
    """kac judges a partition's transactions by the coordinators' answers in the poll that read it, not by those of a
    later poll of another partition.
    """
    each = txns.OpenTransaction(
        *PLACE, txns.Producer(1, 0, last_timestamp=NOW - 2 * MAX, start_offset=7), confirmed=True
    )
    known = txns.Transaction("a", 1, "Ongoing", 1, 0, MAX, NOW - 1000, frozenset({PLACE}))
    first = txns.Transactions({PLACE: txns.StableOffsets(7, 9)}, (each,), {"a": known}, at_ms=NOW)
    later = txns.Transactions({(T, 4): txns.StableOffsets(9, 9)}, (), {}, at_ms=NOW + 1000)
    rows = transaction_rows(Snapshot(transactions={PLACE: first, (T, 4): later}))
    assert [row.word for row in rows] == ["healthy"]


def test_producers_are_completed() -> None:
    """Completion proposes the partition's producers with open transactions, with the verdict on each."""
    each = txns.OpenTransaction(
        *PLACE, txns.Producer(4012, 0, last_timestamp=NOW - 2 * MAX, start_offset=7), confirmed=True
    )
    seen = txns.Transactions({PLACE: txns.StableOffsets(7, 9)}, (each,), at_ms=NOW)
    text = "abort transaction topic orders partition 3 producer "
    found = complete(text, len(text), Snapshot(transactions={PLACE: seen}))
    assert [(one.text, one.meta) for one in found] == [("4012", "hangs")]
    assert not complete(text, len(text), Snapshot())


def test_durations() -> None:
    assert [txns.minutes(ms) for ms in (0, 119_000, 120_000, 7_199_000, 7_200_000, 11_100_000)] == [
        "0 s",
        "119 s",
        "2 min",
        "119 min",
        "2 h",
        "3 h 5 min",
    ]
