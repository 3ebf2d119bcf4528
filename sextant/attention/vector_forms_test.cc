// Scores of BERT's and DeBERTa's vectors against their released code, written out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sextant/attention/reference.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

// scores = (q . k + sum_d q_d E[l - r + M - 1]_d (+ sum_d k_d E[..]_d)) / sqrt(head_dim), written
// out as the released einsums do: "bhld,lrd->bhlr" and "bhrd,lrd->bhlr".
void ExpectReleasedScores(const std::string& spec, bool with_keys) {
  constexpr Index kHeads = 2, kLength = 5, kDim = 3, kMax = 6;
  const SchemePtr scheme = MakeScheme(spec);
  Random random(8);
  const std::vector<std::vector<double>> weights = NormalWeights(scheme->weights(), 1, random);
  Array<double, 3> q({kHeads, kLength, kDim}), k(q.shape()), v(q.shape());
  for (Array<double, 3>* x : {&q, &k, &v}) {
    for (double& value : x->values()) value = random.Normal();
  }
  const PositionList at = PositionList::Range(0, kLength);
  const AttentionOutput output = ReferenceAttention(*scheme, weights, {q, k, v, at, at, {}, 0});
  for (Index h = 0; h < kHeads; ++h) {
    for (Index l = 0; l < kLength; ++l) {
      for (Index r = 0; r < kLength; ++r) {
        double expected = 0;
        for (Index d = 0; d < kDim; ++d) {
          const double e = weights[0][std::size_t((l - r + kMax - 1) * kDim + d)];
          expected += q(h, l, d) * k(h, r, d) + q(h, l, d) * e;
          if (with_keys) expected += k(h, r, d) * e;
        }
        EXPECT_NEAR(output.scores(h, l, r), expected / std::sqrt(3.0), 1e-13);
      }
    }
  }
}

TEST(BertFormTest, RelativeKeyAddsTheQuerysTermBeforeScaling) {
  ExpectReleasedScores("bert:head_dim=3,max_positions=6", false);
}
TEST(BertFormTest, RelativeKeyQueryAddsTheKeysTermFromTheSameTable) {
  ExpectReleasedScores("bert:head_dim=3,max_positions=6,terms=keys_and_queries", true);
}

// The released code, written out: rows of P are projected, c2p[q][r] = Q_q . K_r gathered at
// clamp(q - k + span); p2c[k][r] = K_k . Q_r gathered at clamp(-(k - q) + span) and transposed;
// each part divided by sqrt(head_dim * 3).
TEST(DebertaFormTest, ScoresAreThoseOfTheReleasedGathers) {
  constexpr Index kHeads = 2, kDim = 3, kWidth = 5, kLength = 11, kSpan = 4;
  const SchemePtr scheme =
      MakeScheme("deberta:heads=2,head_dim=3,model_dim=5,form=v1,max_relative_positions=4");
  Random random(9);
  const std::vector<std::vector<double>> weights = NormalWeights(scheme->weights(), 1, random);
  Array<double, 3> q({kHeads, kLength, kDim}), k(q.shape()), v(q.shape());
  for (Array<double, 3>* x : {&q, &k, &v}) {
    for (double& value : x->values()) value = random.Normal();
  }
  const auto projected = [&](std::size_t weight, Index h, Index row, Index c) {
    double sum = weight == 2 ? weights[3][std::size_t(h * kDim + c)] : 0;
    for (Index m = 0; m < kWidth; ++m) {
      sum += weights[weight][std::size_t((h * kDim + c) * kWidth + m)] *
             weights[0][std::size_t(row * kWidth + m)];
    }
    return sum;
  };
  const PositionList at = PositionList::Range(0, kLength);
  const AttentionOutput output = ReferenceAttention(*scheme, weights, {q, k, v, at, at, {}, 0});
  for (Index h = 0; h < kHeads; ++h) {
    for (Index i = 0; i < kLength; ++i) {
      for (Index j = 0; j < kLength; ++j) {
        const Index c2p = std::clamp<Index>(i - j + kSpan, 0, 2 * kSpan - 1);
        const Index p2c = std::clamp<Index>(-(j - i) + kSpan, 0, 2 * kSpan - 1);
        double score = 0;
        for (Index c = 0; c < kDim; ++c) {
          score += q(h, i, c) * k(h, j, c) + q(h, i, c) * projected(1, h, c2p, c) +
                   k(h, j, c) * projected(2, h, p2c, c);
        }
        EXPECT_NEAR(output.scores(h, i, j), score / std::sqrt(9.0), 1e-12) << i << " " << j;
      }
    }
  }
}

}  // namespace
}  // namespace sextant
