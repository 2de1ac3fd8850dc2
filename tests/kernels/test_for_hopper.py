"""The kernels compiled for an H200 where none is: what fits it, and which products they use."""

import re
import subprocess

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from mla_engine.kernels import decode, plan

HOPPER = GPUTarget("cuda", 90, 32)
SHARED_BYTES = 232448  # that a program may have there
REGISTERS = 65536  # of a multiprocessor
TENSORS = {"chosen": "*i32", "pages": "*i32", "lengths": "*i32", "o": "*fp32", "lse": "*fp32"}
EVEN = ("c_page", "c_key", "r_page", "r_key")  # multiples of 16, as of any cache of these widths


def compiled(kernel, dtype, options, **constants):
    """The kernel with arguments of these types; what is not named is a whole number."""
    names = kernel.arg_names
    numbers = dict.fromkeys(("q_C", "q_R", "c_KV", "k_R"), f"*{dtype}")
    types = numbers | TENSORS | dict.fromkeys(("parts_o", "parts_lse"), "*fp32")
    types |= {"scale_log2": "fp32"} | dict.fromkeys(constants, "constexpr")
    signature = {name: types.get(name, "i32") for name in names}
    even = [n for n in names if signature[n][0] == "*" or (n in EVEN and n not in constants)]
    return triton.compile(
        ASTSource(
            fn=kernel,
            signature=signature,
            constexprs={(names.index(n),): value for n, value in constants.items() if n in names},
            attrs={(names.index(n),): [["tt.divisibility", 16]] for n in even},
        ),
        target=HOPPER,
        options=options,
    )


def registers_and_spilled(ptx, tmp_path):
    """Return a thread's registers, and its bytes that found none, as NVIDIA's assembler counts."""
    (tmp_path / "kernel.ptx").write_text(ptx)
    command = [triton.knobs.nvidia.ptxas.path, "-v", "--gpu-name=sm_90a", "kernel.ptx", "-o", "x"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stderr
    spilled = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", said)
    return int(re.search(r"Used (\d+) registers", said)[1]), int(spilled[1]) + int(spilled[2])


@pytest.mark.parametrize(
    ("heads", "page_keys", "sparse", "dtype", "c", "r"),
    [
        (16, 0, False, "bf16", 512, 64),
        (32, 0, False, "fp16", 512, 64),
        (128, 0, False, "bf16", 512, 64),
        (128, 0, False, "bf16", 256, 32),
        (16, 64, False, "bf16", 512, 64),
        (128, 64, False, "bf16", 512, 64),
        (128, 0, True, "bf16", 512, 64),
    ],
)
def test_a_tile_fits_an_h200_and_uses_its_products(
    tmp_path, monkeypatch, heads, page_keys, sparse, dtype, c, r
):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    looked_up = sparse or page_keys > 0
    tile = plan.tile(heads, c + r, 2, SHARED_BYTES, looked_up=looked_up)
    options = tile.options()
    constants = {name: options.pop(name) for name in ("rows", "keys")}
    constants |= {"d_latent": c, "d_rope": r, "page_keys": page_keys, "whole": False}
    constants |= {"n_queries": 1, "apart": 1}
    constants |= {} if page_keys else {"pages": None}
    constants |= {} if sparse else {"chosen": None}
    kernel = compiled(decode._part_of_keys, dtype, options, **constants)
    ptx = kernel.asm["ptx"]
    assert kernel.metadata.shared <= tile.shared_bytes(c + r, 2) <= SHARED_BYTES
    assert ("wgmma.mma_async" in ptx) == (tile.rows == 64)
    assert ("mma.sync" in ptx) == (tile.rows < 64)
    assert "cp.async" in ptx  # the next tile comes while this one is worked on
    registers, spilled = registers_and_spilled(ptx, tmp_path)
    assert spilled == 0
    assert registers * 32 * tile.warps * tile.resident <= REGISTERS


def test_the_second_kernel_compiles(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    constants = {"sparse": False, "apart": 1, "d_latent": 512}
    assert compiled(decode._sum_of_parts, "fp32", {}, **constants).metadata.shared < 2**14
