/* SPDX-License-Identifier: MIT */
/* Memory that is shared with processes that may be hostile: what they cannot do to it. */
#include "base/system/memfd.h"
#include "verify/process/shared_arena.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/time.h"
#include "tests/unit/base/support.h"

enum { BYTES = 8192 };

static void test_a_copy_can_be_read_and_nothing_else(KGB_UNUSED void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	char back[8] = "";
	int fd = -1;

	assert_ok(kgb_memfd_of("copy", "kernel", 6, &fd, &err), err);
	assert_int_equal(pread(fd, back, sizeof(back), 0), 6);
	assert_string_equal(back, "kernel");
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, BYTES), -1);
	assert_true(mmap(NULL, 6, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), -1);
	close(fd);
}

static void test_a_file_of_fixed_size_keeps_it(KGB_UNUSED void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct stat st;
	int fd = -1;

	assert_ok(kgb_memfd_sized("sized", BYTES, 0, &fd, &err), err);
	assert_int_equal(ftruncate(fd, 1), -1);
	assert_int_equal(ftruncate(fd, 2 * BYTES), -1);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, BYTES);
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	close(fd);
	assert_ok(kgb_memfd_sized("sealed", BYTES, F_SEAL_WRITE, &fd, &err), err);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	close(fd);
}

static void test_only_we_write_to_memory_that_is_read_only_for_others(KGB_UNUSED void **state)
{
	struct kgb_err err = KGB_ERR_INIT;

	for (int read_only = 0; read_only <= 1; read_only++) {
		char *ours = NULL;
		int fd = -1;
		assert_ok(kgb_memfd_mapped("mapped", BYTES, read_only, &ours, &fd, &err), err);
		ours[BYTES - 1] = 'k';
		const char *theirs = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
		assert_true(theirs != MAP_FAILED);
		assert_int_equal(theirs[BYTES - 1], 'k');
		void *writable = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_int_equal(writable == MAP_FAILED, read_only);
		assert_int_equal(pwrite(fd, "x", 1, 0), read_only ? -1 : 1);
		assert_int_equal(ftruncate(fd, 1), -1);
		if (writable != MAP_FAILED)
			munmap(writable, BYTES);
		munmap((void *)(uintptr_t)theirs, BYTES);
		munmap(ours, BYTES);
		close(fd);
	}
}

/* A worker whose only reply and whose end are there before it is asked. */
static void start_worker(struct kgb_worker *worker, enum kgb_wire_status status, int far_ends[2])
{
	static const char ended[] = "{\"ended\":\"exit\",\"value\":0}";
	const struct kgb_wire_reply reply = {.magic = KGB_WIRE_MAGIC,
					     .version = KGB_WIRE_VERSION,
					     .id = 1,
					     .status = (uint16_t)status};
	int channel[2], control[2];

	*worker = (struct kgb_worker)KGB_WORKER_INIT;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
	worker->channel_fd = channel[0];
	worker->control_fd = control[0];
	worker->end = KGB_WORKER_ALIVE;
	assert_int_equal(send(channel[1], &reply, sizeof(reply), 0), (ssize_t)sizeof(reply));
	assert_true(send(control[1], ended, strlen(ended), 0) > 0);
	far_ends[0] = channel[1];
	far_ends[1] = control[1];
}

static void test_a_worker_that_cannot_map_its_memory_is_ended(KGB_UNUSED void **state)
{
	for (int status = KGB_WIRE_OK; status < KGB_WIRE_N_STATUSES; status++) {
		struct kgb_shared_arena shared = {0};
		struct kgb_worker worker;
		struct kgb_err err = KGB_ERR_INIT;
		int far_ends[2];
		start_worker(&worker, (enum kgb_wire_status)status, far_ends);
		const int rc = kgb_shared_arena_reserve(&shared, &worker, 100, 200, false,
							kgb_mono_ms() + 5000, &err);
		if (status == KGB_WIRE_MEMORY)
			assert_contains(err.msg, "no memory for arguments");
		assert_int_equal(rc, status == KGB_WIRE_MEMORY ? -1 : 0);
		assert_int_equal(worker.end, status == KGB_WIRE_OK || status == KGB_WIRE_MEMORY
						     ? KGB_WORKER_ALIVE
						     : KGB_WORKER_LIED);
		assert_true(shared.arena_bytes >= 100 && shared.out_bytes >= 200);
		assert_non_null(shared.arena);
		kgb_shared_arena_release(&shared);
		kgb_worker_stop(&worker);
		close(far_ends[0]);
		close(far_ends[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_copy_can_be_read_and_nothing_else),
		cmocka_unit_test(test_a_file_of_fixed_size_keeps_it),
		cmocka_unit_test(test_only_we_write_to_memory_that_is_read_only_for_others),
		cmocka_unit_test(test_a_worker_that_cannot_map_its_memory_is_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
