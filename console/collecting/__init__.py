"""The lake's work on clusters and on this machine: polls of clusters, Java and Spark for the lake's application, the
demo, the report, and checks of the machine.
"""
