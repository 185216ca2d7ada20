"""Send a change to a cluster: one change request, and one outcome for each of its targets."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from console.admin.delivery import Progress, Sender, sent
from console.admin.link import Link
from console.model.changes import ChangeRequest, Outcome


def sender_of(request: type[ChangeRequest]) -> type[Sender[Any, Any]]:
    """Import and return the class that sends this kind of change."""
    found: type[Sender[Any, Any]] = import_module(f"console.admin.{request.sender}").SENDERS[request]
    return found


async def send(
    link: Link, request: ChangeRequest, *, validate_only: bool, on_progress: Progress | None = None
) -> tuple[Outcome, ...]:
    """Send a change, or, if `validate_only`, ask brokers to validate it. Return one outcome for each target, in order.

    The outcome is UNCHECKED if the protocol has no validation for the change. If the response to a change is lost, the
    change is not sent again: kac reads its targets, and the outcome is APPLIED if the cluster has the change, otherwise
    UNKNOWN. Don't cancel this call, because its outcome would be lost.

    Args:
        on_progress: function called while the leaders of new partitions are elected, with the number of partitions that
            have a leader and the number of all; None to report nothing.

    Raises:
        AdminError: nothing was sent.
    """
    sender = sender_of(type(request))(link, request, validate_only)
    sender.on_progress = on_progress
    return await sent(sender)
