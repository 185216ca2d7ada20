"""A plan in a file: its edits, and the states of their targets at staging. kac does not apply the plan if a state has
changed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from console.model.foreign_json import json_of
from console.model.journal_lines import time_of
from console.model.numbers import json_text
from console.model.snapshot import Snapshot
from console.model.yaml_places import FileProblem
from console.plan.conflicts import Conflict, conflicts
from console.plan.edit_json import edit_json, edit_of, was_json, was_of
from console.plan.edits import Slot, WriteRecords
from console.plan.plan import Plan
from console.plan.staged import Pruned, Staged
from console.present import names

FORMAT = "kac plan"
VERSION = 1
_BY_HAND = "take that edit out of the file and set it by hand, as KEY=?"


class PlanFile(Struct, frozen=True):
    """The contents of a plan file."""

    cluster_id: str
    made: datetime
    """The time at which the file was written, UTC."""
    staged: tuple[Staged, ...]

    @property
    def pruned(self) -> dict[Slot, Pruned]:
        """Slot of an edit -> the record (`Pruned`) that the edit removes an entity because files do not list it;
        other edits are missing.
        """
        return {each.edit.slot: each.pruned for each in self.staged if each.pruned is not None}


def write_plan(plan: Plan, cluster_id: str) -> str:
    """Return a plan as the text of a file.

    Raises:
        ValueError: the plan has a secret or records, which are never written to a file.
    """
    if any(isinstance(staged.edit, WriteRecords) for staged in plan.staged):
        raise ValueError("the plan writes records, and no file may hold them: apply it from here")
    if any(staged.edit.holds_secret for staged in plan.staged):
        raise ValueError("the plan sets a secret, and no file may hold one: apply it from here")
    edits = [_edit(staged) for staged in plan.staged]
    document = {"format": FORMAT, "version": VERSION, "cluster_id": cluster_id, "made": datetime.now(UTC).isoformat()}
    return json_text({**document, "edits": edits}, indent=1, ensure_ascii=True) + "\n"


def _edit(staged: Staged) -> dict[str, Any]:
    data: dict[str, Any] = {"edit": edit_json(staged.edit), "was": was_json(staged.edit, staged.was)}
    if staged.pruned is not None:
        data["pruned"] = list(staged.pruned)
    return data if staged.topic_id is None else {**data, "topic_id": staged.topic_id}


def is_plan(text: str) -> bool:
    """Return whether the text of a file is a plan, not a wanted state."""
    return text.lstrip().startswith("{") and f'"{FORMAT}"' in text[:200]


def read_plan(text: str, source: str) -> PlanFile:
    """Parse the text of a plan file.

    Args:
        source: the file's name, for messages.

    Raises:
        FileProblem: the text is not a plan file, has another version, or has an edit that sets a secret. Such an edit
            can't be applied, because plan files never contain secrets.
    """
    try:
        document: dict[str, Any] = json_of(text)
        if document.get("format") != FORMAT or document.get("version") != VERSION:
            raise FileProblem(source, 1, "this is no plan of this version", "make it again with kac plan --out")
        staged = tuple(_staged(each) for each in document["edits"])
        secret = next((each for each in staged if each.edit.holds_secret), None)
        if secret is not None:
            what = f"{names.target(secret.edit.target)} {secret.edit.key}".strip()
            raise FileProblem(source, None, f"the plan sets a secret, and no file holds one: {what}", _BY_HAND)
        return PlanFile(str(document["cluster_id"]), time_of(str(document["made"])), staged)
    except FileProblem:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        # Show only messages of kac's own errors: the others contain just a field's name, or a text of msgspec or
        # Python.
        is_ours = isinstance(error, ValueError) and not isinstance(error, ValidationError)
        why = str(error) if is_ours else "an edit in it is not as kac writes one"
        raise FileProblem(source, None, f"the plan can't be read: {why}", "make it again with kac plan --out") from None


def _staged(data: dict[str, Any]) -> Staged:
    edit = edit_of(data["edit"])
    section, of = data.get("pruned") or (None, 0)
    pruned = None if section is None else Pruned(str(section), int(of))
    return Staged(edit, was_of(edit, data["was"]), topic_id=data.get("topic_id"), pruned=pruned)


def moved_since(file: PlanFile, plan: Plan, snapshot: Snapshot) -> tuple[Conflict, ...]:
    """Return the conflicts with changes that other clients made after the plan file was written.

    Args:
        plan: the edits of the file, staged on the present state.
    """
    before = {staged.edit.slot: staged for staged in file.staged}
    upon = []
    for staged in plan.staged:
        then = before.get(staged.edit.slot, staged)
        upon.append(replace(staged, was=then.was, topic_id=then.topic_id))
    return conflicts(upon, snapshot)
