"""``manage.py sitemap_report``: what changed, what failed, what the audit found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings as django_settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMultiAlternatives
from django.core.management.base import CommandError, CommandParser
from django.core.validators import validate_email

from django_sitemaps_plus.changes.url_changes import KEEP
from django_sitemaps_plus.management.report import Report, report
from django_sitemaps_plus.management.utils import (
    MISUSED,
    SitemapsCommand,
    counted,
    site_address,
)

#: Days for which changes of URLs are stored.
DAYS = KEEP // 86_400


class Command(SitemapsCommand):
    """Print a report on the last days, or send it by mail."""

    help = (
        "Report what changed in the sitemaps, what failed and what the last audit "
        "found. Ends with 0 if all is well, 1 if there is something to look at, 2 if "
        "misused."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--days",
            type=int,
            default=DAYS,
            help=f"how many days to report on, from 1 to {DAYS} (default {DAYS})",
        )
        parser.add_argument(
            "--format",
            choices=("text", "html"),
            default="text",
            help="what to print (default text); a mail has both",
        )
        parser.add_argument(
            "--email",
            nargs="*",
            metavar="ADDRESS",
            help="send it instead of printing it: to these addresses, without any to "
            "MANAGERS",
        )

    def run(self, *, days: int, email: list[str] | None, **options: Any) -> str:
        """Print or send the report; return how many problems it names."""
        if not 1 <= days <= DAYS:
            raise CommandError(
                f"--days {days}: use 1 to {DAYS}. Changes are stored for {DAYS} days.",
                returncode=MISUSED,
            )
        addresses = None if email is None else _addresses(email)
        result = report(site_address(), days)
        if addresses is not None:
            self._send(result, addresses)
        else:
            # Also with --verbosity 0: it is what was asked for.
            self.stdout.write(
                result.html() if options["format"] == "html" else result.text()
            )
        if not result.problems:
            return ""
        problems = counted(len(result.problems), "problem")
        return f"There is something to look at: {problems}."

    def _send(self, result: Report, addresses: Sequence[str]) -> None:
        message = EmailMultiAlternatives(
            subject=f"{django_settings.EMAIL_SUBJECT_PREFIX}{result.subject}",
            body=result.text(),
            from_email=django_settings.SERVER_EMAIL,
            to=addresses,
        )
        message.attach_alternative(result.html(), "text/html")
        try:
            message.send()
        except OSError as error:
            # Also what smtplib raises.
            raise CommandError(f"The report cannot be sent: {error}") from error
        self.say(f"Sent to {', '.join(addresses)}.")


def _addresses(given: Sequence[str]) -> list[str]:
    """Return whom to send to; raises ``CommandError`` for what is not an address."""
    found = list(given) or [
        _address_of(manager) for manager in django_settings.MANAGERS
    ]
    if not found:
        raise CommandError(
            "--email: name an address, or set MANAGERS in the settings.",
            returncode=MISUSED,
        )
    for address in found:
        try:
            validate_email(address)
        except ValidationError as error:
            raise CommandError(
                f"--email: {address!r} is not an address.", returncode=MISUSED
            ) from error
    return found


def _address_of(manager: str | Sequence[str]) -> str:
    """Return a manager's address: Django 5.2 has pairs of a name and an address."""
    return manager if isinstance(manager, str) else manager[1]
