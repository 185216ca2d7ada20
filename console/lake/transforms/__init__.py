"""The tables of the lake as functions from DataFrames to a DataFrame, one table a module. Pure."""
