"""A table a module: DataFrames to DataFrame, pure."""
