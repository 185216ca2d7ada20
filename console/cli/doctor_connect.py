"""Checks whether the workers of Kafka Connect answer, and whether they use the context's cluster."""

from __future__ import annotations

from console.admin.connect import ask_workers
from console.admin.link import Link
from console.answers.checks import Check, Health
from console.model.connect import Worker
from console.model.identity import same_cluster
from console.present.text import clean


async def worker_checks(link: Link) -> list[Check]:
    """Return a check for each worker of Connect: whether it answers, and whether it uses the context's cluster."""
    asked = await ask_workers(link)
    versions = {name: {each.version for cluster, each, _ in asked if cluster == name} - {""} for name, *_ in asked}
    return [_worker(name, worker, seconds, link.routes.cluster_id, versions[name]) for name, worker, seconds in asked]


def _worker(name: str, worker: Worker, seconds: float, ours: str | None, versions: set[str]) -> Check:
    """Return the check of a worker.

    Args:
        name: the name of the worker's Connect cluster.
        seconds: the duration of the request.
        ours: the id of the context's cluster; None if it is unknown.
        versions: the versions of all workers of its Connect cluster.
    """
    what, where = f"Connect {name}", worker.address
    if worker.failure is not None:
        remedy = f"Check url, login and ssl.* in [contexts.….connect.{name}]. {worker.failure.remedy}"
        return Check(what, Health.BAD, f"{where}: {worker.failure}", remedy)
    text = f"{where}: Kafka {clean(worker.version, 40)}, in {seconds * 1000:.1f} ms"
    if ours and not same_cluster(worker.kafka_cluster_id, ours):
        text += f"; it works with the Kafka cluster {clean(worker.kafka_cluster_id, 40)}, not with {clean(ours, 40)}"
        return Check(what, Health.BAD, text, "kac sends it no change. Check url: it leads to another Connect cluster.")
    if len(versions) > 1:
        others = ", ".join(sorted(clean(each, 40) for each in versions))
        return Check(what, Health.NOTE, f"{text}; its workers have several versions: {others}", "Update the others.")
    return Check(what, Health.OK, text)
