"""The API versions of brokers of older releases, for which the embedded cluster has no data of its own.

``python -m tests.support.older_brokers [RELEASE …]`` asks real brokers of these releases, by default of all, and writes
`older_brokers.json`. An embedded cluster with such a profile lacks the APIs that the older release lacks; apart from
that it answers like the oldest release for which it has data.
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
"""The supported releases that the embedded cluster does not imitate."""


@cache
def known_release(name: str) -> spec.Release:
    """Return a release as clients see it, whether or not the embedded cluster imitates it. Raises KeyError for any
    other name.
    """
    return (
        spec.release(name) if name in spec.RELEASE_NAMES else spec.read_releases(FILE.read_text(encoding="utf-8"))[name]
    )


def without_quorum(name: str) -> spec.Profile:
    """Return the profile of a broker with the APIs of a release before KRaft; it has no feature levels."""
    apis = known_release(name).apis
    return spec.Profile(
        release=spec.RELEASE_NAMES[0],
        apis={api: versions for key, versions in apis.items() if (api := api_name(key))},
        unserved={key: versions for key, versions in apis.items() if api_name(key) is None},
        answers={"api_versions": without_features},
    )


KAFKA_2_8 = without_quorum("2.8")


def like(name: str, **more: Any) -> spec.ClusterSpec:
    """Return the specification of an embedded cluster like one of this release. For 2.8 it has that release's APIs, and
    its brokers do not forward requests to the controller.

    more: further fields of the specification.
    """
    if name == "2.8":
        return spec.ClusterSpec(profile=KAFKA_2_8, forwarding=False, **more)
    return spec.ClusterSpec(versions=name, **more)


def main() -> int:
    """Write the API versions of the releases in the arguments, by default of all in `OLDER`."""
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
