"""
Chromium without a window, by its DevTools protocol over a pipe: nothing to install.

https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

#: What Debian, Ubuntu, Fedora and Google call it.
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Chromium reads commands from 3 and writes its answers to 4. Copied to higher numbers
#: first, because one of the pipes may be 3 or 4 itself.
_START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(n), fcntl.F_DUPFD_CLOEXEC, 10) for n in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def chromium() -> str | None:
    """Return where Chromium is; None if it is not installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class BrowserError(Exception):
    """Chromium refused a command, or a script raised."""


@dataclass
class Browser:
    """One tab."""

    _to: BinaryIO
    _from: BinaryIO
    _session: str = ""
    _last: int = 0
    #: Lines that the page wrote to the console as errors, and resources that failed.
    complaints: list[str] = field(default_factory=list)
    _loaded: bool = False

    def call(self, method: str, **params: Any) -> Any:
        """Send a command, and return its result."""
        self._last += 1
        number = self._last
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        self._to.flush()
        while True:
            answer = self._read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _read(self) -> dict[str, Any]:
        data = bytearray()
        while not data.endswith(b"\0"):
            byte = self._from.read(1)
            if not byte:
                raise BrowserError("Chromium has ended.")
            data += byte
        message: dict[str, Any] = json.loads(data[:-1])
        method = message.get("method")
        params = message.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            entry = params["entry"]
            self.complaints.append(f"{entry['text']} {entry.get('url', '')}".strip())
        return message

    def open(self, url: str) -> None:
        """Go to an address, and wait until it is shown."""
        self._loaded = False
        failed = self.call("Page.navigate", url=url).get("errorText")
        if failed:
            raise BrowserError(f"{url}: {failed}")
        while not self._loaded:
            self._read()

    def leave(self, script: str) -> None:
        """Run a script that goes to another page, and wait until that is shown."""
        self._loaded = False
        self.run(script)
        while not self._loaded:
            self._read()

    def show_as(self, *, width: int, dark: bool = False, height: int = 800) -> None:
        """Show what follows in a window of this size, light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": height, "deviceScaleFactor": 1},
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def speak(self, language: str) -> None:
        """Ask for pages in a language."""
        headers = {"Accept-Language": language}
        self.call("Network.setExtraHTTPHeaders", headers=headers)

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression, or of what it promises."""
        answer = self.call(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", details).get("description"))
        return answer["result"].get("value")

    def screenshot(self, path: Path, clip: dict[str, float]) -> None:
        """Write a part of the page as PNG: "x", "y", "width", "height" and "scale"."""
        answer = self.call(
            "Page.captureScreenshot", clip=clip, captureBeyondViewport=True
        )
        path.write_bytes(base64.b64decode(answer["data"]))


@contextmanager
def browser() -> Iterator[Browser]:
    """Start Chromium with a profile of its own, and end it."""
    program = chromium()
    if program is None:
        raise BrowserError(f"No Chromium is installed: {', '.join(NAMES)}.")
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", _START, str(theirs_in), str(theirs_out)),
                program,
                *("--headless=new", "--remote-debugging-pipe", "--no-first-run"),
                *("--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                *("--disable-dev-shm-usage", "--disable-background-networking"),
                *("--force-color-profile=srgb", f"--user-data-dir={profile}"),
                "about:blank",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs_in, theirs_out),
        )
        os.close(theirs_in)
        os.close(theirs_out)
        with os.fdopen(ours_out, "wb") as to, os.fdopen(ours_in, "rb") as come:
            try:
                tab = Browser(to, come)
                targets = tab.call("Target.getTargets")["targetInfos"]
                page = next(t for t in targets if t["type"] == "page")
                attached = tab.call(
                    "Target.attachToTarget", targetId=page["targetId"], flatten=True
                )
                tab._session = attached["sessionId"]
                for domain in ("Page", "Log", "Network", "Runtime"):
                    tab.call(f"{domain}.enable")
                yield tab
            finally:
                process.terminate()
                process.wait(timeout=30)
