"""What may be staged on ACLs: AclControlManager.validateNewAcl's checks before sending."""

from __future__ import annotations

from console.model.acl import CLUSTER_NAME, beyond_one
from console.plan.draft import Draft
from console.plan.edits import AclEdit, AddAcl
from console.plan.staged import UNREAD, Dropped, Refused, Staged, Verdict


def judge(edit: AclEdit, draft: Draft) -> Verdict:
    """Whether an ACL edit is staged, is a no-op, or can't be."""
    existing = draft.at(edit.slot)
    if existing is not None and type(existing.edit) is not type(edit):
        staged = "adds" if isinstance(existing.edit, AddAcl) else "removes"
        return Refused(edit, f"the plan {staged} this very ACL", "Discard that edit instead.")
    there = edit.acl in draft.acls
    read = draft.read("acls")
    was = edit.acl if there else None if read else UNREAD
    if isinstance(edit, AddAcl):
        return _malformed(edit) or (Dropped(edit, "it exists already") if there else Staged(edit, was))
    if beyond := beyond_one(edit.acl):
        return Refused(
            edit, f"{beyond} would take away other ACLs too", "Name one ACL; list acls finds which there are."
        )
    return Dropped(edit, "there is no such ACL") if read and not there else Staged(edit, was)


def _malformed(edit: AddAcl) -> Refused | None:
    acl = edit.acl
    kind, colon, _ = acl.principal.partition(":")
    if not colon or not kind:
        return Refused(edit, f"{acl.principal} is no principal", "Write Type:name, for instance User:alice.")
    if acl.pattern_type.name not in ("LITERAL", "PREFIXED"):
        return Refused(edit, f"an ACL has no pattern {acl.pattern_type.name}", "Use LITERAL or PREFIXED.")
    if acl.resource_type.name == "ANY" or not acl.resource_type.known:
        return Refused(edit, f"an ACL is on no {acl.resource_type.name}", "Name a kind of resource.")
    if acl.resource_type.name == "CLUSTER" and acl.resource_name != CLUSTER_NAME:
        return Refused(edit, f"the cluster's name in an ACL is {CLUSTER_NAME}", f"Use {CLUSTER_NAME}.")
    if not acl.resource_name:
        return Refused(edit, "the resource has no name", "Name it; * is any.")
    if acl.operation.name == "ANY" or not acl.operation.known:
        return Refused(edit, f"{acl.operation.name} is no operation", "Name one, or ALL.")
    if acl.permission.name not in ("ALLOW", "DENY"):
        return Refused(edit, f"an ACL can't {acl.permission.name}", "Use ALLOW or DENY.")
    if not acl.host:
        return Refused(edit, "the host is empty", "Give an address; * is any.")
    return None
