// Transformer-XL attention against the paper's four terms, and against the released code's
// shift.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sextant/attention/reference.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

constexpr Index kHeads = 2, kHeadDim = 3, kModelDim = 8, kQueries = 4, kMemory = 3,
                kKeys = kQueries + kMemory;

using Matrix = std::vector<std::vector<double>>;

Array<double, 3> RandomHeads(const Shape<3>& shape, std::uint64_t seed) {
  Array<double, 3> x(shape);
  Random random(seed);
  for (double& value : x.values()) value = random.Normal();
  return x;
}

// The embedding module of the released code: sines of all frequencies, then cosines.
std::vector<double> PositionalEmbedding(double position) {
  std::vector<double> row;
  for (int part = 0; part < 2; ++part) {
    for (int i = 0; i < kModelDim; i += 2) {
      const double angle = position / std::pow(10000.0, double(i) / kModelDim);
      row.push_back(part == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return row;
}

class TransformerXlFormTest : public testing::Test {
 protected:
  TransformerXlFormTest() {
    Random random(7);
    weights_ = NormalWeights(scheme_->weights(), 1, random);
  }

  double W(Index h, Index c, Index m) const {
    return weights_[0][std::size_t((h * kHeadDim + c) * kModelDim + m)];
  }
  double u(Index h, Index c) const { return weights_[1][std::size_t(h * kHeadDim + c)]; }
  double v(Index h, Index c) const { return weights_[2][std::size_t(h * kHeadDim + c)]; }

  // W R[behind], channel c of head h.
  double Projected(Index h, Index c, double behind) const {
    const std::vector<double> r = PositionalEmbedding(behind);
    double sum = 0;
    for (Index m = 0; m < kModelDim; ++m) sum += W(h, c, m) * r[std::size_t(m)];
    return sum;
  }

  AttentionOutput Run(bool causal) const {
    const PositionList queries = PositionList::Range(kMemory, kQueries);
    const PositionList keys = PositionList::Range(0, kKeys);
    return ReferenceAttention(
        *scheme_, weights_,
        {query_, key_, value_, queries, keys, AttentionMask{.causal = causal}, 0});
  }

  SchemePtr scheme_ = MakeScheme("transformer-xl:heads=2,head_dim=3,model_dim=8");
  std::vector<std::vector<double>> weights_;
  Array<double, 3> query_ = RandomHeads({kHeads, kQueries, kHeadDim}, 1);
  Array<double, 3> key_ = RandomHeads({kHeads, kKeys, kHeadDim}, 2);
  Array<double, 3> value_ = RandomHeads({kHeads, kKeys, kHeadDim}, 3);
};

// Section 3.3: (a) q.k + (b) q.W R[i-j] + (c) u.k + (d) v.W R[i-j], over sqrt(d).
TEST_F(TransformerXlFormTest, TheFourTermsOfThePaper) {
  const AttentionOutput got = Run(false);
  for (Index h = 0; h < kHeads; ++h) {
    for (Index i = 0; i < kQueries; ++i) {
      for (Index j = 0; j < kKeys; ++j) {
        double a = 0, b = 0, c = 0, d = 0;
        for (Index n = 0; n < kHeadDim; ++n) {
          const double r = Projected(h, n, double(i + kMemory - j));
          a += query_(h, i, n) * key_(h, j, n);
          b += query_(h, i, n) * r;
          c += u(h, n) * key_(h, j, n);
          d += v(h, n) * r;
        }
        EXPECT_NEAR(got.scores(h, i, j), (a + b + c + d) / std::sqrt(3.0), 1e-12);
      }
    }
  }
}

// _rel_shift of the released code: a zero column before, the memory read as [keys + 1, queries],
// its first row dropped, the rest read as [queries, keys].
Matrix RelShift(const Matrix& x) {
  std::vector<double> padded;
  for (const std::vector<double>& row : x) {
    padded.push_back(0);
    padded.insert(padded.end(), row.begin(), row.end());
  }
  Matrix shifted(x.size(), std::vector<double>(x[0].size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < x[0].size(); ++j) {
      shifted[i][j] = padded[x.size() + i * x[0].size() + j];
    }
  }
  return shifted;
}

TEST_F(TransformerXlFormTest, TheReleasedCodesShift) {
  const AttentionOutput got = Run(true);
  for (Index h = 0; h < kHeads; ++h) {
    // BD against the sinusoids of klen-1 .. 0, then shifted so that column j is distance i - j.
    Matrix bd(kQueries, std::vector<double>(kKeys));
    for (Index i = 0; i < kQueries; ++i) {
      for (Index m = 0; m < kKeys; ++m) {
        for (Index n = 0; n < kHeadDim; ++n) {
          bd[std::size_t(i)][std::size_t(m)] +=
              (query_(h, i, n) + v(h, n)) * Projected(h, n, double(kKeys - 1 - m));
        }
      }
    }
    const Matrix shifted = RelShift(bd);
    for (Index i = 0; i < kQueries; ++i) {
      for (Index j = 0; j <= i + kMemory; ++j) {
        double ac = 0;
        for (Index n = 0; n < kHeadDim; ++n) ac += (query_(h, i, n) + u(h, n)) * key_(h, j, n);
        const double expected =
            (ac + shifted[std::size_t(i)][std::size_t(j)]) / std::sqrt(double(kHeadDim));
        EXPECT_NEAR(got.scores(h, i, j), expected, 1e-12) << i << " " << j;
      }
    }
  }
}

}  // namespace
}  // namespace sextant
