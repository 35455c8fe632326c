/* SPDX-License-Identifier: MIT */
/* Proves where code comes from, as the judge does, for tests: one JSON object per line.
 *
 *   provenance_driver cubin FILE...
 *   provenance_driver index [--cache DIR] LIBRARY...
 *   provenance_driver prove --python FILE --data DIR --kgbrun FILE --sm N --claims FILE
 *                           [--cache DIR] [--library FILE]... [--kernel NAME] [--proofs DIR]
 *                           [--limit MS] (IMAGE... | --record FILE)
 *
 * Exit status 0 when everything was answered, whatever the answers are. */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/formats/jsonw.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "verify/provenance/proof_cache.h"
#include "verify/provenance/provenance.h"

enum { READY_MS = 120 * 1000, IMAGE_MS = 120 * 1000 };

struct arguments {
	const char *python, *data, *kgbrun, *claims, *cache, *kernel, *record, *proofs;
	int64_t sm, limit_ms;
	bool together;
	struct kgb_strv libraries, files;
};

static void print_line(struct kgb_buf *line)
{
	puts(line->ptr);
	fflush(stdout);
	kgb_buf_clear(line);
}

static void put_names(struct kgb_jsonw *w, const char *key, const struct kgb_cubin_names *names)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_array(w);
	for (size_t i = 0; i < names->n; i++)
		kgb_jsonw_str(w, names->items[i]);
	kgb_jsonw_array_end(w);
}

static int print_cubin(const char *path, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf line = KGB_BUF_INIT(0);
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	struct kgb_cubin cubin;
	struct kgb_jsonw w;

	if (kgb_fs_read(AT_FDCWD, path, KGB_CUBIN_BYTES_MAX, &bytes, err) < 0 ||
	    kgb_cubin_read(bytes.ptr, bytes.len, &arena, &cubin, err) < 0)
		return kgb_ctx(err, "%s", path);
	kgb_jsonw_init(&w, &line, 0);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "file", path);
	kgb_jsonw_ki64(&w, "sm", cubin.sm);
	kgb_jsonw_kstr(&w, "code_sha256", cubin.code_sha256);
	kgb_jsonw_kstr(&w, "load_sha256", cubin.load_sha256);
	put_names(&w, "kernels", &cubin.kernels);
	put_names(&w, "variables", &cubin.variables);
	put_names(&w, "imports", &cubin.imports);
	kgb_jsonw_ki64(&w, "zeroed_bytes", (int64_t)cubin.zeroed_bytes);
	kgb_jsonw_object_end(&w);
	print_line(&line);
	return 0;
}

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
		kgb_jsonw_object(&w);
		kgb_jsonw_kstr(&w, "library", library->name);
		kgb_jsonw_ki64(&w, "digests", (int64_t)library->digests.n);
		kgb_jsonw_kbool(&w, "cached", library->cached);
		kgb_jsonw_knum(&w, "ms", (double)(kgb_mono_ns() - started_ns) / 1e6);
		kgb_jsonw_object_end(&w);
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

static const char *const kinds[] = {"triton", "library", "none", "undecided"};
static const char *const owners[] = {"triton", "torch_move", "library", "unknown", "undecided"};

/* A record of one image. */
static int print_proof(struct kgb_provenance *provenance, const struct kgb_triton_claims *claims,
		       const char *path, const struct kgb_image *image, const char *kernel,
		       struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf line = KGB_BUF_INIT(0);
	struct kgb_record record = {.n_images = 1};
	struct kgb_jsonw w;
	int64_t started_ns = kgb_mono_ns();

	record.images = kgb_arena_alloc(&provenance->arena, sizeof(*record.images));
	*record.images = *image;
	if (kgb_provenance_prove(provenance, &record, claims, err) < 0)
		return -1;
	const struct kgb_image_proof *proof = record.images->proof;
	if (!kernel)
		kernel = proof->kernels.n > 0 ? proof->kernels.items[0] : "";
	kgb_jsonw_init(&w, &line, 0);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "file", path);
	kgb_jsonw_kstr(&w, "proof", kinds[proof->kind]);
	kgb_jsonw_kstr(&w, "name", proof->name);
	kgb_jsonw_kstr(&w, "reason", proof->reason);
	kgb_jsonw_kstr(&w, "kernel", kernel);
	kgb_jsonw_kstr(&w, "owner",
		       owners[kgb_provenance_owner(record.images, kernel, provenance)]);
	kgb_jsonw_kbool(&w, "same_bytes",
			proof->cubin_len == image->len &&
				memcmp(proof->cubin, image->bytes, image->len) == 0);
	kgb_jsonw_ki64(&w, "inline_asm", (int64_t)proof->n_inline_asm);
	kgb_jsonw_ki64(&w, "recalled", provenance->n_recalled);
	kgb_jsonw_knum(&w, "ms", (double)(kgb_mono_ns() - started_ns) / 1e6);
	kgb_jsonw_object_end(&w);
	print_line(&line);
	return 0;
}

static void print_launch(const struct kgb_provenance *provenance, const struct kgb_record *record,
			 uint32_t window, const struct kgb_launch *launch)
{
	KGB_AUTO(buf) struct kgb_buf line = KGB_BUF_INIT(0);
	const struct kgb_image *image = kgb_record_image(record, launch->image);
	const struct kgb_image_proof *proof = image->proof;
	const struct kgb_image code = kgb_provenance_code(image);
	struct kgb_jsonw w;

	kgb_jsonw_init(&w, &line, 0);
	kgb_jsonw_object(&w);
	kgb_jsonw_ki64(&w, "window", window);
	kgb_jsonw_kstr(&w, "kernel", launch->kernel);
	kgb_jsonw_kstr(&w, "owner",
		       owners[kgb_provenance_owner(image, launch->kernel, provenance)]);
	kgb_jsonw_kstr(&w, "proof", kinds[proof->kind]);
	kgb_jsonw_kstr(&w, "name", proof->name);
	kgb_jsonw_kstr(&w, "reason", proof->reason);
	kgb_jsonw_ki64(&w, "image_bytes", (int64_t)image->len);
	kgb_jsonw_kbool(&w, "own_code", code.bytes != image->bytes);
	kgb_jsonw_object_end(&w);
	print_line(&line);
}

/* Every launch of a record that the trace library wrote. */
static int prove_record(struct kgb_provenance *provenance, const struct kgb_triton_claims *claims,
			const char *path, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	struct kgb_record record;

	if (kgb_fs_read(AT_FDCWD, path, KGB_RECORD_BYTES_MAX, &bytes, err) < 0 ||
	    kgb_record_parse(bytes.ptr, bytes.len, &record, err) < 0)
		return kgb_ctx(err, "%s", path);
	int rc = kgb_provenance_prove(provenance, &record, claims, err);
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

static int read_images(struct kgb_arena *arena, const struct kgb_strv *files,
		       struct kgb_image *images, struct kgb_err *err)
{
	for (size_t i = 0; i < files->n; i++) {
		KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
		if (kgb_fs_read(AT_FDCWD, files->items[i], KGB_CUBIN_BYTES_MAX, &bytes, err) < 0)
			return -1;
		unsigned char *copy = kgb_arena_alloc(arena, bytes.len + 1);
		memcpy(copy, bytes.ptr, bytes.len);
		images[i] = (struct kgb_image){.id = (uint32_t)i, .bytes = copy, .len = bytes.len};
	}
	return 0;
}

/* All images as those of one record. */
static int prove_together(struct kgb_provenance *provenance, const struct kgb_triton_claims *claims,
			  struct kgb_image *images, size_t n, struct kgb_err *err)
{
	const struct kgb_record record = {.images = images, .n_images = n};
	int64_t started_ns = kgb_mono_ns();

	if (kgb_provenance_prove(provenance, &record, claims, err) < 0)
		return -1;
	fprintf(stderr, "%zu images together: %.0f ms\n", n,
		(double)(kgb_mono_ns() - started_ns) / 1e6);
	return 0;
}

static int prove_files(struct kgb_provenance *provenance, const struct arguments *arguments,
		       struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	const struct kgb_strv *files = &arguments->files;
	struct kgb_image *images = kgb_arena_array(&arena, files->n + 1, sizeof(*images));
	struct kgb_triton_claims claims = KGB_CLAIMS_INIT;
	int rc;

	if (kgb_fs_read(AT_FDCWD, arguments->claims, KGB_CLAIMS_BYTES_MAX, &text, err) < 0 ||
	    kgb_triton_claims_parse(text.ptr, text.len, &claims, err) < 0)
		return kgb_ctx(err, "%s", arguments->claims);
	rc = read_images(&arena, files, images, err);
	if (rc == 0 && arguments->record)
		rc = prove_record(provenance, &claims, arguments->record, err);
	if (rc == 0 && arguments->together)
		rc = prove_together(provenance, &claims, images, files->n, err);
	for (size_t i = 0; i < files->n && rc == 0; i++)
		rc = print_proof(provenance, &claims, files->items[i], &images[i],
				 arguments->kernel, err);
	kgb_triton_claims_release(&claims);
	return rc;
}

static int prove(const struct arguments *arguments, struct kgb_err *err)
{
	const struct kgb_zygote_spec places = {.python = arguments->python,
					       .data_dir = arguments->data,
					       .library = arguments->kgbrun,
					       .device = KGB_DEVICE_CPU};
	KGB_AUTO(free)
	char *policy_path = kgb_path_join(arguments->data, "verify/policy/device.yaml");
	struct kgb_device_policy *policy = NULL;
	struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;
	struct kgb_zygote compiler = {0};
	struct kgb_provenance *provenance = kgb_xcalloc(1, sizeof(*provenance));
	struct kgb_disk_cache *proofs = NULL;
	int rc = kgb_device_policy_load(policy_path, &policy, err);

	if (rc == 0 && arguments->proofs)
		rc = kgb_disk_cache_new(&proofs, arguments->proofs, KGB_PROOF_CACHE_ENTRY_MAX,
					KGB_PROOF_CACHE_TOTAL_MAX, err);
	if (rc == 0)
		rc = make_index(&arguments->libraries, arguments->cache, &index, err);
	if (rc == 0)
		rc = kgb_zygote_start(&compiler, KGB_ROLE_COMPILE, &places, err);
	if (rc == 0)
		rc = kgb_zygote_wait_ready(&compiler, READY_MS, err);
	if (rc == 0) {
		const struct kgb_provenance_spec spec = {.compiler = &compiler,
							 .index = &index,
							 .policy = policy,
							 .sm = (unsigned)arguments->sm,
							 .timeout_ms = arguments->limit_ms,
							 .cache = proofs};
		kgb_provenance_init(provenance, &spec);
		rc = prove_files(provenance, arguments, err);
	}
	kgb_provenance_release(provenance);
	kgb_free(provenance);
	kgb_zygote_stop(&compiler);
	kgb_disk_cache_free(proofs);
	kgb_image_index_release(&index);
	kgb_device_policy_free(policy);
	return rc;
}

static int parse(int argc, char **argv, struct arguments *out, struct kgb_err *err)
{
	static const struct option options[] = {
		{"python", required_argument, NULL, 'p'},
		{"data", required_argument, NULL, 'd'},
		{"kgbrun", required_argument, NULL, 'k'},
		{"claims", required_argument, NULL, 'c'},
		{"cache", required_argument, NULL, 'i'},
		{"library", required_argument, NULL, 'l'},
		{"kernel", required_argument, NULL, 'n'},
		{"sm", required_argument, NULL, 's'},
		{"record", required_argument, NULL, 'r'},
		{"proofs", required_argument, NULL, 'o'},
		{"together", no_argument, NULL, 't'},
		{"limit", required_argument, NULL, 'm'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'p':
			out->python = optarg;
			break;
		case 'd':
			out->data = optarg;
			break;
		case 'k':
			out->kgbrun = optarg;
			break;
		case 'c':
			out->claims = optarg;
			break;
		case 'i':
			out->cache = optarg;
			break;
		case 'l':
			kgb_strv_add(&out->libraries, optarg);
			break;
		case 'n':
			out->kernel = optarg;
			break;
		case 'r':
			out->record = optarg;
			break;
		case 'o':
			out->proofs = optarg;
			break;
		case 'm':
			if (kgb_parse_i64(optarg, 1, IMAGE_MS, &out->limit_ms, err) < 0)
				return -1;
			break;
		case 't':
			out->together = true;
			break;
		case 's':
			if (kgb_parse_i64(optarg, 1, 999, &out->sm, err) < 0)
				return -1;
			break;
		default:
			return kgb_fail(err, KGB_ERR_INVALID, "unknown option");
		}
	}
	for (int i = optind; i < argc; i++)
		kgb_strv_add(&out->files, argv[i]);
	return 0;
}

static int run(const char *command, const struct arguments *arguments, struct kgb_err *err)
{
	struct kgb_image_index index = KGB_IMAGE_INDEX_INIT;
	int rc = 0;

	if (kgb_str_eq(command, "cubin")) {
		for (size_t i = 0; i < arguments->files.n && rc == 0; i++)
			rc = print_cubin(arguments->files.items[i], err);
		return rc;
	}
	if (kgb_str_eq(command, "index")) {
		rc = make_index(&arguments->files, arguments->cache, &index, err);
		kgb_image_index_release(&index);
		return rc;
	}
	if (!kgb_str_eq(command, "prove") || !arguments->python || !arguments->data ||
	    !arguments->kgbrun || !arguments->claims || !arguments->sm)
		return kgb_fail(err, KGB_ERR_INVALID, "see the head of the source for arguments");
	return prove(arguments, err);
}

int main(int argc, char **argv)
{
	struct arguments arguments = {
		.libraries = KGB_STRV_INIT, .files = KGB_STRV_INIT, .limit_ms = IMAGE_MS};
	struct kgb_err err = KGB_ERR_INIT;
	int rc = argc < 2 ? kgb_fail(&err, KGB_ERR_INVALID, "cubin, index or prove?")
			  : parse(argc - 1, argv + 1, &arguments, &err);

	if (rc == 0)
		rc = run(argv[1], &arguments, &err);
	if (rc < 0)
		fprintf(stderr, "provenance_driver: %s\n", err.msg);
	kgb_strv_release(&arguments.libraries);
	kgb_strv_release(&arguments.files);
	return rc == 0 ? 0 : 1;
}
