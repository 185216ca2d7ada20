"""`kac lake demo`: a day of three clusters to try everything on, made as their own logs would tell it."""
