"""Workload files of these tests, small enough to be counted by hand."""

from __future__ import annotations

# forward: sigmoid (copies to the host by hand), gelu (falls back), mm and add (native)
STEP = """
import torch
from torch import nn

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(8, 16)
        self.two = nn.Linear(16, 4)

    def forward(self, x):
        return self.two(torch.sigmoid(nn.functional.gelu(self.one(x))))

def build():
    return {"model": Small(), "inputs": (torch.randn(3, 8),), "loss": lambda y: y.sum()}
"""

# two blocks of a column and a row: names that a tensor-parallel plan is recognised by
BLOCKS = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 32, bias=False)
        self.fc2 = nn.Linear(32, 16, bias=False)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(x)))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(16, 8, bias=False)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

def build():
    return {"model": Model(), "inputs": (torch.randn(4, 16),), "loss": lambda y: y.sum()}
"""

# each of 8 tokens to two of four experts, which the layer itself says
EXPERTS = """
import torch
from torch import nn

class Mixture(nn.Module):
    top_k = 2

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(16, 4, bias=False)
        self.experts = nn.ModuleList([nn.Linear(16, 16, bias=False) for _ in range(4)])

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(self.top_k, -1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            mine = (chosen == number) * weights
            out = out + expert(x) * mine.sum(-1, keepdim=True)
        return out

def build():
    return {"model": Mixture(), "inputs": (torch.randn(8, 16),)}
"""

# an operator that is called with functions, which torch does not pass to every dispatch mode
FLEX = """
import torch
from torch import nn
from torch.nn.attention.flex_attention import flex_attention

class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        x = self.inner(x)
        return flex_attention(x, x, x)

def build():
    return {"model": Attends(), "inputs": (torch.randn(1, 2, 16, 8),)}
"""

# a model that writes tokens, greedily, without a cache
WRITER = """
import torch
from torch import nn

class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(32, 16)
        self.up = nn.Linear(16, 32)
        self.head = nn.Linear(32, 32)

    def forward(self, input_ids):
        return self.head(nn.functional.gelu(self.up(self.embed(input_ids).cumsum(1))))

    def generate(self, input_ids, max_new_tokens, do_sample=False):
        for _ in range(max_new_tokens):
            following = self(input_ids)[:, -1].argmax(-1, keepdim=True)
            input_ids = torch.cat([input_ids, following], 1)
        return input_ids

def build():
    ids = torch.arange(6).reshape(2, 3)
    return {"model": Writer(), "inputs": {"input_ids": ids}, "generate": {"max_new_tokens": 4}}
"""

# breaks the graph at the if, and has operators that Inductor leaves to eager kernels
ODD = """
import torch
from torch import nn

class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        y = self.inner(x)
        if y.sum() > 0:
            y = y * 2
        return torch.cumsum(y, 0)

def build():
    return {"model": Odd(), "inputs": (torch.randn(4, 8),)}
"""

# operators of a library of its own, with a kernel of each for the CPU and one for the device
OWN_KERNELS = """
import os
import random
import torch

HERE = os.getpid()

def replayed():  # in a child, where one may die
    return os.getpid() != HERE

library = torch.library.Library("mine", "DEF")
KERNELS = {
    "right": (torch.sin, lambda x: torch.sin(x.cpu()).to(x.device)),
    "wrong": (lambda x: x + 2, lambda x: (x.cpu() + 1).to(x.device)),
    "slightly_wrong": (torch.exp, lambda x: (1.01 * torch.exp(x.cpu())).to(x.device)),
    "narrow": (lambda x: x.float().cos(), lambda x: (1.001 * x.cpu().cos()).to(x.device)),
    "senseless": (
        lambda x: x.sqrt() if x.dtype == torch.float32 else x * 0 + 7,
        lambda x: x.cpu().sqrt().to(x.device),
    ),
    "whole": (lambda x: x.int(), lambda x: (x.cpu().int() + 1).to(x.device)),
    "wait_for_cpu": (torch.tan, lambda x: torch.tan(x.cpu()).to(x.device)),
    "sparse": (lambda x: x.to_sparse(), lambda x: x.cpu().to_sparse()),
    "deadly_on_cpu": (lambda x: replayed() and os._exit(9) or x * 5, lambda x: x),
    "deadly_on_device": (lambda x: x * 6, lambda x: replayed() and os._exit(9) or x),
    "drawn": (lambda x: x + random.random(), lambda x: x),
    "drawn_length": (lambda x: x.new_zeros(random.randrange(1 << 20)), lambda x: x),
    "of_the_cpu": (lambda x: x * 3, None),
}
for name, (on_cpu, on_device) in KERNELS.items():
    library.define(name + "(Tensor x) -> Tensor")
    library.impl(name, on_cpu, "CPU")
    if on_device is not None:
        library.impl(name, on_device, "PrivateUse1")

class Model(torch.nn.Module):
    def forward(self, x):
        for name in KERNELS:
            getattr(torch.ops.mine, name)(x)
        torch.empty(3, device="meta") + 1  # has no data to be kept
        return x + 1

def build():
    return {"model": Model(), "inputs": (torch.rand(4, 3) + 1,)}
"""
