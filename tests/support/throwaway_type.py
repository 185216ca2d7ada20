"""A type of resource that Kafka does not have: what adds it to a copy of the tree, and a walk through kac with it.

As a script it walks, in the tree that is first on the path, and prints what each step said as JSON.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.walking import Said, completed, kac, tell

if TYPE_CHECKING:
    from console.embedded.brokers import EmbeddedCluster
    from console.embedded.faults import Fault

TABLE = "console/model/entity_types.py"
DEFINITIONS = "console/embedded/data/kafka_4_4.json"

_RECORD = """ENTITY_TYPES = (
    EntityType(
        word="probe",
        name="PROBE",
        number=64,
        one="a probe",
        spoken="probes",
        help="what a broker probes",
        usage=("probe BROKER-ID",),
        asked="the number of a broker, one digit",
        pane="configs",
        lister=Lister.RESOURCES,
        names=NameForm(frozenset("123456789").__contains__, "probe", "probe's id", "one digit", "one digit"),
        listed=Listed(1, "4.3"),
        route=Route.NAMED_BROKER,
        sources=(9, _DEFAULT),
        section="probes",
        form=FileForm.ENTRIES,
        keys=(KnownKey("pace.ms", "INT", "1000"), KnownKey("tags", "LIST", "")),
    ),
"""
_KEYS = {
    "pace.ms": {"type": "INT", "default": "1000", "documentation": "Time between two probes"},
    "tags": {"type": "LIST", "default": "", "documentation": "What is probed"},
}


def add_to(tree: Path) -> tuple[str, ...]:
    """Add the type to a tree, and return the files that this takes."""
    table = (tree / TABLE).read_text()
    assert table.count("ENTITY_TYPES = (\n") == 1
    (tree / TABLE).write_text(table.replace("ENTITY_TYPES = (\n", _RECORD))
    definitions = json.loads((tree / DEFINITIONS).read_text())
    (tree / DEFINITIONS).write_text(json.dumps({**definitions, "probe": _KEYS}))
    return (TABLE, DEFINITIONS)


def walk(folder: Path) -> Said:
    """Go through kac with the type, on an embedded cluster: by step the exit code, and what was said.

    folder: where files of the walk go.
    """
    from console.embedded.brokers import run_in_thread
    from console.embedded.faults import Fail, Fault
    from console.embedded.spec import ClusterSpec

    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        # Only the broker that is the probe's may be asked for it.
        apis = ("describe_configs", "incremental_alter_configs")
        elsewhere = [Fault(Fail(42), api, broker) for api in apis for broker in (1, 3)]
        at = ("-b", cluster.bootstrap)
        said: dict[str, tuple[int, str]] = {}
        for each in elsewhere:
            cluster.call(partial(_add, each))
        said["set"] = kac("run", *at, "-e", "set probe 2 pace.ms=5s tags=a,b; apply --yes")
        said["described"] = kac("run", *at, "-e", "describe probe 2")
        said["as by kafka-configs"] = kac("configs", *at, "--describe", "--entity-type", "probes", "--entity-name", "2")
        cluster.call(lambda c: c.faults.clear())
        said["set elsewhere"] = kac("run", *at, "-e", "set probe 3 pace.ms=250; apply --yes")
        said["listed"] = kac("run", *at, "-e", "list probes pace_ms>1s")
        said["exported"] = kac("export", *at)
        said["compared"] = kac("compare", *at, "probe:2", "probe:3")
        said["completed by the shell"] = kac("__complete", "zsh", f"kac configs -b {cluster.bootstrap} --probe ")
        said["journalled"] = kac("history", *at, "--journal")
        said["taken back"] = kac("run", *at, "-e", "revert 2; apply --yes")
        wanted = folder / "wanted.yaml"
        wanted.write_text('version: 1\nprobes:\n  "2":\n    pace.ms: "7000"\n')
        said["of a file"] = kac("diff", *at, "-f", str(wanted))
        wanted.write_text('version: 1\nprobes:\n  "12": {}\n')
        said["misnamed in a file"] = kac("diff", *at, "-f", str(wanted))
        said["misnamed"] = kac("run", *at, "-e", "set probe 12 pace.ms=1")
        said["without a default"] = kac("run", *at, "-e", "show probe <default>")
        said["completed"] = 0, " ".join(each for text in ("set pro", "set probe 2 ") for each in completed(text))
    return said


def _add(fault: Fault, cluster: EmbeddedCluster) -> None:
    cluster.faults.add(fault)


if __name__ == "__main__":
    tell(partial(walk, Path(sys.argv[1])))
