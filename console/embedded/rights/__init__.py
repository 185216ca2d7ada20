"""Who may do what: ACLs, the authorizer, SCRAM credentials."""
