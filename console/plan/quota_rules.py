"""What may be staged on quotas: ClientQuotaControlManager's checks, and those that it leaves out, before sending."""

from __future__ import annotations

from functools import lru_cache

from console.model.effective_quota import CLIENT_KEYS, IP_KEYS
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity, part_order
from console.plan.draft import Draft
from console.plan.edits import QuotaEdit, SetQuota, UnsetQuota
from console.plan.staged import UNREAD, Dropped, Refused, Staged, Verdict
from console.plan.values import quota_problem, unknown_quota_key


def judge(edit: QuotaEdit, draft: Draft) -> Verdict:
    """Whether a quota edit is staged, is a no-op, or can't be."""
    refused = _entity(edit)
    if refused is not None:
        return refused
    entity = edit.entity
    if not _in_order(tuple(part.type for part in entity)):
        entity = QuotaEntity.of(entity.as_dict())
        edit = SetQuota(entity, edit.key, edit.value) if isinstance(edit, SetQuota) else UnsetQuota(entity, edit.key)
    was = draft.snapshot.quotas.get(entity, {}).get(edit.key)
    if isinstance(edit, UnsetQuota):
        if was is None and draft.read("quotas"):
            return Dropped(edit, f"{edit.key} is not set")
    else:
        refused = _value(edit)
        if refused is not None:
            return refused
        if was == edit.value:
            return Dropped(edit, f"{edit.key} is already {edit.value:.15g}")
    return Staged(edit, was if was is not None or draft.read("quotas") else UNREAD)


@lru_cache(64)
def _in_order(types: tuple[str, ...]) -> bool:
    return list(types) == sorted(types, key=part_order)


def _entity(edit: QuotaEdit) -> Refused | None:
    types = [part.type for part in edit.entity.parts]
    if not types:
        return Refused(edit, "the quota is for nobody", "Name a user, a client or an ip.")
    if len(set(types)) != len(types):
        return Refused(edit, "the entity names the same thing twice", "Name one user, one client or one ip.")
    for part in edit.entity.parts:
        if part.type not in (USER, CLIENT_ID, IP):
            return Refused(edit, f"{part.type} is no kind of quota that Kafka has", "Use user, client or ip.")
        if part.name == "":
            return Refused(edit, f"the {part.type} has an empty name", "Name it, or write <default>.")
    if IP in types and len(types) > 1:
        return Refused(edit, "an ip's quota can't be combined with a user or a client", "Stage them apart.")
    return None


def _value(edit: SetQuota) -> Refused | None:
    keys = IP_KEYS if edit.entity.has(IP) else CLIENT_KEYS
    if edit.key not in keys:
        known = edit.key in CLIENT_KEYS or edit.key in IP_KEYS
        whose = "an ip" if edit.entity.has(IP) else "a user or client"
        reason = f"{edit.key} is no quota of {whose}" if known else unknown_quota_key(edit.key)
        return Refused(edit, reason, f"For {whose} there is {', '.join(keys)}.")
    problem = quota_problem(edit.key, edit.value)
    return Refused(edit, problem, "Correct the value.") if problem else None
