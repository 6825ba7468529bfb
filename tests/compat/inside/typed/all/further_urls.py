"""The patterns that pages take for granted."""

from __future__ import annotations

from django.http import HttpResponse
from django.urls import include, path


def page(request, **kwargs):
    return HttpResponse("")


urlpatterns = [
    path("pages/<slug:slug>/", page, name="page"),
    path("chapters/<int:number>/", page, name="chapter"),
    path("notes/<slug:slug>/", page, name="note"),
    path("stories/<slug:slug>/", page, name="story"),
    path("shops/<slug:slug>/", page, name="shop"),
    path("products/<slug:slug>/", page, name="product"),
    path(
        "news/",
        include(([path("<int:year>/<slug:slug>/", page, name="article")], "news")),
    ),
]
