"""The registry of verbs: usage, help, examples, and where each verb works."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from console.language.cluster_verbs import CLUSTER_VERBS
from console.language.verb import CHANGE, EVERYWHERE, GO, INTERACTIVE, LOOK, PLAN, Verb, Where
from console.model.entity_types import listed_alone, with_configs, with_quotas
from console.plan.risk_rules import NAMES

__all__ = [
    "CHANGE",
    "ENTITY_USAGE",
    "EVERYWHERE",
    "INTERACTIVE",
    "KINDS",
    "PANES",
    "VERBS",
    "Verb",
    "Where",
    "verbs_for",
]


KINDS = (
    "topics",
    "brokers",
    *(each.plural for each in with_quotas()),
    "quotas",
    "acls",
    "groups",
    "loggers",
    *(each.plural for each in listed_alone()),
    "scram",
)
"""What `list` lists."""

PANES = ("topics", "brokers", "configs", "quotas", "acls", "groups", "drift", "usage", "transactions", "moves", "find")
"""Panes that are verbs; `plan` is both a pane and a verb."""

ENTITY_USAGE = tuple(usage for each in (*with_configs(), *with_quotas()) for usage in each.usage)


_ALL = (
    Verb(
        "show",
        LOOK,
        ("show [ENTITY] {KEY}",),
        "What is set on an entity: its own overrides, or the named keys",
        "Without an entity: the selected one. An inherited value of a named key is shown with its source.",
        ("show topic orders", "show topic orders retention.ms segment.bytes", "show broker <default>"),
    ),
    Verb(
        "describe",
        LOOK,
        ("describe [ENTITY] {KEY}",),
        "Everything about an entity; with keys, each with its documentation and the chain of its synonyms",
        "A topic is shown with partitions, a group with members and lag, a user with quotas and SCRAM credentials.",
        ("describe topic orders", "describe topic orders retention.ms", "describe user alice client checkout"),
    ),
    Verb(
        "list",
        LOOK,
        ("list KIND {GLOB | KEY=VALUE | KEY>N}",),
        "All entities of a kind",
        "KIND is one of " + ", ".join(KINDS) + ". A GLOB matches names (*, ?, [ab]); quoted characters match "
        "themselves. KEY=VALUE and KEY!=VALUE match a column, or a config's value for topics and brokers; VALUE may be "
        "a glob. KEY>N, KEY>=N, KEY<N and KEY<=N compare numbers, which may have the key's units; no limit (-1) is "
        "greater than all of them. For ACLs, ANY is any code, and pattern_type=MATCH finds all that affect "
        "resource_name=NAME. All filters must match. A row without the column matches no filter.",
        (
            "list topics svc-*",
            "list topics cleanup.policy=compact*",
            "list topics under_replicated>0",
            "list topics retention.ms>=7d",
            "list groups lag>1000",
            "list quotas user=alice",
            "list quotas user=<default>",
            "list acls principal=User:alice operation=WRITE",
            "list acls resource_type=TOPIC resource_name=orders pattern_type=MATCH",
            "list groups state=Stable",
            "list loggers broker=1 level=DEBUG",
        ),
    ),
    Verb(
        "effective",
        LOOK,
        ("effective user USER client CLIENT [KEY]",),
        "The effective quota of a user and a client, per key, with the levels it overrides",
        "A limit applies to each broker, not to the cluster. A client without a client id is written ''; only the "
        "limits of its user apply to it.",
        ("effective user alice client checkout-7", "effective user alice client checkout-7 producer_byte_rate"),
    ),
    Verb(
        "explain",
        LOOK,
        ("explain PRINCIPAL OPERATION{,OPERATION} on RESOURCE [from HOST]",),
        "Whether ACLs allow or deny a principal something, and which ACL decides",
        "By the rules of Kafka's StandardAuthorizer: a deny overrides every allow; READ, WRITE, DELETE and ALTER imply "
        "DESCRIBE, ALTER_CONFIGS implies DESCRIBE_CONFIGS. RESOURCE is cluster, or topic, group, transactional-id, "
        "delegation-token or user with one NAME, which need not exist; ALL asks for every operation. HOST is the "
        "client's address; without it, addresses with another answer are listed. Brokers do not say who is a super "
        "user, nor whether allow.everyone.if.no.acl.found is set: where that matters, the answer names the condition.",
        (
            "explain User:alice READ on topic orders",
            "explain User:svc-8 READ,DESCRIBE on group svc-8.billing from 10.0.0.1",
            "explain User:ops ALL on cluster",
        ),
    ),
    Verb(
        "records",
        LOOK,
        (
            "records topic NAME [partition N] [last N | first N] {OPTION}",
            "records topic NAME [partition N] (from offset N | from time TIME | of group NAME) {OPTION}",
        ),
        "Records of a topic or a partition: the last 10, or from a place on",
        "The options: limit N (from an offset, a time or a group's position on); text TEXT (in key, value or a "
        "header); key GLOB; json CONDITION, for example $.order.items[0].price>10, $.state=open or $.error, with "
        "['name'] and [*]; uncommitted (also open and aborted transactions); as text, json or hex. Of a group: from "
        "the first record that it has not committed. At most 10,000 records, 16 MiB and 10 s, and 100,000 records "
        "looked at for a filter; what ended the look is reported. Where the context has records = 'hidden', contents "
        "are masked without --reveal; with 'never' nothing is read.",
        (
            "records topic orders",
            "records topic orders partition 3 last 100",
            "records topic orders from time 2h limit 50 json $.state=failed",
            "records topic orders partition 3 of group billing limit 1",
            "records topic orders partition 0 from offset 41208 as hex",
        ),
    ),
    Verb(
        "set",
        CHANGE,
        ("set [ENTITY] KEY=VALUE {KEY=VALUE} [for DURATION]",),
        "Stage new values of configs or quotas",
        "Units are allowed where the key's name or type says what it counts: 10MB = 10,000,000, 10MiB = 10,485,760, "
        "7d, 12h, 90s, 250ms, 10MB/s. KEY= sets the empty value. A sensitive value is KEY=@FILE or KEY=? (asked for, "
        "hidden), never bare. With for, the change is to be taken back after that time: every start shows what is due, "
        "and kac due --apply takes it back.",
        (
            "set topic orders retention.ms=7d max.message.bytes=2MiB",
            "set broker <default> log.cleaner.threads=2",
            "set broker 2 listener.name.external.ssl.keystore.password=@/run/secrets/keystore",
            "set user alice client <default> producer_byte_rate=10MB/s",
            "set logger 1 kafka.controller=DEBUG",
            "set topic orders retention.ms=1h for 2h",
        ),
    ),
    Verb(
        "append",
        CHANGE,
        ("append [ENTITY] KEY=VALUE {KEY=VALUE} [for DURATION]",),
        "Stage items to be added to list configs",
        "Starts from the effective value, even an inherited one. An item that is already there changes nothing.",
        ("append topic orders cleanup.policy=delete",),
    ),
    Verb(
        "subtract",
        CHANGE,
        ("subtract [ENTITY] KEY=VALUE {KEY=VALUE} [for DURATION]",),
        "Stage items to be removed from list configs",
        "Removing every item leaves the empty list, not the inherited value: for that, use unset.",
        ("subtract topic orders cleanup.policy=delete",),
    ),
    Verb(
        "unset",
        CHANGE,
        ("unset [ENTITY] KEY {KEY}",),
        "Stage the removal of overrides or quotas, so that inherited values apply again",
        "",
        ("unset topic orders retention.ms", "unset user alice producer_byte_rate consumer_byte_rate"),
    ),
    Verb(
        "create",
        CHANGE,
        ("create topic NAME KEY=VALUE {KEY=VALUE}",),
        "Stage a new topic",
        "partitions=N and replication=N, or assign=1:2,2:3: the brokers of each partition, the preferred leader first. "
        "The default of both is the cluster's. timeout=DURATION is how long the brokers may take. Every other key is a "
        "config of the topic.",
        (
            "create topic orders partitions=12 replication=3 retention.ms=7d",
            "create topic audit assign=1:2,2:3,3:1 timeout=30s",
        ),
    ),
    Verb(
        "grow",
        CHANGE,
        ("grow topic NAME partitions=N",),
        "Stage more partitions for a topic, N in all",
        "Partitions can't be removed again, and records with keys go to other partitions from then on.",
        ("grow topic orders partitions=24",),
    ),
    Verb(
        "delete",
        CHANGE,
        (
            "delete topic NAME",
            "delete records topic NAME [partition P] before (OFFSET | TIME | latest)",
            "delete group NAME [topic NAME [partition N]]",
        ),
        "Stage the deletion of a topic, of a topic's records before an offset or a time, or of a group or its offsets",
        "Topics and records can't be taken back. TIME is 2h or 7d (ago), 14:05, 2026-11-20 or 2026-11-20T14:05; it "
        "becomes an offset of each partition when it is staged, as latest does: the log's end. Records can be "
        "deleted only where cleanup.policy has delete in it; to apply it without being asked, --accept "
        "records-deleted=TOPIC. A group has to be without members; revert commits its offsets again.",
        (
            "delete topic orders-old",
            "delete records topic orders partition 3 before 1200",
            "delete records topic orders before 2026-11-20T14:05",
            "delete records topic orders before latest",
            "delete group billing-old",
            "delete group billing topic orders",
        ),
    ),
    Verb(
        "reset",
        CHANGE,
        ("reset [share] group NAME [topic NAME [partition N]] to PLACE",),
        "Stage other offsets for a group: what it reads again, or never",
        "PLACE is earliest, latest, offset N, time T, by +N or -N, or file F. Without a topic: of every partition "
        "that it committed an offset of; with one: of all its partitions. T is 2026-11-20T14:05Z, without a zone by "
        "this host's clock, or 2h for two hours ago. Places and times become offsets when they are staged. F is a "
        "file that kafka-consumer-groups exports: topic,partition,offset, or with the group first. Offsets outside of "
        "the log are refused. The group has to be without members, and a member that joins before it is sent stops "
        "it; consumers that assign() partitions are no members and can't be seen. A share group gets its start "
        "offset; the word share is for one that does not exist yet. revert commits the old offsets again; as commands "
        "they read offset N [epoch E] [metadata TEXT] restored, which may be outside of the log by then.",
        (
            "reset group billing to earliest",
            "reset group billing topic orders to time 2h",
            "reset group billing topic orders partition 3 to offset 1200",
            "reset group billing to file offsets.csv",
        ),
    ),
    Verb(
        "skip",
        CHANGE,
        ("skip group NAME topic NAME partition N [COUNT]",),
        "Stage that a group goes on behind the record it stands on, or behind COUNT of them",
        "For a record that no consumer can read. The group has to be without members.",
        ("skip group billing topic orders partition 3 10",),
    ),
    Verb(
        "clone",
        CHANGE,
        ("clone group NAME to NAME",),
        "Stage the offsets of one group for another, which need not exist",
        "Metadata and leader epochs of the offsets go with them.",
        ("clone group billing to billing-test",),
    ),
    Verb(
        "allow",
        CHANGE,
        ("allow PRINCIPAL OPERATION{,OPERATION} on TARGET [from HOST]",),
        "Stage ACLs that allow",
        "TARGET is cluster, or topic, group, transactional-id, delegation-token or user with a NAME; with prefixed, "
        "all names with that prefix; * is every name. HOST is an address, to brokers of 4.4 also a range: 10.0.0.0/8.",
        (
            "allow User:alice READ,DESCRIBE on topic orders",
            "allow User:svc-8 READ on group svc-8. prefixed from 10.0.0.1",
            "allow User:ops ALTER_CONFIGS on cluster",
        ),
    ),
    Verb(
        "deny",
        CHANGE,
        ("deny PRINCIPAL OPERATION{,OPERATION} on TARGET [from HOST]",),
        "Stage ACLs that deny, which override those that allow",
        "",
        ("deny User:bob WRITE on topic orders",),
    ),
    Verb(
        "revoke",
        CHANGE,
        ("revoke (allow | deny) PRINCIPAL OPERATION{,OPERATION} on TARGET [from HOST]",),
        "Stage the removal of exactly these ACLs and no others",
        "",
        ("revoke allow User:alice READ on topic orders",),
    ),
    Verb(
        "scram",
        CHANGE,
        ("scram set USER MECHANISM [iterations=N] password=(@FILE | ?)", "scram delete USER MECHANISM"),
        "Stage a SCRAM credential, or its removal",
        "MECHANISM is SCRAM-SHA-256 or SCRAM-SHA-512; iterations are 4096 to 16384, by default 4096. The brokers can't "
        "check a credential before it is applied.",
        ("scram set alice SCRAM-SHA-512 iterations=8192 password=?", "scram delete alice SCRAM-SHA-256"),
    ),
    Verb(
        "abort",
        CHANGE,
        ("abort transaction topic NAME partition N producer ID",),
        "Stage the end of a transaction that hangs, so that its partition can be read with read_committed again",
        "Only where it is shown to hang: no coordinator will end it. A slow or a young one is refused, and so is one "
        "of which that can't be known, with the reason. What the producer wrote since is lost to consumers with "
        "read_committed; nothing brings it back. Before it is sent the topic and partition have to be typed, in "
        "scripts --accept transaction-aborted=NAME/N. Needs ALTER or CLUSTER_ACTION on the cluster.",
        ("abort transaction topic orders partition 3 producer 4012",),
    ),
    *CLUSTER_VERBS,
    Verb(
        "plan",
        PLAN,
        ("plan [--runbook]",),
        "Every staged edit as a difference: old and new value, old and new source",
        "With --runbook, as the kafka-topics, kafka-configs and kafka-acls commands that do the same, for a shell.",
        ("plan", "plan --runbook"),
    ),
    Verb(
        "check",
        PLAN,
        ("check",),
        "Let the brokers validate the plan without changing anything",
        "Deletions of topics, ACLs and SCRAM credentials have no validation in the protocol, and are reported as such.",
        ("check",),
    ),
    Verb(
        "apply",
        PLAN,
        ("apply [--yes] [--valid-only] [--force] [--accept NAME[=SUBJECT]{,NAME[=SUBJECT]}]",),
        "Check the plan, ask, and send it",
        "If a check fails nothing is sent, unless --valid-only sends the rest. --yes does not ask. What the plan "
        "touches is described again right before: another client's changes since it was read stop the apply and are "
        "shown as it was, theirs and mine; --force overwrites them and lists what it overwrote. A legal but probably "
        "wrong edit has a named warning, which has to be accepted, by --accept also with --yes, "
        "with its subject where an operator would have to type it (unclean-loss=orders/3): "
        f"{', '.join(NAMES)}. Every change is recorded in a journal first, with a number that revert takes.",
        ("apply --yes", "apply --yes --valid-only", "apply --yes --force"),
    ),
    Verb(
        "discard",
        PLAN,
        ("discard [ENTITY [KEY]]",),
        "Drop what is staged: everything, an entity's edits, or one key's",
        "",
        ("discard", "discard topic orders", "discard topic orders retention.ms"),
    ),
    Verb("undo", PLAN, ("undo",), "Take back the last change of the plan", "", ("undo",)),
    Verb("redo", PLAN, ("redo",), "Put back what was undone", "", ("redo",)),
    Verb(
        "revert",
        PLAN,
        ("revert CHANGE",),
        "Stage the reversal of a change that was applied",
        "Values and their sources: a key that was inherited is unset. CHANGE is the number that apply reported, see "
        "history. What can't be restored is reported: records of a deleted topic, secrets. Where another client "
        "changed the same place since, apply stops as for any conflict.",
        ("revert 42",),
    ),
    Verb(
        "history",
        PLAN,
        ("history [ENTITY | TEXT]",),
        "The changes that were applied from this host, the latest first",
        "Who, when, old and new values, and the outcome: of everything, of an entity, or of lines with a TEXT. With a "
        "lake, the console shows all changes of the cluster, by any client from any host; TEXT may then contain "
        "since=2h, until=14:05, key=retention.* and by=alice.",
        ("history", "history topic orders", "history alice", "history 'since=2h key=retention.*'"),
    ),
    Verb("topics", GO, ("topics [FILTER]",), "The topics", "", ("topics svc-8",), INTERACTIVE),
    Verb("brokers", GO, ("brokers [FILTER]",), "The brokers and the controller", "", ("brokers",), INTERACTIVE),
    Verb("configs", GO, ("configs [FILTER]",), "The configs of the selected entity", "", ("configs ssl",), INTERACTIVE),
    Verb("quotas", GO, ("quotas [FILTER]",), "The quotas", "", ("quotas alice",), INTERACTIVE),
    Verb("acls", GO, ("acls [FILTER]",), "The ACLs", "", ("acls User:alice",), INTERACTIVE),
    Verb("groups", GO, ("groups [FILTER]",), "The groups and their lag", "", ("groups billing",), INTERACTIVE),
    Verb(
        "drift",
        GO,
        ("drift [FILTER]",),
        "What differs from its peers: keys by broker, by cluster, from the baseline",
        "Read from a lake; see kac lake.",
        ("drift",),
        Where.BAR,
    ),
    Verb(
        "usage",
        GO,
        ("usage [FILTER]",),
        "Who uses how much of which quota",
        "Read from a lake. FILTER: words, and since=2h, until=14:05, by=alice.",
        ("usage", "usage 'since=2h by=alice'"),
        Where.BAR,
    ),
    Verb(
        "transactions",
        GO,
        ("transactions [FILTER]",),
        "The open transactions, and which of them hang",
        "Read while the view is shown. One hangs where no coordinator will end it; unseen, it is possible at most.",
        ("transactions", "transactions hangs"),
        Where.BAR,
    ),
    Verb("moves", GO, ("moves [FILTER]",), "What moves, how far it is, why not", "", ("moves stuck",), Where.BAR),
    Verb(
        "find",
        GO,
        ("find TEXT",),
        "What contains a text, in all panes",
        "Brokers, topics, groups, keys and values that are set, quotas, ACLs, transactions, the plan, events and "
        "causes; what was not read yet is read. TEXT as a filter: words, /regex, !without. Values that brokers hide "
        "are not found.",
        ("find billing", "find 'checkout dlq'"),
        Where.BAR,
    ),
    Verb("ctx", GO, ("ctx NAME",), "Go to the cluster of another context", "", ("ctx prod",), INTERACTIVE),
    Verb(
        "theme",
        GO,
        ("theme dark|light|ansi",),
        "Other colours, for this session",
        "For good: `theme` in the settings, KAC_THEME or --theme. Without any the terminal is asked which it is.",
        ("theme light",),
        Where.BAR,
    ),
    Verb("record", GO, ("record [FILE]",), "Keep the last half hour in a file", "", ("record",), Where.BAR),
    Verb("at", GO, ("at TIME",), "In a replay: go to a time of the record", "", ("at 03:11", "at 10min"), Where.BAR),
    Verb("help", GO, ("help [WORD]",), "The verbs, or one verb", "", ("help", "help set"), INTERACTIVE),
    Verb("q", GO, ("q",), "Leave", "Staged edits are not kept; you are asked first.", ("q",), INTERACTIVE),
)

VERBS: Mapping[str, Verb] = MappingProxyType({verb.name: verb for verb in _ALL})


@cache
def verbs_for(where: Where) -> tuple[Verb, ...]:
    """Return the verbs that work there, in the order of the help."""
    return tuple(verb for verb in _ALL if verb.where & where)
