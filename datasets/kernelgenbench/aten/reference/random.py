# SPDX-License-Identifier: MIT
"""Random operators: draws of torch's own with the seed that is passed in place of a generator, and, as users call them,
with the generator that torch has for the device."""

import torch


def generator(seed):
    if seed.is_meta:
        return None  # sizes are asked for, there are no draws
    made = torch.Generator(device=seed.device)
    made.manual_seed(int(seed[0]))
    return made


def bernoulli(self, *, seed):
    return torch.bernoulli(self, generator=generator(seed))


def bernoulli_now(self, *, seed):
    return torch.bernoulli(self)


def bernoulli_p(self, p, *, seed):
    return torch.ops.aten.bernoulli.p(self, p, generator=generator(seed))


def bernoulli_p_now(self, p, *, seed):
    return torch.ops.aten.bernoulli.p(self, p)


def bernoulli_tensor(self, p, *, seed):
    return torch.ops.aten.bernoulli.Tensor(self, p, generator=generator(seed))


def bernoulli_tensor_now(self, p, *, seed):
    return torch.ops.aten.bernoulli.Tensor(self, p)


def exponential(self, lambd, *, seed):
    return self.exponential_(lambd, generator=generator(seed))


def exponential_now(self, lambd, *, seed):
    return self.exponential_(lambd)


def poisson(self, seed):
    return torch.poisson(self, generator=generator(seed))


def poisson_now(self, seed):
    return torch.poisson(self)


def rrelu(self, noise, lower, upper, training, seed):
    """torch takes noise for contiguous, whatever its strides are, and knows no half precision on every device."""
    half = self.dtype in (torch.float16, torch.bfloat16)
    x = (self.float() if half else self).contiguous()
    drawn = torch.empty_like(x)
    result = torch.ops.aten.rrelu_with_noise(x, drawn, lower, upper, training, generator(seed))
    noise.copy_(drawn)
    return (x * noise).to(self.dtype) if half else result, noise


def rrelu_now(self, noise, lower, upper, training, seed):
    return torch.ops.aten.rrelu_with_noise(self, noise, lower, upper, training), noise


def rrelu_evaluation(self, noise, lower, upper, training, seed):
    return torch.nn.functional.leaky_relu(self, (lower + upper) / 2)
