"""An agent's proposals: statements that are staged and forecast in a temporary session, and written as a plan file,
which a person may apply.

The brokers check the plan as for `kac plan`, by validate-only requests, which change nothing; the client refuses every
other request that would change the cluster.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.answers.results import to_data
from console.cli.mcp.queries import Answered, Queries
from console.language.errors import CommandError, LanguageError
from console.language.grammar import parse, read
from console.language.needs import needs_of_script
from console.language.quoting import shell_line
from console.language.statements import EditStatement, QueryStatement, Statement
from console.language.verbs import kind_of
from console.language.verbs.analyze import Analyze
from console.language.verbs.records import Records
from console.model.changes import Outcome
from console.model.failure import Failure, sentences
from console.model.numbers import Data
from console.plan.plan import EMPTY, Staging
from console.present import names
from console.session.reading import read_needs

if TYPE_CHECKING:
    from console.answers.plan_results import Deletions
    from console.contexts import Context
    from console.model.snapshot import Snapshot
    from console.plan.plan import Plan
    from console.plan.reconcile import StepResult
    from console.plan.risk_rules import Risk
    from console.plan.staged import Refusal

LONGEST, MOST_STATEMENTS, MOST_EDITS = 20_000, 200, 2_000
"""Maximum length of a proposal in characters, its maximum number of statements, and the maximum number of edits that
these stage: a person has to read them."""
LONGEST_LINE = 1_000
"""Maximum length in characters of a script within a command line that is shown for a person."""
MOST_FILES = 200
"""Maximum number of plan files that one server writes."""


class NotProposed(Exception):
    """A proposal was not written; the text is the reason. data: the brokers' responses, if they checked the plan; if
    raised by `Proposals.propose`, also the proposed statements.
    """

    def __init__(self, failure: Failure, data: Mapping[str, Data] | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.data = data


class Proposals:
    """Makes plan files from statements, all in one folder, which is chosen when the server starts."""

    def __init__(self, queries: Queries, folder: Path | None, connection: Sequence[str]) -> None:
        """Create the maker of plan files.

        Args:
            queries: the queries of the same cluster.
            folder: the folder for the plan files; None for kac's own folder.
            connection: the command-line options that name this cluster.
        """
        self._queries = queries
        self._named = folder
        self._connection = tuple(connection)
        self._numbers = count(1)

    async def propose(self, text: str) -> Answered:
        """Write a plan file for the changes that statements would make, and return the changes with the file's path.

        Raises:
            NotProposed: the text is invalid, contains a statement that can't be proposed, or stages nothing; the
                brokers refuse the plan; or the file can't be written. The error's data repeat the statements, and its
                remedy names a command for a person.
            Refused, AdminError: as for reads.
        """
        try:
            return await self._proposed(text)
        except LanguageError as error:
            failure, data = Failure("NOT_UNDERSTOOD", error.placed, error.hint), None
        except NotProposed as error:
            failure, data = error.failure, error.data
        told = f"A person may run: {line_of_person(text, self._connection)}"
        remedy = f"{failure.remedy.rstrip('.')}. {told}" if failure.remedy else told
        raise NotProposed(replace(failure, remedy=remedy), {"asked": text, **(data or {})})

    async def _proposed(self, text: str) -> Answered:
        """Do the work of `propose`. Raises LanguageError in addition to the errors of `propose`."""
        from console.plan.risks import risks
        from console.session.checking import checked
        from console.session.plan_facts import read_for_risks
        from console.session.retention_reading import read_deletions

        statements = edits_of(text)
        session = self._queries.session()
        await read_needs(session, needs_of_script(statements))
        self._queries.pin(session.snapshot.cluster.cluster_id)
        plan, not_needed, replaced = await asyncio.to_thread(_staged, statements, session.snapshot)
        if not plan:
            why = "; ".join(not_needed) or "it stages nothing"
            raise NotProposed(Failure("NO_CHANGE", why, "Nothing has to be changed."))
        session.replan(plan)
        facts = await read_for_risks(session, plan.staged)
        found = await asyncio.to_thread(risks, plan.staged, session.snapshot, facts)
        deletions = await read_deletions(session)
        forecast = await asyncio.to_thread(_forecast, plan, session.snapshot, found, deletions)
        results = await checked(session.client, plan, session.snapshot)
        said: dict[str, Data] = {**forecast, "checks": _checks(results), "not_needed": not_needed}
        if refused := _refusals(results):
            what = f"the brokers refuse it: {refused[0]}" + (f" (and {len(refused) - 1} more)" if refused[1:] else "")
            raise NotProposed(Failure("REFUSED", what, "Propose it again without what they refuse."), said)
        path = await asyncio.to_thread(self._keep, plan, session.snapshot.cluster.cluster_id or "")
        return Answered(
            {
                "file": str(path),
                "command": shlex.join(["kac", "apply", *self._connection, "-f", str(path)]),
                "edits": len(plan),
                "statements": [_text_of(each) for each in statements],
                **said,
            },
            (*replaced, _next(session.context)),
        )

    def _keep(self, plan: Plan, cluster_id: str) -> Path:
        """Write the plan file, and return its path. Raises NotProposed: `MOST_FILES` files were written already, the
        file can't be written, or the plan has a secret.
        """
        from console.files.plan_file import write_plan
        from console.log_file import state_directory
        from console.safe_files import PRIVATE, private_folder, write_whole

        number = next(self._numbers)
        if number > MOST_FILES:
            what = f"{MOST_FILES} proposals were written already"
            raise NotProposed(Failure("TOO_MANY", what, "A person looks at those first, and starts kac mcp again."))
        folder = self._named or state_directory(os.environ) / "proposals"
        path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}-{number}.json"
        try:
            if self._named is None:
                private_folder(folder)
            write_whole(path, write_plan(plan, cluster_id), PRIVATE)
        except OSError as error:
            raise NotProposed(
                Failure("NOT_WRITTEN", f"can't write {path}: {error.strerror or error}", "A person mends that.")
            ) from error
        except ValueError as error:  # the plan has a secret, which must not be in a file
            raise NotProposed(Failure("SECRET", str(error), "A person sets it.")) from error
        return path


def line_of_person(text: str, connection: Sequence[str]) -> str:
    """Return a command line that shows the answers or the planned changes of these statements to a person.

    The command applies nothing. If the text contains a statement that is neither an edit nor a query, the line only
    opens the console.

    Args:
        text: statements of the command language.
        connection: the options of kac that name the cluster.
    """
    reading = read(text) if len(text) <= LONGEST else None
    found = [each.statement for each in reading.statements if each.statement] if reading else []
    shown = bool(found) and reading is not None and not reading.errors
    if not shown or not all(isinstance(each, EditStatement | QueryStatement | Records | Analyze) for each in found):
        return shell_line("kac", *connection)
    lines = [_text_of(each) for each in found]
    if any(isinstance(each, EditStatement) for each in found):
        lines.append("plan")
    script = "; ".join(lines)
    return shell_line("kac", *(["run", *connection, "-e", script] if len(script) <= LONGEST_LINE else connection))


def edits_of(text: str) -> tuple[EditStatement, ...]:
    """Return the statements of a proposal. Reads neither the cluster nor any file.

    Raises:
        LanguageError: the text is invalid, has more than 20,000 characters (`LONGEST`) or 200 statements
            (`MOST_STATEMENTS`), or has a statement that stages no edit, needs a secret, reads a file, or makes a change
            of limited duration.
    """
    if len(text) > LONGEST:
        long = f"it has {len(text):,} characters; a proposal has at most {LONGEST:,}"
        raise CommandError(long, "propose it in parts")
    found = parse(text)
    if len(found) > MOST_STATEMENTS:
        many = f"it has {len(found):,} statements; a proposal has at most {MOST_STATEMENTS}"
        raise CommandError(many, "propose it in parts")
    return tuple(_edit(each) for each in found)


def _edit(statement: Statement) -> EditStatement:
    """Return the statement if it can be proposed. Raises CommandError: it can't."""
    text = _text_of(statement)
    if isinstance(statement, QueryStatement):
        raise CommandError(f"'{text}' only looks", "ask with the tools that look", statement.span)
    if not isinstance(statement, EditStatement):
        hint = "propose the changes alone; applying, checking and taking back is what a person does"
        raise CommandError(f"'{text}' can't be proposed: it stages no edits", hint, statement.span)
    if slots := kind_of(statement).secrets(statement):
        keys = ", ".join(slot.key for slot in slots)
        raise CommandError(f"'{text}' needs a secret ({keys})", "a person sets it, in kac", statement.span)
    if statement.writes_records:
        what = f"'{text}' writes records, and a proposal may not have their contents"
        raise CommandError(what, "a person writes them, in kac", statement.span)
    if statement.reads_file:
        raise CommandError(
            f"'{text}' reads a file of this host", "write its contents into the statement", statement.span
        )
    if statement.holds_ms is not None:
        hint = "leave out `for …`: a person may set the time"
        raise CommandError(f"'{text}' holds for a time, which a plan file does not keep", hint, statement.span)
    return statement


def _text_of(statement: Statement) -> str:
    from console.language.unparse import unparse

    return unparse(statement)


def _staged(statements: Iterable[EditStatement], snapshot: Snapshot) -> tuple[Plan, list[str], list[str]]:
    """Return the plan for statements, a line for each edit that would change nothing, and a line for each value that a
    later statement replaced.

    Args:
        snapshot: a snapshot with the parts that the statements need.

    Raises:
        LanguageError: a statement has names or values that do not exist or are invalid on the cluster.
        NotProposed: an edit is refused, or there are more than 2,000 edits (`MOST_EDITS`).
    """
    from console.answers.plan_results import dropped_lines
    from console.language.interpret import to_edits

    staging = Staging(EMPTY, snapshot)
    not_needed: list[str] = []
    replaced: dict[str, None] = {}
    refused: list[Refusal] = []
    for statement in statements:
        report = staging.stage(to_edits(statement, snapshot, plan=staging))
        not_needed += dropped_lines(report.dropped)
        refused += report.refused
        replaced |= dict.fromkeys(f"{names.target(each.edit.target)} {each.edit.key}" for each in report.replaced)
        if len(staging.draft.staged) > MOST_EDITS:
            what = f"it stages more than {MOST_EDITS:,} edits"
            raise NotProposed(Failure("TOO_MANY", what, "Propose it in parts."))
    if refused:
        raise NotProposed(_refusal(refused))
    remarks = [
        f"{each.rstrip()} is in several statements: the plan has what the last one makes of it" for each in replaced
    ]
    return staging.plan(), not_needed, remarks


def _refusal(refused: Sequence[Refusal]) -> Failure:

    first = refused[0]
    what = f"{names.target(first.edit.target)} {first.edit.key}".rstrip()
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    return Failure("REFUSED", f"{what}: {sentences(first.reason, first.remedy)}{more}", "Propose it otherwise.")


def _forecast(plan: Plan, snapshot: Snapshot, risks: Iterable[Risk], deletions: Deletions) -> dict[str, Data]:
    """Return the effects of a plan as JSON: the fields of `kac plan --output json`, with the deleted data.

    Args:
        deletions: edit -> the data that it deletes.
    """
    from console.answers.plan_results import effect_lines, loss_lines, plan_table
    from console.plan.risks import effects

    return {
        **to_data(plan_table(plan, snapshot, deletions)),
        "risks": [_risk(each) for each in risks],
        "also_changes": effect_lines(effects(plan.staged, snapshot)),
        "no_way_back": loss_lines(plan.staged),
    }


def _risk(risk: Risk) -> dict[str, Data]:

    slot = risk.slot
    return {
        "name": risk.name,
        "entity": names.target(slot.target),
        "of_key": slot.key,
        "text": risk.text,
        "accepted_as": risk.accepted_as,
    }


def _checks(results: Iterable[StepResult]) -> list[Data]:

    return [
        {
            "entity": names.target(outcome.target),
            "state": outcome.status.value,
            "error": outcome.failure.name if outcome.failure else None,
            "message": outcome.failure.message if outcome.failure else None,
        }
        for result in results
        for outcome in result.outcomes
    ]


def _refusals(results: Iterable[StepResult]) -> list[str]:
    """Return a line for each change that brokers refuse. A change that they refuse only because this principal lacks
    the right has no line: a person with the right may apply it.
    """

    return [
        f"{names.target(outcome.target)}: {outcome.failure}"
        for result in results
        for outcome in result.outcomes
        if _is_refused(outcome)
    ]


def _is_refused(outcome: Outcome) -> bool:
    failure = outcome.failure
    return not outcome.ok and (failure is None or not failure.name.endswith("_AUTHORIZATION_FAILED"))


def _next(context: Context) -> str:
    told = "nothing was changed: a person reads the plan file and applies it with the command, or not"
    if context.read_only:
        told += f"; context {context.name} is read-only, so that takes one that is not"
    return told
