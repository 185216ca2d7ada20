"""Tries on real brokers which features of kac work with which release of Kafka, and records the results;
docs/versions.md has them as a table.

``python -m tests.support.versions [RELEASE …]`` starts a cluster of each of these releases (by default of all), tries
all features on it, and writes the results and the table. `tests/broker/test_old_versions.py` also tries them and
compares the results with the recorded ones; `tests/unit/test_pages.py` compares the table.
"""

import asyncio
import json
import sys
import uuid
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from console.admin import acls, cluster, configs, features, groups, partitions, quotas, scram, topics, transactions
from console.admin.changes import send
from console.admin.errors import Unsupported
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.model import changes, codes, config, quota, secret
from console.model.acl import Acl
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import RELEASES
from tests.support.patience import PATIENCE
from tests.support.zookeeper_cluster import ZooKeeperCluster

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(__file__).with_name("versions.json")
PAGE = ROOT / "docs" / "versions.md"
BEGIN, END = "<!-- made by tests/support/versions.py -->\n", "<!-- end of it -->\n"

WORKS, MISSING = "✓", "–"

Try = Callable[[Link, str], Awaitable[None]]


async def _applied(link: Link, change: changes.ChangeRequest) -> None:
    outcomes = await send(link, change, validate_only=False)
    bad = [outcome for outcome in outcomes if outcome.status is not changes.Status.APPLIED]
    if bad and all(each.failure is not None and each.failure.name == "UNSUPPORTED_VERSION" for each in bad):
        raise Unsupported("the change", "")
    assert not bad, bad


async def _topics(link: Link, name: str) -> None:
    await _applied(link, changes.CreateTopics((changes.NewTopic(name, 1, 1),)))
    await _applied(link, changes.CreatePartitions({name: 2}))
    assert len((await topics.describe_topics(link, [name])).topics[name].partitions) == 2
    await _applied(link, changes.DeleteTopics((name,)))


async def _check_only(link: Link, name: str) -> None:
    outcomes = await send(link, changes.CreateTopics((changes.NewTopic(name, 1, 1),)), validate_only=True)
    assert {outcome.status for outcome in outcomes} == {changes.Status.VALID}


def _config(resource: Callable[[str], config.ConfigResource], key: str, value: str) -> Try:
    async def changed_and_taken_back(link: Link, name: str) -> None:
        where = resource(name)
        if where == config.topic_resource(name):
            await _applied(link, changes.CreateTopics((changes.NewTopic(name, 1, 1),)))
        await _applied(link, changes.AlterConfigs({where: (changes.ConfigOp(key, codes.SET, value),)}))
        found = (await configs.describe_configs(link, [where])).sets[where]
        assert any(entry.name == key and entry.value == value for entry in found.overrides(where))
        await _applied(link, changes.AlterConfigs({where: (changes.ConfigOp(key, codes.DELETE),)}))

    return changed_and_taken_back


def _quota(entity: str, key: str) -> Try:
    async def changed_and_taken_back(link: Link, name: str) -> None:
        where = quota.QuotaEntity.of({entity: "127.0.0.9" if entity == "ip" else name})
        await _applied(link, changes.AlterQuotas({where: {key: 5.0}}))
        assert (await quotas.describe_quotas(link))[where] == {key: 5.0}
        await _applied(link, changes.AlterQuotas({where: {key: None}}))

    return changed_and_taken_back


async def _scram(link: Link, name: str) -> None:
    await _applied(
        link, changes.AlterScram({changes.ScramUser(name, codes.ScramMechanism(1)): (4096, secret.Secret("p"))})
    )
    assert name in (await scram.describe_scram(link)).users
    await _applied(link, changes.AlterScram({}, (changes.ScramUser(name, codes.ScramMechanism(1)),)))


async def _acls(link: Link, name: str) -> None:
    topic, literal = codes.AclResourceType.parse("topic"), codes.PatternType.parse("literal")
    acl = Acl(
        topic, name, literal, f"User:{name}", "*", codes.AclOperation.parse("read"), codes.Permission.parse("deny")
    )
    await _applied(link, changes.CreateAcls((acl,)))
    assert acl in await acls.describe_acls(link)
    await _applied(link, changes.DeleteAcls((acl,)))


async def _moves(link: Link, name: str) -> None:
    await _applied(link, changes.CreateTopics((changes.NewTopic(name, 1, 1),)))
    await topics.wait_for_leaders(link, {name: 1}, PATIENCE)
    await _applied(link, changes.AlterReassignments({changes.MoveTarget(name, 0): (1,)}))
    await send(link, changes.ElectLeaders((changes.PartitionTarget(name, 0),)), validate_only=False)
    await partitions.list_reassignments(link)


async def _groups(link: Link, _: str) -> None:
    listing = await groups.list_groups(link)
    assert not listing.failures


async def _has(link: Link, api: str) -> None:
    if await link.version(api) is None:
        raise Unsupported(api, "")


async def _new_groups(link: Link, _: str) -> None:
    await _has(link, "consumer_group_describe")


async def _share_groups(link: Link, _: str) -> None:
    await _has(link, "share_group_describe")


async def _share_offsets(link: Link, _: str) -> None:
    await _has(link, "alter_share_group_offsets")


async def _transactions(link: Link, _: str) -> None:
    assert not (await transactions.list_transactions(link)).failures


async def _quorum(link: Link, _: str) -> None:
    assert (await cluster.describe_quorum(link)).leader_id > 0


async def _features(link: Link, _: str) -> None:
    if not (await features.describe_features(link)).finalized:
        raise Unsupported("features", "")


async def _disks(link: Link, _: str) -> None:
    found = await cluster.describe_log_dirs(link)
    if all(each.total_bytes < 0 for dirs in found.dirs.values() for each in dirs):
        raise Unsupported("sizes of disks", "")


async def _fenced(link: Link, _: str) -> None:
    if not (await cluster.describe_cluster(link)).shows_fenced:
        raise Unsupported("fenced brokers", "")


async def _unregister(link: Link, _: str) -> None:
    await send(link, changes.UnregisterBroker(99), validate_only=True)


TRIED: Mapping[str, Try] = {
    "topics: list, create, grow, delete": _topics,
    "changes are checked by brokers before they are sent": _check_only,
    "configs of topics": _config(config.topic_resource, "retention.ms", "86400000"),
    "configs of a broker": _config(lambda _: config.broker_resource(1), "log.cleaner.threads", "2"),
    "configs of all brokers (cluster default)": _config(lambda _: config.CLUSTER_DEFAULT, "log.cleaner.threads", "2"),
    "quotas of users and clients": _quota("user", "producer_byte_rate"),
    "quotas of addresses": _quota("ip", "connection_creation_rate"),
    "SCRAM users": _scram,
    "ACLs": _acls,
    "moves of replicas, elections": _moves,
    "groups, offsets": _groups,
    "groups of the new protocol (KIP-848), as advertised": _new_groups,
    "share groups, as advertised": _share_groups,
    "offsets of share groups, as advertised": _share_offsets,
    "transactions": _transactions,
    "quorum of the controllers": _quorum,
    "features": _features,
    "free space of disks": _disks,
    "brokers that are down are listed": _fenced,
    "brokers are unregistered": _unregister,
}
"""Feature, as a row of the table -> the function that tries it."""


async def tried_on(kafka: KafkaCluster) -> dict[str, bool]:
    """Return feature -> whether this cluster supports it. Only the error Unsupported means False; every other error is
    raised.
    """
    link = Link(ConnectionSettings(kafka.addresses))
    found = {}
    try:
        for row, attempt in TRIED.items():
            try:
                await attempt(link, f"versions-{uuid.uuid4().hex[:8]}")
                found[row] = True
            except Unsupported:
                found[row] = False
    finally:
        await link.close()
    return found


def cluster_of(release: str) -> KafkaCluster:
    """Return a cluster of one broker of this release, not yet started; 2.8 runs with ZooKeeper. Raises
    BrokersUnavailableError.
    """
    version = RELEASES[release]
    return ZooKeeperCluster(version, brokers=1) if release == "2.8" else KafkaCluster(version, brokers=1)


def kept() -> dict[str, dict[str, bool]]:
    """Return the recorded results: release -> feature -> whether it works."""
    found: dict[str, dict[str, bool]] = json.loads(KEPT.read_text())
    return found


def table(results: Mapping[str, Mapping[str, bool]]) -> str:
    """Return the results as a table in Markdown."""
    releases = [release for release in RELEASES if release in results]
    lines = [f"| | {' | '.join(releases)} |", f"|---|{'---|' * len(releases)}"]
    for row in TRIED:
        marks = (WORKS if results[release].get(row) else MISSING for release in releases)
        lines.append(f"| {row} | {' | '.join(marks)} |")
    return "\n".join(lines) + "\n"


def in_page(text: str) -> str:
    """Return a page's text with the current table between its two marks. Raises ValueError if a mark is missing."""
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[begin:end]


def main() -> None:
    """Try the releases, and write the results and the table."""
    results = kept() if KEPT.exists() else {}
    for release in sys.argv[1:] or RELEASES:
        with cluster_of(release) as kafka:
            results[release] = asyncio.run(tried_on(kafka))
        KEPT.write_text(json.dumps({each: results[each] for each in RELEASES if each in results}, indent=1) + "\n")
        sys.stderr.write(f"{release}: {sum(results[release].values())} of {len(TRIED)}\n")
    text = PAGE.read_text()
    PAGE.write_text(text.replace(BEGIN + in_page(text) + END, BEGIN + table(results) + END))


if __name__ == "__main__":
    main()
