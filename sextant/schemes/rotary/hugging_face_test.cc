// The numbers Hugging Face's own tests of its frequency rules expect
// (tests/utils/test_modeling_rope_utils.py), where the shared files are beside the sources.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "sextant/schemes/rotary/test_tables.h"

namespace sextant {
namespace {

using namespace rotary_test;

// What each test sets up; the nested ones use a head of 256 and, where a length counts, 131072.
struct Case {
  const char* test;
  const char* spec;
  std::int64_t length;
  double decimals = 0;  // an absolute tolerance, where numbers are written with few of them
};
const Case kCases[] = {
    {"test_default_rope_numerically", "rope:rotated_dims=128", 1},
    {"test_default_rope_numerically_nested", "rope:rotated_dims=256", 1},
    {"test_dynamic_rope_numerically",
     "rope:rotated_dims=128,frequencies=dynamic,factor=10,original_length=2048", 16384},
    {"test_dynamic_rope_numerically_nested",
     "rope:rotated_dims=256,frequencies=dynamic,factor=10,original_length=131072", 200000},
    {"test_yarn_rope_numerically",
     "rope:rotated_dims=128,frequencies=yarn,factor=10,original_length=2048", 1},
    {"test_yarn_rope_numerically_nested",
     "rope:rotated_dims=256,frequencies=yarn,factor=10,original_length=131072", 1},
    {"test_llama3_rope_numerically",
     "rope:rotated_dims=128,frequencies=llama3,factor=10,original_length=2048", 1},
    {"test_llama3_rope_numerically_nested",
     "rope:rotated_dims=256,frequencies=llama3,factor=10,original_length=2048", 1},
    {"test_proportional_rope_numerically",
     "rope:rotated_dims=128,frequencies=proportional,fraction=0.25", 1},
    {"test_proportional_rope_numerically_nested",
     "rope:rotated_dims=256,frequencies=proportional,fraction=0.25", 1, 5.1e-5},
};

TEST(HuggingFaceGoldensTest, FrequenciesOfItsOwnTests) {
  const std::filesystem::path path =
      std::filesystem::path(SEXTANT_SOURCE) / "../shared/goldens/hf-rope-expected.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << ": shared files are absent";
  std::ifstream file(path);
  std::map<std::string, std::vector<double>> expected;
  const auto json = nlohmann::json::parse(file);
  for (const auto& test : json["tests"]) {
    expected[test["test"]] = test["tensors"][0]["value"].get<std::vector<double>>();
  }
  EXPECT_EQ(expected.size(), std::size(kCases));
  for (const Case& made : kCases) {
    const std::vector<double>& numbers = expected[made.test];
    const std::vector<double> inv_freq = InvFreq(made.spec, made.length);
    ASSERT_EQ(numbers.size(), inv_freq.size()) << made.test;
    // Most are written with five digits.
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_NEAR(inv_freq[i], numbers[i], std::max(5.5e-5 * numbers[i], made.decimals))
          << made.test << " pair " << i;
    }
  }
}

}  // namespace
}  // namespace sextant
