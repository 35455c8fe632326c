/* SPDX-License-Identifier: MIT */
/* Tensors that are parts of one storage: where they lie, and what they hold. */
#include "tests/unit/base/support.h"
#include "verify/cases/repeat.h"
#include "verify/fills/fill.h"
#include "verify/lane/case_data.h"

enum { LINES = 200 };

static const struct kgb_param reads = {
	.name = "x", .kind = KGB_PARAM_TENSOR, .result = -1, .layout = "$a_layout|contiguous"};
static const struct kgb_param fixed = {
	.name = "w", .kind = KGB_PARAM_TENSOR, .result = -1, .layout = "contiguous"};
static const struct kgb_param picked = {
	.name = "v", .kind = KGB_PARAM_TENSOR, .result = -1, .layout = "$b_layout"};
static const struct kgb_param changed = {
	.name = "y", .kind = KGB_PARAM_TENSOR, .result = 0, .layout = "$c_layout"};
static const struct kgb_param sometimes = {
	.name = "s", .kind = KGB_PARAM_TENSOR, .result = -1, .layout = "$d_layout"};
static const struct kgb_param behind = {.name = "r",
					.kind = KGB_PARAM_TENSOR,
					.result = -1,
					.layout = "contiguous",
					.is_behind = true};
static const struct kgb_param value = {.name = "n", .kind = KGB_PARAM_VALUE};
static const char template_text[] =
	"{\"a_layout\": {\"layout\": \"a\"}, \"b_layout\": {\"pick\": "
	"[\"offset\"]}, \"c_layout\": \"$a_layout\", \"d_layout\": {\"if\": "
	"[\"$n\", {\"layout\": \"a\"}, \"contiguous\"]}}";

static struct kgb_arg matrix(const struct kgb_param *param, int64_t n, int64_t m)
{
	return (struct kgb_arg){.param = param,
				.layout = "contiguous",
				.fill = KGB_FILL_NORMAL,
				.view = {.dtype = KGB_DTYPE_FLOAT32,
					 .ndim = 2,
					 .sizes = {n, m},
					 .strides = {m, 1},
					 .storage_elements = n * m}};
}

struct scene {
	cJSON *template;
	struct kgb_interface interface;
	struct kgb_case c;
};

static void set_up(struct scene *s, const struct kgb_arg *args, size_t n)
{
	memset(s, 0, sizeof(*s));
	s->template = cJSON_Parse(template_text);
	assert_non_null(s->template);
	s->c = (struct kgb_case){.name = "shared", .interface = &s->interface, .n_args = n};
	memcpy(s->c.args, args, n * sizeof(args[0]));
}

static bool share(struct scene *s, int number)
{
	return kgb_case_share_storage(&s->c, s->template, &(struct kgb_seed){{(uint8_t)number}},
				      KGB_SHARE_ALL);
}

/* Whether two tensors have an element in common. */
static bool overlap(const struct kgb_tensor_view *a, const struct kgb_tensor_view *b)
{
	for (int64_t i = 0; i < kgb_tensor_view_numel(a); i++)
		for (int64_t k = 0; k < kgb_tensor_view_numel(b); k++)
			if (kgb_tensor_view_element(a, i) == kgb_tensor_view_element(b, k))
				return true;
	return false;
}

static void check_parts(const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_arg *arg = &c->args[i];
		const struct kgb_tensor_view *view = &arg->view;
		assert_true(arg->is_part == (i > 0) && arg->is_repeated == (i > 0));
		assert_int_equal(arg->same_as, 0);
		assert_int_equal(view->storage_elements, c->args[0].view.storage_elements);
		for (int64_t e = 0; e < kgb_tensor_view_numel(view); e++)
			assert_in_range(kgb_tensor_view_element(view, e), 0,
					view->storage_elements - 1);
	}
}

static void test_parts_lie_in_one_storage_in_each_way(KGB_UNUSED void **state)
{
	const struct kgb_arg args[] = {matrix(&reads, 3, 4), matrix(&reads, 3, 4)};
	size_t n_behind = 0, n_turned = 0, n_beside = 0, n_windows = 0, n_rows = 0;

	for (int s = 0; s < LINES; s++) {
		struct scene scene;
		set_up(&scene, args, 2);
		assert_true(share(&scene, s));
		check_parts(&scene.c);
		const bool is_turned = scene.c.args[0].view.offset > 0;
		const struct kgb_tensor_view *a = &scene.c.args[is_turned].view;
		const struct kgb_tensor_view *b = &scene.c.args[!is_turned].view;
		const bool slices = a->strides[0] == 8 && b->strides[0] == 8;
		assert_int_equal(a->offset, 0);
		n_turned += is_turned;
		n_behind += b->offset == 12;
		n_beside += slices && b->offset == 4;
		n_windows += b->offset == 1;
		n_rows += b->offset == 4 && !slices;
		assert_true(overlap(a, b) == (b->offset == 1 || (b->offset == 4 && !slices)));
		cJSON_Delete(scene.template);
	}
	assert_true(n_behind > LINES / 5 && n_beside > LINES / 10);
	assert_in_range(n_turned, LINES / 8, LINES / 2);
	assert_true(n_windows > LINES / 20 && n_rows > LINES / 20);
	assert_int_equal(n_behind + n_beside + n_windows + n_rows, LINES);
}

/* Parts lie in their order, or backwards, or all but two neighbours do, or hardly any. */
static void test_parts_lie_in_several_orders(KGB_UNUSED void **state)
{
	const struct kgb_arg row = matrix(&reads, 1, 4);
	const struct kgb_arg args[] = {row, row, row, row, row, row};
	enum { N = KGB_ARRAY_LEN(args) };
	size_t n_steps[N] = {0}; /* by how many parts lie behind the one in front */

	for (int s = 0; s < LINES; s++) {
		struct scene scene;
		size_t n = 0;
		set_up(&scene, args, N);
		assert_true(share(&scene, s));
		check_parts(&scene.c);
		for (size_t i = 1; i < N; i++)
			n += scene.c.args[i].view.offset > scene.c.args[i - 1].view.offset;
		n_steps[n]++;
		cJSON_Delete(scene.template);
	}
	assert_in_range(n_steps[N - 1], LINES / 2, 3 * LINES / 4);
	assert_in_range(n_steps[N - 2], LINES / 12, LINES / 3);
	assert_in_range(n_steps[0], LINES / 20, LINES / 4);
	assert_true(n_steps[2] + n_steps[3] > LINES / 40);
}

static void test_what_is_changed_overlaps_nothing(KGB_UNUSED void **state)
{
	const struct kgb_arg args[] = {matrix(&changed, 3, 4), matrix(&reads, 3, 4),
				       matrix(&fixed, 1, 4)};

	for (int s = 0; s < LINES; s++) {
		struct scene scene;
		set_up(&scene, args, 3);
		assert_true(share(&scene, s));
		check_parts(&scene.c);
		const struct kgb_arg *a = scene.c.args;
		assert_false(overlap(&a[0].view, &a[1].view) || overlap(&a[0].view, &a[2].view));
		assert_true(kgb_case_changes(&scene.c, 1) && kgb_case_changes(&scene.c, 2));
		cJSON_Delete(scene.template);
	}
}

/* Strides that the template fixes stay. Such a part may begin at 16 bytes; of single bytes it
 * always does. */
static void test_fixed_layouts_stay(KGB_UNUSED void **state)
{
	static const struct {
		const struct kgb_param *param;
		enum kgb_dtype dtype;
		int64_t granule;
	} rows[] = {{&fixed, KGB_DTYPE_FLOAT32, 4},
		    {&picked, KGB_DTYPE_FLOAT32, 4},
		    {&fixed, KGB_DTYPE_UINT8, 16}};

	for (size_t r = 0; r < KGB_ARRAY_LEN(rows); r++) {
		struct kgb_arg args[] = {matrix(&reads, 3, 5), matrix(rows[r].param, 5, 3)};
		int n_aligned = 0;
		args[0].view.dtype = args[1].view.dtype = rows[r].dtype;
		for (int s = 0; s < LINES; s++) {
			struct scene scene;
			set_up(&scene, args, 2);
			assert_true(share(&scene, s));
			const struct kgb_tensor_view *view = &scene.c.args[1].view;
			assert_true(view->strides[0] == 3 && view->strides[1] == 1);
			n_aligned += view->offset % rows[r].granule == 0;
			cJSON_Delete(scene.template);
		}
		assert_true(n_aligned > LINES / 20);
		assert_true((n_aligned == LINES) == (rows[r].dtype == KGB_DTYPE_UINT8));
	}
}

static void test_a_part_may_be_like_the_transpose_of_the_first(KGB_UNUSED void **state)
{
	const struct kgb_arg args[] = {matrix(&reads, 3, 5), matrix(&reads, 5, 3)};
	struct scene scene;

	set_up(&scene, args, 2);
	assert_true(share(&scene, 1));
	assert_int_equal(scene.c.args[1].view.strides[0], 1);
	assert_int_equal(scene.c.args[1].view.strides[1], 5);
	cJSON_Delete(scene.template);
}

/* A layout that is free under a condition: where it was drawn, the tensor may become dense. */
static void test_a_branch_may_let_a_layout_be_any(KGB_UNUSED void **state)
{
	for (int is_drawn = 0; is_drawn < 2; is_drawn++) {
		struct kgb_arg args[] = {matrix(&reads, 3, 4), matrix(&sometimes, 4, 4)};
		bool is_dense = false;
		args[1].view.strides[0] = 9;
		args[1].view.storage_elements = 31;
		args[1].layout = is_drawn ? "row_strided" : "contiguous";
		for (int s = 0; s < LINES; s++) {
			struct scene scene;
			set_up(&scene, args, 2);
			assert_true(share(&scene, s));
			is_dense |= scene.c.args[1].view.strides[0] != 9;
			cJSON_Delete(scene.template);
		}
		assert_true(is_dense == is_drawn);
	}
}

static void test_only_plain_tensors_of_one_type_are_parts(KGB_UNUSED void **state)
{
	const struct kgb_arg first = matrix(&reads, 3, 4);
	struct kgb_arg others[7];

	for (size_t i = 0; i < KGB_ARRAY_LEN(others); i++)
		others[i] = first;
	others[0].view.dtype = KGB_DTYPE_INT32;
	others[1].fill = KGB_FILL_DISTINCT;
	others[2].is_absent = true;
	others[3].view.sizes[0] = others[3].view.storage_elements = 0;
	others[4].read.shape = KGB_READ_MATRIX;
	others[5].param = &behind;
	others[6].param = &value;
	for (size_t i = 0; i < KGB_ARRAY_LEN(others); i++) {
		struct scene scene;
		set_up(&scene, (struct kgb_arg[]){first, others[i]}, 2);
		for (int s = 0; s < LINES / 10; s++)
			assert_false(share(&scene, s));
		cJSON_Delete(scene.template);
	}
	struct scene scene;
	set_up(&scene, (struct kgb_arg[]){first, first, first}, 3);
	scene.c.args[1].is_repeated = true;
	assert_false(share(&scene, 1));
	cJSON_Delete(scene.template);
}

/* All copies of the storage are equal, and each part that shares no element holds its own fill. */
static void test_each_part_has_its_elements(KGB_UNUSED void **state)
{
	const struct kgb_arg args[] = {matrix(&reads, 3, 4), matrix(&changed, 3, 4),
				       matrix(&fixed, 2, 4)};
	const struct kgb_seed seed = {{7}};

	for (int s = 0; s < LINES / 4; s++) {
		struct scene scene;
		struct kgb_case_data data;
		set_up(&scene, args, 3);
		assert_true(share(&scene, s));
		kgb_case_data_fill(&data, &scene.c, &seed, 0);
		for (size_t i = 0; i < 3; i++) {
			const struct kgb_arg *arg = &scene.c.args[i];
			const size_t bytes = kgb_tensor_view_bytes(&arg->view);
			KGB_AUTO(free) char *storage = kgb_xmalloc(data.storage_bytes[i]);
			float drawn[12], part[12];
			struct kgb_rng rng;
			kgb_rng_init(&rng, &seed, scene.c.name, (uint32_t)i);
			kgb_fill(arg, scene.c.mode, &rng, storage);
			assert_int_equal(data.storage_bytes[i], data.storage_bytes[0]);
			assert_memory_equal(data.storages[i], data.storages[0],
					    data.storage_bytes[0]);
			kgb_tensor_view_gather(&arg->view, storage, drawn);
			kgb_tensor_view_gather(&arg->view, data.storages[i], part);
			assert_memory_equal(drawn, part, bytes);
		}
		kgb_case_data_release(&data);
		cJSON_Delete(scene.template);
	}
}

static void test_a_failure_names_the_storage(KGB_UNUSED void **state)
{
	const struct kgb_arg args[] = {matrix(&changed, 3, 4), matrix(&fixed, 2, 4)};
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct scene scene;

	set_up(&scene, args, 2);
	assert_true(share(&scene, 1));
	kgb_case_describe(&scene.c, &text);
	assert_contains(text.ptr, "w=float32[2, 4]");
	assert_contains(text.ptr, " in the storage of y");
	cJSON_Delete(scene.template);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_lie_in_one_storage_in_each_way),
		cmocka_unit_test(test_parts_lie_in_several_orders),
		cmocka_unit_test(test_what_is_changed_overlaps_nothing),
		cmocka_unit_test(test_fixed_layouts_stay),
		cmocka_unit_test(test_a_part_may_be_like_the_transpose_of_the_first),
		cmocka_unit_test(test_a_branch_may_let_a_layout_be_any),
		cmocka_unit_test(test_only_plain_tensors_of_one_type_are_parts),
		cmocka_unit_test(test_each_part_has_its_elements),
		cmocka_unit_test(test_a_failure_names_the_storage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
