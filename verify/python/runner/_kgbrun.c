/* SPDX-License-Identifier: MIT */
/** \file
 * Functions of the kernel and of malloc that the Python workers need and Python lacks: namespaces
 * and mounts of the runner's own jail, giving up every privilege, poisoned memory, raw copies of
 * strided memory. Limited API of Python 3.10, so that one build serves every later interpreter. */
#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#define HIGHEST_NATIVE_SYSCALL 0x3fffffffu /* x32 calls carry bit 30 */
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#define HIGHEST_NATIVE_SYSCALL 0xffffffffu
#else
#error "add the AUDIT_ARCH value of this architecture: the runner is never started without its system call filter"
#endif

/* The zygote's sandbox has this folder (verify/process/zygote.c). Not /tmp: an interpreter may be
 * installed below it. */
#define PRIVATE_DIR "/kgb/tmp"

enum { MAX_DIMS = 8 };

#ifndef PyBUF_WRITE
#define PyBUF_WRITE 0x200 /* in the limited API, whose headers declare it only from 3.11 on */
#endif

/* linux/mount.h clashes with sys/mount.h in older C libraries. */
struct mount_attr_v0 {
	uint64_t attr_set;
	uint64_t attr_clr;
	uint64_t propagation;
	uint64_t userns_fd;
};
#define MOUNT_ATTR_READ_ONLY 0x1u
#define AT_RECURSIVE_FLAG 0x8000u
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

/* OSError(errno, "what: strerror"); returns NULL. */
static PyObject *fail_errno(const char *what)
{
	return PyErr_SetFromErrnoWithFilename(PyExc_OSError, what);
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, len);
	int saved = errno;
	close(fd);
	errno = saved;
	return n == (ssize_t)len ? 0 : -1;
}

static const char enter_jail_doc[] =
	"enter_jail(tmp_bytes, gpu=False, place=None): new user, mount, PID (for children), IPC, UTS and network\n"
	"namespaces; nothing is writable but a new /kgb/tmp of tmp_bytes, which is also the folder `place`. /proc is an\n"
	"empty directory; with gpu it is the old one, and programs in /kgb/tmp can be run, which Triton needs. The caller\n"
	"must have one thread.";

static PyObject *enter_jail(PyObject *self, PyObject *args)
{
	long long tmp_bytes;
	int gpu = 0;
	const char *place = NULL;
	char map[64];
	char options[64];
	const unsigned long flags = MS_NOSUID | MS_NODEV;
	const struct mount_attr_v0 read_only = {.attr_set = MOUNT_ATTR_READ_ONLY};
	const uid_t uid = getuid();
	const gid_t gid = getgid();

	(void)self;
	if (!PyArg_ParseTuple(args, "L|pz:enter_jail", &tmp_bytes, &gpu, &place))
		return NULL;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
		    CLONE_NEWNET) < 0)
		return fail_errno("unshare");
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (write_file("/proc/self/setgroups", "deny") < 0 ||
	    write_file("/proc/self/uid_map", map) < 0)
		return fail_errno("uid_map");
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	if (write_file("/proc/self/gid_map", map) < 0)
		return fail_errno("gid_map");
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return fail_errno("mount private /");
	/* A new proc cannot be mounted below bubblewrap's; hiding it serves as well. */
	if (!gpu && mount("tmpfs", "/proc", "tmpfs", flags | MS_NOEXEC, "size=4k,mode=0555") < 0)
		return fail_errno("mount /proc");
	if (syscall(SYS_mount_setattr, -1, "/", AT_RECURSIVE_FLAG, &read_only, sizeof(read_only)) <
	    0)
		return fail_errno("mount_setattr (Linux 5.12 or newer)");
	snprintf(options, sizeof(options), "size=%lld,mode=0700,nr_inodes=%d", tmp_bytes,
		 gpu ? 16384 : 256);
	if (mount("tmpfs", PRIVATE_DIR, "tmpfs", gpu ? flags : flags | MS_NOEXEC, options) < 0)
		return fail_errno("mount " PRIVATE_DIR);
	if (place && mount(PRIVATE_DIR, place, NULL, MS_BIND, NULL) < 0)
		return fail_errno("mount the folder of kernel.py");
	Py_RETURN_NONE;
}

static const char pretend_tasks_doc[] =
	"pretend_tasks(pid): cover /proc/<pid>/task with writable files <n>/comm for all small n. CUDA names its threads\n"
	"through /proc/self/task/<tid>/comm and gives up when that fails; in a PID namespace of its own, below a /proc\n"
	"that is not, a thread's own number is not the one in /proc.";

static PyObject *pretend_tasks(PyObject *self, PyObject *args)
{
	enum { N_TASKS = 2048 };
	char path[96];
	int pid;

	(void)self;
	if (!PyArg_ParseTuple(args, "i:pretend_tasks", &pid))
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "size=64k,mode=0755,nr_inodes=4096") < 0)
		return fail_errno("mount /proc/<pid>/task");
	snprintf(path, sizeof(path), "/proc/%d/task/any", pid);
	if (mkdir(path, 0755) < 0)
		return fail_errno("mkdir /proc/<pid>/task/any");
	snprintf(path, sizeof(path), "/proc/%d/task/any/comm", pid);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return fail_errno("create /proc/<pid>/task/any/comm");
	close(fd);
	for (int i = 1; i <= N_TASKS; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, i);
		if (symlink("any", path) < 0)
			return fail_errno("symlink in /proc/<pid>/task");
	}
	Py_RETURN_NONE;
}

static const char die_with_parent_doc[] =
	"die_with_parent(): SIGKILL for this process as soon as its parent ends.";

static PyObject *die_with_parent(PyObject *self, PyObject *noargs)
{
	(void)self;
	(void)noargs;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return fail_errno("prctl PR_SET_PDEATHSIG");
	Py_RETURN_NONE;
}

/* System calls that make processes and threads: refused to workers that start no programs. */
static const unsigned int process_calls[] = {
	SYS_clone,
	SYS_execve,
#ifdef SYS_fork
	SYS_fork,
	SYS_vfork,
#endif
};

static const unsigned int socket_calls[] = {SYS_socket, SYS_socketpair};

/* Refused to all workers: namespaces, mounts, and programs without a name. The sandbox around the
 * zygote refuses more (sandbox/isolation/seccomp.c); both filters apply. */
static const unsigned int refused[] = {
	SYS_execveat,
	SYS_unshare,
	SYS_setns,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_fsopen,
	SYS_fsmount,
	SYS_fspick,
	SYS_move_mount,
	SYS_open_tree,
	SYS_mount_setattr,
	SYS_ptrace,
	SYS_pidfd_open,
	SYS_bpf,
	SYS_keyctl,
	SYS_userfaultfd,
	SYS_perf_event_open,
	SYS_add_key,
	SYS_request_key,
	SYS_kcmp,
	SYS_pidfd_getfd,
	SYS_io_uring_setup,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
};

#define NAMESPACE_FLAGS                                                                \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)
#define N_CALLS(list) (sizeof(list) / sizeof((list)[0]))
enum {
	HEAD = 6,
	CLONE = 5,
	SOCKET = 5,
	FILTER_MAX = HEAD + CLONE + 2 * (N_CALLS(process_calls) + N_CALLS(refused)) +
		     SOCKET * N_CALLS(socket_calls) + 3
};

static void refuse(struct sock_filter *code, unsigned short *n, unsigned int number, uint32_t error)
{
	code[(*n)++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
	code[(*n)++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
}

/* Refuse a clone that makes a namespace. Its flags are in the low half of the first argument. */
static void refuse_namespaces(struct sock_filter *code, unsigned short *n)
{
	const struct sock_filter check[CLONE] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACE_FLAGS, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};

	for (size_t i = 0; i < CLONE; i++)
		code[(*n)++] = check[i];
}

/* Allow only sockets of the family AF_UNIX: CUDA needs one. */
static void allow_unix_only(struct sock_filter *code, unsigned short *n, unsigned int number)
{
	const struct sock_filter check[SOCKET] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
	};

	for (size_t i = 0; i < SOCKET; i++)
		code[(*n)++] = check[i];
}

static int install_filter(bool programs, bool unix_sockets)
{
	struct sock_filter code[FILTER_MAX];
	unsigned short n = 0;
	const struct sock_filter head[HEAD] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, HIGHEST_NATIVE_SYSCALL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};

	for (size_t i = 0; i < HEAD; i++)
		code[n++] = head[i];
	if (programs)
		refuse_namespaces(code, &n);
	else
		for (size_t i = 0; i < N_CALLS(process_calls); i++)
			refuse(code, &n, process_calls[i], EPERM);
	/* A filter cannot read the flags of clone3. If it fails with ENOSYS, the C library calls
	 * clone. */
	refuse(code, &n, SYS_clone3, programs ? ENOSYS : EPERM);
	for (size_t i = 0; i < N_CALLS(socket_calls); i++) {
		if (unix_sockets)
			allow_unix_only(code, &n, socket_calls[i]);
		else
			refuse(code, &n, socket_calls[i], EPERM);
	}
	for (size_t i = 0; i < N_CALLS(refused); i++)
		refuse(code, &n, refused[i], EPERM);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

	const struct sock_fprog program = {.len = n, .filter = code};
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap) < 0)
			return -1;
	return (int)syscall(SYS_capset, &header, none);
}

static const char give_up_privileges_doc[] =
	"give_up_privileges(programs=False, unix_sockets=False): no capabilities, no new ones, not traceable, and from now\n"
	"on no namespace or mount, unless programs is true no new process, thread or program, and no socket, or none but\n"
	"of the unix family. Cannot be undone.";

static PyObject *give_up_privileges(PyObject *self, PyObject *args)
{
	int programs = 0;
	int unix_sockets = 0;

	(void)self;
	if (!PyArg_ParseTuple(args, "|pp:give_up_privileges", &programs, &unix_sockets))
		return NULL;
	if (drop_capabilities() < 0)
		return fail_errno("capset");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		return fail_errno("prctl");
	if (install_filter(programs != 0, unix_sockets != 0) < 0)
		return fail_errno("seccomp");
	Py_RETURN_NONE;
}

static const char perturb_doc[] =
	"perturb(byte): fill memory from malloc with this byte, and freed memory with its complement.";

static PyObject *perturb(PyObject *self, PyObject *args)
{
	int byte;

	(void)self;
	if (!PyArg_ParseTuple(args, "i:perturb", &byte))
		return NULL;
	/* glibc fills fresh memory with the complement of M_PERTURB. */
	if (mallopt(M_PERTURB, ~byte & 0xff) != 1)
		return PyErr_Format(PyExc_OSError, "mallopt M_PERTURB %d", byte);
	Py_RETURN_NONE;
}

/* One level of a row-major walk; returns where the next element goes. */
static char *gather_dim(char *dst, const char *src, int dim, int n_dims, size_t item,
			const int64_t *sizes, const int64_t *strides)
{
	if (dim == n_dims) {
		memcpy(dst, src, item);
		return dst + item;
	}
	if (dim == n_dims - 1 && strides[dim] == 1) {
		memcpy(dst, src, item * (size_t)sizes[dim]);
		return dst + item * (size_t)sizes[dim];
	}
	for (int64_t i = 0; i < sizes[dim]; i++)
		dst = gather_dim(dst, src + i * strides[dim] * (int64_t)item, dim + 1, n_dims, item,
				 sizes, strides);
	return dst;
}

/* A tuple of at most MAX_DIMS numbers; returns how many, -1 with an exception. */
static int dims_of(PyObject *tuple, int64_t *out)
{
	Py_ssize_t n = PyTuple_Size(tuple);

	if (n < 0)
		return -1;
	if (n > MAX_DIMS) {
		PyErr_Format(PyExc_ValueError, "%zd dimensions, more than %d", n, MAX_DIMS);
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
		if (out[i] == -1 && PyErr_Occurred())
			return -1;
	}
	return (int)n;
}

static const char gather_doc[] =
	"gather(dst, src, item_bytes, sizes, strides): copy a strided tensor at address src to address dst, row-major.";

static PyObject *gather(PyObject *self, PyObject *args)
{
	unsigned long long dst;
	unsigned long long src;
	Py_ssize_t item;
	PyObject *size_tuple;
	PyObject *stride_tuple;
	int64_t sizes[MAX_DIMS];
	int64_t strides[MAX_DIMS];

	(void)self;
	if (!PyArg_ParseTuple(args, "KKnOO:gather", &dst, &src, &item, &size_tuple, &stride_tuple))
		return NULL;
	int n_dims = dims_of(size_tuple, sizes);
	if (n_dims < 0)
		return NULL;
	int n_strides = dims_of(stride_tuple, strides);
	if (n_strides < 0)
		return NULL;
	if (n_dims != n_strides)
		return PyErr_Format(PyExc_ValueError, "%d sizes, %d strides", n_dims, n_strides);
	/* Addresses come from the caller as numbers: this is a raw copy in its own memory. */
	gather_dim((char *)(uintptr_t)dst, (const char *)(uintptr_t)src, 0, n_dims, (size_t)item,
		   sizes, strides);
	Py_RETURN_NONE;
}

enum { WINDOWS_MAX = 4 };

static const char map_at_doc[] =
	"map_at(address, n, stride, fd, bytes): map a file n times for reading and writing, `stride` bytes apart, instead of "
	"what the last call mapped. A tuple of memoryviews.";

static struct {
	char *at[WINDOWS_MAX];
	size_t bytes;
} mapped;

static void unmap_all(void)
{
	for (int i = 0; i < WINDOWS_MAX; i++) {
		if (mapped.at[i])
			munmap(mapped.at[i], mapped.bytes);
		mapped.at[i] = NULL;
	}
}

/* A view of a new mapping, number i; NULL: an exception is set. */
static PyObject *map_window(int i, unsigned long long address, int fd)
{
	void *const at = mmap((void *)(uintptr_t)address, mapped.bytes, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);

	if (at == MAP_FAILED)
		return PyErr_SetFromErrno(PyExc_OSError);
	mapped.at[i] = at;
	return PyMemoryView_FromMemory(at, (Py_ssize_t)mapped.bytes, PyBUF_WRITE);
}

static PyObject *map_at(PyObject *self, PyObject *args)
{
	unsigned long long address, stride;
	int n, fd;
	Py_ssize_t bytes;

	(void)self;
	if (!PyArg_ParseTuple(args, "KiKin:map_at", &address, &n, &stride, &fd, &bytes))
		return NULL;
	if (n < 1 || n > WINDOWS_MAX)
		return PyErr_Format(PyExc_ValueError, "%d mappings", n);
	unmap_all();
	mapped.bytes = (size_t)bytes;
	PyObject *windows = PyTuple_New(n);
	for (int i = 0; windows && i < n; i++) {
		PyObject *view = map_window(i, address + (unsigned)i * stride, fd);
		if (!view)
			Py_CLEAR(windows);
		else
			(void)PyTuple_SetItem(windows, i, view);
	}
	return windows;
}

static PyMethodDef methods[] = {
	{"enter_jail", enter_jail, METH_VARARGS, enter_jail_doc},
	{"pretend_tasks", pretend_tasks, METH_VARARGS, pretend_tasks_doc},
	{"die_with_parent", die_with_parent, METH_NOARGS, die_with_parent_doc},
	{"give_up_privileges", give_up_privileges, METH_VARARGS, give_up_privileges_doc},
	{"perturb", perturb, METH_VARARGS, perturb_doc},
	{"gather", gather, METH_VARARGS, gather_doc},
	{"map_at", map_at, METH_VARARGS, map_at_doc},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
	.m_base = PyModuleDef_HEAD_INIT,
	.m_name = "_kgbrun",
	.m_doc = "Kernel and memory services of the workers.",
	.m_size = 0,
	.m_methods = methods,
};

PyMODINIT_FUNC PyInit__kgbrun(void);
PyMODINIT_FUNC PyInit__kgbrun(void)
{
	return PyModule_Create(&module);
}
