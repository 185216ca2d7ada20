"""Tests that kac derives a broker's release from its API versions and features, for brokers of each release."""

import pytest

from console.model.releases import release_of

# The highest versions of brokers in ZooKeeper mode, by release, for the APIs that distinguish neighbouring releases.
ZOOKEEPER = {
    "2.3": {3: 8, 44: 0},
    "2.4": {3: 9, 44: 1, 45: 0},
    "2.6": {3: 9, 29: 2, 32: 3, 48: 0},
    "2.7": {1: 12, 3: 9, 48: 0, 50: 0},
    "2.8": {1: 12, 3: 11, 32: 4, 48: 1, 50: 0, 60: 0},
    "3.0": {1: 12, 3: 11, 10: 4, 60: 0, 65: 0},
    "3.1": {1: 13, 3: 12, 60: 0, 65: 0},
    "3.2": {1: 13, 3: 12, 4: 6, 35: 3, 65: 0},
    "3.3": {1: 13, 3: 12, 4: 6, 35: 4, 65: 0},
    "3.4": {1: 13, 3: 12, 4: 7, 35: 4, 65: 0},
    "3.5": {1: 15, 2: 8, 4: 7, 24: 3, 35: 4},
    "3.6": {1: 15, 2: 8, 4: 7, 24: 4, 35: 4},
    "3.7": {1: 16, 2: 8, 16: 4, 24: 4, 60: 1},
    "3.8": {1: 16, 2: 8, 16: 5, 24: 5, 60: 1},
    "3.9": {1: 17, 2: 9, 16: 5, 24: 5, 60: 1},
}


@pytest.mark.parametrize(("release", "highest"), ZOOKEEPER.items())
def test_in_zookeeper_mode_the_apis_tell(release: str, highest: dict[int, int]) -> None:
    assert release_of({key: (0, version) for key, version in highest.items()}, {}) == release


LEVELS = {
    1: "3.0",
    7: "3.3",
    8: "3.4",
    14: "3.6",
    19: "3.7",
    20: "3.8",
    21: "3.9",
    25: "4.0",
    26: "4.1",
    29: "4.2",
    30: "4.3",
    31: "4.4",
    33: "4.4",
}


@pytest.mark.parametrize(("level", "release"), [*LEVELS.items(), (34, "≥ 4.4"), (99, "≥ 4.4")])
def test_in_kraft_mode_the_highest_metadata_version_tells(level: int, release: str) -> None:
    """In KRaft mode the highest supported metadata.version decides the release, even if the API versions contradict
    it. They may contradict it on brokers of other vendors.
    """
    assert release_of({35: (0, 5)}, {"metadata.version": (1, level)}) == release


def test_older_than_anything_known() -> None:
    assert release_of({3: (0, 5)}, {}) == "< 2.0"
    assert release_of({}, {}) == "< 2.0"
