"""Tests of the statement `watch`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.language.needs import needs
from console.language.verbs.watch import Watch
from console.model import watched
from console.model.parts import Part
from console.model.watched import Watched
from tests.language.said import one, refuses
from tests.language.strategies import reads_back

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12) | st.text(
    "ab*?[],", min_size=1
)
EXACT = st.builds(
    Watched, st.sampled_from([watched.TOPIC, watched.GROUP, watched.CONNECTOR, watched.SCHEMA]), NAMES, st.just(False)
)
NUMBERS = st.integers(0, 2**31 - 1).map(lambda number: Watched(watched.BROKER, str(number)))
PATTERNS = st.builds(
    lambda kind, name, sign: Watched(kind, f"{name}{sign}", is_pattern=True),
    st.sampled_from(watched.KINDS),
    st.text("ab.,- 'é", max_size=5),
    st.sampled_from(["*", "?", "[ab]", "*,", "?x", "*."]),
)
SUBJECTS = st.lists(EXACT | NUMBERS | PATTERNS, max_size=5, unique=True).map(tuple)


@given(SUBJECTS)
def test_what_is_written_reads_back(subjects):
    reads_back(Watch(subjects))


@given(st.text("abc-1", min_size=1).filter(lambda name: name not in watched.KINDS))
def test_a_set_reads_back(name):
    reads_back(Watch(set=name))


@pytest.mark.parametrize(
    "text",
    [
        "watch topic orders, group billing, connector pg",
        "watch topic orders group billing connector pg",
        "watch topic orders , group billing , connector pg",
        "watch topic 'orders', group bill'ing', connector \"pg\",",
        "watch topic orders, topic orders, group billing, connector pg",
    ],
)
def test_commas_part_subjects_and_may_be_left_out(text):
    assert one(text) == Watch((Watched("topic", "orders"), Watched("group", "billing"), Watched("connector", "pg")))


def test_a_quoted_comma_or_star_is_part_of_the_name():
    assert one("watch group 'a,', group 'b*', group c*").subjects == (
        Watched("group", "a,"),
        Watched("group", "b*"),
        Watched("group", "c*", is_pattern=True),
    )
    assert one("watch topic topic, group group").subjects == (Watched("topic", "topic"), Watched("group", "group"))


test_other_words_are_refused = refuses(
    "watch topic", "watch topic ,", "watch topic ''", "watch topic <default>", "watch broker x", "watch broker -1",
    "watch orders, billing", "watch topic a b", "watch user alice",
)  # fmt: skip


def test_what_it_needs():
    assert needs(one("watch topic a, topic b")).topics == {"a", "b"}
    assert needs(one("watch topic a, topic b*")).parts == {Part.TOPICS}
    found = needs(one("watch group a*b, group 'c*'"))
    assert (found.parts, found.lags_of, found.lag_times) == ({Part.GROUPS}, {("a*b",), ("c[*]",)}, True)
    assert needs(one("watch broker 1")).parts == {Part.CLUSTER, Part.TOPICS, Part.LOG_DIRS}
    assert needs(one("watch connector pg")).connectors
    assert needs(one("watch schema orders-value")).parts == {Part.SCHEMAS}
