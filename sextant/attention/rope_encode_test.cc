// RoPE on vectors: published results, permutations of pairs, windows, and the way back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sextant/attention/encode.h"
#include "sextant/core/error.h"
#include "sextant/schemes/rotary/test_tables.h"

namespace sextant {
namespace {

using namespace rotary_test;

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
TEST(RopeEncodeTest, TurnedVectorsOfEachPairing) {
  ExpectVector(Turned(""),
               {-1.695593, 0.137552, 2.788682, 3.975982, -4.808842, 6.323059, 7.086837, 8.011964});
  ExpectVector(Turned(",pairing=adjacent"),
               {-1.272233, -1.838865, 1.683929, 4.707907, 4.817777, 6.147278, 6.975969, 8.020964});
  ExpectVector(Turned(",pairing=adjacent_to_halves"),
               {-1.272233, 1.683929, 4.817777, 6.975969, -1.838865, 4.707907, 6.147278, 8.020964});
}

TEST(RopeEncodeTest, TurnedTheWrongWayOrWithMixedPairsIsAnotherVector) {
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
TEST(RopeEncodeTest, PairingsAreOnePermutationApart) {
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

TEST(RopeEncodeTest, AWindowTurnsAndTheRestIsBitForBitTheSame) {
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
TEST(RopeEncodeTest, BackwardIsTheRotationTurnedBackTimesTheMagnitude) {
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

TEST(RopeEncodeTest, AWindowPastTheHeadIsRefusedWhereTheHeadIsKnown) {
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

}  // namespace
}  // namespace sextant
