"""A client, a snapshot and a plan: reading, the one flow of applying, the journal, and the script runner."""
