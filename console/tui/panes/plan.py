"""The pane of the plan: every staged edit as old value → new value, with keys to check, apply and discard edits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable
from contextlib import suppress
from typing import NamedTuple

from textual.app import ComposeResult

from console.language.statements import subject_text
from console.model.changes import Target
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.derived import same
from console.model.numbers import time_of_day
from console.model.quota import QuotaEntity
from console.plan.compile import compile_plan
from console.plan.diff import diff
from console.plan.edits import Slot
from console.plan.effective_values import DiffGroup as PlannedGroup
from console.plan.requests import Facts
from console.present import plan_rows
from console.present.names import plural, target
from console.present.text import Line
from console.session.plan_facts import GOOD_FOR, facts_so_far, read_for_risks
from console.session.retention_reading import deletions_so_far, read_deletions
from console.tui import keymap
from console.tui.panes.details import NONE, arranged
from console.tui.panes.view import View
from console.tui.plan_script import RUNBOOK, SCRIPT, runbook_lines, script_lines
from console.tui.reading import start
from console.tui.text_lines import TextLines, clipped, rule, wrap_all
from console.tui.tools import Tools
from widgets.diff_view import DiffGroup, DiffLine, DiffView
from widgets.line_view import LineView

EMPTY = "nothing is staged\n\ne on a config or a quota stages an edit; so do set, unset, create… after :"


class AppliedKey(NamedTuple):
    """The key of the line of an applied edit; `staged` is the key that the line had while the edit was staged."""

    staged: Hashable


class PlanView(View):
    """The staged edits, grouped by entity, with the outcomes of the last check or apply."""

    NAME = keymap.PLAN
    TITLE = "plan"
    ENTER = "go to"
    OF_CLUSTER = False

    def __init__(self, tools: Tools) -> None:
        self.list = DiffView(empty=EMPTY, markable=False)
        self.below = TextLines(classes="details")
        super().__init__(tools.cluster, self.list)
        self._navigator, self._editing, self._message = tools.navigator, tools.editing, tools.message
        self._groups: tuple[PlannedGroup, ...] = ()
        self._meaning = plan_rows.NOTHING_MEANT
        self._meant: tuple[object, ...] = ()
        self._meant_at = 0.0
        self._requests: int | None = None

    def compose(self) -> ComposeResult:
        """Yield the breadcrumbs, the edits, and the widget of the plan as commands."""
        yield self.where
        yield self.list
        yield self.below

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the plan, the last apply, and the present state of the
        entities that the plan changes.
        """
        known = self.snapshot
        return self.plan, self.session.applied, known.configs, known.quotas, known.acls, known.topics

    async def read(self) -> None:
        """Read the configs and quotas that the plan changes, so that other clients' changes are visible. Raises
        AdminError.
        """
        resources = {t for s in self.plan.staged if isinstance(t := s.edit.target, ConfigResource)}
        if CLUSTER_DEFAULT in resources:  # the rows show whether brokers inherit the value
            resources |= set(map(broker_resource, self.cluster.answering()))
        there = [r for r in sorted(resources) if topic_resource(r.name) != r or r.name in self.snapshot.topics]
        session = self.session
        await session.read_configs(there)
        if any(isinstance(staged.edit.target, QuotaEntity) for staged in self.plan.staged):
            await session.read_quotas()
        if self.plan.staged and time.monotonic() - self._meant_at > GOOD_FOR:
            self._find_meaning()

    def _find_meaning(self) -> None:
        """Compute the effects and risks of the plan, in a worker: with many quotas and topics that takes seconds."""
        self._meant_at = time.monotonic()
        start(self, self._mean, group="meaning", name="meaning", exclusive=True)

    async def _mean(self) -> None:
        from console.admin.errors import AdminError

        session = self.session

        def mean() -> plan_rows.PlanMeaning:
            staged, snapshot = session.plan.staged, session.snapshot
            deletions = deletions_so_far(session.retention, staged, snapshot)
            return plan_rows.meaning_of(
                staged, snapshot, deletions, facts_so_far(session.risk_reading, session.context)
            )

        # Show effects and risks that follow from the snapshot first, and again if the reads below add facts.
        self._show_meaning(await asyncio.to_thread(mean))
        before = session.retention, session.risk_reading
        with suppress(AdminError):  # other reads report a lost cluster, and an apply reads these facts again
            await read_for_risks(session, session.plan.staged)
        await read_deletions(session)
        if (session.retention, session.risk_reading) != before:
            self._show_meaning(await asyncio.to_thread(mean))

    def _show_meaning(self, meaning: plan_rows.PlanMeaning) -> None:
        if meaning != self._meaning:
            self._meaning = meaning
            self.redraw()

    def draw(self) -> None:
        """Draw the staged edits, and below them the edits of the last apply."""
        plan, known = self.plan, self.snapshot
        meant = (plan.staged, known.configs, known.quotas, known.topics, known.cluster)
        if plan.staged and not same(meant, self._meant):
            self._meant = meant
            self._find_meaning()
        self._groups = diff(plan, known)
        self._requests = len(compile_plan(plan, Facts(configs=known.configs))) if plan.staged else None
        groups = [
            DiffGroup(group.key, group.title, [_line(row) for row in group.rows])
            for group in plan_rows.plan_groups(self._groups, plan, known, self._meaning)
        ]
        shown = [*groups, *self._applied()]
        if self.only_trouble:
            shown = [replaced for group in shown if (replaced := _failed(group)).lines]
        self.list.empty = self.trouble.calm("no edit was refused", "") if self.only_trouble and groups else EMPTY
        self.list.set_groups(shown)
        self._show_commands()

    def on_resize(self) -> None:
        """Set the places and sizes of the edits and the commands."""
        self._show_commands()

    def _show_commands(self) -> None:
        """Show the plan as commands in the lines that the edits leave free."""
        width, height = arranged(self, self.list, self.below, NONE)
        # Make as many commands as lines: together with the title that is one more than fits, so that `clipped` adds …
        lines = script_lines(self.plan, height) if self.plan.staged and height > 1 else []
        self.below.display = bool(lines)
        title = rule(f"{SCRIPT}: s", width - 2)
        self.below.set(*([(" ", ""), *line] for line in clipped([title, *wrap_all(lines, width - 2, 2)], height)))

    def _applied(self) -> list[DiffGroup]:
        """Return the edits of the last apply; empty before the first apply, and once another edit is staged."""
        applied = self.session.applied
        if applied is None:
            return []
        at = time_of_day(applied.at)
        return [
            DiffGroup(
                AppliedKey(group.key), f"{group.title}   applied {at}", [_applied_line(row) for row in group.rows]
            )
            for group in plan_rows.plan_groups(applied.groups, applied.plan, self.snapshot)
        ]

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the numbers of edits and requests, and the outcome of the check."""
        applied = self.session.applied
        if not self.plan.staged and applied is not None:
            back: Line = [(f":{applied.back}  ", "strong")] if applied.back else []
            return [*back, ("nothing is staged", "muted")]
        return plan_rows.tally(self.plan, self._requests)

    # -- actions -------------------------------------------------------------------------------------------------------

    @property
    def slot(self) -> Slot | None:
        """The entity and config key of the edit under the cursor; None on the title of an entity."""
        key = self.list.cursor_key
        return key.slot if isinstance(key, plan_rows.RowKey) else None

    @property
    def about(self) -> Target | None:
        """The entity of the line under the cursor; None if there are no lines."""
        key = self.list.cursor_key
        if isinstance(key, AppliedKey):
            key = key.staged
        if isinstance(key, plan_rows.RowKey):
            return key.slot.target
        return key[1] if isinstance(key, tuple) else None

    def target(self) -> ConfigResource | QuotaEntity | None:
        """Return the entity under the cursor, for a command that names no entity; None if the entity has neither
        configs nor quotas.
        """
        about = self.about
        return about if isinstance(about, ConfigResource | QuotaEntity) else None

    def do_drop(self) -> None:
        """Discard the edit under the cursor; on a title, all edits of the entity. For an applied edit, only show how to
        revert it.
        """
        about, slot = self.about, self.slot
        if about is None:
            return
        if isinstance(self.list.cursor_key, AppliedKey):
            applied = self.session.applied
            back = f"; :{applied.back}" if applied is not None and applied.back else ""
            self._message.say(f"this was applied already{back}", "muted")
            return
        count = self.session.discard(about, slot.key if slot else None)
        self._message.say(f"taken out of the plan: {plural(count, 'edit')} of {target(about)}; `u` puts back")

    def do_drop_all(self) -> None:
        """Discard all staged edits."""
        count = self.session.discard()
        self._message.say(f"taken out of the plan: {plural(count, 'edit')}; `u` puts back")

    def do_edit(self) -> None:
        """Open the command bar with the command that sets the config or quota under the cursor to another value; on
        a title, with the command that sets a config or quota of the entity. For any other edit, show a message
        how to change it.
        """
        about, slot = self.target(), self.slot
        if about is None:
            self._message.say("this is changed by taking it out and staging it again", "muted")
            return
        self._editing.begin_set([about], slot.key if slot else "")

    def do_go_to(self) -> None:
        """Show the entity of the edit."""
        self._navigator.open_target(self.about)

    def do_script(self) -> None:
        """Show the plan as commands of kac's language on a screen above the panes."""
        lines = script_lines(self.plan)
        self.show_text(SCRIPT, lambda _width: lines)

    def do_runbook(self) -> None:
        """Show the plan as commands of Kafka's own tools on a screen above the panes."""
        lines = runbook_lines(self.plan, self.snapshot, self.session.context.settings)
        self.show_text(RUNBOOK, lambda _width: lines)

    def on_line_view_selected(self, message: LineView.Selected) -> None:
        """Show the entity of the edit."""
        message.stop()
        self.do_go_to()

    def copied(self) -> str:
        """Return the text that `y` copies: the entity under the cursor in the syntax of commands; ``""`` if it has
        neither configs nor quotas.
        """
        about = self.target()
        return subject_text(about) if about is not None else ""


def _line(row: plan_rows.PlanRow) -> DiffLine:
    return DiffLine(row.key, row.name, row.old, row.new, row.status, row.note, row.below, row.arrow)


def _failed(group: DiffGroup) -> DiffGroup:
    """Return the group with only those of its edits that failed or whose outcome is unknown."""
    refused = [line for line in group.lines if isinstance(line.status, tuple) and line.status[1] == "failed"]
    return group._replace(lines=refused)


def _applied_line(row: plan_rows.PlanRow) -> DiffLine:
    return _line(row)._replace(key=AppliedKey(row.key))
