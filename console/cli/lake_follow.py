"""``kac lake follow``: the metadata log from the controllers' listener, into the lake while it is written."""

from __future__ import annotations

import argparse
import threading
from datetime import datetime
from typing import TYPE_CHECKING

from console.cli.lake import lake_of_options
from console.cli.opening import DONE, FAILED, USAGE, client_of, complain, context_of, open_log_file
from console.terminal import put

if TYPE_CHECKING:
    from console.lake.follow import Taken
    from console.model.failure import Failure


def run_follow(options: argparse.Namespace) -> int:
    """0 ended by Ctrl-C, 1 it is not known which cluster it is, 2 not understood; the lake's own errors."""
    from console.admin.cluster import describe_cluster
    from console.admin.errors import AdminError
    from console.contexts.context import parse_bootstrap
    from console.contexts.lake_files import lake_files
    from console.history.entities import id_problem
    from console.history.store import Lake
    from console.lake.follow import follow

    try:
        controllers = parse_bootstrap(",".join(getattr(options, "controller", ())))
    except ValueError as wrong:
        complain(f"--controller: {wrong}" if hasattr(options, "controller") else NO_CONTROLLER)
        return USAGE
    context = context_of(options)
    if context is None:
        return USAGE
    open_log_file()
    cluster_id = getattr(options, "cluster_id", None) or context.cluster_id
    client = client_of(context)
    stop = threading.Event()
    try:
        if cluster_id is None:
            cluster_id = client.submit(describe_cluster).result().cluster_id or ""
        if problem := id_problem(cluster_id):
            complain(problem)
            return FAILED
        where = lake_of_options(options)
        lake = Lake.create(where, lake_files(where))
        follow(lake, client, controllers, cluster_id, _say, stop=stop)
    except AdminError as error:
        complain(f"{error.failure}. {error.failure.remedy}".strip())
        return FAILED
    except KeyboardInterrupt:
        return DONE
    finally:
        client.close()
    return DONE


NO_CONTROLLER = "name a controller's listener: --controller HOST:PORT, as in controller.quorum.bootstrap.servers"


def _say(found: Taken | Failure) -> None:
    """A line for each run, and for each failure; it goes on after both."""
    from console.model.failure import Failure

    at = datetime.now().astimezone().strftime("%H:%M:%S")
    if isinstance(found, Failure):
        complain(" ".join((f"{at}  {found}.", *filter(None, (found.remedy,)), "It is tried again.")))
        return
    left = f", {found.end - found.next_offset:,} to go" if found.end > found.next_offset else ""
    put(f"{at}  {found.records:,} records up to offset {found.next_offset:,}{left}, {found.behind:.1f} s behind")
