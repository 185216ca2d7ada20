"""The client of a cluster: connections, choice of broker, retries; and a module for each kind of entity (topics, ACLs
…) with its reads and changes.
"""
