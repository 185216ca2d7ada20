"""`kac topics`, `quotas`, `acls`, `brokers`, `groups`, `scram`: the command language, said with options."""
