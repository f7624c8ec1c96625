"""One bump, one story: which revisions, every stage in order, one report."""
