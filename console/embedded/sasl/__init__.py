"""Authentication as brokers do it: PLAIN and SCRAM."""
