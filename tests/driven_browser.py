"""Debian's Chromium, driven through its DevTools: opens pages, presses keys, clicks, and takes pictures."""

import base64
import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.request import urlopen

from html_page import CHROMIUM
from websockets.sync.client import ClientConnection, connect

PATIENCE = 60
KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "u": 85}


class Tab:
    """One tab of a browser."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._sent = 0
        self.console: list[str] = []
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    @classmethod
    @contextmanager
    def opened(cls, profile: Path) -> Iterator[Self]:
        assert CHROMIUM
        command = [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--window-size=1200,900",
            f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank",
        ]  # fmt: skip
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as browser:
            try:
                assert browser.stderr
                port = next(found[1] for text in browser.stderr if (found := re.search(r"127\.0\.0\.1:(\d+)/", text)))
                with urlopen(f"http://127.0.0.1:{port}/json", timeout=PATIENCE) as answer:
                    address = next(each for each in json.load(answer) if each["type"] == "page")["webSocketDebuggerUrl"]
                with connect(address, max_size=None) as socket:
                    yield cls(socket)
            finally:
                browser.terminate()

    def send(self, method: str, **values: Any) -> Any:
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": values}))
        while True:
            told = json.loads(self._socket.recv(timeout=PATIENCE))
            if told.get("id") == self._sent:
                assert "error" not in told, told
                return told["result"]
            if told.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
                self.console.append(json.dumps(told["params"]))

    def run(self, script: str) -> Any:
        """The value of a script; it is called again while the page changes."""
        until = time.monotonic() + PATIENCE
        while True:
            told = self.send("Runtime.evaluate", expression=script, returnByValue=True)
            if "exceptionDetails" not in told or time.monotonic() > until:
                assert "exceptionDetails" not in told, told
                return told["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until the script is true."""
        until = time.monotonic() + PATIENCE
        while not self.run(condition):
            assert time.monotonic() < until, condition
            time.sleep(0.05)

    def go(self, address: str, until: str = "document.readyState == 'complete'") -> None:
        self.send("Page.navigate", url=address)
        self.wait(until)

    def press(self, key: str) -> None:
        code = {"key": key, "windowsVirtualKeyCode": KEYS[key]}
        self.send("Input.dispatchKeyEvent", type="keyDown", **code)
        self.send("Input.dispatchKeyEvent", type="keyUp", **code)

    def window(self, width: int, *, dark: bool = False) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def picture(self, path: Path) -> None:
        told = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(told["data"]))

    @property
    def laid_out(self) -> int:
        """The width that the page takes."""
        return int(self.run("document.documentElement.scrollWidth"))
