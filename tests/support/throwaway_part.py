"""A part of the snapshot that kac does not have: what adds it to a copy of the tree, and a walk through kac with it.

As a script it walks, in the tree that is first on the path, and prints what each step said as JSON.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tests.support.walking import Said, completed, kac, tell

MODULES = {
    "console/admin/racks.py": '''"""The racks of brokers."""

from __future__ import annotations

from console.admin.cluster import describe_cluster
from console.admin.link import Link


async def describe_racks(link: Link) -> dict[str, int]:
    """Return rack -> how many brokers it has."""
    brokers = (await describe_cluster(link)).brokers
    racks = [each.rack or "none" for each in brokers]
    return {rack: racks.count(rack) for rack in racks}
'''
}
INSERTED = (
    ("console/model/parts.py", "    FEATURES = ", '    RACKS = "racks", About(is_watched=True)\n'),
    (
        "console/model/snapshot.py",
        "    groups: Mapping[str, model_cluster.Group] = ",
        "    racks: Mapping[str, int] = field(default_factory=dict)\n",
    ),
    (
        "console/session/snapshot_reader.py",
        "async def _versions(client",
        '''async def _racks(client: Client) -> Learned:
    """Read the racks of brokers."""
    from console.admin.racks import describe_racks

    return await _listed(client, Part.RACKS, describe_racks, partial(refresh.with_part, Part.RACKS))


''',
    ),
    ("console/session/snapshot_reader.py", "    Part.VERSIONS: _versions,\n", "    Part.RACKS: _racks,\n"),
    ("console/session/parts.py", "    Part.VIEWS: ", "    Part.RACKS: Paces(events=0.1, screen=30.0),\n"),
    (
        "console/present/kinds.py",
        "KINDS: Mapping[str, columns.Columns[Any]]",
        """RACKS: columns.Columns[tuple[str, int]] = columns.Columns(
    columns.Column("name", columns.EVERYWHERE, lambda row: row[0], layout=ScreenColumn("name", "Rack")),
    columns.Column(
        "brokers", columns.EVERYWHERE, lambda row: row[1], "number", layout=ScreenColumn("brokers", "Brokers")
    ),
)


""",
    ),
    ("console/present/kinds.py", '        "tokens": TOKENS,\n', '        "racks": RACKS,\n'),
    (
        "console/answers/lists.py",
        '        "tokens": _simple(',
        '        "racks": _simple(lambda snapshot: snapshot.racks.items(), lambda row: row[0], Part.RACKS),\n',
    ),
    ("console/language/verbs/listing.py", '    "tokens",\n', '    "racks",\n'),
)
"""What is put in front of what stands there once: file, what is there, what is added."""


def add_to(tree: Path) -> None:
    """Add the part to a tree."""
    for path, module in MODULES.items():
        (tree / path).write_text(module)
    for path, there, added in INSERTED:
        text = (tree / path).read_text()
        assert text.count(there) == 1, (path, there)
        (tree / path).write_text(text.replace(there, added + there))


def walk() -> Said:
    """Go through kac with the part, on an embedded cluster: by step the exit code, and what was said."""
    from console.embedded.brokers import run_in_thread
    from console.embedded.spec import ClusterSpec
    from console.model.snapshot import Snapshot
    from console.session.event_reads import gaps

    said: dict[str, tuple[int, str]] = {}
    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        at = ("-b", cluster.bootstrap)
        said["listed"] = kac("run", *at, "-e", "list racks")
        said["as JSON"] = kac("run", *at, "--output", "json", "-e", "list racks")
        said["filtered"] = kac("run", *at, "-e", "list racks brokers>99")
        said["watched"] = kac("events", *at, "--for", "3s")
    said["not read yet"] = 0, ", ".join(gaps(Snapshot(), datetime.now(UTC)))
    said["completed"] = 0, " ".join(completed("list rac"))
    return said


if __name__ == "__main__":
    tell(walk)
