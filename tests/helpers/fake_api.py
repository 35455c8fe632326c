# SPDX-License-Identifier: MIT
"""A model's API on 127.0.0.1 that behaves badly on demand: http://127.0.0.1:PORT/BEHAVIOUR[.BEHAVIOUR...][/NAME]/v1/...

usage: fake_api.py PORT_FILE      writes its port to that file, serves until it is killed

The first call of an address gets the first behaviour, the second call the second, and all later calls the last. The file
PORT_FILE.BEHAVIOUR[.BEHAVIOUR...][-NAME] has a line for each call: the behaviour and a hash of the body. Behaviours: a status
(401, 404, 429, 529), 429_later (in an hour), 429_soon (in a second), 429_date (in two, as a date), silent (reads the request and
sends no answer), gone (closes the connection instead), slow (ok after two seconds), jitter (ok after up to 40 ms), no_FIELD
(refuses requests with that field, else ok), or of a stream: ok, malformed, cut (after the counts), stall (before the counts; the
connection stays), no_stop (ends without its closing event), error_event, long (10 MB of text), no_usage, null_usage, same_id (of
all answers); or in one piece: half_json, html, empty, error_200 and two_choices (the first one last) under status 200, html_403
and html_502. Protocols: messages, chat, responses. Chat Completions with n choices: all others answer with one; n_all interleaves
all, the last index first, n_fewer leaves out two, n_same has one index for all, n_cut cuts the connection after the first choice.

Batches: fake_batches.py.

A GET is a question for a model's description and does not count. It gets the status N at an address get_N; get_unknown has no such
model; get_silent sends no answer; all others do not know the question (404).
"""

import contextlib
import email.utils
import hashlib
import http.server
import json
import os
import random
import sys
import threading
import time

import fake_batches


def sse(name, **data):
    head = f"event: {name}\n" if name else ""
    return (head + "data: " + json.dumps(data) + "\n\n").encode()


def named(name, **data):
    return sse(name, type=name, **data)


def text_of(behaviour):
    return "hello" * 2_000_000 if behaviour == "long" else "hello"


def id_of(behaviour):
    return "same" if behaviour == "same_id" else str(time.time_ns())


def with_usage(behaviour, usage):
    """The member `usage` of a document."""
    return {} if behaviour == "no_usage" else {"usage": None if behaviour == "null_usage" else usage}


def messages(behaviour, _n):
    usage = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
    message = {"id": f"msg_{id_of(behaviour)}", "type": "message", "role": "assistant", "model": "m", "content": [],
               "stop_reason": None, "stop_sequence": None, **with_usage(behaviour, usage)}
    yield named("message_start", message=message)
    yield named("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield named("content_block_delta", index=0, delta={"type": "text_delta", "text": text_of(behaviour)})
    if behaviour == "malformed":
        yield b'event: content_block_delta\ndata: {"type":"content_blo\n\n'
    if behaviour == "error_event":
        yield named("error", error={"type": "overloaded_error", "message": "Overloaded"})
    if behaviour in ("cut", "stall", "no_stop", "error_event"):
        return
    yield named("content_block_stop", index=0)
    yield named("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, **with_usage(behaviour, {"output_tokens": 5}))
    yield named("message_stop")


def choices(behaviour, n):
    base = {"id": f"c{time.time_ns()}", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    there = max(1, n - 2) if behaviour == "n_fewer" else n
    indices = [0 if behaviour == "n_same" else i for i in reversed(range(there))]
    for piece in ("he", "llo"):
        for i in indices:
            yield sse("", **base, choices=[{"index": i, "delta": {"content": piece + (f" {i}" if piece == "llo" else "")}, "finish_reason": None}])
            if behaviour == "n_same" and piece == "llo":
                yield sse("", **base, choices=[{"index": i, "delta": {}, "finish_reason": "stop"}])
    for i in indices:
        yield sse("", **base, choices=[{"index": i, "delta": {}, "finish_reason": "stop"}])
        if behaviour == "n_cut":
            break
    yield sse("", **base, choices=[], usage={"prompt_tokens": 100, "completion_tokens": 5 * n, "total_tokens": 100 + 5 * n})
    if behaviour != "n_cut":
        yield b"data: [DONE]\n\n"


def chat(behaviour, n=1):
    if behaviour.startswith("n_") and behaviour != "n_one":
        yield from choices(behaviour, n)
        return
    base = {"id": f"c{id_of(behaviour)}", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    yield sse("", **base, choices=[{"index": 0, "delta": {"role": "assistant", "content": text_of(behaviour)}, "finish_reason": None}])
    if behaviour == "malformed":
        yield b'data: {"id":"c1","choi\n\n'
    if behaviour == "error_event":
        yield sse("", error={"message": "Overloaded", "type": "server_error", "code": None, "param": None})
    if behaviour == "cut":
        yield sse("", **base, choices=[], usage=usage)
    if behaviour in ("cut", "stall", "no_stop", "error_event"):
        return
    yield sse("", **base, choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
    yield sse("", **base, choices=[], **with_usage(behaviour, usage))
    yield b"data: [DONE]\n\n"


def responses(behaviour, _n):
    base = {"id": f"r{id_of(behaviour)}", "object": "response", "model": "m", "output": []}
    item = {"id": "m1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text_of(behaviour), "annotations": []}]}
    usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 105}
    yield named("response.created", response={**base, "status": "in_progress"})
    yield named("response.output_item.added", output_index=0, item={**item, "content": []})
    yield named("response.output_text.delta", output_index=0, item_id="m1", content_index=0, delta="hello")
    if behaviour == "malformed":
        yield b'event: response.output_item.done\ndata: {"type":"response.out\n\n'
    if behaviour == "error_event":
        error = {"code": "server_is_overloaded", "message": "Overloaded"}
        yield named("response.failed", response={**base, "status": "failed", "error": error, "usage": usage})
    if behaviour in ("cut", "stall", "no_stop", "error_event"):
        return
    yield named("response.output_item.done", output_index=0, item=item)
    yield named("response.completed", response={**base, "status": "completed", "output": [item], **with_usage(behaviour, usage)})


def choice(index, text):
    return {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}


HTML = "<html><body>Sign in to the network</body></html>"
CHOICES = {"id": "c1", "object": "chat.completion", "model": "m", "choices": [choice(1, "no"), choice(0, "hello")],
           "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}}
WHOLE = {
    "half_json": (200, "application/json", '{"choices": [{"index": 0, "message": {"content": "hel'),
    "html": (200, "text/html", HTML),
    "html_403": (403, "text/html", HTML),
    "html_502": (502, "text/html", HTML),
    "empty": (200, "application/json", ""),
    "two_choices": (200, "application/json", json.dumps(CHOICES)),
    "error_200": (200, "application/json", '{"type": "error", "error": {"type": "api_error", "message": "no room"}}'),
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def behave(self, body):
        """The next behaviour of the address."""
        days = self.path.split("/v1/")[0].strip("/").replace("/", "-")
        behaviours = days.split("-")[0].split(".")
        with self.server.lock:
            n = self.server.calls[days] = self.server.calls.get(days, 0) + 1
            behaviour = behaviours[min(n, len(behaviours)) - 1]
            with open("%s.%s" % (sys.argv[1], days), "a", encoding="ascii") as file:
                file.write(f"{behaviour} {hashlib.sha256(body).hexdigest()[:16]}\n")
        return behaviour

    def wait_for_end(self):
        """Waits until the other side closes the connection."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.recv(1)

    def do_GET(self):
        if fake_batches.is_batch_path(self.path):
            fake_batches.get(self)
            return
        day, _, model = self.path[1:].partition("/v1/models")
        if day == "get_silent":
            self.wait_for_end()
        elif day == "get_unknown":
            self.fail(404, kind="not_found_error", message=f"model: {model[1:]}")
        elif day == "get_403_scope":
            self.fail(403, message="Missing scopes: api.model.read")
        else:
            self.fail(int(day[4:]) if day.startswith("get_") else 404, kind="not_found_error", message=f"no {self.path}")

    def fail(self, status, *headers, kind="error", message=None):
        error = {"message": message or f"status {status}", "type": kind, "code": None, "param": None}
        self.send_whole(status, "application/json", json.dumps({"error": error}), *headers)

    def send_whole(self, status, content_type, text, *headers):
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if fake_batches.is_batch_path(self.path):
            fake_batches.post(self, body)
            return
        behaviour = self.behave(body)
        if behaviour.isdigit():
            self.fail(int(behaviour))
            return
        if behaviour == "429_later":
            self.fail(429, ("retry-after", "3600"))
            return
        if behaviour == "429_soon":
            self.fail(429, ("retry-after", "1"))
            return
        if behaviour == "429_date":
            self.fail(429, ("retry-after", email.utils.formatdate(time.time() + 2, usegmt=True)))
            return
        if behaviour in WHOLE:
            self.send_whole(*WHOLE[behaviour])
            return
        if behaviour.startswith("no_") and behaviour[3:] in json.loads(body):
            self.fail(400, message=f"Unsupported parameter: '{behaviour[3:]}' is not supported with this model.")
            return
        if behaviour == "slow":
            time.sleep(2)
        if behaviour == "jitter":
            time.sleep(random.random() * 0.04)
        if behaviour == "silent":
            self.wait_for_end()
            return
        if behaviour == "gone":
            self.close_connection = True
            return
        path = self.path.split("?")[0]
        stream = messages if path.endswith("/messages") else chat if path.endswith("/completions") else responses
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in stream(behaviour, json.loads(body).get("n") or 1):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
        if behaviour in ("cut", "n_cut"):
            time.sleep(0.1)
            self.close_connection = True
            return
        if behaviour == "stall":
            self.wait_for_end()
            return
        self.wfile.write(b"0\r\n\r\n")


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # clients that end are part of the tests
    server.lock = threading.Lock()
    server.calls = {}
    with open(sys.argv[1] + ".new", "w", encoding="ascii") as file:
        file.write(str(server.server_address[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()


main()
