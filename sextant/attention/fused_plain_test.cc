// The plain computation that the fused kernel is held to: against the reference by way of a scheme
// that gives the same tables, and its gradients against finite differences.
#include "sextant/attention/fused_plain.h"

#include <gtest/gtest.h>

#include "sextant/attention/fused_case.h"
#include "sextant/attention/reference.h"

namespace sextant {
namespace {

using Lists = std::vector<std::vector<double>>;

// Tables of a plain attention as a scheme's hooks; each table is a weight.
class TableScheme final : public Scheme {
 public:
  explicit TableScheme(const PlainAttention& a) : a_(a) {
    for (const auto* table : {&a.bias, &a.tile, &a.vector_key, &a.vector_query, &a.vector_value,
                              &a.content_bias, &a.position_bias, &a.query_scale}) {
      tables_.push_back(*table);
    }
  }
  enum Table { kBias, kTile, kKey, kQuery, kValue, kContent, kPosition, kScale };

  const SchemeInfo& info() const override {
    static constexpr SchemeInfo info{"tables", "Tables as given", "", "", ""};
    return info;
  }
  Claims claims() const override { return {}; }
  std::vector<Parameter> parameters() const override { return {}; }
  bool offers(Hook hook) const override {
    return (hook == Hook::kDistanceBias && !a_.bias.empty()) ||
           (hook == Hook::kTileBias && !a_.tile.empty()) ||
           (hook == Hook::kDistanceVectors && !a_.row.empty()) ||
           (hook == Hook::kQueryScale && !a_.query_scale.empty());
  }
  std::vector<WeightInfo> weights() const override {
    std::vector<WeightInfo> infos;
    for (const auto& table : tables_)
      infos.push_back({"table", {Index(table.size())}, WeightScope::kModel, ""});
    return infos;
  }
  Lists values() const { return tables_; }

  Index bias_heads() const override { return a_.heads; }
  void FillDistanceBias(Weights weights, Distances distances, View<double, 2> bias) const override {
    for (Index h = 0; h < a_.heads; ++h) {
      for (Index n = 0; n < distances.count; ++n) {
        const Index at = n + distances.first - a_.first_distance;
        const bool covered = at >= 0 && at < a_.distances;
        bias(h, n) = covered ? weights[kBias][std::size_t(h * a_.distances + at)] : 0;
      }
    }
  }
  void BackDistanceBias(Weights, Distances distances, View<const double, 2> d_bias,
                        WeightGradients d_weights) const override {
    for (Index h = 0; h < a_.heads; ++h) {
      for (Index n = 0; n < a_.distances; ++n) {
        const Index at = n + a_.first_distance - distances.first;
        if (at < 0 || at >= distances.count) continue;
        d_weights[kBias][std::size_t(h * a_.distances + n)] += d_bias(h, at);
      }
    }
  }
  void FillTileBias(Weights weights, const Positions&, const Positions&,
                    View<double, 3> bias) const override {
    const std::vector<double>& tile = weights[kTile];
    for (std::size_t n = 0; n < std::size_t(bias.elements()); ++n) {
      bias.data()[n] = tile[n % tile.size()];
    }
  }
  void BackTileBias(Weights, const Positions&, const Positions&, View<const double, 3> d_bias,
                    WeightGradients d_weights) const override {
    std::vector<double>& d_tile = d_weights[kTile];
    for (std::size_t n = 0; n < std::size_t(d_bias.elements()); ++n) {
      d_tile[n % d_tile.size()] += d_bias.data()[n];
    }
  }
  DistanceVectorTables FillDistanceVectors(Weights weights, Distances distances) const override {
    DistanceVectorTables tables;
    for (Index n = 0; n < distances.count; ++n) {
      const Index at = n + distances.first - a_.first_distance;
      const bool covered = at >= 0 && at < a_.distances;
      tables.row.push_back(covered ? a_.row[std::size_t(at)] : 0);
    }
    const auto vectors = [&](Table from, Array<double, 3>& to) {
      if (weights[from].empty()) return;
      const Index one = a_.rows * a_.head_dim;
      to = Array<double, 3>({Index(weights[from].size()) / one, a_.rows, a_.head_dim});
      to.values() = weights[from];
    };
    vectors(kKey, tables.key);
    vectors(kQuery, tables.query);
    vectors(kValue, tables.value);
    const auto biases = [&](Table from, Array<double, 2>& to) {
      if (weights[from].empty()) return;
      to = Array<double, 2>({a_.heads, a_.head_dim});
      to.values() = weights[from];
    };
    biases(kContent, tables.content_bias);
    biases(kPosition, tables.position_bias);
    return tables;
  }
  void BackDistanceVectors(Weights, Distances, const DistanceVectorTables& d_tables,
                           WeightGradients d_weights) const override {
    const auto add = [&](const std::vector<double>& from, Table to) {
      for (std::size_t n = 0; n < from.size(); ++n) d_weights[to][n] += from[n];
    };
    add(d_tables.key.values(), kKey);
    add(d_tables.query.values(), kQuery);
    add(d_tables.value.values(), kValue);
    add(d_tables.content_bias.values(), kContent);
    add(d_tables.position_bias.values(), kPosition);
  }
  void FillQueryScale(Weights weights, const Positions&, View<double, 1> scale) const override {
    for (Index i = 0; i < a_.queries; ++i) scale(i) = weights[kScale][std::size_t(i)];
  }
  void BackQueryScale(Weights, const Positions&, View<const double, 1> d_scale,
                      WeightGradients d_weights) const override {
    for (Index i = 0; i < a_.queries; ++i) d_weights[kScale][std::size_t(i)] += d_scale(i);
  }

 private:
  const PlainAttention& a_;
  Lists tables_;
};

std::vector<FusedCase> Cases() {
  const FusedCase all{.heads = 4,
                      .kv_heads = 2,
                      .bias = true,
                      .tile = Table::kPerHead,
                      .vectors = Table::kPerHead,
                      .content_bias = true,
                      .position_bias = true,
                      .query_scale = true};
  std::vector<FusedCase> cases(7, all);
  cases[1].tile = cases[1].vectors = Table::kShared;
  cases[1].causal = true;
  cases[2].window = 9;
  cases[2].rows = RowsOf::kBuckets;
  cases[2].positions = PositionsOf::kRun;
  cases[3].padded = cases[3].packed = true;
  cases[3].rows = RowsOf::kEach;
  cases[4].cells = cases[4].causal = true;
  cases[4].positions = PositionsOf::kGathered;
  cases[4].rows = RowsOf::kArbitrary;
  cases[5].queries = 31;  // some see no key
  cases[5].causal = true;
  cases[5].rows = RowsOf::kDescending;
  cases[6] = {};
  return cases;
}

// [tokens, heads, head_dim] to [heads, tokens, head_dim]
Array<double, 3> ByHead(const std::vector<double>& values, Index tokens, Index heads, Index dim) {
  Array<double, 3> by_head({heads, tokens, dim});
  for (Index n = 0; n < tokens; ++n) {
    for (Index h = 0; h < heads; ++h) {
      for (Index c = 0; c < dim; ++c) {
        by_head(h, n, c) = values[std::size_t((n * heads + h) * dim + c)];
      }
    }
  }
  return by_head;
}

// Tables that heads share get the sum of the heads' gradients.
std::vector<double> Shared(const std::vector<double>& by_head, std::size_t size) {
  std::vector<double> sum(size);
  for (std::size_t n = 0; n < by_head.size(); ++n) sum[n % size] += by_head[n];
  return sum;
}

void ExpectNear(const std::vector<double>& one, const std::vector<double>& other,
                const char* what) {
  ASSERT_EQ(one.size(), other.size()) << what;
  for (std::size_t n = 0; n < one.size(); ++n) {
    if (one[n] == other[n]) continue;
    ASSERT_NEAR(one[n], other[n], 1e-12 * std::max(1.0, std::abs(other[n]))) << what << " " << n;
  }
}

PositionList PositionsOfKeys(const PlainAttention& a) {
  if (!a.key_position.empty()) return PositionList(a.key_position);
  return PositionList::Range(0, a.keys);
}
PositionList PositionsOfQueries(const PlainAttention& a) {
  if (!a.query_position.empty()) return PositionList(a.query_position);
  return PositionList::Range(a.keys - a.queries, a.queries);
}

TEST(FusedPlainTest, AgreesWithTheReferenceForthAndBack) {
  for (const FusedCase& c : Cases()) {
    SCOPED_TRACE(Described(c));
    const PlainAttention a = MakePlain(c);
    const PlainResult plain = Plain(a);
    const TableScheme scheme(a);
    const Lists weights = scheme.values();
    const Array<double, 3> query = ByHead(a.query, a.queries, a.heads, a.head_dim),
                           key = ByHead(a.key, a.keys, a.kv_heads, a.head_dim),
                           value = ByHead(a.value, a.keys, a.kv_heads, a.head_dim),
                           d_out = ByHead(a.d_out, a.queries, a.heads, a.head_dim);
    const PositionList queries = PositionsOfQueries(a), keys = PositionsOfKeys(a);
    AttentionInput input{query, key, value, queries, keys, {}, a.scale};
    input.mask = {a.causal, a.window, a.key_valid, a.query_sequence, a.key_sequence, {}};
    if (!a.cells.empty()) input.mask.cells = {a.cells.data(), {a.queries, a.keys}};
    const AttentionOutput right = ReferenceAttention(scheme, weights, input);
    ExpectNear(ByHead(plain.out.at, a.queries, a.heads, a.head_dim).values(), right.out.values(),
               "out");
    ExpectNear(plain.log_sum_exp.at, right.log_sum_exp.values(), "log_sum_exp");
    const AttentionGradients back = ReferenceAttentionBackward(scheme, weights, input, d_out);
    ExpectNear(ByHead(plain.d_query.at, a.queries, a.heads, a.head_dim).values(),
               back.query.values(), "d_query");
    ExpectNear(ByHead(plain.d_key.at, a.keys, a.kv_heads, a.head_dim).values(), back.key.values(),
               "d_key");
    ExpectNear(ByHead(plain.d_value.at, a.keys, a.kv_heads, a.head_dim).values(),
               back.value.values(), "d_value");
    const std::vector<double>* tables[] = {&plain.d_bias.at,          &plain.d_tile.at,
                                           &plain.d_vector_key.at,    &plain.d_vector_query.at,
                                           &plain.d_vector_value.at,  &plain.d_content_bias.at,
                                           &plain.d_position_bias.at, &plain.d_query_scale.at};
    for (std::size_t t = 0; t < weights.size(); ++t) {
      ExpectNear(Shared(*tables[t], weights[t].size()), back.weights[t], "table");
    }
  }
}

double Loss(const PlainAttention& a) {
  const PlainResult result = Plain(a);
  double loss = 0;
  for (std::size_t n = 0; n < a.d_out.size(); ++n) loss += result.out.at[n] * a.d_out[n];
  return loss;
}

TEST(FusedPlainTest, GradientsAgreeWithFiniteDifferences) {
  for (FusedCase c : Cases()) {
    c.queries = c.queries > c.keys ? 9 : 4;
    c.keys = 6;
    c.head_dim = 3;
    SCOPED_TRACE(Described(c));
    PlainAttention a = MakePlain(c);
    const PlainResult result = Plain(a);
    const auto check = [&](std::vector<double>& of, const PlainArray& gradient, const char* what) {
      const std::vector<double> sum = of.empty() ? of : Shared(gradient.at, of.size());
      for (std::size_t n = 0; n < of.size(); ++n) {
        const double at = of[n], step = 1e-5;
        of[n] = at + step;
        const double up = Loss(a);
        of[n] = at - step;
        const double down = Loss(a);
        of[n] = at;
        ASSERT_NEAR(sum[n], (up - down) / (2 * step), 1e-8) << what << " " << n;
      }
    };
    check(a.query, result.d_query, "query");
    check(a.key, result.d_key, "key");
    check(a.value, result.d_value, "value");
    check(a.bias, result.d_bias, "bias");
    check(a.tile, result.d_tile, "tile");
    check(a.vector_key, result.d_vector_key, "vector_key");
    check(a.vector_query, result.d_vector_query, "vector_query");
    check(a.vector_value, result.d_vector_value, "vector_value");
    check(a.content_bias, result.d_content_bias, "content_bias");
    check(a.position_bias, result.d_position_bias, "position_bias");
    check(a.query_scale, result.d_query_scale, "query_scale");
  }
}

}  // namespace
}  // namespace sextant
