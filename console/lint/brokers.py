"""Rules on brokers: their configs, their disks, their listeners, and differences between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter

from console.lint import places
from console.lint import rule as lint_rule
from console.lint.places import broker_values, has_own, on_brokers, whose, without_own
from console.lint.rule import Found, Seen, rule
from console.model import broker_keys, config
from console.model.broker_matrix import BrokerRow, broker_matrix
from console.model.certificates import advertised, client_protocols, listening
from console.model.cluster import Topic
from console.model.codes import BROKER, DYNAMIC_DEFAULT_BROKER_CONFIG, TOPIC
from console.model.config import ConfigEntry, broker_resource, is_override, text_in
from console.model.grouping import grouped
from console.model.inheritance import AUTO_CREATE
from console.model.nodes import address_of
from console.model.numbers import first_few, long_number
from console.model.parts import Part
from console.model.releases import proven_release
from console.model.severity import Certainty, Severity
from console.model.system_topics import may_be_of_application, system_topic
from console.plan.amounts import byte_count
from console.plan.edits import SetConfig
from console.plan.limit_risks import KEYS, Contradiction, contradictions
from console.plan.record_risks import TIME_LIMITS
from console.plan.stale_throttles import LISTS, RATES, stale_throttles

LEAST_BYTES, TIMES = 10 << 30, 4
"""A directory is out of proportion if it has at least this many bytes, and this many times the bytes of another
directory."""
_LONGEST_VALUE = 60
_OF_TOPICS = frozenset(key.name for names in broker_keys.TOPIC_SYNONYMS.values() for key in names)
"""The keys of brokers that topics inherit."""
_REFUSES = frozenset(
    {
        "message.max.bytes",
        "min.insync.replicas",
        *(key.name for limit in TIME_LIMITS for key in broker_keys.TOPIC_SYNONYMS.get(limit, ())),
    }
)
"""The keys of brokers by whose values one leader refuses records that another leader accepts."""
_CONFIGS = (Part.CLUSTER, BROKER)


# -- single settings ---------------------------------------------------------------------------------------------------


def _set_to(seen: Seen, key: str, value: str, what: str, wanted: str) -> Iterator[Found]:
    """Yield a finding if brokers have a wrong value of a key.

    Args:
        value: the wrong value.
        what: the reason why it is wrong, which follows ``KEY=VALUE on all brokers:``.
        wanted: the value to which the remedy sets the key.
    """
    for known, brokers, entry in broker_values(seen, key):
        if known.lower() == value:
            text = f"{key}={known} on {on_brokers(seen, brokers)}: {what}"
            edits, advice = places.set_on(seen, key, wanted, brokers, entry)
            yield Found(whose(seen, brokers), text, key, edits, advice=advice)


@rule(
    name="auto-create",
    severity=Severity.INFO,
    certainty=Certainty.LIKELY,
    title="brokers that create a topic for any name that a client asks for",
    why="Such topics have the default numbers of partitions and replicas, and come back after you delete them",
    needs=_CONFIGS,
    source="brokerconfigs_auto.create.topics.enable",
)
def _auto_create(seen: Seen) -> Iterator[Found]:
    what = "a typing error in a client makes a topic, without an error"
    yield from _set_to(seen, AUTO_CREATE, "true", what, "false")


@rule(
    name="cleaner-off",
    severity=Severity.HIGH,
    certainty=Certainty.CERTAIN,
    title="brokers that do not compact logs",
    why="The offsets' topic grows without end, and a broker that starts reads all of it before groups can work",
    needs=_CONFIGS,
    source="brokerconfigs_log.cleaner.enable",
    stands_after=lint_rule.AT_ONCE,
)
def _no_cleaner(seen: Seen) -> Iterator[Found]:
    what = "nothing is compacted, the topics of coordinators neither: they grow, and are read whole at each start"
    yield from _set_to(seen, "log.cleaner.enable", "false", what, "true")


@rule(
    name="controlled-shutdown-off",
    severity=Severity.WARNING,
    certainty=Certainty.CERTAIN,
    title="brokers that stop without handing their leaders over",
    why="At each restart partitions are without a leader until the controller sees that the broker is gone",
    needs=_CONFIGS,
    source="brokerconfigs_controlled.shutdown.enable",
)
def _no_handover(seen: Seen) -> Iterator[Found]:
    what = "a broker that stops does not hand its leaders over first"
    yield from _set_to(seen, "controlled.shutdown.enable", "false", what, "true")


@rule(
    name="transactions-unverified",
    severity=Severity.WARNING,
    certainty=Certainty.CERTAIN,
    title="brokers that do not verify the partitions of transactions",
    why="A hanging transaction stops readers with read_committed until an operator ends it",
    needs=_CONFIGS,
    since="3.6",
    source="KIP-890",
)
def _unverified(seen: Seen) -> Iterator[Found]:
    what = "a late write of a producer may begin a transaction that nothing ends"
    yield from _set_to(seen, "transaction.partition.verification.enable", "false", what, "true")


def _contradicting(seen: Seen, *, of_clients: bool) -> Iterator[Found]:
    """Yield findings for contradictions between values of one broker, and between values of one topic if the topic
    itself sets one of them.

    Args:
        of_clients: True for only those contradictions that harm clients with the usual values
            (`Contradiction.of_clients`), False for only the others.
    """
    of_brokers = grouped(
        (each, broker)
        for broker, configs in sorted(seen.of_brokers.items())
        for each in contradictions(configs)
        if each.of_clients is of_clients
    )
    for each, brokers in of_brokers.items():
        yield from _of_brokers(seen, each, brokers)
    for configs, topics in seen.sets:
        for each in contradictions(configs):
            # Coordinators and Kafka Streams set their topics' segments themselves, and no client writes such batches.
            mine = filter(_is_of_users, topics if each.of_clients is of_clients else ())
            for resource in (config.topic_resource(topic.name) for topic in mine):
                if any(is_override(e, resource) for e in configs if e.name in KEYS):
                    yield Found(resource, each.text, each.key, (SetConfig(resource, each.key, str(each.wanted)),))


def _is_of_users(topic: Topic) -> bool:
    return not (topic.internal or may_be_of_application(topic.name) or system_topic(topic.name))


def _of_brokers(seen: Seen, found: Contradiction, brokers: list[int]) -> Iterator[Found]:
    """Yield the findings for a contradiction that these brokers have. If the key can be changed only by a restart,
    one finding for each broker, with the advice to change its file. Otherwise one finding for all of them: with
    edits that change the value on brokers with a dynamic value, and on the cluster default for the rest; or with
    the advice to change the files, if a new cluster default would also change other brokers. No broker gets a new
    dynamic value, because it would hide later defaults and the broker's file.
    """
    entries = {broker: seen.of_brokers[broker].get(found.key) for broker in brokers}
    advice = f"set {found.key}={found.wanted} in its file, and restart it"
    if any(
        broker_keys.update_mode(BROKER, found.key, each) is broker_keys.UpdateMode.RESTART for each in entries.values()
    ):
        yield from (Found(broker_resource(broker), found.text, found.key, advice=advice) for broker in brokers)
        return
    rest = [entry for broker, entry in entries.items() if not has_own(seen, broker, found.key)]
    is_default = all(entry is not None and entry.source == DYNAMIC_DEFAULT_BROKER_CONFIG for entry in rest)
    if rest and not is_default and len(brokers) < len(seen.brokers):
        # A default of the cluster would also change the other brokers.
        yield Found(whose(seen, brokers), found.text, found.key, advice=advice.replace("its file", "the file of each"))
        return
    edits = places.set_where_set(seen, found.key, str(found.wanted), brokers)
    yield Found(whose(seen, brokers), found.text, found.key, edits)


@rule(
    name="settings-contradict",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="two settings of a broker or a topic that contradict each other",
    why="Replicas leave ISRs, brokers are fenced, or records are refused, without a fault of any host",
    needs=_CONFIGS,
    also=(Part.TOPICS,),
    source="brokerconfigs",
    stands_after=lint_rule.AFTER_ITS_CHANGE,
    is_lasting=True,
)
def _contradictions(seen: Seen) -> Iterator[Found]:
    return _contradicting(seen, of_clients=False)


@rule(
    name="limit-below-usual",
    severity=Severity.WARNING,
    certainty=Certainty.POSSIBLE,
    title="a limit that clients with their usual settings do not keep",
    why="Brokers refuse such clients; the clients may have other settings on purpose",
    needs=_CONFIGS,
    also=(Part.TOPICS,),
    source="brokerconfigs",
    stands_after=lint_rule.AFTER_ITS_CHANGE,
)
def _limits(seen: Seen) -> Iterator[Found]:
    return _contradicting(seen, of_clients=True)


@rule(
    name="log-dir-in-tmp",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="records in a directory for temporary files",
    why="A restart of the host, or its cleaner of temporary files, deletes the broker's records and its identity",
    needs=_CONFIGS,
    source="brokerconfigs_log.dirs",
)
def _in_tmp(seen: Seen) -> Iterator[Found]:
    for broker, configs in sorted(seen.of_brokers.items()):
        key = next((each for each in ("log.dirs", "log.dir") if text_in(configs, each)), "")
        wrong = [each for each in text_in(configs, key).split(",") if each.strip().startswith("/tmp/")]  # noqa: S108 a path of brokers
        if wrong:
            what = f"{key} is under {wrong[0].strip()}, which hosts empty when they start, and cleaners do in between"
            yield Found(broker_resource(broker), what, key, advice=f"move {key} to a disk of its own in its file")


# -- listeners ---------------------------------------------------------------------------------------------------------


@rule(
    name="plaintext-next-to-sasl",
    severity=Severity.WARNING,
    certainty=Certainty.POSSIBLE,
    title="a listener in plain text without logins, next to one with logins",
    why="A client that reaches its port needs no login, and the network carries the records unencrypted",
    needs=_CONFIGS,
    source="security_overview",
)
def _plain_next_to_login(seen: Seen) -> Iterator[Found]:
    for broker, configs in sorted(seen.of_brokers.items()):
        found = client_protocols(configs)
        plain = [name for name, protocol in found.items() if protocol == "PLAINTEXT"]
        logins = [name for name, protocol in found.items() if protocol.startswith("SASL_")]
        if plain and logins:
            what = f"listener {plain[0]} takes anybody as ANONYMOUS in plain text, next to {logins[0]} with logins"
            yield Found(broker_resource(broker), what, "listeners", advice="close it to other hosts than brokers")


@rule(
    name="advertised-port-odd",
    severity=Severity.HIGH,
    certainty=Certainty.POSSIBLE,
    title="a broker that advertises another port than it listens at, unlike the other brokers",
    why="Clients of the listener learn the address from any broker, and can't reach what this one leads",
    needs=_CONFIGS,
    source="brokerconfigs_advertised.listeners",
    stands_after=lint_rule.SETTLED,
    is_lasting=True,
)
def _other_port(seen: Seen) -> Iterator[Found]:
    to_kac = set(map(address_of, seen.brokers))  # kac knows whether it reaches these
    ports = {broker: listening(configs) for broker, configs in seen.of_brokers.items()}
    of_names = grouped(
        (each.name.upper(), each)
        for broker, configs in sorted(seen.of_brokers.items())
        for each in advertised(broker, configs)
        if ports[broker].get(each.name.upper())
    )
    for name, listeners in of_names.items():
        # With two brokers, either may be the odd one. Behind a proxy or a node port, all of them differ.
        odd = [each for each in listeners if each.port != ports[each.broker][name] and each.address not in to_kac]
        for each in odd if len(odd) * 2 < len(listeners) else ():
            what = (
                f"listener {each.name} advertises {each.address}, and listens at port {ports[each.broker][name]}; the "
                "other brokers advertise the port at which they listen"
            )
            advice = "correct advertised.listeners in its file, and restart it; unless a proxy of its own forwards"
            yield Found(broker_resource(each.broker), what, "advertised.listeners", advice=advice)


@rule(
    name="login-without-authorizer",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="brokers with logins and without an authorizer",
    why="A login limits no client: each user may delete each topic",
    needs=_CONFIGS,
    source="brokerconfigs_authorizer.class.name",
)
def _login_without_rights(seen: Seen) -> Iterator[Found]:
    key = "authorizer.class.name"
    open_ = [
        broker
        for broker, configs in sorted(seen.of_brokers.items())
        if (entry := configs.get(key)) is not None
        and not entry.hidden
        and not entry.value
        and any(each.startswith("SASL_") for each in client_protocols(configs).values())
    ]
    if open_:
        what = f"clients log in, and may do everything: {key} is empty on {on_brokers(seen, open_)}"
        yield Found(whose(seen, open_), what, key, advice=f"set {key} in the brokers' files, after ACLs are there")


# -- differences -------------------------------------------------------------------------------------------------------


@rule(
    name="broker-differs",
    severity=Severity.WARNING,
    certainty=Certainty.POSSIBLE,
    title="a broker with a different setting than most brokers of its release",
    why="A client that works with one broker may fail with another one after a leader moves",
    needs=(*_CONFIGS, Part.VERSIONS),
    source="brokerconfigs",
)
def _differing(seen: Seen) -> Iterator[Found]:
    return (each for row in _odd_rows(seen) if row.key not in _OF_TOPICS for each in _odd(row))


@rule(
    name="topic-default-differs",
    severity=Severity.WARNING,
    certainty=Certainty.POSSIBLE,
    title="a broker whose value of a topics' setting differs from that of most brokers of its release",
    why="A topic that inherits the value has another limit in the partitions that this broker leads",
    needs=(*_CONFIGS, Part.VERSIONS),
    source="topicconfigs",
    stands_after=lint_rule.SETTLED,
)
def _of_other_topics(seen: Seen) -> Iterator[Found]:
    for row in _odd_rows(seen):
        for each in _odd(row) if row.key in _OF_TOPICS and not _are_same(seen, row) else ():
            yield each._replace(hurts=row.key in _REFUSES)


def _are_same(seen: Seen, row: BrokerRow) -> bool:
    """Return whether the brokers give topics the same limit, although they set it by keys in different units, such
    as hours and milliseconds.
    """
    names = next(names for names in broker_keys.TOPIC_SYNONYMS.values() if row.key in {key.name for key in names})
    limits = {_in_effect(seen.of_brokers[broker], names) for broker in row.values}
    return len(limits) == 1 and None not in limits


def _in_effect(configs: config.ConfigSet, names: Iterable[broker_keys.BrokerKey]) -> int | None:
    """Return the number that topics inherit from a broker by these keys, in the topics' unit; None if it is unknown."""
    layers = broker_keys.layers_of(configs)
    known = [
        (broker_keys.PRECEDENCE.index(each.source), number * key.factor)
        for key in names
        for each in layers(key.name)
        if (number := long_number(each.value)) is not None
    ]
    # A stronger source beats a stronger name; of one source, the first name counts.
    return min(known, key=itemgetter(0))[1] if known else None


def _odd_rows(seen: Seen) -> Iterator[BrokerRow]:
    """Yield the keys in which fewer than half of the brokers differ from the others."""
    sets = seen.of_brokers
    # With two brokers, either may be the odd one. Brokers of different releases differ in their defaults.
    if len(sets) < 3 or len(sets) < len(seen.brokers) or len(_releases(seen)) > 1:
        return
    yield from (row for row in broker_matrix(sets) if len(row.odd) * 2 < len(sets))


def _odd(row: BrokerRow) -> Iterator[Found]:
    usual = next((entry for broker, entry in row.values.items() if broker not in row.odd), None)
    for broker in sorted(row.odd):
        entry = row.values[broker]
        # A key that a broker lacks belongs to a plug-in or another release, and a hidden value may be the same as the
        # others.
        if entry is None or usual is None or entry.sensitive or usual.sensitive:
            continue
        what = f"{row.key} is {_shown(entry)}, on the others {_shown(usual)}"
        edits = without_own(broker_resource(broker), row.key, entry)
        yield Found(broker_resource(broker), what, row.key, edits, advice="" if edits else "compare the brokers' files")


def _shown(entry: ConfigEntry) -> str:
    value = entry.value or "empty"
    return value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}…"


def _releases(seen: Seen) -> dict[str, list[int]]:
    versions = sorted(seen.snapshot.versions.items())
    known = ((proven_release(each.apis, each.supported_features), broker) for broker, each in versions)
    return grouped((release, broker) for release, broker in known if release)


@rule(
    name="releases-differ",
    severity=Severity.INFO,
    certainty=Certainty.LIKELY,
    title="brokers of several releases, as after an unfinished upgrade",
    why="Features wait for the oldest broker, and the bugs of each release are there",
    needs=(Part.CLUSTER, Part.VERSIONS),
    source="upgrade",
)
def _several_releases(seen: Seen) -> Iterator[Found]:
    found = _releases(seen)
    if len(found) > 1:
        parts = [f"{release} on {first_few([*map(str, brokers)])}" for release, brokers in sorted(found.items())]
        what = f"brokers are of several releases: {'; '.join(parts)}"
        yield Found(whose(seen, ()), what, advice="upgrade the others, unless that goes on now")


# -- disks -------------------------------------------------------------------------------------------------------------


@rule(
    name="log-dir-offline",
    severity=Severity.HIGH,
    certainty=Certainty.CERTAIN,
    title="a log directory that its broker can't use",
    why="Its partitions have one replica less until you replace the disk",
    needs=(Part.CLUSTER, Part.LOG_DIRS),
    source="KIP-112",
)
def _failed_dirs(seen: Seen) -> Iterator[Found]:
    for broker, dirs in sorted(seen.snapshot.log_dirs.items()):
        for each in dirs:
            if each.failure is not None:
                what = f"log directory {each.path} is offline: {each.failure}"
                yield Found(
                    broker_resource(broker), what, "log.dirs", advice="replace the disk, and restart the broker"
                )


@rule(
    name="log-dirs-uneven",
    severity=Severity.INFO,
    certainty=Certainty.LIKELY,
    title="a log directory with many times the bytes of another directory of the same broker",
    why="One disk fills while another is empty, because Kafka places partitions by number, not by bytes",
    needs=(Part.CLUSTER, Part.LOG_DIRS),
    source="KIP-113",
)
def _uneven_dirs(seen: Seen) -> Iterator[Found]:
    for broker, dirs in sorted(seen.snapshot.log_dirs.items()):
        usable = [each for each in dirs if each.failure is None and not each.cordoned]
        if len(usable) < 2:
            continue
        least, most = min(usable, key=lambda each: each.size), max(usable, key=lambda each: each.size)
        if most.size >= LEAST_BYTES and most.size > TIMES * least.size:
            what = f"{most.path} holds {byte_count(most.size)}, {least.path} {byte_count(least.size)}"
            advice = "move replicas between its directories: move topic NAME broker ID to dir PATH"
            yield Found(broker_resource(broker), what, "log.dirs", advice=advice)


@rule(
    name="replication-throttled",
    severity=Severity.WARNING,
    certainty=Certainty.CERTAIN,
    title="a replication throttle that no move uses",
    why="A broker that comes back can't catch up faster than the throttle, and stays out of sync for hours",
    needs=(*_CONFIGS, Part.TOPICS, Part.REASSIGNMENTS, Part.LOG_DIRS),
    source="rep-throttle",
    stands_after=lint_rule.AT_WORK,
)
def _leftover_throttles(seen: Seen) -> Iterator[Found]:
    # Report throttles of topics first: their lists of replicas show which replicas are slow.
    for each in sorted(stale_throttles(seen.snapshot), key=lambda each: each.edit.resource.type != TOPIC):
        if (each.edit.resource, each.edit.key) not in seen.meant:
            what = f"a throttle is left over, as {each.why}: {each.edit.key}={each.value[:_LONGEST_VALUE]}"
            advice = "if it is meant, declare it in the context's throttles; else remove it"
            # Tools set rates on single brokers. A rate for all brokers without a list is rather a precaution.
            is_idle = each.edit.key in RATES and each.edit.resource.is_cluster_default and _limits_nothing(seen)
            severity = Severity.INFO if is_idle else None
            yield Found(each.edit.resource, what, each.edit.key, (each.edit,), advice=advice, severity=severity)


def _limits_nothing(seen: Seen) -> bool:
    """Return whether no topic has a list of throttled replicas, so that a throttle rate has no effect. False if a
    topic's configs were not read.
    """
    if sum(len(topics) for _, topics in seen.sets) < len(seen.topics):
        return False
    entries = (configs.get(key) for configs, _ in seen.sets for key in LISTS)
    return not any(each is not None and each.value for each in entries)
