"""The verbs that open panes whose noun has no verb of its own, or that show several nouns. The verbs of other panes are
in the modules of their nouns' verbs.
"""

from __future__ import annotations

from console.language.panes import pane
from console.language.statements import INTERACTIVE

VERBS = (
    pane("topics", "The topics", "topics svc-8", where=INTERACTIVE),
    pane("brokers", "The brokers and the controller", "brokers", where=INTERACTIVE),
    pane("configs", "The configs of the selected entity", "configs ssl", where=INTERACTIVE),
    pane("quotas", "The quotas", "quotas alice", where=INTERACTIVE),
    pane("groups", "The groups and their lag", "groups billing", where=INTERACTIVE),
    pane(
        "drift",
        "The keys whose values differ from those of peers, by broker, by cluster, and from the baseline",
        "drift",
        about="kac reads the values from a lake; see `kac lake`.",
    ),
    pane(
        "usage",
        "How much of its quotas each client uses",
        "usage",
        "usage 'since=2h by=alice'",
        about="kac reads the usage from a lake. FILTER has words, `since=2h`, `until=14:05` and `by=alice`.",
    ),
    pane(
        "fleet",
        "All contexts: the verdict on each cluster, its worst cause, and a few counts",
        "fleet HIGH",
        about="While the pane is open, kac reads each cluster every 45 s. kac does not read a cluster whose secret you "
        "type; Enter opens such a cluster, and asks for the secret. `kac fleet` prints the rows.",
    ),
    pane(
        "find",
        "Everything that contains a text, in all panes",
        "find billing",
        "find 'checkout dlq'",
        about="TEXT is a filter: words, /regex, !without. kac searches brokers, topics, groups, keys, set values, "
        "quotas, ACLs, transactions, the plan, events and causes. kac first reads the parts that it has not read "
        "yet. kac does not find values that brokers hide.",
        takes="TEXT",
    ),
)
