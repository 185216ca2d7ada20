"""``kac lake follow``: the metadata log from the controllers' listener, and request logs from a topic, into the lake
while they are written."""

from __future__ import annotations

import argparse
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.cli.lake import open_lake
from console.cli.opening import DONE, FAILED, USAGE, client_of, complain, context_of, open_log_file
from console.model.numbers import time_of_day
from console.terminal import put

if TYPE_CHECKING:
    from console.lake.follow import Taken
    from console.model.failure import Failure


def run_follow(options: argparse.Namespace) -> int:
    """0 ended by Ctrl-C, 1 it is not known which cluster it is, 2 not understood; the lake's own errors."""
    return follow_until(options, threading.Event())


def follow_until(options: argparse.Namespace, stop: threading.Event) -> int:
    """The same, ended by `stop` too."""
    from console.admin.cluster import describe_cluster
    from console.admin.errors import AdminError
    from console.contexts.context import parse_bootstrap
    from console.history.entities import id_problem
    from console.history.requests.zone import zone_problem
    from console.lake.follow import Followed, MetadataLogFollowed, follow
    from console.lake.request_topic import RequestTopicFollowed

    topics, zone = getattr(options, "request_topic", ()), getattr(options, "timezone", "UTC")
    if not hasattr(options, "controller") and not topics:
        complain(NOTHING_NAMED)
        return USAGE
    try:
        controllers = parse_bootstrap(",".join(options.controller)) if hasattr(options, "controller") else ()
    except ValueError as wrong:
        complain(f"--controller: {wrong}")
        return USAGE
    if problem := zone_problem(zone):
        complain(f"--timezone: {problem}")
        return USAGE
    context = context_of(options)
    if context is None:
        return USAGE
    open_log_file()
    cluster_id = getattr(options, "cluster_id", None) or context.cluster_id
    client = client_of(context)
    try:
        if cluster_id is None:
            cluster_id = client.submit(describe_cluster).result().cluster_id or ""
        if problem := id_problem(cluster_id):
            complain(problem)
            return FAILED
        lake = open_lake(options, create=True)
        followed: list[Followed] = [RequestTopicFollowed(lake, client, each, cluster_id, zone) for each in topics]
        if controllers:
            followed.append(MetadataLogFollowed(lake, client, controllers, cluster_id))
        follow(followed, _say, stop=stop)
    except AdminError as error:
        complain(error.failure.told)
        return FAILED
    except KeyboardInterrupt:
        return DONE
    finally:
        client.close()
    return DONE


NOTHING_NAMED = (
    "name a controller's listener (--controller HOST:PORT, as in controller.quorum.bootstrap.servers), or a topic with "
    "request logs (--request-topic TOPIC)"
)


def _say(found: Taken | Failure) -> None:
    """A line for each run, and for each failure; it goes on after both."""
    from console.model.failure import Failure

    at = time_of_day(datetime.now(UTC))
    if isinstance(found, Failure):
        complain(" ".join((f"{at}  {found}.", *filter(None, (found.remedy,)), "It is tried again.")))
        return
    put(f"{at}  {found.text}\n")
    for note in found.notes:
        complain(f"{at}  {note}")
