#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='a verdict names what is wrong, where, and what to do'
. "$(dirname "$0")/lib.sh"
test_require sandbox torch

export KGB_PYTHON="${KGB_PYTHON:-$KGB_TEST_SOURCE_DIR/.deps/venv/bin/python}"

# judged LINE HOST: the verdict on a kernel of silu with this line in its kernel, and this one before the launch.
judged() {
	sed "s|KERNEL_LINE|$1|; s|HOST_LINE|$2|" >kernel.py <<-\END
		import torch
		import triton
		import triton.language as tl


		@triton.jit
		def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
		    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
		    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
		    y = x / (1.0 + tl.exp(-x))
		    KERNEL_LINE
		    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


		def silu(self):
		    x = self.contiguous()
		    y = torch.empty_like(x)
		    n = x.numel()
		    HOST_LINE
		    if n > 0:
		        silu_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
		    return y


		def silu_out(self, *, out):
		    out.copy_(silu(self))
		    return out
	END
	judge_request spec="$KGB_TEST_SOURCE_DIR/datasets/kernelgenbench/aten/aten__silu.yaml" kernel=kernel.py device=cpu \
		timing=false max_failures=1 | kgb-judge verify >verdict
}

test_expect_success 'a function that Triton does not have is named with its line and its replacement' '
	judged "y = tl.math.tanh(y)" pass && test_grep "verify.exception" verdict &&
	test_grep "in .y = tl.math.tanh(y).; Triton .* use libdevice.tanh" verdict && test_grep "(kernel.py line 11)" verdict &&
	test_grep "Rewrite that line of the kernel" verdict && test_no_grep "The call raised an exception" verdict
'

test_expect_success 'NaN that a kernel computed is not called fresh memory' '
	judged "y = (x - x) / (x - x)" pass && test_grep "computed NaN" verdict && test_no_grep "No kernel wrote" verdict
'

test_expect_success 'an element that no kernel wrote is called so' '
	judged "n = n - 1" pass && test_grep "No kernel wrote this element" verdict && test_no_grep "computed NaN" verdict
'

test_expect_success 'a condition on elements that no input decides both ways is shown with its line' '
	judged "y = tl.where(tl.sum((x - tl.flip(x) != 0).to(tl.int32), axis=0) == 77, -y, y)" pass &&
	test_grep "\"code\": *\"coverage.condition\"" verdict && test_grep "\"status\": *\"refused\"" verdict &&
	test_grep "in all cases: kernel.py:11: y = tl.where(tl.sum(.*: a condition here was never true" verdict &&
	test_no_grep "; kernel.py:11" verdict &&
	test_grep "\"uncovered\":\[{\"line\":11,\"never\":\"true\"}\]" verdict &&
	test_grep "Remove conditions on elements" verdict && test_grep "\"reached\": *\"core\"" verdict
'

test_expect_success 'conditions that inputs decide both ways, that sizes decide, or that only invalid ones need are free' '
	judged "y = tl.where(x != x, y, tl.where(at >= 0, y, tl.where(tl.abs(x) < 2, y, y)))" pass &&
	test_grep "\"status\": *\"passed\"" verdict && test_grep "\"uncovered\":\[\]" verdict
'

test_expect_success 'on the CPU questions about the GPU are answered as the target would' '
	judged pass "with torch.cuda.device(x.device), torch.cuda.device_of(x): target = triton.runtime.driver.active.get_current_target(); \
properties = torch.cuda.get_device_properties(x.device); assert target.arch == 90 and properties.major == 9; \
assert torch.cuda.get_device_capability() == (9, 0) and torch.cuda.is_bf16_supported(); \
assert properties.multi_processor_count == triton.runtime.driver.active.utils.get_device_properties(0)[\"multiprocessor_count\"]" &&
	test_grep "\"status\": *\"passed\"" verdict || { cat verdict; false; }
'
test_done
