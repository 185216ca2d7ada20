"""The delivery of changes to a cluster: one request, one outcome for each of its targets."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from console.admin.delivery import Progress, Sender, sent
from console.admin.link import Link
from console.model.changes import ChangeRequest, Outcome


def sender_of(request: type[ChangeRequest]) -> type[Sender[Any, Any]]:
    """Return the class that sends a request. Imports its module."""
    found: type[Sender[Any, Any]] = import_module(f"console.admin.{request.sender}").SENDERS[request]
    return found


async def send(
    link: Link, request: ChangeRequest, *, validate_only: bool, on_progress: Progress | None = None
) -> tuple[Outcome, ...]:
    """Send a change, or with `validate_only` its check. Return one outcome for each target, in order.

    A check that the protocol does not support is UNCHECKED. A change whose answer is lost is never sent again: kac
    describes the cluster, and the outcome is APPLIED if it has the change, else UNKNOWN. Must not be cancelled: the
    outcome would be lost.

    Args:
        on_progress: a callback with the numbers of partitions with a leader and of all partitions, during the wait
            after a creation or growth; None to report nothing.

    Raises:
        AdminError: nothing was sent.
    """
    sender = sender_of(type(request))(link, request, validate_only)
    sender.on_progress = on_progress
    return await sent(sender)
