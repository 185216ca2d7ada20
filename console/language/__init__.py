"""The command language: from text to statements and from statements to edits, and back; with completion and quoting.
Pure.
"""
