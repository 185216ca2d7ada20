"""Computes the results of `show`, `describe`, `list`, `effective` and `explain` from a snapshot. The snapshot has the
parts that `needs` returns for the statement. Pure.
"""

from __future__ import annotations

from console.answers.results import Detail, Result
from console.language.statements import QueryStatement, Subject
from console.language.unparse import unparse
from console.language.verbs import kind_of
from console.language.verbs.effective import EffectiveQuota
from console.language.verbs.explain import Explain
from console.language.verbs.listing import List
from console.language.verbs.show import Show
from console.language.verbs.watch import Watch
from console.language.verbs.whose import Whose
from console.language.vocabulary import subject_of
from console.model.snapshot import Snapshot
from console.plan.plan import EMPTY, Plan


def answer(
    statement: QueryStatement, snapshot: Snapshot, *, plan: Plan = EMPTY, selected: Subject | None = None
) -> Result:
    """Return the result of a query. If parts could not be read, the result lists the failures.

    Args:
        plan: the staged edits, which some results show.
        selected: the entity that is meant if the statement names none; None if no entity is selected.

    Raises:
        CommandError: an entity, key or column does not exist, or nothing could be read.
    """
    # Each branch imports its own modules, so that a single command does not load the modules of the others.
    match statement:
        case Show():
            from console.answers.describe import show

            subject, span = subject_of(statement.entity, selected, statement.span, statement.keys)
            return show(statement, subject, snapshot, plan, span)
        case List():
            from console.answers.lists import list_kind

            return list_kind(statement, snapshot)
        case Explain():
            from console.answers.explain import explain

            return explain(statement, snapshot)
        case Whose():
            from console.answers.describe import whose

            return whose(statement, snapshot)
        case Watch():
            from console.answers.watched import watch

            return watch(statement, snapshot)
        case EffectiveQuota():
            from console.answers.quotas import effective_result

            return effective_result(statement, snapshot)
        case _ if (lines := kind_of(statement).lines) is not None:
            text = tuple(lines(statement, snapshot))
            return Detail(unparse(statement), {"lines": list(text)}, text)
        case _:
            raise TypeError(f"{type(statement).__name__} has no answer")
