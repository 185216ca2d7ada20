"""`unregister broker`."""

from hypothesis import given
from hypothesis import strategies as st

from console.language.interpret import command_of
from console.language.needs import needs
from console.language.snapshot_parts import Needs
from console.language.statements import OneEdit
from console.plan.kinds.registrations import RemoveRegistration
from tests.language.said import edits, one, wrong
from tests.language.strategies import reads_back

statements = st.builds(RemoveRegistration, st.integers(0, 2**31 - 1)).map(OneEdit)


@given(statements)
def test_what_is_written_reads_back(statement):
    reads_back(statement)


def test_edits():
    assert edits("unregister broker 4") == (RemoveRegistration(4),)
    assert command_of(RemoveRegistration(4)) == "unregister broker 4"
    assert wrong("unregister broker x").column == len("unregister broker ") + 1


def test_what_it_needs():
    assert needs(one("unregister broker 4")) == Needs(frozenset({"cluster", "quorum", "topics"}))
