"""The namespace is that of the array API standard: every name, with the standard's parameters."""

import copy
import inspect
from inspect import Parameter, Signature
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from docs.array_api import ATTRIBUTES, CONSTANTS, METHODS, functions
from tests.support.oracle import DTYPES


def accepts(given: Signature, wanted: Signature) -> str | None:
    """What keeps a function from being called as the standard says; more may be allowed."""
    have = list(given.parameters.values())
    for place, parameter in enumerate(wanted.parameters.values()):
        name, kind = parameter.name, parameter.kind
        if kind == Parameter.VAR_POSITIONAL:
            if [p for p in have if p.kind == kind] != have[place : place + 1]:
                return f"*{name} is not there"
            continue
        if kind == Parameter.KEYWORD_ONLY:
            found = given.parameters.get(name)
            kinds = {Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD}
        else:
            found = have[place] if place < len(have) else None
            kinds = {kind, Parameter.POSITIONAL_OR_KEYWORD}
        if found is None or found.kind not in kinds:
            return f"{name} is not there, or not {kind.description}"
        if kind != Parameter.POSITIONAL_ONLY and found.name != name:
            return f"{found.name} should be {name}"
        if parameter.default is not Parameter.empty and found.default is Parameter.empty:
            return f"{name} has no default"
    for name, parameter in given.parameters.items():
        needed = parameter.default is Parameter.empty
        variadic = parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        if have.index(parameter) >= len(wanted.parameters) and needed and not variadic:
            return f"{name} is needed, and not in the standard"
    return None


@pytest.mark.parametrize(("space", "name", "wanted"), functions(), ids=lambda x: str(x)[:40])
def test_functions(space: str, name: str, wanted: Signature) -> None:
    function = getattr(getattr(flow, space) if space else flow, name)
    assert accepts(inspect.signature(function), wanted) is None
    assert function.__doc__


def test_a_wrong_signature_is_seen() -> None:
    def signature(text: str) -> Signature:
        return inspect.signature(eval(f"lambda {text}: None"))

    wanted = signature("x, /, shape, *, axis=None")
    for good in ("x, shape, axis=None", "x, /, shape, *, axis=0, more=1"):
        assert accepts(signature(good), wanted) is None
    for bad in (
        "x, /",
        "x, /, form, *, axis=None",
        "x, /, shape",
        "x, shape, *, axis",
        "*x, shape",
    ):
        assert accepts(signature(bad), wanted) is not None
    assert accepts(signature("x, /, shape, *, axis=None, more"), wanted) is not None


def test_constants_and_dtypes() -> None:
    for name in (*CONSTANTS, *DTYPES):
        assert hasattr(flow, name)


@pytest.mark.parametrize("name", METHODS.split())
def test_methods(name: str) -> None:
    assert callable(getattr(flow.Tensor, f"__{name}__"))


def test_attributes(device: flow.Device) -> None:
    x = flow.zeros((2, 3), device=device)
    assert all(hasattr(x, name) for name in ATTRIBUTES)
    assert (x.shape, x.ndim, x.size, x.dtype) == ((2, 3), 2, 6, flow.float64)
    assert (x.itemsize, x.nbytes, x.strides) == (8, 48, (24, 8))
    assert x.device == device
    assert x.to_device(device) is x
    assert x.to_device(flow.Device("cpu")).device == "cpu"
    with pytest.raises(ValueError, match=r"\[to_device\].*stream"):
        x.to_device(device, stream=1)


def test_namespace_of_a_tensor() -> None:
    x = flow.zeros(1)
    for version in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        assert x.__array_namespace__(api_version=version) is flow
    with pytest.raises(ValueError, match=r"\[__array_namespace__\].*2025.12.*'2031.12'"):
        x.__array_namespace__(api_version="2031.12")


@pytest.mark.parametrize(("version", "kind"), [("2024.12", list), ("2025.12", tuple)])
def test_versions(version: str, kind: type) -> None:
    with flow.flags(array_api=version):
        assert flow.__array_api_version__ == version
        assert type(flow.broadcast_arrays(flow.zeros(2), flow.zeros(1))) is kind
        assert type(flow.meshgrid(flow.zeros(2))) is kind
        assert type(flow.__array_namespace_info__().devices()) is kind


# --- inspection


def test_capabilities() -> None:
    capabilities = flow.__array_namespace_info__().capabilities()
    assert capabilities["boolean indexing"] is True
    assert capabilities["data-dependent shapes"] is True
    most = capabilities["max dimensions"]
    assert flow.zeros((1,) * most).ndim == most
    with pytest.raises(ValueError, match="dimensions"):
        flow.zeros((1,) * (most + 1))


def test_devices(device: flow.Device) -> None:
    info = flow.__array_namespace_info__()
    assert device in info.devices()
    assert list(info.devices()) == flow.devices()
    assert info.default_device() == "cpu"
    with flow.device(device):
        assert info.default_device() == device
        assert flow.zeros(1).device == device


def test_default_dtypes(device: flow.Device) -> None:
    info = flow.__array_namespace_info__()
    for where in (None, device, str(device)):
        defaults = info.default_dtypes(device=where)
        assert defaults["real floating"] == flow.zeros(1).dtype
        assert defaults["integral"] == flow.asarray(1).dtype
        assert defaults["complex floating"] == flow.asarray(1j).dtype
        assert defaults["indexing"] == flow.argmax(flow.zeros(2)).dtype
    with pytest.raises(ValueError, match="nowhere"):
        info.default_dtypes(device="nowhere")


@pytest.mark.parametrize(
    "kind",
    [
        *(None, "bool", "signed integer", "unsigned integer", "integral", "real floating"),
        *("complex floating", "numeric", ("bool", "integral"), ()),
    ],
)
def test_dtypes_of_a_kind(kind: Any, device: flow.Device) -> None:
    info = flow.__array_namespace_info__()
    names = [name for name in DTYPES if name != "float16"]
    if kind is not None:
        names = [name for name in names if kind and np.isdtype(np.dtype(name), kind)]
    expected = {name: getattr(flow, name) for name in names}
    assert info.dtypes(kind=kind) == info.dtypes(device=device, kind=kind) == expected


def test_dtypes_of_an_unknown_kind() -> None:
    with pytest.raises(ValueError, match="unknown kind 'float'"):
        flow.__array_namespace_info__().dtypes(kind="float")


# --- conversions to Python


@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions(dtype: str, device: flow.Device) -> None:
    number = np.asarray(1, dtype)
    x = flow.asarray(number, device=device)
    assert bool(x) is True
    if number.dtype.kind == "c":
        for convert in (float, int):
            with pytest.raises(TypeError):
                convert(x)
    else:
        assert (float(x), int(x)) == (1.0, 1)
    assert (type(complex(x)), complex(x)) == (complex, 1 + 0j)
    if number.dtype.kind in "iu":
        assert [5, 6][x] == 6
    else:
        with pytest.raises(TypeError, match="0-d integer"):
            x.__index__()


def test_fill_and_copies(device: flow.Device) -> None:
    x = flow.zeros((2, 2), dtype="int32", device=device)
    other = copy.copy(x)
    x[0].fill(3)
    assert x.tolist() == [[3, 3], [0, 0]]
    assert other.tolist() == [[0, 0], [0, 0]]
    assert flow.conj(x).tolist() == x.conj().tolist() == x.conjugate().tolist()
