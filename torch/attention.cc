// Checks, and the choice between the kernels and ATen.
#include "torch/attention.h"

#include <cmath>
#include <string>

#include "sextant/attention/encode.h"
#include "sextant/core/error.h"
#include "torch/fused_attention.h"
#include "torch/kernel_tensors.h"
#include "torch/rotate.h"

namespace sextant::nn {
namespace {

using torch::Tensor;

[[noreturn]] void Fail(const std::string& rule) { throw Error("attention", rule); }

bool KernelsServe(const Scheme& scheme, const torch::TensorOptions& options) {
  return options.device().is_cpu() && KernelsStore(c10::typeMetaToScalarType(options.dtype())) &&
         !scheme.offers(Hook::kContextual);
}

// What tables are of for tensors of `options`.
torch::TensorOptions TableOptions(const torch::TensorOptions& options) {
  const bool narrow = c10::isReducedFloatingType(c10::typeMetaToScalarType(options.dtype()));
  return options.dtype(narrow ? caffe2::TypeMeta::Make<float>() : options.dtype());
}

std::string ShapeText(const Tensor& x) {
  std::string text = "[";
  for (const std::int64_t size : x.sizes()) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

void CheckTables(const AttentionTables& tables, std::int64_t heads, std::int64_t head_dim) {
  const VectorTensors& vectors = tables.vectors;
  const auto check_heads = [&](const Tensor& table, const char* what) {
    if (!table.defined() || table.size(0) == heads) return;
    Fail(tables.scheme->name() + " has " + what + " for " + std::to_string(table.size(0)) +
         " heads, the queries have " + std::to_string(heads));
  };
  check_heads(tables.bias, "a bias");
  check_heads(tables.tile, "a bias");
  check_heads(vectors.content_bias, "vectors");
  check_heads(vectors.position_bias, "vectors");
  for (const Tensor& table : {vectors.key, vectors.query, vectors.value}) {
    if (table.defined() && table.size(0) != 1) check_heads(table, "vectors");
  }
  for (const Tensor& table :
       {vectors.key, vectors.query, vectors.value, vectors.content_bias, vectors.position_bias}) {
    if (table.defined() && table.size(-1) != head_dim) {
      Fail(tables.scheme->name() + " has vectors of " + std::to_string(table.size(-1)) +
           " channels, the heads have " + std::to_string(head_dim));
    }
  }
  if (tables.rotary.query_cos.defined()) CheckRotaryFits(*tables.scheme, head_dim);
}

// query, key and value [batch, heads, tokens, head_dim] against each other and the tables.
void Check(const Tensor& query, const Tensor& key, const Tensor& value,
           const CausalTables& prepared) {
  if (query.dim() != 4 || key.dim() != 4 || key.sizes() != value.sizes() ||
      query.size(0) != key.size(0) || query.size(3) != key.size(3)) {
    Fail(
        "query, key and value must be [batch, heads, tokens, head_dim] of one batch and width, "
        "got " +
        ShapeText(query) + ", " + ShapeText(key) + " and " + ShapeText(value));
  }
  if (key.size(1) < 1 || query.size(1) % key.size(1) != 0) {
    Fail("query heads must be a multiple of key heads, got " + std::to_string(query.size(1)) +
         " and " + std::to_string(key.size(1)));
  }
  const Index queries = prepared.tables.queries->positions().count();
  const Index keys = prepared.tables.keys->positions().count();
  if (query.size(2) != queries || key.size(2) != keys) {
    Fail("the tables are for " + std::to_string(queries) + " queries and " + std::to_string(keys) +
         " keys, got " + std::to_string(query.size(2)) + " and " + std::to_string(key.size(2)));
  }
  for (const Tensor& tensor : {query, key, value}) {
    const torch::TensorOptions needed = TableOptions(tensor.options());
    if (tensor.scalar_type() != query.scalar_type() || needed.dtype() != prepared.options.dtype() ||
        needed.device() != prepared.options.device()) {
      Fail(std::string("the tables are for tensors of ") +
           std::string(prepared.options.dtype().name()) + " on " + prepared.options.device().str() +
           ", got " + tensor.toString() + " on " + tensor.device().str());
    }
  }
  CheckTables(prepared.tables, query.size(1), query.size(3));
}

bool TurnsByTrainedTables(const RotaryTensors& rotary) {
  for (const Tensor& table : {rotary.query_cos, rotary.query_sin, rotary.key_cos, rotary.key_sin}) {
    if (table.defined() && table.requires_grad()) return true;
  }
  return false;
}

double ScaleOf(const AttentionTables& tables, std::int64_t head_dim) {
  return tables.scheme->softmax_multiplier() / std::sqrt(double(head_dim));
}

}  // namespace

CausalTables PrepareCausal(const SchemePtr& scheme, const WeightTensors& weights,
                           const Positions& queries, const Positions& keys,
                           const torch::TensorOptions& options, AttentionPath path) {
  CausalTables prepared;
  prepared.options = TableOptions(options);
  prepared.path = path;
  prepared.tables =
      FillAttentionTables(scheme, weights, queries, keys, Reach::kCausal, prepared.options);
  if (path == AttentionPath::kAten || !KernelsServe(*scheme, options)) {
    prepared.spread = Spread(prepared.tables, prepared.options);
  }
  return prepared;
}

Tensor CausalAttention(const Tensor& query, const Tensor& key, const Tensor& value,
                       const CausalTables& prepared) {
  Check(query, key, value, prepared);
  const AttentionTables& tables = prepared.tables;
  const RotaryTensors& rotary = tables.rotary;
  const double scale = ScaleOf(tables, query.size(3));
  Tensor q = query, k = key;
  const bool turned = prepared.spread || TurnsByTrainedTables(rotary);
  if (rotary.query_cos.defined() && turned) {
    const auto turn = prepared.path == AttentionPath::kAten ? RotateComposed : Rotate;
    q = turn(q, rotary.query_cos, rotary.query_sin, rotary.shape);
    k = turn(k, rotary.key_cos, rotary.key_sin, rotary.shape);
  }
  if (prepared.spread) return AtenAttention(q, k, value, tables, *prepared.spread, scale);
  return FusedCausalAttention(q.transpose(1, 2), k.transpose(1, 2), value.transpose(1, 2), tables,
                              turned ? RotaryTensors() : rotary, scale)
      .transpose(1, 2);
}

Tensor CausalSelfAttention(const Tensor& qkv, const CausalTables& prepared) {
  if (qkv.dim() != 5 || qkv.size(2) != 3) {
    Fail("qkv must be [batch, n, 3, heads, head_dim], got " + ShapeText(qkv));
  }
  const AttentionTables& tables = prepared.tables;
  if (prepared.spread || TurnsByTrainedTables(tables.rotary)) {
    const std::vector<Tensor> parts = qkv.transpose(1, 3).unbind(2);
    return CausalAttention(parts[0], parts[1], parts[2], prepared).transpose(1, 2);
  }
  const Tensor query = qkv.select(2, 0).transpose(1, 2);
  Check(query, query, query, prepared);
  return FusedCausalSelfAttention(qkv, tables, ScaleOf(tables, query.size(3)));
}

}  // namespace sextant::nn
