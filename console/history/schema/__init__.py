"""The tables of a lake, in code: each column with its meaning and unit."""
