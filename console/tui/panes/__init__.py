"""A module for each pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.tui.panes.view import PaneHost, View
    from widgets.row_source import Column


def make_view(name: str, host: PaneHost) -> View:
    """Create the view of a name of `console.tui.keymap`.

    Its module is imported only now, so that the first screen does not wait for the other panes.
    """
    return _class(name)(host)


def sort_columns(name: str) -> list[Column]:
    """Return the columns of a view that a key sorts by, for the documentation."""
    columns: Sequence[Column] = getattr(_class(name), "COLUMNS", ())
    return [column for column in columns if column.sort_key is not None]


def _class(name: str) -> type[View]:
    from importlib import import_module

    module, cls = _VIEWS[name]
    view: type[View] = getattr(import_module(f"console.tui.panes.{module}"), cls)
    return view


_VIEWS = {
    "brokers": ("brokers", "BrokersView"),
    "topics": ("topics", "TopicsView"),
    "topic": ("topics", "PartitionsView"),
    "entities": ("entities", "EntitiesView"),
    "configs": ("configs", "ConfigsView"),
    "quotas": ("quotas", "QuotasView"),
    "acls": ("acls", "AclsView"),
    "groups": ("groups", "GroupsView"),
    "group": ("groups", "GroupView"),
    "plan": ("plan", "PlanView"),
    "history": ("history", "HistoryView"),
    "drift": ("drift", "DriftView"),
    "usage": ("usage", "UsageView"),
    "quorum": ("quorum", "QuorumView"),
    "features": ("features", "FeaturesView"),
    "now": ("now", "NowView"),
    "events": ("events", "EventsView"),
    "records": ("records", "RecordsView"),
    "transactions": ("transactions", "TransactionsView"),
    "moves": ("moves", "MovesView"),
    "find": ("find", "FindView"),
}
