"""
Ask an engine: there is an answer, without secrets, whatever it raises.

Engines raise where none came: see ``errors``. A project's own may raise anything.
"""

from __future__ import annotations

import dataclasses
import logging

from django_sitemaps_plus.protocol.errors import printable

from .base import (
    EXCERPT,
    Answer,
    Batch,
    CheckResult,
    Engine,
    NoAnswer,
    NoThread,
    Outcome,
)

logger = logging.getLogger("django_sitemaps_plus")


def submit(engine: Engine, batch: Batch) -> Answer:
    """
    Submit URLs, or a sitemap, and return the answer.

    Raises:
        NoThread: This process is ending; nothing was sent.
    """
    try:
        answer = engine.submit(batch)
        if not isinstance(answer, Answer):
            # As where a project's own engine forgets to return one.
            raise TypeError(f"submit() returned {type(answer).__name__}")
    except NoThread:
        raise
    except NoAnswer as error:
        answer = error.answer
    except Exception as error:
        text = engine.redact(_text_of(error))
        logger.error("Engine %r: %s", engine.alias, text)
        answer = Answer(outcome=Outcome.UNAVAILABLE, message=text)
    message = printable(engine.redact(answer.message))
    # Redacted before it is cut: half a secret would not be found.
    excerpt = printable(engine.redact(answer.excerpt))[:EXCERPT]
    return dataclasses.replace(answer, message=message, excerpt=excerpt)


def verify(engine: Engine, origin: str, *, force: bool = False) -> CheckResult:
    """
    Check the ownership proof of a site.

    Raises:
        NoThread: This process is ending; nothing was fetched.
    """
    try:
        return _clean(engine, engine.verify(origin, force=force))
    except NoThread:
        raise
    except Exception as error:
        text = f"{engine.name} could not be verified: {_text_of(error)}"
        return _clean(engine, CheckResult.bad(text))


def check_engine(
    engine: Engine, origin: str, *, force: bool = False
) -> list[CheckResult]:
    """Check everything that submissions need."""
    try:
        return [_clean(engine, one) for one in engine.check(origin, force=force)]
    except NoAnswer as error:
        return [_clean(engine, CheckResult.bad(str(error), error.fix))]
    except Exception as error:
        problem = _text_of(error).rstrip(".")
        text = f"{engine.name} cannot be checked: {problem}."
        return [_clean(engine, CheckResult.bad(text, "Correct its class."))]


def check_machine(engine: Engine) -> list[CheckResult]:
    """Return what is wrong on this machine, without asking anybody."""
    return [_clean(engine, one) for one in engine.check_machine()]


def _clean(engine: Engine, result: CheckResult) -> CheckResult:
    text, fix = engine.redact(result.text), engine.redact(result.fix)
    return dataclasses.replace(result, text=printable(text), fix=printable(fix))


def _text_of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
