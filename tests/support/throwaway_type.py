"""A type of resource that Kafka does not have: what adds it to a copy of the tree, and a walk through kac with it.

As a script it walks, in the tree that is first on the path, and prints what each step said as JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.embedded.brokers import EmbeddedCluster
    from console.embedded.faults import Fault

TABLE = "console/model/entity_types.py"
DEFINITIONS = "console/embedded/data/kafka_4_3.json"

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


def walk(folder: Path) -> Mapping[str, tuple[int, str]]:
    """Go through kac with the type, on an embedded cluster: by step the exit code, and what was said.

    folder: where files of the walk go.
    """
    from console.embedded.brokers import run_in_thread
    from console.embedded.faults import Fail, Fault
    from console.embedded.spec import ClusterSpec

    with run_in_thread(ClusterSpec(brokers=3, versions="4.3")) as cluster:
        # Only the broker that is the probe's may be asked for it.
        apis = ("describe_configs", "incremental_alter_configs")
        elsewhere = [Fault(Fail(42), api, broker) for api in apis for broker in (1, 3)]
        at = ("-b", cluster.bootstrap)
        said: dict[str, tuple[int, str]] = {}
        for each in elsewhere:
            cluster.call(partial(_add, each))
        said["set"] = _kac("run", *at, "-e", "set probe 2 pace.ms=5s tags=a,b; apply --yes")
        said["described"] = _kac("run", *at, "-e", "describe probe 2")
        said["as by kafka-configs"] = _kac(
            "configs", *at, "--describe", "--entity-type", "probes", "--entity-name", "2"
        )
        cluster.call(lambda c: c.faults.clear())
        said["set elsewhere"] = _kac("run", *at, "-e", "set probe 3 pace.ms=250; apply --yes")
        said["listed"] = _kac("run", *at, "-e", "list probes pace_ms>1s")
        said["exported"] = _kac("export", *at)
        said["compared"] = _kac("compare", *at, "probe:2", "probe:3")
        said["completed by the shell"] = _kac("__complete", "zsh", f"kac configs -b {cluster.bootstrap} --probe ")
        said["journalled"] = _kac("history", *at, "--journal")
        said["taken back"] = _kac("run", *at, "-e", "revert 2; apply --yes")
        wanted = folder / "wanted.yaml"
        wanted.write_text('version: 1\nprobes:\n  "2":\n    pace.ms: "7000"\n')
        said["of a file"] = _kac("diff", *at, "-f", str(wanted))
        wanted.write_text('version: 1\nprobes:\n  "12": {}\n')
        said["misnamed in a file"] = _kac("diff", *at, "-f", str(wanted))
        said["misnamed"] = _kac("run", *at, "-e", "set probe 12 pace.ms=1")
        said["without a default"] = _kac("run", *at, "-e", "show probe <default>")
        said["completed"] = 0, " ".join(each for text in ("set pro", "set probe 2 ") for each in _completed(text))
    return said


def _add(fault: Fault, cluster: EmbeddedCluster) -> None:
    cluster.faults.add(fault)


def _kac(*arguments: str) -> tuple[int, str]:
    from console.cli import main as cli

    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = cli.run(list(arguments))
    out.flush()
    return code, out.buffer.getvalue().decode()


def _completed(text: str) -> list[str]:
    from console.language.completion import complete
    from console.model.snapshot import Snapshot

    return [each.text for each in complete(text, len(text), Snapshot())]


def main(folder: str) -> None:
    """Walk and print it. Raises AssertionError where kac is not that of the tree."""
    import console

    assert Path(console.__file__).parents[1] == Path.cwd()
    sys.stdout.write(json.dumps(walk(Path(folder))))


if __name__ == "__main__":
    main(sys.argv[1])
