// The backward pass from the outside: checks, shares, and their sums.
#include "sextant/kernels/attention_shares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace sextant {
namespace {

constexpr Index kMostShareBytes = Index{24} << 20;  // of d_query past the first share

Index SharesOf(const AttentionPlan& plan, Index parts) {
  const Index tiles = (plan.keys + kKeyBlock - 1) / kKeyBlock;
  const Index bytes = plan.heads * plan.queries * plan.width * parts * Index(sizeof(float));
  // Sixteen pieces keep some threads busy; by shape, so that results do not depend on threads.
  const Index wanted = std::max<Index>(1, 16 / std::max<Index>(plan.kv_heads, 1));
  const Index affordable = 1 + kMostShareBytes / std::max<Index>(bytes, 1);
  return std::clamp<Index>(std::min(wanted, affordable), 1, std::max<Index>(tiles, 1));
}

void CheckGradient(const AttentionPlan& plan, const AttentionGradient& gradient) {
  const FusedAttention& in = plan.in;
  if (!gradient.out.SameShape(in.query) || !gradient.d_out.SameShape(in.query)) {
    FailAttention("out and d_out must have the shape of the query");
  }
  const bool some = plan.queries > 0 && plan.heads > 0;
  if (some && (gradient.out.data() == nullptr || gradient.d_out.data() == nullptr ||
               gradient.log_sum_exp == nullptr)) {
    FailAttention("the backward pass needs out, d_out and log_sum_exp");
  }
  const struct {
    const char* name;
    const HeadsOut& heads;
    const HeadsIn& of;
  } written[] = {{"d_query", gradient.d_query, in.query},
                 {"d_key", gradient.d_key, in.key},
                 {"d_value", gradient.d_value, in.value}};
  for (const auto& [name, heads, of] : written) {
    plan.CheckOutput(name, heads, of);
    if (Overlap(gradient.out, heads) || Overlap(gradient.d_out, heads)) {
      FailAttention(std::string(name) + " overlaps out or d_out");
    }
    // Gradients may lie between each other, as parts of one packed tensor do.
    for (const auto& other : written) {
      if (&other.heads != &heads && other.heads.data() == heads.data() && heads.data() != nullptr) {
        FailAttention(std::string(name) + " overlaps " + other.name);
      }
    }
  }
  const auto belongs = [](const void* wanted, const void* table, const char* name) {
    if (wanted != nullptr && table == nullptr) {
      FailAttention(std::string("there is no ") + name + " to have a gradient");
    }
  };
  belongs(gradient.d_bias, in.bias.values, "bias by distance");
  belongs(gradient.d_tile, in.tile.values, "tile bias");
  belongs(gradient.d_vector_key, in.vectors.key, "vector of keys");
  belongs(gradient.d_vector_query, in.vectors.query, "vector of queries");
  belongs(gradient.d_vector_value, in.vectors.value, "vector of values");
  belongs(gradient.d_content_bias, in.vectors.content_bias, "content bias");
  belongs(gradient.d_position_bias, in.vectors.position_bias, "position bias");
  belongs(gradient.d_query_scale, in.query_scale, "query scale");
}

void AddTo(const std::vector<double>& from, std::vector<double>& to) {
  for (std::size_t n = 0; n < from.size(); ++n) to[n] += from[n];
}

// Tables of gradients of what no query saw.
void WriteZeros(const AttentionPlan& plan, const AttentionGradient& g) {
  const auto zero = [](double* to, Index count) {
    if (to != nullptr) std::fill(to, to + count, 0.0);
  };
  const Index heads = plan.heads, vectors = heads * plan.in.vectors.rows * plan.head_dim;
  zero(g.d_bias, heads * plan.in.distances);
  zero(g.d_vector_key, vectors);
  zero(g.d_vector_query, vectors);
  zero(g.d_vector_value, vectors);
  zero(g.d_content_bias, heads * plan.head_dim);
  zero(g.d_position_bias, heads * plan.head_dim);
  zero(g.d_query_scale, heads * plan.queries);
  if (g.d_tile != nullptr) std::fill(g.d_tile, g.d_tile + heads * plan.queries * plan.keys, 0.0f);
}

}  // namespace

Index BackwardFloats(const AttentionPlan& plan) {
  const Index rows = plan.most_rows() == 0 ? 0 : plan.most_rows() + kPanel;
  return kQueryBlock * (3 * plan.width + 2 * kKeyBlock + 2 * rows) +
         kKeyBlock * (5 * plan.width + 2 * rows) + rows * plan.width + kQueryBlock + kKeyBlock +
         12 * kPanel;
}

BackwardCall::BackwardCall(const AttentionPlan& of, const AttentionGradient& wanted,
                           Scratch& floats)
    : plan(of),
      gradient(wanted),
      scratch(floats),
      blocks((of.queries + kQueryBlock - 1) / kQueryBlock),
      parts(of.in.vectors.key != nullptr &&
                    (wanted.d_content_bias != nullptr || wanted.d_position_bias != nullptr ||
                     wanted.d_query_scale != nullptr)
                ? 2
                : 1),
      mean(std::size_t(of.heads * of.queries)),
      log2_sum(mean.size()),
      finite(std::size_t(of.heads * blocks)),
      unfinished(std::size_t(of.kv_heads)) {
  shares = SharesOf(plan, parts);
  for (auto& count : unfinished) count = shares;
  share.resize(std::size_t(plan.heads * shares));
}

Share BackwardCall::NewShare() const {
  Share made;
  const Index floats = plan.queries * parts * plan.width;
  made.d_query = Floats(floats);
  std::fill(made.d_query.get(), made.d_query.get() + floats, 0.0f);
  const auto rows = std::size_t(plan.in.vectors.rows * plan.head_dim);
  if (gradient.d_bias != nullptr) made.d_bias.resize(std::size_t(plan.places));
  if (gradient.d_vector_key != nullptr) made.d_key.resize(rows);
  if (gradient.d_vector_query != nullptr) made.d_query_vectors.resize(rows);
  if (gradient.d_vector_value != nullptr) made.d_value.resize(rows);
  if (gradient.d_query_scale != nullptr) made.scores.resize(std::size_t(plan.queries));
  return made;
}

void BackwardCall::Prepare(Index head) {
  const FusedAttention& in = plan.in;
  float shared = in.scale;  // by all queries of the head
  for (const float* bias : {in.vectors.content_bias, in.vectors.position_bias}) {
    if (bias != nullptr) shared += SquaredNorm(bias + head * plan.head_dim, plan.head_dim);
  }
  ReadQueryOutputs(*this, head, shared);
}

void BackwardCall::RunShare(Index kv, Index which) {
  const Index first = kv * plan.group, end = first + plan.group;
  for (Index head = first; head < end; ++head) ShareOf(head, which) = NewShare();
  RunBackwardShare(*this, kv, which);
  if (--unfinished[std::size_t(kv)] > 0) return;
  for (Index head = first; head < end; ++head) Finish(head);
}

void BackwardCall::Finish(Index head) {
  for (Index which = 1; which < shares; ++which) {
    Share &first = ShareOf(head, 0), &next = ShareOf(head, which);
    float* to = first.d_query.get();
    const Index floats = plan.queries * parts * plan.width;
    for (Index n = 0; n < floats; ++n) to[n] += next.d_query.get()[n];
    AddTo(next.d_bias, first.d_bias);
    AddTo(next.d_key, first.d_key);
    AddTo(next.d_query_vectors, first.d_query_vectors);
    AddTo(next.d_value, first.d_value);
    AddTo(next.scores, first.scores);
    next = Share();
  }
  FinishQueryTables(head);
  WriteQueryGradients(*this, head);
  if (plan.has_vectors()) FinishVectors(head);
  if (gradient.d_bias != nullptr) {
    double* to = gradient.d_bias + head * plan.in.distances;
    std::fill(to, to + plan.in.distances, 0.0);
    const double* from = ShareOf(head, 0).d_bias.data() + plan.first_covered;
    std::copy(from, from + plan.covered, to + plan.first_covered_distance);
  }
  ShareOf(head, 0) = Share();
}

// The gradients of what else than its numbers a query brings to its scores.
void BackwardCall::FinishQueryTables(Index head) {
  const bool biases = gradient.d_content_bias != nullptr || gradient.d_position_bias != nullptr;
  if (!biases && gradient.d_query_scale == nullptr) return;
  const Index dim = plan.head_dim, stride = parts * plan.width;
  const FusedAttention& in = plan.in;
  const Share& sums = ShareOf(head, 0);
  std::vector<float> query(static_cast<std::size_t>(dim));
  std::vector<double> content(query.size()), position(query.size());
  const auto added = [&](const float* bias, Index c) {
    return bias == nullptr ? 0.0 : double(bias[head * dim + c]);
  };
  for (Index i = 0; i < plan.queries; ++i) {
    const float* of_keys = sums.d_query.get() + i * stride;
    const float* of_vectors = parts == 2 ? of_keys + plan.width : nullptr;
    const float scale = in.scale * (in.query_scale == nullptr ? 1.0f : in.query_scale[i]);
    if (gradient.d_query_scale != nullptr) in.query.Read(head, i, 1, dim, query.data());
    double d_scale = sums.scores.empty() ? 0 : sums.scores[std::size_t(i)];
    const bool sees = gradient.log_sum_exp[head * plan.queries + i] != kNothingSeen;
    for (Index c = 0; sees && c < dim; ++c) {
      const auto at = std::size_t(c);
      const float vectors = of_vectors == nullptr ? 0 : of_vectors[c];
      content[at] += double(scale) * double(of_keys[c]);
      position[at] += double(scale) * double(vectors);
      d_scale += double(of_keys[c]) * (double(query[at]) + added(in.vectors.content_bias, c)) +
                 double(vectors) * (double(query[at]) + added(in.vectors.position_bias, c));
    }
    if (gradient.d_query_scale != nullptr) {
      gradient.d_query_scale[head * plan.queries + i] = d_scale * double(in.scale);
    }
  }
  const auto write = [&](const std::vector<double>& from, double* to) {
    if (to != nullptr) std::copy(from.begin(), from.end(), to + head * dim);
  };
  write(content, gradient.d_content_bias);
  write(position, gradient.d_position_bias);
}

void BackwardCall::FinishVectors(Index head) {
  const Index dim = plan.head_dim, rows = plan.in.vectors.rows;
  const auto write = [&](const std::vector<double>& from, double* to) {
    if (to == nullptr) return;
    for (Index r = 0; r < rows; ++r) {
      std::copy_n(from.data() + r * dim, dim, to + (head * rows + plan.CallersRow(r)) * dim);
    }
  };
  const Share& sums = ShareOf(head, 0);
  write(sums.d_key, gradient.d_vector_key);
  write(sums.d_query_vectors, gradient.d_vector_query);
  write(sums.d_value, gradient.d_vector_value);
}

void AttentionBackward(const FusedAttention& in, const AttentionGradient& gradient,
                       Executor& callers) {
  const AttentionPlan plan(in);
  Executor& executor = plan.ExecutorFor(callers);
  CheckGradient(plan, gradient);
  WriteZeros(plan, gradient);
  Scratch scratch(BackwardFloats(plan));
  BackwardCall call(plan, gradient, scratch);
  Fetch({&in.query, &in.key, &in.value, &gradient.out, &gradient.d_out});
  executor.Run(plan.heads, [&](Index head) { call.Prepare(head); });
  executor.Run(plan.kv_heads * call.shares,
               [&](Index piece) { call.RunShare(piece / call.shares, piece % call.shares); });
}

}  // namespace sextant
