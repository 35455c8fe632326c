# SPDX-License-Identifier: MIT
"""What a request costs that `kgb-agent -m llm` sends, beside the same requests sent by OpenAI's Python client and by curl.

usage: compare_sdk.py BUILD [REPEATS] [REQUESTS] [EVENTS]      default: 5 repeats of 1,000 requests, 200 events an answer

Run it with the interpreter of .deps/inference (deps/inference.txt), on a quiet machine. All send the same body to one fast server
(serve_answers), 64 at a time, and read the stream. They take turns. kgb-agent also checks its installation, counts tokens, and keeps
a journal and the record of each exchange. The table has medians (lowest to highest); the server's share is its CPU time of all.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AT_A_TIME = 64
KEY = "key-0123456789"


def of_sdk(url, requests, body):
    """In a process of its own."""
    import openai

    async def one(client, turns, request):
        async with turns:
            text = ""
            async for chunk in await client.chat.completions.create(**request):
                for choice in chunk.choices:
                    text += choice.delta.content or ""
            return len(text)

    async def every():
        client = openai.AsyncOpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0)
        turns = asyncio.Semaphore(AT_A_TIME)
        lengths = await asyncio.gather(*(one(client, turns, body) for _ in range(requests)))
        assert len(set(lengths)) == 1 and lengths[0] > 0, set(lengths)

    asyncio.run(every())


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(command, env, server):
    """Wall and CPU seconds, and CPU seconds of the server meanwhile."""
    before, start = cpu_seconds(server), time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, env={**os.environ, **env}, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        out.seek(0)
        text = out.read().decode(errors="replace")
    return status, text, (wall, usage.ru_utime + usage.ru_stime, cpu_seconds(server) - before)


def body_of(run):
    """The body of kgb-agent's first request."""
    recorded = json.loads(next(run.glob("attempts/*/001/traffic/0001.request.json")).read_text())
    return recorded.get("body", recorded)


def spread(values, digits=2):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main():
    build = Path(sys.argv[1])
    repeats, requests, events = (int(x) for x in [*sys.argv[2:], *("5", "1000", "200")[len(sys.argv) - 2 :]])
    server = subprocess.Popen([build / "tests/bench/serve_answers", str(events)], stdout=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url + "/v1"}
    table = {"curl": [], "openai": [], "kgb-agent": []}
    print(f"machine {os.uname().sysname} {os.uname().release}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f},",
          time.strftime("%F %H:%M UTC", time.gmtime()))
    print("command", *sys.argv)
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(repeats):
            runs = Path(folder) / str(repeat)
            agent = [build / "bin/kgb-agent", "silu", "-m", "llm", "--server-type", "openai", "--model-name", "m", "--samples",
                     str(requests), "--concurrency", str(AT_A_TIME), "--skip-verify", "--runs-dir", runs, "--json"]
            status, text, row = measure(agent, env, server.pid)
            answered = f'"answered": {requests}' in text or f'"answered":{requests}' in text
            assert os.waitstatus_to_exitcode(status) == 1 and answered, text[-2000:]
            table["kgb-agent"].append(row)
            body = body_of(next(runs.iterdir()))
            (Path(folder) / "body").write_text(json.dumps(body))
            sdk = [sys.executable, __file__, "--sdk", url, str(requests), Path(folder) / "body"]
            curl = ["curl", "-s", "-S", "-Z", "--parallel-max", str(AT_A_TIME), "-H", "Content-Type: application/json", "-d",
                    f"@{folder}/body", f"{url}/v1/chat/completions?[1-{requests}]"]
            for name, command in (("openai", sdk), ("curl", curl)):
                status, text, row = measure(command, env, server.pid)
                assert status == 0 and (name != "curl" or text.count("[DONE]") == requests), text[-2000:]
                table[name].append(row)
    server.kill()
    print(f"{requests} requests of {len(json.dumps(body)):,} bytes, {AT_A_TIME} at a time, answers of {events} events, {repeats} repeats")
    for name, rows in table.items():
        wall, cpu, served = zip(*rows, strict=True)
        print(f"{name:10} wall {spread(wall)} s   CPU {spread(cpu)} s   requests/s {spread([requests / w for w in wall], 0)}   "
              f"CPU a request {spread([1000 * c / requests for c in cpu])} ms   "
              f"server's CPU {spread(served)} s, {100 * sum(served) / (sum(served) + sum(cpu)):.0f} % of all")


if sys.argv[1:2] == ["--sdk"]:
    of_sdk(sys.argv[2], int(sys.argv[3]), json.loads(Path(sys.argv[4]).read_text()))
else:
    main()
