"""A Kafka release as clients see it: which APIs in which versions, which features, KRaft or ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Release:
    """What brokers of a release tell of themselves in ApiVersions.

    name: as in ``4.3``; kraft: whether a quorum controls it, ZooKeeper otherwise; apis: key -> lowest and highest
    version; supported: feature -> lowest and highest level; finalized: the levels of a cluster made anew.
    """

    name: str
    kraft: bool
    apis: Mapping[int, Range]
    supported: Mapping[str, Range] = field(default_factory=dict)
    finalized: Mapping[str, int] = field(default_factory=dict)

    @property
    def number(self) -> tuple[int, int]:
        """The name as numbers, to compare by: ``(4, 3)``."""
        major, _, minor = self.name.partition(".")
        return int(major), int(minor)


RELEASE_NAMES = ("2.8", "3.9", "4.3")


def release(name: str) -> Release:
    """The release of a name; ValueError for one that is not of RELEASE_NAMES."""
    from console.embedded.versions import kafka_2_8, kafka_3_9, kafka_4_3

    releases: tuple[Release, ...] = (kafka_2_8.RELEASE, kafka_3_9.RELEASE, kafka_4_3.RELEASE)
    known = {each.name: each for each in releases}
    if name not in known:
        raise ValueError(f"there is no Kafka {name} here, only {', '.join(RELEASE_NAMES)}")
    return known[name]
