"""Edits from the screen: staged in the plan by a key, or begun as a command that the operator completes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from console.present.failures import failure_text, left_out_text, spared_text, staged_text
from console.present.names import plural
from console.present.text import clean
from console.session.snapshot_reader import Refused
from console.tui.text_lines import MessageLine

if TYPE_CHECKING:
    from console.language.statements import Subject
    from console.language.tokenizer import Span
    from console.model.secret import Secret
    from console.plan.edits import Edit
    from console.tui.watch import ShownCluster


class Cancelled(Exception):
    """The operator cancelled a prompt for a secret."""


class Editing:
    """Changes the plan of the visible session, and reports on the message line. It sends no requests that change the
    cluster.
    """

    def __init__(
        self,
        cluster: ShownCluster,
        message: MessageLine,
        begin: Callable[[str], None],
        ask_secret: Callable[[str], Awaitable[Secret | None]],
    ) -> None:
        """Create the object for the session of a cluster.

        Args:
            cluster: the visible session.
            message: the message line.
            begin: opens the command bar with the beginning of a command.
            ask_secret: prompts for a secret without echo; returns None if the operator cancels.
        """
        self._session, self.message, self.begin, self._ask = cluster.session, message, begin, ask_secret

    async def ask_secret(self, prompt: str) -> Secret:
        """Prompt for a secret without echo, and return it. Raises Cancelled if the operator cancels."""
        answer = await self._ask(prompt)
        if answer is None:
            raise Cancelled
        return answer

    def stage(
        self,
        edits: Sequence[Edit],
        lasts_ms: int | None = None,
        left_out: Sequence[str] = (),
        spared: Sequence[str] = (),
        kept: str = "",
    ) -> None:
        """Stage edits, and show the outcome or the reason of a refusal on the message line.

        Args:
            lasts_ms: milliseconds from the apply until the edits are due to be reverted; None for edits that stay.
            left_out: names of marked rows that are hidden, and so not edited.
            spared: names of Kafka's internal topics, which are not deleted together with others.
            kept: text to append to the message, about records that the edits skip and kac wrote into files; ``""`` if
                there are no such records.
        """
        try:
            report = self._session.stage(edits, lasts_ms)
        except Refused as refused:
            self.message.say(failure_text(refused.failure) + kept, "failed")
            return
        text, meaning = staged_text(report)
        self.message.say(text + spared_text(spared) + left_out_text(left_out) + kept, meaning)

    def begin_set(self, entities: Sequence[Subject], key: str = "", left_out: Sequence[str] = ()) -> None:
        """Open the command bar with the beginning of a ``set`` command. No-op if `entities` and `left_out` are empty.

        Args:
            entities: the marked entities, or the one under the cursor. The command names a single entity. It names none
                if there are several, and then applies to all marked ones.
            key: the config or quota; ``""`` if the operator types it.
            left_out: names of marked rows that are hidden, and so not edited.
        """
        from console.language.quoting import quote
        from console.language.statements import subject_text

        if len(entities) == 1:
            self.begin(f"set {subject_text(entities[0])} " + (f"{quote(key)}=" if key else ""))
        elif entities or left_out:
            self.message.say(f"for the {len(entities)} that are marked{left_out_text(left_out)}", "muted")
            self.begin("set ")

    def do_undo(self) -> None:
        """Undo the last change to the plan."""
        self._session.undo()
        self.message.say(f"undone; {plural(len(self._session.plan), 'edit')} staged")

    def do_redo(self) -> None:
        """Redo the change to the plan that was undone last."""
        self._session.redo()
        self.message.say(f"done again; {plural(len(self._session.plan), 'edit')} staged")

    async def revert(self, change: str, span: Span | None) -> None:
        """Stage the edits that revert a change of the journal; prompt for the secrets that they need, because kac
        stores no secrets.

        Args:
            change: number of the change in the journal.
            span: the number's position in the command, for an error; None if unknown.

        Raises:
            CommandError: `change` is not a number.
            Refused: the journal has no such change, or nothing can be staged.
            AdminError: the cluster did not answer.
            Cancelled: the operator cancelled a prompt.
        """
        from console.language.errors import CommandError
        from console.session.journal_changes import stage_revert

        if not change.isascii() or not change.isdigit():
            raise CommandError("CHANGE must be the number of a change", ":history shows them", span)
        report = await stage_revert(self._session, int(change), self.ask_secret)
        text, meaning = staged_text(report.staging)
        if not report.staging.added:
            meaning = "failed"
        if report.moved:
            text, meaning = f"{text}; another client changed {len(report.moved)} of it since: apply will ask", "failed"
            if why := next((conflict.why for conflict in report.moved if conflict.why), ""):
                text = f"{text}; {clean(why, 300)}"
        for note in report.notes:
            text, meaning = f"{text}; {clean(note, 300)}", "failed"
        self.message.say(text, meaning)
