"""Tests of the statement `whose topic`."""

from hypothesis import strategies as st

from console.language.needs import needs
from console.language.verbs.whose import Whose
from console.model.parts import Part
from tests.language.said import one, refuses
from tests.language.strategies import read_back, topic_names

test_what_is_written_reads_back = read_back(st.builds(Whose, topic_names))


def test_what_it_needs():
    found = needs(one("whose topic a"))
    assert (found.topics, found.users_of, found.schemas_in) == ({"a"}, {"a"}, {"a"})
    assert found.parts == {Part.CONNECT, Part.GROUPS, Part.ACLS, Part.SCHEMAS}


test_other_words_are_refused = refuses("whose", "whose topic", "whose group billing", "whose topic a b")
