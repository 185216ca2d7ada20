"""The result of `describe` for a connector."""

from __future__ import annotations

from console.answers.results import Detail, Table, table_of
from console.language import vocabulary
from console.language.errors import CommandError
from console.language.tokenizer import Span
from console.model.config import ConfigResource
from console.model.connect import connector_in, full_name, split_name
from console.model.numbers import Data
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.present.failures import failure_text
from console.present.text import clean


def require_connector(snapshot: Snapshot, name: str, span: Span | None) -> None:
    """Raise CommandError if no connector has this name, or the Connect cluster in the name never answered. span: the
    place of the name in the statement.
    """
    where = split_name(name)[0]
    silent = {each.entity: each.failure for each in vocabulary.problems(snapshot, Part.CONNECT)}
    cluster = snapshot.connect.get(where)
    if connector_in(snapshot.connect, name) is not None:
        return
    if failure := silent.get(where) or silent.get(""):
        raise CommandError(f"connector '{clean(name, 80)}': {failure_text(failure)}", "", span)
    if cluster is None:
        there = ", ".join(sorted({*snapshot.connect, *silent})) or "none"
        hint = f"it names: {there}; [contexts.NAME.connect.CLUSTER] with url names one"
        raise CommandError(f"the context names no Connect cluster '{clean(where, 80)}'", hint, span)
    hint = vocabulary.near(name, [full_name(where, each) for each in cluster.connectors])
    raise CommandError(f"there is no connector '{clean(name, 80)}'", hint or "list connectors shows all", span)


def about_connector(
    snapshot: Snapshot, subject: ConfigResource
) -> tuple[tuple[str, ...], dict[str, Data], dict[str, Table | tuple[Detail, ...]]]:
    """Return lines, JSON fields and tables on a connector, without its config; empty if the snapshot lacks the
    connector.
    """
    from console.present import connectors

    row = next((each for each in connectors.connector_rows(snapshot) if each.name == subject.name), None)
    if row is None:
        return (), {}, {}
    row = row._replace(seen=None)  # leave the time out, as it can only be shown from a second read on
    lines = tuple("".join(text for text, _ in line) for line in connectors.connector_lines(row))
    tasks = table_of("tasks", connectors.TASKS, row.connector.tasks, empty="no tasks")
    return lines, connectors.CONNECTORS.detail(row), {"tasks": tasks}
