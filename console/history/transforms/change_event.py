"""`change_event`: every change that some source tells of, those of the log and of looks with their authors."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame

from ..schema.silver import CHANGE_EVENT
from .attribution import TOLERANCE, attributed
from .change_event_request import author_changes, changes_of_journal, changes_of_requests
from .change_event_snapshot import snapshot_changes
from .kraft_facts import facts
from .kraft_state import kraft_changes


def change_event(
    kraft_record: DataFrame,
    snapshot: DataFrame,
    journal: DataFrame,
    alter_request: DataFrame,
    tolerance: timedelta = TOLERANCE,
) -> DataFrame:
    """CHANGE_EVENT's rows, of the bronze tables of these names. tolerance: how far clocks may be apart.

    `run_id` is that of the row that tells of the change.
    """
    authors = changes_of_requests(alter_request, tolerance).unionByName(changes_of_journal(journal))
    observed = kraft_changes(facts(kraft_record), kraft_record).unionByName(snapshot_changes(snapshot))
    told = attributed(observed, authors, tolerance).unionByName(author_changes(authors))
    return told.select(*CHANGE_EVENT.names)
