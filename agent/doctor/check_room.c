/* SPDX-License-Identifier: MIT */
/** \file
 * The number of attempts at a time that this machine's limits allow. A run computes it before it
 * starts, and doctor shows the same numbers. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/doctor/checks.h"
#include "base/mem.h"
#include "base/system/fs.h"

#define MIB ((int64_t)1 << 20)

/* The needs of the run itself, and of one attempt with its judge. Estimates: the least that a
 * coding CLI, torch and a record of the traffic take. A Node or a torch starts a thread per
 * processor, and RLIMIT_NPROC counts threads. */
enum {
	FILES_OF_RUN = 152,
	FILES_OF_ATTEMPT = 8,
	TASKS_OF_RUN = 8,
	TASKS_OF_ATTEMPT = 64,
	MEMORY_OF_ATTEMPT_MIB = 512,
	DISK_OF_ATTEMPT_MIB = 16,
};

/** One limit: attempts that it holds, or -1 when it does not apply. */
struct row {
	const char *name;
	int64_t fits;
	bool is_soft; /* one attempt is tried in any case, because its real needs are unknown */
	char limit[160], remedy[160];
};

static int64_t attempts(int64_t amount, int64_t of_run, int64_t of_attempt)
{
	return amount <= of_run ? 0 : (amount - of_run) / of_attempt;
}

static void find_files(struct row *row, int64_t wanted)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur == RLIM_INFINITY)
		return;
	const int64_t needed = FILES_OF_RUN + wanted * FILES_OF_ATTEMPT;
	row->fits = attempts((int64_t)files.rlim_cur, FILES_OF_RUN, FILES_OF_ATTEMPT);
	snprintf(row->limit, sizeof(row->limit),
		 "%" PRId64 " open files are allowed, %d for the run and %d for each attempt",
		 (int64_t)files.rlim_cur, FILES_OF_RUN, FILES_OF_ATTEMPT);
	snprintf(row->remedy, sizeof(row->remedy), "ulimit -n %" PRId64,
		 needed > 1024 ? needed : 1024);
}

/** Threads of this user's processes, which is what RLIMIT_NPROC counts. */
static int64_t count_tasks(void)
{
	DIR *proc = opendir("/proc");
	int64_t n = 0;
	for (struct dirent *entry = NULL; proc && (entry = readdir(proc));) {
		struct stat st;
		KGB_AUTO(free) char *path = kgb_xasprintf("/proc/%s/task", entry->d_name);
		/* A directory has a link for each one inside, and two for itself. */
		if (isdigit((unsigned char)entry->d_name[0]) && stat(path, &st) == 0 &&
		    st.st_uid == getuid() && st.st_nlink > 2)
			n += (int64_t)st.st_nlink - 2;
	}
	if (proc)
		closedir(proc);
	return n;
}

static void find_tasks(struct row *row, int64_t wanted)
{
	struct rlimit tasks;
	/* The kernel exempts root. */
	if (getuid() == 0 || getrlimit(RLIMIT_NPROC, &tasks) < 0 || tasks.rlim_cur == RLIM_INFINITY)
		return;
	const int64_t used = count_tasks(), limit = (int64_t)tasks.rlim_cur;
	row->fits = attempts(limit - used, TASKS_OF_RUN, TASKS_OF_ATTEMPT);
	snprintf(row->limit, sizeof(row->limit),
		 "%" PRId64 " processes and threads are allowed and %" PRId64
		 " exist, each attempt has %d",
		 limit, used, TASKS_OF_ATTEMPT);
	snprintf(row->remedy, sizeof(row->remedy), "ulimit -u %" PRId64,
		 used + TASKS_OF_RUN + wanted * TASKS_OF_ATTEMPT);
}

/** /tmp, /dev/shm and HOME of an agent are in memory, too. */
static void find_memory(struct row *row)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(64 << 10);
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(fd) int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || kgb_fs_read_fd(fd, 64 << 10, &text, &err) < 0)
		return;
	const char *number = strstr(text.ptr, "MemAvailable:");
	int64_t mib = 0;
	if (!number)
		return;
	number += strcspn(number, "0123456789");
	KGB_AUTO(free) char *kib = kgb_xstrndup(number, strspn(number, "0123456789"));
	if (kgb_parse_i64(kib, 0, INT64_MAX, &mib, &err) < 0)
		return;
	mib /= 1024;
	row->fits = attempts(mib, 0, MEMORY_OF_ATTEMPT_MIB);
	snprintf(row->limit, sizeof(row->limit),
		 "%" PRId64 " MiB of memory are available, %d for each attempt", mib,
		 MEMORY_OF_ATTEMPT_MIB);
	snprintf(row->remedy, sizeof(row->remedy), "end other programs");
}

static void find_disk(struct row *row, const struct kgb_cli *cli)
{
	KGB_AUTO(free) char *dir = kgb_checks_existing_parent(cli);
	struct statvfs fs;
	if (statvfs(dir, &fs) < 0)
		return;
	const int64_t mib = (int64_t)((double)fs.f_bavail * (double)fs.f_frsize / (double)MIB);
	row->fits = attempts(mib, 0, DISK_OF_ATTEMPT_MIB);
	snprintf(row->limit, sizeof(row->limit),
		 "%" PRId64 " MiB are free at '%.60s', %d for each attempt", mib, dir,
		 DISK_OF_ATTEMPT_MIB);
	snprintf(row->remedy, sizeof(row->remedy),
		 "free some space there, or name another place with --runs-dir");
}

void kgb_room_find(const struct kgb_cli *cli, int64_t wanted, struct kgb_room *out)
{
	struct row rows[] = {{.name = "open files", .fits = -1},
			     {.name = "processes", .fits = -1},
			     {.name = "memory", .fits = -1, .is_soft = true},
			     {.name = "disk", .fits = -1, .is_soft = true}};
	find_files(&rows[0], wanted);
	find_tasks(&rows[1], wanted);
	find_memory(&rows[2]);
	find_disk(&rows[3], cli);
	*out = (struct kgb_room){.fits = INT64_MAX};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		size_t len = strlen(out->all);
		if (rows[i].fits < 0)
			continue;
		snprintf(out->all + len, sizeof(out->all) - len, "%s%s for %" PRId64,
			 len ? ", " : "", rows[i].name, rows[i].fits);
		if (rows[i].is_soft && rows[i].fits < 1)
			rows[i].fits = 1;
		if (rows[i].fits >= out->fits)
			continue;
		out->fits = rows[i].fits;
		snprintf(out->limit, sizeof(out->limit), "%s", rows[i].limit);
		snprintf(out->remedy, sizeof(out->remedy), "%s", rows[i].remedy);
	}
}

void kgb_check_limits(struct kgb_check_result *f)
{
	const int64_t wanted = f->cli->config.settings.run.device_count;
	struct kgb_room room;
	kgb_room_find(f->cli, wanted, &room);
	if (room.fits >= wanted)
		kgb_found(f, KGB_PASS, "attempts at a time: %s", room.all);
	else if (room.fits > 0)
		kgb_found_fix(f, KGB_WARN, room.remedy,
			      "%" PRId64 " attempts at a time are wanted, %" PRId64 " fit: %s",
			      wanted, room.fits, room.limit);
	else
		kgb_found_fix(f, KGB_FAIL, room.remedy, "no attempt can start: %s", room.limit);
}
