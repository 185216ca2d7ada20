"""Tests of the statements that open panes: each begins with the pane's name, and only the command bar and the shell
accept it.
"""

from hypothesis import strategies as st

from console.language.panes import View
from console.language.statements import Where
from console.language.verbs import VERBS
from tests.language import said, strategies
from tests.language.strategies import read_back

PANES = [name for name, verb in VERBS.items() if any(kind.statement is View for kind in verb.statements)]

test_what_is_written_reads_back = read_back(st.builds(View, st.sampled_from(PANES), strategies.TEXT))


def test_views_belong_to_the_bar_and_the_shell():
    assert said.one("topics svc-8", Where.BAR) == View("topics", "svc-8")
    assert said.one(":quotas", Where.SHELL) == View("quotas")
    assert said.wrong("topics", Where.RUN).column == 1
