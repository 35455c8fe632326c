/* SPDX-License-Identifier: MIT */
/* Programs with control flow, shapes, memory and atomics; faults; text that is refused. */
#include "tests/unit/verify/machine/machine_module.h"

#define N 8

/* Lanes i of %a as %x, addresses of %o as %qo. */
#define LOADS                                                                   \
	"%i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\n" \
	"%pa = tt.splat %a : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>\n"          \
	"%qa = tt.addptr %pa, %i : tensor<8x!tt.ptr<i32>>, tensor<8xi32>\n"     \
	"%po = tt.splat %o : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>\n"          \
	"%qo = tt.addptr %po, %i : tensor<8x!tt.ptr<i32>>, tensor<8xi32>\n"     \
	"%x = tt.load %qa cacheModifier = ca {isVolatile = true} : tensor<8x!tt.ptr<i32>>\n"
#define STORE "\ntt.store %qo, %r cacheModifier = wb : tensor<8x!tt.ptr<i32>>"
#define STORE_ONE "\ntt.store %o, %r : !tt.ptr<i32>"

#define C(n) "%c" #n " = arith.constant " #n " : i32\n"

/* Four lanes and four behind them. */
#define BEHIND(to, first, second)                                                                      \
	"%pairs = tt.join " first ", " second " : tensor<4xi32> -> tensor<4x2xi32>\n"                  \
	"%rows = tt.trans %pairs {order = array<i32: 1, 0>} : tensor<4x2xi32> -> tensor<2x4xi32>\n" to \
	" = tt.reshape %rows : tensor<2x4xi32> -> tensor<8xi32>\n"

static const struct {
	const char *what;
	const char *body; /* of a kernel (%a, %o: !tt.ptr<i32>) */
	int32_t want[N]; /* in %o, from %a = {3, -1, 4, 1, -5, 9, 2, -6} and zeros */
	const char *functions; /* besides the kernel */
} programs[] = {
	{"a list of constants",
	 LOADS "%c = arith.constant dense<[1, -2, 3, 16, 5, 6, 7, 8]> : tensor<8xi32>\n"
	       "%r = arith.addi %x, %c : tensor<8xi32>" STORE,
	 {4, -3, 7, 17, 0, 15, 9, 2},
	 NULL},
	{"bytes of constants",
	 LOADS
	 "%r = arith.constant dense<\"0x0100000002000000030000000400000005000000060000000700000008000000\"> : tensor<8xi32>" STORE,
	 {1, 2, 3, 4, 5, 6, 7, 8},
	 NULL},
	{"a reduction",
	 LOADS
	 "%r = \"tt.reduce\"(%x) <{axis = 0 : i32}> ({\n^bb0(%u: i32 loc(unknown), %v: i32):\n"
	 "%s = arith.addi %u, %v : i32\ntt.reduce.return %s : i32\n}) : (tensor<8xi32>) -> i32" STORE_ONE,
	 {7},
	 NULL},
	{"a condition in a combine region",
	 LOADS
	 "%r = \"tt.reduce\"(%x) <{axis = 0 : i32}> ({\n^bb0(%u: i32, %v: i32):\n"
	 "%k = arith.cmpi slt, %u, %v : i32\n%s = scf.if %k -> (i32) {\nscf.yield %v : i32\n} else {\nscf.yield %u : i32\n}\n"
	 "tt.reduce.return %s : i32\n}) : (tensor<8xi32>) -> i32" STORE_ONE,
	 {9},
	 NULL},
	{"a reduction of two operands with an index",
	 LOADS
	 "%r:2 = \"tt.reduce\"(%x, %i) <{axis = 0 : i32}> ({\n^bb0(%u: i32, %iu: i32, %v: i32, %iv: i32):\n"
	 "%k = arith.cmpi sgt, %u, %v : i32\n%s = arith.select %k, %u, %v : i32\n%t = arith.select %k, %iu, %iv : i32\n"
	 "tt.reduce.return %s, %t : i32, i32\n}) : (tensor<8xi32>, tensor<8xi32>) -> (i32, i32)\n"
	 "tt.store %o, %r#1 : !tt.ptr<i32>",
	 {5},
	 NULL},
	{"reductions along both axes",
	 LOADS
	 "%m = tt.reshape %x : tensor<8xi32> -> tensor<2x4xi32>\n"
	 "%s = \"tt.reduce\"(%m) <{axis = 0 : i32}> ({\n^bb0(%u: i32, %v: i32):\n%w = arith.addi %u, %v : i32\ntt.reduce.return %w : i32\n}) : (tensor<2x4xi32>) -> tensor<4xi32>\n"
	 "%t = \"tt.reduce\"(%m) <{axis = 1 : i32}> ({\n^bb0(%u: i32, %v: i32):\n%w = arith.maxsi %u, %v : i32\ntt.reduce.return %w : i32\n}) : (tensor<2x4xi32>) -> tensor<2xi32>\n"
	 "%e = tt.expand_dims %s {axis = 0 : i32} : tensor<4xi32> -> tensor<1x4xi32>\n"
	 "%f = tt.expand_dims %t {axis = 1 : i32} : tensor<2xi32> -> tensor<2x1xi32>\n"
	 "%g = tt.broadcast %e : tensor<1x4xi32> -> tensor<2x4xi32>\n%h = tt.broadcast %f : tensor<2x1xi32> -> tensor<2x4xi32>\n"
	 "%k = arith.muli %g, %h : tensor<2x4xi32>\n%r = tt.reshape %k : tensor<2x4xi32> -> tensor<8xi32>" STORE,
	 {-8, 32, 24, -20, -18, 72, 54, -45},
	 NULL},
	{"a scan",
	 LOADS
	 "%r = \"tt.scan\"(%x) <{axis = 0 : i32, reverse = false}> ({\n^bb0(%u: i32, %v: i32):\n"
	 "%s = arith.addi %u, %v : i32\ntt.scan.return %s : i32\n}) : (tensor<8xi32>) -> tensor<8xi32>" STORE,
	 {3, 2, 6, 7, 2, 11, 13, 7},
	 NULL},
	{"a scan backwards that keeps the order of operands",
	 LOADS
	 "%r = \"tt.scan\"(%x) <{axis = 0 : i32, reverse = true}> ({\n^bb0(%u: i32, %v: i32):\n"
	 "%z = arith.subi %v, %v : i32\n%s = arith.addi %u, %z : i32\ntt.scan.return %s : i32\n}) : (tensor<8xi32>) -> tensor<8xi32>" STORE,
	 {-6, -6, -6, -6, -6, -6, -6, -6},
	 NULL},
	{"a loop of blocks that exchanges arguments",
	 C(0) C(1) C(
		 10) "cf.br ^bb1(%c0, %c1 : i32, i32)\n^bb1(%n: i32, %s: i32):  // 2 preds\n%m = arith.addi %n, %c1 : i32\n"
		     "%t = arith.addi %s, %s : i32\n%k = arith.cmpi slt, %m, %c10 : i32\n"
		     "cf.cond_br %k, ^bb1(%m, %t : i32, i32), ^bb2(%s : i32)\n^bb2(%e: i32):\ntt.store %o, %e : !tt.ptr<i32>",
	 {512},
	 NULL},
	{"an early return",
	 C(0) "%v = tt.load %a : !tt.ptr<i32>\n%k = arith.cmpi sgt, %v, %c0 : i32\n"
	      "cf.cond_br %k, ^bb1, ^bb2\n^bb1:\ntt.return\n^bb2:\ntt.store %o, %v : !tt.ptr<i32>",
	 {0},
	 NULL},
	{"carried values that change places",
	 C(0) C(1) C(
		 5) "%w:2 = scf.for %n = %c0 to %c5 step %c1 iter_args(%p = %c0, %q = %c1) -> (i32, i32)  : i32 {\n"
		    "%s = arith.addi %p, %q : i32\nscf.yield %q, %s : i32, i32\n} {tt.num_stages = 2 : i32}\ntt.store %o, %w#1 : !tt.ptr<i32>",
	 {8},
	 NULL},
	{"a loop without results, and without its yield",
	 C(0) C(1) C(
		 5) "scf.for %n = %c0 to %c5 step %c1  : i32 {\n%p = tt.addptr %o, %n : !tt.ptr<i32>, i32\ntt.store %p, %n : !tt.ptr<i32>\n}",
	 {0, 1, 2, 3, 4},
	 NULL},
	{"while",
	 C(1) C(100) "%w = scf.while (%n = %c1) : (i32) -> (i32) {\n%k = arith.cmpi slt, %n, %c100 : i32\nscf.condition(%k) %n : i32\n} do {\n"
		     "^bb0(%m: i32):\n%d = arith.addi %m, %m : i32\nscf.yield %d : i32\n}\ntt.store %o, %w : !tt.ptr<i32>",
	 {128},
	 NULL},
	{"calls: one in place, one with blocks",
	 C(7) "%u = tt.call @twice(%c7) : (i32) -> i32\n%v = tt.call @limited(%u) : (i32) -> i32\ntt.store %o, %v : !tt.ptr<i32>",
	 {10},
	 "tt.func private @twice(%x: i32) -> i32 attributes {noinline = false} {\n%y = arith.addi %x, %x : i32\ntt.return %y : i32\n}\n"
	 "tt.func private @limited(%x: i32) -> i32 {\n%c10 = arith.constant 10 : i32\n%k = arith.cmpi sgt, %x, %c10 : i32\n"
	 "cf.cond_br %k, ^bb1, ^bb2\n^bb1:\ntt.return %c10 : i32\n^bb2:\ntt.return %x : i32\n}\n"},
	{"a call in a combine region",
	 LOADS
	 "%r = \"tt.reduce\"(%x) <{axis = 0 : i32}> ({\n^bb0(%u: i32, %v: i32):\n"
	 "%s = tt.call @larger(%u, %v) : (i32, i32) -> i32\ntt.reduce.return %s : i32\n}) : (tensor<8xi32>) -> i32" STORE_ONE,
	 {9},
	 "tt.func private @larger(%x: i32, %y: i32) -> i32 {\n%k = arith.cmpi sgt, %x, %y : i32\n"
	 "cf.cond_br %k, ^bb1, ^bb2\n^bb1:\ntt.return %x : i32\n^bb2:\ntt.return %y : i32\n}\n"},
	{"a call in a combine region, of a function with a block behind its return",
	 LOADS
	 "%r:2 = \"tt.reduce\"(%x, %i) <{axis = 0 : i32}> ({\n^bb0(%u: i32, %iu: i32, %v: i32, %iv: i32):\n"
	 "%s:2 = tt.call @first(%u, %iu, %v, %iv) : (i32, i32, i32, i32) -> (i32, i32)\n"
	 "tt.reduce.return %s#0, %s#1 : i32, i32\n}) : (tensor<8xi32>, tensor<8xi32>) -> (i32, i32)\n"
	 "tt.store %o, %r#1 : !tt.ptr<i32>",
	 {5},
	 "tt.func private @first(%x: i32, %ix: i32, %y: i32, %iy: i32) -> (i32, i32) {\n%k = arith.cmpi sgt, %x, %y : i32\n"
	 "%m = arith.select %k, %x, %y : i32\n%n = arith.select %k, %ix, %iy : i32\ntt.return %m, %n : i32, i32\n"
	 "^bb1:  // no predecessors\n%p = ub.poison : i32\ntt.return %p, %p : i32, i32\n}\n"},
	{"transposition",
	 LOADS
	 "%m = tt.reshape %x : tensor<8xi32> -> tensor<2x4xi32>\n"
	 "%t = tt.trans %m {order = array<i32: 1, 0>} : tensor<2x4xi32> -> tensor<4x2xi32>\n%r = tt.reshape %t : tensor<4x2xi32> -> tensor<8xi32>" STORE,
	 {3, -5, -1, 9, 4, 2, 1, -6},
	 NULL},
	{"split and join",
	 LOADS
	 "%m = tt.reshape %x : tensor<8xi32> -> tensor<4x2xi32>\n"
	 "%u, %v = tt.split %m : tensor<4x2xi32> -> tensor<4xi32>\n%j = tt.join %v, %u : tensor<4xi32> -> tensor<4x2xi32>\n"
	 "%k = tt.reshape %j : tensor<4x2xi32> -> tensor<8xi32>\n" BEHIND(
		 "%w", "%u", "%v") ""
				   "%r = arith.subi %k, %w : tensor<8xi32>" STORE,
	 {-4, -1, 6, 2, 10, -6, -15, 8},
	 NULL},
	{"gather",
	 LOADS
	 "%j = arith.constant dense<[7, 6, 5, 4, 3, 2, 1, 0]> : tensor<8xi32>\n"
	 "%r = tt.gather %x[%j] {axis = 0 : i32} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>" STORE,
	 {-6, 2, 9, -5, 1, 4, -1, 3},
	 NULL},
	{"histogram with a mask",
	 LOADS
	 "%b = arith.constant dense<3> : tensor<8xi32>\n%m = arith.andi %x, %b : tensor<8xi32>\n"
	 "%z = arith.constant dense<0> : tensor<8xi32>\n%k = arith.cmpi sgt, %x, %z : tensor<8xi32>\n"
	 "%r = tt.histogram %m, %k : tensor<8xi32> -> tensor<8xi32>" STORE,
	 {1, 2, 1, 1},
	 NULL},
	{"a product",
	 LOADS
	 "%u = tt.reshape %x : tensor<8xi32> -> tensor<2x4xi32>\n%f = arith.sitofp %u : tensor<2x4xi32> to tensor<2x4xf32>\n"
	 "%t = tt.trans %f {order = array<i32: 1, 0>} : tensor<2x4xf32> -> tensor<4x2xf32>\n%c = arith.constant dense<1.000000e+00> : tensor<2x2xf32>\n"
	 "%d = tt.dot %f, %t, %c, inputPrecision = ieee : tensor<2x4xf32> * tensor<4x2xf32> -> tensor<2x2xf32>\n"
	 "%e = arith.fptosi %d : tensor<2x2xf32> to tensor<2x2xi32>\n%g = tt.reshape %e : tensor<2x2xi32> -> tensor<4xi32>\n"
	 "" BEHIND("%r", "%g", "%g") STORE,
	 {28, -21, -21, 147, 28, -21, -21, 147},
	 NULL},
	{"a float16 sum is rounded after 16 products",
	 LOADS
	 "%f = arith.constant dense<1.000000e+00> : tensor<2x32xf16>\n%t = arith.constant dense<6.250000e-02> : tensor<32x2xf16>\n"
	 "%c = arith.constant dense<2.048000e+03> : tensor<2x2xf16>\n"
	 "%d = tt.dot %f, %t, %c : tensor<2x32xf16> * tensor<32x2xf16> -> tensor<2x2xf16>\n"
	 "%e = arith.fptosi %d : tensor<2x2xf16> to tensor<2x2xi32>\n%g = tt.reshape %e : tensor<2x2xi32> -> tensor<4xi32>\n"
	 "" BEHIND("%r", "%g", "%g") STORE,
	 {2048, 2048, 2048, 2048, 2048, 2048, 2048, 2048},
	 NULL},
	{"exchange if equal",
	 C(0) C(7) "%v = tt.atomic_cas acq_rel, gpu, %o, %c0, %c7 : (!tt.ptr<i32>, i32, i32) -> i32\n"
		   "%w = tt.atomic_cas acq_rel, gpu, %o, %c0, %v : (!tt.ptr<i32>, i32, i32) -> i32",
	 {7},
	 NULL},
	{"atomics of lanes that meet",
	 LOADS
	 "%z = arith.constant dense<0> : tensor<8xi32>\n%q = tt.addptr %po, %z : tensor<8x!tt.ptr<i32>>, tensor<8xi32>\n"
	 "%k = arith.cmpi sgt, %x, %z : tensor<8xi32>\n"
	 "%v = tt.atomic_rmw add, relaxed, gpu, %q, %x, %k : (tensor<8x!tt.ptr<i32>>, tensor<8xi32>, tensor<8xi1>) -> tensor<8xi32>",
	 {19},
	 NULL},
	{"a descriptor, across its edges",
	 "%c8 = arith.constant 4 : i32\n%s8 = arith.constant 4 : i64\n%s1 = arith.constant 1 : i64\n"
	 "%c2 = arith.constant 2 : i32\n%c1 = arith.constant -1 : i32\n%c0 = arith.constant 0 : i32\n"
	 "%d = tt.make_tensor_descriptor %a, [%c2, %c8], [%s8, %s1] : <i32>, <2x4xi32>\n"
	 "%e = tt.make_tensor_descriptor %o, [%c2, %c8], [%s8, %s1] : <i32>, <tensor<2x4xi32>>\n"
	 "%t = tt.descriptor_load %d[%c0, %c1] : !tt.tensordesc<2x4xi32> -> tensor<2x4xi32>\n"
	 "tt.descriptor_store %e[%c0, %c0], %t : !tt.tensordesc<2x4xi32>, tensor<2x4xi32>\n"
	 "tt.descriptor_reduce add, %e[%c1, %c0], %t : !tt.tensordesc<2x4xi32>, tensor<2x4xi32>",
	 {0, -2, 8, 6, 0, -5, 9, 2},
	 NULL},
	{"branches over what nobody reads",
	 C(1) C(3) "%k = arith.constant false\n%u = arith.addi %c1, %c1 : i32\n%w = arith.muli %c3, %c3 : i32\n"
		   "cf.cond_br %k, ^bb1, ^bb2(%u : i32)\n^bb1:\n%n = arith.addi %u, %w : i32\ncf.br ^bb2(%c1 : i32)\n"
		   "^bb2(%p: i32):\n%m = arith.addi %p, %w : i32\n%q = arith.addi %p, %c3 : i32\n"
		   "tt.store %o, %q : !tt.ptr<i32>",
	 {5},
	 NULL},
	{"a map with a condition",
	 LOADS
	 "%r = \"tt.map_elementwise\"(%x) <{pack = 1 : i32}> ({\n^bb0(%u: i32):\n%c0 = arith.constant 0 : i32\n"
	 "%k = arith.cmpi sgt, %u, %c0 : i32\n%s = scf.if %k -> (i32) {\nscf.yield %u : i32\n} else {\nscf.yield %c0 : i32\n}\n"
	 "tt.map_elementwise.return %s : i32\n}) : (tensor<8xi32>) -> tensor<8xi32>" STORE,
	 {3, 0, 4, 1, 0, 9, 2, 0},
	 NULL},
};

static void test_programs(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(programs); i++) {
		KGB_AUTO(free)
		char *kernel = module_text("%a: !tt.ptr<i32>, %o: !tt.ptr<i32>", programs[i].body);
		kernel[strlen(kernel) - 2] = '\0'; /* the module's brace */
		KGB_AUTO(free)
		char *text = kgb_xasprintf("%s%s}\n", kernel,
					   programs[i].functions ? programs[i].functions : "");
		struct kgb_machine_program *program = parse_module(text);
		_Alignas(16) int32_t a[N] = {3, -1, 4, 1, -5, 9, 2, -6}, o[N] = {0};
		struct arrays arrays = {.launch = {.finds_races = true}};
		struct kgb_machine_fault fault;
		struct kgb_err err = KGB_ERR_INIT;
		add_array(&arrays, a, sizeof(a));
		add_array(&arrays, o, sizeof(o));
		if (run_arrays(&arrays, program, &fault, &err) < 0)
			fail_msg("%s: %s", programs[i].what, err.msg);
		for (size_t k = 0; k < N; k++)
			if (o[k] != programs[i].want[k])
				fail_msg("%s: element %zu is %d, not %d", programs[i].what, k, o[k],
					 programs[i].want[k]);
		kgb_machine_program_free(program);
	}
}

/* ---- faults ---- */

#define SIGNATURE "%a: !tt.ptr<i32>, %o: !tt.ptr<i32>"
static const struct {
	const char *body;
	enum kgb_machine_fault_kind kind;
	const char *message; /* a part of it */
	const char *signature; /* NULL: SIGNATURE */
	uint32_t grid; /* programs; 0: one */
	bool is_read_only; /* %o */
} faults[] = {
	{C(8) "%p = tt.addptr %a, %c8 : !tt.ptr<i32>, i32\n%v = tt.load %p : !tt.ptr<i32> loc(\"dir/kernel.py\":12:3)",
	 KGB_MACHINE_FAULT_ACCESS,
	 "kernel.py:12: tt.load (line 5 of the IR), program (0, 0, 0): byte 32 of buffer 0, which has 32: in no buffer",
	 NULL, 0, false},
	{"%c = arith.constant -1 : i32\n%p = tt.addptr %a, %c : !tt.ptr<i32>, i32\n%v = tt.load %p : !tt.ptr<i32>",
	 KGB_MACHINE_FAULT_ACCESS, "in no buffer", NULL, 0, false},
	{"%b = tt.bitcast %a : !tt.ptr<i32> -> !tt.ptr<i8>\n" C(
		 2) "%p = tt.addptr %b, %c2 : !tt.ptr<i8>, i32\n%q = tt.bitcast %p : !tt.ptr<i8> -> !tt.ptr<i32>\n%v = tt.load %q : !tt.ptr<i32>",
	 KGB_MACHINE_FAULT_ALIGNMENT, "byte 2 of buffer 0", NULL, 0, false},
	{C(1) "tt.store %o, %c1 : !tt.ptr<i32>", KGB_MACHINE_FAULT_READ_ONLY, "read only", NULL, 0,
	 true},
	{"%p = tt.get_program_id x : i32\ntt.store %o, %p : !tt.ptr<i32>", KGB_MACHINE_FAULT_RACE,
	 "byte 0 of buffer 1, which has 32: touched by program (", NULL, 2, false},
	{C(1) "%v = tt.load %o : !tt.ptr<i32>\n%w = arith.addi %v, %c1 : i32\n%p = tt.get_program_id x : i32\n"
	      "%q = tt.addptr %o, %p : !tt.ptr<i32>, i32\ntt.store %q, %w : !tt.ptr<i32>",
	 KGB_MACHINE_FAULT_RACE, "touched by", NULL, 2, false},
	{C(1) C(2) "tt.store %o, %c1 : !tt.ptr<i32>\n%p = tt.get_program_id x : i32\n"
		   "%k = arith.cmpi eq, %p, %c1 : i32\nscf.if %k {\ntt.store %o, %c2 : !tt.ptr<i32>\n}",
	 KGB_MACHINE_FAULT_RACE, "touched by", NULL, 2, false},
	{"%k = arith.constant false\ntt.assert %k, \"n is small\" : i1", KGB_MACHINE_FAULT_ASSERT,
	 "it does not hold: n is small", NULL, 0, false},
	{"%k = arith.constant false\nllvm.intr.assume %k : i1", KGB_MACHINE_FAULT_ASSERT,
	 "it does not hold", NULL, 0, false},
	{"%k = arith.constant true\nscf.while : () -> () {\nscf.condition(%k)\n} do {\nscf.yield\n}",
	 KGB_MACHINE_FAULT_FUEL, "endless loop", NULL, 0, false},
	{C(0) C(5) "scf.for %n = %c0 to %c5 step %c0  : i32 {\n}", KGB_MACHINE_FAULT_INDEX,
	 "step 0", NULL, 0, false},
	{LOADS
	 "%r = tt.gather %x[%x] {axis = 0 : i32} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>",
	 KGB_MACHINE_FAULT_INDEX, "index", NULL, 0, false},
	{LOADS "%r = tt.histogram %x : tensor<8xi32> -> tensor<8xi32>", KGB_MACHINE_FAULT_INDEX,
	 "bin", NULL, 0, false},
	{C(2) "%s3 = arith.constant 3 : i64\n%s1 = arith.constant 1 : i64\n"
	      "%d = tt.make_tensor_descriptor %a, [%c2, %c2], [%s3, %s1] : <i32>, <2x4xi32>",
	 KGB_MACHINE_FAULT_ALIGNMENT, "stride 3 of axis 0", NULL, 0, false},
	{LOADS
	 "%y = arith.addi %x, %x {tt.divisibility = dense<4> : tensor<1xi32>} : tensor<8xi32>",
	 KGB_MACHINE_FAULT_HINT, "lane 0 is claimed to be a multiple of 4, and is 0x6", NULL, 0,
	 false},
	{C(6) "%y = arith.addi %c6, %c6 {tt.divisibility = dense<8> : tensor<1xi32>} : i32",
	 KGB_MACHINE_FAULT_HINT, "lane 0 is claimed to be a multiple of 8, and is 0xc", NULL, 0,
	 false},
	{"%y = tt.make_range {end = 9 : i32, start = 1 : i32, tt.contiguity = dense<4> : tensor<1xi32>, "
	 "tt.divisibility = dense<1> : tensor<1xi32>, tt.constancy = dense<2> : tensor<1xi32>} : tensor<8xi32>",
	 KGB_MACHINE_FAULT_HINT, "lanes 0 and 1 are claimed to be equal: 0x1, 0x2", NULL, 0, false},
	{"%f = arith.constant 1.0 : f32\n"
	 "%y = tt.elementwise_inline_asm \"ex2.approx.f32 $0, $1;\" {constraints = \"=f, =f, f, f\", packed_element = 2 : i32, pure = true} %f : f32 -> f32",
	 KGB_MACHINE_FAULT_HINT, "reads $1, which its constraints make a result", NULL, 0, false},
	{"", KGB_MACHINE_FAULT_CLAIM, "argument 1 is compiled as a multiple of 3",
	 "%a: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %o: !tt.ptr<i32> {tt.divisibility = 3 : i32}",
	 0, false},
};

static void test_faults(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(faults); i++) {
		KGB_AUTO(free)
		char *text = module_text(faults[i].signature ? faults[i].signature : SIGNATURE,
					 faults[i].body);
		struct kgb_machine_program *program = parse_module(text);
		_Alignas(16) int32_t a[N] = {3, -1, 4, 1, -5, 9, 2, -6}, o[N] = {0};
		struct arrays arrays = {
			.launch = {.finds_races = true, .fuel = 100000, .grid = {faults[i].grid}}};
		struct kgb_machine_fault fault;
		struct kgb_err err = KGB_ERR_INIT;
		add_array(&arrays, a, sizeof(a));
		add_array(&arrays, o, sizeof(o));
		arrays.buffers[1].is_writable = !faults[i].is_read_only;
		if (run_arrays(&arrays, program, &fault, &err) == 0)
			fail_msg("no fault: %s", faults[i].message);
		assert_int_equal(err.kind, KGB_ERR_FAILED);
		assert_string_equal(kgb_machine_fault_name(fault.kind),
				    kgb_machine_fault_name(faults[i].kind));
		if (!strstr(fault.message, faults[i].message) ||
		    strcmp(fault.message, err.msg) != 0)
			fail_msg("'%s' where '%s' is expected", fault.message, faults[i].message);
		kgb_machine_program_free(program);
	}
}

/* Indices that are said to be contiguous and wrap: a vector goes on behind its first lane. */
#define WRAPPED(n, hints)                                                 \
	WRAPPED_BY(C(n) "%n = tt.splat %c" #n " : i32 -> tensor<8xi32>\n" \
			"%r = arith.remsi %i, %n {" hints "} : tensor<8xi32>\n")
#define WRAPPED_BY(indices)                                                                  \
	LANES_OF_8 indices "%s = tt.splat %a : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>\n"     \
			   "%p = tt.addptr %s, %r : tensor<8x!tt.ptr<i32>>, tensor<8xi32>\n" \
			   "%x = tt.load %p : tensor<8x!tt.ptr<i32>>\n"                      \
			   "%t = tt.splat %o : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>\n"     \
			   "%q = tt.addptr %t, %i : tensor<8x!tt.ptr<i32>>, tensor<8xi32>\n" \
			   "tt.store %q, %x : tensor<8x!tt.ptr<i32>>"
/* The same indices by way of a choice, whose other value has the hints `other`. */
#define CHOSEN(choice, other)                                                          \
	WRAPPED_BY(C(5) "%n = tt.splat %c5 : i32 -> tensor<8xi32>\n"                   \
			"%v = arith.remsi %i, %n {" CONTIGUOUS "} : tensor<8xi32>\n"   \
			"%w = arith.remsi %i, %n {" other "} : tensor<8xi32>\n" choice \
			"%r = arith.select %k, %v, %w : tensor<8xi1>, tensor<8xi32>\n")
#define EVEN "%k = arith.cmpi eq, %i, %i : tensor<8xi32>\n"
#define UNIFORM "%t1 = arith.constant true\n%k = tt.splat %t1 : i1 -> tensor<8xi1>\n"
#define LANES_OF_8 "%i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\n"
#define CONTIGUOUS \
	"tt.contiguity = dense<8> : tensor<1xi32>, tt.divisibility = dense<8> : tensor<1xi32>"

static void test_vectors_begin_at_their_first_lane(void **state)
{
	static const struct {
		const char *body;
		int32_t want[8];
	} rows[] = {
		{WRAPPED(5, CONTIGUOUS), {0, 1, 2, 3, 4, 5, 6, 7}},
		{WRAPPED(6, CONTIGUOUS), {0, 1, 2, 3, 4, 5, 6, 7}},
		{WRAPPED(4, CONTIGUOUS), {0, 1, 2, 3, 0, 1, 2, 3}},
		{WRAPPED(5, ""), {0, 1, 2, 3, 4, 0, 1, 2}},
		{CHOSEN(UNIFORM, CONTIGUOUS), {0, 1, 2, 3, 4, 5, 6, 7}},
		{CHOSEN(UNIFORM, ""), {0, 1, 2, 3, 4, 0, 1, 2}},
		{CHOSEN(EVEN, CONTIGUOUS), {0, 1, 2, 3, 4, 0, 1, 2}},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(free) char *text = module_text(SIGNATURE, rows[i].body);
		struct kgb_machine_program *program = parse_module(text);
		_Alignas(16) int32_t a[8] = {0, 1, 2, 3, 4, 5, 6, 7}, o[8] = {0};
		struct arrays arrays = {0};
		struct kgb_machine_fault fault;
		struct kgb_err err = KGB_ERR_INIT;
		add_array(&arrays, a, sizeof(a));
		add_array(&arrays, o, sizeof(o));
		if (run_arrays(&arrays, program, &fault, &err) < 0)
			fail_msg("%s", err.msg);
		assert_memory_equal(o, rows[i].want, sizeof(o));
		kgb_machine_program_free(program);
	}
}

/* Whichever program is the last one, the result is the same. */
static void test_equal_stores_are_no_race(void **state)
{
	KGB_AUTO(free)
	char *text = module_text(SIGNATURE, C(7) "tt.store %o, %c7 : !tt.ptr<i32>");
	struct kgb_machine_program *program = parse_module(text);
	int32_t a[2] = {0}, o[2] = {0};
	struct arrays arrays = {.launch = {.finds_races = true, .grid = {50}, .n_threads = 2}};
	struct kgb_machine_fault fault;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	add_array(&arrays, a, sizeof(a));
	add_array(&arrays, o, sizeof(o));
	if (run_arrays(&arrays, program, &fault, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(o[0], 7);
	kgb_machine_program_free(program);
}

/* A lock, and a result that only its holder touches. */
static void test_what_a_lock_guards_is_no_race(void **state)
{
	static const char body[] = C(0) C(
		1) "scf.while : () -> () {\n%v = tt.atomic_cas acq_rel, gpu, %a, %c0, %c1 : (!tt.ptr<i32>, i32, i32) -> i32\n"
		   "%k = arith.cmpi eq, %v, %c1 : i32\nscf.condition(%k)\n} do {\nscf.yield\n}\n"
		   "%s = tt.load %o : !tt.ptr<i32>\n%t = arith.addi %s, %c1 : i32\ntt.store %o, %t : !tt.ptr<i32>\n"
		   "%k = arith.constant true\n%w = tt.atomic_rmw exch, acq_rel, gpu, %a, %c0, %k : (!tt.ptr<i32>, i32, i1) -> i32";
	KGB_AUTO(free) char *text = module_text(SIGNATURE, body);
	struct kgb_machine_program *program = parse_module(text);
	int32_t a[2] = {0}, o[2] = {0};
	struct arrays arrays = {.launch = {.finds_races = true, .grid = {50}, .n_threads = 2}};
	struct kgb_machine_fault fault;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	add_array(&arrays, a, sizeof(a));
	add_array(&arrays, o, sizeof(o));
	if (run_arrays(&arrays, program, &fault, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(o[0], 50);
	kgb_machine_program_free(program);
}

/* ---- order by atomics ---- */

#define ATOMIC(what, words, pointer, operand)                      \
	"tt.atomic_rmw " what ", " words ", " pointer ", " operand \
	", %yes : (!tt.ptr<i32>, i32, i1) -> i32\n"
#define SETS(pointer) "%w = " ATOMIC("exch", "release, gpu", pointer, "%c1")
#define WAITS_FOR(pointer)                      \
	"scf.while : () -> () {\n%v = " ATOMIC( \
		"or", "acquire, gpu", pointer,  \
		"%c0") "%k = arith.cmpi eq, %v, %c0 : i32\nscf.condition(%k)\n} do {\nscf.yield\n}\n"
#define ORDERED                                                                            \
	C(0)                                                                               \
	C(1)                                                                               \
	C(2)                                                                               \
	"%p = tt.get_program_id x : i32\n%yes = arith.constant true\n"                     \
	"%b = tt.addptr %a, %c1 : !tt.ptr<i32>, i32\n%p0 = arith.cmpi eq, %p, %c0 : i32\n" \
	"%p1 = arith.cmpi eq, %p, %c1 : i32\n%p2 = arith.cmpi eq, %p, %c2 : i32\n"
#define STORES "tt.store %o, %c2 : !tt.ptr<i32>\n"
#define READS "%x = tt.load %o : !tt.ptr<i32>\n"
#define ADDS \
	"%s = tt.load %o : !tt.ptr<i32>\n%t = arith.addi %s, %c1 : i32\ntt.store %o, %t : !tt.ptr<i32>\n"
#define LAST_READS(words)                                                                           \
	"%q = tt.addptr %o, %p : !tt.ptr<i32>, i32\ntt.store %q, %c1 : !tt.ptr<i32>\n%n = " ATOMIC( \
		"add", words, "%a",                                                                 \
		"%c1") "%l = arith.cmpi eq, %n, %c2 : i32\nscf.if %l {\n" READS                     \
		       "%y = tt.addptr %o, %c1 : !tt.ptr<i32>, i32\n%z = tt.load %y : !tt.ptr<i32>\n}\n"

/* Whether three programs race. */
static bool run_ordered(const struct kgb_machine_program *program, uint64_t seed)
{
	int32_t a[2] = {0}, o[4] = {0};
	struct arrays arrays = {
		.launch = {.finds_races = true, .grid = {3}, .n_threads = 2, .seed = seed}};
	struct kgb_machine_fault fault;
	struct kgb_err err = KGB_ERR_INIT;

	add_array(&arrays, a, sizeof(a));
	add_array(&arrays, o, sizeof(o));
	(void)run_arrays(&arrays, program, &fault, &err);
	return fault.kind == KGB_MACHINE_FAULT_RACE;
}

static void test_atomics_order_what_they_guard(void **state)
{
	static const struct {
		const char *what, *body;
		bool races;
	} rows[] = {
		{"the last program reads all parts", ORDERED LAST_READS("acq_rel, gpu"), false},
		{"a counter of a block", ORDERED LAST_READS("acq_rel, cta"), true},
		{"a relaxed counter", ORDERED LAST_READS("relaxed, gpu"), true},
		{"atomics of one block", ORDERED "%g = " ATOMIC("add", "relaxed, cta", "%a", "%c1"),
		 true},
		{"atomics of the GPU", ORDERED "%g = " ATOMIC("add", "relaxed, gpu", "%a", "%c1"),
		 false},
		{"between two steps of a counter",
		 ORDERED "%g = " ATOMIC("add", "acq_rel, gpu", "%a", "%c1") ADDS
		 "%h = " ATOMIC("add", "acq_rel, gpu", "%a", "%c1"),
		 true},
		{"between two steps of a counter that nobody waits for",
		 ORDERED "%g = " ATOMIC("add", "acq_rel, gpu", "%a", "%c1") ADDS
		 "%more = arith.addi %g, %c1 : i32\n%h = " ATOMIC("add", "acq_rel, gpu", "%a",
								  "%more"),
		 true},
		{"one tells another, which tells a third",
		 ORDERED "scf.if %p0 {\n" STORES SETS("%a") "}\nscf.if %p1 {\n" WAITS_FOR("%a")
			 SETS("%b") "}\nscf.if %p2 {\n" WAITS_FOR("%b") READS "}\n",
		 false},
		{"after the release",
		 ORDERED "scf.if %p0 {\n" SETS("%a") STORES "}\nscf.if %p1 {\n" WAITS_FOR("%a")
			 READS "}\n",
		 true},
		{"another address",
		 ORDERED "scf.if %p0 {\n" STORES SETS("%b") "%u = " ATOMIC(
			 "exch", "relaxed, gpu", "%a", "%c1") "}\nscf.if %p1 {\n" WAITS_FOR("%a")
			 READS "}\n",
		 true},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(free) char *text = module_text(SIGNATURE, rows[i].body);
		struct kgb_machine_program *program = parse_module(text);
		bool races = false;
		for (uint64_t seed = 0; seed < 8 && !races; seed++)
			races = run_ordered(program, seed);
		if (races != rows[i].races)
			fail_msg("%s", rows[i].what);
		kgb_machine_program_free(program);
	}
}

/* ---- lanes of one program ---- */

/* 128 lanes, from %a: i32 to %o: i32; %x are loaded, %y computed. */
#define T128 "tensor<128xi32>"
#define P128 "tensor<128x!tt.ptr<i32>>"
#define TO_128                                                                              \
	"%i = tt.make_range {end = 128 : i32, start = 0 : i32} : " T128                     \
	"\n%so = tt.splat %o : !tt.ptr<i32> -> " P128 "\n%here = tt.addptr %so, %i : " P128 \
	", " T128 "\n"
/* %there: addresses of the lanes that differ in bit n. */
#define FAR(n)                                                                                 \
	TO_128 "%bit = arith.constant dense<" #n "> : " T128                                   \
	       "\n%far = arith.xori %i, %bit : " T128 "\n%there = tt.addptr %so, %far : " P128 \
	       ", " T128 "\n%x = tt.load %here : " P128 "\n%y = arith.addi %i, %i : " T128 "\n"
#define STORES_HERE(value) "tt.store %here, " value " : " P128 "\n"
#define LOADS_THERE "%z = tt.load %there : " P128 "\n"
#define STORES_THERE(value) "tt.store %there, " value " : " P128 "\n"
#define BARRIER "ttg.barrier all\n"
#define SUM                                                                                                       \
	"%sum = \"tt.reduce\"(%i) <{axis = 0 : i32}> ({\n^bb0(%u: i32, %v: i32):\n%w = arith.addi %u, %v : i32\n" \
	"tt.reduce.return %w : i32\n}) : (" T128 ") -> i32\n"
#define SHAPES                       \
	"%m = tt.reshape %y : " T128 \
	" -> tensor<64x2xi32>\n%r = tt.reshape %m : tensor<64x2xi32> -> " T128 "\n"
#define COUNTER(order)                                                                               \
	"%yes = arith.constant true\n%c0 = arith.constant 0 : i32\n%old = tt.atomic_rmw add, " order \
	", gpu, %a, %c0, %yes : (!tt.ptr<i32>, i32, i1) -> i32\n"
/* Addresses of 32 elements for all lanes. */
#define IN_32                                                                                   \
	"%c31 = arith.constant dense<31> : " T128 "\n%c64 = arith.constant dense<64> : " T128   \
	"\n%e = arith.andi %i, %c31 : " T128 "\n%wrapped = tt.addptr %so, %e : " P128 ", " T128 \
	"\n"
#define ONE_ADDRESS                                                                                         \
	TO_128 "%c64 = arith.constant 64 : i32\n%p = tt.addptr %o, %c64 : !tt.ptr<i32>, i32\n" STORES_HERE( \
		"%i")

/* One program, whose lanes are of several warps or of one. Returns what the run returns. */
static int run_lanes(const struct kgb_machine_program *program, bool has_warps, uint64_t seed,
		     struct kgb_machine_fault *fault, struct kgb_err *err)
{
	_Alignas(16) int32_t a[N] = {0}, o[128] = {0};
	struct arrays arrays = {
		.launch = {.finds_races = true, .has_warps = has_warps, .seed = seed}};

	add_array(&arrays, a, sizeof(a));
	add_array(&arrays, o, sizeof(o));
	return run_arrays(&arrays, program, fault, err);
}

static void test_lanes_of_a_program_need_a_barrier(void **state)
{
	static const struct {
		const char *what, *body;
		const char *message; /* NULL: no race */
		bool is_one_warp;
	} rows[] = {
		{"read what another lane wrote", FAR(32) STORES_HERE("%y") LOADS_THERE,
		 "byte 128 of buffer 1, which has 512: touched by lanes 32 and 0 of the program "
		 "without a barrier",
		 false},
		{"a barrier", FAR(32) STORES_HERE("%y") BARRIER LOADS_THERE, NULL, false},
		{"the older barrier", FAR(64) STORES_HERE("%y") "gpu.barrier\n" LOADS_THERE, NULL,
		 false},
		{"a barrier before", FAR(32) BARRIER STORES_HERE("%y") LOADS_THERE, "barrier",
		 false},
		{"of one warp", FAR(16) STORES_HERE("%y") LOADS_THERE, NULL, false},
		{"a program of one warp", FAR(32) STORES_HERE("%y") LOADS_THERE, NULL, true},
		{"the same lane", FAR(32) STORES_HERE("%y") "%z = tt.load %here : " P128, NULL,
		 false},
		{"write what another lane read", FAR(32) LOADS_THERE STORES_HERE("%y"), "barrier",
		 false},
		{"read by two warps",
		 FAR(32) LOADS_THERE "%z2 = tt.load %here : " P128 "\n" STORES_HERE("%y"),
		 "barrier", false},
		{"write what another lane wrote", FAR(32) STORES_HERE("%y") STORES_THERE("%i"),
		 "barrier", false},
		{"one store of several lanes to one element",
		 TO_128 IN_32 "tt.store %wrapped, %i : " P128,
		 "byte 0 of buffer 1, which has 512: touched by lanes 0 and 32 of the program in one "
		 "store",
		 false},
		{"the same of one warp", TO_128 IN_32 "tt.store %wrapped, %i : " P128,
		 "lanes 0 and 32", true},
		{"the same where some lanes store what is there",
		 TO_128 IN_32 "%y = arith.andi %i, %c64 : " T128 "\ntt.store %wrapped, %y : " P128,
		 "lanes 32 and 64", true},
		{"one store of equal bits to one element",
		 TO_128 IN_32 "tt.store %wrapped, %e : " P128, NULL, false},
		{"two stores of one warp to one element",
		 FAR(16) STORES_HERE("%y") STORES_THERE("%i"), NULL, false},
		{"rows that are stored once, to one element",
		 TO_128
		 "%e = tt.expand_dims %i {axis = 1 : i32} : " T128
		 " -> tensor<128x1xi32>\n%b = tt.broadcast %e : tensor<128x1xi32> -> tensor<128x2xi32>\n"
		 "%all = tt.splat %o : !tt.ptr<i32> -> tensor<128x2x!tt.ptr<i32>>\n"
		 "tt.store %all, %b : tensor<128x2x!tt.ptr<i32>>",
		 "in one store", false},
		{"write what is there",
		 FAR(32) STORES_HERE("%i") BARRIER STORES_HERE("%i") "%z = tt.load %there : " P128,
		 NULL, false},
		{"a reduction holds all lanes", FAR(32) STORES_HERE("%y") SUM LOADS_THERE, NULL,
		 false},
		{"a scalar atomic holds all lanes",
		 FAR(32) STORES_HERE("%y") COUNTER("relaxed") LOADS_THERE, NULL, false},
		{"values that moved were read", FAR(32) LOADS_THERE SHAPES STORES_HERE("%r"), NULL,
		 false},
		{"values that moved were not written", FAR(32) STORES_HERE("%y") SHAPES LOADS_THERE,
		 "barrier", false},
		{"a scalar is loaded by all warps", ONE_ADDRESS "%z = tt.load %p : !tt.ptr<i32>",
		 "stored by lane 64 of the program and loaded by all its warps without a barrier",
		 false},
		{"also by the only one", ONE_ADDRESS "%z = tt.load %p : !tt.ptr<i32>", NULL, true},
		{"also behind a barrier", ONE_ADDRESS BARRIER "%z = tt.load %p : !tt.ptr<i32>",
		 NULL, false},
		{"a scalar that is loaded before waits for no warp",
		 TO_128 "%z = tt.load %o : !tt.ptr<i32>\n" STORES_HERE("%i"), NULL, false},
		{"so is one place for all lanes",
		 ONE_ADDRESS "%sp = tt.splat %p : !tt.ptr<i32> -> " P128
			     "\n%z = tt.load %sp : " P128,
		 "loaded by all its warps", false},
		{"another dimension moves no value",
		 FAR(32) LOADS_THERE "%e = tt.expand_dims %y {axis = 1 : i32} : " T128
				     " -> tensor<128x1xi32>\n" STORES_HERE("%y"),
		 "without a barrier", false},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(free) char *text = module_text(SIGNATURE, rows[i].body);
		struct kgb_machine_program *program = parse_module(text);
		struct kgb_machine_fault fault;
		struct kgb_err err = KGB_ERR_INIT;
		(void)run_lanes(program, !rows[i].is_one_warp, 0, &fault, &err);
		if ((fault.kind == KGB_MACHINE_FAULT_RACE) != (rows[i].message != NULL) ||
		    (rows[i].message && !strstr(fault.message, rows[i].message)))
			fail_msg("%s: '%s'", rows[i].what, err.msg);
		kgb_machine_program_free(program);
	}
}

/* Lanes of one row are of one warp or of several, as the compiler lays the block out. */
static void test_a_warp_has_a_row_or_columns(void **state)
{
#define P4X32 "tensor<4x32x!tt.ptr<i32>>"
	static const char body[] = FAR(16) "%here2 = tt.reshape %here : " P128 " -> " P4X32
					   "\n%there2 = tt.reshape %there : " P128 " -> " P4X32
					   "\n%y2 = tt.reshape %y : " T128
					   " -> tensor<4x32xi32>\ntt.store %here2, %y2 : " P4X32
					   "\n%z = tt.load %there2 : " P4X32 "\n";
	KGB_AUTO(free) char *text = module_text(SIGNATURE, body);
	struct kgb_machine_program *program = parse_module(text);
	int n_races = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 32; seed++) {
		struct kgb_machine_fault fault;
		struct kgb_err err = KGB_ERR_INIT;
		(void)run_lanes(program, true, seed, &fault, &err);
		n_races += fault.kind == KGB_MACHINE_FAULT_RACE;
	}
	assert_in_range(n_races, 8, 24);
	kgb_machine_program_free(program);
}

/* All programs count themselves. The first waits for the others and fails then; they wait for ever.
 */
#define COUNTS                                                         \
	C(0)                                                           \
	C(1)                                                           \
	C(4)                                                           \
	"%yes = arith.constant true\n%p = tt.get_program_id x : i32\n" \
	"%first = arith.cmpi eq, %p, %c0 : i32\n"                      \
	"%one = arith.select %first, %c0, %c1 : i32\n"                 \
	"%w = tt.atomic_rmw add, acq_rel, gpu, %a, %one, %yes : (!tt.ptr<i32>, i32, i1) -> i32\n"
#define WAITS                                                                                   \
	"%v = tt.atomic_rmw or, acq_rel, gpu, %a, %c0, %yes : (!tt.ptr<i32>, i32, i1) -> i32\n" \
	"%n = arith.cmpi ne, %v, %c4 : i32\n%k = arith.select %first, %n, %yes : i1\n"
#define FAILS "\n%q = tt.addptr %o, %c1 : !tt.ptr<i32>, i32\n%u = tt.load %q : !tt.ptr<i32>\n"

static void test_programs_that_wait_for_one_that_failed_end(void **state)
{
	static const char *const bodies[] = {
		COUNTS "scf.while : () -> () {\n" WAITS
		       "scf.condition(%k)\n} do {\nscf.yield\n}" FAILS,
		COUNTS "cf.br ^wait\n^wait:\n" WAITS "cf.cond_br %k, ^wait, ^end\n^end:" FAILS,
	};
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(bodies); i++) {
		KGB_AUTO(free) char *text = module_text(SIGNATURE, bodies[i]);
		struct kgb_machine_program *program = parse_module(text);
		_Alignas(8) int32_t a[2] = {0}, o[1] = {0};
		struct arrays arrays = {.launch = {.grid = {5}, .n_threads = 2, .fuel = INT64_MAX}};
		struct kgb_machine_fault fault;
		struct kgb_err err = KGB_ERR_INIT;

		add_array(&arrays, a, sizeof(a));
		add_array(&arrays, o, sizeof(o));
		if (run_arrays(&arrays, program, &fault, &err) == 0)
			fail_msg("no fault: %s", bodies[i]);
		if (fault.kind != KGB_MACHINE_FAULT_ACCESS || fault.program[0] != 0)
			fail_msg("%s", err.msg);
		kgb_machine_program_free(program);
	}
}

/* ---- order, random lanes, threads ---- */

#define MANY 1000

/* Each program takes a ticket, and reads a lane that is masked. */
static void run_tickets(uint64_t seed, int n_threads, int32_t *tickets, int32_t *randoms)
{
	static const char body[] =
		"%p = tt.get_program_id x : i32\n%q = tt.get_num_programs x : i32\n%f = arith.constant false\n"
		"%c1 = arith.constant 1 : i32\n%t = arith.constant true\n"
		"%v = tt.atomic_rmw add, relaxed, gpu, %a, %c1, %t : (!tt.ptr<i32>, i32, i1) -> i32\n"
		"%x = tt.load %a, %f : !tt.ptr<i32>\n"
		"%o1 = tt.addptr %o, %p : !tt.ptr<i32>, i32\ntt.store %o1, %v : !tt.ptr<i32>\n"
		"%o2 = tt.addptr %o1, %q : !tt.ptr<i32>, i32\ntt.store %o2, %x : !tt.ptr<i32>";
	KGB_AUTO(free) char *text = module_text(SIGNATURE, body);
	struct kgb_machine_program *program = parse_module(text);
	int32_t a[2] = {0}, o[2 * MANY] = {0};
	struct arrays arrays = {
		.launch = {
			.grid = {MANY}, .seed = seed, .n_threads = n_threads, .finds_races = true}};
	struct kgb_machine_fault fault;
	struct kgb_err err = KGB_ERR_INIT;

	add_array(&arrays, a, sizeof(a));
	add_array(&arrays, o, sizeof(o));
	if (run_arrays(&arrays, program, &fault, &err) < 0)
		fail_msg("%s", err.msg);
	memcpy(tickets, o, MANY * sizeof(*o));
	memcpy(randoms, o + MANY, MANY * sizeof(*o));
	kgb_machine_program_free(program);
}

static void test_the_seed_draws_order_and_masked_lanes(void **state)
{
	int32_t tickets[3][MANY], randoms[3][MANY];
	int same_place = 0, same_random = 0, in_order = 0;

	(void)state;
	run_tickets(1, 1, tickets[0], randoms[0]);
	run_tickets(2, 1, tickets[1], randoms[1]);
	run_tickets(1, 3, tickets[2], randoms[2]);
	for (int i = 0; i < MANY; i++) {
		same_place += tickets[0][i] == tickets[1][i];
		same_random += randoms[0][i] == randoms[1][i];
		in_order += tickets[0][i] == i;
	}
	assert_true(same_place < 50 && same_random < 5 && in_order < 50);
	/* Threads change the order, and not what is random. */
	assert_memory_equal(randoms[0], randoms[2], sizeof(randoms[0]));
}

static void test_a_buffer_may_begin_between_its_elements(void **state)
{
	KGB_AUTO(free)
	char *text = module_text("%a: !tt.ptr<i64>", "%p = tt.get_program_id x : i32\n"
						     "%q = tt.addptr %a, %p : !tt.ptr<i64>, i32\n"
						     "%v = arith.extsi %p : i32 to i64\n"
						     "tt.store %q, %v : !tt.ptr<i64>");
	struct kgb_machine_program *program = parse_module(text);
	struct arrays arrays = {.launch = {.grid = {N}, .finds_races = true}};
	_Alignas(8) char memory[8 + 8 * N];
	struct kgb_machine_fault fault;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	add_array(&arrays, memory + 4, sizeof(memory) - 4);
	arrays.buffers[0].address += 4;
	arrays.arguments[0].bits += 8;
	if (run_arrays(&arrays, program, &fault, &err) < 0) /* no two of them share an element */
		fail_msg("%s", err.msg);
	for (int64_t i = 0; i < N; i++)
		assert_memory_equal(memory + 8 + 8 * i, &i, 8);
	kgb_machine_program_free(program);
}

static void test_launches_that_do_not_fit_are_refused(void **state)
{
	KGB_AUTO(free) char *text = module_text(SIGNATURE, "");
	struct kgb_machine_program *program = parse_module(text);
	_Alignas(16) int32_t a[N] = {0}, o[N] = {0};
	struct kgb_machine_fault fault;
	static const char *const messages[] = {
		"1 arguments for a kernel that takes 2",
		"a grid of 1 x 65536 x 1",
		"buffers 0 and 1 overlap",
		"differ modulo 8",
		"argument 0: not a descriptor",
	};
	const struct kgb_machine_descriptor descriptor = {0};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(messages); i++) {
		struct arrays arrays = {0};
		struct kgb_err err = KGB_ERR_INIT;
		add_array(&arrays, a, sizeof(a));
		add_array(&arrays, o, sizeof(o));
		arrays.launch.n_arguments = i == 0 ? 1 : 2;
		arrays.launch.grid[1] = i == 1 ? 65536 : 1;
		arrays.buffers[1].address =
			i == 2 ? arrays.buffers[0].address + 8 : kgb_machine_address(1);
		arrays.buffers[1].address += i == 3 ? 4 : 0;
		arrays.arguments[0].descriptor = i == 4 ? &descriptor : NULL;
		assert_int_equal(run_arrays(&arrays, program, &fault, &err), -1);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
		assert_int_equal(fault.kind, KGB_MACHINE_NO_FAULT);
		if (!strstr(err.msg, messages[i]))
			fail_msg("'%s' where '%s' is expected", err.msg, messages[i]);
	}
	kgb_machine_program_free(program);
}

/* ---- text that is refused ---- */

#define ASSEMBLY(constraints, packed)                                                             \
	"%f = arith.constant 1.0 : f32\n"                                                         \
	"%y = tt.elementwise_inline_asm \"ex2.approx.f32 $0, $1;\" {constraints = \"" constraints \
	"\", packed_element = " packed " : i32, pure = true} %f : f32 -> f32"

static const struct {
	const char *body;
	enum kgb_err_kind kind;
	const char *message; /* a part of it */
} refused[] = {
	{"%v = tt.unknown_thing %a : i32", KGB_ERR_NOT_FOUND,
	 "line 3: tt.unknown_thing: the machine does not execute this operation"},
	{"%v = arith.addi %a, %b : i32", KGB_ERR_INVALID, "no value %b is visible here"},
	{"%v = arith.addi %a, %a : !tt.ptr<i32>", KGB_ERR_INVALID, "operands of !tt.ptr<i32>"},
	{"%v = arith.addi %a : i32", KGB_ERR_INVALID, "1 operands"},
	{"%c = arith.constant 1 : i32\n%d = arith.constant 1 : i64\n%v = arith.addi %c, %d : i32",
	 KGB_ERR_INVALID, "line 5: arith.addi: operands of i32 and i64"},
	{"%c = arith.constant 1.0 : i32", KGB_ERR_NOT_FOUND, "a constant that cannot be read"},
	{"%c = arith.constant dense<[1, 2, 3]> : tensor<4xi32>", KGB_ERR_NOT_FOUND,
	 "a constant that cannot be read"},
	{"%c = arith.constant dense<0> : tensor<3xi32>", KGB_ERR_INVALID, "powers of two"},
	{"%c = arith.constant dense<0> : tensor<2097152xi32>", KGB_ERR_INVALID, "powers of two"},
	{"%c = arith.constant 1 : i7", KGB_ERR_NOT_FOUND, "unknown type 'i7'"},
	{"%c = arith.constant 1 : i32\ntt.store %a, %a : !tt.ptr<i32>", KGB_ERR_INVALID,
	 "values of the pointers' type"},
	{"%r = tt.make_range {end = 8 : i32, start = 1 : i32} : tensor<8xi32>", KGB_ERR_INVALID,
	 "a range"},
	{"%c = arith.constant 1 : i32\n%v = arith.extsi %c : i32 to i16", KGB_ERR_INVALID,
	 "from i32 to i16"},
	{"%c = arith.constant 1 : i32\nscf.if %c {\n}", KGB_ERR_INVALID, "a condition of i1"},
	{"%c = arith.constant true\n%v = scf.if %c -> (i32) {\nscf.yield %c : i1\n} else {\nscf.yield %c : i1\n}",
	 KGB_ERR_INVALID, "i1 where i32 is expected"},
	{"%c = arith.constant true\n%v = scf.if %c -> (i32) {\n} else {\n}", KGB_ERR_INVALID,
	 "a region without an end"},
	{"%c = arith.constant true\nscf.if %c {\n%d = arith.constant 1 : i32\n}\n%v = arith.addi %d, %d : i32",
	 KGB_ERR_INVALID, "no value %d is visible here"},
	{"%c = arith.constant true\ncf.cond_br %c, ^bb1, ^bb2\n^bb1:\n%d = arith.constant 1 : i32\n%p = arith.addi %d, %d : i32\n"
	 "cf.br ^bb3\n^bb2:\ncf.br ^bb3\n^bb3:\ntt.store %a, %p : !tt.ptr<i32>",
	 KGB_ERR_INVALID, "no value %p is visible here"},
	{"cf.br ^bb9", KGB_ERR_INVALID, "unknown block"},
	{"tt.return\n%c = arith.constant true", KGB_ERR_INVALID, "it is not the last of its block"},
	{"scf.yield", KGB_ERR_INVALID, "it does not end this region"},
	{"tt.call @missing() : () -> ()", KGB_ERR_NOT_FOUND, "unknown function 'missing'"},
	{"tt.call @f(%a, %o) : (!tt.ptr<i32>, !tt.ptr<i32>) -> ()", KGB_ERR_INVALID,
	 "more than 32 calls in each other"},
	{"%v = tt.load %a {", KGB_ERR_INVALID, "line 3"},
	{"%v = tt.extern_elementwise %a {symbol = \"__nv_nothing\"} : (f32) -> f32",
	 KGB_ERR_NOT_FOUND, "__nv_nothing"},
	{ASSEMBLY("=f,f", "2"), KGB_ERR_NOT_FOUND, "other registers"},
	{ASSEMBLY("=f,=f,f,f", "1"), KGB_ERR_NOT_FOUND, "other registers"},
	{ASSEMBLY("=f,f,f", "1"), KGB_ERR_NOT_FOUND, "other registers"},
	{ASSEMBLY("=r,f", "1"), KGB_ERR_NOT_FOUND, "other registers"},
	{ASSEMBLY("=f,~f", "1"), KGB_ERR_NOT_FOUND, "other registers"},
	{ASSEMBLY("", "1"), KGB_ERR_NOT_FOUND, "other registers"},
};

static void test_what_nobody_reads_is_not_executed(void **state)
{
	(void)state;
	static const struct {
		const char *body;
		uint32_t n_operations; /* with the return */
	} rows[] = {
		{"%z = arith.constant 0 : i32\n%u = arith.addi %z, %z : i32\n%v = arith.divsi %u, %z : i32",
		 1},
		{C(1) "%u = arith.addi %c1, %c1 : i32\n%v = arith.muli %u, %u : i32\n"
		      "%w = arith.extsi %u : i32 to i64\ntt.store %o, %v : !tt.ptr<i32>",
		 4},
		{"%v = tt.load %a : !tt.ptr<i32>", 2},
		{C(1) C(2) "%u = arith.addi %c1, %c2 : i32\n%w = arith.addi %c1, %c1 : i32\n"
			   "scf.for %n = %c1 to %c2 step %c1  : i32 {\n"
			   "%v = arith.addi %n, %u : i32\ntt.store %o, %v : !tt.ptr<i32>\n}",
		 5},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(free) char *text = module_text(SIGNATURE, rows[i].body);
		struct kgb_machine_program *program = parse_module(text);
		assert_int_equal(kgb_machine_program_n_operations(program), rows[i].n_operations);
		kgb_machine_program_free(program);
	}
}

static void test_text_that_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(refused); i++) {
		KGB_AUTO(free) char *text = module_text(SIGNATURE, refused[i].body);
		struct kgb_machine_program *program = NULL;
		struct kgb_err err = KGB_ERR_INIT;
		if (kgb_machine_program_parse(&program, text, strlen(text), &err) == 0)
			fail_msg("not refused: %s", refused[i].body);
		if (!strstr(err.msg, refused[i].message) || err.kind != refused[i].kind)
			fail_msg("%s '%s' where '%s' is expected", kgb_err_kind_name(err.kind),
				 err.msg, refused[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_vectors_begin_at_their_first_lane),
		cmocka_unit_test(test_equal_stores_are_no_race),
		cmocka_unit_test(test_what_a_lock_guards_is_no_race),
		cmocka_unit_test(test_lanes_of_a_program_need_a_barrier),
		cmocka_unit_test(test_a_warp_has_a_row_or_columns),
		cmocka_unit_test(test_atomics_order_what_they_guard),
		cmocka_unit_test(test_a_buffer_may_begin_between_its_elements),
		cmocka_unit_test(test_programs_that_wait_for_one_that_failed_end),
		cmocka_unit_test(test_the_seed_draws_order_and_masked_lanes),
		cmocka_unit_test(test_launches_that_do_not_fit_are_refused),
		cmocka_unit_test(test_what_nobody_reads_is_not_executed),
		cmocka_unit_test(test_text_that_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
