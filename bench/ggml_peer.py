"""ggml as a peer: rope, flash attention and decoding, through its shared libraries' C functions."""

import ctypes
import json
import math
import sys
from ctypes import Structure, c_bool, c_float, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path

from peer import Made, Missing, serve, subject

FOLDER = Path(sys.argv[2]) if len(sys.argv) > 2 else Path()
F32, F16, I32 = 0, 1, 26          # ggml_type
NORM, NEOX = 0, 2                 # rope modes: adjacent pairs, halves
BYTES = {F32: 4, F16: 2, I32: 4}


class InitParams(Structure):
    _fields_ = [("mem_size", c_size_t), ("mem_buffer", c_void_p), ("no_alloc", c_bool)]


def declare(library, name, result, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = result, list(arguments)
    return function


class Ggml:
    """The libraries: the base, and of the builds for processors the one that scores highest here, as
    ggml itself chooses."""

    def __init__(self, folder):
        base = ctypes.CDLL(str(folder / "libggml-base.so"), mode=ctypes.RTLD_GLOBAL)
        scored = []
        for path in sorted(folder.glob("libggml-cpu-*.so")):
            scored.append((declare(ctypes.CDLL(str(path)), "ggml_backend_score", c_int)(), path))
        self.score, self.path = max(scored)
        cpu = ctypes.CDLL(str(self.path))
        floats = [c_float] * 6
        rope = [c_void_p] * 4 + [c_int] * 3 + floats
        self.init = declare(base, "ggml_init", c_void_p, InitParams)
        self.free = declare(base, "ggml_free", None, c_void_p)
        self.new_tensor = declare(base, "ggml_new_tensor_4d", c_void_p, c_void_p, c_int, *[c_int64] * 4)
        self.data = declare(base, "ggml_get_data", c_void_p, c_void_p)
        self.rope = declare(base, "ggml_rope_ext_inplace", c_void_p, *rope)
        self.flash = declare(base, "ggml_flash_attn_ext", c_void_p, *[c_void_p] * 5, *[c_float] * 3)
        self.new_graph = declare(base, "ggml_new_graph", c_void_p, c_void_p)
        self.expand = declare(base, "ggml_build_forward_expand", None, c_void_p, c_void_p)
        self.pool_params = declare(base, "ggml_threadpool_params_init", None, c_void_p, c_int)
        self.new_pool = declare(cpu, "ggml_threadpool_new", c_void_p, c_void_p)
        self.backend = declare(cpu, "ggml_backend_cpu_init", c_void_p)()
        self.set_threads = declare(cpu, "ggml_backend_cpu_set_n_threads", None, c_void_p, c_int)
        self.set_pool = declare(cpu, "ggml_backend_cpu_set_threadpool", None, c_void_p, c_void_p)
        self.compute = declare(base, "ggml_backend_graph_compute", c_int, c_void_p, c_void_p)
        self.pools = {}

    def use_threads(self, count):
        if count not in self.pools:
            params = ctypes.create_string_buffer(4096)  # larger than ggml_threadpool_params
            self.pool_params(params, count)
            self.pools[count] = self.new_pool(params)
        self.set_threads(self.backend, count)
        self.set_pool(self.backend, self.pools[count])


class Context:
    """Tensors and one graph in memory of their own, freed with this object."""

    def __init__(self, bytes_of_tensors):
        params = InitParams(bytes_of_tensors + (8 << 20), None, False)
        self.handle = GGML.init(params)
        if not self.handle:
            raise Missing("ggml has no memory for this")

    def __del__(self):
        GGML.free(self.handle)

    def tensor(self, kind, *shape):
        """Filled with one number (0.5), or zeros for integers: speed does not depend on values."""
        shape = list(shape) + [1] * (4 - len(shape))
        tensor = GGML.new_tensor(self.handle, kind, *shape)
        count = math.prod(shape)
        if kind == I32:
            ctypes.memset(GGML.data(tensor), 0, 4 * count)
        else:
            number = {F32: b"\x00\x00\x00\x3f", F16: b"\x00\x38"}[kind]
            block = number * min(count, 1 << 16)
            size = count * BYTES[kind]
            for start in range(0, size, len(block)):
                ctypes.memmove(GGML.data(tensor) + start, block, min(len(block), size - start))
        return tensor

    def computes(self, tensors, threads, count=1):
        graph = GGML.new_graph(self.handle)
        for tensor in tensors:
            GGML.expand(graph, tensor)

        def run(context=self):  # kept alive with its tensors
            GGML.use_threads(threads)
            if GGML.compute(GGML.backend, graph) != 0:
                raise Missing("ggml did not compute the graph")
        return Made(run, count)


def rope(kind, mode):
    def make(sizes):
        tokens, heads, dim = sizes["tokens"], sizes["heads"], sizes["head_dim"]
        context = Context(tokens * heads * dim * BYTES[kind] + 4 * tokens)
        x = context.tensor(kind, dim, heads, tokens)
        places = context.tensor(I32, tokens)
        ctypes.memmove(GGML.data(places), (ctypes.c_int32 * tokens)(*range(tokens)), 4 * tokens)
        # A lone token is turned many times in one graph, so that starting a graph does not count.
        count = 64 if tokens == 1 else 1
        turned = [x]
        for _ in range(count):
            turned.append(GGML.rope(context.handle, turned[-1], places, None, dim, mode, 0, 1e4, 1, 0, 1, 32, 1))
        return context.computes(turned[-1:], sizes["threads"], count)
    return make


subject("rope/f32/neox")(rope(F32, NEOX))
subject("rope/f32/norm")(rope(F32, NORM))
subject("rope/f16/neox")(rope(F16, NEOX))
subject("rope/f16/norm")(rope(F16, NORM))


def flash(kind, queries=None, mask=None):
    """`kind` stores keys and values; the mask is f16 for all heads, with ALiBi's slopes by head."""
    def make(sizes):
        tokens, heads, dim = sizes["tokens"], sizes["heads"], sizes["head_dim"]
        shared, count = sizes.get("kv_heads", heads), queries or tokens
        context = Context((2 * tokens * shared * BYTES[kind] + 8 * count * heads) * dim + 2 * count * tokens)
        q = context.tensor(F32, dim, count, heads)
        k, v = (context.tensor(kind, dim, tokens, shared) for _ in range(2))
        given = context.tensor(F16, tokens, count) if mask else None
        out = GGML.flash(context.handle, q, k, v, given, 1 / math.sqrt(dim), 8.0 if mask else 0.0, 0.0)
        return context.computes([out], sizes["threads"])
    return make


subject("flash/f32")(flash(F32))
subject("flash/f16")(flash(F16))
subject("flash/f16_alibi")(flash(F16, mask="alibi"))
subject("decode/f32")(flash(F32, queries=1))
subject("decode/f16")(flash(F16, queries=1))
subject("decode/f16_alibi")(flash(F16, queries=1, mask="alibi"))


def describe():
    version = json.loads((FOLDER.parents[1] / "package.json").read_text())["version"]
    return {"versions": {"ggml (npm @node-llama-cpp/linux-x64)": version, "ggml build": GGML.path.name}}


if __name__ == "__main__":
    GGML = Ggml(FOLDER)
    serve(describe)
