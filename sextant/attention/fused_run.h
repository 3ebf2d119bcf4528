// A run of the fused kernel over a plain attention laid out in guarded memory, and its comparison
// with the plain result.
#pragma once

#include <string>
#include <vector>

#include "sextant/attention/fused_case.h"

namespace sextant {

// Bias rows and tile rows of floats that start `stride` apart, NaN between.
inline Guarded<float> Strided(const std::vector<double>& values, Index width, Index stride) {
  if (values.empty()) return {};
  const Index rows = width == 0 ? 0 : Index(values.size()) / width;
  Guarded<float> to(std::size_t(rows == 0 ? 0 : (rows - 1) * stride + width), Use::kRead);
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < width; ++c) to.data()[r * stride + c] = float(values[r * width + c]);
  }
  return to;
}

// `c` gives storage, order, skip and pairs; all else is `a`'s. Inputs and outputs stay where they
// are.
class FusedRun {
 public:
  FusedRun(const PlainAttention& a, const FusedCase& c)
      : query(c.query_as, c.order, a.queries, a.heads, a.head_dim, a.query),
        key(c.key_as, c.order, a.keys, a.kv_heads, a.head_dim, a.key),
        value(c.value_as, c.order, a.keys, a.kv_heads, a.head_dim, a.value),
        d_out(c.out_as, c.order, a.queries, a.heads, a.head_dim, a.d_out),
        out(c.out_as, c.order, a.queries, a.heads, a.head_dim, Use::kWritten),
        exact_out(Storage::kF32, c.order, a.queries, a.heads, a.head_dim, Use::kWritten),
        d_query(c.query_as, c.order, a.queries, a.heads, a.head_dim, Use::kWritten),
        d_key(c.key_as, c.order, a.keys, a.kv_heads, a.head_dim, Use::kWritten),
        d_value(c.value_as, c.order, a.keys, a.kv_heads, a.head_dim, Use::kWritten) {
    in.query = query.in();
    in.key = key.in();
    in.value = value.in();
    in.scale = float(a.scale);
    in.skip = c.skip;
    in.pairs = c.pairs;
    LayOutMask(a);
    LayOutTables(a);
    LayOutGradients(a);
  }
  FusedRun(const FusedRun&) = delete;
  FusedRun& operator=(const FusedRun&) = delete;

  // The backward pass reads the output in float32, so that a 16-bit one does not round its sums.
  void Run(Executor& executor) {
    AttentionForward(in, out.out(), log_sum_exp.data(), executor);
    if (out.storage() != Storage::kF32) {
      AttentionForward(in, exact_out.out(), log_sum_exp.data(), executor);
      gradient.out = exact_out.in();
    }
    AttentionBackward(in, gradient, executor);
  }

  FusedAttention in;
  AttentionGradient gradient;
  GuardedHeads query, key, value, d_out, out, exact_out, d_query, d_key, d_value;
  Guarded<float> log_sum_exp, d_tile;
  Guarded<double> d_bias, d_vector_key, d_vector_query, d_vector_value, d_content_bias,
      d_position_bias, d_query_scale;

 private:
  void LayOutMask(const PlainAttention& a) {
    key_valid_ = {a.key_valid, Use::kRead};
    query_sequence_ = {a.query_sequence, Use::kRead};
    key_sequence_ = {a.key_sequence, Use::kRead};
    cells_ = {a.cells, Use::kRead};
    query_position_ = {a.query_position, Use::kRead};
    key_position_ = {a.key_position, Use::kRead};
    in.mask = {
        a.causal,     a.window, key_valid_.data(), query_sequence_.data(), key_sequence_.data(),
        cells_.data()};
    in.query_position = query_position_.data();
    in.key_position = key_position_.data();
  }

  void LayOutTables(const PlainAttention& a) {
    in.first_distance = a.first_distance;
    in.distances = a.distances;
    bias_ = Strided(a.bias, a.distances, a.distances + 3);
    in.bias = {bias_.data(), a.distances + 3};
    const Index row_stride = a.keys + 2, tile_heads = a.heads * a.queries * a.keys;
    const bool shared = Index(a.tile.size()) != tile_heads || a.heads == 1;
    tile_ = Strided(a.tile, a.keys, row_stride);
    in.tile = {tile_.data(), shared ? 0 : a.queries * row_stride, row_stride};
    row_ = {a.row, Use::kRead};
    vector_key_ = {a.vector_key, Use::kRead};
    vector_query_ = {a.vector_query, Use::kRead};
    vector_value_ = {a.vector_value, Use::kRead};
    content_bias_ = {a.content_bias, Use::kRead};
    position_bias_ = {a.position_bias, Use::kRead};
    const std::size_t one = std::size_t(a.rows * a.head_dim);
    const bool per_head =
        std::max({a.vector_key.size(), a.vector_query.size(), a.vector_value.size()}) > one;
    in.vectors = {row_.data(),          a.rows,
                  vector_key_.data(),   vector_query_.data(),
                  vector_value_.data(), per_head ? Index(one) : 0,
                  content_bias_.data(), position_bias_.data()};
    query_scale_ = {a.query_scale, Use::kRead};
    in.query_scale = query_scale_.data();
  }

  void LayOutGradients(const PlainAttention& a) {
    const auto rows = std::size_t(a.heads * a.queries), of = std::size_t(a.heads * a.head_dim);
    const std::size_t vectors = of * std::size_t(a.rows);
    const auto wanted = [](const std::vector<double>& table, std::size_t size) {
      return Guarded<double>(table.empty() ? 0 : size, Use::kWritten);
    };
    log_sum_exp = {rows, Use::kWritten};
    d_tile = {a.tile.empty() ? 0 : rows * std::size_t(a.keys), Use::kWritten};
    d_bias = wanted(a.bias, std::size_t(a.heads * a.distances));
    d_vector_key = wanted(a.vector_key, vectors);
    d_vector_query = wanted(a.vector_query, vectors);
    d_vector_value = wanted(a.vector_value, vectors);
    d_content_bias = wanted(a.content_bias, of);
    d_position_bias = wanted(a.position_bias, of);
    d_query_scale = wanted(a.query_scale, rows);
    gradient.out = out.in();
    gradient.d_out = d_out.in();
    gradient.log_sum_exp = log_sum_exp.data();
    gradient.d_query = d_query.out();
    gradient.d_key = d_key.out();
    gradient.d_value = d_value.out();
    gradient.d_bias = d_bias.data();
    gradient.d_tile = d_tile.data();
    gradient.d_vector_key = d_vector_key.data();
    gradient.d_vector_query = d_vector_query.data();
    gradient.d_vector_value = d_vector_value.data();
    gradient.d_content_bias = d_content_bias.data();
    gradient.d_position_bias = d_position_bias.data();
    gradient.d_query_scale = d_query_scale.data();
  }

  Guarded<std::uint8_t> key_valid_, cells_;
  Guarded<std::int32_t> query_sequence_, key_sequence_, row_;
  Guarded<std::int64_t> query_position_, key_position_;
  Guarded<float> bias_, tile_, vector_key_, vector_query_, vector_value_, content_bias_,
      position_bias_, query_scale_;
};

// A name, what the kernel wrote, in which storage, and the right array.
struct FusedResult {
  const char* name;
  std::vector<double> got;
  Storage storage;
  bool guards_stay;
  PlainArray PlainResult::*right;
};

inline std::vector<FusedResult> ResultsOf(const FusedRun& run) {
  std::vector<FusedResult> results;
  const auto heads = [&](const char* name, const GuardedHeads& x, PlainArray PlainResult::*right) {
    results.push_back({name, x.Values(), x.storage(), x.GuardsStay(), right});
  };
  const auto table = [&](const char* name, const auto& x, PlainArray PlainResult::*right) {
    results.push_back({name, x.Values(), Storage::kF32, x.GuardsStay(), right});
  };
  heads("out", run.out, &PlainResult::out);
  table("log_sum_exp", run.log_sum_exp, &PlainResult::log_sum_exp);
  heads("d_query", run.d_query, &PlainResult::d_query);
  heads("d_key", run.d_key, &PlainResult::d_key);
  heads("d_value", run.d_value, &PlainResult::d_value);
  table("d_bias", run.d_bias, &PlainResult::d_bias);
  table("d_tile", run.d_tile, &PlainResult::d_tile);
  table("d_vector_key", run.d_vector_key, &PlainResult::d_vector_key);
  table("d_vector_query", run.d_vector_query, &PlainResult::d_vector_query);
  table("d_vector_value", run.d_vector_value, &PlainResult::d_vector_value);
  table("d_content_bias", run.d_content_bias, &PlainResult::d_content_bias);
  table("d_position_bias", run.d_position_bias, &PlainResult::d_position_bias);
  table("d_query_scale", run.d_query_scale, &PlainResult::d_query_scale);
  return results;
}

// The largest errors met, relative to what each is bounded by, and how many numbers were compared.
struct FusedErrors {
  double forward = 0, log_sum_exp = 0, backward = 0;
  std::int64_t compared = 0;
};

// Errors allowed: of the largest |v|, of the larger of 1 and |log_sum_exp|, of the largest
// gradient or the largest number in its sums. A 16-bit output may be off by its own rounding more.
struct FusedBounds {
  double forward = 2e-6, log_sum_exp = 2e-6, backward = 4e-6;
};

// Where the right number is NaN or infinite, the kernel's is not finite.
inline void ExpectArray(const FusedResult& result, const std::vector<double>& right, double scale,
                        double bound, double& worst) {
  ASSERT_TRUE(result.guards_stay) << result.name << ": written outside";
  ASSERT_EQ(result.got.size(), right.size()) << result.name;
  const double rounding = result.storage == Storage::kBf16  ? 0x1p-8
                          : result.storage == Storage::kF16 ? 0x1p-11
                                                            : 0;
  for (std::size_t n = 0; n < right.size(); ++n) {
    if (!std::isfinite(right[n])) {
      ASSERT_FALSE(std::isfinite(result.got[n]))
          << result.name << "[" << n << "] is " << result.got[n] << ", right is " << right[n];
      continue;
    }
    const double error = std::abs(result.got[n] - right[n]);
    const double allowed =
        bound * scale + rounding * std::abs(right[n]) + (rounding > 0 ? 0x1p-25 : 0);
    ASSERT_LE(error, allowed) << result.name << "[" << n << "] is " << result.got[n]
                              << ", right is " << right[n] << ", scale " << scale;
    if (rounding == 0 && scale > 0) worst = std::max(worst, error / scale);
  }
}

inline void ExpectResult(const FusedRun& run, const PlainResult& right, const FusedBounds& bounds,
                         FusedErrors& errors) {
  for (const FusedResult& result : ResultsOf(run)) {
    const PlainArray& array = right.*result.right;
    errors.compared += std::int64_t(array.at.size());
    if (result.right == &PlainResult::out) {
      ExpectArray(result, array.at, right.largest_value, bounds.forward, errors.forward);
    } else if (result.right == &PlainResult::log_sum_exp) {
      for (std::size_t n = 0; n < array.at.size(); ++n) {
        if (array.at[n] == -std::numeric_limits<double>::infinity()) {
          ASSERT_EQ(result.got[n], array.at[n]) << "log_sum_exp[" << n << "]";
        }
      }
      ExpectArray(result, array.at, std::max(1.0, array.Largest()), bounds.log_sum_exp,
                  errors.log_sum_exp);
    } else {
      ExpectArray(result, array.at, array.Largest(), bounds.backward, errors.backward);
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

// What is right of inputs with infinities and NaN. A result that is not finite because a weight of
// 0 meets an infinity may also be without that term; it is taken as a run took it.
class RightEitherWay {
 public:
  explicit RightEitherWay(const PlainAttention& attention)
      : right_(Plain(attention)), without_(Plain(attention, ZeroWeights::kSkip)) {}

  PlainResult Of(const FusedRun& run) const {
    PlainResult right = right_;
    for (const FusedResult& result : ResultsOf(run)) {
      std::vector<double>& at = (right.*result.right).at;
      for (std::size_t n = 0; n < at.size(); ++n) {
        if (std::isfinite(result.got[n]) && !std::isfinite(at[n])) {
          at[n] = (without_.*result.right).at[n];
        }
      }
    }
    return right;
  }

 private:
  PlainResult right_, without_;
};

// Runs `c` over `plain` on one thread, on the library's and on shuffled ones; `prepare` sets up
// each run before.
template <class Prepare>
void ExpectSameBitsOnAnyExecutor(const PlainAttention& plain, const FusedCase& c,
                                 const Prepare& prepare) {
  ShuffledExecutor shuffled;
  FusedRun one(plain, c), two(plain, c), three(plain, c);
  for (FusedRun* run : {&one, &two, &three}) prepare(*run);
  one.Run(SerialExecutor());
  two.Run(DefaultExecutor());
  three.Run(shuffled);
  EXPECT_GE(shuffled.shared(), 3);
  const std::vector<FusedResult> right = ResultsOf(one), second = ResultsOf(two),
                                 third = ResultsOf(three);
  for (std::size_t n = 0; n < right.size(); ++n) {
    EXPECT_EQ(second[n].got, right[n].got) << right[n].name;
    EXPECT_EQ(third[n].got, right[n].got) << right[n].name;
  }
}

}  // namespace sextant
