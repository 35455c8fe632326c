/* SPDX-License-Identifier: MIT */
#include "verify/protocol/wire.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "tests/unit/base/support.h"
#include "verify/tensor/dtype.h"

enum { ID = 77 };

/* A reply as an honest worker sends it: a 3x4 float32 tensor and None, one kernel, one operator, a
 * text. */
static struct kgb_wire_reply good_reply(void)
{
	struct kgb_wire_reply reply = {
		.magic = KGB_WIRE_MAGIC,
		.version = KGB_WIRE_VERSION,
		.status = KGB_WIRE_EXCEPTION,
		.id = ID,
		.value = KGB_WIRE_FORM_SEQUENCE,
		.n_outputs = 2,
		.n_launches = 1,
		.n_ops = 1,
		.line = 12,
		.text_len = 5,
		.launches = {{.name = "add_kernel", .count = 3}},
		.ops = {"aten::add.Tensor"},
		.text = "hello",
	};

	reply.outputs[0] = (struct kgb_wire_output){
		.kind = KGB_WIRE_TENSOR,
		.dtype = KGB_DTYPE_FLOAT32,
		.ndim = 2,
		.where = KGB_WIRE_ARENA,
		.sizes = {3, 4},
		.strides = {4, 1},
		.address = 128,
		.offset = 64,
		.n_bytes = 48,
		.type = "Tensor",
	};
	return reply;
}

static int parse(const struct kgb_wire_reply *reply, struct kgb_wire_reply *out,
		 struct kgb_err *err)
{
	return kgb_wire_reply_parse(reply, sizeof(*reply), ID, out, err);
}

static void test_a_good_reply_comes_through_unchanged(void **state)
{
	struct kgb_wire_reply reply = good_reply();
	struct kgb_wire_reply out;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_ok(parse(&reply, &out, &err), err);
	assert_memory_equal(&reply, &out, sizeof(out));
	/* The reference's float64 of a tensor of 512 MiB in float16, behind others. */
	reply.outputs[0].dtype = KGB_DTYPE_FLOAT64;
	reply.outputs[0].sizes[0] = (1 << 28) / 4;
	reply.outputs[0].n_bytes = INT64_C(2) << 30;
	reply.outputs[0].offset = INT64_C(3) << 30;
	assert_ok(parse(&reply, &out, &err), err);
	assert_memory_equal(&out, &reply, sizeof(reply));
}

/* One field made wrong, and what the refusal must say. */
struct wrong {
	void (*spoil)(struct kgb_wire_reply *);
	const char *message;
};

#define SPOIL(name, statement)                                 \
	static void spoil_##name(struct kgb_wire_reply *reply) \
	{                                                      \
		statement;                                     \
	}
SPOIL(magic, reply->magic++)
SPOIL(version, reply->version = 2)
SPOIL(id, reply->id = ID - 1)
SPOIL(status, reply->status = KGB_WIRE_N_STATUSES)
SPOIL(outputs, reply->n_outputs = KGB_WIRE_OUTPUTS + 1)
SPOIL(launches, reply->n_launches = UINT32_MAX)
SPOIL(ops, reply->n_ops = KGB_WIRE_OPS + 1)
SPOIL(text, reply->text_len = KGB_WIRE_TEXT)
SPOIL(value, reply->value = -1)
SPOIL(line, reply->line = UINT32_MAX)
SPOIL(kind, reply->outputs[0].kind = KGB_WIRE_N_KINDS)
SPOIL(number, reply->outputs[0].kind = KGB_WIRE_NUMBER)
SPOIL(number_dtype, reply->outputs[0].kind = KGB_WIRE_NUMBER; reply->outputs[0].ndim = 0)
SPOIL(number_place, reply->outputs[0].kind = KGB_WIRE_NUMBER; reply->outputs[0].ndim = 0;
      reply->outputs[0].dtype = KGB_DTYPE_FLOAT64)
SPOIL(dtype, reply->outputs[0].dtype = KGB_N_DTYPES)
SPOIL(ndim, reply->outputs[0].ndim = KGB_WIRE_DIMS + 1)
SPOIL(where, reply->outputs[0].where = KGB_WIRE_N_WHERES)
SPOIL(size, reply->outputs[0].sizes[1] = -1)
SPOIL(huge, reply->outputs[0].sizes[1] = INT64_MAX)
SPOIL(product, reply->outputs[0].sizes[0] = reply->outputs[0].sizes[1] = (int64_t)1 << 32)
SPOIL(large, reply->outputs[0].sizes[0] = (int64_t)1 << 40; reply->outputs[0].n_bytes = 0)
SPOIL(stride, reply->outputs[0].strides[0] = -1)
SPOIL(far, reply->outputs[0].strides[0] = (int64_t)1 << 31)
SPOIL(idle, reply->outputs[0].sizes[0] = 1; reply->outputs[0].n_bytes = 16;
      reply->outputs[0].strides[0] = INT64_MAX)
SPOIL(offset, reply->outputs[0].offset = -8)
SPOIL(behind, reply->outputs[0].offset = (int64_t)1 << 38)
SPOIL(beyond, reply->outputs[0].offset = INT64_MAX)
SPOIL(bytes, reply->outputs[0].n_bytes = 47)
SPOIL(negative, reply->outputs[0].n_bytes = -48)
SPOIL(type, memset(reply->outputs[0].type, 'x', KGB_WIRE_NAME))
SPOIL(kernel, memset(reply->launches[0].name, 'x', KGB_WIRE_NAME))
SPOIL(count, reply->launches[0].count = 0)
SPOIL(counts, reply->launches[0].count = INT64_MAX)
SPOIL(op, memset(reply->ops[0], 'x', KGB_WIRE_NAME))

static void test_the_stride_of_one_element_may_be_large(void **state)
{
	struct kgb_wire_reply reply = good_reply();
	struct kgb_wire_reply out;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	spoil_idle(&reply);
	reply.outputs[0].strides[0] = (int64_t)1 << 40;
	assert_ok(parse(&reply, &out, &err), err);
	assert_int_equal(out.outputs[0].strides[0], (int64_t)1 << 40);
}

static void test_a_reply_out_of_range_is_refused(void **state)
{
	static const struct wrong cases[] = {
		{spoil_magic, "magic 5242474c"},
		{spoil_version, "version 2, not 1"},
		{spoil_id, "answers request 76, not 77"},
		{spoil_status, "status 10"},
		{spoil_outputs, "counts 25 1 1 5"},
		{spoil_launches, "counts 2 4294967295 1 5"},
		{spoil_ops, "counts 2 1 9 5"},
		{spoil_text, "counts 2 1 1 4096"},
		{spoil_value, "value -1"},
		{spoil_line, "line 4294967295"},
		{spoil_kind, "result 0: reply of the worker: kind 4"},
		{spoil_number, "a number of dtype 8 with 2 dimensions"},
		{spoil_number_dtype, "a number of dtype 8 with 0 dimensions"},
		{spoil_number_place, "a number of dtype 9 with 0 dimensions"},
		{spoil_dtype, "dtype 13"},
		{spoil_ndim, "9 dimensions"},
		{spoil_where, "place 2"},
		{spoil_size, "size -1"},
		{spoil_huge, "a tensor of more than"},
		{spoil_product, "a tensor of more than"},
		{spoil_large, "a tensor of more than"},
		{spoil_stride, "stride -1"},
		{spoil_far, "stride 2147483648"},
		{spoil_idle, "stride 9223372036854775807"},
		{spoil_offset, "offset -8"},
		{spoil_beyond, "offset 9223372036854775807"},
		{spoil_behind, "offset 274877906944"},
		{spoil_bytes, "47 bytes for a tensor of 48"},
		{spoil_negative, "-48 bytes for a tensor of 48"},
		{spoil_type, "a type name has no end"},
		{spoil_kernel, "a kernel name has no end"},
		{spoil_count, "0 launches"},
		{spoil_counts, "9223372036854775807 launches"},
		{spoil_op, "an operator name has no end"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_wire_reply reply = good_reply();
		struct kgb_wire_reply out;
		struct kgb_err err = KGB_ERR_INIT;
		memset(&out, 0x5a, sizeof(out));
		cases[i].spoil(&reply);
		assert_int_equal(parse(&reply, &out, &err), -1);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
		assert_contains(err.msg, cases[i].message);
		assert_int_equal(((unsigned char *)&out)[100], 0x5a);
	}
}

static void test_a_reply_of_another_length_is_refused(void **state)
{
	static const size_t lengths[] = {0, 1, 47, sizeof(struct kgb_wire_reply) - 1,
					 sizeof(struct kgb_wire_reply) + 1};
	struct kgb_wire_reply reply = good_reply();
	struct kgb_wire_reply out;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(lengths); i++) {
		assert_int_equal(kgb_wire_reply_parse(&reply, lengths[i], ID, &out, &err), -1);
		assert_contains(err.msg, "bytes, not");
	}
}

static void test_what_is_not_counted_or_not_printable_does_not_come_through(void **state)
{
	struct kgb_wire_reply reply = good_reply();
	struct kgb_wire_reply out;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	memcpy(reply.text, "a\x1b\n\xff", 4);
	reply.text_len = 4;
	memcpy(reply.ops[0], "x\x1b[2J\n", 7);
	reply.text[100] = 'x';
	reply.ops[1][0] = 'x';
	reply.launches[1].count = 9;
	reply.outputs[1].sizes[0] = 5; /* None has no sizes */
	reply.outputs[0].sizes[7] = 5;
	reply.outputs[2].kind = 200;
	assert_ok(parse(&reply, &out, &err), err);
	assert_string_equal(out.text, "a?\n?");
	assert_string_equal(out.ops[0], "x?[2J?");
	assert_int_equal(out.text[100], 0);
	assert_int_equal(out.ops[1][0], 0);
	assert_int_equal(out.launches[1].count, 0);
	assert_int_equal(out.outputs[1].sizes[0], 0);
	assert_int_equal(out.outputs[0].sizes[7], 0);
	assert_int_equal(out.outputs[2].kind, 0);
}

static void test_dense_means_that_no_two_elements_share_memory(void **state)
{
	static const struct {
		uint8_t ndim;
		int64_t sizes[KGB_WIRE_DIMS], strides[KGB_WIRE_DIMS];
		bool dense;
	} cases[] = {
		{0, {0}, {0}, true},
		{1, {5}, {1}, true},
		{1, {5}, {2}, true},
		{1, {5}, {0}, false},
		{1, {1}, {0}, true},
		{1, {0}, {0}, true},
		{2, {3, 4}, {4, 1}, true},
		{2, {3, 4}, {1, 3}, true},
		{2, {3, 4}, {3, 1}, false},
		{2, {3, 4}, {0, 1}, false},
		{2, {3, 4}, {1, 2}, false},
		{2, {0, 4}, {0, 0}, true},
		{3, {2, 1, 2}, {2, 0, 1}, true},
		{3, {2, 3, 4}, {12, 4, 1}, true},
		{3, {2, 3, 4}, {11, 4, 1}, false},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_wire_output output = {.kind = KGB_WIRE_TENSOR, .ndim = cases[i].ndim};
		memcpy(output.sizes, cases[i].sizes, sizeof(output.sizes));
		memcpy(output.strides, cases[i].strides, sizeof(output.strides));
		const struct kgb_tensor_view view = kgb_wire_view(&output);
		if (kgb_tensor_view_may_overlap(&view) == cases[i].dense)
			fail_msg("case %zu", i);
	}
}

static void test_datagrams_keep_their_borders_and_descriptors(void **state)
{
	int pair[2];
	int got[2] = {-1, -1};
	size_t n_fds = 0;
	char buf[8];
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(kgb_wire_recv(pair[1], buf, sizeof(buf), got, 2, &n_fds, &err), -2);
	const int sent[] = {pair[0], pair[1], pair[0]};
	assert_ok(kgb_wire_send(pair[0], "0123456789", 10, sent, 3, &err), err);
	assert_ok(kgb_wire_send(pair[0], "ab", 2, NULL, 0, &err), err);
	/* Cut to the buffer, but the whole length is told; the third descriptor is closed. */
	assert_int_equal(kgb_wire_recv(pair[1], buf, sizeof(buf), got, 2, &n_fds, &err), 10);
	assert_int_equal(n_fds, 2);
	assert_true(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
	assert_int_equal(kgb_wire_recv(pair[1], buf, sizeof(buf), NULL, 0, &n_fds, &err), 2);
	assert_int_equal(n_fds, 0);
	for (int i = 0; i < 2; i++)
		close(got[i]);
	close(pair[0]);
	assert_int_equal(kgb_wire_recv(pair[1], buf, sizeof(buf), NULL, 0, NULL, &err), 0);
	close(pair[1]);
}

static void test_sending_never_blocks(void **state)
{
	static char big[KGB_WIRE_REQUEST_MAX];
	int pair[2];
	struct kgb_err err = KGB_ERR_INIT;
	int n = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	while (n < 1000 && kgb_wire_send(pair[0], big, sizeof(big), NULL, 0, &err) == 0)
		n++;
	assert_true(n < 1000);
	assert_int_equal(err.code, EAGAIN);
	close(pair[1]);
	assert_int_equal(kgb_wire_send(pair[0], "x", 1, NULL, 0, &err), -1);
	assert_true(err.code == EPIPE || err.code == ECONNRESET);
	close(pair[0]);
}

/* verify/python/runner/wire.py packs what this module reads. */
static void test_the_python_side_packs_the_same_struct(void **state)
{
	static const char script[] =
		"import sys; sys.path.insert(0, sys.argv[1]); import wire\n"
		"o = wire.Output(wire.TENSOR, 'Tensor')\n"
		"o.dtype = wire.DTYPES.index('float32'); o.where = wire.ARENA\n"
		"o.sizes, o.strides = (3, 4), (4, 1)\n"
		"o.address, o.offset, o.n_bytes = 128, 64, 48\n"
		"r = wire.Reply(wire.EXCEPTION, 'hello', 12)\n"
		"r.value = 2; r.outputs = [o, wire.Output(wire.NONE)]\n"
		"r.launches = {'add_kernel': 3}; r.ops = ['aten::add.Tensor']\n"
		"sys.stdout.buffer.write(r.pack(77))\n";
	struct kgb_wire_reply expected = good_reply();
	struct kgb_wire_reply got;
	size_t len = 0;
	int pipe_fds[2];
	int status;

	(void)state;
	assert_int_equal(pipe(pipe_fds), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(pipe_fds[1], STDOUT_FILENO);
		execl(KGB_TEST_PYTHON, "python3", "-I", "-B", "-c", script,
		      KGB_TEST_SOURCE_DIR "/verify/python/runner", NULL);
		_exit(127);
	}
	close(pipe_fds[1]);
	for (ssize_t n; len < sizeof(got) &&
			(n = read(pipe_fds[0], (char *)&got + len, sizeof(got) - len)) > 0;)
		len += (size_t)n;
	close(pipe_fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(len, sizeof(got));
	assert_memory_equal(&got, &expected, sizeof(got));
}

static void test_neighbours_of_one_list_are_one_argument(void **state)
{
	static const char script[] =
		"import sys; sys.path.insert(0, sys.argv[1]); import wire\n"
		"def call(*described):\n"
		"    return wire.call_arguments([dict(d) for d in described], lambda arg: arg['v'])\n"
		"def arg(v, **more): return dict(more, v=v)\n"
		"def same(got, *args, **kwargs): assert got == (list(args), kwargs), got\n"
		"same(call())\n"
		"same(call(arg(1), arg(None), arg(2, name='k')), 1, None, k=2)\n"
		"same(call(arg(1, list='t'), arg(2, list='t'), arg(3)), [1, 2], 3)\n"
		"same(call(arg(1, list='t'), arg(2, list='u'), arg(3, list='u')), [1], [2, 3])\n"
		"same(call(arg(0), arg(1, list='t', name='t'), arg(2, list='t', name='t')), 0, t=[1, 2])\n"
		"same(call(arg(1, list='t'), arg(2), arg(3, list='t')), [1], 2, [3])\n"
		"x = object()\n"
		"args, kwargs = call(arg(0), arg(x), arg(0, same=1, name='k'), arg(0, name='m'))\n"
		"assert args[1] is x and kwargs['k'] is x and kwargs['m'] is not x\n"
		"args, kwargs = call(arg(x, list='t'), arg(0, same=0, list='t'))\n"
		"assert args[0][0] is x and args[0][1] is x\n";
	int status;

	(void)state;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		execl(KGB_TEST_PYTHON, "python3", "-I", "-B", "-c", script,
		      KGB_TEST_SOURCE_DIR "/verify/python/runner", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_good_reply_comes_through_unchanged),
		cmocka_unit_test(test_a_reply_out_of_range_is_refused),
		cmocka_unit_test(test_the_stride_of_one_element_may_be_large),
		cmocka_unit_test(test_a_reply_of_another_length_is_refused),
		cmocka_unit_test(test_what_is_not_counted_or_not_printable_does_not_come_through),
		cmocka_unit_test(test_dense_means_that_no_two_elements_share_memory),
		cmocka_unit_test(test_datagrams_keep_their_borders_and_descriptors),
		cmocka_unit_test(test_sending_never_blocks),
		cmocka_unit_test(test_the_python_side_packs_the_same_struct),
		cmocka_unit_test(test_neighbours_of_one_list_are_one_argument),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
