"""
Races: processes that save, read, build and notify at once, and are killed meanwhile.

Every process keeps a journal; afterwards ``truth`` replays what was committed, and
``verdict`` holds against it what crawlers and engines were given.
"""
