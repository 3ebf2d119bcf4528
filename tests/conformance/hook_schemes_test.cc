// Every hook of the reference attention, alone and combined: formulas by hand, and the whole suite.
#include "tests/conformance/hook_schemes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <set>

#include "sextant/schemes/spec.h"
#include "tests/conformance/attention_case.h"
#include "tests/conformance/conformance.h"

namespace sextant::conformance {
namespace {

// Those of hook_schemes.h, a line each, and the built-in schemes of other names.
const Registry& WithHooks() {
  static const Registry registry = [] {
    Registry all;
    all.Add(EntryOf<Fire>());
    all.Add(EntryOf<Cope>());
    all.Add(EntryOf<LogN>());
    all.Add(EntryOf<Vectors>());
    all.Add(EntryOf<TrainedRope>());
    all.Add(EntryOf<ByDistance>());
    for (const SchemeEntry& entry : Registry::Builtin().entries()) {
      const std::vector<std::string> taken = all.names();
      if (std::count(taken.begin(), taken.end(), entry.info.name) == 0) all.Add(entry);
    }
    return all;
  }();
  return registry;
}

const char* const kSpecs[] = {
    "fire",
    "cope",
    "logn",
    "vectors",
    "vectors:terms=all",
    "trained-rope",
    "by-distance",
    "logn+logn",
    "fire+fire",
    "fire+alibi",
    "fire+t5",
    "by-distance+t5",
    "cope+fire",
    "cope+shaw",
    "cope+trained-rope",
    "vectors:terms=all+logn",
    "vectors:terms=all+trained-rope",
    "learned+trained-rope",
    "logn+trained-rope+t5",
    "learned+trained-rope+t5+fire+vectors:terms=all+cope+logn",
};

class HookConformanceTest : public testing::TestWithParam<const char*> {};

TEST_P(HookConformanceTest, PassesEveryCheck) {
  TakeLargestGradientError();
  for (const std::string& failure : CheckEverything(GetParam(), WithHooks())) {
    ADD_FAILURE() << GetParam() << ": " << failure;
  }
  std::printf("%s: largest relative error of a gradient %.1e\n", GetParam(),
              TakeLargestGradientError());
}

INSTANTIATE_TEST_SUITE_P(Schemes, HookConformanceTest, testing::ValuesIn(kSpecs),
                         [](const auto& spec) {
                           std::string name = spec.param;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name;
                         });

TEST(HookSchemesTest, TogetherTheyUseEveryHook) {
  std::set<Hook> used;
  for (const char* spec : kSpecs) {
    const SchemePtr scheme = MakeScheme(spec, Model{}.shape(), WithHooks());
    for (const HookName& hook : HookNames()) {
      if (scheme->offers(hook.hook)) used.insert(hook.hook);
    }
  }
  EXPECT_EQ(used.size(), HookNames().size());
}

// One head of 3 queries and 5 keys, 6 channels, causal.
struct HandCase {
  explicit HandCase(const std::string& spec)
      : scheme(MakeScheme(spec, {{"model_dim", 6}, {"heads", 1}, {"head_dim", 6}, {"context", 64}},
                          WithHooks())),
        weights(TrainedWeights(*scheme, {})),
        at({1, 3, 6}, {1, 5, 6}, Steps(40, 3), Steps(38, 5), 43) {
    at.causal = true;
    output = at.Run(*scheme, weights);
  }
  std::int64_t distance(Index i, Index j) const { return 38 + j - (40 + i); }
  double Dot(Index i, Index j) const {
    double sum = 0;
    for (Index c = 0; c < 6; ++c) sum += at.query(0, i, c) * at.key(0, j, c);
    return sum;
  }
  // Compares all visible scores with `score`, and returns how many there were.
  template <class Score>
  void ExpectScores(Score&& score) const {
    int visible = 0;
    for (Index i = 0; i < 3; ++i) {
      for (Index j = 0; j < 5; ++j) {
        if (distance(i, j) > 0) continue;
        ++visible;
        EXPECT_NEAR(output.scores(0, i, j), score(i, j), 1e-13) << i << " " << j;
      }
    }
    EXPECT_EQ(visible, 12);
  }

  SchemePtr scheme;
  std::vector<std::vector<double>> weights;
  AttentionCase at;
  AttentionOutput output;
};

const double kRoot = std::sqrt(6.0);

TEST(HookSchemesTest, ATileIsAddedAfterScaling) {
  const HandCase at("fire");
  const double a = at.weights[0][0], b = at.weights[1][0], c = std::exp(at.weights[2][0]);
  at.ExpectScores([&](Index i, Index j) {
    const double r =
        std::log(1 + c * std::abs(double(at.distance(i, j)))) / std::log(1 + c * double(40 + i));
    return at.Dot(i, j) / kRoot + a * std::tanh(b * r);
  });
}

TEST(HookSchemesTest, AQueryFactorMultipliesContentAndVectorsButNoBias) {
  const HandCase at("logn+logn+alibi+shaw:clip=1,terms=keys");
  at.ExpectScores([&](Index i, Index j) {
    const double log = std::log(41.0 + double(i));
    double vector = 0;
    for (Index c = 0; c < 6; ++c) {
      const Index row = at.distance(i, j) == 0 ? 1 : 0;
      vector += at.at.query(0, i, c) * at.weights[2][std::size_t(row * 6 + c)];
    }
    return (1 + at.weights[0][0] * log) * (1 + at.weights[1][0] * log) * (at.Dot(i, j) + vector) /
               kRoot +
           std::pow(2.0, -8) * double(at.distance(i, j));
  });
}

TEST(HookSchemesTest, VectorsEnterEveryTerm) {
  const HandCase at("vectors:terms=all");
  const auto row = [&](std::size_t weight, Index i, Index j, Index c) {
    const std::int64_t clipped = std::max<std::int64_t>(at.distance(i, j), -3);
    return at.weights[weight][std::size_t((clipped + 3) * 6 + c)];
  };
  at.ExpectScores([&](Index i, Index j) {
    double sum = 0;
    for (Index c = 0; c < 6; ++c) {
      const double q = at.at.query(0, i, c), k = at.at.key(0, j, c);
      const double u = at.weights[3][std::size_t(c)], v = at.weights[4][std::size_t(c)];
      sum += (q + u) * k + (q + v) * row(0, i, j, c) + k * row(1, i, j, c);
    }
    return sum / kRoot;
  });
  for (Index i = 0; i < 3; ++i) {
    for (Index c = 0; c < 6; ++c) {
      double out = 0;
      for (Index j = 0; j < 5; ++j) {
        if (at.distance(i, j) > 0) continue;
        out += at.output.weights(0, i, j) * (at.at.value(0, j, c) + row(2, i, j, c));
      }
      EXPECT_NEAR(at.output.out(0, i, c), out, 1e-13);
    }
  }
}

TEST(HookSchemesTest, AContextualBiasSeesScaledScoresAndIsAddedToThem) {
  const HandCase at("cope");
  at.ExpectScores([&](Index i, Index j) {
    double position = 0, factor = at.weights[0][0];
    for (Index m = j; m < 5; ++m) {
      if (at.distance(i, m) <= 0) position += 1 / (1 + std::exp(-at.Dot(i, m) / kRoot));
    }
    for (Index c = 0; c < 6; ++c) factor += at.at.query(0, i, c) * at.weights[1][std::size_t(c)];
    return at.Dot(i, j) / kRoot + std::tanh(position / 4) * factor;
  });
}

TEST(HookSchemesTest, RotaryMagnitudeAndSoftmaxMultiplierEnterTheScore) {
  const HandCase at("trained-rope");
  at.ExpectScores([&](Index i, Index j) {
    double sum = 0;
    for (Index pair = 0; pair < 3; ++pair) {
      const double angle = double(at.distance(i, j)) * at.weights[0][std::size_t(pair)];
      const double q0 = at.at.query(0, i, pair), q1 = at.at.query(0, i, pair + 3);
      const double k0 = at.at.key(0, j, pair), k1 = at.at.key(0, j, pair + 3);
      sum += (q0 * k0 + q1 * k1) * std::cos(angle) + (q1 * k0 - q0 * k1) * std::sin(angle);
    }
    return 1.25 * at.weights[1][0] * sum / kRoot;
  });
}

}  // namespace
}  // namespace sextant::conformance
