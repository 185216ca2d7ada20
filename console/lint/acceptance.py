"""Findings that an operator accepts, each with a reason: from a context, or from wanted files. Pure.

Contexts load this module for their settings, so it imports nothing of a plan.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from msgspec import Struct


class Acceptance(Struct, frozen=True):
    """Findings that stay as they are."""

    rule: str
    """The name of the rule whose findings are accepted."""
    subject: str
    """A glob that the subject's text, as lint prints it, must match: ``topic scratch-*``."""
    reason: str
    """The reason why the findings are accepted; never empty."""
    place: str = ""
    """The file and line of the acceptance."""

    def fits(self, rule: str, subject: str) -> bool:
        """Return whether it accepts a rule's finding on a subject."""
        return rule == self.rule and fnmatchcase(subject, self.subject)
