// Llama 3.1's three bands.
#include "sextant/schemes/rotary/llama3.h"

#include <cmath>

#include "sextant/schemes/rotary/test_tables.h"

namespace sextant {
namespace {

using namespace rotary_test;

const char kLlama31[] =
    "rope:rotated_dims=128,base=500000,frequencies=llama3,factor=8,original_length=8192";

// By what each frequency was divided.
std::vector<double> Divisors(const std::string& spec, const std::string& plain) {
  const std::vector<double> scaled = InvFreq(spec), before = InvFreq(plain);
  std::vector<double> divisors;
  for (std::size_t i = 0; i < scaled.size(); ++i) divisors.push_back(before[i] / scaled[i]);
  return divisors;
}

TEST(Llama3Test, FrequenciesOfLlama31) {
  ExpectPairs(InvFreq(kLlama31), {28, 29, 34, 35, 63},
              {3.211446e-3, 2.166571e-3, 1.785078e-4, 9.556212e-5, 3.068926e-7}, 2e-7);
}

// Bugs seen in converters give 41.5 20.2 14.2 .., 2.4 3.9 5.1 .. and 7.6 7.0 6.2 .. here.
TEST(Llama3Test, TheBlendIsOfFrequenciesNotOfDivisorsNorUpsideDown) {
  const std::vector<double> divisors = Divisors(kLlama31, "rope:rotated_dims=128,base=500000");
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(divisors[i] == 1, i < 29) << i;
    EXPECT_EQ(std::abs(divisors[i] - 8) < 1e-13, i > 34) << i;
    EXPECT_GE(divisors[i], i == 0 ? 1 : divisors[i - 1] - 1e-13) << i;
  }
  ExpectPairs(divisors, {29, 30, 31, 32, 33, 34},
              {1.207484, 1.553415, 2.026313, 2.694530, 3.684253, 5.257327}, 5e-7);
}

TEST(Llama3Test, ThreePairsOfLlama32AreBlended) {
  const std::string spec =
      "rope:rotated_dims=64,base=500000,frequencies=llama3,factor=32,original_length=8192";
  const std::vector<double> divisors = Divisors(spec, "rope:rotated_dims=64,base=500000");
  EXPECT_EQ(divisors[14], 1);
  ExpectPairs(divisors, {15, 16, 17}, {1.651329, 3.292262, 9.666729}, 5e-7);
  EXPECT_NEAR(divisors[18], 32, 1e-12);
  // The formula to 40 digits.
  ExpectPairs(InvFreq(spec), {0, 1, 7, 16, 23, 31},
              {1, 0.66360123769608844, 0.056669621445291048, 0.0004295567965593682,
               2.5044671007024936e-6, 9.4183067254349098e-8});
}

TEST(Llama3Test, EqualOrSwappedEdgesAreRefused) {
  const std::string spec = "rope:frequencies=llama3,original_length=8192,";
  EXPECT_EQ(Refusal(spec + "low_freq_factor=1,high_freq_factor=1"),
            "rope: frequencies.low_freq_factor must be below high_freq_factor because frequencies "
            "are blended between them, got 1 and 1; Llama 3.1 has 1 and 4");
  EXPECT_EQ(Refusal(spec + "low_freq_factor=4,high_freq_factor=1"),
            "rope: frequencies.low_freq_factor must be below high_freq_factor because frequencies "
            "are blended between them, got 4 and 1; they look swapped: Llama 3.1 has 1 and 4");
  EXPECT_EQ(Refusal(spec + "low_freq_factor=0")
                .find("rope: frequencies.low_freq_factor must be a number from 0.01"),
            0u);
  EXPECT_EQ(Refusal(spec + "high_freq_factor=0")
                .find("rope: frequencies.high_freq_factor must be a number from 0.01"),
            0u);
}

}  // namespace
}  // namespace sextant
