"""The severity of a cause or a change, and the certainty of a cause. Pure."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """The severity of a cause that triage names, or of a change."""

    CRITICAL = "critical"
    """Data is lost or stopped."""
    HIGH = "high"
    """Data will soon be lost or stopped, or is delayed."""
    WARNING = "warning"
    """A problem may follow later."""
    INFO = "info"
    """Work in progress, which is no problem."""


class Certainty(StrEnum):
    """How certain a cause is."""

    CERTAIN = "certain"
    """The evidence proves the cause."""
    LIKELY = "likely"
    """There is evidence for the cause, and all its predictions are true."""
    POSSIBLE = "possible"
    """There is less evidence for the cause, or some of its predictions are not true."""
