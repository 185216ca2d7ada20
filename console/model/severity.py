"""How bad a cause or a change is, and how sure its name. Pure."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """The severity. CRITICAL: data is lost or stopped; HIGH: it soon will be, or is slow; WARNING: a later problem;
    INFO: under way.
    """

    CRITICAL = "critical"
    HIGH = "high"
    WARNING = "warning"
    INFO = "info"


class Certainty(StrEnum):
    """CERTAIN: the evidence is the cause. LIKELY: evidence, and all predictions fit. POSSIBLE: less."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"
