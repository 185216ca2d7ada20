"""Operations, which are long work on a cluster: where replicas should be, what it costs to move them there, and the
steps. Pure.
"""
