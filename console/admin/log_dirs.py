"""Log directories: what each broker holds on disk (KIP-113, KIP-827)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from console.admin.bulk import collector_off
from console.admin.error_codes import failure
from console.admin.errors import AdminError, BrokerError
from console.admin.link import Link
from console.admin.routing import broker
from console.model.cluster import LogDir, LogDirListing, ReplicaSize, ReplicaSizes
from console.model.failure import Failure


async def describe_log_dirs(
    link: Link, brokers: Iterable[int] | None = None, topics: Mapping[str, Sequence[int]] | None = None
) -> LogDirListing:
    """The log directories of these brokers, or of all; a broker that can't be asked is a failure. topics: the
    partitions that are asked for, by topic; None for all.

    Raises AdminError where the cluster can't be reached at all.
    """
    ids = sorted((await link.refresh()).brokers) if brokers is None else list(dict.fromkeys(brokers))
    with collector_off():
        answers = await asyncio.gather(*(_of_broker(link, broker_id, topics) for broker_id in ids))
    found = dict(zip(ids, answers, strict=True))
    return LogDirListing(
        {broker_id: answer for broker_id, answer in found.items() if not isinstance(answer, Failure)},
        {broker_id: answer for broker_id, answer in found.items() if isinstance(answer, Failure)},
    )


async def _of_broker(
    link: Link, broker_id: int, topics: Mapping[str, Sequence[int]] | None
) -> tuple[LogDir, ...] | Failure:
    def ask(kio: ModuleType) -> Any:
        if topics is None:
            return kio.DescribeLogDirsRequest(topics=None)
        named = (kio.DescribableLogDirTopic(topic=name, partitions=tuple(each)) for name, each in topics.items())
        return kio.DescribeLogDirsRequest(topics=tuple(named))

    try:
        response = await link.call("describe_log_dirs", ask, to=broker(broker_id))
        code = getattr(response, "error_code", 0)
        if code:
            raise BrokerError(failure(code))
    except AdminError as error:
        return error.failure
    found = log_dirs(response)
    for log_dir in found:
        _ = log_dir.size  # summed up here: with 100,000 topics it would hold up a screen
    return found


def log_dirs(response: Any) -> tuple[LogDir, ...]:
    """From a DescribeLogDirs response of any version, sorted by path; a directory that is offline has a failure."""
    return tuple(
        LogDir(
            result.log_dir,
            ReplicaSizes(
                sorted(
                    ReplicaSize(topic.name, p.partition_index, p.partition_size, p.offset_lag, p.is_future_key)
                    for topic in result.topics
                    for p in topic.partitions
                )
            ),
            getattr(result, "total_bytes", -1),
            getattr(result, "usable_bytes", -1),
            failure(result.error_code) if result.error_code else None,
        )
        for result in sorted(response.results, key=lambda result: result.log_dir)
    )
