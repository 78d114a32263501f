"""A headless Chromium that tests drive, by its own protocol over a pair of pipes."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CHROMIUM = shutil.which("chromium")

ANSWER_WITHIN_S = 60.0
"""How long an answer or an event may take on a machine that is busy."""

_FLAGS = (
    "--headless",
    "--no-sandbox",  # it does not start as root with one
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)

_AS_3_AND_4 = 'exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>/dev/null'
"""The browser reads commands from descriptor 3 and writes answers to 4."""


class Browser:
    """One page in a browser of its own.

    Args:
        folder: becomes its profile; its errors go to a file in there.
    """

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM is not None
        self.events: list[dict[str, Any]] = []
        self._number = 0
        self._read = b""
        self._session: str | None = None
        profile = f"--user-data-dir={folder}"
        with (folder / "stderr.txt").open("wb") as errors:
            self._process = subprocess.Popen(
                ["sh", "-c", _AS_3_AND_4, CHROMIUM, *_FLAGS, profile, "about:blank"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        """Open a page, which tells what happens in it."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setFocusEmulationEnabled", enabled=True)
        return self

    def __exit__(self, *_exc: object) -> None:
        """Close the browser, and wait until it is gone."""
        try:
            self._session = None
            self.ask("Browser.close")
            self._process.wait(ANSWER_WITHIN_S)
        finally:
            if self._process.poll() is None:
                os.killpg(self._process.pid, 9)
                self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to a command."""
        self._number += 1
        number = self._number
        command = {"id": number, "method": method, "params": parameters}
        if self._session is not None and not method.startswith(("Browser.", "Target.")):
            command["sessionId"] = self._session
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\0")
        self._process.stdin.flush()
        answer = self._until(lambda message: message.get("id") == number)
        assert "error" not in answer, (method, answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    def event(
        self, method: str, matches: Callable[[dict[str, Any]], bool] = bool
    ) -> dict[str, Any]:
        """Return what the first event of a kind tells, once there is one."""

        def is_it(message: dict[str, Any]) -> bool:
            return message.get("method") == method and matches(message["params"])

        found = next((item for item in self.events if is_it(item)), None)
        told: dict[str, Any] = (found or self._until(is_it))["params"]
        return told

    def of(self, method: str) -> list[dict[str, Any]]:
        """Return what all events of a kind have told so far."""
        return [item["params"] for item in self.events if item["method"] == method]

    def open(self, page: Path) -> None:
        """Load a page, and wait until it is there."""
        self.events.clear()
        self.ask("Page.navigate", url=page.resolve().as_uri())
        self.event("Page.loadEventFired")

    def look(self, *, width: int, theme: str, height: int = 800) -> None:
        """Show the page at a width, in a theme: `light` or `dark`."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        feature = {"name": "prefers-color-scheme", "value": theme}
        self.ask("Emulation.setEmulatedMedia", features=[feature])

    def value(self, expression: str) -> Any:
        """Return what an expression comes to in the page, as a plain value."""
        found = self.ask(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def click(self, selector: str) -> None:
        """Press and release the mouse in the middle of an element."""
        x, y = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                clickCount=1,
            )

    def press(self, key: str) -> None:
        """Press and release a key, such as `Tab` or `Enter`."""
        text = {"Enter": "\r"}.get(key, "")
        codes = {"Tab": 9, "Enter": 13}
        common = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
        self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def picture(self, path: Path) -> None:
        """Write what the whole page looks like as a PNG."""
        found = self.ask(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True
        )
        path.write_bytes(base64.b64decode(found["data"]))

    def _until(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the first message that is wanted; events before it are kept."""
        deadline = time.monotonic() + ANSWER_WITHIN_S
        while True:
            message = self._message(deadline)
            if "method" in message:
                self.events.append(message)
            if is_it(message):
                return message

    def _message(self, deadline: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while b"\0" not in self._read:
            left_s = deadline - time.monotonic()
            ready, _, _ = select.select([pipe], [], [], max(left_s, 0.0))
            assert ready, "the browser does not answer"
            chunk = os.read(pipe, 1 << 16)
            assert chunk, "the browser has left"
            self._read += chunk
        text, _, self._read = self._read.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message
