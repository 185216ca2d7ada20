"""Completion for shells, and the man page: made from the commands' own parsers."""
