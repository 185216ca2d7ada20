"""The Kafka release of a server, and its metadata storage, derived from its API versions and features. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from console.model.numbers import long_number

Apis = Mapping[int, tuple[int, int]]
"""API key -> (lowest, highest version), as in ApiVersions."""

# The release of a broker, derived from its ApiVersions response, as brokers do not report it.

METADATA_VERSION = "metadata.version"

# The first feature level of each release (org.apache.kafka.server.common.MetadataVersion), the newest first.
_METADATA_VERSIONS = (
    (31, "4.4"),
    (30, "4.3"),
    (28, "4.2"),
    (26, "4.1"),
    (22, "4.0"),
    (21, "3.9"),
    (20, "3.8"),
    (15, "3.7"),
    (12, "3.6"),
    (9, "3.5"),
    (8, "3.4"),
    (4, "3.3"),
    (3, "3.2"),
    (2, "3.1"),
    (1, "3.0"),
)
_LAST_LEVEL = 33

# Pairs (API key, version) that a release was the first to have (ApiMessageType of the releases), the newest first. Used
# for brokers without a metadata version: those in ZooKeeper mode, and servers other than Apache Kafka.
_FIRST_WITH = (
    ((18, 5), "4.4"),
    ((35, 5), "4.3"),
    ((2, 11), "4.2"),
    ((45, 1), "4.1"),
    ((3, 13), "4.0"),
    ((2, 9), "3.9"),
    ((16, 5), "3.8"),
    ((60, 1), "3.7"),
    ((24, 4), "3.6"),
    ((1, 15), "3.5"),
    ((4, 7), "3.4"),
    ((35, 4), "3.3"),
    ((35, 3), "3.2"),
    ((3, 12), "3.1"),
    ((65, 0), "3.0"),
    ((60, 0), "2.8"),
    ((50, 0), "2.7"),
    ((48, 0), "2.6"),
    ((29, 2), "2.5"),
    ((45, 0), "2.4"),
    ((44, 0), "2.3"),
    ((43, 0), "2.2"),
    ((1, 10), "2.1"),
    ((32, 2), "2.0"),
)


def release_of(apis: Apis, supported_features: Mapping[str, tuple[int, int]]) -> str:
    """Return the release that a broker's API versions and features show, as ``3.9``; ``≥ 4.4`` for one newer than all
    known releases, ``< 2.0`` for one older than all.
    """
    level = supported_features.get(METADATA_VERSION, (0, 0))[1]
    if level > _LAST_LEVEL:
        return f"≥ {_METADATA_VERSIONS[0][1]}"
    for first, release in _METADATA_VERSIONS:
        if level >= first:
            return release
    for (key, version), release in _FIRST_WITH:
        if apis.get(key, (0, -1))[1] >= version:
            return release
    return f"< {_FIRST_WITH[-1][1]}"


_HOST_RANGES_FROM = 32


def takes_host_ranges(features: Iterable[Mapping[str, tuple[int, int]]]) -> bool:
    """Return whether a cluster accepts a range of addresses as the host of an ACL (from metadata.version 4.4-IV1 on):
    every broker with known features supports that version. False if no broker reported its features.

    Args:
        features: for each broker, the name of a feature -> (lowest, highest level).
    """
    levels = [each.get(METADATA_VERSION, (0, 0))[1] for each in features]
    return bool(levels) and min(levels) >= _HOST_RANGES_FROM


_ADMINISTRATION = (
    # A release, and APIs that all brokers of Kafka have had since, in either mode. Other servers lack some of these.
    ("2.0", (15, 16, 19, 20, 29, 30, 31, 32, 33, 34, 35, 37, 42)),
    ("2.2", (43,)),
    ("2.3", (44,)),
    ("2.4", (45, 46, 47)),
    ("2.6", (48, 49)),
    ("2.8", (60, 61)),
    ("3.0", (65, 66)),
)
_OF_ZOOKEEPER = frozenset({4, 6})
"""The API keys of LeaderAndIsr and UpdateMetadata, requests that a controller sends to brokers in ZooKeeper mode only.
"""


def proven_release(apis: Apis, supported_features: Mapping[str, tuple[int, int]]) -> str:
    """Return the release of a broker if it is surely Apache Kafka's; ``""`` for other servers, whose API versions prove
    no release.

    A broker is surely Apache Kafka's if it has a metadata version, or all administrative APIs of the release that its
    API versions show.
    """
    release = release_of(apis, supported_features)
    if METADATA_VERSION in supported_features:
        return release
    number = release_number(release)
    needed = {key for since, keys in _ADMINISTRATION if release_number(since) <= number for key in keys}
    return release if needed and needed <= apis.keys() else ""


def likely_release(apis: Apis, supported_features: Mapping[str, tuple[int, int]]) -> str:
    """Return the release if it is surely Apache Kafka's, else the nearest release with a tilde, as ``~2.1``."""
    return proven_release(apis, supported_features) or f"~{release_of(apis, supported_features).lstrip('≥< ')}"


def release_number(text: str) -> tuple[int, ...]:
    """Return the numbers of a release, for comparisons: ``(2, 7)`` for ``2.7, in KRaft mode 3.5``; ``(1,)`` for ``<
    2.0``.
    """
    if text.startswith("<"):
        return (1,)
    numbers = (long_number(part) for part in text.lstrip("≥~ ").partition(" ")[0].rstrip(",").split("."))
    return tuple(number for number in numbers if number is not None)


def runs_on_zookeeper(apis: Apis) -> bool:
    """Return whether a broker's APIs show that its cluster keeps metadata in ZooKeeper."""
    return apis.keys() >= _OF_ZOOKEEPER
