/* SPDX-License-Identifier: MIT */
#include "agent/watch/disk_watch.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"

#define COUNT_MS 2000
/* Counting files takes at most 1/20 of all time. */
#define COUNT_SHARE 20
/* Attempts must not fill a disk that had room: with less than this left, attempts that hold much
 * end. With half of it left all attempts end, because files without a name may fill the disk. */
#define DISK_RESERVE ((int64_t)512 << 20)

static const char *const parts[KGB_N_DISK_PARTS] = {
	[KGB_DISK_WS] = "ws",   [KGB_DISK_HOME] = "home",         [KGB_DISK_TRAFFIC] = "traffic",
	[KGB_DISK_GIT] = "git", [KGB_DISK_VERDICTS] = "verdicts", [KGB_DISK_ROUNDS] = "rounds",
};

static void on_count(uv_work_t *work)
{
	struct kgb_disk_watch *disk = work->data;
	int64_t start_ms = kgb_mono_ms();
	struct kgb_disk_usage total = {0};
	for (int i = 0; i < KGB_N_DISK_PARTS; i++) {
		struct kgb_err ignored = KGB_ERR_INIT;
		struct kgb_disk_usage part = {0};
		/* A folder that does not exist (yet) has no bytes. */
		(void)!kgb_disk_usage_add(disk->dir_fd, parts[i], &part, &ignored);
		disk->counted.parts[i] = part.bytes;
		total.bytes += part.bytes;
		total.files += part.files;
		total.is_partial = total.is_partial || part.is_partial;
	}
	disk->counted.total = total;
	disk->counted.cost_ms = kgb_mono_ms() - start_ms;
}

static int64_t size_of(const struct kgb_disk_watch *disk, const char *name)
{
	struct stat st;
	return fstatat(disk->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0
		       ? 0
		       : 512 * (int64_t)st.st_blocks;
}

void kgb_disk_watch_check(const struct kgb_disk_watch *disk, struct kgb_broken_limit *broken)
{
	const struct kgb_attempt_limits *limits = disk->limits;
	const struct kgb_disk_usage *used = &disk->used.total;
	const int64_t *bytes_of = disk->used.parts;
	int64_t requests = bytes_of[KGB_DISK_TRAFFIC] + bytes_of[KGB_DISK_ROUNDS];
	struct kgb_disk_room room;
	kgb_disk_room(disk->dir_fd, &room);
	if (used->bytes > limits->disk_bytes) {
		kgb_broken_limit_set(
			broken, KGB_AGENT_DISK, "disk", limits->disk_bytes, used->bytes,
			"the agent wrote %lld bytes; sandbox.disk allows %lld (workspace %lld, HOME %lld, requests %lld, output %lld)",
			(long long)used->bytes, (long long)limits->disk_bytes,
			(long long)bytes_of[KGB_DISK_WS], (long long)bytes_of[KGB_DISK_HOME],
			(long long)requests, (long long)disk->used.output);
	} else if (used->files > limits->n_files) {
		kgb_broken_limit_set(broken, KGB_AGENT_DISK, "files", limits->n_files, used->files,
				     "the agent made %lld files; sandbox.files allows %lld",
				     (long long)used->files, (long long)limits->n_files);
	} else if (used->is_partial) {
		kgb_broken_limit_set(
			broken, KGB_AGENT_DISK, "nesting", 0, 0,
			"the agent nested directories so deep and wide that their size cannot be measured");
	} else if (disk->had_room && room.bytes >= 0 && room.bytes < DISK_RESERVE &&
		   (used->bytes > DISK_RESERVE / 4 || room.bytes < DISK_RESERVE / 2)) {
		kgb_broken_limit_set(
			broken, KGB_AGENT_DISK, "reserve", DISK_RESERVE, room.bytes,
			"only %lld bytes are left on the disk, and the agent holds %lld",
			(long long)room.bytes, (long long)used->bytes);
	}
}

static void on_count_done(uv_work_t *work, int status)
{
	struct kgb_disk_watch *disk = work->data;
	disk->is_counting = false;
	if (status == 0) {
		disk->used = disk->counted;
		disk->used.output = size_of(disk, "stdout.jsonl") + size_of(disk, "stderr.log");
		disk->used.total.bytes += disk->used.output;
		disk->next_ms = kgb_mono_ms() + COUNT_MS + COUNT_SHARE * disk->used.cost_ms;
	}
	disk->on_counted(disk->payload);
}

void kgb_disk_watch_count(struct kgb_disk_watch *disk)
{
	if (disk->is_counting)
		return;
	disk->is_counting = true;
	disk->work.data = disk;
	int rc = uv_queue_work(disk->loop, &disk->work, on_count, on_count_done);
	KGB_ASSERT(rc == 0);
}

void kgb_disk_watch_tick(struct kgb_disk_watch *disk)
{
	struct kgb_disk_room room;
	kgb_disk_room(disk->dir_fd, &room);
	/* The attempt itself may have used the room that the disk has lost since the last count. */
	bool is_urgent = disk->room.bytes - room.bytes > disk->limits->disk_bytes / 16 ||
			 disk->room.files - room.files > disk->limits->n_files / 4 ||
			 (disk->had_room && room.bytes < DISK_RESERVE);
	if (disk->is_counting || (kgb_mono_ms() < disk->next_ms && !is_urgent))
		return;
	disk->room = room;
	kgb_disk_watch_count(disk);
}

int kgb_disk_watch_open(struct kgb_disk_watch *disk, const char *dir,
			const struct kgb_attempt_limits *limits, uv_loop_t *loop,
			void (*on_counted)(void *payload), void *payload, struct kgb_err *err)
{
	disk->limits = limits;
	disk->loop = loop;
	disk->on_counted = on_counted;
	disk->payload = payload;
	if (kgb_fs_opendir(AT_FDCWD, dir, &disk->dir_fd, err) < 0)
		return -1;
	kgb_disk_room(disk->dir_fd, &disk->room);
	disk->had_room = disk->room.bytes > 4 * DISK_RESERVE;
	return 0;
}

void kgb_disk_watch_close(struct kgb_disk_watch *disk)
{
	kgb_close(disk->dir_fd);
}
