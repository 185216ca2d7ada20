"""Pure functions that turn a snapshot and a plan into rows, tree nodes and text; they draw nothing."""
