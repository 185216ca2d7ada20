"""The severity of a cause or a change, and the certainty of a cause. Pure."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """The severity of a cause or a change."""

    CRITICAL = "critical"
    """Data is lost or stopped."""
    HIGH = "high"
    """Data will soon be lost or stopped, or is slow."""
    WARNING = "warning"
    """A problem may follow later."""
    INFO = "info"
    """Work is under way."""


class Certainty(StrEnum):
    """The possible certainties of a cause."""

    CERTAIN = "certain"
    """The evidence proves the cause."""
    LIKELY = "likely"
    """There is evidence, and all predictions of the cause fit."""
    POSSIBLE = "possible"
    """There is less evidence, or some predictions do not fit."""
