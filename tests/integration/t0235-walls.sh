#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the walls around an agent: refusals are counted, excess ends with its class, and the cause of waiting is reported'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox jq python3

# shellcheck source=tests/integration/fake_cli.sh
. "$KGB_TEST_SOURCE_DIR/tests/integration/fake_cli.sh"

run_bare() {
	rm -rf runs
	KGB_CLAUDE_BIN=$TRASH/cli timeout 500 kgb-agent add -m naive_cc --skip-verify --json "$@" >out.json 2>log
}
# The result has a refused kind of call under this name (where the kernel reports refusals).
told() {
	jq -e --arg what "$1" '.operators["aten::add"].attempts[-1].sandbox | (.isolation.calls_watched | not) or
		(.probes | any(.what == $what and .code == "cheat.probe" and .count > 0))' walls.json
}

# ---- attacks, and their reports ----

mkdir host && echo secret >host/key
python3 -c '
import os, socket, time
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\0kgb-walls-%d" % os.getppid())
abstract.listen()
path = socket.socket(socket.AF_UNIX)
path.bind("host/socket")
path.listen()
tcp = socket.create_server(("127.0.0.1", 0))
open("host/port.tmp", "w").write(str(tcp.getsockname()[1]))
os.rename("host/port.tmp", "host/port")
time.sleep(300)' &
listener=$!
cat >attack.py <<EOF
HOST = "$TRASH/host"
ABSTRACT = "\\0kgb-walls-$$"
DATA = "$KGB_TEST_SOURCE_DIR"
REAL_KEY = "sk-""walls"
EOF
test_wait_for 100 test -e host/port
echo "PORT = $(cat host/port)" >>attack.py
cat >>attack.py <<\EOF
import ctypes, fcntl, glob, os, pty, socket, struct, termios
libc = ctypes.CDLL(None, use_errno=True)
def call(*a):
    if libc.syscall(*a) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def attack(name, f):
    try:
        print(name + ": SUCCEEDED", repr(f())[:100])
    except (OSError, ValueError) as e:
        print(name + ": refused", e)
def connect(family, kind, address):
    s = socket.socket(family, kind)
    s.settimeout(2)
    s.connect(address)
    s.send(b"x")
def send(address):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", address)
def read(path):
    return open(path, "rb").read(10)
def some(pattern):
    found = glob.glob(pattern)
    if not found:
        raise OSError("nothing there")
    return found
names = {}
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = [f for f in folders if f not in ("proc", "usr")]
    for name in folders + files:
        names[name] = folder
def find(name):
    if name not in names:
        raise OSError("nowhere")
    return names[name]
# calls that the filter refuses
attack("ptrace", lambda: call(101, 16, 1, 0, 0))
attack("process_vm_readv", lambda: call(310, os.getppid(), 0, 0, 0, 0, 0))
attack("process_vm_writev", lambda: call(311, os.getppid(), 0, 0, 0, 0, 0))
attack("pidfd_getfd", lambda: call(438, 0, 0, 0))
attack("user_namespace", lambda: call(272, 0x10000000))
attack("mount", lambda: call(165, b"none", b"/tmp", b"tmpfs", 0, 0))
attack("umount2", lambda: call(166, b"/proc", 2))
attack("pivot_root", lambda: call(155, b"/tmp", b"/tmp"))
attack("chroot", lambda: os.chroot("/tmp"))
attack("fsopen", lambda: call(430, b"tmpfs", 0))
attack("setns", lambda: call(308, os.open("/proc/self/ns/net", os.O_RDONLY), 0))
attack("keyctl", lambda: call(250, 0, -3, 0, 0, 0))
attack("add_key", lambda: call(248, b"user", b"a", b"b", 1, -3))
attack("request_key", lambda: call(249, b"user", b"a", 0, -3))
attack("io_uring_setup", lambda: call(425, 1, 0))
attack("bpf", lambda: call(321, 0, 0, 0))
attack("perf_event_open", lambda: call(298, 0, 0, 0, 0, 0))
attack("userfaultfd", lambda: call(323, 0))
attack("kexec_load", lambda: call(246, 0, 0, 0, 0))
attack("init_module", lambda: call(175, 0, 0, b""))
attack("open_by_handle_at", lambda: call(304, 0, 0, 0))
attack("fanotify_init", lambda: call(300, 0, 0))
attack("syslog", lambda: call(103, 3, 0, 0))
attack("clock_settime", lambda: call(227, 0, 0))
attack("sethostname", lambda: call(170, b"x", 1))
attack("swapon", lambda: call(167, b"/ws/x", 0))
attack("reboot", lambda: call(169, 0, 0, 0, 0))
attack("quotactl", lambda: call(179, 0, 0, 0, 0))
attack("socket.raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attack("socket.packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
attack("socket.vsock", lambda: socket.socket(40, socket.SOCK_STREAM, 0))
attack("socket.family", lambda: socket.socket(38, socket.SOCK_SEQPACKET, 0))
attack("socket.netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12))
attack("device", lambda: os.mknod("disk", 0o60600, os.makedev(8, 0)))
attack("file_table", lambda: call(272, 0x400))
attack("terminal", lambda: fcntl.ioctl(pty.openpty()[1], termios.TIOCSTI, b"x"))
# the network
attack("tcp", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80)))
attack("tcp6", lambda: connect(socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 80)))
attack("udp", lambda: send(("192.0.2.2", 9)))
attack("udp_message", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg([b"x"], [], 0, ("192.0.2.3", 9)))
attack("dns", lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.53", 53)))
attack("name", lambda: socket.getaddrinfo("example.org", 80))
attack("metadata", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80)))
attack("host_tcp", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", PORT)))
attack("docker", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "/run/docker.sock"))
attack("unix", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, HOST + "/socket"))
attack("abstract", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, ABSTRACT))
def netlink():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    # RTM_NEWADDR, to replace: 127.0.0.1/8 on interface 1, which already has this address
    body = struct.pack("BBBBI", socket.AF_INET, 8, 0, 0, 1) + struct.pack("HH4s", 8, 2, bytes([127, 0, 0, 1]))
    s.send(struct.pack("IHHII", 16 + len(body), 20, 0x105, 1, 0) + body)
    code = struct.unpack("i", s.recv(4096)[16:20])[0]
    if code < 0:
        raise OSError(-code, os.strerror(-code))
attack("netlink", netlink)
# files
attack("host_key", lambda: read(HOST + "/key"))
attack("host_home", lambda: some("/root/*") + some("/home/*/.ssh/*"))
attack("references", lambda: read(DATA + "/datasets/offline/aten__add.yaml") or find("aten__add.yaml"))
attack("honest_kernels", lambda: some(DATA + "/tests/honest/*/*.py") or find("tuple_strides.py"))
attack("journal", lambda: find("journal.jsonl"))
attack("journal_above", lambda: read("../../../../journal.jsonl"))
attack("results", lambda: find("results.json"))
attack("other_workspace", lambda: find("attempts"))
attack("verdicts", lambda: find("verdicts"))
attack("shadow", lambda: read("/etc/shadow"))
def real_key():
    for path in glob.glob("/proc/[0-9]*/environ"):
        if REAL_KEY.encode() in open(path, "rb").read():
            return path
    raise OSError("in no environment")
attack("real_key", real_key)
def other_processes():
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        words = open(path, "rb").read().split(b"\\0")
        if any(word.endswith((b"kgb-agent", b"kgb-launch", b"bwrap")) for word in words):
            return path
    raise OSError("only our own")
attack("other_processes", other_processes)
attack("first_memory", lambda: open("/proc/1/mem", "r+b"))
attack("sysrq", lambda: open("/proc/sysrq-trigger", "w"))
attack("core_pattern", lambda: open("/proc/sys/kernel/core_pattern", "w"))
attack("kmem", lambda: open("/dev/mem", "rb"))
attack("confine", lambda: open("/opt/kgb/confine", "r+b"))
attack("cgroup", lambda: some("/sys/fs/cgroup/*"))
attack("kill_outside", lambda: os.kill(2**22 - 1, 9))
attack("huge_file", lambda: os.truncate(os.open("huge", os.O_CREAT | os.O_RDWR), 100 << 30))
attack("sparse_file", lambda: os.pwrite(os.open("sparse", os.O_CREAT | os.O_RDWR), b"x", 100 << 30))
attack("shared_memory", lambda: call(29, 0, 1 << 30, 0o1600))
try:
    os.mknod("null", 0o20600, os.makedev(0, 0))
    print("null_device: made")
except OSError as e:
    print("null_device: refused", e)
# hooks that would run for any user of git in the workspace
os.makedirs(".git/hooks", exist_ok=True)
for name in ("post-commit", "pre-commit", "post-checkout", "fsmonitor-watchman"):
    open(".git/hooks/" + name, "w").write("#!/bin/sh\ntouch " + HOST + "/hook-ran\n")
    os.chmod(".git/hooks/" + name, 0o755)
open(".git/config", "w").write("[core]\n\tfsmonitor = touch " + HOST + "/hook-ran\n\thooksPath = /ws/.git/hooks\n")
open(".gitattributes", "w").write("* filter=x\n")
open("kernel.py", "w").write("x = 1\n")
print("end")
EOF
visible='ptrace process_vm_readv process_vm_writev pidfd_getfd user_namespace mount umount2 pivot_root chroot fsopen setns
	keyctl add_key request_key io_uring_setup bpf perf_event_open userfaultfd kexec_load init_module open_by_handle_at
	fanotify_init syslog clock_settime sethostname swapon reboot quotactl socket.raw socket.packet socket.vsock
	socket.family socket.netlink device file_table terminal'
invisible='tcp tcp6 udp udp_message dns name metadata host_tcp docker unix abstract netlink host_key host_home references honest_kernels journal journal_above
	results other_workspace verdicts shadow real_key other_processes first_memory sysrq core_pattern kmem
	confine cgroup kill_outside huge_file sparse_file shared_memory'
test_start_api
test_expect_success 'one run with all attacks ends as any other' '
	python_cli <attack.py && ANTHROPIC_API_KEY=sk-walls run_bare --set gateway.upstream_url="$api/ok" && attempt ".end == \"agent.ok\"" &&
	cp runs/*/attempts/aten__add/001/ws/seen seen && cp out.json walls.json && cp -r runs kept &&
	test_grep "^end" seen && test_no_grep SUCCEEDED seen && test_no_grep Traceback seen
'
for name in $visible; do
	test_expect_success "attack by $name: refused, and told" "refused '$name' && told '$name'"
done
for name in $invisible; do
	test_expect_success "attack on $name: refused" "refused '$name'"
done
test_expect_success 'where there is Landlock, no device of any kind can be made' '
	if jq -e ".operators[\"aten::add\"].attempts[-1].sandbox.isolation.landlock_abi > 0" walls.json; then
		test_grep "^null_device: refused" seen
	fi
'
test_expect_success 'addresses outside are reported with their number, the gateway and the own loopback are not' '
	jq -e ".operators[\"aten::add\"].attempts[-1].sandbox.probes | map(select(.what == \"network\") | .detail) |
		contains([\"192.0.2.1:80\", \"192.0.2.2:9\", \"192.0.2.3:9\", \"192.0.2.53:53\", \"169.254.169.254:80\", \"[2001:db8::1]:80\"]) and
		all(startswith(\"127.\") | not)" walls.json &&
	jq -e ".operators[\"aten::add\"].attempts[-1].sandbox.probes | map(select(.what == \"socket.host\") | .detail) |
		contains([\"/run/docker.sock\", \"@kgb-walls-$$\"])" walls.json
'
test_expect_success 'attempts to open keys and our own files are reported, those to open files of the agent are not' '
	jq -e ".operators[\"aten::add\"].attempts[-1].sandbox | (.isolation.calls_watched | not) or
		(.probes | map(select(.what == \"file\") | .detail) |
		contains([\"/etc/shadow\", \"../../../../journal.jsonl\", \"/proc/1/mem\"]) and any(startswith(\"$KGB_TEST_SOURCE_DIR\")) and
		all(startswith(\"$KGB_TEST_SOURCE_DIR\") or (test(\"^/(ws|home/agent|tmp|usr)/\") | not)))" walls.json
'
test_expect_success 'hooks and filters of a git in the workspace are never run' '
	test ! -e host/hook-ran && git --git-dir kept/*/attempts/aten__add/001/git log --oneline main >/dev/null && test ! -e host/hook-ran
'
test_expect_success 'the probes are in journal, results and exit.json, valid by the schemas' '
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" "$KGB_TEST_SOURCE_DIR/docs/schemas/journal.schema.json" --lines kept/*/journal.jsonl &&
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" "$KGB_TEST_SOURCE_DIR/docs/schemas/results.schema.json" kept/*/results.json &&
	jq -e ".sandbox.empty.proven and .sandbox.empty.survivors == 0" kept/*/attempts/aten__add/001/exit.json &&
	jq -e ".sandbox.isolation.level | test(\"^L[34]$\")" kept/*/attempts/aten__add/001/exit.json
'
kill $listener
test_expect_success 'requests that the gateway refuses are reported too' '
	python_cli <<-\EOF &&
	import socket
	for request in (b"GET /admin HTTP/1.0\r\n\r\n", b"POST /v1/messages HTTP/1.0\r\nx-api-key: stolen\r\ncontent-length: 2\r\n\r\n{}"):
	    with socket.create_connection(("127.0.0.1", 8123), 60) as s:
	        s.sendall(request)
	        s.recv(100)
	EOF
	test_expect_code 1 run_bare &&
	attempt ".sandbox.probes | any(.seen_by == \"gateway\" and .what == \"endpoint\") and any(.seen_by == \"gateway\" and .what == \"token\")"
'
test_expect_success 'an honest program leaves no trace of a probe' '
	python_cli <<-\EOF &&
	import multiprocessing, os, socket, subprocess, tempfile, threading, urllib.request
	socket.getaddrinfo("localhost", 8123)
	server = socket.create_server(("127.0.0.1", 0))
	socket.create_connection(server.getsockname())
	threads = [threading.Thread(target=lambda: None) for _ in range(50)]
	[t.start() for t in threads]
	[t.join() for t in threads]
	subprocess.run(["sh", "-c", "id; ls /; df; ps 2>/dev/null; git --version"], capture_output=True)
	with multiprocessing.Pool(2) as pool:
	    pool.map(abs, range(10))
	try:
	    urllib.request.urlopen("http://127.0.0.1:8123/api/hello", timeout=60)
	except OSError:
	    pass
	open("/ws/kernel.py", "w").write("x = 1\n")
	EOF
	run_bare && attempt ".end == \"agent.ok\" and (.sandbox.probes | map(select(.seen_by == \"system call\")) == [])"
'

# ---- excess ----

test_expect_success 'a fork bomb: ended with its class, nothing survives' '
	python_cli <<-\EOF &&
	import os, time
	try:
	    for i in range(9): # 512 in all, whatever fails
	        if os.fork() == 0:
	            os.setsid()
	except OSError:
	    pass
	time.sleep(90)
	EOF
	test_expect_code 1 run_bare --set sandbox.processes=300 &&
	attempt ".end == \"agent.processes\" and .sandbox.broken_limit.name == \"processes\" and .sandbox.empty.proven" &&
	operator ".error | test(\"sandbox.processes\")" && test_no_process "attack-$$[.]py"
'
test_expect_success 'many files of an allowed size: the attempt ends with its class, before all are written' '
	python_cli <<-\EOF &&
	import time
	block = b"x" * (1 << 20)
	for i in range(30):
	    with open("/ws/part%d" % i, "wb") as f:
	        for _ in range(20):
	            f.write(block)
	    time.sleep(0.5)
	time.sleep(300)
	EOF
	test_expect_code 1 run_bare --set sandbox.disk=64MiB &&
	attempt ".end == \"agent.disk\" and .sandbox.broken_limit.name == \"disk\"" &&
	operator ".error | test(\"sandbox.disk allows 67108864\")" &&
	test "$(du -sm runs | cut -f1)" -lt 600
'
test_expect_success 'the same in HOME, where a folder cannot even be read' '
	python_cli <<-\EOF &&
	import os, time
	os.makedirs("/home/agent/a/b")
	block = b"x" * (1 << 20)
	with open("/home/agent/a/b/f", "wb") as f:
	    os.chmod("/home/agent/a", 0)
	    for _ in range(100):
	        f.write(block)
	time.sleep(300)
	EOF
	test_expect_code 1 run_bare --set sandbox.disk=64MiB && attempt ".end == \"agent.disk\" and .sandbox.used.home_bytes > 67108864"
'
test_expect_success 'the same in files that are deleted at once: ended with its class' '
	python_cli <<-\EOF &&
	import os, time
	block = b"x" * (1 << 20)
	kept = []
	for i in range(10):
	    f = open("/ws/gone", "wb")
	    os.unlink("/ws/gone")
	    for _ in range(10):
	        f.write(block)
	    kept.append(f)
	    f.flush()
	time.sleep(300)
	EOF
	test_expect_code 1 run_bare --set sandbox.disk=64MiB && attempt ".end == \"agent.disk\"" && operator ".error | test(\"deleted\")"
'
test_expect_success 'very many small files: ended with its class' '
	python_cli <<-\EOF &&
	import time
	for i in range(20000):
	    open("/ws/f%d" % i, "w").close()
	time.sleep(300)
	EOF
	test_expect_code 1 run_bare --set sandbox.files=5000 &&
	attempt ".end == \"agent.disk\" and .sandbox.broken_limit.name == \"files\" and .sandbox.broken_limit.seen > 5000"
'
test_expect_success 'a sparse file counts the blocks that it occupies' '
	python_cli <<-\EOF &&
	import os
	for i in range(100):
	    os.truncate(os.open("/ws/sparse%d" % i, os.O_CREAT | os.O_RDWR), 500 << 20)
	open("/ws/kernel.py", "w").write("x = 1\n")
	EOF
	run_bare --set sandbox.disk=64MiB && attempt ".end == \"agent.ok\" and .sandbox.used.disk_bytes < 10000000"
'
test_expect_success 'writes to a full /tmp or /dev/shm fail' '
	python_cli <<-\EOF &&
	for name in ("/tmp/a", "/tmp/b", "/tmp/c", "/dev/shm/a"):
	    try:
	        with open(name, "wb") as f:
	            for _ in range(300):
	                f.write(b"x" * (1 << 20))
	        print("wrote", name)
	    except OSError as e:
	        print("full", e)
	EOF
	test_expect_code 1 run_bare --set limits.tmp_size=256MiB && attempt ".end == \"agent.ok\"" &&
	test_no_grep wrote runs/*/attempts/aten__add/001/ws/seen
'
test_expect_success 'a tool that uses too much memory is ended, its agent goes on' '
	printf "python3 -c \"x = bytearray(1 << 30); import time; time.sleep(300)\"\necho \$? >/ws/status\necho x >/ws/kernel.py\nresult done\n" | fake_cli &&
	run_bare --set sandbox.memory=256MiB && attempt ".end == \"agent.ok\" and .sandbox.used.memory_kills >= 1" &&
	test_equal 137 "$(cat runs/*/attempts/aten__add/001/ws/status)" status
'
test_expect_success 'memory in files without a name counts too' '
	{
		echo "cat >/tmp/a.py <<\KGB_EOF"
		cat <<-\EOF
		import os, time
		files = [os.memfd_create("m") for _ in range(8)]
		for f in files:
		    for _ in range(64):
		        os.write(f, b"x" * (1 << 20))
		time.sleep(300)
		KGB_EOF
		EOF
		printf "python3 /tmp/a.py\necho \$? >/ws/status\necho x >/ws/kernel.py\nresult done\n"
	} | fake_cli &&
	{ run_bare --set sandbox.memory=256MiB || true; } && attempt ".sandbox.used.memory_kills >= 1 and .sandbox.empty.proven"
'
test_expect_success 'a CLI that itself uses too much memory ends with its class' '
	printf "exec python3 -c \"x = bytearray(1 << 30); import time; time.sleep(300)\"\n" | fake_cli &&
	test_expect_code 1 run_bare --set sandbox.memory=256MiB &&
	attempt ".end == \"agent.memory\"" && operator ".error | test(\"sandbox.memory\")"
'

# ---- waits ----

test_expect_success 'without a sign of life the attempt ends with its class and the cause of waiting' '
	printf "sleep 900.$$ & wait\n" | fake_cli &&
	test_expect_code 1 run_bare --set sandbox.idle_timeout=3s &&
	attempt ".end == \"agent.hung\" and .sandbox.waiting_for.class == \"tool\" and (.sandbox.waiting_for.evidence | test(\"sleep\"))" &&
	operator ".error | test(\"no sign of life\")" && test_no_process "sleep 900.$$"
'
test_expect_success 'a CLI that waits for nothing at all' '
	printf "exec sleep 901\n" | fake_cli && test_expect_code 1 run_bare --set sandbox.idle_timeout=3s &&
	attempt ".end == \"agent.hung\" and .sandbox.waiting_for.class == \"nothing\""
'
test_expect_success 'a CLI that was stopped' '
	printf "kill -STOP \$\$\n" | fake_cli && test_expect_code 1 run_bare --set sandbox.idle_timeout=3s &&
	attempt ".end == \"agent.hung\" and .sandbox.waiting_for.class == \"stopped\""
'
test_expect_success 'slow but alive by a trickle of work, of output or of processes: never ended for idleness' '
	fake_cli <<-\EOF &&
	python3 -c "
	import time
	end = time.time() + 4.5
	while time.time() < end:
	    mark = time.process_time() + 0.02
	    while time.process_time() < mark: pass
	    time.sleep(0.2)"
	for i in 1 2 3 4 5 6 7; do sleep 0.6; done
	(for i in 1 2 3 4 5 6; do sleep 0.7; say $i; done)
	echo x >/ws/kernel.py
	result done
	EOF
	run_bare --set sandbox.idle_timeout=3s && attempt ".end == \"agent.ok\" and .sandbox.clocks.wall_ms > 12000"
'
# The program writes once a second and leaves the rest to the kernel: an fsync takes processor time, which is another sign of life.
# The whole trickle takes less than a tick (10 ms). So at most one measurement finds processor time, and before or after it
# more than the limit passes with no sign but bytes.
cat >trickle.py <<\EOF
import sys, time
def written():
    return int(open("/proc/self/io").read().split("\nwrite_bytes:")[1].split()[0])
path, seconds = sys.argv[1], float(sys.argv[2])
block = bytes(1 << 17)
with open(path, "wb", 0) as file:
    end, began = time.monotonic() + seconds, time.process_time()
    while time.monotonic() < end:
        file.write(block)
        time.sleep(1)
    print(time.process_time() - began)
sys.exit(written() < 1 << 17)
EOF
if python3 trickle.py here 0.3 >cpu 2>&1; then
	test_expect_success 'slow but alive by a trickle to a disk alone: never ended for idleness' '
		{ echo "cat >/tmp/t.py <<\KGB_EOF"; cat trickle.py; printf "KGB_EOF\npython3 /tmp/t.py /ws/big 10 >/ws/cpu\necho x >/ws/kernel.py\nresult done\n"; } | fake_cli &&
		run_bare --set sandbox.idle_timeout=3s && attempt ".end == \"agent.ok\"" &&
		cpu=$(cat runs/*/attempts/aten__add/001/ws/cpu) && echo "processor time: $cpu s" &&
		awk "BEGIN { exit !($cpu < 0.01) }"
	'
else
	test_skip 'slow but alive by a trickle to a disk alone: never ended for idleness' 'the kernel does not count what is written here'
fi
test_expect_success 'at a time-out during a loop the attempt waited for the processor' '
	printf "while :; do :; done\n" | fake_cli &&
	for time in 6s 60s; do # 60 s when 6 s are over before the loop runs
		test_expect_code 1 run_bare --timeout $time || return 1
		! attempt ".sandbox.waiting_for.class == \"cpu\"" || break
	done &&
	attempt ".end == \"agent.timeout\" and .sandbox.waiting_for.class == \"cpu\""
'
test_expect_success 'an API that does not answer is no idleness; at the time-out the attempt waited for the API' '
	{
		echo "exec python3 - <<KGB_EOF"
		cat <<-\EOF
		import os, urllib.request
		urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:8123/v1/messages", b"{\"model\":\"m\",\"max_tokens\":1,\"messages\":[]}",
		    {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}))
		KGB_EOF
		EOF
	} | fake_cli &&
	for time in 12s 100s; do # the same
		ANTHROPIC_API_KEY=sk-x test_expect_code 1 run_bare --timeout $time --set sandbox.idle_timeout=3s \
			--set gateway.upstream_url="$api/silent" || return 1
		! attempt ".sandbox.clocks.api_ms > 3500" || break
	done &&
	attempt ".end == \"agent.timeout\" and .sandbox.waiting_for.class == \"api\" and .sandbox.clocks.api_ms > 3500"
'

# ---- levels ----

test_expect_success 'a level that this machine does not have: exit 4 with the remedy, nothing created' '
	rm -rf runs && printf "result done\n" | fake_cli &&
	test_expect_code 4 env KGB_BWRAP=/nonexistent KGB_CLAUDE_BIN="$TRASH/cli" kgb-agent add -m naive_cc --skip-verify 2>err &&
	test_grep "isolation L3 is required, this machine has none: .*bubblewrap" err && test ! -e runs &&
	test_expect_code 2 env KGB_CLAUDE_BIN="$TRASH/cli" kgb-agent add --isolation L7 2>err && test_grep "L3, L4" err
'
test_done
