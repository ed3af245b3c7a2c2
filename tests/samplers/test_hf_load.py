import json
import shutil

import huggingface_hub.constants
import pytest
import torch
from transformers import (
    FalconConfig,
    FalconForCausalLM,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    Lfm2Config,
    Lfm2ForCausalLM,
    LlamaConfig,
    MambaConfig,
    MambaForCausalLM,
    MistralConfig,
    Phi3Config,
    Qwen2Config,
)

from random_models import COMMON, CONTEXT, SHAPE, save_model
from rgsupport.errors import EngineError, RgsupportError, UsageError
from rgsupport.samplers._hf_load import context_length
from rgsupport.samplers._hf_model import CausalModel
from rgsupport.samplers.hf import HfSampler


@pytest.fixture
def folder(models_folder, tmp_path):
    """Return a copy of a good model folder, to be spoilt."""
    return shutil.copytree(models_folder / "llama", tmp_path / "model")


def refused(model, **options):
    """Return the message of a model that cannot be loaded, which must be one line."""
    with pytest.raises(RgsupportError) as caught:
        HfSampler.load(str(model), **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", ["./no/where", "~/nowhere/else", "/nowhere/at/all", "models/base/final", "has space"])
def test_a_folder_that_does_not_exist_is_a_mistake_of_usage(name):
    with pytest.raises(UsageError, match="no model folder"):
        HfSampler.load(name)


def test_a_folder_without_configuration_holds_no_model(tmp_path):
    assert "has no config.json" in refused(tmp_path)


def test_a_hub_name_that_cannot_be_reached_is_one_line(monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    message = refused("nobody/no-such-model", revision="v1")
    assert "'nobody/no-such-model' at revision 'v1' (there is no folder of this name) could not be loaded" in message


def test_a_folder_without_tokenizer_says_so(folder):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    assert "tokenizer" in refused(folder)


def test_torn_weights_are_one_line(folder):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    assert "could not be loaded" in refused(folder)


def test_a_torn_configuration_is_one_line(folder):
    (folder / "config.json").write_text('{"model_type": "lla')
    assert "could not be loaded" in refused(folder)


def test_an_unknown_architecture_is_one_line(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "tomorrow"}))
    assert "could not be loaded" in refused(folder)


def test_weights_that_are_missing_are_not_made_up(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    assert "weights" in refused(folder)
    assert "are missing, such as model.layers.2." in refused(folder)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"device": "tpu"}, "device 'tpu' is unknown"),
        ({"device": "cuda:99"}, "device 'cuda:99' is not there"),
        ({"dtype": "int3"}, "dtype 'int3' is unknown; choose float32, bfloat16, float16"),
        ({"batch_size": 0}, "batch size 0 is too small"),
    ],
)
def test_options_out_of_range_are_named(models_folder, option, message):
    assert message in refused(models_folder / "llama", **option)


@pytest.mark.parametrize(
    ("model_class", "config"),
    [
        (MambaForCausalLM, MambaConfig(hidden_size=16, num_hidden_layers=1, state_size=4, **COMMON)),
        (Lfm2ForCausalLM, Lfm2Config(**{**SHAPE, **COMMON}, layer_types=["conv", "full_attention"])),
        (FalconForCausalLM, FalconConfig(**{**SHAPE, **COMMON}, alibi=True)),
    ],
)
def test_an_architecture_without_keys_values_and_positions_alone_is_refused_by_name(model_class, config, tmp_path):
    folder = save_model(model_class, config, tmp_path / "model")
    assert model_class.__name__ in refused(folder)


def test_a_model_that_places_its_tokens_itself_is_refused_and_not_sampled_wrongly():
    attention = {"attention_types": [[["global", "local"], 1]], "window_size": 8, "num_layers": 2, "num_heads": 4}
    model = GPTNeoForCausalLM(GPTNeoConfig(**attention, **COMMON, hidden_size=32)).eval()
    with pytest.raises(EngineError, match="a GPTNeoForCausalLM: texts of different lengths"):
        CausalModel(model)


def test_a_16_bit_model_runs(models_folder):
    assert HfSampler.load(str(models_folder / "qwen2"), dtype="bfloat16").describe()["dtype"] == "bfloat16"


def test_stop_tokens_are_those_of_generation_configuration_configuration_and_tokenizer(folder):
    def edit(name, **changes):
        path = folder / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    edit("generation_config.json", eos_token_id=[9, 70])  # 70 is not in the vocabulary
    edit("config.json", eos_token_id=8)
    edit("tokenizer_config.json", eos_token="<end>")  # 3
    assert HfSampler.load(str(folder)).stop_ids == (3, 8, 9)
    for name in ("generation_config.json", "config.json", "tokenizer_config.json"):
        edit(name, **{"eos_token" if name.startswith("tok") else "eos_token_id": None})
    assert "no end-of-sequence token" in refused(folder)


def test_the_context_is_the_smallest_of_all_bounds(models_folder):
    tokenizer = HfSampler.load(str(models_folder / "llama")).tokenizer

    def length(config_class, **fields):
        return context_length(config_class(**{**SHAPE, **COMMON, **fields}), tokenizer)

    assert length(LlamaConfig) == CONTEXT
    assert length(MistralConfig, sliding_window=40) == 40
    assert length(MistralConfig, sliding_window=None) == CONTEXT
    assert length(Qwen2Config, sliding_window=40, use_sliding_window=False) == CONTEXT
    assert length(Qwen2Config, sliding_window=40, use_sliding_window=True, max_window_layers=1) == 40
    # One long text in a batch would change the embeddings of all the others.
    scaled = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4, "rope_theta": 1e4}
    assert length(Phi3Config, original_max_position_embeddings=48, rope_parameters=scaled) == 48


def test_a_context_length_that_nobody_names_is_asked_for(models_folder):
    tokenizer = HfSampler.load(str(models_folder / "llama")).tokenizer
    config = MambaConfig(**COMMON)
    with pytest.raises(EngineError, match="add max_position_embeddings"):
        context_length(config, tokenizer)
    tokenizer.model_max_length = 77
    assert context_length(config, tokenizer) == 77


def test_memory_for_keys_and_values_is_what_the_layers_need(models_folder):
    causal = HfSampler.load(str(models_folder / "llama")).model
    # 2 layers, keys and values, 2 of 4 heads, 8 numbers each, 4 bytes a number.
    assert causal.bytes_per_token == 2 * 2 * 2 * 8 * torch.float32.itemsize
