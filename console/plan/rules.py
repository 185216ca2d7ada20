"""What may be staged: the rules of each kind of edit."""

from __future__ import annotations

from console.plan import config_rules
from console.plan.edits import AclEdit, ConfigEdit, Edit, QuotaEdit, ScramEdit
from console.plan.kinds import acls as acl_rules
from console.plan.kinds import quotas as quota_rules
from console.plan.kinds import scram as scram_rules
from console.plan.kinds import topics as topic_rules
from console.plan.staged import Draft, Verdict


def judge(edit: Edit, draft: Draft) -> Verdict:
    """Whether an edit is staged, is a no-op, or can't be."""
    if isinstance(edit, ConfigEdit):
        return config_rules.judge(edit, draft)
    if isinstance(edit, QuotaEdit):
        return quota_rules.judge(edit, draft)
    if isinstance(edit, AclEdit):
        return acl_rules.judge(edit, draft)
    if isinstance(edit, ScramEdit):
        return scram_rules.judge(edit, draft)
    return topic_rules.judge(edit, draft)
