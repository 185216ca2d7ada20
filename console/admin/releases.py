"""Which Kafka release a broker is, from what its ApiVersions answer says; brokers never tell it outright."""

from __future__ import annotations

from collections.abc import Mapping

METADATA_VERSION = "metadata.version"

# The first feature level of each release (org.apache.kafka.server.common.MetadataVersion), newest first.
_METADATA_VERSIONS = (
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
_LAST_LEVEL = 30

# An (API key, version) that each release was the first to have (ApiMessageType of the releases), newest first.
# For brokers that name no metadata version: all those in ZooKeeper mode, and brokers that are not Apache's.
_FIRST_WITH = (
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


def release_of(apis: Mapping[int, tuple[int, int]], supported_features: Mapping[str, tuple[int, int]]) -> str:
    """``3.9``, ``≥ 4.3`` for one newer than all that are known here, ``< 2.0`` for one older."""
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
