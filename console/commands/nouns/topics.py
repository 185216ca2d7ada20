"""`kac topics`, with kafka-topics' options."""

from __future__ import annotations

import argparse

from console.commands.nouns.noun import Noun, OptionsError, Statements, need, pairs
from console.language.quoting import quote, quote_pattern
from console.model.numbers import natural_number, option

_TOPIC_EXAMPLES = """\
examples:
  kac topics -b broker1:9092 --list
  kac topics -c prod --describe --topic orders --output json
  kac topics -c prod --create --topic orders --partitions 12 --replication-factor 3 --config retention.ms=7d
  kac topics -c prod --alter --topic orders --partitions 24 --validate-only
  kac topics -c prod --delete --topic orders-old --yes
"""


def _topic_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topic", metavar="NAME", help="its name; with --list and --describe also a pattern, as svc-*")
    parser.add_argument("--partitions", metavar="N", type=option(natural_number), help="how many, in all")
    parser.add_argument(
        "--replication-factor", metavar="N", type=option(natural_number), help="replicas of each partition"
    )
    parser.add_argument(
        "--replica-assignment", metavar="1:2,2:3", help="brokers of each partition, the preferred leader first"
    )
    parser.add_argument("--config", metavar="K=V", action="append", default=[], help="a config; may be repeated")
    parser.add_argument("--if-exists", action="store_true", help="do nothing where there is no such topic")
    parser.add_argument("--if-not-exists", action="store_true", help="do nothing where there is one")
    parser.add_argument("--exclude-internal", action="store_true", help="without Kafka's own topics")
    parser.add_argument("--under-replicated-partitions", action="store_true", help="only topics that have some")
    parser.add_argument("--unavailable-partitions", action="store_true", help="only topics that have some")


def _topic_statements(given: argparse.Namespace, action: str) -> Statements:
    if action in ("list", "describe") and (action == "list" or given.topic is None or _is_pattern(given.topic)):
        return (_topic_list(given),)
    name = need(given.topic, "--topic", action)
    match action:
        case "describe":
            return (f"describe topic {name}",)
        case "create":
            return (_topic_create(given, name),)
        case "delete":
            return (f"delete topic {name}",)
    if given.replication_factor is not None or given.replica_assignment is not None:
        raise OptionsError("replicas are moved by a reassignment, see kafka-reassign-partitions")
    changes = [f"grow topic {name} partitions={given.partitions}"] if given.partitions is not None else []
    if given.config:
        changes.append(f"set topic {name} {pairs(given.config)}")
    if not changes:
        raise OptionsError("--alter needs --partitions or --config")
    return tuple(changes)


def _is_pattern(name: str) -> bool:
    return any(char in name for char in "*?[")


def _topic_list(given: argparse.Namespace) -> str:
    words = [quote_pattern(given.topic)] if given.topic is not None else []
    if given.exclude_internal:
        words.append("internal=false")
    if given.under_replicated_partitions:
        words.append("under_replicated=[1-9]*")
    if given.unavailable_partitions:
        words.append("offline=[1-9]*")
    return " ".join(["list topics", *words])


def _topic_create(given: argparse.Namespace, name: str) -> str:
    words = [f"create topic {name}"]
    if given.replica_assignment is not None:
        words.append(f"assign={quote(given.replica_assignment)}")
    if given.partitions is not None:
        words.append(f"partitions={given.partitions}")
    if given.replication_factor is not None:
        words.append(f"replication={given.replication_factor}")
    if given.config:
        words.append(pairs(given.config))
    if len(words) == 1:
        words.append("timeout=30s")  # the brokers' own defaults; the language wants at least one word of it
    return " ".join(words)


TOPICS = Noun(
    "topics",
    "list, describe, create, delete and alter topics",
    {
        "list": "the topics, one line each",
        "describe": "one topic: partitions and configs",
        "create": "make a topic",
        "delete": "delete a topic with all its records",
        "alter": "more partitions, or other configs",
    },
    _topic_options,
    _topic_statements,
    _TOPIC_EXAMPLES,
    destructive=("delete",),
)
