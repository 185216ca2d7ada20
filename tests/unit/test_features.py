"""Tests of feature levels: those that can't be lowered again, those that all nodes support, and the quorum's rows."""

from hypothesis import given
from hypothesis import strategies as st

from console.model import feature_levels
from console.model.cluster import ClusterFeatures, NodeFeatures, Quorum, QuorumReplica, VoterEndpoint
from console.model.failure import Failure
from console.model.releases import release_of
from console.model.snapshot import Snapshot
from console.present.features import FeatureRow, by_range, feature_lines, feature_rows, unasked
from console.present.quorum import QUORUM, quorum_rows
from console.present.text import plain

levels = st.integers(1, max(feature_levels.feature_levels()[feature_levels.METADATA_VERSION]))
ranges = st.none() | st.tuples(st.integers(0, 5), st.integers(0, 9)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(levels)
def test_the_release_of_a_level_is_the_one_in_its_name(level: int) -> None:
    shown = release_of({}, {feature_levels.METADATA_VERSION: (1, level)})
    assert feature_levels.level_name(feature_levels.METADATA_VERSION, level).startswith(f"{shown}-IV")


@given(levels, levels, levels)
def test_what_cannot_be_lowered_to_a_level_cannot_be_lowered_below_it(one: int, two: int, three: int) -> None:
    low, middle, high = sorted((one, two, three))
    if feature_levels.why_no_way_back(feature_levels.METADATA_VERSION, middle, high):
        assert feature_levels.why_no_way_back(feature_levels.METADATA_VERSION, low, high)
    assert not feature_levels.why_no_way_back(feature_levels.METADATA_VERSION, high, high)


def test_which_levels_have_no_way_back() -> None:
    assert "4.0-IV1" in feature_levels.why_no_way_back(feature_levels.METADATA_VERSION, 22, 25)
    assert not feature_levels.why_no_way_back(feature_levels.METADATA_VERSION, 23, 29)
    assert feature_levels.why_no_way_back(feature_levels.KRAFT_VERSION, 0, 1)
    assert not feature_levels.why_no_way_back("transaction.version", 0, 2)
    last = max(feature_levels.feature_levels()[feature_levels.METADATA_VERSION])  # later ones are unknown
    assert "changed the format" in feature_levels.why_no_way_back(feature_levels.METADATA_VERSION, last, last + 1)


@given(
    st.sampled_from([*feature_levels.feature_levels(), feature_levels.KRAFT_VERSION, "of.a.newer.release"]),
    st.integers(0, 40),
    ranges,
)
def test_every_feature_can_be_told_about(name: str, level: int, supported: tuple[int, int] | None) -> None:
    first, *lines = map(plain, feature_lines(FeatureRow(name, level, {1: supported})))
    assert first.startswith(f"{name}  level {level}" if level else f"{name}  off")
    assert any(line.startswith("Lowered") for line in lines) == bool(level)


def test_what_a_level_needs_of_others() -> None:
    elr = "eligible.leader.replicas.version"
    assert feature_levels.missing_needs(elr, 1, {feature_levels.METADATA_VERSION: 22}) == (
        (feature_levels.METADATA_VERSION, 23),
    )
    assert feature_levels.missing_needs(elr, 1, {feature_levels.METADATA_VERSION: 23}) == ()
    assert feature_levels.missing_needs("of a newer release", 9, {}) == ()


@given(levels, levels)
def test_what_is_brought_is_between_the_levels(one: int, two: int) -> None:
    low, high = sorted((one, two))
    found = [level for level, _ in feature_levels.brings(feature_levels.METADATA_VERSION, low, high)]
    assert found == sorted(found)
    assert all(low < level <= high for level in found)


@given(st.dictionaries(st.integers(1, 9), ranges, min_size=1))
def test_common_levels_are_those_that_every_node_supports(supported: dict[int, tuple[int, int] | None]) -> None:
    row = FeatureRow("f", 0, supported)
    for level in range(1, 16):
        by_all = all(each is not None and each[0] <= level <= each[1] for each in supported.values())
        common = row.common is not None and row.common[0] <= level <= row.common[1]
        assert by_all == common
    assert row.differs == (" on " in by_range(supported))


def test_nodes_that_were_not_asked_do_not_count() -> None:
    lost = NodeFeatures(9, "controller:1", controller=True, failure=Failure("TIMED_OUT", "no answer", ""))
    nodes = (NodeFeatures(1, "b:1", supported={"f": (1, 3)}), NodeFeatures(2, "b:2", supported={"g": (0, 1)}), lost)
    snapshot = Snapshot(features=ClusterFeatures({"f": 2}, nodes, 5))
    rows = feature_rows(snapshot, edited=("g",))
    assert [(row.name, row.level, row.supported, row.edited) for row in rows] == [
        ("f", 2, {1: (1, 3), 2: None}, False),
        ("g", 0, {1: None, 2: (0, 1)}, True),
    ]
    assert unasked(snapshot.features) == (lost,)
    assert by_range(rows[0].supported) == "– on 2; 1–3 on 1"


def test_the_leader_of_the_quorum_comes_first() -> None:
    quorum = Quorum(
        2,
        7,
        90,
        (QuorumReplica(1, 80, 20, 1_700_000_000_000, 10**18, "AAAA"), QuorumReplica(2, 100, 0)),
        (QuorumReplica(3, -1, -1),),
        (VoterEndpoint(1, "CONTROLLER", "c1", 9093), VoterEndpoint(3, "CONTROLLER", "c3", 9093)),
    )
    rows = quorum_rows(Snapshot(quorum=quorum))
    assert [(row.role, row.replica.id, row.endpoint) for row in rows] == [
        ("leader", 2, ""),
        ("voter", 1, "CONTROLLER c1:9093"),
        ("observer", 3, ""),
    ]
    assert QUORUM.data(rows[0])["epoch"] == 7
    assert QUORUM.data(rows[1]) == {
        "role": "voter",
        "node": 1,
        "epoch": None,
        "log_end_offset": 80,
        "lag": 20,
        "last_fetch": "2023-11-14T22:13:20.000+00:00",
        "last_caught_up": None,  # later than the last date of a calendar
        "directory_id": "AAAA",
        "endpoint": "CONTROLLER c1:9093",
        "note": None,
    }
    assert quorum_rows(Snapshot()) == []
