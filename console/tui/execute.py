"""Execution of the commands of the command bar, with the parser, checks and plan of `kac run`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from console.answers.queries import answer
from console.answers.results import Result, render
from console.language import statements as language_statements
from console.language.errors import CommandError, LanguageError
from console.language.given_files import with_file
from console.language.interpret import to_edits
from console.language.needs import needs
from console.language.operation_words import BeginOperation
from console.language.panes import View
from console.language.secret_values import resolve_secrets
from console.language.verbs.analyze import Analyze
from console.language.verbs.apply import Apply
from console.language.verbs.check import Check
from console.language.verbs.discard import Discard
from console.language.verbs.go import AtTime, Help, Record, UseContext, UseTheme
from console.language.verbs.history import History
from console.language.verbs.leave import Quit
from console.language.verbs.operations import AskOfOperation
from console.language.verbs.plan import ShowPlan
from console.language.verbs.records import Records
from console.language.verbs.redrive import BeginRedrive
from console.language.verbs.revert import Revert
from console.language.verbs.undo import Redo, Undo
from console.language.verbs.watch import Watch
from console.model.config import ConfigResource
from console.model.secret import Secret
from console.plan.edits import Edit
from console.present.failures import failure_text
from console.present.text import Line, clean
from console.session.reading import read_needs
from console.tui import keymap
from console.tui.editing import Cancelled, Editing
from console.tui.keep_record import keep_record
from console.tui.places import analysis_of, pane_named, records_in, view_place
from console.tui.plan_script import RUNBOOK, runbook_lines
from widgets.row_table import BadQuery, parse_query

if TYPE_CHECKING:
    from textual.app import App

    from console.contexts import Context
    from console.model.snapshot import Snapshot
    from console.tui.applying import Applying
    from console.tui.navigator import Navigator
    from console.tui.operating import Operating
    from console.tui.theme_choice import ThemeChoice
    from console.tui.watch import ShownCluster


_PANE_OF = {"configs": keymap.ENTITIES}


class Executor:
    """Executes the statements of one line in order. The first that fails ends the line; the bar or the message line
    shows its error.
    """

    def __init__(
        self,
        app: App[Context],
        cluster: ShownCluster,
        navigator: Navigator,
        editing: Editing,
        applying: Applying,
        operating: Operating,
        themes: ThemeChoice,
        *,
        go_to_time: Callable[[str], None],
    ) -> None:
        """Create the executor.

        Args:
            app: shows texts on a screen above the panes.
            cluster: the visible session and its reads.
            navigator: shows other views.
            editing: stages edits.
            applying: checks and applies the plan.
            operating: begins operations.
            themes: applies themes.
            go_to_time: shows the cluster at another time of a record, given as typed.
        """
        self._app, self._cluster, self._session = app, cluster, cluster.session
        self._navigator, self._editing = navigator, editing
        self._applying, self._operating, self._themes = applying, operating, themes
        self._message, self._go_to_time = editing.message, go_to_time
        self._left_out: list[str] = []
        self._kept: list[str] = []
        self._made: list[tuple[Sequence[Edit], Snapshot]] = []

    async def run(self, statements: Sequence[language_statements.Statement]) -> LanguageError | None:
        """Execute statements in order. The edits of adjacent statements are staged together, so that one undo discards
        them.

        Returns:
            An error of the language with its position; None on success, and for other errors, which the message line
            shows.
        """
        from console.admin.errors import AdminError
        from console.session.snapshot_reader import Refused

        edits: list[Edit] = []
        self._made = []
        try:
            for statement in statements:
                more = await self._one(statement, edits)
                edits = [*edits, *more] if more is not None else []
            self._stage(edits)
        except LanguageError as error:
            if kept := self._take_kept():
                self._message.say(f"nothing was staged{kept}", "muted")
            return error
        except (AdminError, Refused) as error:
            self._message.say(failure_text(error.failure) + self._take_kept(), "failed")
        except Cancelled:
            self._message.say(f"nothing was staged{self._take_kept()}", "muted")
        return None

    def _stage(self, edits: Sequence[Edit], lasts_ms: int | None = None) -> None:
        """Stage the edits of adjacent statements.

        Args:
            lasts_ms: milliseconds from the apply until the edits are due to be reverted; None for edits that stay.

        Raises:
            CommandError: the cluster has changed since an edit was computed from it.
        """
        from console.language.verbs.passed_over import refuse_outdated

        made, self._made = self._made, []
        for some, snapshot in made:
            refuse_outdated(some, snapshot, self._session.snapshot)
        if edits:
            self._editing.stage(edits, lasts_ms, self._left_out, kept=self._take_kept())
            self._left_out = []

    def _take_kept(self) -> str:
        """Return the text about files that were written since the last call, to append to a message; ``""`` without
        such files.
        """
        kept, self._kept = self._kept, []
        return "".join(f"; {each}" for each in kept)

    def _selected(self) -> list[language_statements.Subject | None]:
        """Return the entities for a command that names no entity: all visible marked ones, or the one under the cursor;
        a list with only None if no entity is marked or under the cursor.

        Raises:
            CommandError: all marked rows are hidden.
        """
        targets, hidden = self._navigator.view.targets(), self._navigator.view.left_out()
        if hidden and not targets:
            names = ", ".join(hidden[:3]) + (f" and {len(hidden) - 3} more" if len(hidden) > 3 else "")
            raise CommandError(f"what is marked is not shown: {names}", "Esc takes a filter away; or name the entity")
        return [*targets] or [None]

    async def _one(self, statement: language_statements.Statement, before: Sequence[Edit]) -> list[Edit] | None:
        """Execute one statement. before: the edits of adjacent statements before it, which are not staged yet.

        Returns:
            The edits of the statement, which the caller stages together with adjacent ones. None for a temporary edit
            and for a statement without edits: these are executed completely, after `before` was staged.
        """
        if isinstance(statement, language_statements.EditStatement):
            if statement.holds_ms is not None:
                self._stage(before)
                self._stage(await self._edits(statement, ()), statement.holds_ms)
                return None
            return await self._edits(statement, before)
        self._stage(before)
        await self._carry_out(statement)
        return None

    async def _carry_out(self, statement: language_statements.Statement) -> None:
        """Execute a statement that has no edits: about the plan, the view or kac itself."""
        session = self._session
        match statement:
            case Watch():
                await self._watch(statement)
            case language_statements.QueryStatement():
                selected = self._selected()[0]
                await read_needs(session, needs(statement, selected), sparing=True)
                self._show(answer(statement, session.snapshot, plan=session.plan, selected=selected), statement)
            case Records():
                await self._records(statement)
            case Analyze():
                await self._analyze(statement)
            case ShowPlan(runbook=True):
                lines = runbook_lines(session.plan, session.snapshot, session.context.settings)
                self._show_text(RUNBOOK, lambda _width: lines)
            case ShowPlan():
                await self._navigator.goto(pane_named(keymap.PLAN))
            case Check():
                self._applying.do_check()
            case Apply(valid_only=valid_only, force=force):
                if session.plan:
                    self._applying.do_apply(valid_only, force)
                else:
                    self._message.say("nothing is staged", "muted")
            case Discard(entity=entity, key=key):
                count = session.discard(entity.subject if entity else None, key.name if key else None)
                self._message.say(f"taken out of the plan: {count}; `u` puts back")
            case Undo():
                self._editing.do_undo()
            case Redo():
                self._editing.do_redo()
            case Revert(change=change):
                await self._editing.revert(change, statement.span)
            case History(entity=entity, filter=text):
                await self._show_history(entity, text)
            case View(pane=name, filter=text):
                await self._view(_PANE_OF.get(name, name), text)
            case BeginOperation(goal=goal, throttle=throttle):
                self._operating.ask_and_begin(goal, throttle)
            case BeginRedrive(goal=redrive, most=most):
                self._operating.ask_and_redrive(redrive, most)
            case AskOfOperation(number=number, throttle=throttle, pause=pause):
                gives_up = throttle is None and pause is None
                self._operating.do_ask(number, throttle=throttle, give_up=gives_up, pause=pause)
            case UseContext(name=name):
                self._applying.ask_and_switch(name)
            case UseTheme(name=name):
                self._themes.choose(name)
            case Record(file=file):
                cluster_id = session.snapshot.cluster.cluster_id or ""
                await keep_record(session.recorder, session.context.name, cluster_id, self._message.say, file)
            case AtTime(time=time):
                self._go_to_time(time)
            case Help(word=word):
                self._help(word)
            case Quit():
                self._applying.do_quit()

    async def _edits(self, statement: language_statements.EditStatement, before: Sequence[Edit]) -> list[Edit]:
        """Return the edits of a statement. before: the edits of the statements before it, which are not staged yet."""
        from console.plan.plan import stage
        from console.session.record_writing import with_records

        session = self._session
        session.refuse_if_read_only()
        statement = await asyncio.to_thread(with_file, statement)
        edits: list[Edit] = []
        plan = session.plan
        secrets: dict[str, Secret] | None = None
        # If the statement needs an entity and names none, execute it for each marked entity.
        left_out = statement.leaves_out_entity
        self._left_out = self._navigator.view.left_out() if left_out else []
        for selected in self._selected() if left_out else [None]:
            await read_needs(session, needs(statement, selected), sparing=True)
            # Use this snapshot for the whole statement: the screen's reads replace the session's while this waits, and
            # the edits must match the records that were read.
            snapshot = session.snapshot
            if secrets is None:
                secrets = await resolve_secrets(statement, self._ask_hidden)
                statement = await with_records(
                    session.records, session.context, statement, secrets, snapshot, self._kept.append
                )
                # Include the edits of the statements before, so that new batches of records get numbers after theirs.
                plan = stage(session.plan, before, snapshot).plan if before else session.plan
            made = to_edits(statement, snapshot, selected=selected, plan=plan, secrets=secrets)
            self._made.append((made, snapshot))
            edits += made
        return edits

    async def _ask_hidden(self, slot: language_statements.SecretSlot) -> Secret:
        return await self._editing.ask_secret(slot.prompt)

    async def _view(self, name: str, text: str) -> None:
        if name == keymap.FIND:
            if not text:
                raise CommandError("find needs a text, for example: find orders", "")
            try:
                parse_query(text)
            except BadQuery as error:
                raise CommandError(str(error), "") from None
            await self._navigator.goto(self._navigator.view.place._replace(view=keymap.FIND, about=text))
            return
        selected = self._navigator.view.targets()
        if name == keymap.ENTITIES and selected and isinstance(selected[0], ConfigResource):
            # With an entity under the cursor or marked, `configs` shows its configs, as the verb's help says.
            self._navigator.open_resource(selected[0])
            return
        await self._navigator.goto(view_place(name))
        self._filter(text)

    def _filter(self, text: str) -> None:
        try:
            self._navigator.view.take_filter(text)
        except ValueError as error:
            raise CommandError(str(error), "") from None

    async def _watch(self, statement: Watch) -> None:
        context, watching = self._session.context, self._cluster.watching()
        if statement.set and statement.set not in context.watch:
            known = ", ".join(clean(each, 60) for each in context.watch)
            raise CommandError("the context has no such set", f"it has {known}" if known else "", statement.span)
        if statement.set:
            from console.tui.watching import subjects_in

            watching.begin(subjects_in(context, statement.set), statement.set)
        elif statement.subjects:
            watching.begin(statement.subjects)
        await self._navigator.goto(view_place(keymap.WATCH))
        self._navigator.view.update()
        self._cluster.reading.tick()

    async def _records(self, statement: Records) -> None:
        from console.session.record_reading import refuse_if_never

        refuse_if_never(self._session.context)
        await self._navigator.goto(records_in(pane_named(keymap.TOPICS), statement))

    async def _analyze(self, statement: Analyze) -> None:
        from console.session.record_reading import refuse_if_never

        refuse_if_never(self._session.context)
        self._cluster.analyses().begin(statement)
        await self._navigator.goto(analysis_of(pane_named(keymap.TOPICS), statement.topic))

    async def _show_history(self, entity: language_statements.Entity | None, text: str) -> None:
        try:
            await self._navigator.show_history(entity.subject if entity is not None else None, text)
        except ValueError as error:
            raise CommandError(str(error), "") from None

    def _show_text(self, title: str, make: Callable[[int], Sequence[Line]]) -> None:
        from console.tui.screens import TextScreen

        self._app.push_screen(TextScreen(title, make))

    def _show(self, result: Result, statement: language_statements.Statement) -> None:
        from console.language.unparse import unparse

        lines: list[Line] = [[(line, "")] for line in render(result).splitlines()]
        self._show_text(unparse(statement), lambda _width: lines)

    def _help(self, word: str) -> None:
        from console.language.verb_help import verb_lines

        self._show_text(f"help {word}".strip(), lambda width: verb_lines(word, width))
