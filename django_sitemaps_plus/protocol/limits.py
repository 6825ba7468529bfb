"""Every limit of the protocols, said once, each with its source."""

from __future__ import annotations

from typing import Final

# https://www.sitemaps.org/protocol.html#index
MAX_ENTRIES: Final = 50_000

# Uncompressed bytes of one file, urlset or index.
# https://www.sitemaps.org/protocol.html#index
MAX_BYTES: Final = 52_428_800

# Characters of one location, scheme and host included.
# https://www.sitemaps.org/protocol.html#locdef
MAX_LOCATION: Final = 2_048

# http://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd (tLoc)
MIN_LOCATION: Final = 12

# https://www.sitemaps.org/protocol.html#index
MAX_INDEX_ENTRIES: Final = 50_000

# https://www.sitemaps.org/protocol.html#changefreqdef
CHANGEFREQS: Final = frozenset(
    {"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}
)

# https://www.sitemaps.org/protocol.html#prioritydef
PRIORITY: Final = 0, 1

# <news:news> in one file.
# https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
MAX_NEWS: Final = 1_000

# Days for which an article is news.
# https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
NEWS_DAYS: Final = 2

# <image:image> in one <url>.
# https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
MAX_IMAGES: Final = 1_000

# Characters of a video's title.
# http://www.google.com/schemas/sitemap-video/1.1/sitemap-video.xsd
MAX_VIDEO_TITLE: Final = 100

# Characters of a description, seconds of a duration, stars of a rating, tags of one
# video, characters of an uploader's name.
# https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
MAX_VIDEO_DESCRIPTION: Final = 2_048
VIDEO_DURATION: Final = 1, 28_800
VIDEO_RATING: Final = 0, 5
MAX_VIDEO_TAGS: Final = 32
MAX_VIDEO_UPLOADER: Final = 255

# Bytes of a robots.txt that every crawler must read; the rest it may leave unread.
# https://www.rfc-editor.org/rfc/rfc9309#section-2.5
MAX_ROBOTS_BYTES: Final = 500 * 1024
