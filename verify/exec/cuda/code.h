/* SPDX-License-Identifier: MIT */
/** \file
 * Images of code that are loaded, and kernels found in them. Plans with the same image share the
 * loaded copy, which stays for a while without a user, because loading is most of a plan's cost. No
 * state passes from plan to plan: a candidate may not have images with variables
 * (docs/provenance.md). */
#ifndef KGB_VERIFY_EXEC_CUDA_CODE_H
#define KGB_VERIFY_EXEC_CUDA_CODE_H

#include "base/vec.h"
#include "verify/exec/cuda/gpu.h"
#include "verify/protocol/exec_protocol.h"

/** A kernel of a loaded image. The driver keeps one set of attributes for it. */
struct kgb_kernel {
	char *name; /* owned */
	CUfunction function; /* of the current copy */
	CUfunction functions[KGB_EXEC_CODE_COPIES]; /* NULL: that copy's is not loaded yet */
	uint64_t *offsets; /* owned; of its parameters */
	size_t n_params;
	uint64_t params_bytes; /* end of the last one */
	uint32_t shared_bytes; /* limit of dynamic shared memory that was set; 0: none */
	bool clusters; /* of any size */
	int32_t carveout; /* current setting; -1: never set; INT32_MIN: unknown */
};

struct kgb_loaded {
	unsigned char *bytes; /* owned; the image */
	size_t len;
	CUlibrary copies[KGB_EXEC_CODE_COPIES]; /* the same at different places */
	size_t n_copies, current;
	KGB_VEC(struct kgb_kernel *) kernels; /* owned, as the kernels are */
	size_t n_users; /* plans */
	bool moves; /* its users take part in the next kgb_code_cache_move */
	uint64_t used; /* number of its last use */
};

struct kgb_code_cache {
	struct kgb_gpu *gpu; /* borrowed */
	struct kgb_loaded **items; /* owned */
	size_t n, cap;
	uint64_t n_uses;
};

/** Load an image, or find it loaded. Give it back with kgb_code_cache_give. */
KGB_MUST_CHECK int kgb_code_cache_take(struct kgb_code_cache *code, const void *image, size_t len,
				       struct kgb_loaded **out, struct kgb_err *err);
void kgb_code_cache_give(struct kgb_code_cache *code, struct kgb_loaded *loaded);
/** A kernel of an image by name; *out lives as long as the image is taken. Its code is on the
 * device afterwards. */
KGB_MUST_CHECK int kgb_code_cache_kernel(struct kgb_code_cache *code, struct kgb_loaded *loaded,
					 const char *name, struct kgb_kernel **out,
					 struct kgb_err *err);
/** Let launches of a kernel have this much dynamic shared memory. */
KGB_MUST_CHECK int kgb_code_cache_allow_shared(struct kgb_code_cache *code,
					       struct kgb_kernel *kernel, uint32_t bytes,
					       struct kgb_err *err);
/** Let launches of a kernel have clusters of more than 8 blocks, where there are clusters. */
void kgb_code_cache_allow_clusters(struct kgb_code_cache *code, struct kgb_kernel *kernel);
/** Set a kernel's carveout before a launch. The driver keeps one setting for each kernel, and
 * launches may request different ones. */
CUresult kgb_code_cache_set_carveout(struct kgb_code_cache *code, struct kgb_kernel *kernel,
				     int32_t carveout);

/** Move the images that move, as all do in the beginning, to other places on the device. Copies are
 * loaded and stay until there are KGB_EXEC_CODE_COPIES. Then `seed` chooses one of the others: a
 * new copy takes its place, or, of a large image, that copy is used. Images without a user are
 * dropped. Nothing may run. On failure the kernels of that image are as before. */
KGB_MUST_CHECK int kgb_code_cache_move(struct kgb_code_cache *code, uint64_t seed,
				       struct kgb_err *err);
/** Load all copies of the images that move, but of small ones, of which each move loads one.
 * Nothing may run. */
KGB_MUST_CHECK int kgb_code_cache_load(struct kgb_code_cache *code, struct kgb_err *err);

#endif
