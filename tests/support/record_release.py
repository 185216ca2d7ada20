"""Runs all modules that record data of a Kafka release for kac, step by step.

``python -m tests.support.record_release RELEASE`` needs the release in `RELEASES` of `kafka_jars`, and its fixture in
`tests/conftest.py`. It ends at the first step that fails. Data for the embedded cluster is recorded only for the
releases among its `RELEASE_NAMES`.
"""

import subprocess
import sys
from collections.abc import Iterator

from console.embedded.connect.definitions import RELEASES_OF_CONNECT
from console.embedded.spec import RELEASE_NAMES
from tests.contract.recorded import CONNECT, OF_CONNECT
from tests.support.kafka_jars import NEWEST

TABLES = (
    "record_newer_messages",
    "record_dynamic_keys",
    "record_feature_levels",
    "record_harmless_configs",
    "record_metadata_schemas",
)
"""Modules that record one file for all releases together."""


def steps(release: str) -> Iterator[list[str]]:
    """Yield each step as a module's name and its arguments: first the config definitions, which later steps read; last
    the answers of real brokers.
    """
    is_imitated = release in RELEASE_NAMES
    yield [f"tests.support.{'record_config_definitions' if is_imitated else 'older_brokers'}", release]
    yield from ([f"tests.support.{name}"] for name in TABLES)
    if release in RELEASES_OF_CONNECT:
        yield ["tests.support.record_connect", release]
    if is_imitated:
        yield ["tests.contract.recorded", release]
    if (connect := f"{CONNECT}{release}") in OF_CONNECT:
        yield ["tests.contract.recorded", connect]
    yield ["tests.support.versions", release]


def main() -> int:
    """Run the steps of the release in the arguments, by default the newest. Return the first exit code that is not 0,
    else 0.
    """
    release = sys.argv[1] if len(sys.argv) > 1 else NEWEST
    for step in steps(release):
        print(" ".join(step), flush=True)
        if status := subprocess.run([sys.executable, "-m", *step], check=False).returncode:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
