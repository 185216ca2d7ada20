"""Decides whether edits of connectors can be staged: it checks the Connect cluster, the connector, and values that may
be secrets.
"""

from __future__ import annotations

from difflib import get_close_matches

from console.model import connect
from console.model.codes import ConfigType
from console.model.config import ConfigEntry
from console.model.parts import Part
from console.model.secret import MaybeSecret, Secret
from console.plan import edits
from console.plan.staged import Described, Draft, Refused
from console.sensitive import holds_a_secret, is_mask, is_reference

NAME = "name"
"""The key in a connector's config that repeats the connector's name."""
_PASSWORD = ConfigType.parse("PASSWORD")


def check_cluster(name: str, draft: Draft) -> None:
    """Raise Refused if the name is not a connector's ``CLUSTER/NAME``, or the Connect cluster is unknown or did not
    answer.
    """
    if not connect.is_connector_name(name):
        raise Refused(f"'{name}' names no connector", "Write it as CLUSTER/NAME.")
    _check_answers(connect.split_name(name)[0], draft)


def _check_answers(cluster: str, draft: Draft) -> None:
    snapshot = draft.snapshot
    for each in snapshot.failures:
        if each.part == Part.CONNECT and each.entity in ("", cluster):
            raise Refused(each.failure.message or each.failure.name, each.failure.remedy)
    if draft.read(Part.CONNECT) and cluster not in snapshot.connect:
        there = f"it has {', '.join(snapshot.connect)}" if snapshot.connect else "it has none"
        raise Refused(
            f"the context has no Connect cluster {cluster}: {there}",
            f"Name one of them, or add it to the context: [contexts.NAME.connect.{cluster}].",
        )


def planned(name: str, draft: Draft) -> edits.Edit | None:
    """Return the staged edit of a connector itself; edits of its config and its offsets don't count. None if there is
    no such edit.
    """
    found = draft.at(edits.Slot(connect.ConnectorTarget(name), ""))
    return found.edit if found is not None else None


def standing(name: str, draft: Draft) -> connect.Connector | None:
    """Return the existing connector that an edit is about; None if Connect was not read.

    Raises:
        Refused: the name is not a connector's ``CLUSTER/NAME``, its Connect cluster is unknown or did not answer, the
            connector does not exist, or the plan creates or deletes it.
    """
    check_cluster(name, draft)
    staged = planned(name, draft)
    if isinstance(staged, edits.CreateConnector):
        raise Refused(f"the plan creates connector {name}", "Stage its creation again as you want it.")
    if isinstance(staged, edits.DeleteConnector):
        raise Refused(f"the plan deletes connector {name}", "Discard the deletion, or this edit.")
    found = connect.connector_in(draft.snapshot.connect, name)
    if found is None and draft.read(Part.CONNECT):
        cluster, own = connect.split_name(name)
        close = get_close_matches(own, draft.snapshot.connect[cluster].connectors, n=3, cutoff=0.6)
        raise Refused(
            f"there is no connector {name}", f"Did you mean {' or '.join(close)}?" if close else "Check the name."
        )
    return found


def check_config(edit: edits.ConfigEdit, draft: Draft) -> None:
    """Raise Refused if an edit of a connector's config can't be staged."""
    if edit.key == NAME:
        raise Refused("a connector keeps its name", "Create one with the other name, then delete this one.")
    standing(edit.resource.name, draft)


def check_logger(edit: edits.ConfigEdit, draft: Draft) -> None:
    """Raise Refused if the loggers of a Connect cluster can't be changed: the context names no such cluster, or the
    cluster did not answer.
    """
    _check_answers(edit.resource.name, draft)


def is_unread(name: str, seen: Described) -> bool:
    """Return whether the state of a connector is unknown: Connect was not read, or its cluster did not answer."""
    cluster = connect.split_name(name)[0]
    failed = (each for each in seen.snapshot.failures if each.part == Part.CONNECT)
    return not seen.read(Part.CONNECT) or any(each.entity in ("", cluster) for each in failed)


# -- values ------------------------------------------------------------------------------------------------------------


def defined_entry(seen: Described, name: str, class_name: str, key: str) -> ConfigEntry | None:
    """Return the entry of a key as a connector class defines it, from the class's own definition or from a connector of
    that class; None if neither was read, or the class does not define the key.
    """
    cluster, _ = connect.split_name(name)
    known = seen.snapshot.connector_classes.get((cluster, class_name))
    if known is not None:
        return known.get(key)
    there = seen.snapshot.connect.get(cluster)
    for other in there.connectors if there is not None and class_name else ():
        configs = seen.snapshot.configs.get(connect.connector_resource(cluster, other))
        own = configs.get(connect.CLASS) if configs is not None else None
        if configs is not None and own is not None and own.value == class_name:
            return configs.get(key)
    return None


def is_secret(key: str, value: str, entry: ConfigEntry | None) -> bool:
    """Return whether a value of a connector's config may be a secret. entry: the entry of the key; None if its
    definition is unknown.
    """
    is_password = entry is not None and (entry.type == _PASSWORD or entry.hidden)
    return holds_a_secret(key, value, is_password=is_password)


def check_value(key: str, value: MaybeSecret, entry: ConfigEntry | None) -> None:
    """Raise Refused for a secret in plain text, for an empty secret, and for a text that masks a secret. entry: the
    entry of the key; None if its definition is unknown.
    """
    text = value.reveal() if isinstance(value, Secret) else value
    secret = isinstance(value, Secret) or is_secret(key, text, entry)
    if secret and is_mask(text):
        raise Refused(
            f"the value of {key} is a mask, as a tool shows for a hidden value",
            f"Leave {key} out to keep the worker's own value, or give the value itself: {key}=@FILE or {key}=?.",
        )
    if not text and (isinstance(value, Secret) or (entry is not None and entry.hidden)):
        raise Refused(
            f"the value of {key} is empty",
            f"Leave {key} out to keep the worker's own value, or give one: {key}=@FILE or {key}=?.",
        )
    if secret and not isinstance(value, Secret) and not is_reference(text):
        raise Refused(
            f"{key} is sensitive and is never written out",
            f"Give it as {key}=@FILE, or {key}=? to be asked for it. A reference ${{provider:path:key}} is no secret.",
        )
