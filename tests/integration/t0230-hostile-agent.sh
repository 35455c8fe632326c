#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='a hostile program as the coding CLI: its attacks fail and harm only its own attempt'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch jq python3

# shellcheck source=tests/integration/fake_cli.sh
. "$KGB_TEST_SOURCE_DIR/tests/integration/fake_cli.sh"

# Runs without judge and table: for attacks on the sandbox alone, a third of a second each.
run_bare() {
	rm -rf runs
	KGB_CLAUDE_BIN=$TRASH/cli kgb-agent add -m naive_cc --skip-verify --json "$@" >out.json 2>log
}
run_judged() {
	rm -rf runs
	KGB_CLAUDE_BIN=$TRASH/cli kgb-agent add -m normal_cc --json "$@" >out.json 2>log
}

# ---- one run, many attacks on the walls ----

cat >walls.py <<\EOF
import ctypes, fcntl, os, resource, socket, stat, time
libc = ctypes.CDLL(None, use_errno=True)
def call(f, *a):
    if f(*a) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def attack(name, f):
    try:
        print(name + ": SUCCEEDED", repr(f())[:100])
    except (OSError, ValueError) as e:
        print(name + ": refused", e)
def find(name):
    for top in ("/ws", "/home", "/tmp", "/opt", "/run", "/etc", "/dev/shm", "/proc/1/cwd", "/proc/1/root/ws"):
        for folder, _, files in os.walk(top):
            if name in files:
                return os.path.join(folder, name)
    raise OSError("nowhere")
def write(path):
    with open(path, "r+b", buffering=0) as f:
        f.write(b"x")
attack("journal", lambda: find("journal.jsonl"))
attack("spec", lambda: find("aten__add.yaml"))
attack("verdicts", lambda: os.listdir("/ws/../verdicts"))
attack("history", lambda: os.listdir("/ws/../git"))
attack("prompt", lambda: write("/proc/1/fd/0"))
attack("cli", lambda: write("/opt/kgb/cli/claude"))
attack("tools", lambda: os.rename("/opt/kgb/bin", "/opt/kgb/bin2"))
attack("system", lambda: open("/usr/lib/kgb-was-here", "w"))
attack("root", lambda: open("/kgb-was-here", "w"))
attack("etc", lambda: write("/etc/passwd"))
attack("core_pattern", lambda: open("/proc/sys/kernel/core_pattern", "w"))
attack("ptrace", lambda: call(libc.ptrace, 16, 1, 0, 0))
attack("user_namespace", lambda: call(libc.unshare, 0x10000000))
attack("mount", lambda: call(libc.mount, b"none", b"/tmp", b"tmpfs", 0, None))
attack("setns", lambda: call(libc.setns, os.open("/proc/1/ns/net", os.O_RDONLY), 0))
attack("chroot", lambda: os.chroot("/tmp"))
attack("device", lambda: os.mknod("/ws/disk", stat.S_IFBLK | 0o600, os.makedev(8, 0)))
attack("clock", lambda: time.clock_settime(time.CLOCK_REALTIME, 0))
attack("keyring", lambda: call(libc.syscall, 250, 0, -3, 0, 0, 0))
attack("io_uring", lambda: call(libc.syscall, 425, 1, 0))
attack("raw_socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attack("vsock", lambda: socket.socket(40, socket.SOCK_STREAM, 0))
attack("network", lambda: socket.create_connection(("192.0.2.1", 80), 2))
attack("root_user", lambda: os.setuid(0))
attack("priority", lambda: os.nice(-5))
attack("raise_limit", lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, 1 << 40)))
print("oom_score_adj", open("/proc/self/oom_score_adj").read())
print("capabilities", [l.split()[1] for l in open("/proc/self/status") if l.startswith("CapEff")])
print("descriptors", sorted(os.listdir("/proc/1/fd"), key=int))
EOF
test_expect_success 'one run with all attacks on the walls ends as any other' '
	python_cli <walls.py && test_expect_code 1 run_bare && attempt ".end == \"agent.ok\"" &&
	cp runs/*/attempts/aten__add/001/ws/seen seen && test_no_grep Traceback seen
'
for name in journal spec verdicts history prompt cli tools system root etc core_pattern ptrace user_namespace mount setns \
	chroot device clock keyring io_uring raw_socket vsock network root_user priority raise_limit; do
	test_expect_success "attack on $name: refused" "refused $name"
done
test_expect_success 'an agent has no capability, and the kernel ends it first when memory runs out' '
	test_grep "^capabilities \[.0000000000000000.\]" seen && test_grep "^oom_score_adj 1000" seen
'
test_expect_success 'the prompt that was recorded is the prompt that was sent' '
	want=$(jq -r "select(.type == \"attempt_started\") | .. | .prompt_sha256? // empty" runs/*/journal.jsonl | head -n 1) &&
	test -n "$want" && test_equal "$want" "$(sha256sum runs/*/attempts/aten__add/001/prompt.md | cut -d" " -f1)"
'

# ---- kernel.py ----

test_expect_success 'kernel.py under a lease: neither the attempt nor the run is held up' '
	python_cli <<-\EOF &&
	import fcntl, signal, time
	signal.signal(signal.SIGIO, signal.SIG_IGN)
	f = open("/ws/kernel.py", "w")
	f.write("x = 1\n")
	f.flush()
	fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)
	print("leased", flush=True)
	time.sleep(0.5)
	EOF
	run_bare && test_grep leased runs/*/attempts/aten__add/001/ws/seen &&
	attempt ".end == \"agent.ok\" and .kernel_source == \"file\""
'
test_expect_success 'kernel.py is a socket: refused; a device of no kind cannot even be made' '
	echo "import socket; socket.socket(socket.AF_UNIX).bind(\"/ws/kernel.py\")" | python_cli &&
	test_expect_code 1 run_bare && operator ".error_code == \"agent.kernel_not_regular\"" &&
	echo "import os, stat; os.mknod(\"/ws/kernel.py\", stat.S_IFCHR | 0o600, 0)" | python_cli &&
	test_expect_code 1 run_bare && operator ".error_code | test(\"^agent.(no_kernel|kernel_not_regular)$\")"
'
test_expect_success 'kernel.py that changes its kind all the time: whatever is taken, the run ends in order' '
	python_cli <<-\EOF &&
	import os, time
	end = time.time() + 1.5
	i = 0
	while time.time() < end:
	    i += 1
	    if i % 3 == 0:
	        os.symlink("/etc/passwd", "/ws/next")
	    elif i % 3 == 1:
	        open("/ws/next", "w").write("x" * (i * 100 % 300000))
	    else:
	        os.mkfifo("/ws/next")
	    os.rename("/ws/next", "/ws/kernel.py")
	os.rename("/ws/kernel.py", "/ws/gone")
	EOF
	test_expect_code 1 run_bare && operator ".error_code == \"agent.no_kernel\""
'
# is_kept N: whether the history holds N commits.
is_kept() { [ "$(git --git-dir runs/*/attempts/aten__add/001/git rev-list --count main 2>/dev/null)" = "$1" ]; }
test_expect_success 'a change of kernel.py that hides behind its old time is kept in the history all the same' '
	python_cli <<-\EOF &&
	import os, time
	with open("/ws/new", "w") as f:
	    f.write("x = 1")
	os.rename("/ws/new", "/ws/kernel.py")
	for text in ("x = 2", "x = 3"):
	    os.utime("/ws/kernel.py", (1, 1))
	    end = time.time() + 100
	    while not os.path.exists("/ws/go" + text[-1]) and time.time() < end:
	        time.sleep(0.05)
	    with open("/ws/kernel.py", "r+") as f:
	        f.write(text)
	os.utime("/ws/kernel.py", (1, 1))
	EOF
	rm -rf runs &&
	{ KGB_CLAUDE_BIN=$TRASH/cli kgb-agent add -m naive_cc --skip-verify --json >out.json 2>log & } && pid=$! &&
	for n in 2 3; do # wait until each version is in the history before the next one comes
		test_wait_for 100 is_kept $n && sleep 0.5 && touch "$(echo runs/*/attempts/aten__add/001/ws)/go$n" || return 1
	done &&
	wait $pid && is_kept 4
'
test_expect_success 'names that are long, deep, many and not UTF-8 in the workspace cause no error' '
	python_cli <<-\EOF &&
	import os
	os.chdir("/ws")
	open(b"\xff\xfe\n\x1b[31m" + b"n" * 200, "w").close()
	for i in range(3000):
	    open("f%d" % i, "w").close()
	for i in range(300):
	    os.mkdir("d" * 200)
	    os.chdir("d" * 200)
	EOF
	test_expect_code 1 run_bare && attempt ".end == \"agent.ok\"" && operator ".error_code == \"agent.no_kernel\"" &&
	test -e runs/*/attempts/aten__add/001/ws/f2999
'

# ---- output ----

test_expect_success 'a gigabyte on stdout: cut at the limit and reported' '
	printf "head -c 1000000000 /dev/zero\nresult done\n" | fake_cli &&
	test_expect_code 1 run_bare && attempt ".end == \"agent.killed\"" &&
	operator ".error | test(\"grew over the limit\")" && rm -rf runs
'
test_expect_success 'events faster than they can be read: the end is found, in time' '
	{
		echo "yes \"{\\\"type\\\":\\\"assistant\\\",\\\"message\\\":{\\\"content\\\":[]}}\" | head -n 4000000"
		echo "result done"
	} | fake_cli &&
	test_expect_code 1 timeout 1000 env KGB_CLAUDE_BIN="$TRASH/cli" kgb-agent add -m naive_cc --skip-verify --json >out.json 2>log &&
	attempt ".end == \"agent.ok\"" && rm -rf runs
'

# ---- the gateway ----

cat >http.py <<\EOF
import collections, os, socket, subprocess, threading, time
GATEWAY = ("127.0.0.1", 8123)
KEY = "Authorization: Bearer %s\r\n" % os.environ["KGB_TOKEN"]
def ask(head, body=b"", timeout=60):
    with socket.create_connection(GATEWAY, timeout=timeout) as s:
        s.sendall((head + "Host: k\r\nConnection: close\r\n\r\n").encode() + body)
        reply = b""
        while True:
            data = s.recv(65536)
            if not data:
                return reply.split(b"\r\n")[0].decode()
            reply += data
def show(name, *a):
    try:
        print(name + ":", ask(*a), flush=True)
    except OSError as e:
        print(name + ":", e, flush=True)
VERIFY = "POST /kgb/v1/verify HTTP/1.1\r\n"
show("no token", VERIFY + "Content-Length: 1\r\n", b"x")
show("false token", VERIFY + "Content-Length: 1\r\nx-api-key: " + "0" * 32 + "\r\n", b"x")
show("huge head", "GET / HTTP/1.1\r\nX: " + "a" * 1000000 + "\r\n")
show("huge path", "GET /" + "a" * 1000000 + " HTTP/1.1\r\n")
show("negative length", VERIFY + KEY + "Content-Length: -1\r\n")
show("endless length", VERIFY + KEY + "Content-Length: 99999999999999999999\r\n")
show("bad chunk", VERIFY + KEY + "Transfer-Encoding: chunked\r\n", b"zz\r\n\r\n")
show("large kernel", VERIFY + KEY + "Content-Length: 300000\r\n", b"x" * 300000)
show("deep json", "POST /v1/messages HTTP/1.1\r\n" + KEY + "Content-Length: 1000000\r\n", b"[" * 1000000)
show("elsewhere", "GET /../../etc/passwd HTTP/1.1\r\n" + KEY)
half = socket.create_connection(GATEWAY)
half.sendall((VERIFY + KEY + "Content-Length: 100\r\n\r\nabc").encode())
slow = [socket.create_connection(GATEWAY, timeout=30) for _ in range(255)]
waiter = socket.create_connection(GATEWAY, timeout=60)
waiter.sendall(b"HEAD / HTTP/1.1\r\nHost: k\r\n\r\n")
time.sleep(0.3)
slow.pop().close()
try:
    print("one leaves:", waiter.recv(100).split(b"\r\n")[0].decode(), flush=True)
except OSError as e:
    print("one leaves:", e, flush=True)
try:
    while len(slow) < 500:
        slow.append(socket.create_connection(GATEWAY, timeout=0.5))
        slow[-1].sendall(b"POST /kgb/v1/ver")
except OSError:
    print("crowd: kept out", flush=True)
for s in slow:
    s.close()
time.sleep(0.3)
show("after the crowd", "HEAD / HTTP/1.1\r\n")
codes = []
def check():
    codes.append(subprocess.run(["kgb-verify"], capture_output=True).returncode)
open("/ws/kernel.py", "w").write("x = 1\n")
threads = [threading.Thread(target=check) for _ in range(64)]
[t.start() for t in threads]
[t.join() for t in threads]
print("checks:", sorted(collections.Counter(codes).items()), flush=True)
subprocess.Popen(["kgb-verify"], start_new_session=True)
time.sleep(0.1)
EOF
test_expect_success 'bad requests of every kind, and a check that is still running at the end' '
	rm -f seen && python_cli <http.py && test_expect_code 1 run_judged &&
	attempt ".end == \"agent.ok\"" && operator ".error_code | test(\"^contract\")" &&
	cp runs/*/attempts/aten__add/001/ws/seen seen && test_no_grep Traceback seen
'
for pair in 'no token/401' 'false token/401' 'huge head/431' 'huge path/414' 'negative length/400' 'endless length/413' \
	'bad chunk/400' 'large kernel/413' 'deep json/400' 'elsewhere/404' 'one leaves/200' 'after the crowd/200'; do
	test_expect_success "gateway: ${pair%/*}: ${pair#*/}" "test_grep '^${pair%/*}: HTTP/1.1 ${pair#*/} ' seen"
done
test_expect_success 'of 64 checks at once each gets its verdict or an order to wait' '
	test_grep "^crowd: kept out" seen && test_grep -E "^checks: \[\(3, [0-9]+\)(, \(5, [0-9]+\))?\]" seen
'
cat >token.py <<\EOF
import os, socket, time
open("/ws/token.tmp", "w").write(os.environ["KGB_TOKEN"])
os.rename("/ws/token.tmp", "/ws/token")
end = time.time() + 100
while not os.path.exists("/ws/other") and time.time() < end:
    time.sleep(0.05)
with socket.create_connection(("127.0.0.1", 8123), timeout=60) as s:
    s.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: k\r\nConnection: close\r\nContent-Length: 2\r\nx-api-key: "
              + open("/ws/other", "rb").read() + b"\r\n\r\n{}")
    print(s.recv(100).split(b"\r\n")[0].decode())
EOF
test_expect_success 'two attempts at once: neither can use the token of the other, and no port is open outside' '
	sed -i "s/KGB_TOKEN/ANTHROPIC_API_KEY/" token.py && python_cli <token.py && rm -rf runs &&
	if python3 -c "import socket; socket.create_connection((\"127.0.0.1\", 8123), 2)" 2>err; then touch taken; fi && # by somebody else
	{
		KGB_CLAUDE_BIN=$TRASH/cli kgb-agent add,silu -m naive_cc --skip-verify --device-count 2 >out 2>log &
		pid=$!
	} &&
	test_wait_for 100 sh -c "test -f runs/*/attempts/aten__add/001/ws/token && test -f runs/*/attempts/aten__silu/001/ws/token" &&
	{ [ -e taken ] || test_expect_code 1 python3 -c "import socket; socket.create_connection((\"127.0.0.1\", 8123), 2)"; } &&
	for name in add silu; do
		[ $name = add ] && other=silu || other=add
		cp runs/*/attempts/aten__$other/001/ws/token passed
		cp passed "$(echo runs/*/attempts/aten__$name/001/ws)/other"
	done &&
	{ wait $pid || true; } &&
	for name in add silu; do test_grep "^HTTP/1.1 401" runs/*/attempts/aten__$name/001/ws/seen; done
'

# ---- survivors ----

cat >survivor.py <<\EOF
import ctypes, os, signal, time
libc = ctypes.CDLL(None, use_errno=True)
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
for _ in range(200):
    if os.fork() == 0:
        os.setsid()
        libc.prctl(1, 0, 0, 0, 0)
        os.execlp("sleep", "sleep", "1006")
EOF
test_expect_success 'two hundred children in separate sessions: none outlives the attempt' '
	sed "s/1006/1006.$$/" survivor.py | python_cli && test_expect_code 1 run_bare && test_no_process "sleep 1006.$$" &&
	jq -e ".survivors == 0" runs/*/attempts/aten__add/001/exit.json
'
test_expect_success 'kill -9 of the launcher in the middle: tree gone, attempt classified' '
	printf "sleep 1007.$$\n" | fake_cli && rm -rf runs &&
	{
		KGB_CLAUDE_BIN=$TRASH/cli kgb-agent add -m naive_cc --skip-verify --set run.max_attempts=1 --json >out.json 2>log &
		pid=$!
	} &&
	test_wait_for 100 sh -c "pgrep -f \"[s]leep 1007.$$\" >/dev/null" &&
	pkill -KILL -P $pid -f kgb-launch && code=0 && { wait $pid || code=$?; } &&
	test_equal 4 $code "exit status" && attempt ".end == \"infra.sandbox\"" && test_no_process "sleep 1007.$$"
'

# ---- the machine ----

test_expect_success 'fewer descriptors than a sandbox needs: exit 4 with that reason' '
	printf "result done\n" | fake_cli && rm -rf runs &&
	test_expect_code 4 sh -c "ulimit -n 64; exec env KGB_CLAUDE_BIN=$TRASH/cli kgb-agent add -m naive_cc --skip-verify" 2>err &&
	test_grep "no attempt can start: 64 open files are allowed.*ulimit -n 1024" err
'
test_expect_success 'a kernel that was replaced by a link before --skip-gen is refused; an empty journal is reported' '
	printf "echo x >/ws/kernel.py; result done\n" | fake_cli && run_bare &&
	run=$(echo runs/*) && ln -sf /etc/passwd "$run/kernels/aten__add.py" &&
	test_expect_code 1 kgb-agent --skip-gen --json >out.json 2>err &&
	operator ".error | test(\"symbolic link\")" &&
	: >"$run/journal.jsonl" && test_expect_code 2 kgb-agent --skip-gen 2>err && test_grep "journal is empty" err
'
test_expect_success 'an interrupt before anything exists: ended by the signal, nothing created' '
	printf "#!/bin/sh\nsleep 1008.$$\n" >cli && chmod +x cli && rm -rf runs &&
	code=$(KGB_CLAUDE_BIN=$TRASH/cli python3 -c "
import os, signal, subprocess, time
p = subprocess.Popen([\"kgb-agent\", \"add\"], preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
time.sleep(0.5)
p.send_signal(signal.SIGINT)
print(p.wait())") &&
	test_equal -2 "$code" "wait status" && test ! -e runs && test_wait_for 30 test_no_process "sleep 1008.$$" 2>/dev/null
'
test_done
