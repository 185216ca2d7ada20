"""The names of the screen's themes: for settings, options and the language, none of which loads a screen."""

THEMES = ("dark", "light", "ansi")
