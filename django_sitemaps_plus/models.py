"""All tables of the app, gathered from the rooms where Django looks for them."""

from __future__ import annotations

from .changes.models import Change as Change
from .changes.models import RelatedState as RelatedState
from .changes.models import UrlChange as UrlChange
from .delivery.models import EngineState as EngineState
from .delivery.models import Submission as Submission
from .pagination.models import Page as Page
from .pagination.models import Section as Section
from .storing.models import PageFile as PageFile
