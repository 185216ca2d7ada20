"""The parts of the console that panes use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from console.contexts.configured import Choice
    from console.language.errors import LanguageError
    from console.language.statements import Statement
    from console.tui.editing import Editing
    from console.tui.navigator import Navigator
    from console.tui.operating import Operating
    from console.tui.past import Journal, OpenLake
    from console.tui.text_lines import MessageLine
    from console.tui.watch import ShownCluster


class Tools(NamedTuple):
    """The arguments of each pane; a pane takes those that it needs."""

    cluster: ShownCluster
    """The visible session, its reads and its contact with the cluster."""
    navigator: Navigator
    """Shows other panes."""
    editing: Editing
    """Stages edits, or begins their commands in the command bar."""
    message: MessageLine
    """Shows a line to the operator."""
    journal: Journal
    """This host's journal, and the events since the console began."""
    lake: OpenLake
    contexts: Choice
    """The contexts that the operator can switch to."""
    operating: Callable[[], Operating]
    """Returns the object that begins operations, created on first use."""
    execute: Callable[[Sequence[Statement]], Awaitable[LanguageError | None]]
    """Executes commands; returns an error of the language, None on success."""
    look_back: Callable[[datetime], Awaitable[None]]
    """Shows the cluster at a time of the last half hour."""
