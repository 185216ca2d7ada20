"""Widgets for large, changing lists in a terminal; they know nothing of the content of the lists."""
