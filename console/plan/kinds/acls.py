"""ACLs: adding and removing one.

The checks before staging follow AclControlManager.validateNewAcl. An ACL is added or removed as a whole, so the state
of an edit's target is the ACL itself, or None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from console.model import acl as model_acl
from console.model.authorizer import OPEN, address_as_compared, is_compared, range_of
from console.model.changes import CreateAcls, DeleteAcls
from console.model.codes import ACL_TYPES, BROKER, AclOperation, AclResourceType, Permission
from console.model.parts import Part
from console.model.snapshot import host_ranges
from console.plan import edit_kind, requests, risk_rules
from console.plan import staged as plan_staged
from console.plan.acl_effects import acl_effects
from console.plan.edits import AclEdit, AddAcl, RemoveAcl
from console.plan.effective_values import NOTHING, EffectiveValue
from console.plan.kafka_tools import Command, option

# -- checks before staging ---------------------------------------------------------------------------------------------


def _check_opposite(edit: AclEdit, verb: str, draft: plan_staged.Draft) -> None:
    existing = draft.at(edit.slot)
    if existing is not None and type(existing.edit) is not type(edit):
        raise plan_staged.Refused(f"the plan {verb} this very ACL", "Discard that edit instead.")


def _check_form(acl: model_acl.Acl) -> None:
    kind, colon, _ = acl.principal.partition(":")
    if not colon or not kind:
        raise plan_staged.Refused(f"{acl.principal} is no principal", "Write Type:name, for instance User:alice.")
    # MATCH and ANY exist only in filters: no controller stores them.
    if acl.pattern_type.name not in ("LITERAL", "PREFIXED"):
        raise plan_staged.Refused(f"an ACL has no pattern {acl.pattern_type.name}", "Use LITERAL or PREFIXED.")
    if acl.resource_type.name == "ANY" or not acl.resource_type.known:
        raise plan_staged.Refused(f"an ACL is on no {acl.resource_type.name}", "Name a kind of resource.")
    if acl.resource_type.name == "CLUSTER" and acl.resource_name != model_acl.CLUSTER_NAME:
        raise plan_staged.Refused(
            f"the cluster's name in an ACL is {model_acl.CLUSTER_NAME}", f"Use {model_acl.CLUSTER_NAME}."
        )
    if not acl.resource_name:
        raise plan_staged.Refused("the resource has no name", "Name it; * is any.")
    if acl.operation.name == "ANY" or not acl.operation.known:
        raise plan_staged.Refused(f"{acl.operation.name} is no operation", "Name one, or ALL.")
    if acl.permission.name not in ("ALLOW", "DENY"):
        raise plan_staged.Refused(f"an ACL can't {acl.permission.name}", "Use ALLOW or DENY.")
    if not acl.host:
        raise plan_staged.Refused("the host is empty", "Give an address; * is any.")


# -- risks -------------------------------------------------------------------------------------------------------------
# StandardAuthorizer's rules: a deny overrides every allow; if a resource has no ACL, allow.everyone.if.no.acl.found
# decides. ACLs do not apply to super users, and the protocol does not list them.

_USER = "User"
ANYBODY = f"{_USER}:*"
_ANY = "*"
_DENY, _ALLOW = Permission.parse("DENY"), Permission.parse("ALLOW")
_ALTER, _ALL = AclOperation.parse("ALTER"), AclOperation.parse("ALL")
_CLUSTER = AclResourceType.parse("CLUSTER")
_SUPER = "unless you are a super user, which brokers do not say"


def _locks_out_by_denial(edit: AddAcl, judged: risk_rules.Judged) -> Iterator[str]:
    """Yield a warning if a new deny keeps the operator, or every client except super users, from altering ACLs; or if
    it denies an operation to everyone.
    """
    acl, me = edit.acl, judged.facts.principal
    if acl.permission != _DENY:
        return
    if _is_mine(acl, me) and _lets_alter(acl):
        who = _who(acl, me) + ("" if acl.host == _ANY else f" from {acl.host}")
        yield f"it denies ALTER on the cluster to {who}: no ACL can be changed then, {_SUPER}"
    elif acl.principal == ANYBODY:
        what = acl.operation.name
        yield f"it denies {what} to everyone, super users aside: no allow overrides a deny"


def _locks_out_by_removal(edit: RemoveAcl, judged: risk_rules.Judged) -> Iterator[str]:
    acl, me = edit.acl, judged.facts.principal
    if acl.permission != _ALLOW:
        return
    # Compare with the state after the whole plan: another edit may add what this one removes.
    left = judged.after.acls
    if _is_mine(acl, me) and _lets_alter(acl) and not any(_grants_alter(each, me) for each in left):
        yield f"{_who(acl, me)} may not ALTER the cluster then, and can change no ACL, {_SUPER}"
    elif acl.principal == ANYBODY and not any(_covers_grant(each, acl) for each in left):
        yield f"it is what lets everybody {acl.operation.name}: no ACL is left that allows it to anyone"


def _is_first(edit: AddAcl, judged: risk_rules.Judged) -> Iterator[str]:
    """Yield a warning for the first ACL on a resource if brokers allow everyone to use a resource without ACLs, or
    hide whether they do. All clients may have access now; afterwards only those that the ACL allows have it.
    """
    # Each broker reads the setting from its own file: one broker with `true` is enough to give everyone access.
    values = _open_values(judged)
    if not values & {"true", None}:
        return
    if any(_overlaps(each, edit.acl) for each in judged.before.acls):
        return
    unread = "" if Part.ACLS in judged.before.read_at else ", as far as could be read"
    now = f"{OPEN} is set: everyone has access now"
    if "true" not in values:
        now = f"{OPEN} is in a broker's file with a value that brokers hide: if it is true, everyone has access now"
    yield f"no ACL is on it yet{unread}, and {now}, and after it only those whom an ACL allows, super users aside"


def _open_values(judged: risk_rules.Judged) -> set[str | None]:
    """Return the distinct values of allow.everyone.if.no.acl.found that brokers describe, in lower case; None for a
    value that a broker hides, as brokers do for keys that they don't define.
    """
    entries = (configs.get(OPEN) for resource, configs in judged.before.configs.items() if resource.type == BROKER)
    return {entry.value and entry.value.lower() for entry in entries if entry is not None}


def _matches_nothing(edit: AddAcl, judged: risk_rules.Judged) -> Iterator[str]:
    """Yield a warning for each field of a new ACL that matches nothing."""
    return matching_nothing(edit.acl, ranges=host_ranges(judged.before))


def _no_wildcard(acl: model_acl.Acl) -> Iterator[str]:
    """Yield the reason why a ``*`` in the resource name of an ACL is not a wildcard; nothing if it is a wildcard."""
    kind, name = acl.resource_type.name.lower().replace("_", "-"), acl.resource_name
    if acl.pattern_type == model_acl.PREFIXED:
        instead = "leave out prefixed for all of them" if name == _ANY else f"the prefix is {name.split(_ANY)[0]}"
        yield f"in a prefix * is no wildcard: no {kind} begins with {name}, unless one is called so; {instead}"
    elif name != _ANY:
        prefix = name.split(_ANY)[0]
        instead = f"{prefix} prefixed is what begins so" if prefix else "name them, or a prefix"
        yield f"in a name * is no wildcard: no {kind} is called {name}; {instead}"


def matching_nothing(acl: model_acl.Acl, *, ranges: bool) -> Iterator[str]:
    """Yield a reason for each field of an ACL that matches nothing: a ``*`` that is not a wildcard, a host that no
    client can have, and a principal's type that differs from User only in case. ``*`` is a wildcard only as the whole
    of a literal resource name, of a user's name, or of a host.

    Args:
        ranges: whether brokers accept ranges of addresses as hosts.
    """
    if _ANY in acl.resource_name:
        yield from _no_wildcard(acl)
    type_, _, who = acl.principal.partition(":")
    # A distinguished name may contain an asterisk: certificates for *.example.com are usual.
    if _ANY in who and "=" not in who and acl.principal != ANYBODY:
        yield f"in a principal * is no wildcard: {ANYBODY} is everybody, and {type_}:{who} is one that is called so"
    if type_ != _USER and type_.lower() == _USER.lower():
        yield f"no login has the type {type_} of its principal: the type of users is {_USER}, and case counts"
    if not is_compared(acl.host, ranges=ranges):
        written = address_as_compared(acl.host)
        instead = f"brokers write that address {written}" if written else "brokers compare it with a client's address"
        if range_of(acl.host) is not None:
            instead = "brokers of 4.4 know ranges of addresses, and not all of these are so new, or said so"
        yield f"from {acl.host} no client comes: {instead}"


def _who(acl: model_acl.Acl, me: str) -> str:
    return "everybody" if acl.principal == ANYBODY else f"you ({me})"


def _is_mine(acl: model_acl.Acl, me: str) -> bool:
    return acl.principal == ANYBODY or (bool(me) and acl.principal == me)


def _lets_alter(acl: model_acl.Acl) -> bool:
    """Return whether an ACL, allow or deny, applies to ALTER on the cluster, which clients need to change ACLs."""
    if acl.resource_type != _CLUSTER or acl.operation not in (_ALL, _ALTER):
        return False
    if acl.pattern_type == model_acl.PREFIXED:
        return model_acl.CLUSTER_NAME.startswith(acl.resource_name)
    return acl.resource_name in (model_acl.CLUSTER_NAME, _ANY)


def _grants_alter(acl: model_acl.Acl, me: str) -> bool:
    return acl.permission == _ALLOW and _is_mine(acl, me) and _lets_alter(acl)


def _covers_grant(acl: model_acl.Acl, gone: model_acl.Acl) -> bool:
    return acl.permission == _ALLOW and acl.operation in (_ALL, gone.operation) and _overlaps(acl, gone)


def _overlaps(acl: model_acl.Acl, new: model_acl.Acl) -> bool:
    """Return whether an ACL matches every resource that a new ACL matches."""
    if acl.resource_type != new.resource_type:
        return False
    if acl.pattern_type == model_acl.PREFIXED:
        return new.resource_name.startswith(acl.resource_name)
    if acl.resource_name == _ANY:
        return True
    return new.pattern_type == model_acl.LITERAL and acl.resource_name == new.resource_name


# -- requests ----------------------------------------------------------------------------------------------------------


def _removal_steps(staged: Sequence[plan_staged.Staged], facts: requests.Facts) -> list[requests.Step]:
    limit = requests.acl_removals(facts.acls)
    return requests.steps_of(
        requests.singly(staged), limit, lambda some: DeleteAcls(_acls_of(each.edit for each in some)), "of so many ACLs"
    )


def _acls_of(edits: Iterable[Any]) -> tuple[model_acl.Acl, ...]:
    return tuple(edit.acl for edit in edits)


_ACL_OPTIONS = {type_.name: "--user-principal" if word == "user" else f"--{word}" for word, type_ in ACL_TYPES.items()}


def _command(acl: model_acl.Acl, *action: str) -> Command:
    if why := _beyond_kafka_acls(acl):
        return Command((), note=f"kafka-acls can't name this ACL: {why}")
    return Command(("kafka-acls", *action, *_binding_options(acl)))


def _beyond_kafka_acls(acl: model_acl.Acl) -> str:
    """Return, as text, the field of an ACL that kafka-acls can't express; ``""`` if it can express the ACL."""
    if not model_acl.has_type(acl.principal):
        return f"the principal {acl.principal or '(empty)'} has no type"
    if not acl.operation.known:
        return f"the operation {acl.operation.name} is of a newer release"
    if acl.resource_type.name not in _ACL_OPTIONS:
        return f"the type {acl.resource_type.name} is of a newer release"
    if not acl.permission.known:
        return f"the permission {acl.permission.name} is of a newer release"
    if not acl.pattern_type.known:
        return f"the pattern {acl.pattern_type.name} is of a newer release"
    empty = {"resource name": acl.resource_name, "host": acl.host}
    return next((f"its {what} is empty" for what, text in empty.items() if not text), "")


def _binding_options(acl: model_acl.Acl) -> tuple[str, ...]:
    who = acl.permission.name.lower()
    type_ = acl.resource_type.name
    where = ["--cluster"] if type_ == "CLUSTER" else option(_ACL_OPTIONS[type_], acl.resource_name)
    operation = "".join(word.capitalize() for word in acl.operation.name.split("_"))
    return (
        *option(f"--{who}-principal", acl.principal),
        *option(f"--{who}-host", acl.host),
        *("--operation", operation),
        *where,
        *("--resource-pattern-type", acl.pattern_type.name.lower()),
    )


# -- the kinds of edits ------------------------------------------------------------------------------------------------

ADDITIONS = edit_kind.Batch(
    stage=edit_kind.Stage.ACCESS,
    steps=requests.together(lambda some: CreateAcls(_acls_of(each.edit for each in some))),
    predict=lambda snapshot, edits: replace(snapshot, acls=tuple(sorted({*snapshot.acls, *_acls_of(edits)}))),
    commands=edit_kind.each_line(lambda edit, _: _command(edit.acl, "--add")),
)
REMOVALS = edit_kind.Batch(
    stage=edit_kind.Stage.RIGHTS_GONE,
    steps=_removal_steps,
    predict=lambda snapshot, edits: replace(snapshot, acls=tuple(sorted({*snapshot.acls}.difference(_acls_of(edits))))),
    commands=edit_kind.each_line(lambda edit, _: _command(edit.acl, "--remove", "--force")),
    waits_for=ADDITIONS,
)


def _needs_acls_and_broker(_edit: AclEdit) -> risk_rules.RiskNeeds:
    return risk_rules.RiskNeeds(acls=True, a_broker=True)


class _AclKind(edit_kind.EditKind):
    state = model_acl.Acl

    def current(self, edit: AclEdit, seen: plan_staged.Described) -> plan_staged.Was:
        return seen.found(edit.acl if edit.acl in seen.acls else None, Part.ACLS)

    def before(self, _edit: object, there: model_acl.Acl | None, _inheritance: object) -> EffectiveValue:
        return NOTHING if there is None else EffectiveValue(there.permission.name)

    def effects(self, edit: AclEdit, draft: plan_staged.Draft) -> tuple[str, ...]:
        return acl_effects(edit, draft)


class _AddAclKind(_AclKind):
    edit = AddAcl
    verb = "add"
    batch = ADDITIONS
    risks = (
        risk_rules.RiskRule(risk_rules.ACL_LOCKS_OUT, _locks_out_by_denial, _needs_acls_and_broker),
        risk_rules.RiskRule(risk_rules.FIRST_ACL, _is_first, _needs_acls_and_broker),
        risk_rules.RiskRule(risk_rules.ACL_MATCHES_NOTHING, _matches_nothing),
    )

    def judge(self, edit: AddAcl, draft: plan_staged.Draft) -> plan_staged.Verdict:
        _check_opposite(edit, "removes", draft)
        _check_form(edit.acl)
        was = self.current(edit, draft)
        return plan_staged.Dropped(edit, "it exists already") if was == edit.acl else plan_staged.Staged(edit, was)

    def wanted(self, _edit: object, now: model_acl.Acl | None) -> bool:
        return now is not None

    def after(self, edit: AddAcl, _there: object, _inheritance: object) -> EffectiveValue:
        return EffectiveValue(edit.acl.permission.name)

    def reversal(self, edit: AddAcl, was: model_acl.Acl | None, _overrides: object) -> edit_kind.Reversal:
        return edit_kind.Reversal((RemoveAcl(edit.acl),) if was is None else (), edit.acl)


class _RemoveAclKind(edit_kind.Removal, _AclKind):
    edit = RemoveAcl
    verb = "remove"
    batch = REMOVALS
    risks = (
        risk_rules.RiskRule(risk_rules.ACL_LOCKS_OUT, _locks_out_by_removal, lambda _: risk_rules.RiskNeeds(acls=True)),
    )

    def judge(self, edit: RemoveAcl, draft: plan_staged.Draft) -> plan_staged.Verdict:
        _check_opposite(edit, "adds", draft)
        # DeleteAcls takes a filter: one made from a binding with a wildcard would match other ACLs, too.
        if beyond := model_acl.beyond_one(edit.acl):
            raise plan_staged.Refused(
                f"{beyond} would take away other ACLs too", "Name one ACL; list acls finds which there are."
            )
        was = self.current(edit, draft)
        return plan_staged.Dropped(edit, "there is no such ACL") if was is None else plan_staged.Staged(edit, was)

    def reversal(self, edit: RemoveAcl, _was: object, _overrides: object) -> edit_kind.Reversal:
        return edit_kind.Reversal((AddAcl(edit.acl),), None)


KINDS = (_AddAclKind(), _RemoveAclKind())
