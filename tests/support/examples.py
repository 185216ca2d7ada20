"""The number of examples of a hypothesis test: few for each commit, more for a long run."""

from typing import Any

from hypothesis import settings

USUAL = 20
"""The number of examples of a test in the profile for each commit; that profile uses the same examples in every run."""


def examples(usual: int, *, at_length: int, **others: Any) -> settings:
    """Return hypothesis settings with a test's own numbers of examples, for tests whose examples are cheap or
    expensive.

    Args:
        usual: the number of examples for each commit.
        at_length: the number with another profile, such as that of `make test-long`.
        others: further settings.
    """
    return settings(max_examples=usual if settings().max_examples <= USUAL else at_length, **others)
