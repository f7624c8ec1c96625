"""Which library a kernel belongs to, by its name.

Kernel names are no interface, but the makers keep them: each rule says where it was seen. The
first that matches counts, so the more particular come first (a CUTLASS kernel inside cuDNN is
cuDNN's choice and CUTLASS's code; it is named CUTLASS).
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """A library, the pattern of its kernels' names, and the source of that naming."""

    library: str
    pattern: re.Pattern[str]
    source: str


def _rule(library: str, pattern: str, source: str) -> Rule:
    return Rule(library, re.compile(pattern, re.IGNORECASE), source)


RULES = (
    _rule("NCCL", r"^nccl(Dev)?Kernel|^ncclKernel|^rccl", "kernel names of nccl/src/device"),
    _rule(
        "FlashAttention",
        r"flash_(fwd|bwd)|pytorch_flash::|^fmha_(fwd|bwd)|flash_?attn|\bflash::",
        "templates of flash-attention/csrc and hopper, and aten/src/ATen/native/transformers/cuda",
    ),
    _rule(
        "memory-efficient attention",
        r"fmha_cutlass|AttentionKernel<|AttentionBackwardKernel<|PyTorchMemEffAttention",
        "aten/src/ATen/native/transformers/cuda/mem_eff_attention",
    ),
    _rule("TensorRT", r"trt_|tensorrt|myelin|^__myl_", "layer kernels shown by nsys for TensorRT"),
    _rule(
        "CUTLASS",
        r"cutlass|^(sm\d+_xmma|ampere|hopper|volta|turing)_.*_cutlass",
        "device_kernel templates of NVIDIA/cutlass",
    ),
    _rule(
        "cuDNN",
        r"cudnn|implicit_convolve|^sm\d+_xmma_(fprop|dgrad|wgrad)|_(fprop|dgrad|wgrad)_implicit_gemm",
        "namespaces in libcudnn's symbols, and the convolutions that nsys shows below it",
    ),
    _rule(
        "cuBLAS",
        r"cublas|gemmSN_|gemv2[TN]_|^(sm\d+|ampere|volta|turing|hopper|maxwell)_.*gemm|"
        r"^nvjet_|^sm\d+_xmma_gemm|splitKreduce_kernel",
        "kernels that nsys shows below cublasGemmEx and cublasLtMatmul",
    ),
    _rule(
        "Triton", r"^triton_|_kernel_0d\d|^_.*_kernel$", "names given by torch._inductor's Triton"
    ),
    _rule("hipBLASLt", r"^Cijk_", "Tensile kernel names of ROCm's BLAS libraries"),
    _rule(
        "oneDNN",
        r"^(aten::)?mkldnn_|^mkldnn::|^onednn|gen_conv|\bngen",
        "operators of ATen, oneDNN",
    ),
    _rule("oneMKL", r"^MKL_|oneapi.?mkl", "MKL_VERBOSE lines, SYCL namespaces of oneMKL"),
    _rule(
        "PyTorch",
        r"at::native::|at_cuda_detail|^void at::|c10::",
        "namespaces of ATen's own device code",
    ),
)


def library_of(kernel: str) -> Rule | None:
    """The rule that knows a kernel; None for one that no library's name gives away."""
    return next((rule for rule in RULES if rule.pattern.search(kernel)), None)
