"""The flight record: the brokers' responses with their times, from which kac shows the cluster's past as it shows a
live cluster.
"""
