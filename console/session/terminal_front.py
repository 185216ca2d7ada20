"""Prompts at a terminal: for lines and secrets, and for the questions of the apply flow."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from console.model.secret import Secret
from console.terminal import ask, ask_secret

if TYPE_CHECKING:
    from console.plan.conflicts import Conflict
    from console.plan.reconcile import ApplyReport
    from console.plan.risk_rules import Risk
    from console.session.apply_flow import Question, Typed


class Operator(Protocol):
    """The operator, who may be absent."""

    @property
    def answers(self) -> bool:
        """Whether an operator is there to answer questions."""

    @property
    def keeps_secrets(self) -> bool:
        """Whether an operator can type a secret without echo."""

    async def line(self, prompt: str) -> str:
        """Ask the operator for a line.

        Returns:
            The line without blanks at its ends; ``""`` at the end of the input.
        """

    async def secret(self, prompt: str) -> Secret:
        """Ask the operator for a secret, which is not echoed."""


class Terminal:
    """The operator at this process's terminal."""

    @property
    def answers(self) -> bool:
        """Whether both standard input and standard error, where questions are shown, are a terminal."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    @property
    def keeps_secrets(self) -> bool:
        """Whether standard input is a terminal."""
        return sys.stdin.isatty()

    async def line(self, prompt: str) -> str:
        """Print the prompt to standard error, and return a line of standard input without blanks at its ends; ``""`` at
        the end of the input.
        """
        ask(prompt)
        with _interruptible():
            return sys.stdin.readline().strip()

    async def secret(self, prompt: str) -> Secret:
        """Prompt for a secret without echo, and return it."""
        with _interruptible():
            return Secret(ask_secret(f"{prompt}: "))


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the reading of a line at once within the ``with`` block. asyncio's own handler would only ask the
    event loop to stop, which is blocked by the reading.
    """
    # Only the main thread may set signal handlers.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


MOST_LINES = 10
"""Maximum number of lines of each kind, such as warnings, that are printed before a question."""


class TerminalFront(Struct):
    """A front end of the apply flow that asks at a terminal, if there is one."""

    context: str
    """The name of the context, for the questions."""
    operator: Operator
    show: Callable[[ApplyReport], None]
    """Prints a report."""
    say: Callable[[str], None]
    """Prints a line, which has no control characters, separate from results."""
    before: Sequence[str] = ()
    """Lines that are printed before a question."""

    @property
    def can_ask(self) -> bool:
        """Whether an operator is there to answer questions."""
        return self.operator.answers

    async def confirm(self, question: Question) -> str:
        """Print the effects of the plan, at most `MOST_LINES` lines of each kind; then ask for each of the texts to
        type.

        Returns:
            ``""`` if all was typed; otherwise a text that says which answer is missing.
        """
        from console.answers.plan_results import deletion_lines, effect_lines, loss_lines, risk_lines
        from console.present.names import plural
        from console.present.text import clean
        from console.session.apply_flow import ACCEPT

        lines = (
            self.before,
            deletion_lines(question.deletions),
            effect_lines(question.effects),
            loss_lines(question.plan.staged),
            risk_lines(question.risks),
        )
        for some in lines:
            for line in some[:MOST_LINES]:
                self.say(line)
            if len(some) > MOST_LINES:
                self.say(f"and {len(some) - MOST_LINES:,} more")
        context = clean(self.context, 80)
        for typed in question.typed:
            if typed.warns and typed.text == ACCEPT:
                if await self.operator.line("Type accept to go on: ") != ACCEPT:
                    return "the warnings were not accepted"
            elif await self.operator.line(f"Type {_asked(typed)} to apply to {context}: ") != typed.text:
                return f"that was not {typed.what}"
        if question.yes:
            edits = plural(len(question.plan), "edit")
            if (await self.operator.line(f"Apply {edits} to {context}? Type yes: ")).lower() != "yes":
                return "the answer was not yes"
        return ""

    async def go_over(self, conflicts: tuple[Conflict, ...]) -> bool:
        """Ask whether to overwrite the changes of other clients; the report has shown them."""
        from console.present.names import plural

        places = plural(len(conflicts), "place")
        return (await self.operator.line(f"Type over to overwrite another client's changes in {places}: ")) == "over"

    def tell(self, line: str) -> None:
        """Print a line, separate from results."""
        self.say(line)

    def warn(self, risks: tuple[Risk, ...]) -> None:
        """Print the warnings, each with its name."""
        from console.answers.plan_results import risk_lines

        for line in risk_lines(risks):
            self.say(line)

    def report(self, report: ApplyReport) -> None:
        """Print the result of an apply."""
        self.show(report)
        self._show_once(report)
        if report.unrecorded is not None:
            from console.present.failures import failure_text

            self.say(f"the journal does not say how it went: {failure_text(report.unrecorded)}")

    def _show_once(self, report: ApplyReport) -> None:
        """Print the secrets of new entities, such as tokens. This happens once, and only at a terminal."""
        from console.present.text import clean

        for made in report.made:
            which, what = f"{made.entity} {clean(made.id, 80)}", made.what
            if self.operator.answers:
                self.say(f"{which} has the {what} {clean(made.secret.reveal(), 200)}: it is shown this once")
            else:
                self.say(f"{which} was made; its {what} is shown on a terminal alone ({made.elsewhere}, too)")


def _asked(typed: Typed) -> str:
    """Return the words that name the text to type. They contain the text itself only if it accepts a warning. The
    operator has to know any other text, such as the context's name.
    """
    from console.present.text import clean

    return f"{clean(typed.text, 250)}, {typed.what}," if typed.warns else typed.what
