"""Asking the operator: a line, or a secret that nobody sees."""

from __future__ import annotations

import sys
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
        return sys.stdin.readline().strip()

    async def secret(self, prompt: str) -> Secret:
        """A secret, typed unseen."""
        return Secret(ask_secret(f"{prompt}: "))
