"""How many examples a property test tries: few for each commit, and all of them where somebody has hours."""

from typing import Any

from hypothesis import settings

USUAL = 20
"""For each commit; they are the same ones each time."""


def examples(usual: int, *, at_length: int, **others: Any) -> settings:
    """Return settings for a test whose single example is cheap, or dear.

    Args:
        usual: the number of examples for each commit.
        at_length: the number with another profile, as `make test-long` has it.
        others: further settings.
    """
    return settings(max_examples=usual if settings().max_examples <= USUAL else at_length, **others)
