"""Findings that an operator accepts, each with a reason: from a context, or from wanted files. Pure.

Contexts load this module for their settings, so it imports nothing of a plan.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from msgspec import Struct


class Acceptance(Struct, frozen=True):
    """Findings that stay as they are."""

    rule: str
    """The name of a rule."""
    subject: str
    """A glob of the subjects' texts, as lint prints them: ``topic scratch-*``."""
    reason: str
    """The reason why they stay; never empty."""
    place: str = ""
    """The file and the line of the acceptance."""

    def fits(self, rule: str, subject: str) -> bool:
        """Return whether it accepts a rule's finding on a subject."""
        return rule == self.rule and fnmatchcase(subject, self.subject)
