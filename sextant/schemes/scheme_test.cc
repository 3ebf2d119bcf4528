// The contract's own parts: positions, weights, texts, and what a scheme without hooks answers.
#include "sextant/schemes/scheme.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

TEST(PositionListTest, OwnsPositionsAndKnowsTheLength) {
  std::vector<std::int64_t> given = {4, 9, 2};
  const PositionList list(given);
  given[1] = 0;
  const Positions positions = list;
  EXPECT_EQ(positions.axes(), 1);
  EXPECT_EQ(positions.count(), 3);
  EXPECT_EQ(positions.values(0, 1), 9);
  EXPECT_EQ(positions.length, 10);
  EXPECT_EQ(PositionList(given, 4096).positions().length, 4096);
}

TEST(PositionListTest, RangesAndEmptyLists) {
  const PositionList range = PositionList::Range(1 << 20, 3);
  EXPECT_EQ(range.positions().values(0, 2), (1 << 20) + 2);
  EXPECT_EQ(range.positions().length, (1 << 20) + 3);
  const PositionList none = PositionList::Range(5, 0);
  EXPECT_EQ(none.positions().count(), 0);
  EXPECT_EQ(none.positions().length, 0);
}

TEST(SchemeTest, EveryClaimHasATextInTheOrderOfTheStruct) {
  Claims all{true, true, true, true, true};
  std::set<std::string> names;
  for (const ClaimText& text : ClaimTexts()) {
    EXPECT_TRUE(all.*text.value) << text.name << " is listed twice";
    all.*text.value = false;
    EXPECT_TRUE(names.insert(text.name).second);
    EXPECT_STRNE(text.meaning, "");
    EXPECT_STRNE(text.test, "");
  }
  EXPECT_FALSE(all.relative || all.keeps_norms || all.learned || all.any_length || all.decays);
  EXPECT_EQ(sizeof(Claims), ClaimTexts().size()) << "a claim without a text";
}

TEST(SchemeTest, EveryHookHasAName) {
  std::set<std::string> names;
  std::set<Hook> hooks;
  for (const HookName& hook : HookNames()) {
    EXPECT_TRUE(names.insert(hook.name).second);
    EXPECT_TRUE(hooks.insert(hook.hook).second);
  }
  EXPECT_EQ(hooks.size(), 7u);
}

TEST(SchemeTest, WeightsAreCountedZeroedAndDrawn) {
  EXPECT_EQ((WeightInfo{"w", {3, 4, 5}, WeightScope::kModel, ""}.elements()), 60);
  const SchemePtr scheme = MakeScheme("shaw:head_dim=4,clip=3");
  const std::vector<std::vector<double>> zeros = ZeroWeights(*scheme);
  ASSERT_EQ(zeros.size(), 2u);
  EXPECT_EQ(zeros[0], std::vector<double>(28));
  Random random(2);
  const std::vector<std::vector<double>> drawn =
      NormalWeights({{"a", {100, 100}, WeightScope::kModel, ""}}, 3, random);
  double sum = 0, square = 0;
  for (double value : drawn[0]) {
    sum += value;
    square += value * value;
  }
  EXPECT_NEAR(sum / 10000, 0, 5 * 0.03);
  EXPECT_NEAR(std::sqrt(square / 10000), 3, 5 * 0.0212);
  Random one(5), same(5);
  EXPECT_EQ(scheme->InitialWeights(one), scheme->InitialWeights(same));
}

TEST(SchemeTest, AddToAdds) {
  std::vector<double> sum = {1, 2};
  AddTo({10, 20}, sum);
  EXPECT_EQ(sum, (std::vector<double>{11, 22}));
}

TEST(SchemeTest, AHookThatIsNotOfferedIsAnErrorNamingIt) {
  const SchemePtr none = MakeScheme("none");
  Array<double, 2> rows({1, 4});
  try {
    none->FillAdditive({}, PositionList::Range(0, 1), rows);
    FAIL() << "none filled additive rows";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "none: has no additive rows");
  }
  EXPECT_THROW(none->model_dim(), Error);
  EXPECT_THROW(none->rotary_shape(), Error);
  EXPECT_THROW(none->bias_heads(), Error);
}

// The defaults of the base class, for schemes written against it directly.
struct Bare final : Scheme {
  const SchemeInfo& info() const override {
    static constexpr SchemeInfo kInfo{"bare", "", "", "", ""};
    return kInfo;
  }
  Claims claims() const override { return {}; }
  std::vector<Parameter> parameters() const override { return {}; }
  bool offers(Hook) const override { return false; }
};

TEST(SchemeTest, TheBaseClassOffersNothing) {
  const Bare bare;
  Array<double, 1> one({1});
  Array<double, 2> two({1, 1});
  Array<double, 3> three({1, 1, 1});
  const PositionList at = PositionList::Range(0, 1);
  Array<std::uint8_t, 2> visible({1, 1});
  EXPECT_EQ(bare.name(), "bare");
  EXPECT_TRUE(bare.weights().empty());
  EXPECT_TRUE(bare.parts().empty());
  EXPECT_THROW(bare.model_dim(), Error);
  EXPECT_THROW(bare.FillAdditive({}, at, two), Error);
  EXPECT_THROW(bare.BackAdditive({}, at, two, {}), Error);
  EXPECT_THROW(bare.rotary_shape(), Error);
  EXPECT_THROW(bare.FillRotary({}, at, Side::kKey, two, two), Error);
  EXPECT_THROW(bare.BackRotary({}, at, Side::kKey, two, two, {}), Error);
  EXPECT_THROW(bare.bias_heads(), Error);
  EXPECT_THROW(bare.FillDistanceBias({}, {0, 1}, two), Error);
  EXPECT_THROW(bare.BackDistanceBias({}, {0, 1}, two, {}), Error);
  EXPECT_THROW(bare.FillTileBias({}, at, at, three), Error);
  EXPECT_THROW(bare.BackTileBias({}, at, at, three, {}), Error);
  EXPECT_THROW(bare.FillDistanceVectors({}, {0, 1}), Error);
  EXPECT_THROW(bare.BackDistanceVectors({}, {0, 1}, {}, {}), Error);
  const ContextualInput input{0, two, two, two, visible, at, at};
  EXPECT_THROW(bare.FillContextual({}, input, two), Error);
  EXPECT_THROW(bare.BackContextual({}, input, two, {two, two, two, {}}), Error);
  EXPECT_THROW(bare.FillQueryScale({}, at, one), Error);
  EXPECT_THROW(bare.BackQueryScale({}, at, one, {}), Error);
}

}  // namespace
}  // namespace sextant
