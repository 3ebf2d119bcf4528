// The backward call: the kernel part by part, then every table's gradient mapped back.
#include <algorithm>
#include <string>
#include <vector>

#include "sextant/attention/attention.h"
#include "sextant/attention/double_heads.h"
#include "sextant/attention/fused_call.h"
#include "sextant/attention/reference.h"
#include "sextant/core/error.h"

namespace sextant {
namespace {

constexpr Index kTileSliceElements = 1 << 16;

void CheckGradients(const Scheme& scheme, const PositionedHeads& in,
                    const PositionedGradients& gradients) {
  const auto fail = [](const std::string& rule) { throw Error("attention", rule); };
  CheckLayout("out", gradients.out, gradients.out.data());
  CheckLayout("d_out", gradients.d_out, gradients.d_out.data());
  CheckLayout("d_query", gradients.d_query, gradients.d_query.data());
  CheckLayout("d_key", gradients.d_key, gradients.d_key.data());
  CheckLayout("d_value", gradients.d_value, gradients.d_value.data());
  if (!gradients.out.SameShape(in.query)) fail("out must have the shape of the queries");
  if (!gradients.d_out.SameShape(in.query)) fail("d_out must have the shape of the queries");
  if (!gradients.d_query.SameShape(in.query)) fail("d_query must have the shape of the queries");
  if (!gradients.d_key.SameShape(in.key)) fail("d_key must have the shape of the keys");
  if (!gradients.d_value.SameShape(in.value)) fail("d_value must have the shape of the values");
  for (const HeadsIn* read : {&in.query, &in.key, &in.value, &gradients.out, &gradients.d_out}) {
    for (const HeadsOut* written : {&gradients.d_query, &gradients.d_key, &gradients.d_value}) {
      if (Overlap(*read, *written)) fail("d_query, d_key and d_value must not overlap an input");
    }
  }
  const bool rows = in.query.tokens > 0 && in.query.heads > 0;
  if (rows && gradients.log_sum_exp == nullptr) fail("the backward pass needs log_sum_exp");
  if (gradients.d_weights.empty()) return;
  const std::vector<WeightInfo> declared = scheme.weights();
  bool fits = gradients.d_weights.size() == declared.size();
  for (std::size_t w = 0; fits && w < declared.size(); ++w) {
    fits = Index(gradients.d_weights[w].size()) == declared[w].elements();
  }
  if (!fits) fail("d_weights must have the shapes of the weights of " + scheme.name());
}

void ByReference(const Scheme& scheme, Weights weights, const PositionedHeads& in,
                 const PositionedGradients& gradients) {
  const Array<double, 3> query = ToDouble(in.query), key = ToDouble(in.key),
                         value = ToDouble(in.value), d_out = ToDouble(gradients.d_out);
  const AttentionGradients right = ReferenceAttentionBackward(
      scheme, weights, {query, key, value, in.query_positions, in.key_positions, in.mask, in.scale},
      d_out);
  FromDouble(right.query, gradients.d_query);
  FromDouble(right.key, gradients.d_key);
  FromDouble(right.value, gradients.d_value);
  for (std::size_t w = 0; w < gradients.d_weights.size(); ++w) {
    AddTo(right.weights[w], gradients.d_weights[w]);
  }
}

// Gradients of tables [heads, ...] as the kernel writes them; empty where not wanted.
struct TableGradients {
  TableGradients(const FusedCall& call, Index queries, bool wanted) : heads(call.in().query.heads) {
    if (!wanted) return;
    const DistanceTables& tables = call.by_distance();
    // Where the mask shows no distance, the kernel is given no table.
    const bool shown = tables.distances().count > 0;
    if (shown && tables.bias != nullptr) Resize(bias, tables.bias->distances.count);
    if (shown && tables.vectors != nullptr) {
      const VectorRows& v = *tables.vectors;
      if (!v.key.empty()) Resize(key, v.rows * v.head_dim);
      if (!v.query.empty()) Resize(query, v.rows * v.head_dim);
      if (!v.value.empty()) Resize(value, v.rows * v.head_dim);
      if (!v.content_bias.empty()) Resize(content_bias, v.head_dim);
      if (!v.position_bias.empty()) Resize(position_bias, v.head_dim);
    }
    if (call.scales() != nullptr) Resize(query_scale, queries);
  }
  void Resize(std::vector<double>& table, Index width) const {
    table.resize(static_cast<std::size_t>(heads * width));
  }
  static double* DataOf(std::vector<double>& table) {
    return table.empty() ? nullptr : table.data();
  }
  void GiveTo(AttentionGradient& kernel) {
    kernel.d_bias = DataOf(bias);
    kernel.d_vector_key = DataOf(key);
    kernel.d_vector_query = DataOf(query);
    kernel.d_vector_value = DataOf(value);
    kernel.d_content_bias = DataOf(content_bias);
    kernel.d_position_bias = DataOf(position_bias);
    kernel.d_query_scale = DataOf(query_scale);
  }
  // All but those of the queries' factors, which every part has for itself.
  void Add(const TableGradients& part) {
    AddTo(part.bias, bias);
    AddTo(part.key, key);
    AddTo(part.query, query);
    AddTo(part.value, value);
    AddTo(part.content_bias, content_bias);
    AddTo(part.position_bias, position_bias);
  }

  Index heads;
  std::vector<double> bias, key, query, value, content_bias, position_bias, query_scale;
};

// [heads, ...] summed to [to.extent(0), ...] in the order of heads, which is 1 or all of them.
void SumHeads(const std::vector<double>& by_head, Array<double, 3>& to) {
  const std::size_t width = to.values().size();
  for (std::size_t n = 0; n < by_head.size(); ++n) to.values()[n % width] += by_head[n];
}

class Backward {
 public:
  Backward(const KernelTables& tables, const FusedCall& call, const PositionedGradients& gradients)
      : tables_(tables),
        call_(call),
        gradients_(gradients),
        trained_(!gradients.d_weights.empty()),
        sums_(call, 0, trained_) {
    const PositionedHeads& in = call.in();
    if (call.encoding(Side::kQuery).changes()) d_query_ = Memory(in.query, d_query_memory_);
    if (call.encoding(Side::kKey).changes() || call.parts() > 1) {
      d_key_ = Memory(in.key, d_key_memory_);
    }
    if (call.parts() > 1) {
      d_value_ = Memory(in.value, d_value_memory_);
      d_key_sum_.resize(d_key_memory_.size());
      d_value_sum_.resize(d_key_memory_.size());
    }
  }

  void Run() {
    for (Index n = 0; n < call_.parts(); ++n) RunPart(call_.PartAt(n));
    if (call_.parts() > 1) {
      std::copy(d_key_sum_.begin(), d_key_sum_.end(), d_key_memory_.begin());
      std::copy(d_value_sum_.begin(), d_value_sum_.end(), d_value_memory_.begin());
      EncodeHeads({}, d_value_, gradients_.d_value, tables_.executor());
    }
    BackTables();
    BackEncoding(Side::kQuery, call_.in().query, call_.in().query_positions, d_query_,
                 gradients_.d_query);
    BackEncoding(Side::kKey, call_.in().key, call_.in().key_positions, d_key_, gradients_.d_key);
  }

 private:
  static HeadsOf<float> Memory(const HeadsIn& like, std::vector<float>& memory) {
    memory.resize(static_cast<std::size_t>(like.tokens * like.heads * like.head_dim));
    return DenseHeads(memory.data(), like.tokens, like.heads, like.head_dim);
  }

  void RunPart(const FusedCall::Part& part) {
    const Index heads = call_.in().query.heads, queries = call_.in().query.tokens;
    AttentionGradient kernel;
    kernel.out = Tokens(gradients_.out, part.first, part.count);
    kernel.d_out = Tokens(gradients_.d_out, part.first, part.count);
    std::vector<float> log_sum_exp;
    for (Index h = 0; h < heads && call_.parts() > 1; ++h) {
      const float* row = gradients_.log_sum_exp + h * queries + part.first;
      log_sum_exp.insert(log_sum_exp.end(), row, row + part.count);
    }
    kernel.log_sum_exp = call_.parts() > 1 ? log_sum_exp.data() : gradients_.log_sum_exp;
    const HeadsOut d_query = d_query_.data != nullptr ? HeadsOut(d_query_) : gradients_.d_query;
    kernel.d_query = Tokens(d_query, part.first, part.count);
    kernel.d_key = d_key_.data != nullptr ? HeadsOut(d_key_) : gradients_.d_key;
    kernel.d_value = d_value_.data != nullptr ? HeadsOut(d_value_) : gradients_.d_value;
    TableGradients d(call_, part.count, trained_);
    d.GiveTo(kernel);
    std::vector<float> d_tile;
    if (part.tile != nullptr && trained_) d_tile.resize(part.tile->values.size());
    if (!d_tile.empty()) kernel.d_tile = d_tile.data();
    AttentionBackward(call_.Kernel(part), kernel, tables_.executor());
    sums_.Add(d);
    BackScales(part, d.query_scale);
    BackTile(part, d_tile);
    for (std::size_t n = 0; n < d_key_sum_.size(); ++n) {
      d_key_sum_[n] += double(d_key_memory_[n]);
      d_value_sum_[n] += double(d_value_memory_[n]);
    }
  }

  void BackScales(const FusedCall::Part& part, const std::vector<double>& by_head) const {
    if (by_head.empty()) return;
    Array<double, 1> d_scale({part.count});
    for (std::size_t n = 0; n < by_head.size(); ++n) {
      d_scale(Index(n) % part.count) += by_head[n];
    }
    tables_.scheme().BackQueryScale(tables_.weights(),
                                    Slice(call_.in().query_positions, part.first, part.count),
                                    d_scale, gradients_.d_weights);
  }

  void BackTile(const FusedCall::Part& part, const std::vector<float>& d_tile) const {
    if (d_tile.empty()) return;
    const Index heads = call_.in().query.heads, keys = call_.in().key.tokens;
    const Index slice = std::max<Index>(1, kTileSliceElements / (heads * keys));
    for (Index first = 0; first < part.count; first += slice) {
      const Index count = std::min(slice, part.count - first);
      Array<double, 3> d({heads, count, keys});
      for (Index h = 0; h < heads; ++h) {
        const float* from = d_tile.data() + (h * part.count + first) * keys;
        std::copy(from, from + count * keys, d.view()[h].data());
      }
      tables_.scheme().BackTileBias(tables_.weights(),
                                    Slice(call_.in().query_positions, part.first + first, count),
                                    call_.in().key_positions, d, gradients_.d_weights);
    }
  }

  void BackTables() const {
    const DistanceTables& tables = call_.by_distance();
    const Distances distances = tables.distances();
    if (!trained_ || distances.count == 0) return;
    const Scheme& scheme = tables_.scheme();
    if (tables.bias != nullptr) {
      Array<double, 2> d({sums_.heads, distances.count});
      d.values() = sums_.bias;
      scheme.BackDistanceBias(tables_.weights(), distances, d, gradients_.d_weights);
    }
    if (tables.vectors == nullptr) return;
    const VectorRows& v = *tables.vectors;
    DistanceVectorTables d;
    d.row = v.row;
    const auto sum = [&](const std::vector<double>& by_head, Index heads, Array<double, 3>& to) {
      if (by_head.empty()) return;
      to = Array<double, 3>({heads, v.rows, v.head_dim});
      SumHeads(by_head, to);
    };
    sum(sums_.key, v.key_heads, d.key);
    sum(sums_.query, v.query_heads, d.query);
    sum(sums_.value, v.value_heads, d.value);
    const auto take = [&](const std::vector<double>& by_head, Array<double, 2>& to) {
      if (by_head.empty()) return;
      to = Array<double, 2>({sums_.heads, v.head_dim});
      to.values() = by_head;
    };
    take(sums_.content_bias, d.content_bias);
    take(sums_.position_bias, d.position_bias);
    scheme.BackDistanceVectors(tables_.weights(), distances, d, gradients_.d_weights);
  }

  void BackEncoding(Side side, const HeadsIn& x, const Positions& positions,
                    const HeadsOf<float>& d_encoded, const HeadsOut& d_x) const {
    if (d_encoded.data == nullptr) return;
    EncodeHeadsBackward(tables_, call_.encoding(side), positions, side, x, d_encoded, d_x,
                        gradients_.d_weights);
  }

  const KernelTables& tables_;
  const FusedCall& call_;
  const PositionedGradients& gradients_;
  const bool trained_;
  TableGradients sums_;
  std::vector<float> d_query_memory_, d_key_memory_, d_value_memory_;
  HeadsOf<float> d_query_, d_key_, d_value_;  // without data where the gradient goes straight out
  std::vector<double> d_key_sum_, d_value_sum_;  // over parts
};

}  // namespace

void AttentionBackward(const Scheme& scheme, Weights weights, const PositionedHeads& in,
                       const PositionedGradients& gradients, const AttentionSettings& settings) {
  CheckHeads(scheme, weights, in);
  CheckGradients(scheme, in, gradients);
  if (scheme.offers(Hook::kContextual)) return ByReference(scheme, weights, in, gradients);
  Executor& executor = settings.executor != nullptr ? *settings.executor : DefaultExecutor();
  const KernelTables tables(scheme, weights, executor, settings.tables);
  const FusedCall call(tables, in, settings);
  Backward(tables, call, gradients).Run();
}

}  // namespace sextant
