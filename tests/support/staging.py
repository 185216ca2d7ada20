"""Stages scripts of edits in a session, by the functions that kac's commands use."""

from console.language.grammar import parse
from console.language.interpret import to_edits
from console.language.needs import needs_of_script
from console.language.statements import EditStatement
from console.plan.edits import Edit
from console.plan.plan import StageReport
from console.session.reading import read_needs
from console.session.session import Session


async def staged(session: Session, text: str) -> StageReport:
    """Read everything that a script of edits needs from the cluster, then stage its edits. Return the report."""
    statements = parse(text)
    await read_needs(session, needs_of_script(statements))
    edits: list[Edit] = []
    for statement in statements:
        assert isinstance(statement, EditStatement)
        edits += to_edits(statement, session.snapshot)
    return session.stage(edits)
