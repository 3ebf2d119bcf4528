// Policies by layer: patterns, shared weights, spellings and refusals.
#include "sextant/schemes/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sextant/core/error.h"
#include "sextant/schemes/refusal.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using Json = nlohmann::ordered_json;

TEST(LayersTest, ThePatternRepeatsOverTheModel) {
  // SmolLM3: no positions in every fourth layer.
  const SchemePtr model = MakeScheme("layers:[rope:base=2000000]x3,[none]");
  for (Index layer = 0; layer < 36; ++layer) {
    EXPECT_EQ(SchemeOfLayer(model, layer).scheme->name(), (layer + 1) % 4 == 0 ? "none" : "rope")
        << layer;
  }
}

TEST(LayersTest, LocalAndGlobalBasesOfGemma3) {
  const SchemePtr model =
      MakeScheme("layers:[rope:base=10000]x5,[rope:frequencies=linear,base=1000000,factor=8]");
  std::vector<double> inv_freq;
  for (Index layer : {4, 5}) {
    const LayerScheme own = SchemeOfLayer(model, layer);
    Array<double, 2> cos({1, 32}), sin({1, 32});
    own.scheme->FillRotary({}, PositionList::Range(1, 1), Side::kQuery, cos, sin);
    inv_freq.push_back(std::atan2(sin(0, 0), cos(0, 0)));
  }
  EXPECT_NEAR(inv_freq[0], 1, 1e-15);
  EXPECT_NEAR(inv_freq[1], 0.125, 1e-15);
}

TEST(LayersTest, LayersOfOneSchemeShareItsModelWideWeights) {
  const SchemePtr model = MakeScheme("layers:[t5:heads=2]x2,[none],[t5:heads=4]");
  EXPECT_EQ(model->parts().size(), 3u);
  const std::vector<WeightInfo> weights = model->weights();
  ASSERT_EQ(weights.size(), 2u);
  EXPECT_NE(weights[0].name, weights[1].name);
  EXPECT_EQ(SchemeOfLayer(model, 0).part, SchemeOfLayer(model, 5).part);
  EXPECT_EQ(SchemeOfLayer(model, 1).first_weight, 0u);
  EXPECT_EQ(SchemeOfLayer(model, 3).first_weight, 1u);
  EXPECT_EQ(LayersOfPart(*model, 0), "layers 0-1 of every 4");
}

TEST(LayersTest, AnySchemeIsItselfInEveryLayer) {
  const SchemePtr rope = MakeScheme("rope");
  EXPECT_EQ(SchemeOfLayer(rope, 17).scheme, rope);
  EXPECT_TRUE(rope->layer_pattern().empty());
}

TEST(LayersTest, ItsSpellingsAreReadBack) {
  for (const char* spec :
       {"layers:[rope]x3,[none]", "layers:[rope+alibi:heads=4],[none]x2,[rope]",
        R"({"layers":[{"scheme":"rope"},{"repeat":2,"spec":{"scheme":"none"}}]})"}) {
    const SchemePtr model = MakeScheme(spec);
    const Spec written = SpecOf(*model);
    for (const std::string& text : {ToText(written), ToJson(written).dump(), ShortText(*model)}) {
      EXPECT_EQ(ToText(SpecOf(*MakeScheme(text))), ToText(written)) << text;
    }
  }
  EXPECT_EQ(ShortText(*MakeScheme("layers:[rope]x3,[none]")), "layers:[rope]x3,[none]");
}

TEST(LayersTest, RefusesWhatNoModelCanBe) {
  EXPECT_THAT(Refusal("layers"), testing::HasSubstr("at least one layer"));
  EXPECT_THAT(Refusal("layers:rope"), testing::HasSubstr("brackets"));
  EXPECT_THAT(Refusal("layers:[rope]x0"), testing::HasSubstr("1 to 1024"));
  EXPECT_THAT(Refusal("layers:[rope]x9999"), testing::HasSubstr("1 to 1024"));
  EXPECT_THAT(Refusal("layers:[rope]xy"), testing::HasSubstr("whole number after x"));
  EXPECT_THAT(Refusal("layers:[rope][none]"), testing::HasSubstr("comma"));
  EXPECT_THAT(Refusal("layers:[rope"), testing::HasSubstr("without a ]"));
  EXPECT_THAT(Refusal("layers:[layers:[rope]]"), testing::HasSubstr("cannot be layers itself"));
  EXPECT_THAT(Refusal("layers:[sinusoidal],[none]"), testing::HasSubstr("before the first layer"));
  EXPECT_THAT(Refusal("layers:[ropee]"), testing::HasSubstr("did you mean"));
  EXPECT_THAT(Refusal(R"({"layers":[]})"), testing::HasSubstr("list of specs"));
  EXPECT_THAT(Refusal(R"({"layers":[{"repeat":2}]})"), testing::HasSubstr("repeated layer"));
}

TEST(LayersTest, TheWholeHasNoTablesOfItsOwn) {
  const SchemePtr model = MakeScheme("layers:[rope],[none]");
  EXPECT_FALSE(model->offers(Hook::kRotary));
  EXPECT_THROW(model->rotary_shape(), Error);
  EXPECT_FALSE(model->claims().decays);
  EXPECT_TRUE(model->claims().relative);
}

}  // namespace
}  // namespace sextant
