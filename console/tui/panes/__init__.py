"""A module for each pane."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from console.tui import keymap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from console.tui.editing import Editing
    from console.tui.navigator import Navigator
    from console.tui.operating import Operating
    from console.tui.panes.now import Execute
    from console.tui.panes.view import View
    from console.tui.past import Journal, OpenLake
    from console.tui.text_lines import MessageLine
    from console.tui.watch import ShownCluster
    from widgets.row_source import Column


def make_view(
    name: str,
    *,
    cluster: ShownCluster,
    navigator: Navigator,
    editing: Editing,
    message: MessageLine,
    journal: Journal,
    lake: OpenLake,
    operating: Callable[[], Operating],
    execute: Execute,
) -> View:
    """Create the view of a name of `console.tui.keymap`, of what it uses.

    Its module is imported only now, so that the first screen does not wait for the other panes.
    """
    match name:
        case keymap.MOVES:
            from console.tui.panes.moves import MovesView

            return MovesView(cluster, editing, message, operating())
        case keymap.PLAN:
            from console.tui.panes.plan import PlanView

            return PlanView(cluster, navigator, editing, message)
        case keymap.FIND:
            from console.tui.panes.find import FindView

            return FindView(cluster, navigator, message, journal)
        case keymap.OVERVIEW:
            from console.tui.panes.overview import OverviewView

            return OverviewView(cluster, navigator, journal.events, lake)
        case keymap.NOW:
            from console.tui.panes.now import NowView

            return NowView(cluster, navigator, editing, message, execute)
        case keymap.HISTORY | keymap.DRIFT | keymap.USAGE | keymap.EVENTS:
            return _view_of_past(name, cluster, lake, message, journal, editing)
        case keymap.BROKERS | keymap.QUORUM | keymap.FEATURES:
            return _view_of_nodes(name, cluster, navigator, editing, message)
        case keymap.TOPICS:
            from console.tui.panes.topics import TopicsView

            return TopicsView(cluster, navigator, editing, execute)
        case keymap.TOPIC:
            from console.tui.panes.topics import PartitionsView

            return PartitionsView(cluster, navigator, editing, message, execute)
    return _view_of_noun(name, cluster, navigator, editing, message)


def _view_of_nodes(
    name: str, cluster: ShownCluster, navigator: Navigator, editing: Editing, message: MessageLine
) -> View:
    """Create the view of brokers, of the quorum, or of what all of them support."""
    match name:
        case keymap.BROKERS:
            from console.tui.panes.brokers import BrokersView

            return BrokersView(cluster, navigator, editing, message)
        case keymap.QUORUM:
            from console.tui.panes.quorum import QuorumView

            return QuorumView(cluster, editing, message)
        case keymap.FEATURES:
            from console.tui.panes.features import FeaturesView

            return FeaturesView(cluster, editing)
    raise KeyError(name)


def _view_of_noun(
    name: str, cluster: ShownCluster, navigator: Navigator, editing: Editing, message: MessageLine
) -> View:
    """Create the view of what the nodes hold. Raises KeyError for another name."""
    match name:
        case keymap.RECORDS:
            from console.tui.panes.records import RecordsView

            return RecordsView(cluster, navigator, editing, message)
        case keymap.TRANSACTIONS:
            from console.tui.panes.transactions import TransactionsView

            return TransactionsView(cluster, editing, message)
        case keymap.ENTITIES:
            from console.tui.panes.entities import EntitiesView

            return EntitiesView(cluster, navigator, editing)
        case keymap.CONFIGS:
            from console.tui.panes.configs import ConfigsView

            return ConfigsView(cluster, editing, message)
        case keymap.QUOTAS:
            from console.tui.panes.quotas import QuotasView

            return QuotasView(cluster, editing, message)
        case keymap.ACLS:
            from console.tui.panes.acls import AclsView

            return AclsView(cluster, editing, message)
        case keymap.TOKENS:
            from console.tui.panes.tokens import TokensView

            return TokensView(cluster, editing)
        case keymap.GROUPS:
            from console.tui.panes.groups import GroupsView

            return GroupsView(cluster, navigator, editing)
        case keymap.GROUP:
            from console.tui.panes.groups import GroupView

            return GroupView(cluster, navigator, editing)
    raise KeyError(name)


def _view_of_past(
    name: str, cluster: ShownCluster, lake: OpenLake, message: MessageLine, journal: Journal, editing: Editing
) -> View:
    """Create the view of what a lake and this host's journal know. Raises KeyError for another name."""
    match name:
        case keymap.HISTORY:
            from console.tui.panes.history import HistoryView

            return HistoryView(cluster, lake, message, journal, editing)
        case keymap.DRIFT:
            from console.tui.panes.drift import DriftView

            return DriftView(cluster, lake, message, journal)
        case keymap.USAGE:
            from console.tui.panes.usage import UsageView

            return UsageView(cluster, lake, message)
        case keymap.EVENTS:
            from console.tui.panes.events import EventsView

            return EventsView(cluster, lake, message, journal)
    raise KeyError(name)


def sort_columns(name: str) -> list[Column]:
    """Return the columns of a view that a key sorts by, for the documentation."""
    module = {keymap.TOPIC: keymap.TOPICS, keymap.GROUP: keymap.GROUPS}.get(name, name)
    members = vars(import_module(f"console.tui.panes.{module}")).values()
    view = next(each for each in members if isinstance(each, type) and getattr(each, "NAME", None) == name)
    columns: Sequence[Column] = getattr(view, "COLUMNS", ())
    return [column for column in columns if column.sort_key is not None]
