# SPDX-License-Identifier: MIT
"""A headless Chromium, driven by its DevTools protocol over a pipe, with only the standard library.

    with browser.Browser(folder) as tab:
        tab.open("file:///...")
        tab.run("document.title")
"""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import time

FLAGS = ("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-extensions",
         "--disable-component-update", "--disable-sync", "--mute-audio", "--hide-scrollbars", "--force-color-profile=srgb",
         "--host-resolver-rules=MAP * ~NOTFOUND")


class Browser:
    """One browser with one tab. `console` has what the pages said there, and errors; `requests` the addresses asked for."""

    def __init__(self, folder, program="chromium"):
        self.path = shutil.which(program)
        to_browser, self.write_fd = os.pipe()
        self.read_fd, from_browser = os.pipe()

        def give_descriptors():
            # The browser reads commands from descriptor 3 and writes answers to 4.
            high = [os.dup2(fd, 200 + i) for i, fd in enumerate((to_browser, from_browser))]
            for number, fd in zip((3, 4), high):
                os.dup2(fd, number)
                os.set_inheritable(number, True)
                os.close(fd)

        self.log = open(pathlib.Path(folder, "chromium.log"), "wb")
        self.process = subprocess.Popen((self.path, *FLAGS, f"--user-data-dir={folder}/profile", "about:blank"), stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, close_fds=False, preexec_fn=give_descriptors)
        os.close(to_browser)
        os.close(from_browser)
        self.bytes, self.number, self.session = b"", 0, None
        self.console, self.requests = [], []
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.command("Browser.close")
            self.process.wait(20)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.log.close()

    def message(self, deadline):
        """The next message of the browser."""
        while b"\0" not in self.bytes:
            if not select.select([self.read_fd], [], [], max(0, deadline - time.monotonic()))[0]:
                raise RuntimeError("the browser does not answer")
            more = os.read(self.read_fd, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self.bytes += more
        text, self.bytes = self.bytes.split(b"\0", 1)
        return json.loads(text)

    def take_event(self, event):
        """Keep what a test may ask for."""
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.console.append("dialog: " + params["message"])

    def command(self, method, timeout=60, **params):
        """Give a command and return its result."""
        self.number += 1
        asked = {"id": self.number, "method": method, "params": params}
        if self.session:
            asked["sessionId"] = self.session
        os.write(self.write_fd, json.dumps(asked).encode() + b"\0")
        deadline = time.monotonic() + timeout
        while True:
            answer = self.message(deadline)
            if answer.get("id") != self.number:
                self.take_event(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def open(self, url):
        """Load a page and wait until its scripts have run. Returns the seconds from the start to the end of its `load` event."""
        self.command("Page.navigate", url=url)
        deadline = time.monotonic() + 60
        while not self.run(f"document.readyState === 'complete' && location.href.startsWith({json.dumps(url.split('#')[0])})"):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{url} does not load")
            time.sleep(0.02)
        return self.run("(() => { const t = performance.getEntriesByType('navigation')[0]; return (t.loadEventEnd || t.domComplete) / 1000; })()")

    def run(self, expression):
        """The value of an expression of JavaScript in the page; a promise is waited for."""
        result = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']['exception'].get('description')}")
        return result["result"].get("value")

    def size(self, width, height):
        """Give the page so many pixels."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        """The colour scheme that the user's system asks for: "light" or "dark"."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def click(self, selector):
        """Click in the middle of an element, with the mouse."""
        box = self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
                       " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.command("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def key(self, key, code=0):
        """Press a key, such as "Enter"."""
        text = {"Enter": "\r"}.get(key)
        self.command("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **({"text": text} if text else {}))
        self.command("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def picture(self, x, y, width, height, scale=1):
        """A PNG of a part of the page."""
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": scale}
        return base64.b64decode(self.command("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"])

    def screenshot(self, path):
        """Write a PNG of the whole page."""
        size = self.command("Page.getLayoutMetrics")["cssContentSize"]
        pathlib.Path(path).write_bytes(self.picture(0, 0, size["width"], size["height"]))
