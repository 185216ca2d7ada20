"""``kac history``, ``drift``, ``usage`` and ``denied``, which print rows of a lake as tables; ``kac lake report``,
which writes them as a page. ``kac history`` also prints the local journal.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from console.cli.files import written
from console.cli.opening import DONE, FAILED, USAGE, context_of, with_session
from console.model.changes import Status
from console.model.numbers import is_natural, natural_number, option
from console.present.text import clean
from console.safe_files import SHARED
from console.terminal import complain, leave, put, say, stdout

if TYPE_CHECKING:
    from console.answers.results import Table
    from console.contexts import Context
    from console.lake.reader import Tables
    from console.lake.schema import Table as LakeTable


ALL = "all"
FEW = 5
"""Maximum number of clusters whose freshness is printed in a line each; for more clusters, one line summarizes all."""
_COUNT = option(natural_number, highest=10**9)
"""The parser of options for a number of rows; its limit is below DuckDB's."""
_NAMES_A_CLUSTER = ("bootstrap_server", "bootstrap_controller", "context", "command_config")
_ENVIRONMENT = ("KAC_CONTEXT", "KAC_BOOTSTRAP")


def add_lake(parser: argparse.ArgumentParser) -> None:
    """Add the options for the lake, and for one of its clusters."""
    where = "the lake (default: KAC_LAKE, the context's, or ~/.local/share/kac/lake)"
    parser.add_argument("--lake", metavar="PATH", default=argparse.SUPPRESS, help=where)
    parser.add_argument("--cluster", metavar="ID", help="the id of a cluster of the lake, or all")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the option for the form of the results."""
    parser.add_argument("--output", choices=("text", "json", "csv"), default="text", help="form of the results")


def add_window(parser: argparse.ArgumentParser) -> None:
    """Add the options ``--since`` and ``--until``, whose texts `window` parses."""
    parser.add_argument(
        "--since", metavar="TIME", help="changes since a time: 2h and 7d (ago), 14:05, 2026-11-20T14:05"
    )
    parser.add_argument("--until", metavar="TIME", help="changes before a time, in the same forms")


def window(options: argparse.Namespace, now: datetime) -> tuple[datetime | None, datetime | None]:
    """Return the times of ``--since`` and ``--until``, UTC; None for each that is not given. Raises ValueError, with a
    message for the operator: a time is invalid, or the first is not before the second. now: the time to which
    durations relate.
    """
    from console.plan.amounts import moment

    since, until = (None if text is None else moment(text, now) for text in (options.since, options.until))
    if since is not None and until is not None and since >= until:
        raise ValueError("--since is not before --until")
    return since, until


class Opened(NamedTuple):
    """An open lake, and the cluster whose rows are wanted."""

    tables: Tables
    cluster: str | None
    """The id of the wanted cluster; None for all clusters."""
    now: datetime

    def fresh(self, table: LakeTable) -> list[str]:
        """Return a line for each cluster with the freshness of a table, and with the latest gaps between polls; one
        line for all if there are more than `FEW` (5) clusters.
        """
        from console.lake.reader import fleet_freshness, freshness, gaps
        from console.present.lake import fleet_text, fresh_text, gap_text

        lines = []
        clusters = [self.cluster] if self.cluster is not None else self.tables.clusters(table)
        if len(clusters) > FEW:
            return [fleet_text(fleet_freshness(self.tables, table), self.now)]
        for cluster in clusters:
            (found,) = freshness(self.tables, cluster, of=(table,))
            known = [gap_text(gap, self.now) for gap in gaps(self.tables, cluster)[:3]]
            lines.append(f"{cluster}: {'; '.join([fresh_text(found, self.now), *known])}")
        return lines


def read_lake(options: argparse.Namespace, work: Callable[[Opened], int]) -> int:
    """Open the lake that the options name, and call `work` with it.

    Returns:
        The exit code from `work`; 1 if the lake can't be read; 2 if there is no such context, the lake does not have
        the cluster, or an option is invalid.
    """
    from console.contexts.lake_files import lake_files
    from console.lake.files import LakeError
    from console.lake.reader import Tables

    context = named_context(options)
    if isinstance(context, int):
        return context
    try:
        where = lake_of(options, context)
        with closing(Tables(where, lake_files(where))) as tables:
            cluster = _cluster(options, context, tables)
            return cluster if isinstance(cluster, int) else work(Opened(tables, cluster, datetime.now(UTC)))
    except LakeError as error:
        return leave(FAILED, str(error))
    except ValueError as error:
        return leave(USAGE, str(error))


def lake_of(options: argparse.Namespace, context: Context | None) -> str:
    """Return the path or URI of the lake: that of ``--lake``, of KAC_LAKE, of the context, or the default
    (`lake_place`).
    """
    from console.contexts.context import lake_place

    setting = context.lake if context is not None else None
    return lake_place(getattr(options, "lake", None), os.environ, setting, Path.home())


def named_context(options: argparse.Namespace) -> Context | int | None:
    """Return the context that options or environment name, else the default context. If the named context can't be
    used, print the reason and return an exit code.

    Return None if there is no usable default context. Also return None if --cluster is given, and neither options nor
    environment name a context: a lake can be read without a context.
    """
    if _names_a_cluster(options):
        context = context_of(options)
        return USAGE if context is None else context
    if hasattr(options, "lake") and getattr(options, "cluster", None) is not None:
        return None  # the cluster is given, so a context would add nothing
    from console.contexts import ContextError, load, resolve

    try:
        return resolve(load(os.environ, Path.home()))
    except ContextError:
        return None


def _names_a_cluster(options: argparse.Namespace) -> bool:
    return any(hasattr(options, name) for name in _NAMES_A_CLUSTER) or any(map(os.environ.get, _ENVIRONMENT))


def _cluster(options: argparse.Namespace, context: Context | None, tables: Tables) -> str | int | None:
    """Return the id of the cluster whose rows are wanted: the one that the options name, else that of the default
    context if the lake has it; None for all clusters. If the id can't be determined, print the reason and return an
    exit code.
    """
    from console.lake.reader import SHOWN
    from console.lake.schema import KRAFT_RECORD

    known = tables.clusters(*SHOWN, KRAFT_RECORD)
    if options.cluster is not None:
        if options.cluster == ALL or options.cluster in known:
            return None if options.cluster == ALL else str(options.cluster)
        return leave(
            USAGE, f"the lake at {tables.where} has no cluster {options.cluster!r}: {', '.join(known) or 'it is empty'}"
        )
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
    """Return the id that the cluster named by the options reports. If it does not answer, print the reason and return
    an exit code.
    """

    found: list[str] = []

    async def work(session: Any) -> int:
        await session.read_cluster()
        found.append(session.snapshot.cluster.cluster_id)
        return DONE

    code = with_session(options, "lake", work)
    return found[0] if found else code


def print_table(table: Table, output: str, notes: Callable[[], Sequence[str]]) -> None:
    """Print a table in the form `output`. For text, also print the lines of `notes`, which are read only after the
    table was printed.
    """
    if output == "csv":
        from console.answers.data_forms import write

        write([table], "csv", stdout())
        return
    from console.answers.results import Printer

    Printer(output)(table)
    if output == "text" and (lines := notes()):
        say("\n".join(("", *map(clean, lines))))


# ``kac history``: changes from a lake if there is one, else from the journal of this host.

LIMIT = 500
_OF_A_LAKE = ("lake", "cluster", "entity", "since", "until", "key", "principal", "limit")
_OUTCOMES = {"applied": Status.APPLIED, "not-applied": Status.NOT_APPLIED}
EXAMPLES = """examples:
  kac history --since 2h                          what changed in the last two hours
  kac history --key 'retention*' --principal alice
  kac history --journal -b broker1:9092           what was applied from this host alone
  kac history --settle 42 not-applied --why 'the topic is as before, the proxy was restarted'
"""


def history_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac history``."""
    parser.epilog = EXAMPLES
    parser.add_argument("text", nargs="?", default="", metavar="TEXT", help="only changes with these words in them")
    parser.add_argument("--entity", metavar="TYPE:KEY", help="only of topic:orders, broker:2, quota:user=alice …")
    add_window(parser)
    parser.add_argument("--key", metavar="KEY", help="only this key; it may contain the wildcards * and ?")
    parser.add_argument("--principal", metavar="WHO", help="only changes that this principal made, or may have made")
    parser.add_argument("--limit", metavar="N", type=_COUNT, help=f"at most N changes, the latest (default: {LIMIT})")
    add_lake(parser)
    parser.add_argument("--journal", action="store_true", help="the changes applied from this host, from its journal")
    parser.add_argument(
        "--settle",
        nargs=2,
        metavar=("CHANGE", "OUTCOME"),
        help="decide a change with an unknown outcome: applied or not-applied; the journal keeps it with --why",
    )
    parser.add_argument("--why", metavar="TEXT", help="with --settle: the reason; on a terminal kac asks for it")
    parser.add_argument("--mend", action="store_true", help="complete the journal's last line if it is incomplete")
    add_output(parser)


def run_history(options: argparse.Namespace) -> int:
    """Print the changes in the lake or in the journal; or settle an unknown outcome in the journal, or repair the
    journal.

    Returns:
        The exit code: 0 printed, settled or repaired, 1 failed, 2 no context or invalid arguments.
    """
    of_lake = [name for name in _OF_A_LAKE if getattr(options, name, None) is not None]
    if options.settle and options.settle[1] not in _OUTCOMES:
        return leave(USAGE, f"--settle takes the number of a change, and {' or '.join(_OUTCOMES)}: --settle 42 applied")
    if options.settle and not _is_number(options.settle[0]):
        return leave(USAGE, "--settle takes the number of a change first; kac history --journal shows them")
    if options.why is not None and not options.settle:
        return leave(USAGE, "--why says how you know what --settle says: give both")
    if options.journal or options.mend or options.settle:
        if options.journal:
            of_lake = [name for name in of_lake if name not in ("since", "until")]
        if of_lake:
            return leave(USAGE, f"--{of_lake[0]} is of a lake: leave it out, or --journal, --settle and --mend")
        return _journal(options)
    if not of_lake:
        context = named_context(options)
        if isinstance(context, int):
            return context
        if not _is_there(lake_of(options, context)):
            return _journal(options)
    return read_lake(options, lambda opened: _timeline(opened, options))


def _is_there(where: str) -> bool:
    return "://" in where or Path(where, "lake.json").exists()


def _timeline(opened: Opened, options: argparse.Namespace) -> int:
    from console.answers.lake_tables import history_table
    from console.lake.reader import Wanted, first_polls, timeline, with_acls
    from console.lake.schema import HISTORY

    since, until = window(options, opened.now)
    limit = max(1, options.limit or LIMIT)
    entities = () if options.entity is None else with_acls(*_entity_of(options.entity))
    wanted = Wanted(opened.cluster, entities, since, until, options.key, options.principal, options.text)
    found = timeline(opened.tables, wanted, limit + 1, folded=options.output == "text" and not wanted.narrows)
    more = ["older changes are not shown: --limit or --until shows them"] if len(found) > limit else []
    if any(change.is_first_poll for change in found):
        more.append("what a first poll showed is in one line: --key '*' lists each value")
    shown = found[:limit]
    maybe = {change.cluster_id for change in shown if change.is_first_seen(change.valid_from)}
    firsts = first_polls(opened.tables, maybe)
    table = history_table(shown, clusters=opened.cluster is None, first_polls=firsts)
    print_table(table, options.output, lambda: [*more, *opened.fresh(HISTORY)])
    return DONE


def _entity_of(text: str) -> tuple[str, str]:
    """Return the type and the key in a text ``TYPE:KEY``. Raises ValueError, with a message for the operator."""
    type_, colon, key = text.partition(":")
    if not colon or not key:
        raise ValueError(f"{text!r} is no entity: they look like topic:orders, broker:2, quota:user=alice")
    return type_, key


def _is_number(text: str) -> bool:
    return is_natural(text) and len(text) < 19


async def _ask_why() -> str:
    from console.session.terminal_front import Terminal

    terminal = Terminal()
    return await terminal.line("How do you know? ") if terminal.answers else ""


def _journal(options: argparse.Namespace) -> int:
    from console.present.names import plural
    from console.session.former_changes import former_changes
    from console.session.journal_changes import decide, mend, read_history_table
    from console.session.session import Session

    try:
        between = window(options, datetime.now(UTC))
    except ValueError as error:
        return leave(USAGE, str(error))

    async def work(session: Session) -> int:
        if options.mend:
            mended = await mend(await session.journal(), session.context.principal)
            return leave(DONE, "the truncated record is closed" if mended else "no line is cut")
        if options.settle:
            number, outcome = options.settle
            why = options.why if options.why is not None else await _ask_why()
            if not why:
                return leave(USAGE, "nothing was settled: say how you know it, with --why TEXT")
            settled = await decide(session, int(number), _OUTCOMES[outcome], why)
            return leave(DONE, f"change {number}: {plural(settled, 'edit')} settled as {outcome.replace('-', ' ')}")
        for line in (await former_changes(session)).lines:
            complain(line)
        everything = options.output != "text"
        table = await read_history_table(await session.journal(), None, options.text, all_=everything, between=between)
        print_table(table, options.output, tuple)
        return DONE

    return with_session(options, "history", work)


# ``kac drift``: differences from peers, read from a lake.

SCOPES = ("broker", "cluster", "baseline")


def drift_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac drift``."""
    parser.add_argument("--scope", choices=SCOPES, help="among brokers, among clusters, or from the baseline file")
    parser.add_argument("--key", metavar="KEY", help="only this key; it may contain the wildcards * and ?")
    add_lake(parser)
    add_output(parser)
    parser.add_argument("--exit-code", action="store_true", help="exit with 3 if something differs")


def run_drift(options: argparse.Namespace) -> int:
    """Print the values that differ among brokers, among clusters, or from the baseline.

    Returns:
        The exit code: 0 printed; 1 the lake could not be read; 2 invalid arguments; 3 with --exit-code, if a value
        differs.
    """

    def work(opened: Opened) -> int:
        from console.answers.lake_tables import drift_table
        from console.lake.reader import drift
        from console.lake.schema import DRIFT

        rows = drift(opened.tables, opened.cluster, options.scope, options.key)
        table = drift_table(rows, clusters=opened.cluster is None)
        print_table(table, options.output, lambda: opened.fresh(DRIFT))
        return 3 if rows and options.exit_code else DONE

    return read_lake(options, work)


# ``kac usage``: usage of quotas by user and client id, read from a lake.

KEYS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
_NOTE = "rates are estimates from request logs: bytes of records, without headers"


def usage_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac usage``."""
    add_window(parser)
    parser.add_argument("--key", choices=KEYS, help="only this quota")
    parser.add_argument("--principal", metavar="USER", help="only pairs of this user")
    parser.add_argument(
        "--limit",
        metavar="N",
        type=_COUNT,
        default=30,
        help="at most N pairs, those with the highest use (default: 30)",
    )
    add_lake(parser)
    add_output(parser)


def run_usage(options: argparse.Namespace) -> int:
    """Print the users and client ids whose usage is the highest share of their quotas.

    Returns:
        The exit code: 0 printed, 1 the lake could not be read, 2 invalid arguments.
    """

    def work(opened: Opened) -> int:
        from console.answers.lake_tables import usage_table
        from console.lake.reader import Window, hottest
        from console.lake.schema import QUOTA_USAGE

        since, until = window(options, opened.now)
        clusters = [opened.cluster] if opened.cluster is not None else opened.tables.clusters(QUOTA_USAGE)
        asked = [Window(each, since, until, options.key, options.principal) for each in clusters]
        rows = [row for each in asked for row in hottest(opened.tables, each, max(1, options.limit))]
        table = usage_table(rows, clusters=opened.cluster is None)
        print_table(table, options.output, lambda: [*opened.fresh(QUOTA_USAGE), _NOTE])
        return DONE

    return read_lake(options, work)


# ``kac denied``: what authorizers denied, read from a lake.


def denied_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac denied``."""
    add_window(parser)
    parser.add_argument("--principal", metavar="WHO", help="only denials of this principal")
    parser.add_argument(
        "--entity", metavar="TYPE:KEY", help="only rights on topic:orders, group:checkout, cluster:kafka-cluster …"
    )
    parser.add_argument(
        "--limit", metavar="N", type=_COUNT, default=200, help="at most N rows, the latest (default: 200)"
    )
    add_lake(parser)
    add_output(parser)


def run_denied(options: argparse.Namespace) -> int:
    """Print the denied accesses, each with the first denial and the change that most likely caused it.

    Returns:
        The exit code: 0 printed, 1 the lake could not be read, 2 invalid arguments.
    """

    def work(opened: Opened) -> int:
        from console.answers.lake_tables import denied_table
        from console.lake.denials import Wanted, denials
        from console.lake.schema import ACCESS

        resource = None
        if options.entity is not None:
            type_, key = _entity_of(options.entity)
            resource = (type_.upper().replace("-", "_"), key)
        wanted = Wanted(opened.cluster, *window(options, opened.now), options.principal, resource)
        limit = max(1, options.limit)
        rows = denials(opened.tables, wanted, limit + 1)
        more = ["older denials are not shown: --limit or --until shows them"] if len(rows) > limit else []
        known = opened.tables.clusters(ACCESS)
        has_logs = bool(known) if opened.cluster is None else opened.cluster in known
        table = denied_table(rows[:limit], clusters=opened.cluster is None, has_logs=has_logs)
        print_table(table, options.output, lambda: [*more, *opened.fresh(ACCESS)])
        return DONE

    return read_lake(options, work)


# ``kac lake report``: the events of some hours, as a page for a post-mortem.

STDOUT = "-"


def run_report(options: argparse.Namespace) -> int:
    """Write the report on clusters of a lake as an HTML page.

    Returns:
        The exit code: 0 written, 1 the lake could not be read or the file not written, 2 invalid arguments.
    """
    if not getattr(options, "html", None):
        return leave(USAGE, "lake report writes a page: name its file with --html FILE (- is standard output)")
    asked = {name: getattr(options, name, None) for name in ("cluster", "since", "until")}
    return read_lake(argparse.Namespace(**{**vars(options), **asked}), lambda opened: _write(opened, options, asked))


def _write(opened: Opened, options: argparse.Namespace, asked: dict[str, str | None]) -> int:
    from console.collecting.report import page
    from console.lake.reader import SHOWN

    since, until = window(argparse.Namespace(**asked), opened.now)
    clusters = [opened.cluster] if opened.cluster is not None else opened.tables.clusters(*SHOWN)
    made = page(opened.tables, clusters, since, until, opened.now)
    if made is None:
        return leave(
            FAILED, f"the lake at {opened.tables.where} has nothing to report; `kac lake update` makes its tables"
        )
    if options.html == STDOUT:
        put(made)
        return DONE
    if not written(Path(options.html), made, SHARED):
        return FAILED
    return leave(DONE, f"{options.html}: what happened in {', '.join(clusters)}")
