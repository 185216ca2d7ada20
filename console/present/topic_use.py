"""Whose a topic is, as columns."""

from __future__ import annotations

from console.model.topic_use import TopicUse
from console.present.columns import TOLD, Column, Columns

USES: Columns[TopicUse] = Columns(
    Column("what", TOLD, type="word", title="Does"),
    Column("who", TOLD),
    Column("sure", TOLD, type="word", title="How sure"),
    Column("why", TOLD),
)
"""The uses of a topic, the surest first."""
