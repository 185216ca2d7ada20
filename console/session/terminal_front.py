"""Asks the operator at a terminal: lines, secrets, and the questions of the apply flow."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from console.answers.plan_results import effect_lines, loss_lines, risk_lines
from console.model.secret import Secret
from console.plan.conflicts import Conflict
from console.plan.risk_rules import Risk
from console.plan.settle import ApplyReport
from console.present.names import plural
from console.session.apply_flow import ACCEPT, Question
from console.terminal import ask, ask_secret

# Asking the operator: a line, or a secret that nobody sees.


class Asking(Protocol):
    """Somebody to ask."""

    @property
    def answers(self) -> bool:
        """Whether anybody is there."""
        ...

    @property
    def keeps_secrets(self) -> bool:
        """Whether a secret can be typed."""
        ...

    async def line(self, prompt: str) -> str:
        """One line, without blanks around it; ``""`` where nothing comes."""
        ...

    async def secret(self, prompt: str) -> Secret:
        """A secret, typed unseen."""
        ...


class Terminal:
    """Whoever sits at this process's terminal."""

    @property
    def answers(self) -> bool:
        """Both what is asked and what is answered go through the terminal."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    @property
    def keeps_secrets(self) -> bool:
        """Typing comes from the terminal."""
        return sys.stdin.isatty()

    async def line(self, prompt: str) -> str:
        """One line; asked on standard error."""
        ask(prompt)
        with _interruptible():
            return sys.stdin.readline().strip()

    async def secret(self, prompt: str) -> Secret:
        """A secret, typed unseen."""
        with _interruptible():
            return Secret(ask_secret(f"{prompt}: "))


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends the reading of a line at once. asyncio's own handler only asks the loop to stop, which waits here."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# A front end of the apply flow for everything that has lines and no screen.

MOST_LINES = 10
"""Lines of one kind before a question."""


@dataclass
class TerminalFront:
    """Asks on a terminal, if there is one.

    context: the name of the context. show: prints a report; say: prints a line, made harmless, apart from results.
    before: further lines that a question begins with.
    """

    asking: Asking
    context: str
    show: Callable[[ApplyReport], None]
    say: Callable[[str], None]
    before: Callable[[], Awaitable[Iterable[str]]]

    @property
    def can_ask(self) -> bool:
        """Whether there is a terminal."""
        return self.asking.answers

    async def confirm(self, question: Question) -> str:
        """Say what it means, and ask for each thing to type."""
        lines = (
            list(await self.before()),
            effect_lines(question.effects),
            loss_lines(question.plan.staged),
            risk_lines(question.risks),
        )
        for some in lines:
            for line in some[:MOST_LINES]:
                self.say(line)
            if len(some) > MOST_LINES:
                self.say(f"and {len(some) - MOST_LINES:,} more")
        for typed in question.typed:
            if typed.text == ACCEPT and question.risks:
                if await self.asking.line("Type accept to go on: ") != ACCEPT:
                    return "the warnings were not accepted"
            elif await self.asking.line(f"Type {typed.what} to apply to {self.context}: ") != typed.text:
                return f"that was not {typed.what}"
        if question.yes:
            edits = plural(len(question.plan), "edit")
            if (await self.asking.line(f"Apply {edits} to {self.context}? Type yes: ")).lower() != "yes":
                return "the answer was not yes"
        return ""

    async def go_over(self, found: tuple[Conflict, ...]) -> bool:
        """The report has shown what another client changed."""
        places = plural(len(found), "place")
        return (await self.asking.line(f"Type over to go over what is theirs in {places}: ")) == "over"

    def tell(self, line: str) -> None:
        """A line apart from results."""
        self.say(line)

    def warn(self, found: tuple[Risk, ...]) -> None:
        """The warnings, each with its name."""
        for line in risk_lines(found):
            self.say(line)

    def report(self, report: ApplyReport) -> None:
        """What an apply did."""
        self.show(report)


async def nothing_before() -> tuple[str, ...]:
    """No further lines."""
    return ()
