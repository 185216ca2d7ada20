"""The diagnosis of a cluster: from facts to symptoms, and from these to the fewest causes with evidence that explain
them. Pure.
"""
