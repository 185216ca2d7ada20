"""What the commands that read a lake share: their options, the lake, the cluster, how results are printed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from console.doors.opening import DONE, FAILED, USAGE, complain
from console.terminal import put, stdout

if TYPE_CHECKING:
    from console.commands.results import Table
    from console.contexts import Context
    from console.history.reader.tables import Tables
    from console.history.schema import Table as LakeTable

ALL = "all"
_NAMES_A_CLUSTER = ("bootstrap_server", "context", "command_config")
_ENVIRONMENT = ("KAC_CONTEXT", "KAC_BOOTSTRAP")


def add_lake(parser: argparse.ArgumentParser) -> None:
    """Where the lake is, and which of its clusters."""
    where = "the lake; else KAC_LAKE, the context's, ~/.local/share/kac/lake"
    parser.add_argument("--lake", metavar="PATH", default=argparse.SUPPRESS, help=where)
    parser.add_argument("--cluster", metavar="ID", help="a cluster of the lake by its id, or all")


def add_output(parser: argparse.ArgumentParser) -> None:
    """The form of the results."""
    parser.add_argument("--output", choices=("text", "json", "csv"), default="text", help="form of the results")


def add_window(parser: argparse.ArgumentParser) -> None:
    """From when to when: texts, which `window` reads."""
    parser.add_argument("--since", metavar="TIME", help="from then: 2h and 7d (ago), 14:05, 2026-11-20T14:05")
    parser.add_argument("--until", metavar="TIME", help="before then, likewise")


def window(options: argparse.Namespace, now: datetime) -> tuple[datetime | None, datetime | None]:
    """The times of ``--since`` and ``--until``. Raises ValueError with words for the operator."""
    from console.commands.lake_filter import moment

    since, until = (None if text is None else moment(text, now) for text in (options.since, options.until))
    if since is not None and until is not None and since >= until:
        raise ValueError("--since is not before --until")
    return since, until


class Opened(NamedTuple):
    """A lake, and the cluster that is asked for: None is all of them."""

    tables: Tables
    cluster: str | None
    now: datetime

    def fresh(self, table: LakeTable) -> list[str]:
        """How fresh a table is: a line for each cluster that is shown, with the times in which nobody looked."""
        from console.history.reader.queries import freshness, gaps
        from console.present.lake import fresh_text, gap_text

        lines = []
        clusters = [self.cluster] if self.cluster is not None else self.tables.clusters(table)
        for cluster in clusters:
            (found,) = freshness(self.tables, cluster, of=(table,))
            known = [gap_text(gap, self.now) for gap in gaps(self.tables, cluster)[:3]]
            lines.append(f"{cluster}: {'; '.join([fresh_text(found, self.now), *known])}")
        return lines


def read_lake(options: argparse.Namespace, work: Callable[[Opened], int]) -> int:
    """What `work` gives: the exit code; 1 where the lake can't be read, 2 where the cluster is none of the lake's."""
    from console.history.reader.tables import Tables
    from console.history.store.errors import LakeError

    context = named_context(options)
    if isinstance(context, int):
        return context
    try:
        with closing(Tables(lake_of(options, context))) as tables:
            cluster = _cluster(options, context, tables)
            return cluster if isinstance(cluster, int) else work(Opened(tables, cluster, datetime.now(UTC)))
    except LakeError as error:
        complain(str(error))
        return FAILED
    except ValueError as error:
        complain(str(error))
        return USAGE


def lake_of(options: argparse.Namespace, context: Context | None) -> str:
    """Where the lake is that the options, the environment and the context name."""
    from console.contexts.lake_place import lake_place

    setting = context.lake if context is not None else None
    return lake_place(getattr(options, "lake", None), os.environ, setting, Path.home())


def named_context(options: argparse.Namespace) -> Context | int | None:
    """The context that is named, or the current one; an exit code where the named one can't be used. None: there is
    none, which a lake can be read without."""
    from console.doors.opening import context_of

    if _names_a_cluster(options):
        context = context_of(options)
        return USAGE if context is None else context
    if hasattr(options, "lake") and getattr(options, "cluster", None) is not None:
        return None  # a context has nothing to add
    from console.contexts import ContextError, load, resolve

    try:
        return resolve(load(os.environ, Path.home()))
    except ContextError:
        return None


def _names_a_cluster(options: argparse.Namespace) -> bool:
    return any(hasattr(options, name) for name in _NAMES_A_CLUSTER) or any(map(os.environ.get, _ENVIRONMENT))


def _cluster(options: argparse.Namespace, context: Context | None, tables: Tables) -> str | int | None:
    """The cluster that is named; else the context's; else all."""
    from console.history.reader.queries import SHOWN

    known = tables.clusters(*SHOWN)
    if options.cluster is not None:
        if options.cluster == ALL or options.cluster in known:
            return None if options.cluster == ALL else str(options.cluster)
        complain(f"the lake at {tables.where} has no cluster {options.cluster!r}: {', '.join(known) or 'it is empty'}")
        return USAGE
    if context is None:
        return None
    found = context.cluster_id
    if found is None and _names_a_cluster(options):
        asked = cluster_id_of(options)
        if isinstance(asked, int):
            return asked
        found = asked
    if found is None or (found not in known and not _names_a_cluster(options)):
        return None
    return found


def cluster_id_of(options: argparse.Namespace) -> str | int:
    """The id of the cluster of the options, as it answers; an exit code after saying why there is none."""
    from typing import Any

    from console.doors.working import with_session

    found: list[str] = []

    async def work(session: Any) -> int:
        await session.read_cluster()
        found.append(session.snapshot.cluster.cluster_id)
        return DONE

    code = with_session(options, "lake", work)
    return found[0] if found else code


def print_table(table: Table, output: str, notes: Callable[[], Sequence[str]]) -> None:
    """The results in their form; below text, what is noted of them: found out once the table is printed."""
    if output == "csv":
        from console.commands.nouns.output import write

        write([table], "csv", stdout())
        return
    from console.commands.printing import Printer
    from console.present.sanitize import clean

    Printer(output)(table)
    if output == "text" and (lines := notes()):
        put("".join(f"{line}\n" for line in ("", *map(clean, lines))))
