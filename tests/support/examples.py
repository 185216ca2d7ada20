"""The number of examples of a property test: few for each commit, more for a long run."""

from typing import Any

from hypothesis import settings

USUAL = 20
"""The number of examples for each commit; they are the same each time."""


def examples(usual: int, *, at_length: int, **others: Any) -> settings:
    """Return settings for a test whose single example is cheap or expensive.

    Args:
        usual: the number of examples for each commit.
        at_length: the number with another profile, such as that of `make test-long`.
        others: further settings.
    """
    return settings(max_examples=usual if settings().max_examples <= USUAL else at_length, **others)
