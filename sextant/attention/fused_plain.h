// Attention with every feature of the fused kernel, in double over plain arrays, with all
// gradients: what the kernel's tests hold it to. fused_plain_test.cc holds this to the reference
// and to finite differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "sextant/core/view.h"

namespace sextant {

// Empty arrays are features that are not there.
struct PlainAttention {
  Index queries = 0, keys = 0, heads = 1, kv_heads = 1, head_dim = 1;
  double scale = 1;
  std::vector<double> query, d_out;  // [queries, heads, head_dim]
  std::vector<double> key, value;    // [keys, kv_heads, head_dim]
  bool causal = false;
  std::int64_t window = 0;
  std::vector<std::uint8_t> key_valid;
  std::vector<std::int32_t> query_sequence, key_sequence;
  std::vector<std::uint8_t> cells;                         // [queries, keys]
  std::vector<std::int64_t> query_position, key_position;  // both empty: the last query at keys - 1
  std::int64_t first_distance = 0;
  Index distances = 0;
  std::vector<double> bias;  // [heads, distances]
  std::vector<double> tile;  // [1 or heads, queries, keys]
  std::vector<std::int32_t> row;
  Index rows = 0;
  std::vector<double> vector_key, vector_query, vector_value;  // [1 or heads, rows, head_dim]
  std::vector<double> content_bias, position_bias;             // [heads, head_dim]
  std::vector<double> query_scale;                             // [queries]

  std::int64_t Distance(Index i, Index j) const {
    if (key_position.empty()) return j - (keys - queries + i);
    return key_position[std::size_t(j)] - query_position[std::size_t(i)];
  }
  bool Visible(Index i, Index j) const {
    const std::int64_t d = Distance(i, j);
    const auto query_at = std::size_t(i), key_at = std::size_t(j);
    return !(causal && d > 0) && (window == 0 || (d < window && -d < window)) &&
           (key_valid.empty() || key_valid[key_at] != 0) &&
           (key_sequence.empty() || key_sequence[key_at] == query_sequence[query_at]) &&
           (cells.empty() || cells[query_at * std::size_t(keys) + key_at] != 0);
  }
};

// A result, and the largest number that entered any of its sums before terms of opposite sign met:
// what rounding errors are proportional to where everything cancels.
struct PlainArray {
  explicit PlainArray(std::size_t size = 0) : at(size) {}
  std::vector<double> at;
  double largest_term = 0;

  double Largest() const {
    double largest = largest_term;
    for (double x : at) {
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    }
    return largest;
  }
};

// Forward and backward in the shapes of FusedAttention and AttentionGradient; tables' gradients are
// given for each head.
struct PlainResult {
  PlainArray out, log_sum_exp;
  PlainArray d_query, d_key, d_value, d_bias, d_tile, d_vector_key, d_vector_query, d_vector_value,
      d_content_bias, d_position_bias, d_query_scale;
  double largest_score = 0, largest_value = 0;  // of those that were seen
};

// Whether a weight of exactly 0 multiplies what it meets, which matters where that is infinite or
// NaN, or sends and takes nothing.
enum class ZeroWeights { kMultiply, kSkip };

// One pass over all rows.
class PlainPass {
 public:
  PlainPass(const PlainAttention& attention, ZeroWeights zero_weights)
      : a_(attention), zero_weights_(zero_weights) {
    const auto dim = std::size_t(a_.head_dim), heads = std::size_t(a_.heads);
    const std::size_t vectors = heads * std::size_t(a_.rows) * dim;
    const std::size_t rows = heads * std::size_t(a_.queries);
    r_.out = r_.d_query = PlainArray(rows * dim);
    r_.d_key = r_.d_value = PlainArray(std::size_t(a_.keys * a_.kv_heads) * dim);
    r_.log_sum_exp = PlainArray(rows);
    r_.d_tile = PlainArray(a_.tile.empty() ? 0 : rows * std::size_t(a_.keys));
    r_.d_bias = PlainArray(a_.bias.empty() ? 0 : heads * std::size_t(a_.distances));
    r_.d_vector_key = PlainArray(a_.vector_key.empty() ? 0 : vectors);
    r_.d_vector_query = PlainArray(a_.vector_query.empty() ? 0 : vectors);
    r_.d_vector_value = PlainArray(a_.vector_value.empty() ? 0 : vectors);
    r_.d_content_bias = PlainArray(a_.content_bias.size());
    r_.d_position_bias = PlainArray(a_.position_bias.size());
    r_.d_query_scale = PlainArray(a_.query_scale.empty() ? 0 : rows);
    for (Index i = 0; i < a_.queries; ++i) {
      seen_.clear();
      for (Index j = 0; j < a_.keys; ++j) {
        if (a_.Visible(i, j)) seen_.push_back(j);
      }
      for (Index h = 0; h < a_.heads; ++h) Row(h, i);
    }
  }
  PlainResult Take() { return std::move(r_); }

 private:
  // What one score is made of; null where a feature is not there.
  struct Cell {
    const double *k, *v, *vector_key, *vector_query, *vector_value;
    std::size_t key_at, vector_at, bias_at, tile_at;
  };

  Cell At(Index h, Index i, Index j) const {
    const Index dim = a_.head_dim, kv = h / (a_.heads / a_.kv_heads);
    Cell cell{};
    cell.key_at = std::size_t((j * a_.kv_heads + kv) * dim);
    cell.k = &a_.key[cell.key_at];
    cell.v = &a_.value[cell.key_at];
    const Index d = a_.Distance(i, j) - a_.first_distance;
    cell.bias_at = std::size_t(h * a_.distances + d);
    cell.tile_at = std::size_t((h * a_.queries + i) * a_.keys + j);
    if (a_.row.empty()) return cell;
    const Index row = a_.row[std::size_t(d)];
    cell.vector_at = std::size_t((h * a_.rows + row) * dim);
    const auto in = [&](const std::vector<double>& table) -> const double* {
      if (table.empty()) return nullptr;
      const bool shared = Index(table.size()) == a_.rows * dim;
      return &table[shared ? std::size_t(row * dim) : cell.vector_at];
    };
    cell.vector_key = in(a_.vector_key);
    cell.vector_query = in(a_.vector_query);
    cell.vector_value = in(a_.vector_value);
    return cell;
  }

  // The part of a score that scale and query scale multiply.
  double Raw(const Cell& cell) const {
    double raw = 0;
    for (std::size_t c = 0; c < with_content_.size(); ++c) {
      raw += with_content_[c] * cell.k[c];
      if (cell.vector_key != nullptr) raw += with_position_[c] * cell.vector_key[c];
      if (cell.vector_query != nullptr) raw += cell.k[c] * cell.vector_query[c];
    }
    return raw;
  }

  void Row(Index h, Index i) {
    const auto dim = std::size_t(a_.head_dim);
    query_at_ = std::size_t(i * a_.heads + h) * dim;
    head_at_ = std::size_t(h) * dim;
    row_at_ = std::size_t(h * a_.queries + i);
    scaled_ = a_.scale * (a_.query_scale.empty() ? 1 : a_.query_scale[std::size_t(i)]);
    with_content_.assign(&a_.query[query_at_], &a_.query[query_at_] + dim);
    with_position_ = with_content_;
    for (std::size_t c = 0; c < dim; ++c) {
      if (!a_.content_bias.empty()) with_content_[c] += a_.content_bias[head_at_ + c];
      if (!a_.position_bias.empty()) with_position_[c] += a_.position_bias[head_at_ + c];
    }
    Scores(h, i);
    Softmax();
    Outputs();
    for (std::size_t s = 0; s < cells_.size(); ++s) {
      if (!Skipped(s)) Gradients(s);
    }
  }

  void Scores(Index h, Index i) {
    cells_.clear();
    raw_.clear();
    weight_.clear();
    for (Index j : seen_) {
      cells_.push_back(At(h, i, j));
      const Cell& cell = cells_.back();
      raw_.push_back(Raw(cell));
      double score = scaled_ * raw_.back();
      if (!a_.bias.empty()) score += a_.bias[cell.bias_at];
      if (!a_.tile.empty()) {
        const bool shared = Index(a_.tile.size()) == a_.queries * a_.keys;
        score += a_.tile[shared ? std::size_t(i * a_.keys + j) : cell.tile_at];
      }
      weight_.push_back(score);
      if (std::isfinite(score)) r_.largest_score = std::max(r_.largest_score, std::abs(score));
    }
  }

  // Scores to weights. Where all are -inf, nothing is seen.
  void Softmax() {
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    double highest = kNever, sum = 0;
    bool any = false;
    for (double score : weight_) {
      highest = std::max(highest, score);
      any = any || !(score == kNever);
    }
    for (double& weight : weight_) sum += weight = any ? std::exp(weight - highest) : 0;
    for (double& weight : weight_) weight = any ? weight / sum : 0;
    r_.log_sum_exp.at[row_at_] = any ? highest + std::log(sum) : kNever;
  }

  bool Skipped(std::size_t s) const {
    return zero_weights_ == ZeroWeights::kSkip && weight_[s] == 0;
  }

  void Outputs() {
    d_weight_.assign(cells_.size(), 0);
    terms_.assign(cells_.size(), 0);
    mean_ = mean_term_ = 0;
    for (std::size_t s = 0; s < cells_.size(); ++s) {
      if (Skipped(s)) continue;
      const Cell& cell = cells_[s];
      for (std::size_t c = 0; c < with_content_.size(); ++c) {
        const double d_out = a_.d_out[query_at_ + c];
        const double v = cell.v[c] + (cell.vector_value != nullptr ? cell.vector_value[c] : 0);
        r_.out.at[query_at_ + c] += weight_[s] * v;
        if (std::isfinite(v)) r_.largest_value = std::max(r_.largest_value, std::abs(v));
        d_weight_[s] += d_out * v;
        terms_[s] += std::abs(d_out * v);
        Add(weight_[s] * d_out, 0, cell.key_at + c, r_.d_value);
        if (cell.vector_value != nullptr) {
          Add(weight_[s] * d_out, 0, cell.vector_at + c, r_.d_vector_value);
        }
      }
      mean_ += weight_[s] * d_weight_[s];
      mean_term_ += weight_[s] * terms_[s];
    }
  }

  void Gradients(std::size_t s) {
    const Cell& cell = cells_[s];
    const double d_score = weight_[s] * (d_weight_[s] - mean_);
    const double term = weight_[s] * (terms_[s] + mean_term_);
    if (!a_.bias.empty()) Add(d_score, term, cell.bias_at, r_.d_bias);
    if (!a_.tile.empty()) Add(d_score, term, cell.tile_at, r_.d_tile);
    if (!a_.query_scale.empty()) {
      const double by = a_.scale * raw_[s];
      Add(d_score * by, term * by, row_at_, r_.d_query_scale);
    }
    const double d = d_score * scaled_, t = term * scaled_;
    for (std::size_t c = 0; c < with_content_.size(); ++c) {
      const double k = cell.k[c];
      Add(d * k, t * k, query_at_ + c, r_.d_query);
      Add(d * with_content_[c], t * with_content_[c], cell.key_at + c, r_.d_key);
      if (!a_.content_bias.empty()) Add(d * k, t * k, head_at_ + c, r_.d_content_bias);
      if (cell.vector_key != nullptr) {
        const double r = cell.vector_key[c], q = with_position_[c];
        Add(d * r, t * r, query_at_ + c, r_.d_query);
        Add(d * q, t * q, cell.vector_at + c, r_.d_vector_key);
        if (!a_.position_bias.empty()) Add(d * r, t * r, head_at_ + c, r_.d_position_bias);
      }
      if (cell.vector_query != nullptr) {
        const double r = cell.vector_query[c];
        Add(d * r, t * r, cell.key_at + c, r_.d_key);
        Add(d * k, t * k, cell.vector_at + c, r_.d_vector_query);
      }
    }
  }

  static void Add(double value, double term, std::size_t at, PlainArray& to) {
    to.at[at] += value;
    if (std::abs(term) > to.largest_term && std::isfinite(term)) to.largest_term = std::abs(term);
  }

  const PlainAttention& a_;
  const ZeroWeights zero_weights_;
  PlainResult r_;
  std::vector<Index> seen_;  // keys that the query of the row sees
  // Of the row at hand.
  std::size_t query_at_ = 0, head_at_ = 0, row_at_ = 0;
  double scaled_ = 1, mean_ = 0, mean_term_ = 0;
  std::vector<double> with_content_, with_position_;  // q + u, q + v
  std::vector<Cell> cells_;
  std::vector<double> raw_, weight_, d_weight_, terms_;
};

//   score_ij = scale c_i ((q_i + u) . k_j + (q_i + v) . key[d] + k_j . query[d]) + bias[h, d]
//              + tile[h, i, j]
//   out_i    = sum_j softmax_j(score_ij) (v_j + value[d]),   d = key position - query position
// and the gradients of sum(out * d_out).
inline PlainResult Plain(const PlainAttention& attention,
                         ZeroWeights zero_weights = ZeroWeights::kMultiply) {
  return PlainPass(attention, zero_weights).Take();
}

}  // namespace sextant
