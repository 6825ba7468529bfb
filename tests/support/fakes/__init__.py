"""
Search engines and sites as HTTP servers on loopback, for tests and demonstrations.

Each engine has a module, ``site.FakeSite`` is a site, and ``faults`` are ways in which
each of them can fail.
"""
