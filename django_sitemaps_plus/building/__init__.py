"""Building: pages from rows, one or all of them, when asked for or at leisure."""
