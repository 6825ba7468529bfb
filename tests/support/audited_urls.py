"""A site of which some pages are no good for a search engine, by their first folder."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import include, path
from django.utils.html import escape

ROBOTS = """\
User-agent: *
Disallow: /cart/

User-agent: Googlebot
Disallow: /cart/
Disallow: /no-google/
Allow: /no-google/but/

User-agent: GPTBot
Disallow: /
"""
#: What is good about a page, and may look bad.
GOOD = """<!doctype html><title>Good {path}</title>
<meta name="robots" content="index, follow, max-snippet:-1">
<meta name="gptbot" content="noindex">
<link rel="canonical" href="{path}#top">
<form><input type="password"></form>
<p>{words}</p>"""


def robots(request: HttpRequest) -> HttpResponse:
    """Answer as a project's own view may."""
    return HttpResponse(ROBOTS, content_type="text/plain")


def page(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Answer as the first folder says; whoever has been here before gets nothing."""
    if request.COOKIES:
        return HttpResponse("You have been here.", status=410)
    kind = request.path_info.split("/")[1]
    own = escape(request.get_full_path())
    good = GOOD.format(path=own, words="word " * 200)
    if kind == "missing":
        return HttpResponse("Not here.", status=404)
    if kind == "broken":
        raise RuntimeError("as views do")
    if kind == "moved":
        return HttpResponseRedirect("/good/elsewhere/", status=301)
    if kind == "private":
        return HttpResponseRedirect(f"/accounts/login/?next={request.path}")
    if kind == "login":
        return HttpResponse('<h1>Log in</h1><form><input type="password"></form>')
    if kind == "empty":
        return HttpResponse(" \n")
    if kind == "copy":
        return HttpResponse(good.replace(own, "/good/original/"))
    response = HttpResponse(good)
    response.set_cookie("visited", "1")
    headers: dict[str, Any] = {
        "hidden": "max-snippet: 5, noindex",
        "none": "none",
        "no-bing": "bingbot: nofollow, noindex",
        "no-openai": "gptbot: noindex",
    }
    if kind in headers:
        response.headers["X-Robots-Tag"] = headers[kind]
    if kind == "meta":
        response.content = good.replace("index, follow", "NoIndex, follow")
    if kind == "no-googlebot":
        meta = '<meta name="googlebot" content="noindex">'
        response.content = good.replace("<link", f"{meta}<link")
    return response


urlpatterns = [
    path("robots.txt", robots),
    path("", include("django_sitemaps_plus.urls")),
    path("", page),
    path("<path:rest>", page),
]
