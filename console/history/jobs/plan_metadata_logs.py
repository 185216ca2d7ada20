"""What is new in metadata logs, and whose they are; without Spark."""

from __future__ import annotations

from collections.abc import Sequence

from console.history.kraft.metadata_log import LogPlan, NoMetadataLogError, log_files, plan_log

from ..store.write import Write
from .inputs import MetadataLog
from .taken import UnreadableInput

REMEMBERED = "kraft_log:"


def plan_metadata_logs(write: Write, logs: Sequence[MetadataLog]) -> list[NewOfLog]:
    """What is new in these logs; several folders of one cluster, as of its controllers, are one log. UnreadableInput: a
    folder is no metadata log, or may be another cluster's; OSError."""
    try:
        refuse_another(write, logs)
        return [NewOfLog(write, cluster_id, folders) for cluster_id, folders in folders_of(logs).items()]
    except NoMetadataLogError as wrong:
        raise UnreadableInput(str(wrong)) from wrong


def folders_of(logs: Sequence[MetadataLog]) -> dict[str, list[str]]:
    """The folders by cluster. NoMetadataLogError, OSError; UnreadableInput: a folder says for itself that it is of a
    cluster that another folder has, too, as a controller that was cloned does."""
    made: dict[str, list[MetadataLog]] = {}
    for log in logs:
        for cluster_id in dict.fromkeys(file.cluster_id for file in log_files([log.path], log.cluster_id)):
            made.setdefault(cluster_id, []).append(log)
    for cluster_id, folders in made.items():
        if len({each.path for each in folders}) > 1 and any(each.cluster_id is None for each in folders):
            paths = " and ".join(dict.fromkeys(each.path for each in folders))
            raise UnreadableInput(
                f"{paths} both say that they are of the cluster {cluster_id}, and one of them may be wrong. If they "
                f"are controllers of one cluster, name it: --cluster-id {cluster_id}, or id: {cluster_id} in "
                "sources.yaml. If not, one was formatted with the other's id: leave it out."
            )
    return {cluster_id: [each.path for each in folders] for cluster_id, folders in made.items()}


def refuse_another(write: Write, logs: Sequence[MetadataLog]) -> None:
    """Raises UnreadableInput where a folder says for itself that it is of a cluster, and that cluster's log was read
    from other folders before; NoMetadataLogError, OSError."""
    named = {log.cluster_id for log in logs}
    for cluster_id, folders in folders_of(logs).items():
        former = write.manifest.inputs.get(f"{REMEMBERED}{cluster_id}", {}).get("folders", folders)
        if cluster_id not in named and not set(former) & set(folders):
            raise UnreadableInput(
                f"{' and '.join(folders)} says that it is of the cluster {cluster_id}, whose metadata log was read "
                f"from {' and '.join(former)} before. If it is the same cluster, name it: --cluster-id {cluster_id}, "
                f"or id: {cluster_id} in sources.yaml. If not, it was formatted with the other's id: leave it out."
            )


class NewOfLog:
    """The log of one cluster, and what of it is new."""

    def __init__(self, write: Write, cluster_id: str, folders: list[str]) -> None:
        self.cluster_id = cluster_id
        self.folders = folders
        self.start = int(write.manifest.inputs.get(f"{REMEMBERED}{cluster_id}", {}).get("next_offset", 0))
        self.plan: LogPlan = plan_log(folders, cluster_id=cluster_id, start_offset=self.start)
        self.next_offset = self.plan.next_offset.get(cluster_id, self.start)


def remembered(plans: Sequence[NewOfLog]) -> dict[str, dict[str, object]]:
    """How far they are read once these plans are done, for `Write.remember`."""
    return {
        f"{REMEMBERED}{each.cluster_id}": {"next_offset": each.next_offset, "folders": each.folders} for each in plans
    }
