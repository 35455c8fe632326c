# SPDX-License-Identifier: MIT
"""Warm parent of the judge's Python workers.

    python -I -B zygote.py (runner|reference|compile) HUB_FD

Imports torch and triton once (compile: triton alone), then forks a worker for every control socket that arrives on the
hub (a SOCK_SEQPACKET socket, one descriptor per message). The zygote itself never touches candidate code. For each
worker there are

    supervisor   holds the control socket; makes the jail, reports how the worker ended, kills it when the judge is gone
    init         (not reference) first process of the worker's PID namespace; when it ends the kernel ends all of it
    worker       gives up every privilege, then serves requests on its channel

Control messages are JSON datagrams. Judge: {"role", "memory_bytes", "cpu_s", "tmp_bytes"} with descriptors [channel,
stderr, ...]. Supervisor: {"started": {versions}} with a pidfd that ends the whole worker, later {"ended": "exit" |
"signal", "value": N}; or {"error": text}.
"""

import gc
import json
import os
import resource
import select
import signal
import socket
import sys

LIBRARIES = ("/kgb/lib", "/kgb/runner", "/kgb/reference")
JAILED = ("runner", "compile")
PAGE = os.sysconf("SC_PAGE_SIZE")
FILE_BYTES = 16 << 20
COMPILE_PROCESSES = 16
GPU_PROCESSES = 256  # and threads: the driver's, and those of the compilers that Triton starts
GPU_FILES = 1024
GPU_FILE_BYTES = 512 << 20
GPU_ROLES = ("runner", "reference", "baseline")
HAS_GPU = os.environ.get("KGB_DEVICE", "cpu") != "cpu"


def versions(role):
    import triton
    found = {"python": "%d.%d.%d" % sys.version_info[:3], "triton": str(triton.__version__)}
    if role != "compile":
        import torch
        found["torch"] = str(torch.__version__)
    return found


def close_all_but(keep):
    """Close every descriptor above stderr that is not in keep."""
    low = 3
    for fd in sorted(keep):
        os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def die_with(alive):
    """SIGKILL when the supervisor ends; `alive` is a pipe that it holds open, for the case that it already has."""
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


def set_limits(start, base_bytes, gpu):
    """Limits of a worker; memory counts on top of what the zygote had mapped already. CUDA reserves addresses by the
    terabyte, so with a GPU only what can be written counts."""
    memory = base_bytes + int(start["memory_bytes"])
    file_bytes, files = (GPU_FILE_BYTES, GPU_FILES) if gpu else (FILE_BYTES, 64)
    for name, soft, hard in ((resource.RLIMIT_DATA if gpu else resource.RLIMIT_AS, memory, memory),
                             (resource.RLIMIT_CPU, start["cpu_s"], start["cpu_s"] + 5),
                             (resource.RLIMIT_CORE, 0, 0),
                             (resource.RLIMIT_FSIZE, file_bytes, file_bytes),
                             (resource.RLIMIT_NOFILE, files, files)):
        resource.setrlimit(name, (soft, hard))


def run_worker(role, start, fds, alive, base_bytes, gpu):
    import _kgbrun
    os.setsid()  # kill(0) reaches the process group, and a PID namespace does not bound that
    die_with(alive)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(fds[1], 2)
    keep = [fds[0]] + fds[2:]
    close_all_but(keep)
    set_limits(start, base_bytes, gpu)
    channel = socket.socket(fileno=fds[0])
    if start["role"] == "baseline":
        import baseline
        baseline.main(channel)
    elif role == "reference":
        import reference
        reference.main(channel)
    elif role == "compile":
        resource.setrlimit(resource.RLIMIT_NPROC, (COMPILE_PROCESSES, COMPILE_PROCESSES))
        _kgbrun.give_up_privileges(True)
        import recompile
        recompile.main(channel)
    else:
        if gpu:
            resource.setrlimit(resource.RLIMIT_NPROC, (GPU_PROCESSES, GPU_PROCESSES))
        _kgbrun.give_up_privileges(bool(gpu), bool(gpu))
        import runner
        runner.main(channel, start["role"], fds[2:])


def forked(function, *args):
    """Fork and run function there; the child never returns. Yields the child's pid."""
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


def wait_for_end(control, worker_fd, end_fd):
    """Until the worker ends; when the judge hangs up first, end the worker."""
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(worker_fd, select.POLLIN)
    while True:
        ready = dict(poll.poll())
        if worker_fd in ready:
            return
        if control.fileno() in ready:
            signal.pidfd_send_signal(end_fd, signal.SIGKILL)
            poll.unregister(control)


def supervise(role, control, hello):
    """Start one worker and see it through."""
    import _kgbrun
    _kgbrun.die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    data, fds, _, _ = socket.recv_fds(control, 4096, 4)
    if not data:
        return
    start = json.loads(data)
    base_bytes = mapped_bytes()
    gpu = HAS_GPU and start["role"] in GPU_ROLES
    alive, held = os.pipe()
    os.set_inheritable(held, False)
    init = 0
    if role in JAILED:
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")  # when memory runs out, nobody else's process pays
        _kgbrun.enter_jail(int(start["tmp_bytes"]), gpu)
        init = forked(lambda: (os.close(held), run_init(alive)))
    ready, go = os.pipe()
    worker = forked(lambda: (os.close(held), os.close(go), os.read(ready, 1), control.close(),
                             run_worker(role, start, fds, alive, base_bytes, gpu)))
    if init and gpu:
        _kgbrun.pretend_tasks(worker)
    os.close(ready)
    os.close(go)
    worker_fd = os.pidfd_open(worker)
    end_fd = os.pidfd_open(init) if init else worker_fd
    for fd in fds:
        os.close(fd)
    socket.send_fds(control, [json.dumps({"started": hello}).encode()], [end_fd])
    wait_for_end(control, worker_fd, end_fd)
    _, status = os.waitpid(worker, 0)
    if init:
        os.kill(init, signal.SIGKILL)
        os.waitpid(init, 0)
    if os.WIFSIGNALED(status):
        ended = {"ended": "signal", "value": os.WTERMSIG(status)}
    else:
        ended = {"ended": "exit", "value": os.WEXITSTATUS(status)}
    control.send(json.dumps(ended).encode())


def run_supervisor(role, control, hello):
    try:
        supervise(role, control, hello)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the judge is gone; what was started dies with this process
    except Exception as error:
        control.send(json.dumps({"error": "%s: %s" % (type(error).__name__, error)}).encode())


def import_role(role):
    sys.path[:0] = LIBRARIES
    if role == "compile":
        import recompile
        recompile.prepare()
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
    return versions(role)


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
    while True:
        data, fds, _, _ = socket.recv_fds(hub, 16, 1)
        if not data:
            return 0
        control = socket.socket(fileno=fds[0])
        forked(lambda: (hub.close(), run_supervisor(role, control, hello)))
        control.close()


if __name__ == "__main__":
    sys.exit(main())
