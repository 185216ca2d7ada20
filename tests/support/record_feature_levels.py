"""Records the levels of Kafka's features, as console/model/feature_levels.json.

``python -m tests.support.record_feature_levels`` writes the file from the jars of the releases. It has, for each level,
the first release with the level as its default, whether the metadata log's format changed with it, and the other
features that it needs.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.compiled_java import with_ours
from tests.support.kafka_jars import KAFKA_3_9, NEWEST, RELEASES, java
from tests.support.patience import PATIENCE

HERE = Path(__file__).parent
FILE = HERE.parents[1] / "console" / "model" / "feature_levels.json"
READ = tuple(dict.fromkeys((KAFKA_3_9, RELEASES["4.3"], RELEASES[NEWEST])))
"""The Kafka versions to read: an older one has the levels that a newer one no longer supports."""

Levels = dict[str, dict[str, dict[str, Any]]]


def levels_of(version: str) -> Levels:
    """Return the output of FeatureLevels.java with the jars of a release. Raises RuntimeError if it fails."""
    command = [java(), "-Xmx128m", "-XX:TieredStopAtLevel=1", *with_ours(HERE / "FeatureLevels.java", version)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(f"the feature levels of Kafka {version}: {done.stderr.strip()}")
    found: Levels = json.loads(done.stdout)
    return found


def all_levels() -> Levels:
    """Return the levels of all releases. A level that several releases have is returned as the newest of them
    describes it.
    """
    merged: Levels = {}
    for version in READ:
        for feature, levels in levels_of(version).items():
            merged.setdefault(feature, {}).update(levels)
    return {feature: dict(sorted(levels.items(), key=lambda each: int(each[0]))) for feature, levels in merged.items()}


def as_text(levels: Levels) -> str:
    """Return the levels as JSON, one level on each line."""
    parts = []
    for feature, each in levels.items():
        lines = ",\n".join(f"{json.dumps(level)}: {json.dumps(facts)}" for level, facts in each.items())
        parts.append(f"{json.dumps(feature)}: {{\n{lines}\n}}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> int:
    """Write the levels of all releases into the file, and print its path."""
    FILE.write_text(as_text(all_levels()))
    print(FILE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
