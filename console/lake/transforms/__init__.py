"""The tables of the lake as functions from Arrow tables to an Arrow table, one table a module. Pure."""
