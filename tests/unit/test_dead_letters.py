"""Tests of dead letters: their headers, the records that are sent again, and the committed positions of a redrive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model import dead_letters
from console.model.dead_letters import CONVENTIONS, Letter, Origin, Position, Redrive, Stays, Survey
from console.model.record_conditions import condition
from console.model.records import BatchFacts, Header, Record
from tests.support.dead_letters import TIMEOUT, spring

DATA, REJECTED = "org.apache.kafka.connect.errors.DataException", "Offset rejected by client."
PARTITIONS = {"orders": 3, "others": 1}
CONNECT = (
    (b"__connect.errors.topic", b"orders"),
    (b"__connect.errors.partition", b"2"),
    (b"__connect.errors.offset", b"41"),
    (b"__connect.errors.connector.name", b"sink"),
    (b"__connect.errors.exception.class.name", b"org.apache.kafka.connect.errors.DataException"),
    (b"__connect.errors.exception.message", None),
)
STREAMS = (
    (b"__streams.errors.exception", b"java.lang.ClassCastException"),
    (b"__streams.errors.message", b"no"),
    (b"__streams.errors.topic", b"orders"),
    (b"__streams.errors.partition", b"1"),
    (b"__streams.errors.offset", b"7"),
)
SHARE = (
    (b"__dlq.errors.topic", b"orders"),
    (b"__dlq.errors.partition", b"0"),
    (b"__dlq.errors.offset", b"9"),
    (b"__dlq.errors.group", b"workers"),
    (b"__dlq.errors.delivery.count", b"5"),
    (b"__dlq.errors.message", b"Offset rejected by client."),
)
RETRY = (
    (b"kafka_original-topic", b"orders"),
    (b"kafka_original-partition", (1).to_bytes(4)),
    (b"kafka_original-offset", (8).to_bytes(8)),
    (b"kafka_exception-cause-fqcn", b"java.io.IOException"),
    (b"retry_topic-attempts", (3).to_bytes(4)),
)


def record(*headers: Header, partition: int = 0, offset: int = 0, value: bytes | None = b"v", at: int = 5) -> Record:
    key = None if value is None else b"k"
    return Record("dead", partition, offset, at, key, value, headers, BatchFacts(offset))


def test_each_convention_is_read() -> None:
    found = [dead_letters.origin_of(record(*each)) for each in (spring("orders", 1, 6), RETRY, CONNECT, STREAMS, SHARE)]
    message = "Listener failed; nested exception"
    assert found == [
        Origin("Spring Kafka", "orders", 1, 6, TIMEOUT, message, "billing", b"kafka_dlt-exception-cause-fqcn"),
        Origin("Spring Kafka, retry topics", "orders", 1, 8, "java.io.IOException", by=b"kafka_exception-cause-fqcn"),
        Origin("Kafka Connect", "orders", 2, 41, DATA, by=b"__connect.errors.exception.class.name"),
        Origin("Kafka Streams", "orders", 1, 7, "java.lang.ClassCastException", "no", by=b"__streams.errors.exception"),
        Origin("share group", "orders", 0, 9, REJECTED, REJECTED, "workers", b"__dlq.errors.message"),
    ]
    assert dead_letters.origin_of(record((b"trace", b"t-1"))) is None


HEADERS = st.lists(
    st.tuples(
        st.sampled_from(
            [name for each in CONVENTIONS for name in (each.topic, each.partition, each.offset, each.message) if name]
        )
        | st.binary(max_size=8),
        st.none() | st.binary(max_size=12),
    ),
    max_size=8,
).map(tuple)


@given(HEADERS)
def test_any_headers_are_read_and_only_the_applications_stay(headers: tuple[Header, ...]) -> None:
    origin = dead_letters.origin_of(record(*headers))
    assert origin is None or (origin.topic and origin.partition >= -(2**31) and origin.offset >= -(2**63))
    kept = dead_letters.application_headers(headers, origin)
    left = dead_letters.origin_of(record(*kept))
    assert kept == tuple(each for each in headers if each in kept)
    if origin is None or origin.convention != dead_letters.PASSED_OVER:
        assert left is None
    else:  # a record that was passed over may have been a letter of another tool
        assert left is None or left.convention != dead_letters.PASSED_OVER
        assert kept == tuple(each for each in headers if not each[0].startswith(b"kac.passed-over."))


def addressed(one: Record, goal: Redrive = Redrive("dead"), *, is_chosen: bool = True) -> Letter | Stays:  # noqa: B008
    return dead_letters.addressed(one, goal, PARTITIONS, is_chosen=is_chosen)


def test_where_a_letter_goes() -> None:
    back = addressed(record((b"trace", b"t"), *spring("orders", 2, 6)))
    assert isinstance(back, Letter)
    assert (back.target, back.record.partition, back.record.headers) == ("orders", 2, ((b"trace", b"t"),))
    # If the topic lacks the partition, or is another one, the key decides.
    for one, goal in ((spring("orders", 7), Redrive("dead")), (spring("orders", 2), Redrive("dead", to="others"))):
        elsewhere = addressed(record(*one), goal)
        assert isinstance(elsewhere, Letter)
        assert elsewhere.record.partition is None


def test_why_a_letter_stays() -> None:
    assert addressed(record(*spring("orders")), is_chosen=False) is Stays.NOT_CHOSEN
    assert addressed(record()) is Stays.NO_ORIGIN
    assert addressed(record(*spring("gone"))) is Stays.NO_TOPIC
    assert addressed(record(*spring("dead"))) is Stays.ITSELF
    assert addressed(record(*SHARE, value=None)) is Stays.NO_CONTENTS
    assert isinstance(addressed(record(*spring("orders"), value=None)), Letter)
    assert addressed(record((b"\xff", b""), *spring("orders"))) is Stays.BAD_HEADER
    assert isinstance(addressed(record(), Redrive("dead", to="orders")), Letter)
    unseen = {"orders": dead_letters.UNSEEN}
    assert dead_letters.addressed(record(*spring("orders")), Redrive("dead"), unseen, is_chosen=True) is Stays.UNSEEN


@given(st.integers(0, 2**62), st.integers(0, 2**40), st.integers(0, 2**40))
def test_a_position_is_read_back(offset: int, sent: int, stayed: int) -> None:
    position = Position(offset, sent, stayed)
    assert dead_letters.position_of(offset, position.metadata) == position


@given(st.integers(0, 2**62), st.text(max_size=40))
def test_other_metadata_has_no_counts_or_some(offset: int, metadata: str) -> None:
    found = dead_letters.position_of(offset, metadata)
    assert found.offset == offset
    assert min(found.sent, found.stayed) >= 0


@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.booleans()), max_size=60),
    st.sets(st.integers(0, 60), max_size=6),
)
def test_every_letter_is_sent_once_and_passed_or_stays(written: list[tuple[int, bool, bool]], parts: set[int]) -> None:
    """Each chosen letter is sent exactly once, and the position passes every letter, counted as sent or as not
    chosen. This holds however the letters are divided into transactions, also if a transaction is aborted and
    repeated.
    """
    letters, ends = [], dict.fromkeys(range(3), 0)
    for number, chosen, lost in written:
        letters.append((record(*spring("orders", number), partition=number, offset=ends[number]), chosen, lost))
        ends[number] += 1
    positions = dict.fromkeys(ends, Position(0))
    sent: list[tuple[int, int]] = []
    for attempt in range(len(letters) + 1):
        batch: list[Letter] = []
        stayed: dict[int, int] = {}
        reached: dict[int, int] = {}
        left = [each for each in letters if each[0].offset >= positions[each[0].partition].offset]
        if not left:
            break
        for at, (one, chosen, _) in enumerate(left):
            what = addressed(one, is_chosen=chosen)
            reached[one.partition] = one.offset + 1
            if isinstance(what, Letter):
                batch.append(what)
            else:
                stayed[one.partition] = stayed.get(one.partition, 0) + 1
            if at in parts:
                break
        if left[0][2] and attempt == 0:
            continue  # the transaction is aborted, with its records and positions
        positions |= dead_letters.moved_on(positions, reached, batch, stayed)
        sent += [(each.partition, each.offset) for each in batch]
    assert sorted(sent) == sorted((one.partition, one.offset) for one, chosen, _ in letters if chosen)
    assert {number: each.offset for number, each in positions.items()} == ends
    assert sum(each.sent + each.stayed for each in positions.values()) == len(letters)
    assert sum(each.stayed for each in positions.values()) == sum(not chosen for _, chosen, _ in letters)


def test_a_survey_counts_by_topic_and_exception_and_has_a_bound() -> None:
    found = Survey()
    for one in (record(*spring("orders"), at=7), record(*spring("orders"), offset=1, at=3), record(at=-1)):
        found.add(one, addressed(one), PARTITIONS)
    (orders, plain) = found.piles.values()
    assert (orders.count, orders.chosen, orders.first, orders.last, orders.example) == (2, 2, 3, 7, (0, 0))
    assert (plain.topic, plain.count, plain.chosen, plain.first) == ("", 1, 0, -1)
    assert found.failed == {"orders": {"billing"}}
    assert found.in_the_way == ("1 chosen letter without headers that name a topic",)
    found = Survey()
    for number in range(dead_letters.MOST_PILES + 50):
        one = record(*spring(f"topic-{number}"), offset=number)
        found.add(one, addressed(one), PARTITIONS)
    assert len(found.piles) == dead_letters.MOST_PILES + 1
    assert found.count == dead_letters.MOST_PILES + 50


def test_a_letter_of_a_record_that_is_passed_over_is_read_and_comes_back_as_it_was() -> None:
    lost = record((b"trace", b"t-1"), *RETRY, partition=1, offset=8, at=77)
    made = dead_letters.letter_of(lost, "billing")
    assert (made.key, made.value, made.partition) == (lost.key, lost.value, None)
    letter = record(*made.headers)
    why = "skipped by group billing"
    assert dead_letters.origin_of(letter) == Origin(
        "kac", "dead", 1, 8, why, why, "billing", b"kac.passed-over.message"
    )
    assert dict(letter.headers)[b"kac.passed-over.timestamp"] == b"77"
    again = dead_letters.letter_of(letter, None)  # a letter made of a letter names the last place
    assert dead_letters.origin_of(record(*again.headers)) == Origin(
        "kac", "dead", 0, 0, "deleted", "deleted", by=b"kac.passed-over.message"
    )
    origin = dead_letters.origin_of(record(*again.headers))
    assert dead_letters.application_headers(again.headers, origin) == lost.headers
    back = dead_letters.addressed(letter, Redrive("passed"), {"dead": 2}, is_chosen=True)
    assert isinstance(back, Letter)
    assert (back.target, back.record.partition, back.record.headers) == ("dead", 1, lost.headers)


NOW = 1_790_000_040_000
AGES = st.sampled_from([-1, 0, *(NOW - each for each in (-9, 0, 1, 3_600_000, 3_600_001, 86_400_000, 10**9)), 2**62])
NAMED = st.lists(
    st.tuples(
        st.sampled_from([name for each in CONVENTIONS for name in (each.topic, *each.told_by)]),
        st.none() | st.sampled_from([b"", b"a", b"b", b'"\\\n', b"\xff", "\u00e9\U0001f600".encode(), b"x" * 301]),
    ),
    max_size=6,
).map(tuple)


@given(st.lists(st.tuples(NAMED, AGES), min_size=1, max_size=6))
def test_the_condition_of_a_row_holds_for_its_letters_alone(written: list[tuple[tuple[Header, ...], int]]) -> None:
    letters = [record(*headers, offset=offset, at=at) for offset, (headers, at) in enumerate(written)]
    found = Survey(NOW)
    piles = {}
    for letter in letters:
        before = {place: pile.count for place, pile in found.piles.items()}
        found.add(letter, addressed(letter), PARTITIONS)
        (piles[letter.offset],) = [place for place, each in found.piles.items() if each.count != before.get(place)]
    for place, pile in found.piles.items():
        text = dead_letters.condition_of(pile, found)
        assert [each.offset for each in letters if not text or condition(text).holds(each)] == [
            offset for offset, its in piles.items() if its == place
        ]


def test_a_row_of_many_kinds_has_no_condition() -> None:
    with pytest.raises(ValueError, match="many kinds"):
        dead_letters.condition_of(dead_letters.Pile(dead_letters.MORE, dead_letters.MORE), Survey())
