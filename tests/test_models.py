import pytest

from rgsupport.errors import EngineError, UsageError
from rgsupport.models import Model, find, fingerprint


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "my model"
    path.mkdir()
    (path / "config.json").write_text("{}")
    (path / "model.safetensors").write_bytes(b"weights")
    return path


def test_a_folder_with_a_configuration_is_a_model(folder):
    model = find(str(folder))
    assert model.is_local
    assert model.revision is None


def test_a_hub_name_may_carry_a_revision():
    assert find("owner/model@step-300") == Model(name="owner/model", location="owner/model", revision="step-300")
    assert find("gpt2") == Model(name="gpt2", location="gpt2", revision=None)


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "~/nowhere", "a/b/c", "has space", "", "owner/"])
def test_what_can_be_neither_folder_nor_hub_name_is_refused_with_its_name(name):
    with pytest.raises(UsageError, match="no model"):
        find(name)


def test_a_folder_without_a_configuration_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"config\.json"):
        find(str(tmp_path))


def test_the_miniature_pair_is_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find("mini-base").is_local
    assert fingerprint(find("mini-base")) != fingerprint(find("mini-rlvr"))


@pytest.mark.parametrize("change", ["config.json", "model.safetensors", "tokenizer.json"])
def test_the_fingerprint_changes_with_any_file_that_decides_the_output(folder, change):
    before = fingerprint(find(str(folder)))
    assert fingerprint(find(str(folder))) == before
    (folder / change).write_text("changed")
    assert fingerprint(find(str(folder))) != before


def test_the_fingerprint_ignores_what_training_left_behind(folder):
    before = fingerprint(find(str(folder)))
    (folder / "optimizer.pt").write_bytes(b"state")
    assert fingerprint(find(str(folder))) == before


def test_folders_of_the_same_name_in_different_places_have_different_slugs(tmp_path):
    models = []
    for place in ("a", "b"):
        path = tmp_path / place / "checkpoint"
        path.mkdir(parents=True)
        (path / "config.json").write_text("{}")
        models.append(find(str(path)))
    assert models[0].slug != models[1].slug


def test_the_slug_of_a_hub_model_tells_its_revision():
    assert find("owner/model@v2").slug == "owner-model-v2"


def test_a_hub_model_that_cannot_be_reached_is_an_error_of_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EngineError, match="cannot get the model 'owner/no-such-model'") as error:
        fingerprint(find("owner/no-such-model"))
    assert "\n" not in str(error.value)
