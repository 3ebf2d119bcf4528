// Negative controls: schemes that break one promise each, which its check must report.
#include <gtest/gtest.h>

#include <cmath>

#include "sextant/schemes/erased.h"
#include "sextant/schemes/spec.h"
#include "tests/conformance/conformance.h"

namespace sextant::conformance {
namespace {

// A bias by distance with everything right, from which the wrong ones differ in one thing:
// bias[h, d] = -w[h] |d|
struct Honest {
  static constexpr SchemeInfo info{"honest", "", "", "", ""};
  int heads = 4;
  void fields(auto& field) { field("heads", heads, 1, 64, "heads", "heads"); }
  Claims claims() const {
    return {.relative = true, .keeps_norms = true, .learned = true, .any_length = true};
  }
  std::vector<WeightInfo> weights() const { return {{"w", {heads}, WeightScope::kModel, ""}}; }
  std::vector<std::vector<double>> initial_weights(Random&) const {
    return {std::vector<double>(static_cast<std::size_t>(heads), 0.2)};
  }
  void distance_bias(Weights w, Distances at, View<double, 2> bias) const {
    for (Index h = 0; h < heads; ++h) {
      for (Index n = 0; n < at.count; ++n) {
        bias(h, n) = -w[0][std::size_t(h)] * double(std::abs(at.first + n));
      }
    }
  }
  void distance_bias_back(Weights, Distances at, View<const double, 2> d, WeightGradients g) const {
    for (Index h = 0; h < heads; ++h) {
      for (Index n = 0; n < at.count; ++n) {
        g[0][std::size_t(h)] -= d(h, n) * double(std::abs(at.first + n));
      }
    }
  }
};

struct ModestLearned : Honest {
  static constexpr SchemeInfo info{"modest-learned", "", "", "", ""};
  Claims claims() const { return {.relative = true, .keeps_norms = true, .any_length = true}; }
};
struct ModestRelative : Honest {
  static constexpr SchemeInfo info{"modest-relative", "", "", "", ""};
  Claims claims() const { return {.keeps_norms = true, .learned = true, .any_length = true}; }
};
struct ModestNorms : Honest {
  static constexpr SchemeInfo info{"modest-norms", "", "", "", ""};
  Claims claims() const { return {.relative = true, .learned = true, .any_length = true}; }
};
struct ModestLength : Honest {
  static constexpr SchemeInfo info{"modest-length", "", "", "", ""};
  Claims claims() const { return {.relative = true, .keeps_norms = true, .learned = true}; }
};
struct Decaying : Honest {
  static constexpr SchemeInfo info{"decaying", "", "", "", ""};
  Claims claims() const {
    Claims claims = Honest::claims();
    claims.decays = true;
    return claims;
  }
};
struct Growing : Decaying {  // claims to decay and grows
  static constexpr SchemeInfo info{"growing", "", "", "", ""};
  std::vector<std::vector<double>> initial_weights(Random&) const {
    return {std::vector<double>(static_cast<std::size_t>(heads), -0.2)};
  }
};

struct InexactGradient : Honest {  // one part in a thousand too large
  static constexpr SchemeInfo info{"inexact-gradient", "", "", "", ""};
  void distance_bias_back(Weights, Distances at, View<const double, 2> d, WeightGradients g) const {
    for (Index h = 0; h < heads; ++h) {
      for (Index n = 0; n < at.count; ++n) {
        g[0][std::size_t(h)] -= 1.001 * d(h, n) * double(std::abs(at.first + n));
      }
    }
  }
};
struct NoGradient : Honest {
  static constexpr SchemeInfo info{"no-gradient", "", "", "", ""};
  void distance_bias_back(Weights, Distances, View<const double, 2>, WeightGradients) const {}
};
struct ReplacingGradient : Honest {  // assigns instead of adding
  static constexpr SchemeInfo info{"replacing-gradient", "", "", "", ""};
  void distance_bias_back(Weights w, Distances at, View<const double, 2> d,
                          WeightGradients g) const {
    g[0].assign(g[0].size(), 0);
    Honest::distance_bias_back(w, at, d, g);
  }
};
struct AddingFill : Honest {  // adds to what the output held
  static constexpr SchemeInfo info{"adding-fill", "", "", "", ""};
  void distance_bias(Weights w, Distances at, View<double, 2> bias) const {
    for (Index h = 0; h < heads; ++h) {
      for (Index n = 0; n < at.count; ++n) {
        bias(h, n) += -w[0][std::size_t(h)] * double(std::abs(at.first + n));
      }
    }
  }
};
struct InfiniteFar : Honest {  // finite to 2^19
  static constexpr SchemeInfo info{"infinite-far", "", "", "", ""};
  void distance_bias(Weights w, Distances at, View<double, 2> bias) const {
    Honest::distance_bias(w, at, bias);
    if (at.first > 1 << 19) bias(0, 0) = INFINITY;
  }
};
struct NotANumber : Honest {  // from distance 5 on
  static constexpr SchemeInfo info{"not-a-number", "", "", "", ""};
  void distance_bias(Weights w, Distances at, View<double, 2> bias) const {
    Honest::distance_bias(w, at, bias);
    for (Index n = 0; n < at.count; ++n) {
      if (at.first + n >= 5) bias(0, n) = NAN;
    }
  }
};
struct ShortTable : Honest {  // claims any length and ends at 1000
  static constexpr SchemeInfo info{"short-table", "", "", "", ""};
  void distance_bias(Weights w, Distances at, View<double, 2> bias) const {
    if (std::abs(at.first) > 1000) FailPosition(info.name, at.first, 1000);
    Honest::distance_bias(w, at, bias);
  }
};
struct WrongShape : Honest {
  static constexpr SchemeInfo info{"wrong-shape", "", "", "", ""};
  std::vector<std::vector<double>> initial_weights(Random&) const {
    return {std::vector<double>(static_cast<std::size_t>(heads) + 1, 0.2)};
  }
};
struct Drifting : Honest {  // lists a setting one higher than it reads back
  static constexpr SchemeInfo info{"drifting", "", "", "", ""};
  int count = 3;
  void fields(auto& field) {
    Honest::fields(field);
    int shown = count + 1;
    field("count", shown, 1, 64, "a number");
    count = shown;
  }
};

// Rows with everything right: row[p, c] = cos(p (c + 1) / 8).
struct Rows {
  static constexpr SchemeInfo info{"rows", "", "", "", ""};
  int model_dim = 24;
  void fields(auto& field) { field("model_dim", model_dim, 1, 4096, "width", "model_dim"); }
  Claims claims() const { return {.any_length = true}; }
  void additive(Weights, const Positions& at, View<double, 2> rows) const {
    for (Index n = 0; n < at.count(); ++n) Fill(double(at.values(0, n)), rows[n]);
  }
  void Fill(double p, View<double, 1> row) const {
    for (Index c = 0; c < model_dim; ++c) row(c) = std::cos(p * double(c + 1) / 8);
  }
};
struct FalseRelative : Rows {
  static constexpr SchemeInfo info{"false-relative", "", "", "", ""};
  Claims claims() const { return {.relative = true, .any_length = true}; }
};
struct FalseNorms : Rows {
  static constexpr SchemeInfo info{"false-norms", "", "", "", ""};
  Claims claims() const { return {.keeps_norms = true, .any_length = true}; }
};
struct FalseLearned : Rows {
  static constexpr SchemeInfo info{"false-learned", "", "", "", ""};
  Claims claims() const { return {.learned = true, .any_length = true}; }
};
struct Wrapping : Rows {  // 64 rows, then the first again, silently
  static constexpr SchemeInfo info{"wrapping", "", "", "", ""};
  Claims claims() const { return {}; }
  void additive(Weights, const Positions& at, View<double, 2> rows) const {
    for (Index n = 0; n < at.count(); ++n) Fill(double(at.values(0, n) % 64), rows[n]);
  }
};
struct Counting : Rows {  // counts rows itself instead of reading the positions
  static constexpr SchemeInfo info{"counting", "", "", "", ""};
  void additive(Weights, const Positions& at, View<double, 2> rows) const {
    for (Index n = 0; n < at.count(); ++n) Fill(double(n), rows[n]);
  }
};
struct Centred : Rows {  // positions from the middle of those given, as xPos once was cached
  static constexpr SchemeInfo info{"centred", "", "", "", ""};
  void additive(Weights, const Positions& at, View<double, 2> rows) const {
    if (at.count() == 0) return;
    const double middle = double(at.values(0, at.count() - 1)) / 2;
    for (Index n = 0; n < at.count(); ++n) Fill(double(at.values(0, n)) - middle, rows[n]);
  }
};
struct Spilling : Rows {  // as wide as the stride
  static constexpr SchemeInfo info{"spilling", "", "", "", ""};
  void additive(Weights w, const Positions& at, View<double, 2> rows) const {
    Rows::additive(w, at, rows);
    if (rows.stride()[0] > model_dim) rows.data()[model_dim] = 0;
  }
};

// Scores that depend on the scores, with a map back that forgets it.
struct ForgetfulContext {
  static constexpr SchemeInfo info{"forgetful-context", "", "", "", ""};
  void fields(auto&) {}
  Claims claims() const { return {.relative = true, .keeps_norms = true, .any_length = true}; }
  void contextual(Weights, const ContextualInput& in, View<double, 2> bias) const {
    for (Index i = 0; i < in.scores.extent(0); ++i) {
      for (Index j = 0; j < in.scores.extent(1); ++j) {
        bias(i, j) = in.visible(i, j) ? std::tanh(in.scores(i, j)) : 0;
      }
    }
  }
  void contextual_back(Weights, const ContextualInput&, View<const double, 2>,
                       const ContextualGradients&) const {}
};

template <class T>
Failures All() {
  Registry registry;
  registry.Add(EntryOf<T>());
  return CheckEverything(std::string(T::info.name), registry);
}

// Whether the check of this name, and which others, reported the scheme.
template <class T>
void ExpectReported(const std::string& check, const std::vector<std::string>& also = {}) {
  bool reported = false;
  for (const std::string& failure : All<T>()) {
    const std::string by = failure.substr(0, failure.find(':'));
    if (by == check) reported = true;
    EXPECT_TRUE(by == check || std::count(also.begin(), also.end(), by) > 0)
        << T::info.name << " was also reported by " << failure;
  }
  EXPECT_TRUE(reported) << T::info.name << " was not reported by " << check;
}

TEST(FalseClaimsTest, WhatIsRightPasses) {
  EXPECT_EQ(All<Honest>(), Failures{});
  EXPECT_EQ(All<Rows>(), Failures{});
  EXPECT_EQ(All<Decaying>(), Failures{});
}

TEST(FalseClaimsTest, ClaimsThatDoNotHold) {
  ExpectReported<FalseRelative>("relative");
  ExpectReported<FalseNorms>("keeps_norms");
  ExpectReported<FalseLearned>("learned");
  ExpectReported<InfiniteFar>("any_length");
  ExpectReported<ShortTable>("any_length", {"relative"});
  ExpectReported<Growing>("decays");
}

TEST(FalseClaimsTest, WhatIsNotANumberIsSeenByEveryCheckThatMeetsIt) {
  const std::vector<std::string> all = {"relative",  "learned", "any_length", "decays",
                                        "gradients", "packed",  "decode",     "order",
                                        "slices",    "kernels", "cache"};
  for (const char* check :
       {"relative", "learned", "any_length", "gradients", "packed", "slices", "kernels"}) {
    ExpectReported<NotANumber>(check, all);
  }
}

TEST(FalseClaimsTest, ClaimsThatShouldBeMade) {
  ExpectReported<ModestRelative>("relative");
  ExpectReported<ModestNorms>("keeps_norms");
  ExpectReported<ModestLearned>("learned");
  ExpectReported<ModestLength>("any_length");
  ExpectReported<Wrapping>("any_length");
}

TEST(FalseClaimsTest, WrongGradients) {
  ExpectReported<InexactGradient>("learned");
  ExpectReported<NoGradient>("learned");
  ExpectReported<ReplacingGradient>("contract");
  ExpectReported<ForgetfulContext>("gradients");
}

TEST(FalseClaimsTest, TablesThatDependOnWhatIsAround) {
  ExpectReported<AddingFill>("slices");
  ExpectReported<Spilling>("slices");
  ExpectReported<Centred>("slices", {"decode", "order", "packed", "relative", "cache"});
  ExpectReported<Centred>("decode", {"slices", "order", "packed", "relative", "cache"});
  ExpectReported<Centred>("cache", {"slices", "decode", "order", "packed", "relative"});
  ExpectReported<Counting>("order",
                           {"slices", "decode", "packed", "relative", "any_length", "cache"});
  ExpectReported<Counting>("packed",
                           {"slices", "decode", "order", "relative", "any_length", "cache"});
}

TEST(FalseClaimsTest, SpecsAndWeightsThatAreNotWhatTheySay) {
  ExpectReported<Drifting>("spec");
  Registry registry;
  registry.Add(EntryOf<WrongShape>());
  EXPECT_FALSE(CheckContract(MakeScheme("wrong-shape", {}, registry), {}).empty());
}

}  // namespace
}  // namespace sextant::conformance
