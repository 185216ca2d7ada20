"""From a snapshot and a plan to rows, tree nodes and text: pure functions, no screen."""
