"""Documents that an app adds which no app of ours is."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus.contrib.edge import documents
from django_sitemaps_plus.contrib.edge.models import AnnouncedDocument
from django_sitemaps_plus.contrib.edge.signals import documents_changed
from django_sitemaps_plus.exceptions import HookError
from tests.hooked import hooks as app
from tests.support.hooked import hooked

__all__ = ["hooked"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("hooked"),
]


@pytest.fixture
def heard() -> Any:
    """The tags of each signal."""
    found: list[list[str]] = []

    def receiver(tags: list[str], **given: Any) -> None:
        found.append(tags)

    documents_changed.connect(receiver)
    yield found
    documents_changed.disconnect(receiver)


@pytest.mark.parametrize("fault", [app.breaks, app.asks_in_vain, lambda: None])
@pytest.mark.costly
def test_a_document_of_an_app_is_announced_and_not_removed_because_it_fails(
    heard: list[list[str]], fault: Any
) -> None:
    documents.announce_documents()
    (site,) = app.given["documents"][-1]
    assert site.url("/") == "https://www.example.com/"
    assert [tags for tags in heard if "hooked.xml" in tags]
    heard.clear()
    app.instead["documents"] = fault
    with pytest.raises(HookError, match=r"The hook 'documents' of tests\.hooked"):
        documents.announce_documents()
    assert heard == []
    assert AnnouncedDocument.objects.filter(document="hooked.xml").exists()
    app.instead["documents"] = list
    documents.announce_documents()
    assert [tags for tags in heard if "hooked.xml" in tags]
