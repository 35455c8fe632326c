# SPDX-License-Identifier: MIT
"""The batch interfaces of OpenAI and Anthropic for fake_api.py, one memory for each address.

Behaviours, of the address: batch (over after two polls), batch_expired (half of the requests were answered), batch_half_failed
(half have errors), batch_missing (the last result is missing), batch_repeated (the first result comes twice), batch_half_line (the
first fetch ends within a line), batch_503 (makes the batch, and answers with 503), batch_none (answers the first with 503 and
makes none), batch_gone (makes the batch and closes the connection), batch_401, batch_no_temperature (each result is an error on
that field), batch_hold (not over while there is a file PORT_FILE.hold).
stall_upload, stall_create, stall_made, stall_poll, stall_results: the first such call gets no answer, made after the batch is
there, results after the first line; later ones are good.

The file PORT_FILE.ADDRESS has a line for each event: upload, batch N (made, of N requests), poll, list, results, stalled.
"""

import json
import sys
import threading
import time

lock = threading.Lock()
memories = {}


class Memory:
    def __init__(self, days):
        self.days, self.behaviour = days, days.split("-")[0]
        self.files, self.batches, self.counts = {}, [], {}

    def note(self, event):
        with open("%s.%s" % (sys.argv[1], self.days), "a", encoding="ascii") as file:
            file.write(event + "\n")
        word = event.split()[0]
        self.counts[word] = self.counts.get(word, 0) + 1
        return self.counts[word]

    def is_first(self, event, behaviour):
        return self.behaviour == behaviour and self.counts.get(event, 0) == 1


def memory_of(path):
    days = path.split("/v1/")[0].strip("/").replace("/", "-")
    with lock:
        return memories.setdefault(days, Memory(days))


def is_batch_path(path):
    rest = "/v1/" + path.split("?")[0].partition("/v1/")[2]
    return rest.startswith(("/v1/files", "/v1/batches", "/v1/messages/batches"))


def answer_of(request, anthropic, number, twice=False):
    text = f"hello {number}" + (" again" if twice else "")
    name = f"{request['custom_id']}{'-twice' if twice else ''}"
    if anthropic:
        usage = {"input_tokens": 100, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                 "service_tier": "batch"}
        return {"id": "msg_" + name, "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": text}], "usage": usage}
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    if "input" in request["body"]:
        item = {"type": "message", "content": [{"type": "output_text", "text": text}]}
        return {"id": "r_" + name, "object": "response", "model": "m", "status": "completed", "error": None, "output": [item],
                "usage": {"input_tokens": 100, "output_tokens": 5}}
    return {"id": "c_" + name, "object": "chat.completion", "model": "m", "usage": usage,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


class Batch:
    def __init__(self, memory, requests, anthropic, metadata):
        self.memory, self.requests, self.anthropic, self.metadata = memory, requests, anthropic, metadata
        self.id = f"{'msgbatch' if anthropic else 'batch'}_{len(memory.batches)}_{time.time_ns()}"
        self.polls, self.created = 0, time.time()
        memory.batches.append(self)
        memory.note(f"batch {len(requests)}")

    def is_over(self):
        if self.memory.behaviour == "batch_hold":
            try:
                open(sys.argv[1] + ".hold", encoding="ascii").close()
                return False
            except OSError:
                return True
        return self.polls >= 2

    def state(self):
        over, expired = self.is_over(), self.memory.behaviour == "batch_expired"
        n = len(self.requests)
        if self.anthropic:
            counts = {"processing": 0 if over else n, "succeeded": n if over else 0, "errored": 0, "canceled": 0, "expired": 0}
            return {"id": self.id, "type": "message_batch", "processing_status": "ended" if over else "in_progress",
                    "request_counts": counts, "created_at": time.strftime("%Y-%m-%dT%H:%M:%S.123456Z", time.gmtime(self.created)),
                    "results_url": "http://elsewhere.invalid/" if over else None}
        status = "in_progress" if not over else "expired" if expired else "completed"
        lines = over and self.lines()
        return {"id": self.id, "object": "batch", "status": status, "metadata": self.metadata,
                "endpoint": self.requests[0]["url"], "input_file_id": "file-0", "completion_window": "24h", "created_at": int(self.created),
                "request_counts": {"total": n, "completed": n if over else 0, "failed": 0}, "errors": None,
                "output_file_id": f"file-out-{self.id}" if lines and lines[0] else None,
                "error_file_id": f"file-err-{self.id}" if lines and lines[1] else None}

    def line(self, request, number, error=None, twice=False, status=400):
        head = {"custom_id": request["custom_id"]}
        if self.anthropic:
            if error == "expired":
                return {**head, "result": {"type": "expired"}}
            if error:
                kind = "api_error" if status >= 500 else "invalid_request_error"
                return {**head, "result": {"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": error}}}}
            return {**head, "result": {"type": "succeeded", "message": answer_of(request, True, number, twice)}}
        if error == "expired":
            return {**head, "id": "b1", "response": None, "error": {"code": "batch_expired", "message": "This request could not be executed"}}
        if error:
            return {**head, "id": "b1", "response": {"status_code": status, "body": {"error": {"message": error}}}, "error": None}
        return {**head, "id": "b1", "response": {"status_code": 200, "body": answer_of(request, False, number, twice)}, "error": None}

    def lines(self):
        """Those with answers, in another order than the requests, and those with errors."""
        good, bad = [], []
        behaviour, half = self.memory.behaviour, len(self.requests) // 2
        for i, request in reversed(list(enumerate(self.requests))):
            number = request["custom_id"].rpartition("-")[2]
            body = request.get("body") or request["params"]
            if behaviour == "batch_no_temperature" and "temperature" in body:
                bad.append(self.line(request, number, "Unsupported parameter: 'temperature' is not supported with this model."))
            elif behaviour == "batch_half_failed" and len(self.memory.batches) == 1 and i < half:
                bad.append(self.line(request, number, "The server had an error", status=500))
            elif behaviour == "batch_expired" and len(self.memory.batches) == 1 and i < half:
                bad.append(self.line(request, number, "expired"))
            elif behaviour == "batch_missing" and len(self.memory.batches) == 1 and i == 0:
                continue
            else:
                good.append(self.line(request, number))
        if behaviour == "batch_repeated" and good:
            good.append(self.line(self.requests[0], "1", twice=True))
            good.insert(0, {"custom_id": "not-ours-1", "response": None, "error": None})
        return good, bad


def read_upload(body):
    """The JSONL file in a multipart form."""
    part = body.split(b"\r\n\r\n", 2)[2]
    return [json.loads(line) for line in part.rsplit(b"\r\n--", 1)[0].decode().splitlines() if line]


def stall(handler, memory):
    memory.note("stalled")
    handler.wait_for_end()


def send(handler, document):
    handler.send_whole(200, "application/json", json.dumps(document))


def make(handler, memory, body):
    anthropic = "/v1/messages/" in handler.path
    asked = json.loads(body)
    memory.note("create")
    if memory.is_first("create", "stall_create"):
        return stall(handler, memory)
    if memory.is_first("create", "batch_none"):
        return handler.fail(503)
    requests = asked["requests"] if anthropic else memory.files[asked["input_file_id"]]
    batch = Batch(memory, requests, anthropic, asked.get("metadata"))
    if memory.is_first("create", "stall_made"):
        return stall(handler, memory)
    if memory.is_first("create", "batch_503"):
        return handler.fail(503)
    if memory.is_first("create", "batch_gone"):
        handler.close_connection = True
        return None
    return send(handler, batch.state())


def post(handler, body):
    memory = memory_of(handler.path)
    if memory.behaviour == "batch_401":
        memory.note("refused")
        return handler.fail(401)
    if handler.path.endswith("/v1/files"):
        memory.note("upload")
        if memory.is_first("upload", "stall_upload"):
            return stall(handler, memory)
        name = f"file-{len(memory.files)}"
        memory.files[name] = read_upload(body)
        return send(handler, {"id": name, "object": "file", "purpose": "batch", "bytes": len(body), "created_at": int(time.time()),
                              "filename": "requests.jsonl", "status": "processed"})
    return make(handler, memory, body)


def results(handler, memory, batch, lines):
    memory.note("results")
    text = "".join(json.dumps(line) + "\n" for line in lines)
    if memory.is_first("results", "batch_half_line"):
        text = text[:-40]
    if memory.is_first("results", "stall_results"):
        handler.send_response(200)
        handler.send_header("content-length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text[:text.index("\n") + 1].encode())
        handler.wfile.flush()
        return stall(handler, memory)
    return handler.send_whole(200, "application/x-jsonl", text)


def get(handler):
    memory = memory_of(handler.path)
    parts = handler.path.split("?")[0].partition("/v1/")[2].split("/")
    found = [b for b in memory.batches if any(part.endswith(b.id) for part in parts)]
    if parts in (["batches"], ["messages", "batches"]):
        memory.note("list")
        return send(handler, {"data": [b.state() for b in reversed(memory.batches)], "has_more": False})
    if not found:
        return handler.fail(404)
    batch = found[0]
    if parts[-1] in ("results", "content"):
        good, bad = batch.lines()
        chosen = good + bad if batch.anthropic else bad if "-err-" in handler.path else good
        return results(handler, memory, batch, chosen)
    memory.note("poll")
    if memory.is_first("poll", "stall_poll"):
        return stall(handler, memory)
    batch.polls += 1
    return send(handler, batch.state())
