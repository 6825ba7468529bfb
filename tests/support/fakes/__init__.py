"""
Search engines and sites as real HTTP servers on loopback, for tests and for show.

``indexnow.FakeIndexNow``, ``google.FakeGoogle`` and ``hub.FakeHub`` are the engines,
``site.FakeSite`` is a site, and ``faults`` is what can go wrong with each of them.
"""
