"""Brokers of releases that the embedded cluster does not imitate: the versions of the APIs that they have.

``python -m tests.support.older_brokers [RELEASE …]`` asks real brokers, all of them without arguments, and writes
`older_brokers.json`. An embedded cluster with such a profile is a server that lacks what the older release lacks; its
answers are those of the oldest release that is imitated.
"""

import asyncio
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from console.embedded import spec
from console.embedded.profiles import without_features
from console.wire.schemas import api_name
from tests.support.kafka_jars import RELEASES

FILE = Path(__file__).with_suffix(".json")
OLDER = tuple(name for name in RELEASES if name not in spec.RELEASE_NAMES)
"""The releases that only real brokers speak."""


@cache
def known_release(name: str) -> spec.Release:
    """A release as clients see it, imitated or not."""
    return (
        spec.release(name) if name in spec.RELEASE_NAMES else spec.read_releases(FILE.read_text(encoding="utf-8"))[name]
    )


def without_quorum(name: str) -> spec.Profile:
    """A server with the APIs of a release before KRaft, and therefore without features."""
    apis = known_release(name).apis
    return spec.Profile(
        release=spec.RELEASE_NAMES[0],
        apis={api: versions for key, versions in apis.items() if (api := api_name(key))},
        unserved={key: versions for key, versions in apis.items() if api_name(key) is None},
        answers={"api_versions": without_features},
    )


KAFKA_2_8 = without_quorum("2.8")


def like(name: str, **more: Any) -> spec.ClusterSpec:
    """A cluster like one of this release: imitated, or, for 2.8, with its APIs and a controller that is asked itself.

    more: what else there is to specify.
    """
    if name == "2.8":
        return spec.ClusterSpec(profile=KAFKA_2_8, forwarding=False, **more)
    return spec.ClusterSpec(versions=name, **more)


def main() -> int:
    """Write the releases that are named."""
    from tests.support.record_config_definitions import as_told, releases_text
    from tests.support.versions import cluster_of

    told = json.loads(FILE.read_text(encoding="utf-8"))
    for name in sys.argv[1:] or OLDER:
        with cluster_of(name) as running:
            told[name] = asyncio.run(as_told(running))
        FILE.write_text(releases_text({each: told[each] for each in OLDER if each in told}))
    print(FILE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
