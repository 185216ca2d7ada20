"""Every key of the console, declared once, with the conditions under which it works.

Bindings, footer, the help of `?` and docs/keys.md are generated from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from console.contexts.console_settings import PANES
from console.model.parts import Part

EVERYWHERE = "everywhere"
CONFIGS, TOPICS, TOPIC, BROKERS = "configs", "topics", "topic", "brokers"
ENTITIES, QUOTAS, ACLS, GROUPS, GROUP, PLAN = "entities", "quotas", "acls", "groups", "group", "plan"
HISTORY, DRIFT, USAGE, NOW, EVENTS = "history", "drift", "usage", "now", "events"
QUORUM, FEATURES = "quorum", "features"
RECORDS, ANALYSIS, LETTERS = "records", "analysis", "letters"
TRANSACTIONS = "transactions"
TOKENS = "tokens"
SCHEMAS = "schemas"
MOVES = "moves"
FIND = "find"
OVERVIEW = "overview"
FLEET, WATCH = "fleet", "watch"
LINT = "lint"
CONNECTORS, CONNECT_WORKERS, CONNECT_PLUGINS = "connectors", "connect-workers", "connect-plugins"
CONNECT_LOGGERS, CONNECTOR, CONNECTOR_OFFSETS = "connect-loggers", "connector", "connector-offsets"
MIRRORS = "mirrors"
GRAPHED = (NOW, OVERVIEW, WATCH, TOPICS, TOPIC, GROUPS, GROUP, BROKERS)
"""The views with graphs of the last half hour, in which keys move the cursor in time: the mark on one column of all
graphs.
"""
KEPT_IN_HISTORY = (BROKERS, TOPICS, TOPIC, ENTITIES, CONFIGS, QUOTAS, GROUPS, DRIFT, USAGE, EVENTS, LINT, CONNECTORS)
"""The views for whose rows a key shows the history."""
WATCHABLE = (TOPICS, TOPIC, GROUPS, GROUP, BROKERS, CONNECTORS, CONNECTOR)
"""The views whose rows a key can add to the watched entities."""
OF_CONNECT = (CONNECTORS, CONNECT_WORKERS, CONNECT_PLUGINS, CONNECT_LOGGERS, MIRRORS)
OF_CONNECTOR = (CONNECTOR, CONNECTOR_OFFSETS)
OF_NODES = (BROKERS, QUORUM, FEATURES)
WITH_SECTIONS = (CONFIGS, TOPIC, ACLS, *OF_CONNECTOR)
VIEWS = {
    EVERYWHERE: ("Everywhere", ""),
    BROKERS: ("Brokers", BROKERS),
    TOPICS: ("Topics", TOPICS),
    TOPIC: ("The partitions of a topic", TOPICS),
    ENTITIES: ("Everything that has configs", ENTITIES),
    CONFIGS: ("The configs of an entity", ENTITIES),
    QUOTAS: ("Quotas", QUOTAS),
    ACLS: ("ACLs", ACLS),
    GROUPS: ("Groups", GROUPS),
    GROUP: ("The lag of a group", GROUPS),
    PLAN: ("The plan", PLAN),
    HISTORY: ("History", HISTORY),
    DRIFT: ("Drift", DRIFT),
    USAGE: ("Usage", USAGE),
    RECORDS: ("Records", TOPICS),
    ANALYSIS: ("What is in a topic", TOPICS),
    LETTERS: ("Dead letters", TOPICS),
    TRANSACTIONS: ("Transactions", TOPICS),
    TOKENS: ("Delegation tokens", ACLS),
    CONNECTORS: ("Connectors", TOPICS),
    CONNECTOR: ("The tasks of a connector", TOPICS),
    CONNECTOR_OFFSETS: ("The offsets of a connector", TOPICS),
    CONNECT_WORKERS: ("The workers of Connect", TOPICS),
    CONNECT_PLUGINS: ("The plugins of Connect", TOPICS),
    CONNECT_LOGGERS: ("The loggers of Connect", TOPICS),
    MIRRORS: ("The flows of MirrorMaker", TOPICS),
    SCHEMAS: ("Schemas", TOPICS),
    MOVES: ("Moves", TOPICS),
    OVERVIEW: ("The overview", NOW),
    WATCH: ("What is watched", NOW),
    FLEET: ("All contexts", NOW),
    QUORUM: ("The quorum", BROKERS),
    FEATURES: ("Features", BROKERS),
    NOW: ("What is wrong now", NOW),
    LINT: ("Settings that will cause trouble", NOW),
    EVENTS: ("What changed", EVENTS),
    FIND: ("What was found", ""),
}
"""Name of a view -> its title in docs/keys.md, and the name of its pane; ``""`` as pane if the view may be in any
pane.
"""
_OF_PARTS = {Part.CONNECT: CONNECTORS, Part.CONNECTOR_OFFSETS: CONNECTORS}


def view_of(part: Part) -> str:
    """Return the name of the view that shows a part of the snapshot; mostly the two have the same name."""
    return _OF_PARTS.get(part, part.value)


class Key(NamedTuple):
    """A key of the console: its action, and the views in which it works."""

    id: str
    """The name of the action, by which settings can remap it."""
    keys: str
    """The names of the keys in Textual, separated by commas."""
    label: str
    """The text in the footer."""
    help: str
    """The help: a sentence without a full stop."""
    where: frozenset[str]
    """The views in which the key works."""
    needs: tuple[str, ...] = ()
    """The names of its conditions; see `_REASONS`."""
    rank: int = 0
    """The position in the footer; 0 for a key that is not in it. A narrow footer leaves out the highest ranks first."""


def _key(id_: str, keys: str, label: str, help_: str, *where: str, needs: Iterable[str] = (), rank: int = 0) -> Key:
    return Key(id_, keys, label, help_, frozenset(where or (EVERYWHERE,)), tuple(needs), rank)


_row_key = partial(_key, needs=("row",))
"""Makes a key that is active only with a row under the cursor."""
_change = partial(_key, needs=("writable",))
"""Makes a key that stages an edit, or opens the command bar with a command that does; active unless the context is
read-only.
"""
_row_change = partial(_key, needs=("writable", "row"))
"""Makes a key that stages an edit for the row under the cursor; active with a row, unless the context is read-only."""
_replay_key = partial(_key, needs=("replay",))
"""Makes a key that goes to another time of a record; active only in a replay."""


KEYS: tuple[Key, ...] = (
    # Keys for navigation
    _key("brokers", "1", "brokers", "The brokers, the controller and the cluster default"),
    _key("topics", "2", "topics", "The topics"),
    _key("configs", "3", "configs", "All entities that have configs"),
    _key("quotas", "4", "quotas", "The quotas of users, clients and addresses"),
    _key("acls", "5", "acls", "ACLs: which principals may do what"),
    _key("groups", "6", "groups", "Consumer groups and their lag"),
    _key("plan", "7", "plan", "The staged edits: check and apply them here", rank=60),
    _key("history", "8", "history", "The changes, with their times and authors"),
    _key("drift", "9", "drift", "Configs that differ from their peers: by broker, by cluster, from the baseline"),
    _key("usage", "0", "usage", "How much of its quotas each client uses"),
    _key("now", "full_stop", "now", "The causes of present trouble, with their evidence", rank=58),
    _key("events", "comma", "events", "Changes since the console began, with their authors if known", rank=59),
    _key("overview", "ctrl+g", "overview", "Graphs of the last half hour: writes, lags, replicas out of sync, disks"),
    _key("watch", "ctrl+w", "watch", "Watched topics, groups, brokers and connectors in one list, the worst first"),
    _key("fleet", "ctrl+x", "fleet", "All contexts: the verdict on each cluster, its worst cause, and a few counts"),
    _key(
        "back",
        "escape",
        "back",
        "Stop a search, or clear the filter, or end `!`, or go back to the previous view",
        rank=70,
    ),
    _key("last", "minus", "last", "Switch between this view and the previous one"),
    _key("command", "colon", "command", "Type a command", rank=50),
    _key(
        "filter",
        "slash",
        "filter",
        "Show only rows with a text (/!text: rows without it, //regex: regular expression)",
        rank=40,
    ),
    _key("find", "ctrl+f", "find", "Find a text in all panes; // and Enter does the same", rank=73),
    _key("trouble", "exclamation_mark", "trouble", "Show only rows in trouble, or all rows", rank=72),
    _key("help", "question_mark", "help", "The keys of this view", rank=90),
    _key(
        "transactions", "ctrl+t", "transactions", "Open transactions and which of them hang: of this topic, or of all"
    ),
    _key("schemas", "ctrl+y", "schemas", "Schemas of the registry: versions, the topics that use them, compatibility"),
    _key("tokens", "ctrl+k", "tokens", "Delegation tokens: their owners and when they expire"),
    _key("connectors", "ctrl+n", "connectors", "Connectors of Kafka Connect: their states, tasks, lag and failures"),
    _key("moves", "w", "moves", "Running moves of partitions, and their operations"),
    _change("work", "W", "go on", "Work on the open operation, as long as this console runs"),
    _key("save-record", "ctrl+o", "save record", "Write the brokers' answers of the last half hour into a file"),
    _key("palette", "ctrl+p", "palette", "Find an action by name"),
    _key("quit", "q,ctrl+q", "quit", "Quit; if edits are staged, kac asks first"),
    _key("suspend", "ctrl+z", "suspend", "Go back to the shell; its command fg returns to the console"),
    # Keys for display
    _key("refresh", "r,ctrl+r", "refresh", "Read this view now, and clear the change marks", rank=85),
    _key(
        "pause",
        "p",
        "pause",
        "Stop or resume the polls; in a replay: play, play ten times as fast, stop",
        rank=80,
    ),
    _replay_key("next-look", "right_square_bracket", "next look", "In a replay: the next poll", rank=46),
    _replay_key("look-before", "left_square_bracket", "before", "In a replay: the previous poll", rank=47),
    _replay_key(
        "next-change",
        "right_curly_bracket",
        "next change",
        "In a replay: the next poll at which the verdict or the cluster changed",
        rank=48,
    ),
    _replay_key(
        "change-before",
        "left_curly_bracket",
        "change before",
        "In a replay: the previous poll at which the verdict or the cluster changed",
        rank=49,
    ),
    _key(
        "earlier",
        "left_parenthesis",
        "earlier",
        "Move the time cursor of the graph to the left (in the overview also ←); Enter replays",
        *GRAPHED,
        rank=56,
    ),
    _key("later", "right_parenthesis", "later", "Move the time cursor of the graph to the right", *GRAPHED, rank=57),
    _key("copy", "y", "copy", "Copy to the terminal's clipboard (OSC 52)", rank=88),
    _key(
        "section",
        "tab",
        "next part",
        "The next section (topic: configs, partitions, ACLs; connector: tasks, config, offsets)",
        *WITH_SECTIONS,
        needs=("parts",),
        rank=35,
    ),
    _key(
        "section-back",
        "shift+tab",
        "part before",
        "The previous section of the topic or the connector",
        *WITH_SECTIONS,
        needs=("parts",),
    ),
    _key(
        "connect",
        "tab",
        "workers, plugins",
        "Show the workers, then the plugins, the loggers, the mirrors, and the connectors again",
        *OF_CONNECT,
        rank=35,
    ),
    _key("connect-back", "shift+tab", "part before", "As Tab, in the other direction", *OF_CONNECT),
    _key(
        "nodes",
        "tab",
        "quorum, features",
        "Show the quorum, then the features of all nodes, and the brokers again",
        *OF_NODES,
        rank=35,
    ),
    _key("nodes-back", "shift+tab", "part before", "As Tab, in the other direction", *OF_NODES),
    _row_key(
        "add-watch",
        "f",
        "watch it",
        "Watch the row under the cursor, or all marked rows, in the pane Watch",
        *WATCHABLE,
        rank=76,
    ),
    _row_key("take-off", "x", "take off", "Stop watching the row; for a pattern, all its rows", WATCH, rank=12),
    _key("internal", "i", "internal", "Show or hide internal topics", TOPICS, rank=75),
    _key("overrides", "o", "overrides", "Show only overrides, or all", CONFIGS, ENTITIES, rank=32),
    _key(
        "details",
        "d",
        "details",
        "Details of the key: its documentation and the source of its value",
        CONFIGS,
        QUOTAS,
        rank=34,
    ),
    _key("grouping", "o", "by resource", "Sort by principal or by resource", ACLS, rank=32),
    _key("past", "H", "history", "The history of the row under the cursor", *KEPT_IN_HISTORY, rank=38),
    _row_key("events-of", "H", "events", "The events of the cause's subject", NOW, rank=38),
    _key("journal", "o", "lake / host", "Show the lake's timeline, or the changes from this host", HISTORY, rank=32),
    _key("kinds", "tab", "kinds", "Show other kinds of events", EVENTS, rank=32),
    _key("scope", "tab", "among whom", "Compare brokers, then clusters, then values with the baseline", DRIFT, rank=32),
    _row_key("plot", "d", "plot", "The pair's rate over time, with its limit", USAGE, rank=32),
    _row_key(
        "records", "v", "records", "The records of the row under the cursor", TOPICS, TOPIC, GROUP, LETTERS, rank=31
    ),
    _row_key(
        "whose",
        "a",
        "whose",
        "The readers and writers of the topic, and how sure kac is of each",
        TOPICS,
        TOPIC,
        rank=34,
    ),
    _row_key("readers", "c", "consumers", "The groups that read the topic", TOPICS, TOPIC, rank=33),
    _row_key(
        "analyze",
        "z",
        "analyze",
        "The analysis of the topic: keys, sizes, schemas, times; or begin one in the command bar",
        TOPICS,
        TOPIC,
        rank=39,
    ),
    _key("analyze-again", "z", "analyze", "Analyze the topic in another way, in the command bar", ANALYSIS, rank=39),
    _key("newest", "n", "newest", "The newest records", RECORDS, rank=20),
    _key("oldest", "o", "oldest", "The oldest records", RECORDS, rank=21),
    _key("start-at", "f", "from…", "Show records from an offset or a time on, in the command bar", RECORDS, rank=22),
    _key(
        "ask",
        "e",
        "filter…",
        "Change the filter, the beginning or the limit of the search, in the command bar",
        RECORDS,
        rank=23,
    ),
    _key(
        "further",
        "m",
        "go on",
        "Continue a stopped search: towards older records if it began at the newest, else towards newer ones",
        RECORDS,
        rank=19,
    ),
    _key("follow", "F", "follow", "Show new records as clients write them (follow); p pauses", RECORDS, rank=25),
    _row_key("at-time", "a", "from then", "The records of all partitions from this record's time on", RECORDS, rank=26),
    _row_key("key-history", "K", "its key", "Every record with the key under the cursor", RECORDS, rank=27),
    _row_key(
        "standing",
        "B",
        "groups",
        "The group whose position is at this record, or the groups that read the topic",
        RECORDS,
    ),
    _row_key("editor", "E", "editor", "Read the record as JSON in $EDITOR", RECORDS),
    _key(
        "form", "t", "text/JSON/hex", "Show contents as text, JSON or hex, or let kac choose the form", RECORDS, rank=24
    ),
    _key(
        "isolation",
        "c",
        "committed",
        "Show or hide the records of open and aborted transactions",
        RECORDS,
        rank=30,
    ),
    _key(
        "reveal",
        "s",
        "show",
        "Show the contents that this context hides, only in this view",
        RECORDS,
        ANALYSIS,
        LETTERS,
    ),
    _row_change(
        "skip-record",
        "x",
        "skip",
        "Skip the record under the cursor for the group, in the command bar",
        RECORDS,
        rank=18,
    ),
    _row_change(
        "write-again",
        "P",
        "write again",
        "Edit the record in the command bar, and stage the edited record as a new one",
        RECORDS,
        rank=19,
    ),
    _key(
        "letters",
        "R",
        "dead letters",
        "The dead letters by original topic, exception and age; in that view you can send them again",
        RECORDS,
        rank=28,
    ),
    _change(
        "redrive",
        "R",
        "send all",
        "Send all letters again, after the forecast and the warnings; in the command bar",
        LETTERS,
        rank=28,
    ),
    _key(
        "lint",
        "tab",
        "lint, causes",
        "Show settings that will cause trouble (lint), and the causes again",
        NOW,
        LINT,
        rank=36,
    ),
    _row_change("fix", "F", "fix", "Stage the repair, or put its command into the bar", NOW, LINT, MOVES, rank=10),
    _row_key("mute", "m", "mute 1 h", "Mute the cause for an hour; the same key ends the mute", NOW, rank=20),
    _key("effective", "f", "effective", "The effective quota of a user and a client", QUOTAS, rank=30),
    # Keys that change entities; each of them only stages the change
    _row_change(
        "edit",
        "e",
        "edit",
        "Change the value under the cursor, in the command bar",
        CONFIGS,
        QUOTAS,
        PLAN,
        TOPICS,
        ENTITIES,
        BROKERS,
        FEATURES,
        CONNECTORS,
        rank=10,
    ),
    _row_change(
        "unset", "x", "unset", "Delete the override; the config then inherits its value", CONFIGS, QUOTAS, rank=12
    ),
    _key("append", "a", "append", "Append to a list", CONFIGS, needs=("writable", "row", "list"), rank=14),
    _change("add", "a", "add", "Add an ACL, in the command bar", ACLS, rank=10),
    _change("add-quota", "a", "add", "Set a quota for another entity", QUOTAS, rank=14),
    _row_key(
        "explain",
        "d",
        "explain",
        "The rights that the ACL grants or denies, and the ACLs that override it",
        ACLS,
        rank=30,
    ),
    _row_change("revoke", "x", "revoke", "Remove the ACL", ACLS, rank=12),
    _row_change(
        "elect",
        "E",
        "elect",
        "Stage elections of preferred leaders, or an unclean one if there is no leader",
        TOPICS,
        TOPIC,
        BROKERS,
        MOVES,
        rank=37,
    ),
    _row_change(
        "cancel-move",
        "x",
        "cancel move",
        "Cancel the move of the partition, or the operation",
        TOPIC,
        MOVES,
        rank=39,
    ),
    _row_change(
        "throttle",
        "t",
        "throttle",
        "Change the throttle of the running operation, in the command bar",
        MOVES,
        rank=36,
    ),
    _row_change(
        "give-up",
        "K",
        "give up",
        "End the operation although brokers that do not answer still have its throttles, in the command bar",
        MOVES,
        rank=41,
    ),
    _change("move", "M", "move", "Move a partition, in the command bar", TOPIC, MOVES, rank=38),
    _row_change(
        "drain",
        "M",
        "drain",
        "Move all replicas of the broker away, in the command bar; on the cluster default: balance replicas",
        BROKERS,
        rank=38,
    ),
    _change(
        "begin",
        "n",
        "new",
        "Begin an operation, in the command bar: drain, replace, balance, move topic, replication",
        MOVES,
        rank=20,
    ),
    _change("create", "n", "new", "Create a topic, in the command bar", TOPICS, rank=36),
    _row_change("grow", "plus", "grow", "Add partitions to the topic", TOPICS, TOPIC),
    _row_change(
        "delete",
        "D",
        "delete",
        "Delete the topic whose name you type, in the command bar, or the marked topics",
        TOPICS,
    ),
    _row_change(
        "reset",
        "e",
        "reset",
        "Set the offsets of the group, or of the partition, in the command bar",
        GROUPS,
        GROUP,
        rank=10,
    ),
    _row_change("skip", "s", "skip", "Skip the record at the group's position, in the command bar", GROUP, rank=12),
    _row_change(
        "delete-group",
        "D",
        "delete",
        "Delete the group, or its offset in the partition, in the command bar",
        GROUPS,
        GROUP,
    ),
    _row_change(
        "abort-transaction", "x", "abort", "Abort the transaction; only if it certainly hangs", TRANSACTIONS, rank=10
    ),
    _row_change("renew", "e", "renew", "Renew the token, in the command bar", TOKENS, rank=10),
    _row_change("expire", "x", "expire", "Expire the token", TOKENS, rank=12),
    _row_change("schema-level", "e", "level", "Set the subject's compatibility, in the command bar", SCHEMAS, rank=10),
    _row_change("register-schema", "n", "register", "Register a version, in the command bar", SCHEMAS, rank=20),
    _row_change("delete-schema", "x", "delete", "Delete the subject softly", SCHEMAS, rank=12),
    _change("create-token", "n", "new", "Create a token, in the command bar", TOKENS, rank=20),
    _row_change("pause-connector", "z", "pause", "Pause the connector, in the command bar", CONNECTORS, rank=13),
    _row_change("resume-connector", "c", "resume", "Resume the connector, in the command bar", CONNECTORS, rank=14),
    _row_change("stop-connector", "x", "stop", "Stop the connector, in the command bar", CONNECTORS, rank=15),
    _row_change(
        "restart-connector",
        "t",
        "restart",
        "Restart the failed instances of the connector, or the task; in the command bar",
        CONNECTORS,
        CONNECTOR,
        rank=12,
    ),
    _change("create-connector", "n", "new", "Create a connector, in the command bar", CONNECTORS, rank=20),
    _row_change("delete-connector", "D", "delete", "Delete the connector, in the command bar", CONNECTORS),
    _row_change(
        "delete-records",
        "D",
        "delete records",
        "Delete the records before an offset or a time, in the command bar; kac asks for the topic's name",
        TOPIC,
        RECORDS,
    ),
    _row_change("unregister", "x", "unregister", "Unregister a broker that is down, in the command bar", BROKERS),
    _row_change("add-voter", "a", "add voter", "Make the controller a voter, in the command bar", QUORUM, rank=31),
    _row_change(
        "remove-voter", "x", "remove voter", "Remove the controller as a voter, in the command bar", QUORUM, rank=32
    ),
    _key("undo", "u", "undo", "Undo the last change to the plan", needs=("writable", "past"), rank=62),
    _key("redo", "U", "redo", "Redo the last undone change", needs=("writable", "future")),
    # Keys for the plan
    _key(
        "check",
        "c",
        "check",
        "Let the brokers validate the plan; nothing changes",
        PLAN,
        needs=("writable", "staged"),
        rank=5,
    ),
    _key("apply", "A", "apply", "Send the plan; kac asks first", PLAN, needs=("writable", "staged"), rank=6),
    _row_change("drop", "x", "drop", "Remove the edit from the plan", PLAN, rank=12),
    _key("script", "s", "script", "The plan as a script of commands", PLAN, needs=("staged",), rank=34),
    _key("runbook", "R", "runbook", "The plan as commands of Kafka's own tools", PLAN, needs=("staged",), rank=36),
    _key("drop-all", "X", "drop all", "Empty the plan", PLAN, needs=("writable", "staged")),
    _row_key("go-to", "o", "go to", "Open the entity of the edit", PLAN, rank=30),
)
BY_ID: Mapping[str, Key] = {key.id: key for key in KEYS}


def keys_of(view: str) -> tuple[Key, ...]:
    """Return the keys of one view, without the global ones."""
    return tuple(key for key in KEYS if view in key.where)


GLOBAL = keys_of(EVERYWHERE)
PANE_KEYS = PANES
"""The ids of the panes' keys, in the order of the panes."""


class KeyState(NamedTuple):
    """The state of the console against which the conditions of keys are checked."""

    read_only: str | None
    """The name of the context if it is read-only; None if it is not."""
    row: bool
    list_key: bool
    """Whether the config under the cursor has a list as value."""
    parts: bool
    staged: bool
    past: bool
    future: bool
    replay: bool = False


_REASONS: Mapping[str, Callable[[KeyState], str]] = {
    "writable": lambda s: (
        ""
        if s.read_only is None
        else "a replay can't be changed: stage it in a console on the cluster"
        if s.replay
        else f"{s.read_only} is read-only: nothing can be staged or sent here"
    ),
    "row": lambda s: "" if s.row else "there is nothing under the cursor",
    "list": lambda s: "" if s.list_key else "only keys that hold a list can be added to",
    "parts": lambda s: "" if s.parts else "only a topic and a connector have several parts",
    "staged": lambda s: "" if s.staged else "nothing is staged",
    "replay": lambda s: "" if s.replay else "only a record has times to go to: kac replay FILE",
    "past": lambda s: "" if s.past else "there is nothing to undo in the plan",
    "future": lambda s: "" if s.future else "there is nothing to redo in the plan",
}


def reason(key: Key, state: KeyState) -> str:
    """Return the reason why a key does nothing in this state; ``""`` if it works."""
    for need in key.needs:
        if why := _REASONS[need](state):
            return why
    return ""
