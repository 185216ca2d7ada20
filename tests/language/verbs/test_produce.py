"""Tests of the statements `produce`, `tombstone` and `copy`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.language.needs import needs
from console.language.secret_values import redact
from console.language.statements import Asked, FromFile, Name
from console.language.verbs.produce import CopyRecords, NotTyped, Produce, again
from console.language.verbs.records import Bound, Records
from console.model.records import BatchFacts, Encoding, Record
from console.present.names import HIDDEN
from tests.language.said import one, refuses
from tests.language.strategies import read_back, reads_back

NAMES = st.text("abcdefghijklmnop.-_ '\"", min_size=1, max_size=12)
TEXTS = st.text(max_size=12)
GIVEN = TEXTS | st.just(Asked()) | st.builds(FromFile, NAMES)
HEADERS = st.lists(st.tuples(NAMES, TEXTS), max_size=2).map(tuple)
PARTITIONS = st.none() | st.integers(0, 99)
SUBJECTS = st.just("") | NAMES
TOPICS = st.builds(Name, NAMES)


test_what_is_written_reads_back = read_back(
    st.builds(
        Produce,
        topic=TOPICS,
        partition=PARTITIONS,
        key=st.none() | GIVEN,
        value=GIVEN,
        headers=HEADERS,
        key_schema=SUBJECTS,
        value_schema=SUBJECTS,
    )
    | st.builds(Produce, topic=TOPICS, partition=PARTITIONS, path=NAMES, key_schema=SUBJECTS, value_schema=SUBJECTS)
    | st.builds(Produce, topic=TOPICS, partition=PARTITIONS, key=GIVEN, headers=HEADERS, key_schema=SUBJECTS)
)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("copy records orders to topic b", Records(("orders",), limit=0)),
        ("copy records orders last 5 to topic b", Records(("orders",), start=Bound("last", "5"), limit=0)),
        (
            "copy records orders from start to offset 5 to topic b",
            Records(("orders",), start=Bound("start"), until=Bound("offset", "5"), limit=0),
        ),
        ("copy records a,b key k* limit 3 to topic b", Records(("a", "b"), key="k*", limit=3)),
    ],
)
def test_a_copy_has_the_options_of_records(text, source):
    found = one(text)
    assert found == CopyRecords(Name("b"), source=source)
    reads_back(found)


def test_what_it_needs():
    found = needs(one("tombstone topic orders key a"))
    assert (found.topics, found.log_ranges, found.users_of) == ({"orders"}, {"orders"}, {"orders"})


test_other_words_are_refused = refuses(
    "produce",
    "produce orders value a",
    "produce topic orders",
    "produce topic orders key a",
    "produce topic orders @f value a",
    "produce topic orders @f @g",
    "produce topic orders value a value b",
    "produce topic orders header a value b",
    "produce topic orders partition x value b",
    "tombstone topic orders",
    "tombstone topic orders key a value b",
    "copy records orders",
    "copy records orders follow to topic b",
    "copy records orders to topic b limit 3",
    "copy orders to topic b",
)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "produce topic key key 'a b' value c; list topics",
            f"produce topic key key {HIDDEN} value {HIDDEN}; list topics",
        ),
        ("tombstone topic orders key a", f"tombstone topic orders key {HIDDEN}"),
        ("produce topic orders key ? value @f", "produce topic orders key ? value @f"),
        ("records orders key a", "records orders key a"),
    ],
)
def test_a_history_has_no_contents(text, kept):
    assert redact(text) == kept


def record(key, value, headers=(), **encodings):
    return Record("orders", 3, 9, 1, key, value, headers, BatchFacts(9), **encodings)


@given(TEXTS.filter(str.isprintable), st.none() | TEXTS.filter(str.isprintable))
def test_a_record_is_written_again_where_it_was(key, value):
    found = again(record(key.encode(), None if value is None else value.encode(), ((b"a", b"b"),)))
    assert found == Produce(Name("orders"), 3, key=key, value=value, headers=(("a", "b"),))
    reads_back(found)


def test_a_decoded_value_is_written_by_its_subject():
    encoding = Encoding("avro", "orders-value version 2, id 7", 9)
    found = again(record(b"a", b'{"id":1}', value_encoding=encoding))
    assert (found.value, found.value_schema) == ('{"id":1}', "orders-value")


@pytest.mark.parametrize(
    "shown",
    [
        record(b"a", b"\xff"),
        record(b"a", b"a" * 3_000),
        record(b"a", b"\x1b[2J"),
        record(None, None),
        record(b"a", b"b", ((b"h", None),)),
        record(b"a", b"{}", value_encoding=Encoding("kafka", "offset commit 1", 3)),
        record(b"a", b"..", value_encoding=Encoding("", "id 7", 3, "404")),
    ],
)
def test_what_has_no_words_says_so(shown):
    with pytest.raises(NotTyped):
        again(shown)
