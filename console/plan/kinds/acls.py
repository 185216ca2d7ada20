"""ACLs: what may be staged, and whom an ACL locks out."""

from __future__ import annotations

from collections.abc import Iterator

from console.model.acl import CLUSTER_NAME, Acl, beyond_one
from console.model.codes import BROKER, AclOperation, AclResourceType, PatternType, Permission
from console.plan.edits import AclEdit, AddAcl, Edit, RemoveAcl
from console.plan.risk_rules import NOTHING, Judged, RiskNeeds
from console.plan.staged import UNREAD, Draft, Dropped, Refused, Staged, Verdict


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


# -- risks -------------------------------------------------------------------------------------------------------------
# StandardAuthorizer's rules: a deny beats every allow; where no ACL is on a resource, brokers allow everyone or no one
# (allow.everyone.if.no.acl.found). The protocol does not say who is a super user, to whom no ACL applies.

ANYBODY = "User:*"
_ANY = "*"
_OPEN = "allow.everyone.if.no.acl.found"
_DENY, _ALLOW = Permission.parse("DENY"), Permission.parse("ALLOW")
_ALTER, _ALL = AclOperation.parse("ALTER"), AclOperation.parse("ALL")
_CLUSTER = AclResourceType.parse("CLUSTER")
_LITERAL, _PREFIXED = PatternType.parse("LITERAL"), PatternType.parse("PREFIXED")
_SUPER = "unless you are a super user, which brokers do not say"


def acl_needs(edit: Edit) -> RiskNeeds:
    """All ACLs: what is left, and what was there."""
    if isinstance(edit, RemoveAcl):
        return RiskNeeds(acls=True)
    return RiskNeeds(acls=True, a_broker=True) if isinstance(edit, AddAcl) else NOTHING


def locks_out(edit: Edit, judged: Judged) -> Iterator[str]:
    """Nobody, or not the operator, can do it any more; a super user can."""
    me = judged.facts.principal
    match edit:
        case AddAcl(acl) if acl.permission == _DENY:
            if _is_mine(acl, me) and _lets_alter(acl):
                who = _who(acl, me) + ("" if acl.host == _ANY else f" from {acl.host}")
                yield f"it denies ALTER on the cluster to {who}: no ACL can be changed then, {_SUPER}"
            elif acl.principal == ANYBODY:
                what = acl.operation.name
                yield f"it denies {what} to everybody, super users aside: no allow goes over a deny"
        case RemoveAcl(acl) if acl.permission == _ALLOW:
            left = judged.after.acls
            if _is_mine(acl, me) and _lets_alter(acl) and not any(_grants_alter(each, me) for each in left):
                yield f"{_who(acl, me)} may not ALTER the cluster then, and can change no ACL, {_SUPER}"
            elif acl.principal == ANYBODY and not any(_covers_grant(each, acl) for each in left):
                yield f"it is what lets everybody {acl.operation.name}: no ACL is left that allows it to anyone"


def first(edit: Edit, judged: Judged) -> Iterator[str]:
    """Where there is no ACL everybody may come in: the first one shuts out all others."""
    if not isinstance(edit, AddAcl) or not _is_open(judged):
        return
    if any(_overlaps(each, edit.acl) for each in judged.before.acls):
        return
    unread = "" if "acls" in judged.before.read_at else ", as far as could be read"
    yield (
        f"no ACL is on it yet{unread}, and {_OPEN} is set: everybody may come in now, and after it nobody whom no ACL "
        "allows, super users aside"
    )


def _is_open(judged: Judged) -> bool:
    """Whether a broker's file sets it. Brokers hide the value, as of every key that they do not know; only where they
    show that it is false it is taken for that."""
    for resource, configs in judged.before.configs.items():
        entry = configs.get(_OPEN) if resource.type == BROKER else None
        if entry is not None and (entry.value is None or entry.value.lower() == "true"):
            return True
    return False


def _who(acl: Acl, me: str) -> str:
    return "everybody" if acl.principal == ANYBODY else f"you ({me})"


def _is_mine(acl: Acl, me: str) -> bool:
    return acl.principal == ANYBODY or (bool(me) and acl.principal == me)


def _lets_alter(acl: Acl) -> bool:
    """Whether it is about ALTER on the cluster, which changing ACLs takes."""
    if acl.resource_type != _CLUSTER or acl.operation not in (_ALL, _ALTER):
        return False
    if acl.pattern_type == _PREFIXED:
        return CLUSTER_NAME.startswith(acl.resource_name)
    return acl.resource_name in (CLUSTER_NAME, _ANY)


def _grants_alter(acl: Acl, me: str) -> bool:
    return acl.permission == _ALLOW and _is_mine(acl, me) and _lets_alter(acl)


def _covers_grant(acl: Acl, gone: Acl) -> bool:
    return acl.permission == _ALLOW and acl.operation in (_ALL, gone.operation) and _overlaps(acl, gone)


def _overlaps(acl: Acl, new: Acl) -> bool:
    """Whether an ACL is on all that the new one is on."""
    if acl.resource_type != new.resource_type:
        return False
    if acl.pattern_type == _PREFIXED:
        return new.resource_name.startswith(acl.resource_name)
    if acl.resource_name == _ANY:
        return True
    return new.pattern_type == _LITERAL and acl.resource_name == new.resource_name
