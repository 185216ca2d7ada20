"""``kac configs`` from its arguments to its exit code: 0 done, 1 otherwise, as in kafka-configs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct, field

from console import event_loop
from console.cli.kafka_configs import command_line
from console.cli.kafka_configs.request import QUOTA_TYPES, ConfigsRequest, request_of, resource_of
from console.cli.opening import command_client, context_of, open_log_file
from console.model.failure import Failure
from console.model.numbers import json_text
from console.present.text import clean
from console.programs import become, is_found, of_user
from console.terminal import complain, stderr, stdout, width_of, write_folded

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.cli.kafka_configs.describe import Described
    from console.contexts import Context
    from console.model.changes import Outcome
    from console.plan.reconcile import ApplyReport
    from console.session.session import Session
    from console.session.snapshot_reader import Client
    from console.session.terminal_front import Operator


DONE, FAILED, UNAPPLIED = 0, 1, 3
KAFKA, TABLE = "kafka", "table"
_FILE_LIMIT = 1 << 20
_LONGEST = 4_000


class ConfigsCommand(Struct):
    """One run of `kac configs`."""

    context: Callable[[command_line.Arguments], Context | None]
    """Returns the context that the arguments name. If it can't be used, prints the reason and returns None."""
    connect: Callable[[Context], AdminClient]
    """Returns a started client of the context."""
    out: TextIO = field(default_factory=stdout)
    err: TextIO = field(default_factory=stderr)
    operator: Operator | None = None
    """Answers the questions of an apply; None for the user at the terminal."""
    form: str = KAFKA

    def run(self, argv: Sequence[str]) -> int:
        """Run one command line, and return the exit code."""
        try:
            return self._run(argv)
        except command_line.UsageError as error:
            self._say(str(error), error.hint)
            if error.usage:
                self._note("kac configs --help lists the options")
            return error.code

    def _run(self, argv: Sequence[str]) -> int:
        arguments = command_line.read_arguments(argv, command_line.by_spelling(command_line.OPTIONS))
        if arguments.has("help"):
            self.out.write(command_line.usage())
            return DONE
        if arguments.has("version"):
            from importlib.metadata import version

            self.out.write(f"kac {version('kafka-admin-console')}\n")
            return DONE
        if not argv:
            self.err.write(command_line.usage())
            return FAILED
        self._forewarn(arguments)
        request = request_of(arguments)
        self.form = request.output or (TABLE if self.out.isatty() else KAFKA)
        added, deleted = self._changes(request)
        context = self.context(arguments)
        if context is None:
            return FAILED
        client = self.connect(context)
        try:
            return event_loop.run(self._on(client, context, request, added, deleted))
        finally:
            client.close()

    def _forewarn(self, arguments: command_line.Arguments) -> None:
        if arguments.has("zookeeper"):
            self._note("warning: --zookeeper is ignored: the brokers are asked")
        spelled = {each.spelled for each in arguments.given}
        if {"bootstrap-servers", "config.properties"} <= spelled:
            raise command_line.UsageError(
                "You can specify only one in --bootstrap-servers, --config.properties",
                "bootstrap.servers may stand in the file; --bootstrap-server goes with --command-config",
            )

    def _changes(self, request: ConfigsRequest) -> tuple[dict[str, str], tuple[str, ...]]:
        if not request.alter:
            return {}, ()
        added = command_line.parse_added(request.added) if request.added is not None else {}
        if request.file is not None:
            added = _from_file(request.file)
        elif any(_is_secret(key) for key in added):
            self._note(
                "warning: a password on the command line stands in the process list and in the shell's history; "
                "--add-config-file FILE keeps it off"
            )
        command_line.check_keys(added)
        return added, command_line.parse_deleted(request.deleted)

    async def _on(
        self,
        client: AdminClient,
        context: Context,
        request: ConfigsRequest,
        added: dict[str, str],
        deleted: Sequence[str],
    ) -> int:
        from console.admin.errors import AdminError

        try:
            if request.alter or context.cluster_id:
                return await self._in_session(client, context, request, added, deleted)
            return await self._describe(client, request)
        except AdminError as error:
            self._say_failure(error.failure)
            return FAILED

    async def _in_session(
        self,
        client: AdminClient,
        context: Context,
        request: ConfigsRequest,
        added: dict[str, str],
        deleted: Sequence[str],
    ) -> int:
        """Alter configs, or describe them for a context that declares a cluster id, and return the exit code. A session
        is needed, because it refuses a cluster with another id.
        """
        from console.session.session import Session
        from console.session.snapshot_reader import Refused

        session = Session(client, context, "configs")
        try:
            if request.alter or context.cluster_id:
                await session.read_cluster()
            if request.alter:
                return await self._alter(session, request, added, deleted)
            return await self._describe(client, request)
        except Refused as error:
            self._say_failure(error.failure)
            return FAILED

    async def _describe(self, client: Client, request: ConfigsRequest) -> int:
        from console.cli.kafka_configs.describe import Unread, describe

        found = await describe(client, request)
        self._print(found, request)
        unread = [each for each in found if isinstance(each, Unread)]
        for each in unread:
            self._say_failure(each.failure, f"{each.what}: " if len(found) > 1 else "")
        return FAILED if unread else DONE

    async def _alter(
        self, session: Session, request: ConfigsRequest, added: dict[str, str], deleted: Sequence[str]
    ) -> int:
        from console.cli.kafka_configs import alter
        from console.plan.plan import Plan
        from console.session.applying import check_plan
        from console.session.former_changes import former_lines

        for line in await former_lines(session):
            self._note(line)
        session.refuse_if_read_only()
        is_config = request.type not in QUOTA_TYPES
        if is_config:
            resource = resource_of(request)
            if resource.is_cluster_default:
                await session.read_cluster()
            await session.read_configs(alter.described_with(resource, session.snapshot))
            change = await alter.config_change(session.client, request, added, deleted, session.snapshot)
        else:
            change = await alter.quota_change(session.client, request, added, deleted)
        session.replan(Plan(change.staged))
        report = None
        if change.staged:
            report = await (check_plan(session) if request.validate_only else self._apply(session, request))
        if report is not None and report.sent and report.ok:
            await alter.until_described(session.client, request, change)
        if report is not None and not report.ok:
            keys = {**added, **dict.fromkeys(deleted, "")}
            self._say_failed(report, alter.near_keys(keys, change.known) if is_config else "")
            return FAILED
        if self._say_altered(request, report):
            return await self._describe(session.client, request)
        return DONE

    def _say_failed(self, report: ApplyReport, hint: str) -> None:
        from console.model.changes import Status
        from console.present.failures import how_to_settle

        for outcome in (outcome for result in report.results for outcome in result.failed):
            self._say_failure(outcome.failure or Failure(outcome.status.value.upper(), "", ""), hint=hint)
            if outcome.status is Status.UNKNOWN and report.change is not None:
                self._note(f"change {report.change}: outcome unknown; {how_to_settle(report.change)}")

    def _say_altered(self, request: ConfigsRequest, report: ApplyReport | None) -> bool:
        """Print kafka-configs' line after a successful change. Return whether the present configs are to be printed
        next.
        """
        from console.answers.plan_results import way_back_of
        from console.cli.kafka_configs.output import completed

        if request.validate_only:
            self.out.write("The brokers would take it; nothing was changed.\n")
            return False
        if self.form == KAFKA:
            self.out.write(f"{completed(request)}\n")
            return False
        if self.form == TABLE:
            self.out.write(f"{completed(request)}\n")
            if report is not None and way_back_of(report):
                self.out.write(f"kac run -e 'revert {report.change}; apply --yes' takes it back.\n")
            self.out.write("\n")
        return True

    async def _apply(self, session: Session, request: ConfigsRequest) -> ApplyReport:
        """Apply the plan as every command does, and return the report. Raises UsageError: nothing was sent.

        With --output kafka, where the output must be that of kafka-configs, warnings are printed and no question is
        asked.
        """
        from console.plan.reconcile import ApplyOptions
        from console.plan.risk_rules import accepted
        from console.session.apply_flow import Asks, Ended, Flags, NotApplied, apply_flow
        from console.session.terminal_front import Terminal, TerminalFront

        reports: list[ApplyReport] = []

        def show(report: ApplyReport) -> None:
            self._tell_conflicts(report)
            reports.append(report)

        front = TerminalFront(session.context.name, self.operator or Terminal(), show, self._note)
        drop_in = request.output == KAFKA
        asks = Asks(plan=False, name=not request.force, risks=not drop_in, over=not drop_in, silent=request.force)
        options = ApplyOptions(force=request.force, risks=frozenset(accepted(request.accept)))
        flags = Flags(force="--force overwrites them", confirm="--force asks nothing")
        try:
            return (await apply_flow(session, front, options, asks, flags))[-1]
        except NotApplied as refused:
            code = UNAPPLIED if refused.risks else FAILED
            raise command_line.UsageError(refused.message, refused.hint, code=code) from None
        except Ended:
            for outcome in (each for report in reports for result in report.results for each in result.outcomes):
                self._say_ended(outcome)
            raise

    def _say_ended(self, outcome: Outcome) -> None:
        from console.present.failures import failure_text
        from console.present.names import target

        why = f": {failure_text(outcome.failure)}" if outcome.failure is not None else ""
        self._note(f"{target(outcome.target)}: {outcome.status.value}{why}")

    def _tell_conflicts(self, report: ApplyReport) -> None:
        """Print the values that other clients changed between the read and the apply."""
        from console.answers.plan_results import conflict_tables
        from console.answers.results import render

        for table in conflict_tables(report):
            self.err.write(render(table, width_of(self.err)))

    def _print(self, described: Sequence[Described], request: ConfigsRequest) -> None:
        if self.form == KAFKA:
            from console.cli.kafka_configs.output import kafka_lines

            self._lines(kafka_lines(described, all_=request.all))
            return
        from console.cli.kafka_configs import output as forms

        blocks = forms.blocks(described)
        if self.form == TABLE:
            self._lines(forms.table_lines(blocks, width_of(self.out)))
        elif self.form == "json":
            self.out.write(json_text(forms.as_data(blocks), indent=2) + "\n")
        elif self.form == "yaml":
            from console.answers.data_forms import yaml_text

            self.out.write(yaml_text(forms.as_data(blocks)))
        else:
            self.out.write(forms.csv_text(blocks))

    def _lines(self, lines: Iterable[str]) -> None:
        self.out.writelines(f"{line.rstrip()}\n" if self.form == TABLE else f"{line}\n" for line in lines)

    def _say(self, message: str, hint: str = "") -> None:
        """Print a message in kafka-configs' own words, and kac's hint on the line below it."""
        write_folded(self.err, clean(message, _LONGEST))
        if hint:
            self._note(hint)

    def _note(self, text: str) -> None:
        write_folded(self.err, f"kac: {clean(text, _LONGEST)}")

    def _say_failure(self, failure: Failure, before: str = "", hint: str = "") -> None:
        self._say(f"{before}{failure.message or failure.name}", hint or failure.remedy)


def _is_secret(key: str) -> bool:
    from console.sensitive import seems_sensitive

    return seems_sensitive(key) or key.startswith("SCRAM-")


def _from_file(path: str) -> dict[str, str]:
    """Read a Java properties file; brackets and commas in it are data. Raises UsageError with the file and the line."""
    from console.model.java_properties import parse_properties

    shown = path[:200]
    try:
        with Path(path).expanduser().open("rb") as file:
            content = file.read(_FILE_LIMIT + 1)
        text = content.decode("latin-1")  # java.util.Properties reads a stream as Latin-1
        if len(content) > _FILE_LIMIT:
            raise command_line.UsageError(f"{shown} is no properties file: it has more than {_FILE_LIMIT:,} bytes")
        return {entry.key: entry.value for entry in parse_properties(text)}
    except OSError as error:
        raise command_line.UsageError(
            f"{shown} can't be read: {error.strerror or error}", "see --add-config-file"
        ) from None
    except ValueError as error:
        raise command_line.UsageError(f"{shown}: {error}") from None


# ``kac configs``: kafka-configs' command line.

OLD_COMMANDS = ("kafka-configs", "kafka-configs.sh")


def main(argv: Sequence[str], options: argparse.Namespace) -> int:
    """Run ``kac configs``.

    Args:
        argv: the arguments after the word ``configs``.
        options: the options before the word ``configs``.

    Returns:
        The exit code: 0 done, 1 not done or invalid arguments, as in kafka-configs.
    """
    if os.environ.get("USE_OLD_COMMAND", "").lower() == "true":
        return _run_old(argv)

    def context(arguments: command_line.Arguments) -> Context | None:
        return context_of(connection(arguments, options))

    open_log_file()
    return ConfigsCommand(context, command_client).run(argv)


def connection(arguments: command_line.Arguments, before: argparse.Namespace) -> argparse.Namespace:
    """Return the options that name a cluster, in the form that all commands use. Raises UsageError: they name two
    clusters.

    Args:
        before: the options before the word ``configs``.
    """
    found = argparse.Namespace(**vars(before))
    for name in ("bootstrap-server", "bootstrap-controller", "context", "command-config"):
        value = arguments.value(name)
        if value is not None:
            given = Path(value) if name == "command-config" else value
            if getattr(found, name.replace("-", "_"), given) != given:  # given before and after `configs`
                raise command_line.UsageError(f"Found multiple arguments for option {name}, but you asked for only one")
            setattr(found, name.replace("-", "_"), given)
    for flag in ("read-only", "no-journal"):
        if arguments.has(flag):
            setattr(found, flag.replace("-", "_"), True)
    return found


def _run_old(argv: Sequence[str]) -> int:
    """Replace this process by the kafka-configs on PATH, as KIP-248's USE_OLD_COMMAND requires. If that fails, print
    the reason and return the exit code.
    """
    name = next(filter(is_found, OLD_COMMANDS), OLD_COMMANDS[0])
    try:
        become(of_user([name, *argv]))
    except FileNotFoundError:
        complain("USE_OLD_COMMAND=true, but there is no kafka-configs on PATH: put Kafka's bin there, or unset it")
    except OSError as error:
        complain(f"USE_OLD_COMMAND=true, but {name} can't be run: {error.strerror}")
    return FAILED
