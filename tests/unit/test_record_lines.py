"""The quick lines of JSON are those that are made field by field."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console.answers import record_forms
from console.model.records import BatchFacts, Encoding, Record
from console.present import records as present

CONTENTS = st.none() | st.binary(max_size=8) | st.text(max_size=8).map(lambda each: each.encode("utf-8", "replace"))
BATCHES = st.builds(
    BatchFacts,
    st.just(3),
    st.integers(-1, 5),
    st.integers(-1, 5),
    st.integers(-1, 5),
    st.sampled_from([-1, 0, 2**31 - 1]),
    st.sampled_from(["none", "zstd"]),
    st.booleans(),
    st.booleans(),
)
RECORDS = st.builds(
    Record,
    st.sampled_from(["t", 'a"b\x7f']),
    st.integers(0, 3),
    st.integers(3, 9),
    st.integers(-1, 2**40),
    CONTENTS,
    CONTENTS,
    st.just(()) | st.just(((b"h", b"x"),)),
    BATCHES,
    st.none() | st.just(Encoding("json", "s", 3)),
)


@given(st.lists(RECORDS, max_size=4))
def test_a_quick_line_is_the_whole_line(held: list[Record]) -> None:
    quick = record_forms.stream_form("jsonl", "", masked=False)
    assert quick(held) == [
        record_forms._json_line(present.record_data(present.RecordRow(each, "", False))) for each in held
    ]
