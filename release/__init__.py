"""Makes the files of a release: packages, single files, their lists of parts, and the site."""
