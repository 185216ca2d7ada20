"""Tests of the statements `schema` and `undelete schema`."""

from hypothesis import strategies as st

from console.language.needs import needs
from console.language.statements import FromFile
from console.language.verbs.schema import TYPES, Register, Undelete
from console.model.parts import Part
from console.model.subjects import SchemaReference
from tests.language.said import one, refuses
from tests.language.strategies import read_back

NAMES = st.text("abcdefghijklmnop.-_ '\"", min_size=1, max_size=12)
TEXT = '{"type": "record", "name": "Order", "fields": []}'
# A blank separates references, so a name does not begin with one.
REFERENCES = st.lists(
    st.builds(SchemaReference, NAMES.filter(lambda name: name[0] != " "), NAMES, st.integers(1, 99)), max_size=2
).map(tuple)


test_what_is_written_reads_back = read_back(
    st.builds(
        Register,
        NAMES,
        st.sampled_from([TEXT, "message M { int32 a = 1; }", FromFile("orders value.avsc")]),
        st.sampled_from(["", *TYPES]),
        REFERENCES,
    )
)


test_what_is_undeleted_reads_back = read_back(st.builds(Undelete, NAMES, st.none() | st.integers(1, 99)))


def test_what_it_needs():
    found = needs(one(f"schema orders-value '{TEXT}' references=money:money-value:2"))
    assert found.parts == {Part.SCHEMAS}
    assert found.schema_texts == {"orders-value", "money-value"}


test_other_words_are_refused = refuses(
    "schema",
    "schema orders-value",
    "schema orders-value @",
    f"schema orders-value '{TEXT}' type=XML",
    f"schema orders-value '{TEXT}' references=money",
    f"schema orders-value '{TEXT}' type=AVRO type=AVRO",
    "undelete schema",
    "undelete topic orders",
    "undelete schema orders-value version x",
)
