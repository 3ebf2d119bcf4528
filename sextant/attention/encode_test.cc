// Positions written into queries and keys: RoPE's golden rows and identities, additive rows by
// head.
#include "sextant/attention/encode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

Array<double, 3> OneRow(const std::vector<double>& x) {
  Array<double, 3> row({1, 1, Index(x.size())});
  row.values() = x;
  return row;
}

std::vector<double> Turned(const std::string& spec, std::int64_t position,
                           const std::vector<double>& x) {
  Array<double, 3> row = OneRow(x);
  Rotate(*MakeScheme(spec), {}, PositionList::Range(position, 1), Side::kQuery, row);
  return row.values();
}

std::vector<double> RandomRow(std::size_t width, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> x(width);
  for (double& value : x) value = random.Normal();
  return x;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

void ExpectNear(const std::vector<double>& got, const std::vector<double>& expected,
                double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t c = 0; c < got.size(); ++c) EXPECT_NEAR(got[c], expected[c], tolerance) << c;
}

const std::vector<double> kOneToEight = {1, 2, 3, 4, 5, 6, 7, 8};

TEST(RotateTest, GoldenRowInHalves) {
  ExpectNear(Turned("rope:rotated_dims=8", 3, kOneToEight),
             {-1.695593, 0.137552, 2.788682, 3.975982, -4.808842, 6.323059, 7.086837, 8.011964},
             5e-7);
}

TEST(RotateTest, GoldenRowOfAdjacentPairs) {
  ExpectNear(Turned("rope:rotated_dims=8,pairing=adjacent", 3, kOneToEight),
             {-1.272233, -1.838865, 1.683929, 4.707907, 4.817777, 6.147278, 6.975969, 8.020964},
             5e-7);
}

// P x = (x0 x2 x4 .. x1 x3 x5 ..): halves(P x) = P adjacent(x), with no rounding.
TEST(RotateTest, ThePairingsAreOnePermutationApart) {
  for (std::int64_t position : {0, 3, 131071}) {
    const std::vector<double> x = RandomRow(64, 1);
    const auto permuted = [](const std::vector<double>& from) {
      std::vector<double> to(from.size());
      for (std::size_t i = 0; i < from.size() / 2; ++i) {
        to[i] = from[2 * i];
        to[i + from.size() / 2] = from[2 * i + 1];
      }
      return to;
    };
    EXPECT_EQ(Turned("rope:rotated_dims=64", position, permuted(x)),
              permuted(Turned("rope:rotated_dims=64,pairing=adjacent", position, x)));
  }
}

// R(p)^T R(q) = R(q - p), and so (R(p) x) . (R(q) y) = x . R(q - p) y.
TEST(RotateTest, ProductsDependOnTheDistanceAlone) {
  double worst = 0;
  for (const char* spec :
       {"rope:rotated_dims=64", "rope:rotated_dims=64,pairing=adjacent",
        "rope:rotated_dims=48,base=500000", "rope:rotated_dims=64,rule=linear,factor=8"}) {
    const std::vector<double> x = RandomRow(64, 2), y = RandomRow(64, 3);
    const double scale = std::sqrt(Dot(x, x) * Dot(y, y));
    for (std::int64_t p : {0, 1, 17, 131071, 999999, 1 << 20}) {
      for (std::int64_t distance : {-1000, -3, 0, 1, 64, 5000}) {
        const double got = Dot(Turned(spec, p, x), Turned(spec, p + distance, y));
        const double expected = Dot(x, Turned(spec, distance, y));
        worst = std::max(worst, std::abs(got - expected) / scale);
      }
    }
  }
  std::printf("rotate: largest difference of equal distances %.2e of the norms\n", worst);
  EXPECT_LT(worst, 1e-9);
}

TEST(RotateTest, NormsStayAtEveryPosition) {
  const std::vector<double> x = RandomRow(64, 4);
  for (std::int64_t p : {0, 1, 131071, 999999, 1 << 20}) {
    const std::vector<double> turned = Turned("rope:rotated_dims=64", p, x);
    EXPECT_NEAR(Dot(turned, turned) / Dot(x, x), 1, 1e-14);
    for (std::size_t i = 0; i < 32; ++i) {
      EXPECT_NEAR(std::hypot(turned[i], turned[i + 32]), std::hypot(x[i], x[i + 32]), 1e-14);
    }
  }
}

TEST(RotateTest, ChannelsBeyondTheRotatedWidthStayBitForBit) {
  const std::vector<double> x = RandomRow(64, 5);
  for (const char* pairing : {"halves", "adjacent"}) {
    const std::vector<double> turned =
        Turned(std::string("rope:rotated_dims=16,pairing=") + pairing, 12345, x);
    const std::vector<double> alone = Turned(std::string("rope:rotated_dims=16,pairing=") + pairing,
                                             12345, {x.begin(), x.begin() + 16});
    EXPECT_EQ(std::vector<double>(turned.begin() + 16, turned.end()),
              std::vector<double>(x.begin() + 16, x.end()));
    EXPECT_EQ(std::vector<double>(turned.begin(), turned.begin() + 16), alone);
    EXPECT_NE(turned[0], x[0]);
  }
}

TEST(RotateTest, PositionZeroChangesNothing) {
  const std::vector<double> x = RandomRow(64, 6);
  EXPECT_EQ(Turned("rope:rotated_dims=64", 0, x), x);
}

TEST(RotateTest, TooManyRotatedChannelsAreRefused) {
  try {
    Turned("rope:rotated_dims=8", 1, {1, 2, 3, 4});
    FAIL() << "8 channels of 4 were turned";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rope: rotated_dims must be at most head_dim 4, got 8");
  }
}

Array<double, 3> RandomHeads(const Shape<3>& shape, std::uint64_t seed) {
  Array<double, 3> x(shape);
  x.values() = RandomRow(x.values().size(), seed);
  return x;
}

TEST(EncodeTest, ARowAsWideAsAHeadGoesToEveryHead) {
  const SchemePtr scheme = MakeScheme("sinusoidal:model_dim=4");
  const Array<double, 3> x = RandomHeads({3, 2, 4}, 7);
  const Array<double, 3> y = Encode(*scheme, {}, PositionList::Range(5, 2), Side::kKey, x.view());
  for (Index h = 0; h < 3; ++h) {
    for (Index n = 0; n < 2; ++n) {
      const double p = double(5 + n);
      const double row[] = {std::sin(p), std::cos(p), std::sin(p / 100), std::cos(p / 100)};
      for (Index c = 0; c < 4; ++c) EXPECT_NEAR(y(h, n, c), x(h, n, c) + row[c], 1e-15);
    }
  }
}

TEST(EncodeTest, ARowAsWideAsAllHeadsIsCutIntoThem) {
  const SchemePtr scheme = MakeScheme("learned:model_dim=6,positions=3");
  const std::vector<std::vector<double>> table = {RandomRow(18, 8)};
  const Array<double, 3> x = RandomHeads({3, 3, 2}, 9);
  const Array<double, 3> y =
      Encode(*scheme, table, PositionList::Range(0, 3), Side::kQuery, x.view());
  for (Index h = 0; h < 3; ++h) {
    for (Index n = 0; n < 3; ++n) {
      for (Index c = 0; c < 2; ++c) {
        EXPECT_EQ(y(h, n, c), x(h, n, c) + table[0][std::size_t(n * 6 + h * 2 + c)]);
      }
    }
  }
}

TEST(EncodeTest, RowsAreAddedBeforePairsTurn) {
  const SchemePtr both = MakeScheme("rope:rotated_dims=4+sinusoidal:model_dim=4");
  const std::vector<double> x = RandomRow(4, 10);
  const PositionList at = PositionList::Range(2, 1);
  std::vector<double> added = x;
  const double row[] = {std::sin(2.0), std::cos(2.0), std::sin(0.02), std::cos(0.02)};
  for (std::size_t c = 0; c < 4; ++c) added[c] += row[c];
  ExpectNear(Encode(*both, {}, at, Side::kQuery, OneRow(x).view()).values(),
             Turned("rope:rotated_dims=4", 2, added), 1e-14);
}

TEST(EncodeTest, ReadsStridedViewsAndLeavesThem) {
  Array<double, 3> wide = RandomHeads({2, 3, 8}, 11);
  const std::vector<double> before = wide.values();
  const View<const double, 3> part(wide.values().data() + 2, {2, 3, 4}, {24, 8, 1});
  const Array<double, 3> y =
      Encode(*MakeScheme("rope:rotated_dims=4"), {}, PositionList::Range(1, 3), Side::kKey, part);
  ExpectNear({y(1, 2, 0), y(1, 2, 1), y(1, 2, 2), y(1, 2, 3)},
             Turned("rope:rotated_dims=4", 3,
                    {wide(1, 2, 2), wide(1, 2, 3), wide(1, 2, 4), wide(1, 2, 5)}),
             1e-15);
  EXPECT_EQ(wide.values(), before);
}

TEST(EncodeTest, RowsThatFitNoHeadAreRefused) {
  const Array<double, 3> x = RandomHeads({2, 1, 4}, 12);
  try {
    Encode(*MakeScheme("sinusoidal:model_dim=6"), {}, PositionList::Range(0, 1), Side::kKey,
           x.view());
    FAIL() << "a row of 6 was added to heads of 4";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "sinusoidal: model_dim must be head_dim 4 or heads * head_dim 8, got 6");
  }
}

TEST(EncodeTest, AdditiveRowsAreZeroWithoutTheHook) {
  const Array<double, 3> rows =
      AdditiveRows(*MakeScheme("alibi:heads=2"), {}, PositionList::Range(0, 3), 2, 4);
  EXPECT_EQ(rows.shape(), (Shape<3>{2, 3, 4}));
  EXPECT_EQ(rows.values(), std::vector<double>(24));
}

// <J u, v> = <u, J^T v> for the encoding of x: linear, so any u will do.
TEST(EncodeTest, TheMapBackIsTheTranspose) {
  for (const char* spec : {"rope:rotated_dims=6", "rope:rotated_dims=8,pairing=adjacent",
                           "rope:rotated_dims=8+learned:model_dim=8,positions=40"}) {
    const SchemePtr scheme = MakeScheme(spec);
    const std::vector<std::vector<double>> weights = ZeroWeights(*scheme);
    const PositionList at = PositionList::Range(30, 5);
    const Array<double, 3> u = RandomHeads({2, 5, 8}, 13), v = RandomHeads({2, 5, 8}, 14);
    std::vector<std::vector<double>> gradients = ZeroWeights(*scheme);
    const Array<double, 3> forward = Encode(*scheme, weights, at, Side::kQuery, u.view());
    const Array<double, 3> back =
        EncodeBackward(*scheme, weights, at, Side::kQuery, u.view(), v.view(), gradients);
    EXPECT_NEAR(Dot(forward.values(), v.values()), Dot(u.values(), back.values()), 1e-12) << spec;
  }
}

}  // namespace
}  // namespace sextant
