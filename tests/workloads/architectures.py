"""Tiny random configurations of 13 Hugging Face architectures, built offline."""

from __future__ import annotations

from typing import Any

SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 256,
    "max_position_embeddings": 128,
}
GROUPED = {**SIZES, "num_key_value_heads": 2}
DEEPSEEK = {
    "moe_intermediate_size": 32,
    "n_routed_experts": 8,
    "n_group": 2,
    "topk_group": 1,
    "num_experts_per_tok": 2,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "qk_nope_head_dim": 8,
    "first_k_dense_replace": 1,
    "num_key_value_heads": 4,
}
T5 = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "vocab_size": 256}
VIT = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
WHISPER = {
    "d_model": 64,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "vocab_size": 256,
    "max_source_positions": 50,
    "max_target_positions": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "num_mel_bins": 16,
}
# name -> (class stem, head, configuration)
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama": ("Llama", "ForCausalLM", GROUPED),
    "qwen3": ("Qwen3", "ForCausalLM", {**GROUPED, "head_dim": 16}),
    "mixtral": ("Mixtral", "ForCausalLM", {**GROUPED, "num_local_experts": 4}),
    "deepseek_v3": ("DeepseekV3", "ForCausalLM", {**SIZES, **DEEPSEEK}),
    "gemma2": ("Gemma2", "ForCausalLM", {**GROUPED, "head_dim": 16}),
    "gpt2": (
        "GPT2",
        "LMHeadModel",
        {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 256, "n_positions": 128},
    ),
    "mamba": (
        "Mamba",
        "ForCausalLM",
        {"hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 256, "state_size": 8},
    ),
    "bert": ("Bert", "ForMaskedLM", SIZES),
    "t5": ("T5", "ForConditionalGeneration", {**T5, "decoder_start_token_id": 0}),
    "vit": (
        "ViT",
        "ForImageClassification",
        {**VIT, "num_attention_heads": 4, "image_size": 32, "patch_size": 8},
    ),
    "resnet": (
        "ResNet",
        "ForImageClassification",
        {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1]},
    ),
    "convnext": (
        "ConvNext",
        "ForImageClassification",
        {"hidden_sizes": [16, 32, 32, 32], "depths": [1, 1, 1, 1], "image_size": 32},
    ),
    "whisper": ("Whisper", "ForConditionalGeneration", WHISPER),
}
GENERATING = ("llama", "qwen3", "mixtral", "deepseek_v3", "gemma2", "gpt2", "mamba", "t5")


def model_of(name: str) -> Any:
    """The architecture's model with random weights."""
    import transformers

    transformers.logging.set_verbosity_error()
    stem, head, sizes = MODELS[name]
    config = getattr(transformers, f"{stem}Config")(**sizes)
    return getattr(transformers, stem + head)(config)


def inputs_of(name: str) -> dict[str, Any]:
    """What its forward pass takes."""
    import torch

    if name in ("vit", "resnet", "convnext"):
        return {"pixel_values": torch.randn(2, 3, 32, 32)}
    if name == "whisper":
        tokens = torch.randint(3, 200, (1, 8))
        return {"input_features": torch.randn(1, 16, 100), "decoder_input_ids": tokens}
    inputs = {"input_ids": torch.randint(3, 200, (2, 16))}
    return (
        {**inputs, "decoder_input_ids": torch.randint(3, 200, (2, 8))} if name == "t5" else inputs
    )


def infer(arch: str) -> dict[str, Any]:
    """A forward pass."""
    return {"model": model_of(arch), "inputs": inputs_of(arch)}


def train(arch: str) -> dict[str, Any]:
    """A training step; the loss uses every logit."""
    built = infer(arch)
    return {**built, "loss": lambda outputs: outputs.logits.float().logsumexp(-1).mean()}


def generate(arch: str) -> dict[str, Any]:
    """Four sampled tokens."""
    model = model_of(arch)
    inputs = {"input_ids": inputs_of(arch)["input_ids"]}
    sampling = {"max_new_tokens": 4, "do_sample": True, "pad_token_id": 0}
    return {"model": model, "inputs": inputs, "generate": sampling}
