// A scheme of one's own: one struct and one line, and everything else follows.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sextant/schemes/erased.h"
#include "sextant/schemes/spec.h"
#include "tests/conformance/conformance.h"
#include "tests/lab/lab_program.h"

namespace sextant {
namespace {

// A trainable bell of distance, one width a head.
struct Bell {
  static constexpr SchemeInfo info{"bell", "A bell of distance",
                                   "score(i, j) += -height (1 - exp(-(j - i)^2 / width[h]^2))",
                                   "made up for this test", "none"};
  int heads = 2;
  double height = 2;

  void fields(auto& field) {
    field("heads", heads, 1, 64, "attention heads", "heads");
    field("height", height, 0, 100, "how much a far key loses");
  }
  Claims claims() const {
    return {
        .relative = true, .keeps_norms = true, .learned = true, .any_length = true, .decays = true};
  }
  std::vector<WeightInfo> weights() const {
    return {{"width", {heads}, WeightScope::kLayer, "distance at which a key has lost most"}};
  }
  std::vector<std::vector<double>> initial_weights(Random&) const {
    std::vector<double> widths;
    for (int h = 0; h < heads; ++h) widths.push_back(8.0 * (h + 1));
    return {widths};
  }
  void distance_bias(Weights weights, Distances distances, View<double, 2> bias) const {
    for (Index h = 0; h < heads; ++h) {
      const double width = weights[0][std::size_t(h)];
      for (Index n = 0; n < distances.count; ++n) {
        const double d = double(distances.first + n);
        bias(h, n) = -height * (1 - std::exp(-d * d / (width * width)));
      }
    }
  }
  void distance_bias_back(Weights weights, Distances distances, View<const double, 2> d_bias,
                          WeightGradients d_weights) const {
    for (Index h = 0; h < heads; ++h) {
      const double width = weights[0][std::size_t(h)];
      for (Index n = 0; n < distances.count; ++n) {
        const double d = double(distances.first + n);
        const double bell = std::exp(-d * d / (width * width));
        d_weights[0][std::size_t(h)] +=
            d_bias(h, n) * height * bell * 2 * d * d / (width * width * width);
      }
    }
  }
};

Registry WithBell() {
  Registry registry = Registry::Builtin();
  registry.Add(EntryOf<Bell>());
  return registry;
}

TEST(NewSchemeTest, PassesTheConformanceSuite) {
  const std::vector<std::string> failures = conformance::CheckEverything("bell", WithBell());
  EXPECT_THAT(failures, testing::IsEmpty());
}

TEST(NewSchemeTest, IsListedAndExplained) {
  const Registry registry = WithBell();
  const cli::Outcome list = cli::RunWith({"schemes"}, registry);
  EXPECT_THAT(list.out, testing::HasSubstr("bell"));
  EXPECT_THAT(cli::RunWith({"schemes"}).out, testing::Not(testing::HasSubstr("bell")));
  const cli::Outcome one = cli::RunWith({"schemes", "bell"}, registry);
  EXPECT_THAT(one.out, testing::HasSubstr("how much a far key loses"));
  const cli::Outcome wrong = cli::RunWith({"probe", "bell:height=-1"}, registry);
  EXPECT_EQ(wrong.exit_code, cli::kUsage);
  EXPECT_THAT(wrong.err, testing::HasSubstr("height must be a number from 0 to 100, got -1"));
}

class NewSchemeLabTest : public cli::LabProgramTest {};

TEST_F(NewSchemeLabTest, TrainsInTheLab) {
  const Registry registry = WithBell();
  const cli::Outcome outcome = cli::RunWith(
      cli::With({"lab", "run", "bell:height=3", "--data", Stories("stories.txt"), "--output",
                 Path("run"), "--json"},
                cli::With(cli::SmallSettings(), {"--steps", "40", "--learning-rate", "0.01"})),
      registry);
  ASSERT_EQ(outcome.exit_code, cli::kFine) << outcome.err;
  const auto result = nlohmann::ordered_json::parse(outcome.out);
  EXPECT_LT(result["curve"].back()["held_out_loss"].get<double>(),
            result["curve"][0]["held_out_loss"].get<double>() - 0.5);
}

}  // namespace
}  // namespace sextant
