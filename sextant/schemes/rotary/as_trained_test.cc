// Tables by the float32 steps of released code, against PyTorch 2.13 running those steps.
#include <cmath>
#include <cstdio>

#include "sextant/core/half.h"
#include "sextant/schemes/rotary/test_tables.h"

namespace sextant {
namespace {

using namespace rotary_test;

const std::vector<std::size_t> kPairs = {0, 1, 5, 7, 9, 12, 16, 18, 20, 23, 28, 31};

struct Expected {
  const char* spec;  // of 64 rotated channels, at length 5000
  std::vector<double> inv_freq;
};

// PyTorch's numbers, bit for bit.
const Expected kInvFreq[] = {
    {"base=500000",
     {0x1p+0, 0x1.53c38cp-1, 0x1.078d4p-3, 0x1.d03ccep-5, 0x1.98de92p-6, 0x1.ddee9ep-8,
      0x1.72ba42p-10, 0x1.46831ap-11, 0x1.1f91fp-12, 0x1.5024d6p-14, 0x1.5a0f4ep-17,
      0x1.94836p-19}},
    {"base=500000,frequencies=linear,factor=3.7",
     {0x1.14c1bap-2, 0x1.6f4ffp-3, 0x1.1cebbap-5, 0x1.f5e0dep-7, 0x1.ba056p-8, 0x1.025778p-9,
      0x1.90c95cp-12, 0x1.60fc6ep-13, 0x1.36e2f6p-14, 0x1.6b6618p-16, 0x1.761e62p-19,
      0x1.b54fc2p-21}},
    {"frequencies=ntk,alpha=8",
     {0x1p+0, 0x1.670938p-1, 0x1.5b45bcp-3, 0x1.558932p-4, 0x1.4fe4ecp-5, 0x1.cf4e02p-7,
      0x1.c01ff2p-9, 0x1.b8b8eep-10, 0x1.b17136p-11, 0x1.2aed5cp-12, 0x1.958128p-15,
      0x1.17a8e4p-16}},
    {"frequencies=ntk_fixed,factor=8",
     {0x1.dfc972p-1, 0x1.51272p-1, 0x1.48da2p-3, 0x1.44c754p-4, 0x1.40c172p-5, 0x1.bd36fep-7,
      0x1.b240e8p-9, 0x1.acdfep-10, 0x1.a78fe6p-11, 0x1.25f4bep-12, 0x1.92f662p-15,
      0x1.17a8e2p-16}},
    {"frequencies=ntk_mixed,factor=8",
     {0x1.936a6cp-1, 0x1.09d7b8p-1, 0x1.d3e38ap-4, 0x1.c7b572p-5, 0x1.c1aafp-6, 0x1.3d0ea8p-7,
      0x1.431566p-9, 0x1.48850cp-10, 0x1.4f5b2ap-11, 0x1.ec3754p-13, 0x1.7764fap-15,
      0x1.17a8e4p-16}},
    {"frequencies=dynamic,factor=2,original_length=2048",
     {0x1p+0, 0x1.6f81b6p-1, 0x1.863796p-3, 0x1.9217e6p-4, 0x1.9e54bep-5, 0x1.3273dcp-6,
      0x1.4563dep-8, 0x1.4f4b18p-9, 0x1.597f78p-10, 0x1.ff1534p-12, 0x1.8584a2p-14,
      0x1.2019a4p-15}},
    {"frequencies=dynamic_linear,original_length=2048",
     {0x1.a36e2ep-2, 0x1.3a8746p-2, 0x1.8dd9b8p-4, 0x1.bf749ep-5, 0x1.f73ed6p-6, 0x1.a86f0ap-7,
      0x1.0c6f7ap-8, 0x1.2de79ap-9, 0x1.538c08p-10, 0x1.1e5f1ep-11, 0x1.0fa33ap-13,
      0x1.ca31cap-15}},
    {"base=150000,frequencies=yarn,factor=32,original_length=4096,ramp_ends=exact",
     {0x1p+0, 0x1.60ca6ap-1, 0x1.3e19fap-3, 0x1.2e0ec8p-4, 0x1.03bbaap-5, 0x1.bd508p-8,
      0x1.dea878p-12, 0x1.415b8cp-15, 0x1.31265p-16, 0x1.8f5056p-18, 0x1.f02e5p-21,
      0x1.44a5a6p-22}},
    {"base=1e6,frequencies=yarn,factor=4,original_length=32768",
     {0x1p+0, 0x1.4c7bcp-1, 0x1.d8ffacp-4, 0x1.8eec7ep-5, 0x1.507316p-6, 0x1.51d31ep-8,
      0x1.31d5aep-11, 0x1.707be8p-13, 0x1.74eea6p-15, 0x1.987f7cp-17, 0x1.796182p-20,
      0x1.9d5ef2p-22}},
    {"frequencies=dynamic_yarn,original_length=2048",
     {0x1p+0, 0x1.7ff222p-1, 0x1.e5a846p-3, 0x1.111aeep-3, 0x1.2534fep-4, 0x1.a7fcc4p-6,
      0x1.a140a8p-8, 0x1.9253f4p-9, 0x1.7931f2p-10, 0x1.1e5f1cp-11, 0x1.0fa338p-13,
      0x1.ca31ccp-15}},
    {"frequencies=ntk_by_parts,factor=4,original_length=2048",
     {0x1p+0, 0x1.7ff222p-1, 0x1.e5a846p-3, 0x1.111aeep-3, 0x1.33281ap-4, 0x1.d0512ap-6,
      0x1.942a78p-8, 0x1.498dd8p-9, 0x1.270956p-10, 0x1.5d931cp-12, 0x1.4b96cp-14, 0x1.17a8e4p-15}},
    {"base=500000,frequencies=llama3,factor=32,original_length=8192",
     {0x1p+0, 0x1.53c38cp-1, 0x1.078d4p-3, 0x1.d03ccep-5, 0x1.98de92p-6, 0x1.ddee9ep-8,
      0x1.c26c4p-12, 0x1.46831ap-16, 0x1.1f91fp-17, 0x1.5024d6p-19, 0x1.5a0f4ep-22, 0x1.94836p-24}},
    {"base=1e6,frequencies=proportional,fraction=0.25,factor=1.7",
     {0x1.2d2d2cp-1, 0x1.87282cp-2, 0x1.163c0ap-4, 0x1.d55276p-6, 0x0p+0, 0x0p+0, 0x0p+0, 0x0p+0,
      0x0p+0, 0x0p+0, 0x0p+0, 0x0p+0}},
};

const Expected kLongRope = {
    "frequencies=longrope,original_length=4096",
    {0x1p+0, 0x1.18409ep-1, 0x1.54cfeap-4, 0x1.304ba4p-5, 0x1.1bbf5cp-6, 0x1.7cf622p-8,
     0x1.7ad22p-10, 0x1.80e4dep-11, 0x1.8abfa8p-12, 0x1.2611bp-13, 0x1.d306ccp-16, 0x1.66d35cp-17}};

struct Turned {
  std::int64_t position;
  std::vector<double> cos, sin;
};
// base 500000
const Turned kTurned[] = {
    {1,
     {0x1.14a282p-1, 0x1.9357c8p-1, 0x1.fbc43p-1, 0x1.ff2d98p-1, 0x1.ffd73p-1, 0x1.fffc84p-1,
      0x1.ffffdep-1, 0x1.fffffap-1, 0x1.fffffep-1, 0x1p+0, 0x1p+0, 0x1p+0},
     {0x1.aed548p-1, 0x1.3b5ed4p-1, 0x1.06d33p-3, 0x1.cffd34p-5, 0x1.98d3b4p-6, 0x1.dded88p-8,
      0x1.72ba3ap-10, 0x1.468318p-11, 0x1.1f91fp-12, 0x1.5024d6p-14, 0x1.5a0f4ep-17,
      0x1.94836p-19}},
    {4095,
     {-0x1.0e3cd8p-4, -0x1.ffc384p-1, 0x1.60041ep-1, 0x1.d4617cp-1, -0x1.72bd88p-4, 0x1.2c5eacp-6,
      0x1.c346bp-1, -0x1.a90f48p-1, 0x1.bb543ap-2, 0x1.e4ac88p-1, 0x1.ff8b2p-1, 0x1.fff604p-1},
     {-0x1.fee26cp-1, 0x1.f1aa3ap-6, -0x1.73ca8ap-1, -0x1.9d961cp-2, 0x1.fde5fcp-1, -0x1.ffe9f8p-1,
      -0x1.e3b5cap-2, 0x1.1d6d2ep-1, 0x1.cd876p-1, 0x1.4a0fc6p-2, 0x1.59df5ap-5, 0x1.946778p-7}},
    {131071,
     {-0x1.a2cebcp-1, 0x1.771c72p-1, -0x1.ffceeep-1, 0x1.0c90c4p-1, -0x1.b91ep-1, 0x1.5ffeecp-1,
      -0x1.fffb6p-1, 0x1.ff40e6p-1, -0x1.73598p-3, -0x1.e2f77ap-2, 0x1.bcf4ecp-3, 0x1.d89186p-1},
     {-0x1.268614p-1, 0x1.5c79e8p-1, 0x1.c043fcp-6, 0x1.b3e8aep-1, -0x1.03ec1ep-1, 0x1.73cf76p-1,
      -0x1.13387p-7, -0x1.ba333p-5, -0x1.f7834cp-1, -0x1.c379a2p-1, 0x1.f3c512p-1, 0x1.8a1246p-2}},
    {1048575,
     {0x1.937a46p-1, -0x1.7d7838p-2, 0x1.8bbe14p-1, -0x1.45b604p-1, -0x1.19d3cap-2, 0x1.ed7cc6p-1,
      0x1.fe7adp-1, 0x1.d1e3f6p-1, 0x1.d2339p-4, -0x1.696ad4p-1, -0x1.711a7ep-3, -0x1.ffe92cp-1},
     {-0x1.3b32b2p-1, -0x1.db2584p-1, 0x1.44db5p-1, 0x1.8b0a28p-1, -0x1.ec3a18p-1, 0x1.10de2p-2,
      0x1.3b6942p-4, -0x1.a8b03ep-2, -0x1.fcac3cp-1, 0x1.6aa8b2p-1, -0x1.f79db8p-1,
      -0x1.31c3d2p-6}},
};
// base 1e6, yarn with factor 4 over 32768: the magnitude is folded in.
const Turned kYarn = {
    70001,
    {0x1.2355d4p+0, 0x1.9ba736p-4, -0x1.18c6e4p+0, -0x1.1e1006p+0, 0x1.e50416p-3, -0x1.07704p+0,
     -0x1.237b8p+0, 0x1.192ec8p+0, -0x1.235c9ep+0, 0x1.7fc9fap-1, 0x1.22142ap+0, 0x1.23622p+0},
    {0x1.2f0702p-5, -0x1.2259fap+0, -0x1.392efap-2, -0x1.bfdd8p-3, -0x1.1d1d5p+0, 0x1.f30e72p-2,
     0x1.fa4c8ap-8, -0x1.334d82p-2, 0x1.13adb8p-5, 0x1.b6d3ep-1, 0x1.ca3b62p-4, 0x1.f6aeccp-6}};

std::string AsTrained(const std::string& settings) {
  return "rope:rotated_dims=64,numerics=as_trained," + settings;
}

double Steps(double value, double of) {
  if (value == of) return 0;
  const float near = float(of);
  return std::abs(value - of) / double(std::nextafter(std::abs(near), INFINITY) - std::abs(near));
}

// Frequencies differ from PyTorch's by steps of the last bit, for its power is another library's.
int CountDifferent(const std::vector<double>& inv_freq, const std::vector<double>& expected,
                   double allowed, const std::string& spec) {
  int different = 0;
  for (std::size_t n = 0; n < kPairs.size(); ++n) {
    const double value = inv_freq[kPairs[n]];
    EXPECT_EQ(value, RoundToF32(value)) << spec;
    EXPECT_LE(Steps(value, expected[n]), allowed) << spec << " pair " << kPairs[n];
    different += value != expected[n];
  }
  return different;
}

TEST(AsTrainedTest, FrequenciesAreTheFloat32StepsOfReleasedCode) {
  int different = 0, all = 0;
  for (const Expected& expected : kInvFreq) {
    different += CountDifferent(InvFreq(AsTrained(expected.spec), 5000), expected.inv_freq, 2,
                                expected.spec);
    all += int(kPairs.size());
  }
  std::vector<double> factors;
  for (int i = 0; i < 32; ++i) factors.push_back(1 + 0.37 * i);
  different +=
      CountDifferent(InvFreq(AsTrained(kLongRope.spec) + ",long_factors=" + ToText(factors), 5000),
                     kLongRope.inv_freq, 2, kLongRope.spec);
  std::printf("as_trained: %d of %d frequencies differ from PyTorch's, by at most 2 steps\n",
              different, all + int(kPairs.size()));
}

// Where exact tables are far from released ones: by up to 5e-3 at 131071 and 3e-2 at 2^20.
TEST(AsTrainedTest, TablesMeetReleasedOnesWhereExactOnesDoNot) {
  for (const Turned& turned : kTurned) {
    const PositionList at = PositionList::Range(turned.position, 1);
    const Table trained = Fill(AsTrained("base=500000"), at);
    const Table exact = Fill("rope:rotated_dims=64,base=500000", at);
    double off_trained = 0, off_exact = 0;
    for (std::size_t n = 0; n < kPairs.size(); ++n) {
      const Index i = Index(kPairs[n]);
      EXPECT_EQ(trained.cos(0, i), RoundToF32(trained.cos(0, i)));
      off_trained = std::max({off_trained, std::abs(trained.cos(0, i) - turned.cos[n]),
                              std::abs(trained.sin(0, i) - turned.sin[n])});
      off_exact = std::max({off_exact, std::abs(exact.cos(0, i) - turned.cos[n]),
                            std::abs(exact.sin(0, i) - turned.sin[n])});
    }
    std::printf("position %lld: as_trained is off PyTorch's table by %.1e, exact by %.1e\n",
                static_cast<long long>(turned.position), off_trained, off_exact);
    EXPECT_LE(off_trained, 6.1e-8);
    EXPECT_LT(off_exact, 3e-2);
    if (turned.position > 100000) {
      EXPECT_GT(off_exact, 1e-4);
    }
  }
}

TEST(AsTrainedTest, TheMagnitudeIsMultipliedInFloat32) {
  const Table table = Fill(AsTrained("base=1e6,frequencies=yarn,factor=4,original_length=32768"),
                           PositionList::Range(kYarn.position, 1));
  for (std::size_t n = 0; n < kPairs.size(); ++n) {
    EXPECT_NEAR(table.cos(0, Index(kPairs[n])), kYarn.cos[n], 1.3e-7);
    EXPECT_NEAR(table.sin(0, Index(kPairs[n])), kYarn.sin[n], 1.3e-7);
  }
}

TEST(AsTrainedTest, ClaimsNeitherRelativeScoresNorNorms) {
  const Claims claims = MakeScheme(AsTrained("base=500000"))->claims();
  EXPECT_FALSE(claims.relative);
  EXPECT_FALSE(claims.keeps_norms);
  EXPECT_TRUE(claims.any_length);
}

// At position 131071 a float32 product alone is off by up to 3.6e-3 rad.
TEST(AsTrainedTest, OneFormIsNotTheOther) {
  const Table trained =
      Fill("rope:rotated_dims=128,numerics=as_trained", PositionList::Range(131071, 1));
  const Table exact = Fill("rope:rotated_dims=128", PositionList::Range(131071, 1));
  double largest = 0;
  for (Index i = 0; i < 64; ++i) {
    largest = std::max(largest, std::abs(trained.cos(0, i) - exact.cos(0, i)));
  }
  EXPECT_GT(largest, 1e-3);
  EXPECT_LT(largest, 5e-3);
}

}  // namespace
}  // namespace sextant
