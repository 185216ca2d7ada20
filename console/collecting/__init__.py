"""Work on a lake's clusters and machine: polls, Java and Spark for the application, the demo, the report, and
checks.
"""
