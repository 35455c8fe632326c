/* SPDX-License-Identifier: MIT */
#include "verify/tensor/tensor_view.h"

#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/str.h"

#define ROW_GAP 7
#define STORAGE_OFFSET 3
#define ALIGNED_OFFSET 64
#define COLUMNS 131
#define ODD_STRIDE 12345

int64_t kgb_tensor_view_numel(const struct kgb_tensor_view *view)
{
	int64_t n = 1;
	for (int k = 0; k < view->ndim; k++)
		n *= view->sizes[k];
	return n;
}

size_t kgb_tensor_view_bytes(const struct kgb_tensor_view *view)
{
	return (size_t)kgb_tensor_view_numel(view) * kgb_dtype_size(view->dtype);
}

size_t kgb_tensor_view_storage_bytes(const struct kgb_tensor_view *view)
{
	return (size_t)view->storage_elements * kgb_dtype_size(view->dtype);
}

int64_t kgb_tensor_view_element(const struct kgb_tensor_view *view, int64_t i)
{
	int64_t at = view->offset;
	for (int k = view->ndim - 1; k >= 0; k--) {
		at += i % view->sizes[k] * view->strides[k];
		i /= view->sizes[k];
	}
	return at;
}

struct kgb_tensor_view kgb_tensor_view_transposed(const struct kgb_tensor_view *view)
{
	struct kgb_tensor_view out = *view;
	const int last = view->ndim - 1;

	out.sizes[last - 1] = view->sizes[last];
	out.sizes[last] = view->sizes[last - 1];
	out.strides[last - 1] = view->strides[last];
	out.strides[last] = view->strides[last - 1];
	return out;
}

bool kgb_tensor_view_expand(const struct kgb_tensor_view *view, const struct kgb_tensor_view *like,
			    struct kgb_tensor_view *out)
{
	const int n_new = like->ndim - view->ndim;
	bool repeats = false;

	*out = *view;
	out->ndim = like->ndim;
	for (int i = 0; i < like->ndim; i++) {
		const int64_t size = i < n_new ? 1 : view->sizes[i - n_new];
		if (n_new < 0 || (size != 1 && size != like->sizes[i]))
			return false;
		repeats |= size != like->sizes[i];
		out->sizes[i] = like->sizes[i];
		out->strides[i] = size == 1 ? 0 : view->strides[i - n_new];
	}
	return repeats;
}

void kgb_unravel(int64_t i, const int64_t *sizes, int ndim, int64_t *index)
{
	for (int k = ndim - 1; k >= 0; k--) {
		index[k] = i % sizes[k];
		i /= sizes[k];
	}
}

void kgb_tensor_view_walk_init(struct kgb_tensor_view_walk *walk,
			       const struct kgb_tensor_view *view)
{
	*walk = (struct kgb_tensor_view_walk){.view = view, .at = view->offset};
}

void kgb_tensor_view_walk_to(struct kgb_tensor_view_walk *walk, const struct kgb_tensor_view *view,
			     int64_t i)
{
	*walk = (struct kgb_tensor_view_walk){.view = view, .at = kgb_tensor_view_element(view, i)};
	kgb_unravel(i, view->sizes, view->ndim, walk->index);
}

void kgb_tensor_view_walk_next(struct kgb_tensor_view_walk *walk)
{
	const struct kgb_tensor_view *view = walk->view;
	for (int k = view->ndim - 1; k >= 0; k--) {
		walk->at += view->strides[k];
		if (++walk->index[k] < view->sizes[k])
			return;
		walk->at -= view->sizes[k] * view->strides[k];
		walk->index[k] = 0;
	}
}

/* Row-major strides; a size of 0 counts as 1, as in torch. -1 on overflow. */
static int contiguous_strides(const int64_t *sizes, int ndim, int64_t *strides)
{
	int64_t stride = 1;
	for (int k = ndim - 1; k >= 0; k--) {
		strides[k] = stride;
		int64_t size = sizes[k] > 0 ? sizes[k] : 1;
		if (__builtin_mul_overflow(stride, size, &stride))
			return -1;
	}
	return 0;
}

bool kgb_tensor_view_is_contiguous(const struct kgb_tensor_view *view)
{
	int64_t expected[KGB_MAX_DIMS];
	if (contiguous_strides(view->sizes, view->ndim, expected) < 0)
		return false;
	for (int k = 0; k < view->ndim; k++)
		if (view->sizes[k] != 1 && view->strides[k] != expected[k])
			return false;
	return true;
}

/* Strides of `sizes` when memory holds the dims in the order `order` (outermost first). */
static int permuted_strides(const int64_t *sizes, const int *order, int ndim, int64_t *strides)
{
	int64_t in_memory[KGB_MAX_DIMS] = {0};
	int64_t memory_strides[KGB_MAX_DIMS];
	for (int k = 0; k < ndim; k++)
		in_memory[k] = sizes[order[k]];
	if (contiguous_strides(in_memory, ndim, memory_strides) < 0)
		return -1;
	for (int k = 0; k < ndim; k++)
		strides[order[k]] = memory_strides[k];
	return 0;
}

static int layout_contiguous(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	return contiguous_strides(view->sizes, view->ndim, view->strides);
}

static int layout_transposed(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	int order[KGB_MAX_DIMS];
	for (int k = 0; k < view->ndim; k++)
		order[k] = k;
	order[view->ndim - 2] = view->ndim - 1;
	order[view->ndim - 1] = view->ndim - 2;
	return permuted_strides(view->sizes, order, view->ndim, view->strides);
}

static int layout_strided(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	if (contiguous_strides(view->sizes, view->ndim, view->strides) < 0)
		return -1;
	for (int k = 0; k < view->ndim; k++)
		if (__builtin_mul_overflow(view->strides[k], 2, &view->strides[k]))
			return -1;
	return 0;
}

/* Strides of the sizes with a gap of ROW_GAP elements in each of the dims first .. end - 1. */
static int gapped_strides(struct kgb_tensor_view *view, int first, int end)
{
	int64_t pitched[KGB_MAX_DIMS];

	memcpy(pitched, view->sizes, sizeof(pitched));
	for (int k = first; k < end; k++)
		if (__builtin_add_overflow(pitched[k], ROW_GAP, &pitched[k]))
			return -1;
	return contiguous_strides(pitched, view->ndim, view->strides);
}

static int layout_row_strided(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	return gapped_strides(view, view->ndim - 1, view->ndim);
}

static int layout_sliced(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	return gapped_strides(view, 1, view->ndim - 1);
}

static int layout_permuted(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	int order[KGB_MAX_DIMS];

	for (int k = 0; k < view->ndim - 1; k++)
		order[k] = view->ndim - 2 - k;
	order[view->ndim - 1] = view->ndim - 1;
	return permuted_strides(view->sizes, order, view->ndim, view->strides);
}

static int layout_offset(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	view->offset = STORAGE_OFFSET;
	return layout_contiguous(view, 0);
}

static int layout_behind(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	view->offset = ALIGNED_OFFSET;
	return layout_contiguous(view, 0);
}

static int layout_expanded(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	if (contiguous_strides(view->sizes, view->ndim, view->strides) < 0)
		return -1;
	view->strides[0] = 0;
	return 0;
}

static int layout_expanded_last(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	if (contiguous_strides(view->sizes, view->ndim - 1, view->strides) < 0)
		return -1;
	view->strides[view->ndim - 1] = 0;
	return 0;
}

/* base.permute(2, 0, 1) */
static int layout_rotated(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	int order[KGB_MAX_DIMS];

	for (int k = 0; k < view->ndim; k++)
		order[k] = (k + 1) % view->ndim;
	return permuted_strides(view->sizes, order, view->ndim, view->strides);
}

/* base[..., :n, :m].mT */
static int layout_cropped(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	struct kgb_tensor_view base = kgb_tensor_view_transposed(view);

	if (gapped_strides(&base, view->ndim - 2, view->ndim) < 0)
		return -1;
	base = kgb_tensor_view_transposed(&base);
	memcpy(view->strides, base.strides, sizeof(view->strides));
	return 0;
}

/* base[..., :2 * n:2] */
static int layout_stepped(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	struct kgb_tensor_view base = *view;
	const int last = view->ndim - 1;

	if (__builtin_mul_overflow(base.sizes[last], 2, &base.sizes[last]) ||
	    gapped_strides(&base, last, view->ndim) < 0)
		return -1;
	memcpy(view->strides, base.strides, sizeof(view->strides));
	view->strides[last] = 2;
	return 0;
}

/* base[..., 3] */
static int layout_column(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	if (contiguous_strides(view->sizes, view->ndim, view->strides) < 0)
		return -1;
	for (int k = 0; k < view->ndim; k++)
		if (__builtin_mul_overflow(view->strides[k], COLUMNS, &view->strides[k]))
			return -1;
	view->offset = STORAGE_OFFSET;
	return 0;
}

/* base[:, None].expand(-1, n, -1) */
static int layout_expanded_middle(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	struct kgb_tensor_view base = *view;

	base.sizes[1] = 1;
	if (contiguous_strides(base.sizes, view->ndim, view->strides) < 0)
		return -1;
	view->strides[1] = 0;
	return 0;
}

/* base.unfold(-1, n, 1) */
static int layout_windows(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	struct kgb_tensor_view base = *view;
	const int last = view->ndim - 1;

	/* A window for each element but the last ones. */
	if (__builtin_add_overflow(base.sizes[last - 1], base.sizes[last], &base.sizes[last - 1]))
		return -1;
	base.sizes[last - 1] -= base.sizes[last - 1] > 0;
	if (contiguous_strides(base.sizes, last, view->strides) < 0)
		return -1;
	view->strides[last] = 1;
	return 0;
}

static int layout_channels_last(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	static const int order[] = {0, 2, 3, 1};
	return permuted_strides(view->sizes, order, view->ndim, view->strides);
}

static int layout_channels_last_3d(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	static const int order[] = {0, 2, 3, 4, 1};
	return permuted_strides(view->sizes, order, view->ndim, view->strides);
}

/* torch.ones(()).expand(n, m) */
static int layout_expanded_all(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	memset(view->strides, 0, sizeof(view->strides));
	return 0;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
	return b == 0 ? a : common_divisor(b, a % b);
}

/* base[::2].unfold(0, 3, 1): what one dim loses, another one gains, so the last element stays where
 * it lies in a row-major tensor. Of two dims without a common divisor only the transpose does.
 * Where nothing does, the tensor is row-major. */
static int layout_crowded(struct kgb_tensor_view *view, KGB_UNUSED uint64_t number)
{
	const int last = view->ndim - 1;
	const int64_t outer = view->sizes[0] - 1, inner = view->sizes[last] - 1;

	if (contiguous_strides(view->sizes, view->ndim, view->strides) < 0)
		return -1;
	if (outer < 1 || inner < 1)
		return 0;
	const int64_t divisor = common_divisor(outer, inner);
	if (view->ndim == 2 && divisor == 1)
		return 0;
	const int64_t n = (divisor + 1) / 2;
	view->strides[0] -= inner / divisor * n;
	view->strides[last] += outer / divisor * n;
	return 0;
}

static int throw_die(uint64_t *state, int sides)
{
	return (int)(kgb_splitmix64(state) % (uint64_t)sides);
}

/* Elements of a base at most, unless the view has more. */
#define BASE_ELEMENTS_MAX ((int64_t)1 << 20)

/* How a view lies in a larger tensor, its base. */
struct cut {
	int order[KGB_MAX_DIMS]; /* of the dims in memory, outermost first */
	int64_t base[KGB_MAX_DIMS]; /* sizes of the base */
	int64_t steps[KGB_MAX_DIMS], first[KGB_MAX_DIMS];
};

static void swap_dims(struct cut *cut, int a, int b)
{
	const int dim = cut->order[a];

	cut->order[a] = cut->order[b];
	cut->order[b] = dim;
}

/* Make dim k of the base `factor` times as long, and longer by `gap`. False: the base would become
 * too large, and stays as it is. */
static bool extend(struct cut *cut, int ndim, int k, int factor, int gap)
{
	int64_t size = 0, elements = 1;

	if (__builtin_mul_overflow(cut->base[k], factor, &size) ||
	    __builtin_add_overflow(size, gap, &size))
		return false;
	for (int i = 0; i < ndim; i++)
		if (__builtin_mul_overflow(elements, i == k ? size : cut->base[i], &elements))
			return false;
	if (elements > BASE_ELEMENTS_MAX)
		return false;
	cut->base[k] = size;
	return true;
}

/* One step from the base to the view: base.permute(...), base[::2], base[:n:2], base[:-3] or
 * base[3:], in any dim. */
static void cut_once(struct cut *cut, int ndim, uint64_t *state)
{
	enum { GAP_MAX = 9 };
	const int kind = throw_die(state, 5), k = throw_die(state, ndim);
	const int gap = 1 + throw_die(state, GAP_MAX), step = 2 + gap % 2;

	switch (kind) {
	case 0:
		swap_dims(cut, k, throw_die(state, ndim));
		break;
	case 1:
		for (int i = ndim - 1; i > 0; i--)
			swap_dims(cut, i, throw_die(state, i + 1));
		break;
	case 2:
		if (extend(cut, ndim, k, step, gap % 4 < 2 ? 0 : gap))
			cut->steps[k] = step;
		break;
	case 3:
		if (extend(cut, ndim, k, 1, gap))
			cut->first[k] += gap;
		break;
	default:
		(void)extend(cut, ndim, k, 1, gap);
		break;
	}
}

/* Cut the view by one to three such steps, or by up to two if `shared` is a dim. That dim has size
 * 1 in the base: many elements of the view lie at one place. */
static int cut_view(struct kgb_tensor_view *view, uint64_t number, int shared)
{
	struct cut cut = {.first = {0}};
	uint64_t state = number;
	const int n = throw_die(&state, 3) + (shared < 0);

	for (int k = 0; k < view->ndim; k++) {
		cut.order[k] = k;
		cut.base[k] = k == shared ? 1 : view->sizes[k];
		cut.steps[k] = 1;
	}
	for (int i = 0; i < n; i++)
		cut_once(&cut, view->ndim, &state);
	if (permuted_strides(cut.base, cut.order, view->ndim, view->strides) < 0)
		return -1;
	for (int k = 0; k < view->ndim; k++) {
		view->offset += cut.first[k] * view->strides[k];
		if (__builtin_mul_overflow(view->strides[k], cut.steps[k], &view->strides[k]))
			return -1;
	}
	return 0;
}

static int layout_view(struct kgb_tensor_view *view, uint64_t number)
{
	return cut_view(view, number, -1);
}

/* One dim is expanded (stride 0), or moves as far as another: base.unfold(0, n, 1). */
static int layout_overlapping(struct kgb_tensor_view *view, uint64_t number)
{
	uint64_t state = ~number;
	const int shared = throw_die(&state, view->ndim), other = throw_die(&state, view->ndim);

	if (cut_view(view, number, shared) < 0)
		return -1;
	view->strides[shared] = shared == other || throw_die(&state, 2) ? 0 : view->strides[other];
	return 0;
}

/* base.unsqueeze(1), x[:, :1] of one column: row-major, but dims of size 1 have any stride, which
 * torch ignores when it calls a tensor contiguous. */
static int layout_ones(struct kgb_tensor_view *view, uint64_t number)
{
	uint64_t state = number;

	if (contiguous_strides(view->sizes, view->ndim, view->strides) < 0)
		return -1;
	for (int k = 0; k < view->ndim; k++) {
		const int64_t next = k + 1 < view->ndim ? view->sizes[k + 1] : 1;
		const int64_t any[] = {0, 1, next, ODD_STRIDE, (int64_t)1 << 20};
		const int card = throw_die(&state, KGB_ARRAY_LEN(any));
		if (view->sizes[k] == 1)
			view->strides[k] = any[card];
	}
	return 0;
}

static const struct layout {
	const char *name;
	int min_dims, max_dims;
	/* Strides and offset from the sizes; -1 on overflow. */
	int (*lay_out)(struct kgb_tensor_view *view, uint64_t number);
	bool overlaps; /* several elements lie at one place */
	bool is_numbered; /* "NAME(7)": one for each number; these are the last */
} layouts[] = {
	{"contiguous", 0, KGB_MAX_DIMS, layout_contiguous, false, false},
	{"strided", 1, KGB_MAX_DIMS, layout_strided, false, false},
	{"offset", 0, KGB_MAX_DIMS, layout_offset, false, false},
	{"behind", 0, KGB_MAX_DIMS, layout_behind, false, false},
	{"transposed", 2, KGB_MAX_DIMS, layout_transposed, false, false},
	{"expanded", 1, KGB_MAX_DIMS, layout_expanded, true, false},
	{"row_strided", 2, KGB_MAX_DIMS, layout_row_strided, false, false},
	{"channels_last", 4, 4, layout_channels_last, false, false},
	{"sliced", 3, KGB_MAX_DIMS, layout_sliced, false, false},
	{"permuted", 3, KGB_MAX_DIMS, layout_permuted, false, false},
	{"expanded_last", 2, KGB_MAX_DIMS, layout_expanded_last, true, false},
	{"rotated", 3, KGB_MAX_DIMS, layout_rotated, false, false},
	{"cropped", 2, KGB_MAX_DIMS, layout_cropped, false, false},
	{"stepped", 1, KGB_MAX_DIMS, layout_stepped, false, false},
	{"column", 1, KGB_MAX_DIMS, layout_column, false, false},
	{"expanded_middle", 3, KGB_MAX_DIMS, layout_expanded_middle, true, false},
	{"windows", 2, KGB_MAX_DIMS, layout_windows, true, false},
	{"channels_last_3d", 5, 5, layout_channels_last_3d, false, false},
	{"expanded_all", 1, KGB_MAX_DIMS, layout_expanded_all, true, false},
	{"crowded", 2, KGB_MAX_DIMS, layout_crowded, true, false},
	{"ones", 1, KGB_MAX_DIMS, layout_ones, false, true},
	{"view", 1, KGB_MAX_DIMS, layout_view, false, true},
	{"overlapping", 1, KGB_MAX_DIMS, layout_overlapping, true, true},
};
_Static_assert(KGB_ARRAY_LEN(layouts) == KGB_N_LAYOUTS + 3, "three layouts take a number");

const char *kgb_layout_name(size_t i)
{
	KGB_ASSERT(i < KGB_N_LAYOUTS);
	return layouts[i].name;
}

/* Whether `text` names the layout. *number is that of "view(7)"; 0 for names without one. */
static bool is_layout(const struct layout *layout, const char *text, uint64_t *number)
{
	const size_t n = strlen(layout->name);

	*number = 0;
	if (!layout->is_numbered)
		return kgb_str_eq(text, layout->name);
	if (strncmp(text, layout->name, n) != 0 || text[n] != '(' || text[n + 1] == ')')
		return false;
	const char *digit = text + n + 1;
	for (; *digit >= '0' && *digit <= '9' && *number <= UINT32_MAX; digit++)
		*number = 10 * *number + (uint64_t)(*digit - '0');
	return kgb_str_eq(digit, ")");
}

static int find_layout(const char *name, const struct layout **out, uint64_t *number,
		       struct kgb_err *err)
{
	const char *names[KGB_N_LAYOUTS];
	for (size_t i = 0; i < KGB_ARRAY_LEN(layouts); i++) {
		if (i < KGB_N_LAYOUTS)
			names[i] = layouts[i].name;
		if (is_layout(&layouts[i], name, number)) {
			*out = &layouts[i];
			return 0;
		}
	}
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(256);
	kgb_suggest(&hint, name, names, KGB_N_LAYOUTS);
	return kgb_fail(err, KGB_ERR_INVALID, "unknown layout '%.40s'%s", name, hint.ptr);
}

int kgb_layout_check(const char *layout, bool is_written, struct kgb_err *err)
{
	const struct layout *how = NULL;
	uint64_t number;

	if (find_layout(layout, &how, &number, err) < 0)
		return -1;
	if (is_written && how->overlaps)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"layout '%s' lets elements overlap: a result cannot be written there",
			layout);
	return 0;
}

/* Storage elements that the view needs: the last element that it reaches, plus one. -1 on overflow.
 */
static int storage_reach(const struct kgb_tensor_view *view, int64_t *out)
{
	int64_t last = view->offset;
	for (int k = 0; k < view->ndim; k++) {
		int64_t reach;
		if (view->sizes[k] == 0) {
			*out = view->offset;
			return 0;
		}
		if (__builtin_mul_overflow(view->sizes[k] - 1, view->strides[k], &reach) ||
		    __builtin_add_overflow(last, reach, &last))
			return -1;
	}
	return __builtin_add_overflow(last, 1, out) ? -1 : 0;
}

/* The number of elements can pass the storage (stride 0), so it has its own check. */
static bool numel_fits(const int64_t *sizes, int ndim, int64_t limit)
{
	int64_t n = 1;
	for (int k = 0; k < ndim; k++)
		if (sizes[k] == 0)
			return true;
	for (int k = 0; k < ndim; k++)
		if (__builtin_mul_overflow(n, sizes[k], &n) || n > limit)
			return false;
	return true;
}

int kgb_tensor_view_layout(struct kgb_tensor_view *view, enum kgb_dtype dtype, const int64_t *sizes,
			   int ndim, const char *layout, struct kgb_err *err)
{
	const struct layout *how = NULL;
	uint64_t number = 0;
	struct kgb_tensor_view made = {.dtype = dtype, .ndim = ndim};
	int64_t limit = (int64_t)KGB_LIMIT_TENSOR_BYTES / (int64_t)kgb_dtype_size(dtype);

	int most = KGB_MAX_DIMS - kgb_dtype_is_complex(dtype); /* room for kgb_tensor_view_parts */
	if (ndim < 0 || ndim > most)
		return kgb_fail(err, KGB_ERR_LIMIT, "%d dims, at most %d are possible", ndim, most);
	for (int k = 0; k < ndim; k++) {
		if (sizes[k] < 0)
			return kgb_fail(err, KGB_ERR_INVALID, "dim %d has the negative size %lld",
					k, (long long)sizes[k]);
		made.sizes[k] = sizes[k];
	}
	if (find_layout(layout, &how, &number, err) < 0)
		return -1;
	if (ndim < how->min_dims || ndim > how->max_dims)
		return kgb_fail(err, KGB_ERR_INVALID, "layout '%s' does not apply to %d dims",
				layout, ndim);
	if (!numel_fits(sizes, ndim, limit) || how->lay_out(&made, number) < 0 ||
	    storage_reach(&made, &made.storage_elements) < 0 || made.storage_elements > limit)
		return kgb_fail(err, KGB_ERR_LIMIT, "tensor is larger than %u bytes",
				KGB_LIMIT_TENSOR_BYTES);
	*view = made;
	return 0;
}

struct kgb_tensor_view kgb_tensor_view_parts(const struct kgb_tensor_view *view)
{
	struct kgb_tensor_view parts = *view;

	if (!kgb_dtype_is_complex(view->dtype))
		return parts;
	KGB_ASSERT(view->ndim < KGB_MAX_DIMS);
	parts.dtype = kgb_dtype_part(view->dtype);
	parts.offset *= 2;
	parts.storage_elements *= 2;
	for (int k = 0; k < view->ndim; k++)
		parts.strides[k] *= 2;
	parts.sizes[parts.ndim] = 2;
	parts.strides[parts.ndim++] = 1;
	return parts;
}

void kgb_tensor_view_describe(const struct kgb_tensor_view *view, struct kgb_buf *out)
{
	int64_t row_major[KGB_MAX_DIMS];

	kgb_buf_addf(out, "%s[", kgb_dtype_name(view->dtype));
	for (int k = 0; k < view->ndim; k++)
		kgb_buf_addf(out, "%s%lld", k ? ", " : "", (long long)view->sizes[k]);
	kgb_buf_addc(out, ']');
	if (contiguous_strides(view->sizes, view->ndim, row_major) < 0 ||
	    memcmp(view->strides, row_major, (size_t)view->ndim * sizeof(row_major[0])) != 0) {
		kgb_buf_adds(out, " strides (");
		for (int k = 0; k < view->ndim; k++)
			kgb_buf_addf(out, "%s%lld", k ? ", " : "", (long long)view->strides[k]);
		kgb_buf_addc(out, ')');
	}
	if (view->offset != 0)
		kgb_buf_addf(out, " storage_offset %lld", (long long)view->offset);
}

/* ---- moving elements ---- */

#define PIECE ((int64_t)1 << 18) /* elements that are worth a thread */

bool kgb_tensor_view_may_overlap(const struct kgb_tensor_view *view)
{
	bool is_done[KGB_MAX_DIMS] = {false};
	int64_t reach = 0;

	if (kgb_tensor_view_numel(view) == 0)
		return false;
	/* By ascending stride, each dim must step over all that the dims before it span. */
	for (;;) {
		int next = -1;
		for (int k = 0; k < view->ndim; k++)
			if (!is_done[k] && view->sizes[k] != 1 &&
			    (next < 0 || view->strides[k] < view->strides[next]))
				next = k;
		if (next < 0)
			return false;
		if (view->strides[next] <= reach)
			return true;
		reach += (view->sizes[next] - 1) * view->strides[next];
		is_done[next] = true;
	}
}

/* The same elements in the same order with as few dims as possible: one if contiguous. */
static struct kgb_tensor_view merge_dims(const struct kgb_tensor_view *view)
{
	struct kgb_tensor_view out = {.dtype = view->dtype, .offset = view->offset};

	for (int k = 0; k < view->ndim; k++) {
		int last = out.ndim - 1;
		if (view->sizes[k] == 1)
			continue;
		if (last >= 0 && out.strides[last] == view->strides[k] * view->sizes[k]) {
			out.sizes[last] *= view->sizes[k];
			out.strides[last] = view->strides[k];
			continue;
		}
		out.sizes[out.ndim] = view->sizes[k];
		out.strides[out.ndim++] = view->strides[k];
	}
	if (out.ndim == 0) {
		out.ndim = 1;
		out.sizes[0] = out.strides[0] = 1;
	}
	return out;
}

/* Elements of one dim: `to_step` and `from_step` are in elements. */
static void move_run(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n,
		     size_t item)
{
	int64_t to_bytes = to_step * (int64_t)item, from_bytes = from_step * (int64_t)item;

	if (to_step == 1 && from_step == 1) {
		memcpy(to, from, (size_t)n * item);
		return;
	}
	/* One loop for each size: then the compiler copies by a register. */
	for (int64_t i = 0; item == 1 && i < n; i++)
		to[i * to_bytes] = from[i * from_bytes];
	for (int64_t i = 0; item == 2 && i < n; i++)
		memcpy(to + i * to_bytes, from + i * from_bytes, 2);
	for (int64_t i = 0; item == 4 && i < n; i++)
		memcpy(to + i * to_bytes, from + i * from_bytes, 4);
	for (int64_t i = 0; item == 8 && i < n; i++)
		memcpy(to + i * to_bytes, from + i * from_bytes, 8);
	for (int64_t i = 0; item == 16 && i < n; i++)
		memcpy(to + i * to_bytes, from + i * from_bytes, 16);
}

/* A move of elements. Each end has the layout of the view, or the elements one behind the other. */
struct move {
	const struct kgb_tensor_view *view;
	char *to;
	const char *from;
	bool to_view, from_view;
};

static void move_part(const struct move *move, int64_t first, int64_t n)
{
	struct kgb_tensor_view view = merge_dims(move->view);
	int64_t item = (int64_t)kgb_dtype_size(view.dtype);
	int last = view.ndim - 1;
	struct kgb_tensor_view_walk walk;

	if (n <= 0)
		return;
	kgb_tensor_view_walk_to(&walk, &view, first);
	for (int64_t done = 0; done < n;) {
		int64_t run = view.sizes[last] - walk.index[last];
		run = run < n - done ? run : n - done;
		move_run(move->to + (move->to_view ? walk.at : done) * item,
			 move->to_view ? view.strides[last] : 1,
			 move->from + (move->from_view ? walk.at : done) * item,
			 move->from_view ? view.strides[last] : 1, run, (size_t)item);
		done += run;
		walk.index[last] += run - 1;
		walk.at += (run - 1) * view.strides[last];
		kgb_tensor_view_walk_next(&walk);
	}
}

void kgb_tensor_view_gather_part(const struct kgb_tensor_view *view, const void *storage,
				 int64_t first, int64_t n, void *out)
{
	move_part(&(struct move){.view = view, .to = out, .from = storage, .from_view = true},
		  first, n);
}

void kgb_tensor_view_scatter_part(const struct kgb_tensor_view *view, const void *elements,
				  int64_t first, int64_t n, void *storage)
{
	move_part(&(struct move){.view = view, .to = storage, .from = elements, .to_view = true},
		  first, n);
}

static void gather_piece(void *payload, int64_t begin, int64_t end)
{
	struct move move = *(const struct move *)payload;

	move.to += (size_t)begin * kgb_dtype_size(move.view->dtype);
	move_part(&move, begin, end - begin);
}

void kgb_tensor_view_gather(const struct kgb_tensor_view *view, const void *storage, void *out)
{
	struct move move = {.view = view, .to = out, .from = storage, .from_view = true};

	kgb_parallel_for(kgb_tensor_view_numel(view), PIECE, gather_piece, &move);
}

struct comparison {
	struct move move;
	const char *elements;
	atomic_bool differs;
};

static void compare_piece(void *payload, int64_t begin, int64_t end)
{
	struct comparison *comparison = payload;
	const int64_t item = (int64_t)kgb_dtype_size(comparison->move.view->dtype);
	char chunk[8192];
	struct move move = comparison->move;

	move.to = chunk;
	for (int64_t first = begin, n; first < end && !comparison->differs; first += n) {
		n = (int64_t)sizeof(chunk) / item;
		n = n < end - first ? n : end - first;
		move_part(&move, first, n);
		if (memcmp(chunk, comparison->elements + first * item, (size_t)(n * item)) != 0)
			comparison->differs = true;
	}
}

bool kgb_tensor_view_equal(const struct kgb_tensor_view *view, const void *storage,
			   const void *elements)
{
	const size_t item = kgb_dtype_size(view->dtype);
	struct comparison comparison = {
		.move = {.view = view, .from = storage, .from_view = true},
		.elements = elements,
	};

	if (kgb_tensor_view_is_contiguous(view))
		return kgb_parallel_equal((const char *)storage + (size_t)view->offset * item,
					  elements, (size_t)kgb_tensor_view_numel(view) * item);
	kgb_parallel_for(kgb_tensor_view_numel(view), PIECE, compare_piece, &comparison);
	return !comparison.differs;
}

static void copy_piece(void *payload, int64_t begin, int64_t end)
{
	move_part(payload, begin, end - begin);
}

void kgb_tensor_view_copy(const struct kgb_tensor_view *view, const void *from, void *to)
{
	struct move move = {
		.view = view, .to = to, .from = from, .to_view = true, .from_view = true};
	int64_t n = kgb_tensor_view_numel(view);

	/* Two threads must not write to the same place, even if they write the same value. */
	kgb_parallel_for(n, kgb_tensor_view_may_overlap(view) ? n + 1 : PIECE, copy_piece, &move);
}
