"""ONNX Runtime as a peer: MultiHeadAttention and RotaryEmbedding, each a model of one node."""

import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from peer import Made, serve, subject

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 2
GENERATOR = np.random.default_rng(1)


def describe():
    return {"versions": {"onnxruntime": onnxruntime.__version__}}


def floats(*shape):
    return GENERATOR.standard_normal(shape, dtype=np.float32)


def one_node(kind, inputs, output_shape, threads, **attributes):
    """A model of one node of the com.microsoft domain, run with inputs and output bound to memory."""
    types = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}
    declared = [helper.make_tensor_value_info(name, types[value.dtype], value.shape)
                for name, value in inputs.items() if value is not None]
    names = [name if value is not None else "" for name, value in inputs.items()]
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, output_shape)
    node = helper.make_node(kind, names, ["out"], domain="com.microsoft", **attributes)
    model = helper.make_model(helper.make_graph([node], kind, declared, [out]), ir_version=10,
                              opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, value in inputs.items():
        if value is not None:
            binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
    binding.bind_ortvalue_output(
        "out", onnxruntime.OrtValue.ortvalue_from_shape_and_type(output_shape, np.float32))
    return Made(lambda: session.run_with_iobinding(binding))


def attention(bias, causal=False):
    def make(sizes):
        tokens, heads, dim = sizes["tokens"], sizes["heads"], sizes["head_dim"]
        inputs = {name: floats(1, tokens, heads * dim) for name in ("query", "key", "value")}
        inputs |= {"bias": None, "key_padding_mask": None,
                   "attention_bias": floats(1, heads, tokens, tokens) if bias else None}
        while list(inputs.values())[-1] is None:
            inputs.popitem()
        return one_node("MultiHeadAttention", inputs, (1, tokens, heads * dim), sizes["threads"],
                        num_heads=heads, unidirectional=int(causal))
    return make


subject("attention/none")(attention(False))
subject("attention/bias")(attention(True))
subject("attention/causal")(attention(False, causal=True))
subject("attention/bias_causal")(attention(True, causal=True))


def rotation(interleaved):
    def make(sizes):
        tokens, heads, dim = sizes["tokens"], sizes["heads"], sizes["head_dim"]
        angle = np.arange(tokens)[:, None] * 1e4 ** (-np.arange(0, dim, 2) / dim)
        inputs = {"input": floats(1, tokens, heads * dim), "position_ids": np.zeros(1, np.int64),
                  "cos_cache": np.cos(angle).astype(np.float32), "sin_cache": np.sin(angle).astype(np.float32)}
        return one_node("RotaryEmbedding", inputs, (1, tokens, heads * dim), sizes["threads"],
                        interleaved=int(interleaved), num_heads=heads)
    return make


subject("rotate/halves")(rotation(False))
subject("rotate/adjacent")(rotation(True))


if __name__ == "__main__":
    serve(describe)
