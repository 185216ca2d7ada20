"""Results from a snapshot, a plan or a history, and their forms: text, JSON, YAML and CSV."""
