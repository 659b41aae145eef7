from pathway_local.judges.architecture import Layers, Recurrent, Sliding, architecture, context


def _full(layers: int, kv_heads: int, head_size: int, **others: object) -> Layers:
    return Layers.model_validate({"layers": layers, "kv_heads": kv_heads, "head_size": head_size, **others})


def test_grouped_query_attention() -> None:
    config = {"num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128}
    assert architecture(config) == _full(36, 8, 128)


def test_head_size_and_heads_follow_from_older_configs() -> None:
    config = {"n_layer": 12, "n_head": 12, "n_embd": 768, "n_positions": 1024}
    assert architecture(config) == _full(12, 12, 64)
    assert context(config) == 1024


def test_a_language_model_inside_a_config_of_several_parts() -> None:
    text = {"num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128}
    config = {
        "vision_config": {"num_hidden_layers": 24, "num_attention_heads": 16},
        "text_config": {**text, "max_position_embeddings": 262144},
    }
    assert architecture(config) == _full(40, 8, 128)
    assert context(config) == 262144


def test_recurrent_layers_keep_a_state_and_no_tokens() -> None:
    config = {
        "num_hidden_layers": 64,
        "full_attention_interval": 4,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 48,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
    }
    recurrence, convolution = 48 * 128 * 128 * 4, 3 * (2 * 16 * 128 + 48 * 128) * 2
    assert architecture(config) == Layers(
        layers=16, kv_heads=4, head_size=256, recurrent=Recurrent(layers=48, size=recurrence + convolution)
    )


def test_a_pattern_of_letters() -> None:
    config = {
        "hybrid_override_pattern": "MEMEM*EME",
        "num_attention_heads": 32,
        "num_key_value_heads": 2,
        "head_dim": 128,
        "mamba_num_heads": 64,
        "mamba_head_dim": 64,
        "ssm_state_size": 128,
        "n_groups": 8,
        "conv_kernel": 4,
    }
    found = architecture(config)
    assert found == _full(1, 2, 128, recurrent=Recurrent(layers=4, size=2_134_016))


def test_global_layers_with_heads_of_their_own() -> None:
    config = {
        "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 10,
        "num_attention_heads": 32,
        "num_key_value_heads": 16,
        "head_dim": 256,
        "global_head_dim": 512,
        "num_global_key_value_heads": 4,
        "attention_k_eq_v": True,
        "sliding_window": 1024,
    }
    assert architecture(config) == _full(
        10, 4, 512, sliding=Sliding(layers=50, kv_heads=16, head_size=256, window=1024)
    )


def test_latent_attention_keeps_one_narrow_vector() -> None:
    config = {
        "num_hidden_layers": 47,
        "num_attention_heads": 20,
        "hidden_size": 2048,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
    }
    found = architecture(config)
    assert found is not None
    assert (found.layers, found.width) == (47, 576)


def test_a_window_as_wide_as_the_context_is_none() -> None:
    config = {"num_hidden_layers": 4, "num_attention_heads": 8, "hidden_size": 512, "sliding_window": 4096}
    narrow, wide = {**config, "max_position_embeddings": 32768}, {**config, "max_position_embeddings": 4096}
    assert architecture(narrow) == _full(0, 8, 64, sliding=Sliding(layers=4, kv_heads=8, head_size=64, window=4096))
    assert architecture(wide) == _full(4, 8, 64)
    assert architecture({**narrow, "use_sliding_window": False}) == _full(4, 8, 64)


def test_layers_that_share_what_others_keep_are_not_counted() -> None:
    config = {"num_hidden_layers": 30, "num_attention_heads": 8, "head_dim": 64, "num_kv_shared_layers": 10}
    assert architecture(config) == _full(20, 8, 64)


def test_nonsense_is_no_architecture() -> None:
    good = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}
    for key, value in [("num_hidden_layers", -1), ("num_hidden_layers", True), ("num_attention_heads", "4")]:
        assert architecture({**good, key: value}) is None
    assert architecture({**good, "num_hidden_layers": 2**39}) is None
    assert architecture({**good, "kv_lora_rank": 2**40 - 1, "qk_rope_head_dim": 2**40 - 1}) is None
    assert architecture({**good, "layer_types": ["full_attention"] * 10_001}) is None
    assert architecture({"text_config": 7}) is None
