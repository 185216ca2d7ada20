"""The statements of one entry, by the runner that `kac run` has, and what only a prompt can do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from console.commands.errors import CommandError
from console.commands.run import Runner
from console.commands.statements import Help, History, List, Quit, ShowPlan, UseContext, View

if TYPE_CHECKING:
    from console.commands.statements import Statement

HELP_WIDTH = 100
_LISTED = ("topics", "brokers", "quotas", "acls", "groups")


class _Gone(Exception):
    """What stands behind it is not for this session."""


@dataclass
class EntryRunner(Runner):
    """What an entry asks of the shell itself comes back here. leave: to end it; context: to go on with another."""

    leave: bool = False
    context: str | None = None

    async def carry_out(self, statements: Sequence[Statement]) -> None:
        """Run them; those behind one that leaves are left out."""
        with suppress(_Gone):
            await super().carry_out(statements)

    async def _elsewhere(self, statement: View | UseContext | Help | Quit) -> None:
        match statement:
            case Quit():
                self.leave = True
                raise _Gone
            case UseContext(name=name):
                self.context = name
                raise _Gone
            case Help(word=word):
                self._help(word)
            case View():
                await self._one(await self._looked_at(statement))

    async def _looked_at(self, view: View) -> Statement:
        """What stands for a pane here: a list, the plan or the history."""
        from console.commands.grammar import parse
        from console.commands.needs import needs
        from console.commands.reading import read_needs
        from console.commands.verbs import Where
        from console.language.quoting import quote

        if view.pane == "plan":
            return ShowPlan()
        if view.pane == "history":
            return History()
        if view.pane not in _LISTED:
            raise CommandError(
                "here configs are shown of one entity", "say which: describe topic NAME, describe broker ID", view.span
            )
        glob = f" *{quote(view.filter)}*" if view.filter else ""
        (statement,) = parse(f"list {view.pane}{glob}", Where.SHELL)
        assert isinstance(statement, List)
        await read_needs(self.session, needs(statement), sparing=True)
        return statement

    def _help(self, word: str) -> None:
        from console.commands.verb_help import verb_lines

        for line in verb_lines(word, HELP_WIDTH):
            self.printer.out.write("".join(text for text, _ in line) + "\n")
