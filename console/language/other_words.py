"""The commands of other tools (kubectl, kcl, kafkactl, rpk, Kafka's scripts), and the equivalent line of kac for each.

The command line and the language look up here the words that are no words of kac. If kac's line for a command begins
with a verb, the verb's record has it (`Verb.stands_for`). Pure.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from console.language import verbs
from console.language.quoting import quote
from console.language.verbs.listing import KINDS

_WORDS = (
    "topic topics kafka-topics",
    "group groups consumer-group consumer-groups consumergroup consumergroups cg kafka-consumer-groups",
    "broker brokers node nodes kafka-broker-api-versions",
    "acl acls access kafka-acls",
    "quota quotas client-quotas",
    "config configs cfg kafka-configs",
    "quorum controller controllers metadata-quorum kafka-metadata-quorum",
    "connector connectors",
    "record records message messages kafka-console-consumer kafka-delete-records",
    "offset offsets consumer-group-offset consumer-group-offsets kafka-get-offsets",
    "move moves reassign reassignment reassignments partition-reassignment kafka-reassign-partitions",
    "context contexts profile profiles get-contexts use-context current-context",
    "cluster kafka-cluster",
    "size sizes disk disks log-dirs logdirs describe-log-dirs kafka-log-dirs",
    "lag lags",
)
"""Other tools' words for the nouns that have several verbs, the noun itself first. `Verb.noun` has the others."""
_OF_VERBS = tuple(verb.noun for verb in verbs.VERBS.values() if verb.noun)
NOUNS = {word: words.split()[0] for words in (*_WORDS, *_OF_VERBS) for word in words.split()}
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
_COMMANDS = {
    "kac triage": "cluster describe",
    "kac moves --help": "move list, move alter",
    "kac contexts": "context list",
    "kac contexts add NAME": "context create",
    "kac --context NAME": "context use",
}
"""Line that calls a command of kac instead of a verb -> the commands of other tools, as in `Verb.stands_for`."""
# The first word of a noun counts: `list users` is not for SCRAM credentials.
_LISTS = {(noun, "list"): f"list {word}" for word, noun in reversed(NOUNS.items()) if word in KINDS}
LINES: Mapping[tuple[str, str], str] = _LISTS | {
    (noun, action): line
    for lines in (_COMMANDS, *(verb.stands_for for verb in verbs.VERBS.values()))
    for line, commands in lines.items()
    for noun, action in map(str.split, commands.split(", "))
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
    """Return kac's line with the first of the names in place of the line's placeholder; unchanged if there is no
    name or no placeholder.
    """
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
