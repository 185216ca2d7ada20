"""The handlers of the proposals' own formats."""
