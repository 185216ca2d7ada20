"""All other tools' contexts. A file that can't be read is one line; the rest goes on."""

from __future__ import annotations

from console.contexts.context import ContextError, Found, Surroundings
from console.contexts.foreign import kaf, kafkactl, kcl, rpk

TOOLS = (kafkactl, kcl, kaf, rpk)


def discover(surroundings: Surroundings) -> tuple[Found, ...]:
    """What each tool has configured, in the order of TOOLS."""
    found: list[Found] = []
    for tool in TOOLS:
        try:
            found.append(tool.read(surroundings))
        except ContextError as error:
            found.append(Found(problems=(f"{error} ({tool.TOOL})",)))
    return tuple(found)
