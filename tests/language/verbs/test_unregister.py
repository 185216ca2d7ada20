"""Tests of the statement `unregister broker`."""

from hypothesis import strategies as st

from console.language.interpret import command_of
from console.language.needs import needs
from console.language.snapshot_parts import Needs
from console.language.statements import OneEdit
from console.plan.kinds.registrations import RemoveRegistration
from tests.language.said import edits, one, wrong
from tests.language.strategies import read_back

test_what_is_written_reads_back = read_back(st.builds(RemoveRegistration, st.integers(0, 2**31 - 1)).map(OneEdit))


def test_edits_and_what_they_need():
    assert edits("unregister broker 4") == (RemoveRegistration(4),)
    assert command_of(RemoveRegistration(4)) == "unregister broker 4"
    assert wrong("unregister broker x").column == len("unregister broker ") + 1
    assert needs(one("unregister broker 4")) == Needs(frozenset({"cluster", "quorum", "topics"}))
