"""The verbs that concern leaders, replicas and nodes: elections, moves, operations, registrations, features."""

from __future__ import annotations

from console.language.verb import CHANGE, Verb, Where

_OPERATION = (
    "What it would do is shown first, and asked. RATE is what each broker copies, and is read, at most, as 50MB/s. The "
    "console works on it while it is open; after that W in a console, or kac moves --continue, goes on with it. "
)

CLUSTER_VERBS = (
    Verb(
        "elect",
        CHANGE,
        (
            "elect preferred (all | broker ID | topic NAME [partition N])",
            "elect unclean topic NAME partition N",
        ),
        "Stage elections of leaders",
        "preferred makes the first replica of each partition lead where another one leads; with broker ID only where "
        "that is its own. A preferred replica that is not in the ISR can't lead: its partition stays as it is. unclean "
        "is for a partition that has no leader and whose replicas in sync don't come back: another one leads, and the "
        "records that it lacks are lost for good.",
        (
            "elect preferred all",
            "elect preferred broker 3",
            "elect preferred topic orders partition 4",
            "elect unclean topic orders partition 4",
        ),
    ),
    Verb(
        "cancel",
        CHANGE,
        ("cancel move topic NAME [partition N]",),
        "Stage the end of a topic's moves: its partitions stay on the replicas that they had",
        "What was copied so far is dropped. Without a partition: all of the topic that move. Throttles stay set.",
        ("cancel move topic orders", "cancel move topic orders partition 4"),
    ),
    Verb(
        "move",
        CHANGE,
        (
            "move topic NAME partition N to ID,ID,… [resize]",
            "move topic NAME partition N broker ID to dir PATH",
            "move topic NAME to ID,ID,… [throttle RATE]",
            "move topic NAME [partition N] broker ID to dir PATH [throttle RATE]",
        ),
        "Stage that a partition's replicas move to these brokers, the first to lead; or one to another directory",
        "Brokers copy it and then drop the replicas that are not named. Another number of replicas takes resize. With "
        "dir the broker copies its own replica into another of its log directories, and then drops the former one; to "
        "the directory that it is in ends such a copy. "
        "Without a partition, or with a throttle, an operation begins, which moves all replicas of the topic to these "
        "brokers, or those of a broker into its directory: in the command bar only.",
        ("move topic orders partition 4 to 3,1,2", "move topic orders partition 4 broker 3 to dir /data2"),
    ),
    Verb(
        "drain",
        CHANGE,
        ("drain broker ID,ID,… [throttle RATE]", "drain broker ID dir PATH [throttle RATE]"),
        "Begin an operation that leaves no replica on these brokers, or in a log directory of one",
        _OPERATION + "A broker that is down can be drained, too: what it has is copied from the leaders.",
        ("drain broker 3", "drain broker 3,4 throttle 50MB/s", "drain broker 3 dir /data2"),
        Where.BAR,
    ),
    Verb(
        "replace",
        CHANGE,
        ("replace broker ID by ID [throttle RATE]",),
        "Begin an operation that gives each replica of a broker to another one, in the same place of the order",
        _OPERATION,
        ("replace broker 3 by 5 throttle 50MB/s",),
        Where.BAR,
    ),
    Verb(
        "balance",
        CHANGE,
        ("balance [throttle RATE]",),
        "Begin an operation after which all brokers have as many replicas, as far as racks allow",
        _OPERATION,
        ("balance throttle 50MB/s",),
        Where.BAR,
    ),
    Verb(
        "replication",
        CHANGE,
        ("replication topic NAME N [throttle RATE]",),
        "Begin an operation that gives each partition of a topic so many replicas",
        _OPERATION,
        ("replication topic orders 3",),
        Where.BAR,
    ),
    Verb(
        "back",
        CHANGE,
        ("back OPERATION [throttle RATE]",),
        "Begin an operation that moves back what one that ended has moved",
        _OPERATION,
        ("back 7 throttle 50MB/s",),
        Where.BAR,
    ),
    Verb(
        "operation",
        CHANGE,
        ("operation N throttle RATE", "operation N give-up"),
        "Ask something of the operation that is open: another throttle, 0 for none, or not to wait for brokers",
        "Who works on it does that with its next look. give-up ends it without its throttles on brokers that do not "
        "answer, and kac leftovers finds them when they do. x in the pane Moves cancels it.",
        ("operation 7 throttle 200MB/s", "operation 7 give-up"),
        Where.BAR,
    ),
    Verb(
        "unregister",
        CHANGE,
        ("unregister broker ID",),
        "Stage that the cluster forgets a broker which is down and does not come back",
        "KRaft only, from Kafka 3.0 on. A broker that is alive is refused. Replicas stay assigned to it until they are "
        "moved. It registers again when it starts.",
        ("unregister broker 4",),
    ),
    Verb(
        "feature",
        CHANGE,
        ("feature set FEATURE=LEVEL {FEATURE=LEVEL}",),
        "Stage other levels of features, as metadata.version; 0 turns one off",
        "Several levels are sent as one change, all of them or none. A level that a node does not support is refused. "
        "Most features can be lowered again; metadata.version only over levels that left the metadata log as it was, "
        "kraft.version never: that has to be accepted, in a script by --accept feature-irreversible=FEATURE.",
        ("feature set metadata.version=30", "feature set transaction.version=2 group.version=1"),
    ),
)
