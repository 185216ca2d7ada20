"""Tests of the statement `feature set`."""

from hypothesis import strategies as st

from console.language.interpret import command_of
from console.language.needs import needs
from console.language.snapshot_parts import Needs
from console.language.verbs.feature import FeatureSet
from console.model.codes import BROKER
from console.plan.edits import SetFeature
from tests.language.said import edits, one, wrong
from tests.language.strategies import NAMES, read_back

test_what_is_written_reads_back = read_back(
    st.builds(
        FeatureSet,
        st.dictionaries(NAMES, st.integers(0, 2**15 - 1), min_size=1, max_size=3).map(
            lambda found: tuple(found.items())
        ),
    )
)


def test_edits_and_what_they_need():
    assert edits("feature set a=1 b=2") == (SetFeature("a", 1), SetFeature("b", 2))
    assert command_of(SetFeature("a", 1)) == "feature set a=1"
    assert "given twice" in wrong("feature set a=1 a=2").message
    assert needs(one("feature set group.version=1")) == Needs(frozenset({"features"}))
    assert needs(one("feature set eligible.leader.replicas.version=1")).every == {BROKER}
