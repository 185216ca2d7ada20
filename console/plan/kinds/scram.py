"""What may be staged on SCRAM credentials (ScramControlManager's limits)."""

from __future__ import annotations

from console.model.cluster import ScramCredential
from console.plan.edits import DeleteScram, ScramEdit, UpsertScram
from console.plan.staged import UNREAD, Draft, Dropped, Refused, Staged, Verdict

MIN_ITERATIONS = 4096
MAX_ITERATIONS = 16384


def judge(edit: ScramEdit, draft: Draft) -> Verdict:
    """Whether a credential's edit is staged, is a no-op, or can't be. Passwords can't be compared: to set one is no
    no-op."""
    user, mechanism = edit.user.user, edit.user.mechanism
    if not user:
        return Refused(edit, "the user has no name", "Name the user.")
    if not mechanism.known:
        return Refused(edit, f"{mechanism.label} is no SCRAM mechanism", "Use SCRAM-SHA-256 or SCRAM-SHA-512.")
    if isinstance(edit, UpsertScram):
        if not MIN_ITERATIONS <= edit.iterations <= MAX_ITERATIONS:
            return Refused(
                edit,
                f"{edit.iterations} iterations",
                f"Give from {MIN_ITERATIONS} to {MAX_ITERATIONS}; more cost every login.",
            )
        if not edit.password.reveal():
            return Refused(edit, "the password is empty", "Give a password.")
    credentials = draft.snapshot.scram.get(user, ())
    was: ScramCredential | None = next((found for found in credentials if found.mechanism == mechanism), None)
    if isinstance(edit, DeleteScram) and was is None and draft.read("scram"):
        return Dropped(edit, f"{user} has no {mechanism.label} credential")
    return Staged(edit, was if was is not None or draft.read("scram") else UNREAD)
