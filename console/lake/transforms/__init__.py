"""Functions from Arrow tables to an Arrow table, a module for each table of the lake. Pure."""
