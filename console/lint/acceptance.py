"""Findings of lint that an operator accepts, each with a reason, from a context or from wanted files. Pure.

Contexts load this module for their settings, so it imports nothing of a plan.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from msgspec import Struct


class Acceptance(Struct, frozen=True):
    """The acceptance of a rule's findings on some subjects: lint no longer reports them as problems."""

    rule: str
    """The name of the rule whose findings are accepted."""
    subject: str
    """A glob that has to match the subject as lint prints it: ``topic scratch-*``."""
    reason: str
    """The reason why the findings are accepted; never empty."""
    place: str = ""
    """The file and line of the acceptance, for messages; ``""`` if unknown."""

    def fits(self, rule: str, subject: str) -> bool:
        """Return whether this acceptance covers a rule's finding on a subject."""
        return rule == self.rule and fnmatchcase(subject, self.subject)
