// Rows by the tables, sums by the kernel.
#include "sextant/attention/add_positions.h"

#include <string>
#include <vector>

#include "sextant/attention/kernel_tables.h"
#include "sextant/attention/sizes.h"
#include "sextant/core/error.h"

namespace sextant {
namespace {

[[noreturn]] void Fail(const std::string& rule) { throw Error("add positions", rule); }

template <class T>
void Check(const Scheme& scheme, Weights weights, const Positions& positions,
           const ActivationsOf<const T>& x) {
  if (!scheme.layer_pattern().empty()) Fail("a model's layers differ, and rows come before them");
  if (!scheme.offers(Hook::kAdditive)) Fail(scheme.name() + " adds no rows");
  CheckWeights(scheme, weights);
  if (x.model_dim != scheme.model_dim()) {
    Fail("rows of " + scheme.name() + " have " + std::to_string(scheme.model_dim()) +
         " channels, the activations have " + std::to_string(x.model_dim));
  }
  if (x.tokens != positions.count()) {
    Fail("every token needs one position, got " + std::to_string(positions.count()) + " for " +
         std::to_string(x.tokens) + " tokens");
  }
}

Executor& ExecutorOf(const AttentionSettings& settings) {
  return settings.executor != nullptr ? *settings.executor : DefaultExecutor();
}

template <class T>
void Forth(const Scheme& scheme, Weights weights, const Positions& positions,
           const ActivationsOf<const T>& x, const ActivationsOf<T>& out,
           const AttentionSettings& settings) {
  Check(scheme, weights, positions, x);
  Executor& executor = ExecutorOf(settings);
  const auto rows = KernelTables(scheme, weights, executor, settings.tables).Rows(positions);
  AddRows(x, RowsOf<const float>{rows->values.data(), rows->width}, out, executor);
}

template <class T>
void Back(const Scheme& scheme, Weights weights, const Positions& positions,
          const ActivationsOf<const T>& d_out, WeightGradients d_weights,
          const AttentionSettings& settings) {
  Check(scheme, weights, positions, d_out);
  CheckWeights(scheme, d_weights);
  std::vector<float> sums(static_cast<std::size_t>(d_out.tokens * d_out.model_dim));
  AddRowsBack(d_out, RowsOf<float>{sums.data(), d_out.model_dim}, ExecutorOf(settings));
  Array<double, 2> d_rows({d_out.tokens, d_out.model_dim});
  d_rows.values().assign(sums.begin(), sums.end());
  scheme.BackAdditive(weights, positions, d_rows, d_weights);
}

}  // namespace

void AddPositions(const Scheme& scheme, Weights weights, const Positions& positions,
                  const ActivationsOf<const float>& x, const ActivationsOf<float>& out,
                  const AttentionSettings& settings) {
  Forth(scheme, weights, positions, x, out, settings);
}
void AddPositions(const Scheme& scheme, Weights weights, const Positions& positions,
                  const ActivationsOf<const Bf16>& x, const ActivationsOf<Bf16>& out,
                  const AttentionSettings& settings) {
  Forth(scheme, weights, positions, x, out, settings);
}
void AddPositions(const Scheme& scheme, Weights weights, const Positions& positions,
                  const ActivationsOf<const F16>& x, const ActivationsOf<F16>& out,
                  const AttentionSettings& settings) {
  Forth(scheme, weights, positions, x, out, settings);
}

void AddPositionsBackward(const Scheme& scheme, Weights weights, const Positions& positions,
                          const ActivationsOf<const float>& d_out, WeightGradients d_weights,
                          const AttentionSettings& settings) {
  Back(scheme, weights, positions, d_out, d_weights, settings);
}
void AddPositionsBackward(const Scheme& scheme, Weights weights, const Positions& positions,
                          const ActivationsOf<const Bf16>& d_out, WeightGradients d_weights,
                          const AttentionSettings& settings) {
  Back(scheme, weights, positions, d_out, d_weights, settings);
}
void AddPositionsBackward(const Scheme& scheme, Weights weights, const Positions& positions,
                          const ActivationsOf<const F16>& d_out, WeightGradients d_weights,
                          const AttentionSettings& settings) {
  Back(scheme, weights, positions, d_out, d_weights, settings);
}

}  // namespace sextant
