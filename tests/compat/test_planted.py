"""
What the audit says of thirty-one wrongs, and of twenty ordinary variations.

They were written without knowing the audit's rules. Each is planted on a ``stage`` by a
function that may replace answers and attributes (by ``patch``, pytest's
``monkeypatch``), and may return further directives of nginx.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from typing import Any, TypeAlias
from urllib.parse import quote

import pytest
from django.apps import apps

from django_sitemaps_plus.contrib.audit.models import Audit
from tests.compat.stage import HTML, Answer, Stage
from tests.support.fakes.server import Request

pytestmark = pytest.mark.nginx

Plant: TypeAlias = Callable[[Stage, pytest.MonkeyPatch], dict[str, str] | None]

TEXT = {"Content-Type": "text/plain; charset=utf-8"}
XML = {"Content-Type": "application/xml"}
#: What is planted, the findings, a text that names the cause, and whether it is no
#: error.
CASES: list[tuple[Plant, str, str, bool]] = []
#: How much of it is refused depends on how fast the machine asks.
BY_SPEED = {"rate_limit": {"A205"}}


def case(
    codes: str = "", named: str = "", *, is_fine: bool = False
) -> Callable[[Plant], Plant]:
    """Add a case: what a good audit says of it, which is nothing by default."""

    def add(plant: Plant) -> Plant:
        CASES.append((plant, codes, named, is_fine or not codes))
        return plant

    return add


@case("A109", "is called 'Page not found | Shop'")
def soft_404(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    A sold-out product's page says 'Page not found' with status 200: cause: a soft 404,
    the page says that it isn't there.
    """
    body = (
        "<!doctype html><html lang=en><head><title>Page not found | Shop</title>"
        "</head><body><h1>Page not found</h1><p>Sorry, the page that you are looking "
        "for does not exist or has been moved.</p><a href=/>Home</a></body></html>"
    )
    stage.answers[stage.paths[7]] = 200, HTML, body


@case("A109", "is called 'This product is no longer available'")
def sold_out(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """A product's page stays, and its title says that there is none."""
    path = stage.paths[8]
    stage.answers[path] = stage.page(path, title="This product is no longer available")


@case("A115", "40 URLs have the same text")
def javascript_shell(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    After a deploy all pages are the same empty shell of a JavaScript application:
    cause: pages have no content of their own (without JavaScript), or are all alike.
    """
    body = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"/><title>App</title>'
        '<script type="module" crossorigin src="/assets/index-B3f9x1.js"></script>'
        "</head><body><noscript>You need to enable JavaScript to run this app."
        '</noscript><div id="root"></div></body></html>'
    )
    stage.answers |= dict.fromkeys(stage.paths, (200, HTML, body))


@case("A204", "Cloudflare challenges this machine (403)")
def bot_challenge(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    The CDN's bot protection sends its challenge (403, 'Just a moment...') to clients
    without its cookie: cause: pages refuse with 403, by the CDN's bot protection.
    """
    headers = {**HTML, "cf-mitigated": "challenge", "Cache-Control": "no-store"}
    body = (
        '<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title>'
        '<meta name="robots" content="noindex,nofollow"></head><body><noscript>Enable '
        "JavaScript and cookies to continue</noscript></body></html>"
    )

    def challenge(request: Request) -> Answer | None:
        cleared = "cf_clearance" in request.headers.get("cookie", "")
        return None if cleared else (403, headers, body)

    stage.answers |= dict.fromkeys(stage.paths, challenge)


@case("A101", "/consent/?next=/articles/article-")
def consent_wall(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    Who has no consent cookie is sent (302) from each page to /consent/: cause: all
    listed URLs redirect to one other page, the consent wall.
    """

    def wall(request: Request) -> Answer | None:
        if "consent=" in request.headers.get("cookie", ""):
            return None
        return 302, {"Location": f"/consent/?next={request.path}"}, ""

    stage.answers |= dict.fromkeys(stage.paths, wall)
    stage.answers["/consent/"] = stage.page(
        "/consent/", title="Your privacy", text="We and our 842 partners use cookies."
    )


@case("A108", "is called 'Sign in' and has a login form")
def sign_in_form(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    A few articles became members-only and answer 200 with the sign-in form: cause:
    these pages are a login form and not their content (or all alike).
    """
    body = (
        "<!doctype html><html lang=en><head><title>Sign in</title></head><body>"
        "<h1>Sign in</h1><form method=post action=/accounts/login/>"
        "<input name=username autocomplete=username>"
        "<input type=password name=password><button>Sign in</button></form>"
        "<p><a href=/accounts/password/reset/>Forgot your password?</a></p></body>"
    )
    stage.answers |= dict.fromkeys(stage.paths[10:14], (200, HTML, body))


@case("A105", "its canonical is https://staging.example.com/")
def staging_canonical(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    All pages' canonical links name the staging host, left from a copied database:
    cause: canonical URL on another host.
    """
    for path in stage.paths:
        status, headers, body = stage.page(path)
        link = body.replace(stage.public, "https://staging.example.com")
        stage.answers[path] = status, headers, link


@case("A206", "ends inside <h1>")
def cut_off(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    Workers are killed while they send three long pages, which end after the heading
    (200): cause: the pages are cut off, or have no content.
    """
    for path in stage.paths[20:23]:
        status, headers, body = stage.page(path)
        stage.answers[path] = status, headers, body[: body.index("<h1>") + 9]


@case("A109", "says 'Fatal error: Uncaught mysqli_sql_exc")
def fatal_error(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    The database is out of connections, and the pages print the error with status 200:
    cause: error messages with 200 (a soft error).
    """
    body = (
        "<br />\n<b>Fatal error</b>:  Uncaught mysqli_sql_exception: Too many "
        "connections in /var/www/html/wp-includes/class-wpdb.php:1987\nStack trace:\n"
        "#0 /var/www/html/wp-includes/class-wpdb.php(1987): mysqli_real_connect()\n"
        "  thrown in <b>/var/www/html/wp-includes/class-wpdb.php</b> on line "
        "<b>1987</b><br />\n"
    )
    stage.answers |= dict.fromkeys(stage.paths[5:9], (200, HTML, body))


@case("A101", "refreshes to ")
def meta_refresh(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    Moved pages send the visitor on by <meta http-equiv=refresh content='0; url=…'>:
    cause: the pages redirect (by meta refresh).
    """
    for path in stage.paths[2:5]:
        target = f"/magazine{path}"
        stage.answers[target] = stage.page(target)
        body = (
            "<!doctype html><html><head><title>Redirecting…</title>"
            f'<meta http-equiv="refresh" content="0; url={target}"></head>'
            f'<body><a href="{target}">Click here</a> if nothing happens.</body></html>'
        )
        stage.answers[path] = 200, HTML, body


@case("A103", "noindex in its meta element")
def second_robots_meta(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    A plugin adds a second robots meta, NOINDEX, after the theme's 'index, follow':
    cause: pages forbid to be indexed, by a meta element.
    """
    head = (
        '<meta name="robots" content="index, follow">'
        '<META NAME="Robots" CONTENT="NOINDEX , follow"/>'
    )
    for path in stage.paths[30:32]:
        stage.answers[path] = stage.page(path, head=head)


# -- What robots.txt and the sitemaps arrive as ---------------------------------------


@case("A212", "disallows the whole site, and so /sitemap.xml, for")
def staging_robots(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    The staging's robots.txt was deployed, 'Disallow: /': cause: robots.txt forbids
    everything.
    """
    lines = f"User-agent: *\nDisallow: /\n\nSitemap: {stage.public}/sitemap.xml\n"
    stage.answers["/robots.txt"] = 200, TEXT, lines


@case("A213", "names https://old.example.com/sitemap.xml, and not")
def former_domain(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    An old robots.txt names the sitemap of the domain before the move, and not this one:
    cause: robots.txt doesn't name this sitemap, but another host's.
    """
    lines = "User-agent: *\nDisallow:\n\nSitemap: https://old.example.com/sitemap.xml\n"
    stage.answers["/robots.txt"] = 200, TEXT, lines


@case("A020 A205", "answers 503")
def robots_unavailable(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    robots.txt answers 503 from the CDN (search engines then fetch nothing): cause:
    robots.txt answers with a server error.
    """
    body = "<html><head><title>503 Backend fetch failed</title></head></html>"
    stage.answers["/robots.txt"] = 503, HTML, body


@case("A209", "is a web page")
def robots_is_html(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    robots.txt is the application's index.html (200, text/html) since a deploy: cause:
    robots.txt is HTML, or no robots.txt; it names no sitemap.
    """
    body = (
        '<!doctype html>\n<html lang="en">\n<head>\n<title>App</title>\n'
        '<script type="module" src="/assets/index.js"></script>\n</head>\n'
        '<body><div id="root"></div></body>\n</html>\n'
    )
    stage.answers["/robots.txt"] = 200, HTML, body


@case("A208 A210", "is an old copy: 30 days old")
def stale_sitemap(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    The CDN still sends last month's sitemap, without the ten newest articles (Age:
    2600000): cause: what is sent is old, not what the site has now.
    """
    newest = "|".join(stage.paths[30:40])
    gone = re.compile(rf"\s*<url>\s*<loc>[^<]*(?:{newest})</loc>.*?</url>", re.DOTALL)
    headers = {
        **XML,
        "Age": "2600000",
        "X-Cache": "HIT",
        "Last-Modified": "Tue, 27 Oct 2026 03:00:00 GMT",
        "Cache-Control": "public, max-age=31536000",
    }
    text = gone.sub("", stage.text("/sitemap.xml"))
    stage.answers["/sitemap.xml"] = 200, headers, text


@case("A208 A209", "lists https://staging.example.com/")
def staging_urls(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    The sitemap was built with the staging's host in all its URLs: cause: the URLs are
    of another host.
    """
    text = stage.text("/sitemap.xml")
    text = text.replace(stage.public, "https://staging.example.com")
    stage.answers["/sitemap.xml"] = 200, XML, text


@case("A209", "is not well-formed XML: no element found")
def cut_off_sitemap(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    An upload of the sitemap was interrupted, the file ends in the middle: cause: no
    well-formed XML, it is cut off.
    """
    text = stage.text("/sitemap.xml")
    stage.answers["/sitemap.xml"] = 200, XML, text[: len(text) // 2]


@case("A207", "is still gzipped after it was decompressed")
def compressed_twice(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    The CDN compresses the file that is compressed already (once too often): cause:
    compressed twice, no XML after it is decompressed.
    """
    twice = gzip.compress(gzip.compress(stage.text("/sitemap.xml").encode()))
    headers = {**XML, "Content-Encoding": "gzip"}
    stage.answers["/sitemap.xml"] = 200, headers, twice


@case("A209", "XML or text declaration not at start of entity")
def blank_line_first(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    An include's blank line stands before '<?xml', so that parsers refuse it: cause: no
    well-formed XML, something stands before the declaration.
    """
    stage.answers["/sitemap.xml"] = 200, XML, "\n" + stage.text("/sitemap.xml")


@case("A205 A208 A209", "answers 404")
def index_of_gone_files(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """
    An old index is served, whose page files are gone since the deploy (404): cause:
    files that the index names answer 404.
    """
    files = "".join(
        f"<sitemap><loc>{stage.public}/static/sitemaps/{name}.xml</loc></sitemap>"
        for name in ("articles-1.3fe9a0c1", "articles-2.77be01aa")
    )
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex '
        f'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{files}</sitemapindex>'
    )
    stage.answers["/sitemap.xml"] = 200, XML, text


# -- What stands in front --------------------------------------------------------------


@case("A100 A205", "says the web server: in maintenance, or asked too")
def rate_limit(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """
    limit_req allows ten requests a second and refuses the others with nginx's default,
    503: cause: requests are refused for their rate (503).
    """
    return {
        "http": "limit_req_zone $binary_remote_addr zone=few:1m rate=10r/s;",
        "location": "limit_req zone=few burst=3 nodelay;",
    }


@case("A119", "answers 403 as Googlebot, and 200 otherwise")
def bots_refused(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """
    A list of bad bots matches everything called bot, crawler or spider (403): cause:
    search engines' crawlers are refused.
    """
    return {
        "server": 'location ^~ /articles/ { if ($http_user_agent ~* "bot|crawl|spider")'
        " { return 403; } proxy_pass http://{behind}; }"
    }


@case("A103 A208", "noindex in the header X-Robots-Tag")
def robots_header(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """
    The staging's add_header X-Robots-Tag 'noindex, nofollow' went live: cause: pages
    forbid to be indexed, by a header.
    """
    return {"server": 'add_header X-Robots-Tag "noindex, nofollow" always;'}


@case("A105 A120", "answers 200, although no page has this address")
def errors_as_home(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """
    Whatever isn't there gets the home page with 200 (error_page 404 =200 /), two listed
    pages too: cause: missing pages answer 200, as the home page.
    """
    stage.answers["/"] = stage.page("/", title="Home", text="Welcome to the magazine.")
    gone = 404, HTML, "<h1>Not Found</h1>"
    stage.answers |= {stage.paths[12]: gone, stage.paths[13]: gone}
    return {"location": "proxy_intercept_errors on; error_page 404 =200 /;"}


@case("A202", "redirects to itself, without an end (301)")
def protocol_loop(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """
    Behind a CDN that ends TLS, nginx redirects 'to https' by X-Forwarded-Proto that the
    CDN doesn't send: cause: a redirect loop.
    """
    return {
        "server": "location ^~ /articles/ { if ($http_x_forwarded_proto != https)"
        " { return 301 $scheme://$http_host$request_uri; }"
        " proxy_pass http://{behind}; }"
    }


@case("A101", "/articles/article-")
def slash_removed(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """
    A rewrite removes the slash at the end, all listed URLs redirect (301): cause:
    listed URLs redirect, to those without a slash.
    """
    for path in stage.paths:
        stage.answers[path.rstrip("/")] = stage.page(path.rstrip("/"))
    return {"server": "rewrite ^/(.+)/$ /$1 permanent;"}


@case("A207", "was not read: ")
def false_encoding(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """
    add_header Content-Encoding gzip stands before pages that aren't compressed: cause:
    the body isn't what Content-Encoding says.
    """
    return {
        "server": "location ^~ /articles/ { add_header Content-Encoding gzip;"
        " proxy_pass http://{behind}; }"
    }


@case("A101 A202", "redirects to http://localhost:")
def other_host(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """
    The site moved to another host (www), all pages redirect there, and the sitemap
    still lists the former: cause: listed URLs redirect to another host.
    """
    return {
        "server": "if ($host = 127.0.0.1) "
        "{ return 301 http://localhost:{port}$request_uri; }"
    }


@case("A205", "answers 404")
def static_location(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    r"""
    location ~ \.(xml|css|js)$ looks for static files, where sitemap.xml isn't: cause:
    the sitemap answers 404.
    """
    return {"server": r"location ~ \.(xml|css|js)$ { root {folder}; expires 30d; }"}


@case("A105", "its canonical is http://127.0.0.1:")
def canonical_header(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """
    add_header Link '<home page>; rel="canonical"' for all pages: cause: canonical URL
    (in the header) is another page.
    """
    for path in stage.paths:
        status, headers, body = stage.page(path)
        body = re.sub("<link rel=canonical[^>]*>", "", body)
        stage.answers[path] = status, headers, body
    stage.answers["/"] = stage.page("/", title="Home")
    return {"server": f"add_header Link '<{stage.public}/>; rel=\"canonical\"';"}


# -- Ordinary variations ---------------------------------------------------------------


@case()
def security_headers(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """HSTS, a content security policy and more headers of that kind."""
    return {
        "server": "add_header Strict-Transport-Security 'max-age=63072000; "
        "includeSubDomains; preload' always; add_header Content-Security-Policy "
        "\"default-src 'self'; frame-ancestors 'none'\" always; add_header "
        "X-Content-Type-Options nosniff always; add_header Referrer-Policy "
        "strict-origin-when-cross-origin always; add_header Permissions-Policy "
        "'geolocation=(), interest-cohort=()' always; server_tokens off;"
    }


@case()
def cached_for_minutes(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """nginx keeps all answers for five minutes, by a right key."""
    return {
        "location": "proxy_cache old; proxy_cache_valid 200 5m; "
        "proxy_ignore_headers Cache-Control Expires Vary; "
        "proxy_cache_key $scheme$http_host$request_uri$http_accept_encoding; "
        "add_header X-Cache-Status $upstream_cache_status; expires 5m;"
    }


@case()
def compressed(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """nginx compresses everything by gzip, and has no brotli."""
    return {
        "server": "gzip on; gzip_vary on; gzip_proxied any; gzip_min_length 100; "
        "gzip_comp_level 6; gzip_types text/plain application/xml text/xml;"
    }


@case()
def right_redirect(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """The other host name redirects to the one that is listed."""
    return {
        "server": f"if ($host = localhost) {{ return 301 {stage.public}$request_uri; }}"
    }


@case()
def slash_added(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """URLs without the slash redirect to the listed ones, with it."""
    return {
        "server": "absolute_redirect off; "
        "rewrite ^(/articles/[^./]+)$ $1/ permanent; merge_slashes on;"
    }


@case()
def preview_limits(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """The theme's robots meta allows everything, with limits of previews."""
    head = (
        "<meta name='robots' content='index, follow, max-image-preview:large, "
        "max-snippet:-1, max-video-preview:-1' /><meta name=bingbot content=noarchive>"
    )
    stage.answers |= {path: stage.page(path, head=head) for path in stage.paths}


@case()
def training_forbidden(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """X-Robots-Tag forbids only the bots of AI training to index."""
    return {
        "server": 'add_header X-Robots-Tag "gptbot: noindex, nofollow"; '
        'add_header X-Robots-Tag "max-image-preview:large"; '
        "add_header tdm-reservation 1;"
    }


@case()
def training_disallowed(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """robots.txt shuts AI crawlers out, and others from cart and search."""
    lines = (
        "# As a content signal…\nUser-agent: *\n"
        "Content-Signal: search=yes, ai-train=no\nDisallow: /cart/\n"
        "Disallow: /*?s=\nDisallow: /search\nAllow: /\nCrawl-delay: 1\n\n"
        "User-agent: GPTBot\nUser-agent: CCBot\nUser-agent: Google-Extended\n"
        "User-agent: ClaudeBot\nUser-agent: Bytespider\nDisallow: /\n\n"
        f"Sitemap: {stage.public}/sitemap.xml\n"
    )
    stage.answers["/robots.txt"] = 200, TEXT, lines


@case()
def lazy_html(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """Minified HTML leaves out tags and quotes that it need not have."""
    for number, path in enumerate(stage.paths):
        words = " ".join(f"Item {number}-{one} of the list" for one in range(30))
        body = (
            f"<!DOCTYPE html><meta charset=utf-8><title>Article {number}</title>"
            f"<LINK HREF={stage.public}{path} REL=canonical><h1>Article {number}</h1>"
            f"<p>{words}<p>5 &lt 7 & more<ul><li>One<li>Two</ul><img src=/a.png alt=A>"
        )
        stage.answers[path] = 200, {"Content-Type": "text/html;charset=UTF-8"}, body


@case()
def canonical_in_header(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """The canonical URL is only in the header Link, with others."""
    for path in stage.paths:
        status, headers, body = stage.page(path)
        body = re.sub("<link rel=canonical[^>]*>", "", body)
        link = (
            "</static/site.css>; rel=preload; as=style, "
            f'<{stage.public}{path}>; rel="canonical"'
        )
        stage.answers[path] = status, {**headers, "Link": link}, body


@case()
def article_on_errors(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """An article explains 'Page not found' and other errors."""
    text = (
        "A visitor who reads “404 Page not found” has followed a link to a page "
        "that does not exist. This guide shows how to find such links by the logs of "
        "your server, how to redirect them, and what to write on your error page. "
    )
    path = stage.paths[9]
    title = "404 Page not found: how to find and mend dead links"
    stage.answers[path] = stage.page(path, title=title, text=text * 4)


@case()
def other_letters(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """Paths with umlauts and Japanese, percent-encoded in the sitemap."""
    model = next(one for one in apps.get_models() if one.__name__ == "Article")
    slugs = [path.strip("/").rpartition("/")[2] for path in stage.paths]
    names = dict(
        zip(slugs, ("über-straßen", "日本語の記事", "été à 100%"), strict=False)
    )

    def located(self: Any) -> str:
        return f"/articles/{quote(names.get(self.slug, self.slug))}/"

    patch.setattr(model, "get_absolute_url", located)


@case()
def query_strings(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """Listed URLs have query strings, with an ampersand."""
    model = next(one for one in apps.get_models() if one.__name__ == "Article")

    def located(self: Any) -> str:
        return f"/articles/?id={self.pk}&lang=en"

    def page(request: Request) -> Answer:
        return stage.page(request.path.replace("&", "&amp;"), title=request.path)

    patch.setattr(model, "get_absolute_url", located)
    stage.answers["/articles/"] = page


@case()
def consent_banner(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """Each page sets cookies, asks for consent, and has a login dialog."""
    head = "<meta property=og:type content=article>"
    dialogs = (
        "<dialog open>We use cookies. <button>Accept all</button></dialog>"
        "<dialog id=login><form method=post action=/login/><input name=user>"
        "<input type=password name=password><button>Sign in</button></form></dialog>"
    )
    for path in stage.paths:
        status, headers, body = stage.page(path, head=head)
        body = body.replace("</body>", f"{dialogs}</body>")
        cookie = {"Set-Cookie": "session=1f3a; HttpOnly; SameSite=Lax; Path=/"}
        stage.answers[path] = status, {**headers, **cookie, "Vary": "Cookie"}, body


@case("A208", "X-Robots-Tag is missing", is_fine=True)
def text_xml(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """The sitemap is sent as text/xml, not compressed, for ten minutes."""
    headers = {
        "Content-Type": "text/xml; charset=utf-8",
        "Cache-Control": "public, max-age=600",
        "ETag": 'W/"66f2-19a"',
    }
    stage.answers["/sitemap.xml"] = 200, headers, stage.text("/sitemap.xml")


@case()
def robots_from_windows(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """robots.txt from Windows: a BOM, CRLF, other cases, no last newline."""
    lines = (
        "\ufeff# robots.txt of the shop\r\nuser-agent: *\r\ndisallow: /admin/ # staff"
        f"\r\nDISALLOW:\r\n\r\nsitemap:   {stage.public}/sitemap.xml"
    )
    stage.answers["/robots.txt"] = 200, {"Content-Type": "text/plain"}, lines


@case()
def pdf_file(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """Two of the listed URLs are a PDF file and a plain text."""
    data = (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
        b"trailer<</Root 1 0 R>>\n%%EOF\n"
    )
    stage.answers[stage.paths[4]] = 200, {"Content-Type": "application/pdf"}, data
    terms = "Terms and conditions\n\n" + "These are the terms of the shop. " * 20
    stage.answers[stage.paths[5]] = 200, TEXT, terms


@case()
def translations(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """Two articles are each other's translations, as both pages say."""
    english, german = stage.paths[:2]
    head = (
        f'<link rel="alternate" hreflang="en" href="{stage.public}{english}">'
        f'<link rel="alternate" hreflang="de" href="{stage.public}{german}">'
        f'<link rel="alternate" hreflang="x-default" href="{stage.public}{english}">'
    )
    stage.answers |= {one: stage.page(one, head=head) for one in (english, german)}


@case()
def older_charset(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """An old part of the site sends windows-1252, and says so."""
    for path in stage.paths[15:20]:
        status, _, body = stage.page(path, text=f"Straße – “Größe” {path} " * 20)
        headers = {"Content-Type": "text/html; charset=windows-1252"}
        stage.answers[path] = status, headers, body.encode("cp1252")


@case()
def scrapers_refused(stage: Stage, patch: pytest.MonkeyPatch) -> dict[str, str]:
    """Scrapers are refused by name, and others over a thousand a second."""
    return {
        "http": "limit_req_zone $binary_remote_addr zone=many:1m rate=1000r/s;",
        "server": "if ($http_user_agent ~* "
        '"AhrefsBot|SemrushBot|MJ12bot|GPTBot|Bytespider|DotBot|PetalBot") '
        "{ return 403; }",
        "location": "limit_req zone=many burst=2000 nodelay;",
    }


def test_each_wrong_is_named_and_what_is_in_order_is_no_error(stage: Stage) -> None:
    mistaken = []
    for plant, codes, named, is_fine in CASES:
        Audit.objects.all().delete()
        stage.answers.clear()
        with pytest.MonkeyPatch.context() as patch:
            directives = plant(stage, patch) or {}
            with stage.served(**directives):
                said = stage.look()
        texts = [text for found in said.texts.values() for _, text in found]
        is_named = not named or any(named in text for text in texts)
        wrong = said.codes ^ {*codes.split()}
        is_error = is_fine and said.exit_code != 0
        if wrong - BY_SPEED.get(plant.__name__, set()) or not is_named or is_error:
            mistaken.append((plant.__name__, said.codes, said.exit_code, texts[:2]))
    assert mistaken == []
