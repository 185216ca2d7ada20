"""The nouns whose commands need no file of their own: ``kac topics``, ``quotas``, ``brokers``, ``scram`` and others."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from console.cli import noun as cli_noun
from console.language.quoting import DEFAULT_NAME, quote, quote_pattern, shell_word
from console.model.numbers import natural_number, option
from console.model.patterns import globs_of, has_signs, looks_like_regex

if TYPE_CHECKING:
    from console.contexts import Context
    from console.session.snapshot_reader import Client

_TOPIC_EXAMPLES = """\
examples:
  kac topics -b broker1:9092 --list
  kac topics -c prod --describe --topic orders --output json
  kac topics -c prod --create --topic orders --partitions 12 --replication-factor 3 --config retention.ms=7d
  kac topics -c prod --alter --topic orders --partitions 24 --validate-only
  kac topics -c prod --delete --topic orders-old --yes
  kac topics -c prod --election-type preferred --all-topic-partitions
  kac topics -c prod --election-type unclean --topic orders --partition 3 --accept unclean-loss=orders/3
  kac topics -c prod --offset-json-file offsets.json --accept records-deleted=orders
"""


def _topic_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--topic",
        metavar="NAME",
        action="append",
        default=[],
        help="the topic's name; with --list, --describe, --delete also a pattern such as svc-*; may be repeated",
    )
    parser.add_argument("--partitions", metavar="N", type=option(natural_number), help="the total number of partitions")
    parser.add_argument(
        "--replication-factor",
        metavar="N",
        type=option(natural_number),
        help="the number of replicas of each partition",
    )
    parser.add_argument(
        "--replica-assignment", metavar="1:2,2:3", help="the brokers of each partition, the preferred leader first"
    )
    parser.add_argument("--config", metavar="K=V", action="append", default=[], help="a config; may be repeated")
    parser.add_argument("--if-exists", action="store_true", help="do nothing if the topic does not exist")
    parser.add_argument("--if-not-exists", action="store_true", help="do nothing if the topic exists")
    parser.add_argument("--exclude-internal", action="store_true", help="without Kafka's own topics")
    parser.add_argument("--under-replicated-partitions", action="store_true", help="only topics with such partitions")
    parser.add_argument("--unavailable-partitions", action="store_true", help="only topics with such partitions")
    leaders = parser.add_argument_group("leaders and records")
    leaders.add_argument("--election-type", metavar="TYPE", help="elect leaders: preferred, or unclean")
    leaders.add_argument(
        "--partition", metavar="N", type=option(natural_number), help="with --topic: elect the leader of this partition"
    )
    leaders.add_argument(
        "--all-topic-partitions", action="store_true", help="elect leaders of all partitions that need it"
    )
    leaders.add_argument("--path-to-json-file", metavar="FILE", help="elect leaders of the partitions in this file")
    leaders.add_argument(
        "--offset-json-file", metavar="FILE", help="delete the records before the offsets in this file"
    )


def _topic_meaning(given: argparse.Namespace, action: str) -> cli_noun.Statements | cli_noun.Carry:
    if action in ("elect", "delete-records"):
        from console.cli.partition_files import deletions, elections

        return elections(given) if action == "elect" else deletions(given.offset_json_file)
    for text in given.topic:
        if action in ("list", "describe") or (action == "delete" and has_signs(text)):
            _refuse_regex(text)
    if action == "list" or (action == "describe" and (not given.topic or any(map(has_signs, given.topic)))):
        return (_topic_list(given),)
    if not given.topic:
        cli_noun.need(None, "--topic", action)
    if len(given.topic) > 1 and (given.if_exists or given.if_not_exists):
        raise cli_noun.OptionsError("--if-exists and --if-not-exists are of one --topic")
    return tuple(text for name in dict.fromkeys(given.topic) for text in _of_one_topic(given, name, action))


def _of_one_topic(given: argparse.Namespace, topic: str, action: str) -> cli_noun.Statements:
    name = quote(topic)
    match action:
        case "describe":
            return (f"describe topic {name}",)
        case "create":
            return (_topic_create(given, name),)
        case "delete":
            return (f"delete topic {quote_pattern(topic)}",)
    if given.replication_factor is not None:
        how = f"kac moves replication {shell_word(topic)} {given.replication_factor}"
        raise cli_noun.OptionsError(f"replicas are moved: {how} plans it, and with --run does it")
    if given.replica_assignment is not None:
        how = f"move topic {name} partition N to ID,ID,…"
        raise cli_noun.OptionsError(f"replicas are moved: kac run -e '{how}' stages it, kac moves --help has more")
    changes = [f"grow topic {name} partitions={given.partitions}"] if given.partitions is not None else []
    if given.config:
        changes.append(f"set topic {name} {cli_noun.pairs(given.config)}")
    if not changes:
        raise cli_noun.OptionsError("--alter needs --partitions or --config")
    return tuple(changes)


def _refuse_regex(text: str) -> None:
    """Raise OptionsError for a text that looks like a regular expression. kafka-topics accepts regular expressions; as
    a pattern of kac the text would match other topics, or none.
    """
    if not looks_like_regex(text) and "," not in text:  # a comma means "or" in kafka-topics
        return
    globs = globs_of(text)
    does = " ".join(f"--topic {shell_word(glob)}" for glob in globs)
    if not globs:
        does = f"kac topics --list --output csv | grep -E {shell_word(text)}"
    elif ".*" in text:
        does += f", or for the names that go on behind a dot --topic {shell_word(text.replace('.*', '.?*'))}"
    raise cli_noun.OptionsError(
        f"'{text[:200]}' looks like a regular expression; the patterns of --topic are *, ? and [ab]: {does}"
    )


def _topic_list(given: argparse.Namespace) -> str:
    words = [quote_pattern(name) for name in given.topic]
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
        words.append(cli_noun.pairs(given.config))
    if len(words) == 1:
        words.append("timeout=30s")  # the language requires an option; all others are left to the brokers' defaults
    return " ".join(words)


TOPICS = cli_noun.Noun(
    "topics",
    {
        "list": "the topics, one line each",
        "describe": "a topic with its partitions and configs",
        "create": "create a topic",
        "delete": "delete a topic with all its records",
        "alter": "add partitions, or change configs",
    },
    _topic_options,
    _topic_meaning,
    _TOPIC_EXAMPLES,
    destructive=("delete", "delete-records"),
    implied={"election_type": "elect", "offset_json_file": "delete-records"},
)


# `kac quotas`: quotas of users, clients and addresses.

_QUOTA_EXAMPLES = """\
examples:
  kac quotas -c prod --list --user alice
  kac quotas -c prod --effective --user alice --client checkout-7
  kac quotas -c prod --alter --user alice --client-defaults --add-config producer_byte_rate=10MB/s
  kac quotas -c prod --alter --ip 10.0.0.1 --delete-config connection_creation_rate
"""
_PARTS = ("user", "client", "ip")


def _quota_options(parser: argparse.ArgumentParser) -> None:
    for part in _PARTS:
        one = parser.add_mutually_exclusive_group()
        one.add_argument(f"--{part}", metavar="NAME", help=f"the {part}; with --list also a pattern")
        one.add_argument(f"--{part}-defaults", action="store_true", help=f"the default {part}")
    cli_noun.add_config_options(parser, "quotas")


def _quota_statements(given: argparse.Namespace, action: str) -> cli_noun.Statements:
    if action == "list":
        return (" ".join(["list quotas", *(f"{part}={name}" for part, name in _parts(given, pattern=True))]),)
    if action == "effective":
        if given.user_defaults or given.client_defaults:
            raise cli_noun.OptionsError("--effective is for a user and a client that there are, not for defaults")
        user, client = cli_noun.need(given.user, "--user", action), cli_noun.need(given.client, "--client", action)
        return (f"effective user {user} client {client}",)
    entity = " ".join(f"{part} {name}" for part, name in _parts(given))
    if not entity:
        raise cli_noun.OptionsError(f"--{action} needs --user, --client or --ip, or their defaults")
    if action == "describe":
        return (f"show {entity}",)
    return cli_noun.alteration(entity, given)


def _parts(given: argparse.Namespace, pattern: bool = False) -> list[tuple[str, str]]:
    found = []
    for part in _PARTS:
        name = getattr(given, part)
        if getattr(given, f"{part}_defaults"):
            found.append((part, DEFAULT_NAME))
        elif name is not None:
            found.append((part, quote_pattern(name) if pattern else quote(name)))
    return found


QUOTAS = cli_noun.Noun(
    "quotas",
    {
        "list": "the quotas that are set",
        "describe": "an entity's quotas",
        "effective": "the quota that applies to a user and a client, and the quotas that it overrides",
        "alter": "set or remove quotas of an entity",
    },
    _quota_options,
    _quota_statements,
    _QUOTA_EXAMPLES,
)


# `kac brokers`: brokers, their configs and their registrations.

_BROKER_EXAMPLES = """\
examples:
  kac brokers -b broker1:9092 --list
  kac brokers -c prod --describe --broker 2
  kac brokers -c prod --alter --broker-defaults --add-config log.retention.ms=7d --validate-only
  kac brokers -c prod unregister --id 4
  kac brokers -c prod cluster-id --output json
"""


def _broker_options(parser: argparse.ArgumentParser) -> None:
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--broker", metavar="ID", help="the broker's id")
    one.add_argument("--broker-defaults", action="store_true", help="the default of all brokers")
    parser.add_argument(
        "--id", "-i", metavar="ID", type=option(natural_number), help="with unregister: the broker's id"
    )
    cli_noun.add_config_options(parser, "configs")


def _broker_meaning(given: argparse.Namespace, action: str) -> cli_noun.Statements | cli_noun.Carry:
    match action:
        case "list" | "list-endpoints":
            return ("list brokers",)
        case "cluster-id":
            return _cluster_id
        case "unregister":
            if given.id is None:
                raise cli_noun.OptionsError("unregister needs --id")
            return (f"unregister broker {given.id}",)
    if given.broker is None and not given.broker_defaults:
        raise cli_noun.OptionsError(f"--{action} needs --broker ID or --broker-defaults")
    entity = f"broker {DEFAULT_NAME if given.broker_defaults else quote(given.broker)}"
    return (f"describe {entity}",) if action == "describe" else cli_noun.alteration(entity, given)


async def _cluster_id(client: Client, context: Context) -> cli_noun.Found:
    from console.answers.results import Detail
    from console.session.snapshot_reader import SnapshotReader

    reader = SnapshotReader(client, context)
    await reader.read_cluster()
    found = reader.snapshot.cluster.cluster_id
    return cli_noun.Found([Detail(f"cluster {found or '–'}", {"cluster_id": found})])


BROKERS = cli_noun.Noun(
    "brokers",
    {
        "list": "the brokers, with the controller marked",
        "describe": "all configs of a broker, or the brokers' default",
        "alter": "set or remove configs",
    },
    _broker_options,
    _broker_meaning,
    _BROKER_EXAMPLES,
    destructive=("unregister",),
    words={
        "unregister": "remove the registration of a broker that does not come back, of --id",
        "cluster-id": "the cluster's id",
        "list-endpoints": "the brokers with their addresses and racks, as --list",
    },
    elsewhere={"--include-fenced-brokers": "brokers that are down are always listed, as fenced"},
)


# `kac scram`: credentials, whose passwords come from a file or a prompt, never from an argument.

_SCRAM_EXAMPLES = """\
examples:
  kac scram -b broker1:9092 --list
  kac scram -c prod --create --user alice --mechanism SCRAM-SHA-512                      # asks, hidden
  kac scram -c prod --create --user alice --mechanism SCRAM-SHA-256 --password-file pw
  kac scram -c prod --delete --user alice --mechanism SCRAM-SHA-256 --yes
"""


def _scram_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", metavar="NAME", help="the user")
    parser.add_argument("--mechanism", choices=("SCRAM-SHA-256", "SCRAM-SHA-512"), type=str.upper, help="the mechanism")
    parser.add_argument("--iterations", metavar="N", type=option(natural_number), help="4096 to 16384 (default: 4096)")
    parser.add_argument("--password-file", metavar="FILE", help="a file with the password (default: kac asks for it)")


def _scram_statements(given: argparse.Namespace, action: str) -> cli_noun.Statements:
    if action in ("list", "describe"):
        if action == "list" and given.user is None:
            return ("list scram",)
        return (f"list scram user={cli_noun.need(given.user, '--user', action)}",)
    user, mechanism = cli_noun.need(given.user, "--user", action), cli_noun.need(given.mechanism, "--mechanism", action)
    if action == "delete":
        return (f"scram delete {user} {mechanism}",)
    iterations = f" iterations={given.iterations}" if given.iterations is not None else ""
    source = "?" if given.password_file is None else f"@{quote(given.password_file)}"
    return (f"scram set {user} {mechanism}{iterations} password={source}",)


SCRAM = cli_noun.Noun(
    "scram",
    {
        "list": "the users and their credentials",
        "describe": "the credentials of a user",
        "create": "set a credential, or another password",
        "delete": "delete a credential",
    },
    _scram_options,
    _scram_statements,
    _SCRAM_EXAMPLES,
    destructive=("delete",),
    aliases=(("alter", "create"),),
)


# `kac tokens`: delegation tokens; the HMAC of a new one is shown only on a terminal.

_HOW_TOKENS = """\
examples:
  kac tokens -c prod --list
  kac tokens -c prod --create --renewer-principal User:flink --lifetime 7d --yes
  kac tokens -c prod --renew --token ID --period 1d --yes
  kac tokens -c prod --expire --token ID
"""


def _token_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--token", metavar="ID", help="the token's id; with --list also a pattern")
    add(
        "--owner-principal",
        metavar="PRINCIPAL",
        help="with --create: the owner, such as User:alice; with --list: only tokens of this owner",
    )
    add(
        "--renewer-principal",
        metavar="PRINCIPAL",
        action="append",
        default=[],
        help="a principal that may renew the token; may be repeated",
    )
    add(
        "--lifetime",
        metavar="DURATION",
        help="with --create: the longest lifetime, for example 7d (default: the brokers')",
    )
    add(
        "--period",
        metavar="DURATION",
        help="the time from now on (default: the brokers' for --renew; --expire is at once)",
    )


def _token_statements(given: argparse.Namespace, action: str) -> cli_noun.Statements:
    if action == "list":
        name = f" {quote_pattern(given.token)}" if given.token is not None else ""
        owner = f" owner={quote_pattern(given.owner_principal)}" if given.owner_principal is not None else ""
        return (f"list tokens{name}{owner}",)
    if action == "create":
        words = ["token create"]
        words += [cli_noun.pair(f"owner={given.owner_principal}")] if given.owner_principal is not None else []
        words += [cli_noun.pair(f"renewers={','.join(given.renewer_principal)}")] if given.renewer_principal else []
        words += [cli_noun.pair(f"lifetime={given.lifetime}")] if given.lifetime is not None else []
        return (" ".join(words),)
    word = "for" if action == "renew" else "in"
    period = f" {word} {quote(given.period)}" if given.period is not None else ""
    return (f"token {action} {cli_noun.need(given.token, '--token', action)}{period}",)


TOKENS = cli_noun.Noun(
    "tokens",
    {
        "list": "the tokens that you may see",
        "create": "create a token, and show its HMAC once, on a terminal",
        "renew": "renew a token",
        "expire": "expire a token, at once or after a period",
    },
    _token_options,
    _token_statements,
    _HOW_TOKENS,
    destructive=("expire",),
)

# `kac connectors`: Kafka Connect.

_CONNECTOR_EXAMPLES = """\
examples:
  kac connectors -c prod
  kac connectors -c prod list --connector 'main/orders-*' --state FAILED
  kac connectors -c prod describe --connector main/orders-sink --output json
  kac connectors -c prod restart --connector main/orders-sink --failed --yes
  kac connectors -c prod alter --connector main/orders-sink --add-config tasks.max=4 --validate-only
  kac connectors -c prod create --connector main/orders-sink --config-file orders-sink.json --initial-state stopped
"""


def _connector_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--connector", metavar="CLUSTER/NAME", help="the connector; with list also a pattern such as main/orders-*")
    add("--state", metavar="STATE", type=str.upper, help="with list: only connectors in this state, such as FAILED")
    add("--config-file", metavar="FILE", help="with create: a file with the config, as JSON or properties")
    add("--initial-state", choices=("paused", "stopped"), help="with create: the first state (default: it runs)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--failed", action="store_true", help="with restart: only what has failed, the connector or tasks"
    )
    what.add_argument("--tasks", action="store_true", help="with restart: also the tasks")
    what.add_argument("--task", metavar="N", type=option(natural_number), help="with restart: only this task")
    cli_noun.add_config_options(parser, "configs")


def _connector_statements(given: argparse.Namespace, action: str) -> cli_noun.Statements:
    if action in ("workers", "plugins"):
        return (f"list connect-{action}",)
    if action == "list":
        name = f" {quote_pattern(given.connector)}" if given.connector is not None else ""
        state = f" state={quote_pattern(given.state)}" if given.state is not None else ""
        return (f"list connectors{name}{state}",)
    connector = f"connector {cli_noun.need(given.connector, '--connector', action)}"
    match action:
        case "alter":
            return cli_noun.alteration(connector, given)
        case "restart":
            task = f" task {given.task}" if given.task is not None else ""
            return (f"restart {connector}{' failed' if given.failed else ' tasks' if given.tasks else task}",)
        case "create":
            file = f" @{quote(given.config_file)}" if given.config_file is not None else ""
            configs = f" {cli_noun.pairs(given.add_config)}" if given.add_config else ""
            state = f" {given.initial_state}" if given.initial_state is not None else ""
            return (f"create {connector}{file}{configs}{state}",)
        case _:
            return (f"{action} {connector}",)


CONNECTORS = cli_noun.Noun(
    "connectors",
    {},
    _connector_options,
    _connector_statements,
    _CONNECTOR_EXAMPLES,
    destructive=("delete",),
    words={
        "list": "the connectors of the context's Connect clusters",
        "describe": "one connector: state, tasks with their traces, config",
        "workers": "the workers that the context names",
        "plugins": "the installed plugins with their versions",
        "pause": "pause the tasks of a connector",
        "stop": "end the tasks of a connector, and keep its config and offsets",
        "resume": "let a paused or stopped connector run again",
        "restart": "restart a connector, its tasks, or the instances that have failed",
        "create": "create a connector from --config-file and --add-config",
        "alter": "set or remove configs",
        "delete": "delete a connector, and keep its offsets",
    },
)
