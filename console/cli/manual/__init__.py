"""The man page, the completion scripts for shells and the pages in docs/, made from the commands' parsers and the
verbs.
"""
