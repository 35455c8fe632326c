# SPDX-License-Identifier: MIT
"""Warm parent of the judge's Python workers.

    python -I -B zygote.py (runner|reference|compile) HUB_FD [PLACE]

Imports torch and triton once (compile: triton alone; it also forks workers of role "source"), then forks a worker for every
control socket that arrives on the hub (a SOCK_SEQPACKET socket, one descriptor per message). The zygote itself never touches
candidate code. PLACE is the folder below which a runner finds kernel.py. For each worker there are

    supervisor   holds the control socket; makes the jail, reports the worker's end, kills the worker when the judge is gone
    init         (not reference) first process of the worker's PID namespace; when it ends, the kernel ends the whole namespace
    worker       gives up every privilege, then serves requests on its channel

Some workers are made in advance (spares): jailed, without privileges, with a CUDA context where there is a GPU. A spare serves
one verification like any other worker; then a new spare takes its place. Spares of the reference and of the baseline are lasting:
they never run foreign code, so after one verification they serve the next. The first spare of a baseline is made after the first
request for one.

The first spares are made at once. Afterwards the zygote says "lacks" on the hub when it lacks some, and "out" when it has none of a
role; whoever holds the hub decides when one is made ("spare"), because that delays what others do on a GPU, and hears ("made") when
it is ready, or has failed.

Control messages are JSON datagrams. Judge: {"role", "memory_bytes", "cpu_s", "tmp_bytes"} with descriptors [channel,
stderr, ...]. Supervisor: {"started": {versions}, "lasting": true | false} with a pidfd that ends the whole worker, later
{"ended": "exit" | "signal", "value": N}, for a lasting worker when the verification is over; or {"error": text}.
"""

import contextlib
import ctypes
import gc
import json
import math
import os
import resource
import select
import signal
import socket
import sys
import time

LIBRARIES = ("/kgb/lib", "/kgb/runner", "/kgb/reference", "/kgb/compiler")
JAILED = ("runner", "compile", "source")
PAGE = os.sysconf("SC_PAGE_SIZE")
HUGE_PAGE = 2 << 20
MADV_COLLAPSE = 25  # Linux 6.1
HUGE_PAGES_FROM = 6  # number of workers after which the zygote uses huge pages: more than one verification needs
FILE_BYTES = 16 << 20
COMPILE_PROCESSES = 16
GPU_PROCESSES = 256  # processes and threads: those of the driver, and of the compilers that Triton starts
GPU_FILES = 1024
GPU_FILE_BYTES = 512 << 20
RESULT_BYTES = 64 << 30  # of the reference, which writes them to the judge's file
ROLE_WAIT_S = 1.0
AT_FIRST = {"reference": 1, "baseline": 0}  # spares at the start of the lasting roles; lanes share a reference
KEPT_PART = 32  # of the GPU's memory: what a lasting worker keeps between two verifications
FREE, READY = b"free", b"ready"  # from a worker to its supervisor, and from that to the zygote
LACKS, OUT, SPARE, MADE = b"lacks", b"out", b"spare", b"made"  # on the hub
START_MAX = 4096
PR_SET_NAME = 15
GPU_ROLES = ("runner", "reference", "baseline", "compiled")
HAS_GPU = os.environ.get("KGB_DEVICE") == "cuda"
SPARES_OF = {"runner": ("runner",), "reference": ("reference", "baseline")}  # roles of a zygote's spares
PLACE = sys.argv[3] if len(sys.argv) > 3 else None
SPARES, SPARE_TMP_BYTES = map(int, os.environ.get("KGB_SPARES", "0 0").split())


def versions(role):
    import identity
    import triton
    found = {"python": "%d.%d.%d" % sys.version_info[:3], "triton": str(triton.__version__)}
    if role != "compile":
        import torch
        found["torch"] = str(torch.__version__)
    if role != "runner":
        found["identity"] = identity.identity(role)
    return found


def close_all_but(keep):
    """Close every descriptor above stderr that is not in keep."""
    low = 3
    for fd in sorted(keep):
        os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def die_with(alive):
    """SIGKILL for this process when the supervisor ends. The supervisor holds the pipe `alive` open: so its end before this call
    is detected, too."""
    import _kgbrun
    _kgbrun.die_with_parent()
    poll = select.poll()
    poll.register(alive, 0)
    if poll.poll(0):
        os._exit(1)


def run_init(alive):
    os.setsid()
    die_with(alive)
    close_all_but(())
    while True:
        signal.pause()


def set_limits(start, base_bytes, gpu, spent_s=None):
    """Set the limits of a worker; base_bytes, which are mapped already, are added to its memory. CUDA reserves addresses by the
    terabyte, so with a GPU only writable memory counts. spent_s: processor time that a lasting worker has used before; its limits
    can be raised again."""
    memory, cpu_s = base_bytes + int(start["memory_bytes"]), start["cpu_s"] + (spent_s or 0)
    file_bytes, files = (GPU_FILE_BYTES, GPU_FILES) if gpu else (FILE_BYTES, 64)
    if start["role"] == "reference":
        file_bytes = RESULT_BYTES
    for name, soft, hard in ((resource.RLIMIT_DATA if gpu else resource.RLIMIT_AS, memory, memory),
                             (resource.RLIMIT_CPU, cpu_s, cpu_s + 5),
                             (resource.RLIMIT_CORE, 0, 0),
                             (resource.RLIMIT_FSIZE, file_bytes, file_bytes),
                             (resource.RLIMIT_NOFILE, files, files)):
        resource.setrlimit(name, (soft, hard if spent_s is None else resource.getrlimit(name)[1]))


def name_process(role):
    """Give the process the name that ps and top show."""
    ctypes.CDLL(None).prctl(PR_SET_NAME, ("kgb-" + role).encode())


def warm_up(role):
    """Do the work that precedes the first use of a GPU."""
    if not HAS_GPU:
        return
    if role == "runner":
        import on_cuda
        on_cuda.warm_up()
    elif role == "baseline":
        import baseline
        baseline.warm_up()
    else:
        import torch
        (torch.ones(2, device="cuda").double() + 1).cpu()


def run_worker(role, inbox, alive, base_bytes, gpu, spare):
    """Serve the messages of the inbox: the start message with descriptors [channel, stderr, ...]."""
    import _kgbrun
    name_process(role)
    os.setsid()  # kill(0, ...) reaches the whole process group, also outside of the PID namespace
    die_with(alive)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    close_all_but([inbox.fileno()])
    if role == "compile":
        resource.setrlimit(resource.RLIMIT_NPROC, (COMPILE_PROCESSES, COMPILE_PROCESSES))
        _kgbrun.give_up_privileges(True)
    elif role == "source":
        _kgbrun.give_up_privileges()
    elif role == "runner":
        if gpu:
            resource.setrlimit(resource.RLIMIT_NPROC, (GPU_PROCESSES, GPU_PROCESSES))
        _kgbrun.give_up_privileges(bool(gpu), bool(gpu))
    if spare:
        warm_up(role)
        inbox.send(READY)
    if spare and role in AT_FIRST:
        while serve_next(role, inbox, lambda start: set_limits(start, mapped_bytes(), gpu, math.ceil(time.process_time()))):
            tidy()
            inbox.send(FREE)
    else:
        serve_next(role, inbox, lambda start: (inbox.close(), synchronize(spare), set_limits(start, base_bytes, gpu)))


def serve_next(role, inbox, begin):
    """Serve one verification; False: the inbox is closed."""
    data, fds, _, _ = socket.recv_fds(inbox, START_MAX, 4)
    if not data:
        return False
    start = json.loads(data)
    os.dup2(fds[1], 2)
    os.close(fds[1])
    begin(start)
    serve(role, start, socket.socket(fileno=fds[0]), fds[2:])
    return True


def synchronize(spare):
    """Raise an exception if the device has failed while a spare waited."""
    if spare and HAS_GPU:
        import torch
        torch.cuda.synchronize()


def tidy():
    """Free the memory of one verification before the next. Raises an exception if the device has failed. Some memory of the GPU
    stays with torch: to get it again takes long while contexts of others are made."""
    gc.collect()
    if HAS_GPU:
        import torch
        torch.cuda.synchronize()
        if torch.cuda.memory_reserved() > torch.cuda.get_device_properties(0).total_memory // KEPT_PART:
            torch.cuda.empty_cache()


def start_afresh():
    """Reset state that an earlier verification may have left in a lasting worker."""
    import torch
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)


def serve(role, start, channel, fds):
    if role in AT_FIRST:
        start_afresh()
    if start["role"] in ("baseline", "compiled"):
        import baseline
        baseline.main(channel, start["role"] == "compiled")
    elif role == "reference":
        import reference
        reference.main(channel)
    elif role == "compile":
        import recompile
        recompile.main(channel)
    elif role == "source":
        import from_source
        from_source.main(channel)
    else:
        import runner
        runner.main(channel, start["role"], fds, PLACE)


def forked(function, *args):
    """Fork, and run the function in the child, which never returns. Returns the child's pid."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        function(*args)
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def mapped_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[0]) * PAGE


def wait_for_end(control, place):
    """Wait until the worker ends (False), or until a lasting one is free again (True). If the judge closes its socket before
    that, end the worker; a lasting one detects this itself. The judge may leave a lease of the GPU, which this process holds to
    its end."""
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(place.worker_fd, select.POLLIN)
    if place.lasting:
        poll.register(place.outbox, select.POLLIN)
    while True:
        ready = dict(poll.poll())
        if place.lasting and ready.get(place.outbox.fileno()) == select.POLLIN:
            return place.outbox.recv(len(FREE)) == FREE
        if place.worker_fd in ready:
            return False
        if control.fileno() in ready:
            socket.recv_fds(control, START_MAX, 1)
            if not place.lasting:
                signal.pidfd_send_signal(place.end_fd, signal.SIGKILL)
            poll.unregister(control)


def receive_start(control):
    """(message, descriptors); message is None when the judge has hung up."""
    data, fds, _, _ = socket.recv_fds(control, START_MAX, 4)
    return json.loads(data) if data else None, fds


class Workplace:
    """A jail where the role needs one, and a worker in it that waits for its start."""

    def __init__(self, role, tmp_bytes, gpu, spare):
        import _kgbrun
        self.lasting = spare and role in AT_FIRST
        self.free = False
        base_bytes = mapped_bytes()
        alive, held = os.pipe()
        os.set_inheritable(held, False)
        inbox, self.outbox = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.init = 0
        if role in JAILED:
            with open("/proc/self/oom_score_adj", "w") as score:
                score.write("1000")  # when memory runs out, the kernel kills this process first
            _kgbrun.enter_jail(tmp_bytes, gpu, PLACE)
            self.init = forked(lambda: (os.close(held), run_init(alive)))
        ready, go = os.pipe()
        self.worker = forked(lambda: (os.close(held), os.close(go), os.read(ready, 1),
                                      run_worker(role, inbox, alive, base_bytes, gpu, spare)))
        if self.init and gpu:
            _kgbrun.pretend_tasks(self.worker)
        os.close(ready)
        os.close(go)
        inbox.close()
        self.worker_fd = os.pidfd_open(self.worker)
        self.end_fd = os.pidfd_open(self.init) if self.init else self.worker_fd

    def start(self, message, fds):
        socket.send_fds(self.outbox, [json.dumps(message).encode()], fds)
        if not self.lasting:
            self.outbox.close()
        for fd in fds:
            os.close(fd)

    def reap(self):
        """The worker's end, as a control message."""
        _, status = os.waitpid(self.worker, 0)
        if self.init:
            os.kill(self.init, signal.SIGKILL)
            os.waitpid(self.init, 0)
        if os.WIFSIGNALED(status):
            return {"ended": "signal", "value": os.WTERMSIG(status)}
        return {"ended": "exit", "value": os.WEXITSTATUS(status)}


def see_through(place, control, hello, message, fds):
    """Start a worker and report to the judge, until the worker ends or is free."""
    place.free = False
    place.start(message, fds)
    started = {"started": hello, "lasting": place.lasting}
    socket.send_fds(control, [json.dumps(started).encode()], [place.end_fd])
    place.free = wait_for_end(control, place)
    control.send(json.dumps({"ended": "exit", "value": 0} if place.free else place.reap()).encode())


def become_supervisor():
    import _kgbrun
    _kgbrun.die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def supervise(role, control, hello):
    """Start one worker and wait for its end."""
    become_supervisor()
    message, fds = receive_start(control)
    if message:
        gpu = HAS_GPU and message["role"] in GPU_ROLES
        if role == "compile" and message["role"] == "source":
            role = "source"
        see_through(Workplace(role, int(message["tmp_bytes"]), gpu, False), control, hello, message, fds)


def supervise_spare(role, door, hello):
    """Make a worker, wait for a request, and supervise the worker to its end; a lasting worker serves further requests."""
    become_supervisor()
    place = Workplace(role, SPARE_TMP_BYTES, HAS_GPU, True)
    if place.outbox.recv(len(READY)) != READY:
        return  # the worker has ended
    with contextlib.suppress(BrokenPipeError):  # it may have its request, and the door is closed
        door.send(READY)
    while lend(place, door, hello):
        door.send(FREE)


def lend(place, door, hello):
    """Serve one verification with a spare. Returns whether the spare can serve another one."""
    poll = select.poll()
    poll.register(door, select.POLLIN)
    poll.register(place.worker_fd, select.POLLIN)
    if place.worker_fd in dict(poll.poll()):
        return False  # the worker has ended before its start
    data, fds, _, _ = socket.recv_fds(door, 16, 1)
    if not data:
        return False
    with socket.socket(fileno=fds[0]) as control:
        message, fds = receive_start(control)
        if message:
            run_supervisor(lambda: see_through(place, control, hello, message, fds), control)
    return place.free


def run_supervisor(function, control):
    try:
        function()
    except (BrokenPipeError, ConnectionResetError):
        pass  # the judge is gone; its children die with this process
    except Exception as error:
        with contextlib.suppress(OSError):
            control.send(json.dumps({"error": "%s: %s" % (type(error).__name__, error)}).encode())


class Spares:
    """The zygote's ends of the sockets at whose other ends spares of one role wait."""

    def __init__(self, role, hello):
        self.role, self.hello = role, hello
        self.doors = []
        self.lent = []  # doors of lasting spares that serve a verification
        self.lasts = role in AT_FIRST
        self.most = SPARES
        self.wanted = min(self.most, AT_FIRST.get(role, self.most))

    def count(self):
        return len(self.doors) + len(self.lent)

    def add(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            forked(lambda: (close_all_but([theirs.fileno()]), supervise_spare(self.role, theirs, self.hello)))
        self.doors.append(ours)
        return ours

    def fill(self):
        while self.lacks():
            self.add()

    def hear(self, door):
        """A spare is ready, or free again, or has ended."""
        try:
            heard = door.recv(len(READY))
        except ConnectionResetError:
            heard = b""  # it ended before it read its request
        if heard == READY:
            return
        (self.lent if door in self.lent else self.doors).remove(door)
        if heard == FREE:
            self.doors.append(door)
        else:
            door.close()

    def lacks(self):
        return self.count() < self.wanted

    def hand_over(self, control):
        """Give this control socket to a spare; False when there is none."""
        self.wanted = max(self.wanted, min(self.most, 1))
        if self.lasts and not self.doors and self.count() < self.most:
            self.add()
        while self.doors:
            door = self.doors.pop(0)
            try:
                socket.send_fds(door, [b"go"], [control.fileno()])
            except OSError:
                door.close()  # the spare is dead
                continue
            if self.lasts:
                self.lent.append(door)
            else:
                door.close()
            return True
        return False


class Hub:
    """The socket on which requests for workers come, and the spares that serve them."""

    def __init__(self, hub, all_spares):
        self.hub, self.all_spares = hub, all_spares
        self.making = None  # door of the spare that is being made
        self.said = None  # what it said of its lack since a spare was made last

    def receive(self):
        """The control socket of the next request; None when there are no more."""
        while True:
            self.report()
            if self.hub not in self.wait():
                continue
            data, fds, _, _ = socket.recv_fds(self.hub, 16, 1)
            if data == SPARE:
                self.make()
            elif data:
                return socket.socket(fileno=fds[0])
            else:
                return None

    def lacking(self):
        return [spares for spares in self.all_spares if spares.lacks()]

    def report(self):
        if self.making and self.making.fileno() < 0:  # it was handed over before it was ready
            self.making = None
            self.hub.send(MADE)
        lacking = self.lacking()
        lack = OUT if any(not spares.doors for spares in lacking) else LACKS if lacking else None
        if lack and self.said not in (lack, OUT):
            self.hub.send(lack)
            self.said = lack

    def make(self):
        """Make a spare of the role that has the fewest."""
        self.said = None
        lacking = self.lacking()
        with contextlib.suppress(OSError):  # there is no memory for a process
            if lacking:
                self.making = min(lacking, key=lambda spares: len(spares.doors)).add()
                return
        self.hub.send(MADE)

    def wait(self):
        """Wait for the hub or a spare, and hear the spares. Returns the sockets that are ready."""
        doors = {door: spares for spares in self.all_spares for door in spares.doors + spares.lent}
        poll = select.poll()
        for one in [self.hub, *doors]:
            poll.register(one, select.POLLIN)
        numbers = [fd for fd, _ in poll.poll()]
        ready = [one for one in [self.hub, *doors] if one.fileno() in numbers]
        for door in ready:
            if door in doors:
                doors[door].hear(door)
            if door is self.making:
                self.making = None
                self.hub.send(MADE)
        return ready


def start_worker(role, control, hello, spares):
    """Have a spare serve this request, or a new worker."""
    if not spares or not spares.hand_over(control):
        forked(lambda: (close_all_but([control.fileno()]),
                        run_supervisor(lambda: supervise(role, control, hello), control)))


def asked_role(control):
    """The role in the start message, which stays in the socket; None: there is no valid message."""
    control.settimeout(ROLE_WAIT_S)
    try:
        return json.loads(control.recv(START_MAX, socket.MSG_PEEK))["role"]
    except (OSError, ValueError):
        return None
    finally:
        control.settimeout(None)


def import_role(role):
    sys.path[:0] = LIBRARIES
    if role == "compile":
        import from_source
        import recompile
        recompile.prepare()
        from_source.prepare()
        return versions(role)
    import torch
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    if role == "runner":
        import runner
        runner.prepare()
    else:
        import reference
        reference.prepare()
        if HAS_GPU:
            import baseline  # noqa: F401: its imports take a second
    return versions(role)


def use_huge_pages():
    """Use huge pages for this process's own memory, because a fork copies an entry for each page. The change takes 0.4 s of the
    processor, as much as it saves in the forks of several verifications. If the kernel cannot do it, nothing happens."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    with open("/proc/self/maps") as maps:
        lines = [line.split() for line in maps]
    for addresses, access, _, _, inode, *_ in lines:
        first, end = (int(address, 16) for address in addresses.split("-"))
        first, end = -(-first // HUGE_PAGE) * HUGE_PAGE, end // HUGE_PAGE * HUGE_PAGE
        if access == "rw-p" and inode == "0" and first < end:
            madvise(first, end - first, MADV_COLLAPSE)


def main():
    role = sys.argv[1]
    hub = socket.socket(fileno=int(sys.argv[2]))
    try:
        hello = import_role(role)
    except Exception as error:
        hub.send(json.dumps({"error": "%s: %s" % (type(error).__name__, error)}).encode()[:4000])
        return 1
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.collect()
    gc.freeze()
    hub.send(json.dumps({"ready": hello}).encode())
    all_spares = {one: Spares(one, hello) for one in SPARES_OF.get(role, ())}
    for spares in all_spares.values():
        spares.fill()
    n_workers = 0
    requests = Hub(hub, all_spares.values())
    while True:
        control = requests.receive()
        if control is None:
            return 0
        spares = all_spares.get(asked_role(control)) if all_spares else None
        run_supervisor(lambda: start_worker(role, control, hello, spares), control)
        control.close()
        n_workers += 1
        if n_workers == HUGE_PAGES_FROM:
            use_huge_pages()


if __name__ == "__main__":
    sys.exit(main())
