/* SPDX-License-Identifier: MIT */
/* Compiles for a program as the judge does for a runner (verify/provenance/compiler.h), for tests.
 *
 *   compiler_driver PYTHON DATA_DIR KGBRUN PROOFS_DIR SM PROGRAM [ARGUMENT...]
 *
 * The program finds the numbers of two sockets in KGB_SEATS. Each line that it prints is the path
 * of a cubin; when it has ended, "made PROOF DIGEST" or "unknown PROOF DIGEST" is printed for each,
 * with what the proof of its provenance says without any claim (triton, none), then "recalled N".
 * Exit status 0 when the program's is. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "verify/provenance/compiler.h"
#include "verify/provenance/proof_cache.h"
#include "verify/provenance/provenance.h"

enum { READY_MS = 120 * 1000, N_SEATS = 2, FIRST_SEAT_FD = 20 };

static int run_program(char **argv, const int *seats, struct kgb_buf *said, struct kgb_err *err)
{
	char bytes[4096];
	int out[2];
	int status = 1;
	ssize_t n;

	if (pipe(out) < 0)
		return kgb_fail(err, KGB_ERR_FAILED, "pipe");
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < N_SEATS; i++)
			(void)dup2(seats[i], FIRST_SEAT_FD + i);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)setenv("KGB_SEATS", "20 21", 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(out[1]);
	for (int i = 0; i < N_SEATS; i++)
		close(seats[i]);
	while ((n = read(out[0], bytes, sizeof(bytes))) > 0)
		(void)kgb_buf_add(said, bytes, (size_t)n);
	close(out[0]);
	if (waitpid(pid, &status, 0) < 0 || status != 0)
		return kgb_fail(err, KGB_ERR_FAILED, "the program ended with status %d", status);
	return 0;
}

static int print_one(struct kgb_compiler *compiler, struct kgb_provenance *provenance,
		     const char *path, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf cubin = KGB_BUF_INIT(0);
	const struct kgb_triton_claims no_claims = KGB_CLAIMS_INIT;
	struct kgb_image *image = kgb_arena_alloc(&provenance->arena, sizeof(*image));
	char digest[KGB_SHA256_HEX_LEN];

	if (kgb_fs_read(AT_FDCWD, path, KGB_CUBIN_BYTES_MAX, &cubin, err) < 0)
		return -1;
	kgb_sha256_hex(cubin.ptr, cubin.len, digest);
	*image = (struct kgb_image){.bytes = (const unsigned char *)cubin.ptr, .len = cubin.len};
	const struct kgb_record record = {.images = image, .n_images = 1};
	if (kgb_provenance_prove(provenance, &record, &no_claims, err) < 0)
		return -1;
	printf("%s %s %s\n", kgb_compiler_find(compiler, digest) ? "made" : "unknown",
	       image->proof->kind == KGB_PROOF_TRITON ? "triton" : "none", digest);
	return 0;
}

static int print_results(struct kgb_compiler *compiler, struct kgb_provenance *provenance,
			 char *text, struct kgb_err *err)
{
	for (char *line = text; *line;) {
		char *end = strchrnul(line, '\n');
		char *next = *end ? end + 1 : end;
		*end = '\0';
		if (print_one(compiler, provenance, line, err) < 0)
			return -1;
		line = next;
	}
	printf("recalled %lld\n", (long long)kgb_compiler_n_recalled(compiler));
	return 0;
}

static int serve(struct kgb_compiler *compiler, struct kgb_provenance *provenance, char **argv,
		 struct kgb_err *err)
{
	struct kgb_compiler_seat *seats[N_SEATS] = {NULL};
	KGB_AUTO(buf) struct kgb_buf said = KGB_BUF_INIT(0);
	int fds[N_SEATS];
	int rc = 0;

	for (int i = 0; i < N_SEATS && rc == 0; i++)
		rc = kgb_compiler_sit(compiler, &seats[i], &fds[i], err);
	if (rc == 0)
		rc = run_program(argv, fds, &said, err);
	for (int i = 0; i < N_SEATS; i++)
		kgb_compiler_leave(seats[i]);
	return rc == 0 ? print_results(compiler, provenance, said.ptr, err) : rc;
}

/* Nothing but what was made here can be proved: there are no libraries and no claims. */
static int serve_and_prove(struct kgb_zygote *zygote, const struct kgb_disk_cache *proofs,
			   char **argv, unsigned sm, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_path_join(argv[2], "verify/policy/device.yaml");
	struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;
	struct kgb_device_policy *policy = NULL;
	struct kgb_compiler *compiler = kgb_compiler_new(zygote, proofs);
	struct kgb_provenance *provenance = kgb_xcalloc(1, sizeof(*provenance));
	int rc = kgb_device_policy_load(path, &policy, err);
	const struct kgb_provenance_spec spec = {
		.compiler = zygote, .index = &index, .policy = policy, .sm = sm, .maker = compiler};

	kgb_provenance_init(provenance, &spec);
	kgb_compiler_set_sm(compiler, sm);
	if (rc == 0)
		rc = serve(compiler, provenance, argv + 6, err);
	kgb_provenance_release(provenance);
	kgb_free(provenance);
	kgb_compiler_free(compiler);
	kgb_device_policy_free(policy);
	return rc;
}

static int run(char **argv, struct kgb_err *err)
{
	const struct kgb_zygote_spec places = {.python = argv[1],
					       .data_dir = argv[2],
					       .library = argv[3],
					       .device = KGB_DEVICE_CPU};
	struct kgb_zygote zygote = {0};
	struct kgb_disk_cache *proofs = NULL;
	int64_t sm;

	if (kgb_parse_i64(argv[5], 1, 999, &sm, err) < 0 ||
	    kgb_disk_cache_new(&proofs, argv[4], KGB_PROOF_CACHE_ENTRY_MAX,
			       KGB_PROOF_CACHE_TOTAL_MAX, err) < 0)
		return -1;
	int rc = kgb_zygote_start(&zygote, KGB_ROLE_COMPILE, &places, err);
	if (rc == 0)
		rc = kgb_zygote_wait_ready(&zygote, READY_MS, err);
	if (rc == 0)
		rc = serve_and_prove(&zygote, proofs, argv, (unsigned)sm, err);
	kgb_zygote_stop(&zygote);
	kgb_disk_cache_free(proofs);
	return rc;
}

int main(int argc, char **argv)
{
	struct kgb_err err = KGB_ERR_INIT;
	int rc = argc < 7 ? kgb_fail(&err, KGB_ERR_INVALID, "see the head of the source")
			  : run(argv, &err);

	if (rc < 0)
		fprintf(stderr, "compiler_driver: %s\n", err.msg);
	return rc == 0 ? 0 : 1;
}
