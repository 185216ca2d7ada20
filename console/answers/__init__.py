"""From a snapshot, a plan or a history to results, and from results to text, JSON, YAML and CSV."""
