"""Work beside the screen."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.worker import Worker


def start(
    node: DOMNode, work: Callable[[], Coroutine[Any, Any, None]], *, group: str, name: str, exclusive: bool = False
) -> Worker[None]:
    """Run a coroutine function as a worker of this node.

    It takes the function and not its coroutine: a worker that is cancelled before its first step, as at the end of the
    program, would leave a coroutine behind that was never awaited, which Python reports.
    """
    worker: Worker[None] = node.run_worker(work, group=group, name=name, exclusive=exclusive)
    return worker
