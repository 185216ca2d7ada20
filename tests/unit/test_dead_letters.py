"""The headers of dead letters, what is sent again, and the law of positions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console.model import dead_letters
from console.model.dead_letters import CONVENTIONS, Letter, Origin, Position, Redrive, Stays, Survey
from console.model.records import BatchFacts, Header, Record
from tests.support.dead_letters import TIMEOUT, spring

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
        Origin("Spring Kafka", "orders", 1, 6, TIMEOUT, message, "billing"),
        Origin("Spring Kafka, retry topics", "orders", 1, 8, "java.io.IOException"),
        Origin("Kafka Connect", "orders", 2, 41, "org.apache.kafka.connect.errors.DataException"),
        Origin("Kafka Streams", "orders", 1, 7, "java.lang.ClassCastException", "no"),
        Origin("share group", "orders", 0, 9, "Offset rejected by client.", "Offset rejected by client.", "workers"),
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
    kept = dead_letters.application_headers(headers)
    assert dead_letters.origin_of(record(*kept)) is None
    assert kept == tuple(each for each in headers if each in kept)


def addressed(one: Record, goal: Redrive = Redrive("dead"), *, is_chosen: bool = True) -> Letter | Stays:  # noqa: B008
    return dead_letters.addressed(one, goal, PARTITIONS, is_chosen=is_chosen)


def test_where_a_letter_goes() -> None:
    back = addressed(record((b"trace", b"t"), *spring("orders", 2, 6)))
    assert isinstance(back, Letter)
    assert (back.target, back.record.partition, back.record.headers) == ("orders", 2, ((b"trace", b"t"),))
    # A partition that the topic does not have, and another topic: that of the key.
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
    """However the letters are parted into transactions, and whichever of these are not committed and come again."""
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
            continue  # this transaction is aborted: neither its records nor its positions are there
        positions |= dead_letters.moved_on(positions, reached, batch, stayed)
        sent += [(each.partition, each.offset) for each in batch]
    assert sorted(sent) == sorted((one.partition, one.offset) for one, chosen, _ in letters if chosen)
    assert {number: each.offset for number, each in positions.items()} == ends
    assert sum(each.sent + each.stayed for each in positions.values()) == len(letters)
    assert sum(each.stayed for each in positions.values()) == sum(not chosen for _, chosen, _ in letters)


def test_a_survey_counts_by_topic_and_exception() -> None:
    found = Survey()
    for one in (record(*spring("orders"), at=7), record(*spring("orders"), offset=1, at=3), record(at=-1)):
        found.add(one, addressed(one), PARTITIONS)
    (orders, plain) = found.piles.values()
    assert (orders.count, orders.chosen, orders.first, orders.last, orders.example) == (2, 2, 3, 7, (0, 0))
    assert (plain.topic, plain.count, plain.chosen, plain.first) == ("", 1, 0, -1)
    assert found.failed == {"orders": {"billing"}}
    assert found.in_the_way == ("1 chosen letter without headers that name a topic",)


def test_a_survey_has_a_bound() -> None:
    found = Survey()
    for number in range(dead_letters.MOST_PILES + 50):
        one = record(*spring(f"topic-{number}"), offset=number)
        found.add(one, addressed(one), PARTITIONS)
    assert len(found.piles) == dead_letters.MOST_PILES + 1
    assert found.count == dead_letters.MOST_PILES + 50
