"""Kernel names as profilers show them, and the library each is of."""

from __future__ import annotations

import pytest

from ciwm.opmap.libraries import library_of


@pytest.mark.parametrize(
    ("kernel", "library"),
    [
        # names as they stand in the sources that the rules name, or in published profiles
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "NCCL"),
        ("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long)", "NCCL"),
        (
            "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128>>",
            "FlashAttention",
        ),
        (
            "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits>",
            "FlashAttention",
        ),
        (
            "fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<...>)",
            "memory-efficient attention",
        ),
        ("void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_64x64>", "CUTLASS"),
        ("void cutlass::device_kernel<flash::FlashAttnFwdSm90<...>>", "FlashAttention"),
        ("sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize64", "cuDNN"),
        ("sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc", "cuDNN"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1", "cuBLAS"),
        ("void at::native::tangent_kernel<float>", "PyTorch"),
        ("ampere_sgemm_128x64_tn", "cuBLAS"),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn", "cuBLAS"),
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", "cuBLAS"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int, float>", "cuBLAS"),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512>", "cuDNN"),
        ("triton_poi_fused_add_relu_0", "Triton"),
        ("triton_red_fused__softmax_2", "Triton"),
        ("__myl_MulAddRelu_myl0_3", "TensorRT"),
        ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x32", "hipBLASLt"),
        ("aten::mkldnn_convolution", "oneDNN"),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
            "PyTorch",
        ),
    ],
)
def test_a_kernel_is_named_by_its_library(kernel: str, library: str) -> None:
    rule = library_of(kernel)
    assert rule is not None
    assert rule.library == library
    assert rule.source


@pytest.mark.parametrize("kernel", ["my_kernel_v2<float>", "Memcpy DtoD (Device -> Device)", ""])
def test_a_name_that_gives_nothing_away_has_no_library(kernel: str) -> None:
    assert library_of(kernel) is None
