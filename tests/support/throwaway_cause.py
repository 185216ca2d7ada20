"""A cause that triage does not name: what adds it to a copy of the tree, and a walk through kac with it.

As a script it walks, in the tree that is first on the path, and prints what each step said as JSON.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.walking import Said, kac, tell

MODULE = "console/triage/causes/load.py"
_LAST = 'CAUSES = (cause.CauseRule("hot-partition", _hot),)\n'
_RULE = """def _many(observations: Observations) -> Iterator[cause.Claim]:
    topics = observations.last.snapshot.topics
    if len(topics) > 1:
        yield cause.Claim(
            cause="many-topics",
            subject=Subject(),
            severity=cause.Severity.HIGH,
            certainty=cause.Certainty.CERTAIN,
            title=f"there are {len(topics)} topics",
            evidence=(cause.Evidence(f"{len(topics)} topics are described", "Metadata"),),
            predicted=(),
            next=(cause.Next("ask whose they are"),),
        )


CAUSES = (cause.CauseRule("hot-partition", _hot), cause.CauseRule("many-topics", _many))
"""


def add_to(tree: Path) -> tuple[str, ...]:
    """Add the cause to a tree, and return the files that this takes."""
    text = (tree / MODULE).read_text()
    assert text.count(_LAST) == 1
    (tree / MODULE).write_text(text.replace(_LAST, _RULE))
    return (MODULE,)


def walk(folder: Path) -> Said:
    """Go through kac with the cause, on an embedded cluster: by step the exit code, and what was said.

    folder: where files of the walk go.
    """
    from console.embedded.brokers import run_in_thread
    from console.embedded.spec import ClusterSpec

    metrics = folder / "kac.prom"
    with run_in_thread(ClusterSpec(scenario="quiet")) as cluster:
        at = ("-b", cluster.bootstrap, "--for", "0s")
        named = kac("triage", *at, "--prometheus", str(metrics))
        as_json = kac("triage", *at, "--output", "json")
    return {"named": named, "as JSON": as_json, "in metrics": (named[0], metrics.read_text())}


if __name__ == "__main__":
    tell(lambda: walk(Path(sys.argv[1])))
