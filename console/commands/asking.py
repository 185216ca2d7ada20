"""Asking the operator: a line, or a secret that nobody sees."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from console.model.secret import Secret
from console.terminal import ask, ask_secret


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
