/* SPDX-License-Identifier: MIT */
/* Compiles for a program as the judge does for a runner (verify/provenance/compiler.h), then proves
 * where code comes from; for tests. Prints one JSON object per line.
 *
 *   provenance_driver index [--cache DIR] LIBRARY...
 *   provenance_driver serve --python FILE --data DIR --kgbrun FILE --proofs DIR [--cache DIR]
 *                           --kernel FILE [--library FILE]... [--record FILE] [--cpu] PROGRAM
 *                           [ARGUMENT...]
 *
 * The program finds the numbers of three sockets of the compiler in KGB_SEATS. Each line that it
 * prints is the path of a cubin, with --cpu of an image of the CPU. The candidate's kernel.py is
 * FILE. When
 * it has ended, a line is printed for each cubin with its proof, for each launch of the record with
 * its owner, and last {"recalled": N}. Exit status 0 when the program's is and everything was
 * answered, whatever the answers are. */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/formats/jsonw.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "verify/provenance/proof_cache.h"
#include "verify/provenance/provenance.h"

enum { READY_MS = 120 * 1000, N_SEATS = 3, FIRST_SEAT_FD = 20 };

struct arguments {
	const char *python, *data, *kgbrun, *proofs, *cache, *record, *kernel;
	struct kgb_strv libraries;
	bool cpu;
	char **rest;
};

static const char *const kinds[] = {"triton", "library", "moves", "none", "undecided"};
static const char *const owners[] = {"triton", "torch_move", "library", "unknown", "undecided"};

static void print_line(struct kgb_buf *line)
{
	puts(line->ptr);
	fflush(stdout);
	kgb_buf_clear(line);
}

/* ---- libraries ---- */

static int add_libraries(const struct kgb_strv *libraries, const struct kgb_disk_cache *cache,
			 struct kgb_image_index *index, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf line = KGB_BUF_INIT(0);

	for (size_t i = 0; i < libraries->n; i++) {
		struct kgb_jsonw w;
		int64_t started_ns = kgb_mono_ns();
		if (kgb_image_index_add(index, libraries->items[i], cache, err) < 0)
			return -1;
		const struct kgb_library_images *library = &index->libraries[i];
		kgb_jsonw_init(&w, &line, 0);
		kgb_jsonw_put(&w, "{library: %s, digests: %zu, cached: %hhd, ms: %g}",
			      library->name, library->digests.n, library->cached,
			      (double)(kgb_mono_ns() - started_ns) / 1e6);
		print_line(&line);
	}
	return 0;
}

static int make_index(const struct kgb_strv *libraries, const char *dir,
		      struct kgb_image_index *index, struct kgb_err *err)
{
	struct kgb_disk_cache *cache =
		kgb_disk_cache_try(dir, KGB_INDEX_ENTRY_MAX, KGB_INDEX_TOTAL_MAX);
	int rc = add_libraries(libraries, cache, index, err);

	kgb_disk_cache_free(cache);
	return rc;
}

/* ---- the program ---- */

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
		(void)setenv("KGB_SEATS", "20 21 22", 1);
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

static int serve(struct kgb_compiler *compiler, const struct kgb_buf *kernel, char **argv,
		 struct kgb_buf *said, struct kgb_err *err)
{
	struct kgb_compiler_seat *seats[N_SEATS] = {NULL};
	struct kgb_worker nobody = KGB_WORKER_INIT;
	int fds[N_SEATS];
	int rc = 0;

	for (int i = 0; i < N_SEATS && rc == 0; i++)
		rc = kgb_compiler_sit(compiler, &nobody, kernel, !kernel, &seats[i], &fds[i], err);
	if (rc == 0)
		rc = run_program(argv, fds, said, err);
	for (int i = 0; i < N_SEATS; i++)
		kgb_compiler_leave(seats[i]);
	return rc;
}

/* ---- proofs ---- */

static int print_cubin(struct kgb_provenance *provenance, const char *path, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf cubin = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf line = KGB_BUF_INIT(0);
	char digest[KGB_SHA256_HEX_LEN];
	struct kgb_jsonw w;

	if (kgb_fs_read(AT_FDCWD, path, KGB_CUBIN_BYTES_MAX, &cubin, err) < 0)
		return -1;
	kgb_sha256_hex(cubin.ptr, cubin.len, digest);
	struct kgb_image image = {.bytes = (const unsigned char *)cubin.ptr, .len = cubin.len};
	const struct kgb_record record = {.images = &image, .n_images = 1};
	if (kgb_provenance_prove(provenance, &record, err) < 0)
		return -1;
	const struct kgb_image_proof *proof = image.proof;
	struct kgb_compiled found;
	const bool made = kgb_compiler_find(provenance->spec.compiler, digest, &found);
	const char *kernel = proof->kind == KGB_PROOF_MOVES ? "fill"
			     : proof->kernels.n > 0         ? proof->kernels.items[0]
							    : "";
	kgb_jsonw_init(&w, &line, 0);
	kgb_jsonw_put(
		&w,
		"{file: %s, sha256: %s, made: %hhd, proof: %s, name: %s, reason: %s, owner: %s, "
		"inline_asm: %zu}",
		path, digest, made, kinds[proof->kind], proof->name, proof->reason,
		owners[kgb_provenance_owner(&image, kernel, provenance)], proof->n_inline_asm);
	print_line(&line);
	return 0;
}

static int print_cubins(struct kgb_provenance *provenance, char *paths, struct kgb_err *err)
{
	for (char *path = paths; *path;) {
		char *end = strchrnul(path, '\n');
		char *next = *end ? end + 1 : end;
		*end = '\0';
		if (print_cubin(provenance, path, err) < 0)
			return -1;
		path = next;
	}
	return 0;
}

static void print_launch(const struct kgb_provenance *provenance, const struct kgb_record *record,
			 uint32_t window, const struct kgb_launch *launch)
{
	KGB_AUTO(buf) struct kgb_buf line = KGB_BUF_INIT(0);
	const struct kgb_image *image = kgb_record_image(record, launch->image);
	const struct kgb_image_proof *proof = image->proof;
	struct kgb_jsonw w;

	kgb_jsonw_init(&w, &line, 0);
	kgb_jsonw_put(&w,
		      "{window: %d, kernel: %s, owner: %s, proof: %s, name: %s, reason: %s, "
		      "image_bytes: %zu}",
		      (int)window, launch->kernel,
		      owners[kgb_provenance_owner(image, launch->kernel, provenance)],
		      kinds[proof->kind], proof->name, proof->reason, image->len);
	print_line(&line);
}

static int print_record(struct kgb_provenance *provenance, const char *path, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	struct kgb_record record;

	if (kgb_fs_read(AT_FDCWD, path, KGB_RECORD_BYTES_MAX, &bytes, err) < 0 ||
	    kgb_record_parse(bytes.ptr, bytes.len, &record, err) < 0)
		return kgb_ctx(err, "%s", path);
	int rc = kgb_provenance_prove(provenance, &record, err);
	for (size_t i = 0; i < record.n_windows && rc == 0; i++) {
		const struct kgb_window *window = &record.windows[i];
		for (size_t j = 0; j < window->n_ops; j++)
			if (window->ops[j].kind == KGB_OP_LAUNCH)
				print_launch(provenance, &record, window->number,
					     &window->ops[j].launch);
	}
	kgb_record_release(&record);
	return rc;
}

static int serve_and_prove(struct kgb_zygote *zygote, const struct kgb_disk_cache *proofs,
			   const struct arguments *arguments, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_path_join(arguments->data, "verify/policy/device.yaml");
	KGB_AUTO(buf) struct kgb_buf said = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(0);
	struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;
	struct kgb_device_policy *policy = NULL;
	struct kgb_compiler *compiler = kgb_compiler_new(zygote, proofs);
	struct kgb_provenance *provenance = kgb_xcalloc(1, sizeof(*provenance));
	int rc = kgb_device_policy_load(path, &policy, err);
	if (rc == 0)
		rc = kgb_fs_read(AT_FDCWD, arguments->kernel, 1 << 20, &kernel, err);
	const struct kgb_provenance_spec spec = {
		.compiler = compiler,
		.kernel_text = kernel.ptr,
		.kernel_len = kernel.len,
		.sm = KGB_CPU_SM,
		.index = arguments->cpu ? NULL : &index,
		.policy = policy,
	};

	kgb_provenance_init(provenance, &spec);
	if (rc == 0)
		rc = make_index(&arguments->libraries, arguments->cache, &index, err);
	if (rc == 0)
		rc = serve(compiler, arguments->cpu ? &kernel : NULL, arguments->rest, &said, err);
	if (rc == 0)
		rc = print_cubins(provenance, said.ptr, err);
	if (rc == 0 && arguments->record)
		rc = print_record(provenance, arguments->record, err);
	if (rc == 0)
		printf("{\"recalled\":%lld}\n", (long long)kgb_compiler_n_recalled(compiler));
	kgb_provenance_release(provenance);
	kgb_free(provenance);
	kgb_compiler_free(compiler);
	kgb_image_index_release(&index);
	kgb_device_policy_free(policy);
	return rc;
}

static int start_and_serve(const struct arguments *arguments, struct kgb_err *err)
{
	const struct kgb_zygote_spec places = {.python = arguments->python,
					       .data_dir = arguments->data,
					       .library = arguments->kgbrun,
					       .device = KGB_DEVICE_CPU};
	struct kgb_zygote zygote = {0};
	struct kgb_disk_cache *proofs = NULL;

	if (!arguments->python || !arguments->data || !arguments->kgbrun || !arguments->proofs ||
	    !arguments->kernel || !arguments->rest[0])
		return kgb_fail(err, KGB_ERR_INVALID, "see the head of the source for arguments");
	if (kgb_disk_cache_new(&proofs, arguments->proofs, KGB_PROOF_CACHE_ENTRY_MAX,
			       KGB_PROOF_CACHE_TOTAL_MAX, err) < 0)
		return -1;
	int rc = kgb_zygote_start(&zygote, KGB_ROLE_COMPILE, &places, err);
	if (rc == 0)
		rc = kgb_zygote_wait_ready(&zygote, READY_MS, err);
	if (rc == 0)
		rc = serve_and_prove(&zygote, proofs, arguments, err);
	kgb_zygote_stop(&zygote);
	kgb_disk_cache_free(proofs);
	return rc;
}

/* ---- arguments ---- */

static int parse(int argc, char **argv, struct arguments *out, struct kgb_err *err)
{
	static const struct option options[] = {
		{"python", required_argument, NULL, 'p'}, {"data", required_argument, NULL, 'd'},
		{"kgbrun", required_argument, NULL, 'k'}, {"proofs", required_argument, NULL, 'o'},
		{"cache", required_argument, NULL, 'i'},  {"library", required_argument, NULL, 'l'},
		{"record", required_argument, NULL, 'r'}, {"kernel", required_argument, NULL, 't'},
		{"cpu", no_argument, NULL, 'u'},          {NULL, 0, NULL, 0},
	};
	const struct {
		int letter;
		const char **place;
	} places[] = {{'p', &out->python}, {'d', &out->data},  {'k', &out->kgbrun},
		      {'o', &out->proofs}, {'i', &out->cache}, {'r', &out->record},
		      {'t', &out->kernel}};
	int letter;

	while ((letter = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (letter == '?')
			return kgb_fail(err, KGB_ERR_INVALID, "unknown option");
		out->cpu |= letter == 'u';
		if (letter == 'l')
			kgb_strv_add(&out->libraries, optarg);
		for (size_t i = 0; i < KGB_ARRAY_LEN(places); i++)
			if (places[i].letter == letter)
				*places[i].place = optarg;
	}
	out->rest = argv + optind;
	return 0;
}

static int run(const char *command, struct arguments *arguments, struct kgb_err *err)
{
	struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;

	if (!kgb_str_eq(command, "index"))
		return start_and_serve(arguments, err);
	for (char **path = arguments->rest; *path; path++)
		kgb_strv_add(&arguments->libraries, *path);
	int rc = make_index(&arguments->libraries, arguments->cache, &index, err);
	kgb_image_index_release(&index);
	return rc;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.libraries = KGB_STRV_INIT};
	struct kgb_err err = KGB_ERR_INIT;
	int rc = argc < 2 ? kgb_fail(&err, KGB_ERR_INVALID, "index or serve?")
			  : parse(argc - 1, argv + 1, &arguments, &err);

	if (rc == 0)
		rc = run(argv[1], &arguments, &err);
	if (rc < 0)
		fprintf(stderr, "provenance_driver: %s\n", err.msg);
	kgb_strv_release(&arguments.libraries);
	return rc == 0 ? 0 : 1;
}
