// RoPE's tables: frequencies, the linear rule, and the error against a longer format to 2^20.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sextant/attention/encode.h"
#include "sextant/core/error.h"
#include "sextant/core/half.h"
#include "sextant/schemes/rotary/test_tables.h"

namespace sextant {
namespace {

using namespace rotary_test;

TEST(RopeTest, AnglesArePositionTimesFrequency) {
  const Table table = Fill("rope:rotated_dims=8", PositionList::Range(3, 1));
  const double frequency[] = {1, 0.1, 0.01, 0.001};  // 10000^(-2i/8)
  for (Index i = 0; i < 4; ++i) {
    EXPECT_NEAR(table.cos(0, i), std::cos(3 * frequency[i]), 1e-15);
    EXPECT_NEAR(table.sin(0, i), std::sin(3 * frequency[i]), 1e-15);
  }
}

TEST(RopeTest, TheBaseIsTheRatioOfWavelengths) {
  // base^(-2i/d) for base 5e5 and d = 128 at i = 32 and 63.
  const Table table = Fill("rope:rotated_dims=128,base=500000", PositionList::Range(1, 1));
  EXPECT_NEAR(std::atan2(table.sin(0, 32), table.cos(0, 32)), std::sqrt(1 / 500000.0), 1e-15);
  EXPECT_NEAR(std::atan2(table.sin(0, 63), table.cos(0, 63)),
              std::exp(-std::log(500000.0) * 63 / 64), 1e-15);
}

TEST(RopeTest, TheLinearRuleDividesPositions) {
  const std::vector<std::int64_t> far = {0, 4, 40, 400}, near = {0, 1, 10, 100};
  const Table linear = Fill("rope:rotated_dims=32,rule=linear,factor=4", PositionList(far));
  const Table plain = Fill("rope:rotated_dims=32", PositionList(near));
  for (std::size_t i = 0; i < linear.cos.values().size(); ++i) {
    EXPECT_NEAR(linear.cos.values()[i], plain.cos.values()[i], 1e-13);
    EXPECT_NEAR(linear.sin.values()[i], plain.sin.values()[i], 1e-13);
  }
}

TEST(RopeTest, QueriesAndKeysTurnAlikeAndNegativePositionsTurnBack) {
  const std::vector<std::int64_t> at = {-7, 0, 7};
  const Table query = Fill("rope:rotated_dims=16", PositionList(at), Side::kQuery);
  const Table key = Fill("rope:rotated_dims=16", PositionList(at), Side::kKey);
  EXPECT_EQ(query.cos.values(), key.cos.values());
  EXPECT_EQ(query.sin.values(), key.sin.values());
  for (Index i = 0; i < 8; ++i) {
    EXPECT_EQ(query.cos(0, i), query.cos(2, i));
    EXPECT_EQ(query.sin(0, i), -query.sin(2, i));
    EXPECT_EQ(query.cos(1, i), 1);
    EXPECT_EQ(query.sin(1, i), 0);
  }
}

TEST(RopeTest, ShapeFollowsTheSettings) {
  const RotaryShape shape = MakeScheme("rope:rotated_dims=10,pairing=adjacent")->rotary_shape();
  EXPECT_EQ(shape.rotated_dims, 10);
  EXPECT_EQ(shape.pairing, Pairing::kAdjacent);
  EXPECT_EQ(MakeScheme("rope", {{"head_dim", 40}})->rotary_shape().rotated_dims, 40);
  EXPECT_EQ(MakeScheme("rope")->rotary_shape().pairing, Pairing::kHalves);
}

// Where float32 tables go wrong: position 131071 and a million, for the bases in use.
TEST(RopeTest, ErrorToTwoToTheTwenty) {
  for (const long double base : {1e4L, 5e5L, 1e6L}) {
    double worst[3] = {};
    const std::int64_t at[] = {131071, 999999, 1 << 20};
    for (int n = 0; n < 3; ++n) {
      const Table table =
          Fill("rope:rotated_dims=128,base=" + ToText(double(base)), PositionList::Range(at[n], 1));
      for (int i = 0; i < 64; ++i) {
        const long double angle = static_cast<long double>(at[n]) *
                                  std::pow(base, -2.0L * static_cast<long double>(i) / 128);
        worst[n] = std::max({worst[n], double(std::abs(table.cos(0, i) - std::cos(angle))),
                             double(std::abs(table.sin(0, i) - std::sin(angle)))});
      }
    }
    std::printf("rope, base %.0Lf: largest error %.2e at 131071, %.2e at 999999, %.2e at 2^20\n",
                base, worst[0], worst[1], worst[2]);
    EXPECT_LT(worst[0], 3e-11);
    EXPECT_LT(worst[1], 2.4e-10);
    EXPECT_LT(worst[2], 2.4e-10);
  }
}

// What a table is off by once it is stored as float32, at the far end of every rule's family.
TEST(RopeTest, RoundedToFloat32TheTableIsTheNearestToTwoToTheTwenty) {
  double worst = 0;
  for (const char* rule : {"", ",frequencies=linear,factor=4", ",base=1e6"}) {
    const std::string spec = std::string("rope:rotated_dims=128") + rule;
    const std::vector<double> inv_freq = InvFreq(spec);
    for (std::int64_t position : {1, 8191, 131071, 500000, 999999, 1 << 20}) {
      const Table table = Fill(spec, PositionList::Range(position, 1));
      for (Index i = 0; i < 64; ++i) {
        const long double base = std::string(rule) == ",base=1e6" ? 1e6L : 1e4L;
        const long double divisor = std::string(rule).starts_with(",freq") ? 4 : 1;
        const long double angle = static_cast<long double>(position) *
                                  std::pow(base, -2.0L * static_cast<long double>(i) / 128) /
                                  divisor;
        worst = std::max({worst, double(std::abs(RoundToF32(table.cos(0, i)) - std::cos(angle))),
                          double(std::abs(RoundToF32(table.sin(0, i)) - std::sin(angle)))});
      }
    }
  }
  std::printf("rope: largest error as float32 to 2^20: %.2e\n", worst);
  EXPECT_LE(worst, 3.1e-8);
}

// cos(8191) is -.646390; with 8191 rounded to bfloat16 it would be cos(8192) = .292802.
TEST(RopeTest, NeighbouringPositionsPast256AreApart) {
  const std::vector<std::int64_t> at = {8190, 8191, 8192, 15962};
  const Table table = Fill("rope:rotated_dims=128", PositionList(at));
  EXPECT_NEAR(table.cos(1, 0), -.646390, 5e-7);
  EXPECT_NEAR(table.cos(2, 0), .292802, 5e-7);
  EXPECT_NE(table.cos(0, 0), table.cos(1, 0));
  EXPECT_EQ(RoundToBf16(8191), 8192);  // what the bug did
  EXPECT_EQ(RoundToBf16(15962), 15936);
  EXPECT_NEAR(table.cos(3, 0), -.908016, 5e-7);
}

// A frequency as bfloat16 is off by 5 rad at position 4095; a finished table by 2^-9.
TEST(RopeTest, BFloat16OfTheTableIsHarmlessAndOfTheFrequenciesIsNot) {
  const std::vector<double> inv_freq = InvFreq("rope:rotated_dims=128");
  int far = 0;
  double largest_table = 0;
  const Table table = Fill("rope:rotated_dims=128", PositionList::Range(4095, 1));
  for (std::size_t i = 0; i < 64; ++i) {
    far += std::abs(4095 * (RoundToBf16(inv_freq[i]) - inv_freq[i])) > 0.1;
    const double cos = table.cos(0, Index(i));
    largest_table = std::max(largest_table, std::abs(RoundToBf16(cos) - cos));
  }
  EXPECT_NEAR(RoundToBf16(inv_freq[1]), .867188, 5e-7);
  EXPECT_NEAR(4095 * (RoundToBf16(inv_freq[1]) - inv_freq[1]), 5.01, 5e-3);
  EXPECT_EQ(far, 28);
  EXPECT_LE(largest_table, std::ldexp(1, -9));
}

TEST(RopeTest, SineAndCosineOfLargeAnglesAreRight) {
  const std::vector<std::int64_t> at = {131071, 500000};
  const Table table = Fill("rope:rotated_dims=2", PositionList(at));
  EXPECT_NEAR(table.cos(0, 0), -.817983, 5e-7);
  EXPECT_NEAR(table.sin(0, 0), -.575242, 5e-7);
  EXPECT_NEAR(table.cos(1, 0), -.984061, 5e-7);
  EXPECT_NEAR(table.sin(1, 0), .177831, 5e-7);
}

// Two float32 formulas for one frequency, off by 1.0e-7 and 4.9e-7; in double and rounded once
// there is one answer.
TEST(RopeTest, FrequenciesRoundedOnceAreTheNearestFloat32) {
  const std::vector<double> inv_freq = InvFreq("rope:rotated_dims=128");
  double worst_exponential = 0;
  for (int i = 0; i < 64; ++i) {
    const long double right = std::pow(1e4L, -2.0L * static_cast<long double>(i) / 128);
    EXPECT_EQ(RoundToF32(inv_freq[std::size_t(i)]), double(float(right))) << i;
    const float exponential = std::exp(-std::log(1e4f) * float(2 * i) / 128);
    worst_exponential =
        std::max(worst_exponential, std::abs(double(exponential) / double(right) - 1));
  }
  EXPECT_GT(worst_exponential, 2e-7);
}

// A stored table ends; this one does not: positions at and past any length, and before 0.
TEST(RopeTest, NoPositionIsPastTheEndOfATable) {
  for (const std::int64_t length : {1, 4096, 40960}) {
    const std::vector<std::int64_t> at = {4095, 4096, 4097, -1, -4096};
    const Table table = Fill("rope:rotated_dims=8", PositionList(at, length));
    for (std::size_t n = 0; n < at.size(); ++n) {
      EXPECT_EQ(table.cos(Index(n), 0), std::cos(double(at[n])));
      EXPECT_EQ(table.sin(Index(n), 0), std::sin(double(at[n])));
    }
  }
}

// Seven tokens, then the eighth alone: its row is the eighth row, whatever the cache holds.
TEST(RopeTest, APositionIsWhatIsGivenNotARunningOffset) {
  for (const char* spec : {"rope:rotated_dims=16", "rope:rotated_dims=16,numerics=as_trained",
                           "rope:rotated_dims=16,frequencies=yarn,factor=4,original_length=64"}) {
    const Table whole = Fill(spec, PositionList::Range(0, 8));
    const Table prefill = Fill(spec, PositionList::Range(0, 7));
    const Table step = Fill(spec, PositionList::Range(7, 1));
    for (Index i = 0; i < 8; ++i) {
      for (Index n = 0; n < 7; ++n) EXPECT_EQ(prefill.cos(n, i), whole.cos(n, i));
      EXPECT_EQ(step.cos(0, i), whole.cos(7, i));
      EXPECT_EQ(step.sin(0, i), whole.sin(7, i));
    }
  }
}

std::vector<double> Turned(const std::string& settings) {
  Array<double, 3> x({1, 1, 8});
  for (int c = 0; c < 8; ++c) x(0, 0, c) = c + 1;
  return Encode(*MakeScheme("rope:rotated_dims=8" + settings), {}, PositionList::Range(3, 1),
                Side::kQuery, x.view())
      .values();
}

void ExpectVector(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t c = 0; c < got.size(); ++c) EXPECT_NEAR(got[c], expected[c], 5e-7) << c;
}

double Apart(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t c = 0; c < a.size(); ++c) largest = std::max(largest, std::abs(a[c] - b[c]));
  return largest;
}

// x = 1 .. 8 at position 3.
TEST(RopeTest, TurnedVectorsOfEachPairing) {
  ExpectVector(Turned(""),
               {-1.695593, 0.137552, 2.788682, 3.975982, -4.808842, 6.323059, 7.086837, 8.011964});
  ExpectVector(Turned(",pairing=adjacent"),
               {-1.272233, -1.838865, 1.683929, 4.707907, 4.817777, 6.147278, 6.975969, 8.020964});
  ExpectVector(Turned(",pairing=adjacent_to_halves"),
               {-1.272233, 1.683929, 4.817777, 6.975969, -1.838865, 4.707907, 6.147278, 8.020964});
}

TEST(RopeTest, TurnedTheWrongWayOrWithMixedPairsIsAnotherVector) {
  const std::vector<double> other_way = {-0.284392, 3.683794, 3.208619, 4.023982,
                                         -5.091082, 5.140979, 6.906864, 7.987964};
  const std::vector<double> mixed = {-1.695593, -2.826705, 0.797368, 1.457184,
                                     5.027746,  6.057291,  7.008968, 8.011964};
  double norm = 0;
  for (double x : mixed) norm += x * x;
  EXPECT_NEAR(std::sqrt(norm), 13.7445, 5e-5);  // no rotation: it was 14.2829
  for (const char* pairing : {"", ",pairing=adjacent", ",pairing=adjacent_to_halves"}) {
    const std::vector<double> turned = Turned(pairing);
    EXPECT_GT(Apart(turned, other_way), 0.5);
    EXPECT_GT(Apart(turned, mixed), 0.5);
    norm = 0;
    for (double x : turned) norm += x * x;
    EXPECT_NEAR(std::sqrt(norm), std::sqrt(204.0), 1e-12);
  }
}

// half(P x) = P interleaved(x), P = [0,2,4,6,1,3,5,7].
TEST(RopeTest, PairingsAreOnePermutationApart) {
  Random random(5);
  Array<double, 3> x({1, 4, 8}), permuted({1, 4, 8});
  const int from[] = {0, 2, 4, 6, 1, 3, 5, 7};
  for (Index n = 0; n < 4; ++n) {
    for (int c = 0; c < 8; ++c) x(0, n, c) = random.Normal();
    for (int c = 0; c < 8; ++c) permuted(0, n, c) = x(0, n, from[c]);
  }
  const PositionList at = PositionList::Range(40, 4);
  const auto encode = [&](const char* pairing, const Array<double, 3>& vectors) {
    return Encode(*MakeScheme(std::string("rope:rotated_dims=8,pairing=") + pairing), {}, at,
                  Side::kQuery, vectors.view());
  };
  const Array<double, 3> halves = encode("halves", permuted);
  const Array<double, 3> adjacent = encode("adjacent", x);
  const Array<double, 3> between = encode("adjacent_to_halves", x);
  EXPECT_EQ(halves.values(), between.values());
  for (Index n = 0; n < 4; ++n) {
    for (int c = 0; c < 8; ++c) EXPECT_EQ(halves(0, n, c), adjacent(0, n, from[c]));
  }
}

TEST(RopeTest, AWindowTurnsAndTheRestIsBitForBitTheSame) {
  Random random(6);
  Array<double, 3> x({2, 3, 12});
  for (double& value : x.values()) value = random.Normal();
  const PositionList at = PositionList::Range(7, 3);
  const Array<double, 3> y =
      Encode(*MakeScheme("rope:rotated_dims=4,first_channel=6"), {}, at, Side::kKey, x.view());
  for (Index h = 0; h < 2; ++h) {
    for (Index n = 0; n < 3; ++n) {
      for (Index c = 0; c < 12; ++c) {
        if (c < 6 || c >= 10) {
          EXPECT_EQ(y(h, n, c), x(h, n, c));
        }
      }
      const double p = double(7 + n), x0 = x(h, n, 7), x1 = x(h, n, 9);
      EXPECT_NEAR(y(h, n, 7), x0 * std::cos(p / 100) - x1 * std::sin(p / 100), 1e-15);
      EXPECT_NEAR(y(h, n, 9), x0 * std::sin(p / 100) + x1 * std::cos(p / 100), 1e-15);
    }
  }
}

// The backward pass of a fused rotation that is forgotten, turns the same way again, or misses the
// magnitude: here by differences, for every pairing, a window, and a magnitude of 1.1386.
TEST(RopeTest, BackwardIsTheRotationTurnedBackTimesTheMagnitude) {
  const std::string yarn = ",frequencies=yarn,factor=4,original_length=64";
  Random random(7);
  const std::string all[] = {"", ",pairing=adjacent", ",pairing=adjacent_to_halves",
                             ",first_channel=2" + yarn, ",pairing=adjacent_to_halves" + yarn};
  for (const std::string& settings : all) {
    const SchemePtr scheme = MakeScheme("rope:rotated_dims=6" + settings);
    const PositionList at = PositionList::Range(11, 2);
    Array<double, 3> x({1, 2, 8}), d_y({1, 2, 8});
    for (double& value : x.values()) value = random.Normal();
    for (double& value : d_y.values()) value = random.Normal();
    const std::vector<double> x_before = x.values(), d_before = d_y.values();
    std::vector<std::vector<double>> none;
    const Array<double, 3> d_x =
        EncodeBackward(*scheme, {}, at, Side::kQuery, x.view(), d_y.view(), none);
    EXPECT_EQ(x.values(), x_before) << "the input was written";
    EXPECT_EQ(d_y.values(), d_before);
    const auto loss = [&] {
      const Array<double, 3> y = Encode(*scheme, {}, at, Side::kQuery, x.view());
      double sum = 0;
      for (std::size_t n = 0; n < 16; ++n) sum += y.values()[n] * d_y.values()[n];
      return sum;
    };
    for (std::size_t n = 0; n < 16; ++n) {
      double& coordinate = x.values()[n];
      coordinate += 0.5;
      const double above = loss();
      coordinate -= 1;
      const double below = loss();
      coordinate = x_before[n];
      EXPECT_NEAR(d_x.values()[n], above - below, 1e-13) << settings << " " << n;
    }
    // Forward then backward: the square of the magnitude on what turned.
    const Array<double, 3> y = Encode(*scheme, {}, at, Side::kQuery, x.view());
    const Array<double, 3> back =
        EncodeBackward(*scheme, {}, at, Side::kQuery, x.view(), y.view(), none);
    const double magnitude = settings.find("yarn") == std::string::npos ? 1 : 1.1386294361119891;
    const Index first = scheme->rotary_shape().first;
    for (Index n = 0; n < 2; ++n) {
      for (Index c = 0; c < 8; ++c) {
        const bool turned = c >= first && c < first + 6;
        EXPECT_NEAR(back(0, n, c), x(0, n, c) * (turned ? magnitude * magnitude : 1), 1e-13);
      }
    }
  }
}

TEST(RopeTest, FiguresNameWhatOthersPrint) {
  const std::vector<Figure> plain = MakeScheme("rope:rotated_dims=8")->Figures(10);
  ASSERT_EQ(plain.size(), 4u);
  const char* names[] = {"inv_freq", "attention_factor", "softmax_multiplier", "base"};
  for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(plain[n].name, names[n]);
  EXPECT_EQ(plain[0].values.size(), 4u);
  EXPECT_EQ(plain[1].values, std::vector<double>{1});
  EXPECT_EQ(MakeScheme("rope:frequencies=yarn,original_length=99")->Figures(10).size(), 7u);
}

TEST(RopeTest, DecaysOnlyWhereItDoes) {
  EXPECT_TRUE(MakeScheme("rope")->claims().decays);
  EXPECT_FALSE(MakeScheme("rope:rotated_dims=2")->claims().decays);  // one pair goes round
  EXPECT_FALSE(MakeScheme("rope:frequencies=proportional,fraction=0.05")->claims().decays);
  EXPECT_FALSE(MakeScheme("rope:rotated_dims=4,frequencies=given,inv_freq=[0,0]")->claims().decays);
}

TEST(RopeTest, AWindowPastTheHeadIsRefusedWhereTheHeadIsKnown) {
  const Array<double, 3> x({1, 1, 8});
  try {
    Encode(*MakeScheme("rope:rotated_dims=6,first_channel=4"), {}, PositionList::Range(0, 1),
           Side::kQuery, x.view());
    FAIL() << "a window past the head was accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "rope: the 6 rotated channels from 4 on pass the head's 8; the last window starts "
                 "at channel 2");
  }
  EXPECT_EQ(Refusal("rope:first_channel=5000"),
            "rope: first_channel must be a whole number from 0 to 4094, got 5000");
  EXPECT_EQ(Refusal("rope:rotated_dims=0"),
            "rope: rotated_dims must be a whole number from 2 to 4096, got 0");
  EXPECT_NE(Refusal("rope:numerics=float32").find("numerics must be one of exact, as_trained"),
            std::string::npos);
}

TEST(RopeTest, OddWidthIsRefusedWithTwoWaysOut) {
  try {
    MakeScheme("rope:rotated_dims=63");
    FAIL() << "an odd width was accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "rope: rotated_dims must be even because channels turn in pairs, got 63; use a "
                 "head_dim of 64, or set rotated_dims=62 to leave the last channel still");
  }
}

}  // namespace
}  // namespace sextant
