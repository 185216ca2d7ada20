"""All nights by their slugs; a slug is the name of the night's module."""

from __future__ import annotations

import importlib
import pkgutil

from benchmarks.nights import written
from benchmarks.nights.night import Night


def nights() -> dict[str, Night]:
    """Return slug -> night, in the order of the slugs."""
    names = sorted(each.name for each in pkgutil.iter_modules(written.__path__))
    return {name: importlib.import_module(f"{written.__name__}.{name}").NIGHT for name in names}


def chosen(only: list[str], first: str | None = None) -> dict[str, Night]:
    """Return slug -> night for the nights that the options name.

    Args:
        only: slugs, names of nights, or parts of slugs; empty for all nights.
        first: the slug to begin with, in the order of the slugs; None for the first night.

    Raises:
        LookupError: an element of `only` matches no night.
    """
    every = nights()
    for word in only:
        if not any(_is_it(word, slug, night) for slug, night in every.items()):
            raise LookupError(f"no night is {word!r}: there are {', '.join(every) or 'none'}")
    return {
        slug: night
        for slug, night in every.items()
        if (first is None or slug >= first) and (not only or any(_is_it(word, slug, night) for word in only))
    }


def _is_it(word: str, slug: str, night: Night) -> bool:
    return word in (slug, night.name) or word.replace("-", "_") in slug
