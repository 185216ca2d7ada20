"""Makes what is published of a release: packages, single files, their papers, and the site."""
