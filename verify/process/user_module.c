/* SPDX-License-Identifier: MIT */
#include "verify/process/user_module.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"

static const char *const kinds[] = {"fused", "fast",   "my",  "tiled",
				    "small", "triton", "new", "row"};
static const char *const things[] = {"ops",    "kernels", "math", "rows",
				     "layers", "funcs",   "impl", "blocks"};
static const char *const homes[] = {"projects", "src", "code", "work", "experiments", "repos"};
static const char *const projects[] = {"attention", "llm", "vision", "serving", "bench", "model"};
static const char *const roots[] = {"/home/", "/mnt/", "/srv/", "/data/", "/workspace/"};
static const char *const users[] = {"lee", "ana", "sam", "kim", "max", "eva"};

enum { RANKS = 8 };

/* A number below n. */
static unsigned below(uint64_t *state, size_t n)
{
	return (unsigned)(kgb_splitmix64(state) % n);
}

#define PICK(state, words) ((words)[below((state), KGB_ARRAY_LEN(words))])

void kgb_user_module_draw(uint64_t number, struct kgb_user_module *out)
{
	const char *kind = PICK(&number, kinds);
	const char *thing = PICK(&number, things);
	const char *home = PICK(&number, homes);
	const char *project = PICK(&number, projects);

	snprintf(out->name, sizeof(out->name), "%s_%s%u", kind, thing, 1 + below(&number, 99));
	snprintf(out->folder, sizeof(out->folder), "%s/%s%u", home, project,
		 1 + below(&number, 99));
	out->rank = 1 + below(&number, RANKS - 1);
}

void kgb_user_folder_draw(char *out, size_t cap)
{
	uint64_t number = 0;

	kgb_random(&number, sizeof(number));
	const char *root = PICK(&number, roots);
	const char *user = PICK(&number, users);
	snprintf(out, cap, "%s%s%u", root, user, 100000 + below(&number, 900000));
}
