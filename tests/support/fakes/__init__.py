"""
Search engines and sites as HTTP servers on loopback, for tests and demonstrations.

``indexnow.FakeIndexNow``, ``google.FakeGoogle`` and ``hub.FakeHub`` are engines,
``site.FakeSite`` is a site, and ``faults`` are ways in which each of them can fail.
"""
