// Cached keys turned again: shifts add up, and each equals keys encoded afresh.
#include "sextant/attention/rerotate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sextant/attention/encode.h"
#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

constexpr Index kHeads = 2, kKeys = 5, kHeadDim = 12;

Array<double, 3> RandomKeys() {
  Random random(3);
  Array<double, 3> keys({kHeads, kKeys, kHeadDim});
  for (double& value : keys.values()) value = random.Normal();
  return keys;
}

PositionList At(std::int64_t first, std::int64_t length) {
  std::vector<std::int64_t> positions;
  for (Index n = 0; n < kKeys; ++n) positions.push_back(first + 3 * n);
  return PositionList(positions, length);
}

void ExpectClose(const Array<double, 3>& got, const Array<double, 3>& expected, double tolerance) {
  for (std::size_t n = 0; n < got.values().size(); ++n) {
    EXPECT_NEAR(got.values()[n], expected.values()[n], tolerance) << n;
  }
}

// Encoded by one, turned again, against encoded by the other.
void ExpectRecomputed(const std::string& from, const PositionList& at_from, const std::string& to,
                      const PositionList& at_to, double tolerance = 1e-12) {
  const SchemePtr old = MakeScheme(from), now = MakeScheme(to);
  const Array<double, 3> raw = RandomKeys();
  Array<double, 3> keys = Encode(*old, {}, at_from, Side::kKey, raw.view());
  Rerotate({*old, {}, at_from}, {*now, {}, at_to}, keys);
  ExpectClose(keys, Encode(*now, {}, at_to, Side::kKey, raw.view()), tolerance);
}

TEST(RerotateTest, TwoShiftsAreOneAndTakeKeysToTheirNewPositions) {
  for (const char* spec : {"rope:rotated_dims=12", "rope:rotated_dims=8,pairing=adjacent",
                           "rope:rotated_dims=6,first_channel=4,pairing=adjacent_to_halves",
                           "rope:rotated_dims=12,frequencies=yarn,factor=4,original_length=64"}) {
    const SchemePtr scheme = MakeScheme(spec);
    const PositionList start = At(100, 0), middle = At(93, 0), end = At(33, 0);
    const Array<double, 3> raw = RandomKeys();
    Array<double, 3> twice = Encode(*scheme, {}, start, Side::kKey, raw.view()), once = twice;
    Rerotate({*scheme, {}, start}, {*scheme, {}, middle}, twice);
    Rerotate({*scheme, {}, middle}, {*scheme, {}, end}, twice);
    Rerotate({*scheme, {}, start}, {*scheme, {}, end}, once);
    ExpectClose(twice, once, 1e-13);
    ExpectClose(once, Encode(*scheme, {}, end, Side::kKey, raw.view()), 1e-13);
  }
}

TEST(RerotateTest, DynamicNtkKeysFollowTheGrownBase) {
  const std::string spec = "rope:rotated_dims=12,frequencies=dynamic,factor=2,original_length=4096";
  ExpectRecomputed(spec, At(4080, 4096), spec, At(4080, 8192));
  // What an engine that turns nothing keeps is far from that.
  const SchemePtr scheme = MakeScheme(spec);
  const Array<double, 3> raw = RandomKeys();
  const Array<double, 3> kept = Encode(*scheme, {}, At(4080, 4096), Side::kKey, raw.view());
  const Array<double, 3> right = Encode(*scheme, {}, At(4080, 8192), Side::kKey, raw.view());
  double largest = 0;
  for (std::size_t n = 0; n < kept.values().size(); ++n) {
    largest = std::max(largest, std::abs(kept.values()[n] - right.values()[n]));
  }
  EXPECT_GT(largest, 0.5);
}

TEST(RerotateTest, LongRopeCrossingItsOriginalLengthEqualsARecompute) {
  const std::string spec =
      "rope:rotated_dims=12,frequencies=longrope,factor=32,original_length=4096,short_factors=[1,1,"
      "1.1,1.2,1.5,2],long_factors=[1.1,1.5,4,12,30,60],short_mscale=1.1,long_mscale=1.3";
  ExpectRecomputed(spec, At(4000, 4096), spec, At(4000, 4097));
  ExpectRecomputed(spec, At(4000, 4097), spec, At(4000, 4096));
  ExpectRecomputed(spec, At(0, 4096), spec, At(0, 4096));
}

TEST(RerotateTest, TheMagnitudeOfTheOtherRuleComesWithIt) {
  const std::string linear = "rope:rotated_dims=12,frequencies=linear,factor=4";
  const std::string yarn = "rope:rotated_dims=12,frequencies=yarn,factor=4,original_length=4096";
  ExpectRecomputed(linear, At(500, 0), yarn, At(500, 0));
  ExpectRecomputed(yarn, At(500, 0), linear, At(500, 0));
  const SchemePtr from = MakeScheme(linear), to = MakeScheme(yarn);
  Array<double, 3> keys = RandomKeys();
  const Array<double, 3> before = keys;
  Rerotate({*from, {}, At(9, 0)}, {*to, {}, At(9, 0)}, keys);
  double norm = 0, norm_before = 0;
  for (Index c = 0; c < kHeadDim; ++c) {
    norm += keys(1, 2, c) * keys(1, 2, c);
    norm_before += before(1, 2, c) * before(1, 2, c);
  }
  EXPECT_NEAR(std::sqrt(norm / norm_before), 0.1 * std::log(4.0) + 1, 1e-14);
}

TEST(RerotateTest, AdjacentToHalvesIsReadWhereItWasWritten) {
  const std::string spec = "rope:rotated_dims=8,first_channel=2,pairing=adjacent_to_halves,base=";
  ExpectRecomputed(spec + "10000", At(70, 0), spec + "500000", At(1000, 0));
}

TEST(RerotateTest, XPosKeysShiftFarFromTheCentre) {
  ExpectRecomputed("xpos:rotated_dims=12", At(600, 0), "xpos:rotated_dims=12", At(100, 0), 1e-11);
  const SchemePtr xpos = MakeScheme("xpos:rotated_dims=12");
  const Array<double, 3> raw = RandomKeys();
  Array<double, 3> keys = Encode(*xpos, {}, At(240000, 0), Side::kKey, raw.view());
  Rerotate({*xpos, {}, At(240000, 0)}, {*xpos, {}, At(0, 0)}, keys);
  ExpectClose(keys, Encode(*xpos, {}, At(0, 0), Side::kKey, raw.view()), 1e-9);
}

TEST(RerotateTest, TrainedFrequenciesAreThoseOfTheirWeights) {
  const SchemePtr scheme = MakeScheme("rope:rotated_dims=4,frequencies=trainable");
  const std::vector<std::vector<double>> old = {{1, 0.1}}, now = {{0.9, 0.2}};
  const Array<double, 3> raw = RandomKeys();
  Array<double, 3> keys = Encode(*scheme, old, At(5, 0), Side::kKey, raw.view());
  Rerotate({*scheme, old, At(5, 0)}, {*scheme, now, At(5, 0)}, keys);
  ExpectClose(keys, Encode(*scheme, now, At(5, 0), Side::kKey, raw.view()), 1e-13);
}

std::string Refusal(const std::string& from, const std::string& to, std::int64_t at = 3) {
  const SchemePtr old = MakeScheme(from), now = MakeScheme(to);
  Array<double, 3> keys = RandomKeys();
  const std::vector<double> before = keys.values();
  try {
    Rerotate({*old, {}, At(at, 0)}, {*now, {}, At(at, 0)}, keys);
  } catch (const Error& error) {
    EXPECT_EQ(keys.values(), before) << "keys were written before the error";
    return error.what();
  }
  return "accepted";
}

TEST(RerotateTest, OtherChannelsOrPairsAreRefused) {
  EXPECT_EQ(Refusal("rope:rotated_dims=8", "rope:rotated_dims=12"),
            "rerotate: both schemes must turn the same channels in the same pairs, got halves of 8 "
            "channels from 0 and halves of 12 channels from 0");
  EXPECT_NE(Refusal("rope:rotated_dims=8", "rope:rotated_dims=8,pairing=adjacent").find("adjacent"),
            std::string::npos);
  EXPECT_NE(Refusal("rope:rotated_dims=8", "rope:rotated_dims=8,first_channel=2").find("from 2"),
            std::string::npos);
  EXPECT_EQ(Refusal("rope:rotated_dims=8", "alibi").find("rerotate: alibi has no rotary table"),
            0u);
  EXPECT_NE(Refusal("rope:rotated_dims=16", "rope:rotated_dims=16").find("at most head_dim 12"),
            std::string::npos);
}

TEST(RerotateTest, APositionForEachKeyIsAskedFor) {
  const SchemePtr scheme = MakeScheme("rope:rotated_dims=8");
  Array<double, 3> keys = RandomKeys();
  EXPECT_THROW(Rerotate({*scheme, {}, At(0, 0)}, {*scheme, {}, PositionList::Range(0, 4)}, keys),
               Error);
}

// A rotary scheme whose keys are lost at odd positions.
class Lossy final : public Scheme {
 public:
  const SchemeInfo& info() const override { return rope_->info(); }
  Claims claims() const override { return {}; }
  std::vector<Parameter> parameters() const override { return {}; }
  bool offers(Hook hook) const override { return hook == Hook::kRotary; }
  RotaryShape rotary_shape() const override { return rope_->rotary_shape(); }
  void FillRotary(Weights weights, const Positions& at, Side side, View<double, 2> cos,
                  View<double, 2> sin) const override {
    rope_->FillRotary(weights, at, side, cos, sin);
    for (Index n = 0; n < at.count(); ++n) {
      if (at.values(0, n) % 2 != 0) cos(n, 1) = sin(n, 1) = 0;
    }
  }

 private:
  SchemePtr rope_ = MakeScheme("rope:rotated_dims=8");
};

TEST(RerotateTest, AMagnitudeOfZeroLostTheKey) {
  const Lossy lossy;
  Array<double, 3> keys = RandomKeys();
  const std::vector<double> before = keys.values();
  try {
    Rerotate({lossy, {}, At(4, 0)}, {*MakeScheme("rope:rotated_dims=8"), {}, At(4, 0)}, keys);
    FAIL() << "a magnitude of 0 was divided by";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "rerotate: pair 1 at position 7 has a magnitude of 0 under rope, so what the key "
                 "was is lost");
  }
  EXPECT_EQ(keys.values(), before);
}

}  // namespace
}  // namespace sextant
