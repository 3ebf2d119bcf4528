// Reference attention against a dense attention written from each paper's formula.
#include "sextant/attention/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <numeric>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Array<double, 3> RandomHeads(const Shape<3>& shape, std::uint64_t seed) {
  Array<double, 3> x(shape);
  Random random(seed);
  for (double& value : x.values()) value = random.Normal();
  return x;
}

// Random queries, keys and values with what an input only views.
struct Case {
  Case(Index heads, Index kv_heads, Index queries, Index keys, Index head_dim,
       std::uint64_t seed = 1)
      : query(RandomHeads({heads, queries, head_dim}, 3 * seed)),
        key(RandomHeads({kv_heads, keys, head_dim}, 3 * seed + 1)),
        value(RandomHeads({kv_heads, keys, head_dim}, 3 * seed + 2)),
        query_positions(PositionList::Range(keys - queries, queries)),
        key_positions(PositionList::Range(0, keys)) {}

  AttentionInput Input() const {
    return {query, key, value, query_positions, key_positions, mask, scale};
  }
  AttentionOutput Run(const std::string& spec, Weights weights = {}) const {
    return ReferenceAttention(*MakeScheme(spec), weights, Input());
  }
  std::int64_t distance(Index i, Index j) const {
    return key_positions.positions().values(0, j) - query_positions.positions().values(0, i);
  }

  Array<double, 3> query, key, value;
  PositionList query_positions, key_positions;
  AttentionMask mask;
  double scale = 0;
};

std::vector<std::vector<double>> RandomWeights(const Scheme& scheme, std::uint64_t seed) {
  Random random(seed);
  return NormalWeights(scheme.weights(), 1, random);
}

using Score = std::function<double(Index h, Index i, Index j)>;
using Value = std::function<double(Index h, Index i, Index j, Index c)>;

// softmax(score) value, summed naively; -inf scores are masked.
void ExpectDense(const Case& at, const AttentionOutput& got, const Score& score,
                 const Value& value) {
  const Index heads = at.query.extent(0), queries = at.query.extent(1), keys = at.key.extent(1);
  for (Index h = 0; h < heads; ++h) {
    for (Index i = 0; i < queries; ++i) {
      double sum = 0;
      for (Index j = 0; j < keys; ++j) {
        const double s = score(h, i, j);
        if (s == -kInfinity) {
          EXPECT_EQ(got.scores(h, i, j), s);
        } else {
          EXPECT_NEAR(got.scores(h, i, j), s, 1e-12) << h << i << j;
        }
        sum += std::exp(s);
      }
      EXPECT_NEAR(got.log_sum_exp(h, i), std::log(sum), 1e-12);
      for (Index j = 0; j < keys; ++j) {
        EXPECT_NEAR(got.weights(h, i, j), std::exp(score(h, i, j)) / sum, 1e-13);
      }
      for (Index c = 0; c < at.query.extent(2); ++c) {
        double out = 0;
        for (Index j = 0; j < keys; ++j) out += std::exp(score(h, i, j)) / sum * value(h, i, j, c);
        EXPECT_NEAR(got.out(h, i, c), out, 1e-12);
      }
    }
  }
}

Value Plain(const Case& at) {
  return [&](Index h, Index, Index j, Index c) { return at.value(h, j, c); };
}

double Content(const Case& at, Index h, Index i, Index j) {
  double sum = 0;
  for (Index c = 0; c < at.query.extent(2); ++c) sum += at.query(h, i, c) * at.key(h, j, c);
  return sum;
}

TEST(ReferenceTest, PlainAttention) {
  const Case at(2, 2, 3, 5, 4);
  ExpectDense(
      at, at.Run("none"), [&](Index h, Index i, Index j) { return Content(at, h, i, j) / 2; },
      Plain(at));
}

TEST(ReferenceTest, AGivenScaleReplacesTheDefault) {
  Case at(1, 1, 3, 5, 4);
  at.scale = 0.3;
  ExpectDense(
      at, at.Run("none"), [&](Index h, Index i, Index j) { return 0.3 * Content(at, h, i, j); },
      Plain(at));
}

TEST(ReferenceTest, CausalMaskGivesMinusInfinity) {
  Case at(2, 2, 4, 4, 3);
  at.mask.causal = true;
  ExpectDense(
      at, at.Run("none"),
      [&](Index h, Index i, Index j) {
        return j > i ? -kInfinity : Content(at, h, i, j) / std::sqrt(3.0);
      },
      Plain(at));
}

TEST(ReferenceTest, SinusoidalRowsAreAddedToQueriesAndKeys) {
  const Case at(2, 2, 3, 4, 4);
  const auto row = [](double p, Index c) {
    const double angle = p * std::pow(1e4, -2.0 * double(c / 2) / 8);
    return c % 2 == 0 ? std::sin(angle) : std::cos(angle);
  };
  ExpectDense(
      at, at.Run("sinusoidal:model_dim=8"),
      [&](Index h, Index i, Index j) {
        double sum = 0;
        for (Index c = 0; c < 4; ++c) {
          sum += (at.query(h, i, c) + row(double(1 + i), 4 * h + c)) *
                 (at.key(h, j, c) + row(double(j), 4 * h + c));
        }
        return sum / 2;
      },
      Plain(at));
}

// Pairs as complex numbers: Re(q conj(k) e^{i (m - n) w}), equation 12 of arXiv 2104.09864.
TEST(ReferenceTest, RotaryScoresAreComplexProducts) {
  const Case at(2, 2, 3, 4, 6);
  ExpectDense(
      at, at.Run("rope:rotated_dims=4,pairing=adjacent,base=100"),
      [&](Index h, Index i, Index j) {
        double sum = 0;
        for (Index pair = 0; pair < 2; ++pair) {
          const std::complex<double> q(at.query(h, i, 2 * pair), at.query(h, i, 2 * pair + 1));
          const std::complex<double> k(at.key(h, j, 2 * pair), at.key(h, j, 2 * pair + 1));
          const double angle = -double(at.distance(i, j)) * std::pow(100.0, -double(pair) / 2);
          sum += (q * std::conj(k) * std::polar(1.0, angle)).real();
        }
        for (Index c = 4; c < 6; ++c) sum += at.query(h, i, c) * at.key(h, j, c);
        return sum / std::sqrt(6.0);
      },
      Plain(at));
}

TEST(ReferenceTest, AlibiIsSubtractedAfterScaling) {
  const Case at(4, 4, 3, 5, 4);
  ExpectDense(
      at, at.Run("alibi:heads=4"),
      [&](Index h, Index i, Index j) {
        return Content(at, h, i, j) / 2 -
               std::pow(0.25, double(h + 1)) * std::abs(double(at.distance(i, j)));
      },
      Plain(at));
}

TEST(ReferenceTest, T5AddsItsTable) {
  const Case at(2, 2, 3, 6, 4);
  const std::string spec = "t5:heads=2,direction=bidirectional";
  const std::vector<std::vector<double>> weights = RandomWeights(*MakeScheme(spec), 5);
  ExpectDense(
      at, at.Run(spec, weights),
      [&](Index h, Index i, Index j) {
        const std::int64_t distance = at.distance(i, j);  // below 8, so one bucket each
        const std::int64_t bucket = distance > 0 ? 16 + distance : -distance;
        return Content(at, h, i, j) / 2 + weights[0][std::size_t(2 * bucket + h)];
      },
      Plain(at));
}

// Equations 3 to 5 of arXiv 1803.02155 with k = 2.
TEST(ReferenceTest, ShawAddsVectorsToKeysAndValues) {
  Case at(2, 2, 4, 6, 3);
  at.mask.causal = true;
  const std::string spec = "shaw:head_dim=3,clip=2";
  const std::vector<std::vector<double>> weights = RandomWeights(*MakeScheme(spec), 6);
  const auto vector = [&](std::size_t which, Index i, Index j, Index c) {
    const std::int64_t clipped =
        std::max<std::int64_t>(-2, std::min<std::int64_t>(2, at.distance(i, j)));
    return weights[which][std::size_t((clipped + 2) * 3 + c)];
  };
  ExpectDense(
      at, at.Run(spec, weights),
      [&](Index h, Index i, Index j) {
        if (at.distance(i, j) > 0) return -kInfinity;
        double sum = 0;
        for (Index c = 0; c < 3; ++c) {
          sum += at.query(h, i, c) * (at.key(h, j, c) + vector(0, i, j, c));
        }
        return sum / std::sqrt(3.0);
      },
      [&](Index h, Index i, Index j, Index c) { return at.value(h, j, c) + vector(1, i, j, c); });
}

TEST(ReferenceTest, ARowThatSeesNothingIsZero) {
  Case at(2, 1, 3, 3, 4);
  const std::vector<std::uint8_t> valid = {0, 0, 1};
  at.mask = {.causal = true, .key_valid = valid};
  const SchemePtr scheme = MakeScheme("shaw:head_dim=4,clip=1");
  const std::vector<std::vector<double>> weights = RandomWeights(*scheme, 7);
  const AttentionOutput got = ReferenceAttention(*scheme, weights, at.Input());
  const Array<double, 3> d_out = RandomHeads({2, 3, 4}, 8);
  const AttentionGradients back =
      ReferenceAttentionBackward(*scheme, weights, at.Input(), d_out.view());
  for (Index h = 0; h < 2; ++h) {
    for (Index i = 0; i < 2; ++i) {
      EXPECT_EQ(got.log_sum_exp(h, i), -kInfinity);
      for (Index j = 0; j < 3; ++j) {
        EXPECT_EQ(got.weights(h, i, j), 0);
        EXPECT_EQ(got.scores(h, i, j), -kInfinity);
      }
      for (Index c = 0; c < 4; ++c) {
        EXPECT_EQ(got.out(h, i, c), 0);
        EXPECT_EQ(back.query(h, i, c), 0);
      }
    }
    EXPECT_EQ(got.weights(h, 2, 2), 1);
  }
  for (Index c = 0; c < 4; ++c) {
    EXPECT_EQ(back.value(0, 0, c), 0);
    EXPECT_EQ(back.key(0, 1, c), 0);
    EXPECT_NEAR(back.value(0, 2, c), d_out(0, 2, c) + d_out(1, 2, c), 1e-15);
  }
}

TEST(ReferenceTest, LargeScoresDoNotOverflow) {
  Case at(1, 1, 2, 3, 4);
  at.scale = 1e5;
  const AttentionOutput got = at.Run("none");
  for (Index i = 0; i < 2; ++i) {
    EXPECT_TRUE(std::isfinite(got.log_sum_exp(0, i)));
    EXPECT_NEAR(got.weights(0, i, 0) + got.weights(0, i, 1) + got.weights(0, i, 2), 1, 1e-15);
  }
}

TEST(ReferenceTest, GroupedHeadsEqualRepeatedHeads) {
  const Case grouped(4, 2, 3, 5, 4);
  Case repeated(4, 4, 3, 5, 4);
  repeated.query = grouped.query;
  for (Index h = 0; h < 4; ++h) {
    for (Index j = 0; j < 5; ++j) {
      for (Index c = 0; c < 4; ++c) {
        repeated.key(h, j, c) = grouped.key(h / 2, j, c);
        repeated.value(h, j, c) = grouped.value(h / 2, j, c);
      }
    }
  }
  for (const char* spec : {"none", "alibi:heads=4", "rope:rotated_dims=4"}) {
    EXPECT_EQ(grouped.Run(spec).out.values(), repeated.Run(spec).out.values()) << spec;
    EXPECT_EQ(grouped.Run(spec).scores.values(), repeated.Run(spec).scores.values()) << spec;
  }
  const Array<double, 3> d_out = RandomHeads({4, 3, 4}, 9);
  const SchemePtr scheme = MakeScheme("rope:rotated_dims=4");
  const AttentionGradients one =
      ReferenceAttentionBackward(*scheme, {}, grouped.Input(), d_out.view());
  const AttentionGradients all =
      ReferenceAttentionBackward(*scheme, {}, repeated.Input(), d_out.view());
  for (Index j = 0; j < 5; ++j) {
    for (Index c = 0; c < 4; ++c) {
      EXPECT_NEAR(one.key(1, j, c), all.key(2, j, c) + all.key(3, j, c), 1e-14);
      EXPECT_NEAR(one.value(1, j, c), all.value(2, j, c) + all.value(3, j, c), 1e-14);
    }
  }
}

TEST(ReferenceTest, HiddenKeysCountAsAbsent) {
  // Keys 0 and 1 of 6 hidden by padding, or by a window around the last position.
  const Case whole(2, 2, 1, 6, 4);
  Case padded = whole, windowed = whole, absent(2, 2, 1, 4, 4);
  const std::vector<std::uint8_t> valid = {0, 0, 1, 1, 1, 1};
  padded.mask.key_valid = valid;
  windowed.mask.window = 4;
  absent.query = whole.query;
  for (Index h = 0; h < 2; ++h) {
    for (Index j = 0; j < 4; ++j) {
      for (Index c = 0; c < 4; ++c) {
        absent.key(h, j, c) = whole.key(h, j + 2, c);
        absent.value(h, j, c) = whole.value(h, j + 2, c);
      }
    }
  }
  absent.query_positions = whole.query_positions;
  absent.key_positions = PositionList::Range(2, 4);
  for (const char* spec : {"none", "alibi:heads=2", "rope:rotated_dims=4"}) {
    EXPECT_EQ(padded.Run(spec).out.values(), absent.Run(spec).out.values()) << spec;
    EXPECT_EQ(windowed.Run(spec).out.values(), absent.Run(spec).out.values()) << spec;
    EXPECT_NE(whole.Run(spec).out.values(), absent.Run(spec).out.values()) << spec;
  }
}

TEST(ReferenceTest, FourTermsSumToTheScore) {
  for (const char* spec : {"sinusoidal:model_dim=4", "sinusoidal:model_dim=16", "none",
                           "sinusoidal:model_dim=16+learned:model_dim=16,positions=9"}) {
    const SchemePtr scheme = MakeScheme(spec);
    const std::vector<std::vector<double>> weights = RandomWeights(*scheme, 10);
    const Case at(4, 4, 3, 9, 4);
    const ScoreTerms terms = AdditiveScoreTerms(*scheme, weights, at.Input());
    const AttentionOutput got = ReferenceAttention(*scheme, weights, at.Input());
    for (std::size_t n = 0; n < got.scores.values().size(); ++n) {
      EXPECT_NEAR(terms.content_content.values()[n] + terms.content_position.values()[n] +
                      terms.position_content.values()[n] + terms.position_position.values()[n],
                  got.scores.values()[n], 1e-13)
          << spec;
    }
    for (Index i = 0; i < 3; ++i) {
      EXPECT_NEAR(terms.content_content(3, i, 2), Content(at, 3, i, 2) / 2, 1e-14);
    }
  }
}

TEST(ReferenceTest, ThePositionTermOfSinusoidsDependsOnTheDistance) {
  const Case at(1, 1, 9, 9, 64);
  const ScoreTerms terms =
      AdditiveScoreTerms(*MakeScheme("sinusoidal:model_dim=64"), {}, at.Input());
  for (Index i = 0; i + 1 < 9; ++i) {
    EXPECT_NEAR(terms.position_position(0, i, i + 1), 30.9168316616 / 8, 1e-11);
    EXPECT_NEAR(terms.position_position(0, i + 1, i), 30.9168316616 / 8, 1e-11);
  }
}

// "all dogs are animals" / "all animals are dogs": q(dogs) . k(animals) in both orders. A bias of
// |j - i| is the same both ways, so ALiBi tells them apart by the causal mask alone.
TEST(ReferenceTest, WordOrderIsLostOnlyWithoutPositions) {
  const Case words(1, 1, 4, 4, 8);  // all, dogs, are, animals
  Case swapped = words;
  for (Index c = 0; c < 8; ++c) {
    std::swap(swapped.query(0, 1, c), swapped.query(0, 3, c));
    std::swap(swapped.key(0, 1, c), swapped.key(0, 3, c));
  }
  const auto same = [&](const char* spec) {
    const SchemePtr scheme =
        MakeScheme(spec, {{"model_dim", 8}, {"heads", 1}, {"head_dim", 8}, {"context", 4}});
    const std::vector<std::vector<double>> weights = RandomWeights(*scheme, 11);
    return ReferenceAttention(*scheme, weights, words.Input()).scores(0, 1, 3) ==
           ReferenceAttention(*scheme, weights, swapped.Input()).scores(0, 3, 1);
  };
  EXPECT_TRUE(same("none"));
  EXPECT_TRUE(same("alibi"));
  for (const char* spec : {"sinusoidal", "learned", "hybrid", "shaw", "transformer-xl",
                           "t5:direction=bidirectional", "rope"}) {
    EXPECT_FALSE(same(spec)) << spec;
  }
}

}  // namespace
}  // namespace sextant
