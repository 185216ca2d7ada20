"""The commands of other tools (kubectl, kcl, kafkactl, rpk, Kafka's scripts), and the equivalent line of kac for each.

One table serves the command line and the language. Pure.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from console.language.quoting import quote

NOUNS: Mapping[str, str] = {
    word: noun
    for noun, words in {
        "topic": "topic topics kafka-topics",
        "group": "group groups consumer-group consumer-groups consumergroup consumergroups cg kafka-consumer-groups",
        "broker": "broker brokers node nodes kafka-broker-api-versions",
        "acl": "acl acls access kafka-acls",
        "quota": "quota quotas client-quotas",
        "config": "config configs cfg kafka-configs",
        "scram": "scram scrams user users user-scram security",
        "quorum": "quorum controller controllers metadata-quorum kafka-metadata-quorum",
        "transaction": "transaction transactions txn txns kafka-transactions",
        "feature": "feature features kafka-features",
        "token": "token tokens dtoken dtokens delegation-token delegation-tokens kafka-delegation-tokens",
        "connector": "connector connectors",
        "record": "record records message messages kafka-console-consumer kafka-delete-records",
        "offset": "offset offsets consumer-group-offset consumer-group-offsets kafka-get-offsets",
        "partition": "partition partitions",
        "move": "move moves reassign reassignment reassignments partition-reassignment kafka-reassign-partitions",
        "leader": "leader leaders elect-leaders leader-election kafka-leader-election",
        "context": "context contexts profile profiles get-contexts use-context current-context",
        "cluster": "cluster kafka-cluster",
        "size": "size sizes disk disks log-dirs logdirs describe-log-dirs kafka-log-dirs",
        "lag": "lag lags",
    }.items()
    for word in words.split()
}
"""Word of another tool for a kind of entity -> kac's noun for it."""
VERBS: Mapping[str, str] = {
    word: verb
    for verb, words in {
        "list": "list ls get show all search",
        "describe": "describe desc info inspect view status health metadata",
        "create": "create new add make grant",
        "delete": "delete rm remove del drop destroy revoke",
        "alter": "alter set edit update patch alter-config alter-configs configure",
        "purge": "purge truncate empty clear trim trim-prefix delete-records flush",
        "grow": "grow scale add-partitions expand",
        "reset": "reset seek rewind reset-offsets reset-offset",
        "read": "read consume tail cat peek browse logs fetch",
        "use": "use switch",
    }.items()
    for word in words.split()
}
"""Word of another tool for an action -> kac's name of the action."""
ALONE: Mapping[str, str] = {
    "health": "kac triage",
    "status": "kac triage",
    "check": "kac doctor",
    "ping": "kac doctor",
    "api-versions": "kac doctor",
    "watch": "kac events",
    "top": "list topics size>0",
    "ui": "kac",
    **dict.fromkeys(("drain", "replace", "balance", "replication"), "kac moves --help"),
    **dict.fromkeys(("use", "switch"), "kac --context NAME"),
    "login": "kac contexts add NAME",
    "kafka-console-producer": "produce topic NAME key TEXT value TEXT",
}
"""Word that is a whole command of another tool -> kac's line for it; ``""`` if kac has no such function."""
LINES: Mapping[tuple[str, str], str] = {
    ("topic", "list"): "list topics",
    ("topic", "describe"): "describe topic NAME",
    ("topic", "create"): "create topic NAME partitions=12 replication=3",
    ("topic", "delete"): "delete topic NAME",
    ("topic", "alter"): "set topic NAME retention.ms=7d",
    ("topic", "purge"): "delete records topic NAME before latest",
    ("topic", "grow"): "grow topic NAME partitions=24",
    ("topic", "read"): "records NAME",
    ("partition", "list"): "describe topic NAME",
    ("partition", "create"): "grow topic NAME partitions=24",
    ("partition", "grow"): "grow topic NAME partitions=24",
    ("partition", "alter"): "grow topic NAME partitions=24",
    ("group", "list"): "list groups",
    ("group", "describe"): "describe group NAME",
    ("group", "delete"): "delete group NAME",
    ("group", "reset"): "reset group NAME topic TOPIC to earliest",
    ("group", "alter"): "reset group NAME topic TOPIC to earliest",
    ("offset", "list"): "describe group NAME",
    ("offset", "reset"): "reset group NAME topic TOPIC to earliest",
    ("offset", "alter"): "reset group NAME topic TOPIC to earliest",
    ("offset", "delete"): "delete group NAME topic TOPIC",
    ("lag", "list"): "list groups lag>0",
    ("lag", "describe"): "describe group NAME",
    ("broker", "list"): "list brokers",
    ("broker", "describe"): "describe broker ID",
    ("broker", "alter"): "set broker ID log.cleaner.threads=2",
    ("broker", "delete"): "unregister broker ID",
    ("cluster", "list"): "list brokers",
    ("cluster", "describe"): "kac triage",
    ("acl", "list"): "list acls",
    ("acl", "create"): "allow User:NAME READ on topic TOPIC",
    ("acl", "delete"): "revoke allow User:NAME READ on topic TOPIC",
    ("acl", "describe"): "list acls principal=User:NAME",
    ("quota", "list"): "list quotas",
    ("quota", "describe"): "describe user NAME",
    ("quota", "alter"): "set user NAME producer_byte_rate=10MB/s",
    ("quota", "create"): "set user NAME producer_byte_rate=10MB/s",
    ("quota", "delete"): "unset user NAME producer_byte_rate",
    ("config", "list"): "describe topic NAME",
    ("config", "alter"): "set topic NAME retention.ms=7d",
    ("config", "create"): "set topic NAME retention.ms=7d",
    ("config", "delete"): "unset topic NAME retention.ms",
    ("scram", "list"): "list scram",
    ("scram", "describe"): "describe user NAME",
    ("scram", "create"): "scram set NAME SCRAM-SHA-512 password=?",
    ("scram", "alter"): "scram set NAME SCRAM-SHA-512 password=?",
    ("scram", "delete"): "scram delete NAME SCRAM-SHA-512",
    ("quorum", "list"): "list quorum",
    ("quorum", "create"): "add voter ID",
    ("quorum", "delete"): "remove voter ID",
    ("transaction", "list"): "kac transactions list",
    ("transaction", "delete"): "kac transactions --help",
    ("feature", "list"): "kac features describe",
    ("feature", "alter"): "feature set metadata.version=LEVEL",
    ("connector", "list"): "list connectors",
    ("connector", "describe"): "describe connector CLUSTER/NAME",
    ("token", "list"): "list tokens",
    ("token", "create"): "token create lifetime=7d",
    ("token", "delete"): "token expire ID",
    ("record", "list"): "records NAME",
    ("record", "read"): "records NAME",
    ("record", "delete"): "delete records topic NAME before latest",
    ("record", "purge"): "delete records topic NAME before latest",
    ("move", "list"): "kac moves --help",
    ("move", "alter"): "kac moves --help",
    ("move", "delete"): "cancel move topic NAME",
    ("leader", "list"): "elect preferred all",
    ("leader", "describe"): "describe topic NAME",
    ("leader", "alter"): "elect preferred all",
    ("size", "list"): "list topics size>0",
    ("context", "list"): "kac contexts",
    ("context", "create"): "kac contexts add NAME",
    ("context", "use"): "kac --context NAME",
}
"""(Noun, action) -> kac's line: a statement of the language, or a command of kac. If there is no line that describes a
noun, the line that lists it is used.
"""
WORDS = (*NOUNS, *VERBS, *ALONE)
"""Other tools' words for which kac has a line; a misspelt word is compared with them."""
NO_RECORDS = "kafka-console-producer: kac writes no records"
_NAMED = ("NAME", "ID")


def our_line(words: Sequence[str]) -> str | None:
    """Return kac's line for a command in other tools' words, with the name from the command.

    Args:
        words: the words of the statement, or those after ``kac``; options (``--bootstrap-server …``) are ignored.

    Returns:
        None if no word is known; ``""`` if kac has no such function.
    """
    known = [word.lower().removesuffix(".sh") for word in words]
    plain = [(own, word) for own, word in zip(words, known, strict=True) if not own.startswith("-")]
    if not plain:
        return None
    first, others = plain[0][1], plain[1:]
    # In Kafka's scripts actions are options, such as --describe.
    verb = next((VERBS[word.lstrip("-")] for word in known if word.lstrip("-") in VERBS), None)
    nouns = [place for place, (_, word) in enumerate(plain[:2]) if word in NOUNS]
    if not nouns:
        if first in ALONE:
            return _with_name(ALONE[first], [own for own, _ in others])
        if verb in ("purge", "grow", "read", "reset") and first in VERBS:
            noun, rest = ("group" if verb == "reset" else "topic"), others
            return _with_name(LINES[noun, verb], [own for own, _ in rest])
        return None
    noun = NOUNS[plain[nouns[0]][1]]
    # The second word may be the noun, as in `consumer-group-offset` and `topic config`.
    if (
        len(nouns) == 2
        and (NOUNS[plain[1][1]], "list" if verb == "describe" else verb or "list") in LINES
        and noun in ("topic", "group", "cluster", "config")
    ):
        noun = NOUNS[plain[1][1]]
    names = [own for own, word in plain[nouns[-1] + 1 :] if word not in VERBS]
    # Skip another noun before the name, as in `delete records topic NAME`; a name may also be such a word.
    if len(names) > 1 and names[0].lower() in NOUNS:
        names = names[1:]
    meant = verb or ("describe" if names else "list")
    # kubectl's `get topic orders` has the verb for lists, but means a single topic.
    if meant == "list" and names and "list" not in known and "ls" not in known:
        meant = "describe"
    line = LINES.get((noun, meant)) or LINES.get((noun, "list")) or LINES.get((noun, "describe"))
    return _with_name(line, names) if line is not None else None


def _with_name(line: str, names: Sequence[str]) -> str:
    """Return the line with the first name in place of its placeholder; unchanged without a name or a placeholder."""
    name = next((each for each in names if "=" not in each), None)
    if name is None:
        return line
    for place in _NAMED:
        if place in line:
            return line.replace(place, shlex.quote(name) if line.startswith("kac ") else quote(name))
    return line


def command_line(line: str, connection: Sequence[str] = ()) -> str:
    """Return the shell command for a line of `our_line`, or for a statement of the language.

    Args:
        connection: options that name the cluster.
    """
    given = shlex.join(connection)
    if line.startswith("kac"):
        return " ".join(filter(None, ("kac", *line.split()[1:2], given, *line.split()[2:])))
    return " ".join(filter(None, ("kac run", given, "-e", shlex.quote(line))))


# -- regular expressions, which Kafka's tools accept for the names of topics -------------------------------------------

_OF_REGEX = re.compile(r"\.[*+]|\]\+|^\^|\$$|\\.|[|()]")
_ONE_NAME = re.compile(r"\^?((?:[A-Za-z0-9_-]|\\?\.(?![*+?{])|\.[*+])+)\$?")
_IN_GLOB = {".*": "*", ".+": "?*", "\\.": "."}


def looks_like_regex(text: str) -> bool:
    """Return whether a pattern looks like a regular expression. One that contains ``.*`` looks like one, although it
    may be meant as a glob.
    """
    return _OF_REGEX.search(text) is not None


def globs_of(regex: str) -> tuple[str, ...]:
    """Return the globs that match the same names as a regular expression of topics; empty if no simple globs do.

    Kafka's tools take a comma for ``|`` (TopicFilter).
    """
    found = [_ONE_NAME.fullmatch(each) for each in re.split(r"[|,]", regex)]
    # If a part of the expression has no glob, return no globs: the others would find less than the expression.
    known = [each[1] for each in found if each is not None]
    if len(known) < len(found):
        return ()
    return tuple(re.sub(r"\.[*+]|\\\.", lambda part: _IN_GLOB[part[0]], each) for each in known)
