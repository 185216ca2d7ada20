"""The options of `kac configs`, and what they stand for: kafka-configs' own, and those of KIP-248 and KIP-21."""

from __future__ import annotations

from console.commands.kafka_configs.reader import Option

TOPICS, CLIENTS, USERS, BROKERS = "topics", "clients", "users", "brokers"
IPS, CLIENT_METRICS, GROUPS, BROKER_LOGGERS = "ips", "client-metrics", "groups", "broker-loggers"
ENTITY_TYPES = (TOPICS, CLIENTS, USERS, BROKERS, IPS, CLIENT_METRICS, GROUPS, BROKER_LOGGERS)
"""In the order in which kafka-configs lists them."""
TYPE_ALIASES = {
    "topic": TOPICS,
    "client": CLIENTS,
    "user": USERS,
    "broker": BROKERS,
    "ip": IPS,
    "group": GROUPS,
    "broker-logger": BROKER_LOGGERS,
}
"""KIP-21 names a type in the singular."""

ENTITY_FLAGS = {
    "topic": TOPICS,
    "client": CLIENTS,
    "user": USERS,
    "broker": BROKERS,
    "broker-logger": BROKER_LOGGERS,
    "ip": IPS,
    "client-metrics": CLIENT_METRICS,
    "group": GROUPS,
}
"""In the order in which kafka-configs looks for them, which decides which of two entities comes first."""
DEFAULT_FLAGS = {"client-defaults": CLIENTS, "user-defaults": USERS, "broker-defaults": BROKERS, "ip-defaults": IPS}

OUTPUTS = ("table", "kafka", "json", "yaml", "csv")

_CLUSTER, _WHAT, _ENTITY, _CHANGE, _FORM = "which cluster", "what to do", "which entity", "what to change", "output"

OPTIONS = (
    Option(
        "bootstrap-server",
        "HOST:PORT,…",
        "brokers to ask first",
        ("bootstrap-servers", "broker-list", "b"),
        _CLUSTER,
    ),
    Option("bootstrap-controller", "HOST:PORT,…", "refused: brokers are asked, and forward", (), _CLUSTER),
    Option("context", "NAME", "a context, see `kac contexts`", ("c",), _CLUSTER),
    Option("command-config", "FILE", "a client.properties", ("config.properties",), _CLUSTER),
    Option("read-only", "", "refuse every change", (), _CLUSTER),
    Option("no-journal", "", "don't write changes into the journal", (), _CLUSTER),
    Option("zookeeper", "HOST:PORT", "ignored with a warning: the brokers are asked", (), _CLUSTER),
    Option("describe", "", "show configs", ("describe-config",), _WHAT),
    Option("alter", "", "change configs", ("alter-config",), _WHAT),
    Option("all", "", "with --describe: what is inherited too", (), _WHAT),
    Option("validate-only", "", "with --alter: let the brokers check it, change nothing", (), _WHAT),
    Option("entity-type", "TYPE", f"one of {', '.join(ENTITY_TYPES)}", (), _ENTITY),
    Option("entity-name", "NAME", "its name", (), _ENTITY),
    Option("entity-default", "", "the default of clients, users, brokers or ips", (), _ENTITY),
    *(Option(flag, "NAME", f"the same as --entity-type {type_}", (), _ENTITY) for flag, type_ in ENTITY_FLAGS.items()),
    *(Option(flag, "", f"the default of {type_}", (), _ENTITY) for flag, type_ in DEFAULT_FLAGS.items()),
    Option("add-config", "K=V,K=[V,V]", "keys to set; brackets keep commas together", ("added-config",), _CHANGE),
    Option("add-config-file", "FILE", "keys to set, in a Java properties file", (), _CHANGE),
    Option("delete-config", "K,K", "keys to remove", ("deleted-config",), _CHANGE),
    Option("force", "", "ask nothing; a warning still needs --accept", (), _CHANGE),
    Option("accept", "NAME,…", "with --alter: go on in spite of these warnings", (), _CHANGE),
    Option("output", "FORM", f"one of {', '.join(OUTPUTS)}; else table on a terminal, kafka elsewhere", (), _FORM),
    Option("help", "", "this text", ("h",), _FORM),
    Option("version", "", "the version of kac", (), _FORM),
)

EXAMPLES = """\
examples:
  kac configs -b broker1:9092 --topic orders --describe
  kac configs -b broker1:9092 --topic orders --alter --add-config retention.ms=86400000,cleanup.policy=[compact,delete]
  kac configs -c prod --user alice --client-defaults --alter --add-config producer_byte_rate=1048576
  kac configs -c prod --broker-defaults --alter --delete-config log.retention.ms --validate-only
  kac configs -c prod --user alice --alter --add-config-file alice.properties     # SCRAM-SHA-256=password=…
  USE_OLD_COMMAND=true kac configs …                                             # runs the kafka-configs on PATH
"""


def usage() -> str:
    """The help text."""
    lines = ["usage: kac configs (--describe | --alter) ENTITY [options]", ""]
    lines.append("Show or change configs of topics, brokers, users, clients, ips, groups, client metrics and loggers.")
    group = ""
    for option in OPTIONS:
        if option.group != group:
            group = option.group
            lines += ["", f"{group}:"]
        lines.append(_line(option))
    return "\n".join([*lines, "", EXAMPLES])


def _line(option: Option) -> str:
    names = ", ".join(f"-{name}" if len(name) == 1 else f"--{name}" for name in (option.name, *option.aliases))
    head = f"  {names} {option.value}".rstrip()
    return f"{head:<38}{option.help}" if len(head) < 37 else f"{head}\n{'':<38}{option.help}"
