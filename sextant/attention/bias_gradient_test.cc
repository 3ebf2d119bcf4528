// The gradient of a learned bias: the sum of the scores' gradients over all cells at its distance.
#include <gtest/gtest.h>

#include <cmath>

#include "sextant/attention/reference.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using Lists = std::vector<std::vector<double>>;

constexpr Index kLength = 23, kDim = 5;

struct Case {
  Case() : query({1, kLength, kDim}), key(query), value(query), d_out(query) {
    Random random(9);
    for (Array<double, 3>* x : {&query, &key, &value, &d_out}) {
      for (double& number : x->values()) number = random.Normal();
    }
  }
  Array<double, 3> query, key, value, d_out;
};

// Gradients of the scores by the formula of softmax, for bias table[i - j] and a causal mask.
Array<double, 2> ScoreGradients(const Case& at, const std::vector<double>& table) {
  Array<double, 2> d({kLength, kLength});
  for (Index i = 0; i < kLength; ++i) {
    std::vector<double> weight, d_weight;
    double sum = 0, mean = 0;
    for (Index j = 0; j <= i; ++j) {
      double score = 0, slope = 0;
      for (Index c = 0; c < kDim; ++c) {
        score += at.query(0, i, c) * at.key(0, j, c);
        slope += at.d_out(0, i, c) * at.value(0, j, c);
      }
      const std::size_t row = std::min(std::size_t(i - j), table.size() - 1);
      weight.push_back(std::exp(score / std::sqrt(double(kDim)) + table[row]));
      d_weight.push_back(slope);
      sum += weight.back();
    }
    for (std::size_t j = 0; j < weight.size(); ++j) mean += weight[j] / sum * d_weight[j];
    for (std::size_t j = 0; j < weight.size(); ++j) {
      d(i, Index(j)) = weight[j] / sum * (d_weight[j] - mean);
    }
  }
  return d;
}

TEST(BiasGradientTest, IsTheSumOverAllCellsAtADistanceAndEqualEachTime) {
  const Case at;
  for (const Index most : {kLength - 1, Index{6}, Index{0}}) {
    const SchemePtr scheme =
        MakeScheme("learned-bias:heads=1,max_distance=" + std::to_string(most));
    Random random(10);
    Lists weights = scheme->InitialWeights(random);
    for (double& number : weights[0]) number *= 50;
    const PositionList positions = PositionList::Range(100, kLength);
    AttentionInput input{at.query, at.key, at.value, positions, positions, {}, 0};
    input.mask.causal = true;
    const AttentionGradients back =
        ReferenceAttentionBackward(*scheme, weights, input, at.d_out.view());
    const Array<double, 2> d = ScoreGradients(at, weights[0]);
    std::vector<double> expected(std::size_t(most) + 1);
    for (Index i = 0; i < kLength; ++i) {
      for (Index j = 0; j <= i; ++j) expected[std::size_t(std::min(i - j, most))] += d(i, j);
    }
    ASSERT_EQ(back.weights[0].size(), expected.size());
    for (std::size_t r = 0; r < expected.size(); ++r) {
      EXPECT_NEAR(back.weights[0][r], expected[r], 1e-12) << most << " " << r;
    }
    EXPECT_EQ(ReferenceAttentionBackward(*scheme, weights, input, at.d_out.view()).weights,
              back.weights);
  }
}

}  // namespace
}  // namespace sextant
