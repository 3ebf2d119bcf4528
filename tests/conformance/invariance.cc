// Checks that what must not matter does not: packing, caching, order, and having nothing at all.
#include <algorithm>
#include <cmath>

#include "tests/conformance/attention_case.h"
#include "tests/conformance/conformance.h"

namespace sextant::conformance {
namespace {

constexpr double kClose = 1e-12;

// The largest difference of row `from` of every head of x and row `to` of y.
double RowDifference(const Array<double, 3>& x, Index from, const Array<double, 3>& y, Index to) {
  double largest = 0;
  for (Index h = 0; h < x.extent(0); ++h) {
    for (Index c = 0; c < x.extent(2); ++c) {
      KeepLargest(std::abs(x(h, from, c) - y(h, to, c)), largest);
    }
  }
  return largest;
}

void Expect(double difference, const std::string& what, Failures& failures) {
  if (difference <= kClose) return;
  failures.push_back(what + " differs by " + ToText(difference));
}

// Rows first .. first+count-1 of every head.
Array<double, 3> Part(const Array<double, 3>& x, Index first, Index count) {
  Array<double, 3> part({x.extent(0), count, x.extent(2)});
  for (Index h = 0; h < x.extent(0); ++h) {
    for (Index n = 0; n < count; ++n) {
      for (Index c = 0; c < x.extent(2); ++c) part(h, n, c) = x(h, first + n, c);
    }
  }
  return part;
}

Array<double, 3> Reordered(const Array<double, 3>& x, const std::vector<std::size_t>& order) {
  Array<double, 3> reordered(x.shape());
  for (Index h = 0; h < x.extent(0); ++h) {
    for (Index n = 0; n < x.extent(1); ++n) {
      for (Index c = 0; c < x.extent(2); ++c) {
        reordered(h, n, c) = x(h, Index(order[std::size_t(n)]), c);
      }
    }
  }
  return reordered;
}

std::vector<std::int64_t> Reordered(const std::vector<std::int64_t>& x,
                                    const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> reordered;
  for (std::size_t n : order) reordered.push_back(x[n]);
  return reordered;
}

}  // namespace

Failures CheckPacked(const SchemePtr& scheme, const Model& model) {
  Failures failures;
  const std::vector<std::vector<double>> weights = TrainedWeights(*scheme, model);
  constexpr Index kFirst = 5, kSecond = 7, kAll = kFirst + kSecond;
  std::vector<std::int64_t> positions = Steps(0, kFirst);
  for (std::int64_t p : Steps(0, kSecond)) positions.push_back(p);
  AttentionCase packed({model.heads, kAll, model.head_dim},
                       {KeyHeads(*scheme, model), kAll, model.head_dim}, positions, positions,
                       kSecond);
  packed.query_sequence.assign(std::size_t(kAll), 3);
  std::fill_n(packed.query_sequence.begin(), kFirst, 9);
  packed.key_sequence = packed.query_sequence;
  for (const bool causal : {true, false}) {
    packed.causal = causal;
    const AttentionOutput together = packed.Run(*scheme, weights);
    for (const Index first : {Index{0}, kFirst}) {
      const Index count = first == 0 ? kFirst : kSecond;
      AttentionCase alone({model.heads, count, model.head_dim},
                          {KeyHeads(*scheme, model), count, model.head_dim}, Steps(0, count),
                          Steps(0, count), kSecond);
      alone.query = Part(packed.query, first, count);
      alone.key = Part(packed.key, first, count);
      alone.value = Part(packed.value, first, count);
      alone.causal = causal;
      const AttentionOutput apart = alone.Run(*scheme, weights);
      for (Index i = 0; i < count; ++i) {
        Expect(RowDifference(together.out, first + i, apart.out, i),
               "row " + std::to_string(first + i) + " of packed sequences", failures);
      }
    }
  }
  return failures;
}

Failures CheckDecode(const SchemePtr& scheme, const Model& model) {
  Failures failures;
  const std::vector<std::vector<double>> weights = TrainedWeights(*scheme, model);
  constexpr Index kLength = 10;
  AttentionCase whole({model.heads, kLength, model.head_dim},
                      {KeyHeads(*scheme, model), kLength, model.head_dim}, Steps(3, kLength),
                      Steps(3, kLength), kLength + 3);
  whole.causal = true;
  const AttentionOutput full = whole.Run(*scheme, weights);
  for (Index i = 0; i < kLength; ++i) {
    AttentionCase step({model.heads, 1, model.head_dim},
                       {KeyHeads(*scheme, model), i + 1, model.head_dim}, {3 + i}, Steps(3, i + 1),
                       kLength + 3);
    step.query = Part(whole.query, i, 1);
    step.key = Part(whole.key, 0, i + 1);
    step.value = Part(whole.value, 0, i + 1);
    const AttentionOutput decoded = step.Run(*scheme, weights);
    const std::string row = "row " + std::to_string(i) + " decoded with a cache";
    Expect(RowDifference(full.out, i, decoded.out, 0), row, failures);
    for (Index h = 0; h < model.heads; ++h) {
      Expect(std::abs(full.log_sum_exp(h, i) - decoded.log_sum_exp(h, 0)),
             "log sum of exponentials of " + row, failures);
    }
  }
  return failures;
}

Failures CheckOrder(const SchemePtr& scheme, const Model& model) {
  Failures failures;
  const std::vector<std::vector<double>> weights = TrainedWeights(*scheme, model);
  const std::vector<std::size_t> order = {4, 0, 7, 2, 6, 1, 5, 3};
  const Index count = Index(order.size());
  for (const bool causal : {true, false}) {
    AttentionCase straight({model.heads, count, model.head_dim},
                           {KeyHeads(*scheme, model), count, model.head_dim}, Steps(1, count, 5),
                           Steps(0, count, 5), model.context);
    straight.causal = causal;
    const AttentionOutput before = straight.Run(*scheme, weights);
    AttentionCase queries = straight;
    queries.query = Reordered(straight.query, order);
    queries.at_queries = Reordered(straight.at_queries, order);
    const AttentionOutput moved = queries.Run(*scheme, weights);
    for (Index n = 0; n < count; ++n) {
      Expect(RowDifference(before.out, Index(order[std::size_t(n)]), moved.out, n),
             "the output of a query moved to row " + std::to_string(n), failures);
    }
    if (scheme->offers(Hook::kContextual)) continue;
    AttentionCase keys = straight;
    keys.key = Reordered(straight.key, order);
    keys.value = Reordered(straight.value, order);
    keys.at_keys = Reordered(straight.at_keys, order);
    const AttentionOutput mixed = keys.Run(*scheme, weights);
    for (Index n = 0; n < count; ++n) {
      Expect(RowDifference(before.out, n, mixed.out, n),
             "row " + std::to_string(n) + " with keys in another order", failures);
    }
  }
  return failures;
}

Failures CheckEmpty(const SchemePtr& scheme, const Model& model) {
  Failures failures;
  const std::vector<std::vector<double>> weights = TrainedWeights(*scheme, model);
  for (const auto& [queries, keys] : {std::pair<Index, Index>{0, 4}, {3, 0}, {0, 0}}) {
    AttentionCase at({model.heads, queries, model.head_dim},
                     {KeyHeads(*scheme, model), keys, model.head_dim}, Steps(0, queries),
                     Steps(0, keys), 4);
    const std::string where =
        std::to_string(queries) + " queries and " + std::to_string(keys) + " keys";
    const AttentionOutput output = at.Run(*scheme, weights);
    if (output.out.shape() != at.query.shape()) failures.push_back(where + ": another shape");
    for (double x : output.out.values()) {
      if (x != 0) failures.push_back(where + ": an output is " + ToText(x) + ", not 0");
    }
    const AttentionGradients back =
        ReferenceAttentionBackward(*scheme, weights, at.Input(), at.query.view());
    std::vector<std::vector<double>> all = back.weights;
    for (const Array<double, 3>* d : {&back.query, &back.key, &back.value}) {
      all.push_back(d->values());
    }
    for (const std::vector<double>& gradient : all) {
      if (std::any_of(gradient.begin(), gradient.end(), [](double x) { return x != 0; })) {
        failures.push_back(where + ": a gradient is not 0");
      }
    }
  }
  return failures;
}

}  // namespace sextant::conformance
