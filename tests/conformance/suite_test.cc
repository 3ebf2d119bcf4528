// Runs every check on every scheme of the registry, its choices, and compositions.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdio>

#include "sextant/schemes/spec.h"
#include "tests/conformance/conformance.h"

namespace sextant::conformance {

namespace {

// Settings of axis layouts and of sinusoids that the choices of defaults do not reach. Three pairs
// decay over 256 positions only where they turn slowly.
constexpr const char* kAxesAndForms[] = {
    "rope:rotated_dims=6,rule=linear,factor=128,axes=sections,sections=[1,1,1]",
    "rope:rotated_dims=6,rule=linear,factor=128,pairing=adjacent,axes=sections,sections=[0,2,1,0]",
    "rope:rotated_dims=6,rule=linear,factor=128,axes=interleaved,sections=[2,1,0]",
    "rope:rotated_dims=6,rule=linear,factor=128,pairing=adjacent,axes=ernie,sections=[1,1,1]",
    "rope:axes=grid,width=1",
    "rope:axes=grid,axis_frequencies=split",
    "rope:axes=grid,order=columns_first,offset=1,pairing=adjacent",
    "rope:axes=grid,order=columns_first,blocks=each_axis,base=100",
    "rope:axes=grid,order=columns_first,spread=alternate,pairing=adjacent",
    "rope:axes=grid,coordinates=unit,base=100",
    "sinusoidal:form=tensor2tensor,offset=2,zero_row=1",
    "sinusoidal:form=concatenated,order=cos_first,scale=0.25",
    "learned:scale=0.125",
    "sinusoidal-2d:coordinates=cells",
    "sinusoidal-2d:form=mae,width=8"};

// Every scheme of the registry, with each other value of each of its choices, and compositions.
std::vector<std::string> Specs() {
  std::vector<std::string> specs;
  for (const SchemeEntry& entry : Registry::Builtin().entries()) {
    const std::string name(entry.info.name);
    specs.push_back(name);
    for (const Parameter& parameter : entry.parameters) {
      for (const std::string& choice : parameter.choices) {
        if (ParameterValue(choice) == parameter.value) continue;
        specs.push_back(name + ":" + parameter.path + "=" + choice);
      }
    }
  }
  for (const char* spec : {"rope:rule=linear,factor=4",
                           "none+rope:rotated_dims=4,pairing=adjacent",
                           "shaw:clip=0",
                           "transformer-xl:clamp_length=20",
                           "shaw:clip=4,clip_after=1",
                           "xlnet:clamp_len=20",
                           "deberta:position_buckets=16",
                           "music:max_distance=20",
                           "learned:offset=2",
                           "sinusoidal+learned",
                           "rope+alibi",
                           "learned+t5",
                           "shaw+alibi",
                           "rope+shaw",
                           "rope+transformer-xl",
                           "sinusoidal+rope+t5",
                           "alibi+t5:direction=bidirectional",
                           "none+rope",
                           "alibi:slopes=trained,applied=with_scores",
                           "alibi:heads_before=1,heads_after=4",
                           "kerple:kernel=power,scope=per_layer",
                           "learned-bias:max_distance=3",
                           "cpb:distance=linear,depth=1",
                           "fire:length=16",
                           "swin:height=19,width=14",
                           "swin-v2:trained_height=8,trained_width=8",
                           "cope:max_positions=3",
                           "alibi+fire",
                           "rope+temperature",
                           "t5+log-n",
                           "alibi+forgetting"}) {
    specs.emplace_back(spec);
  }
  specs.insert(specs.end(), std::begin(kAxesAndForms), std::end(kAxesAndForms));
  return specs;
}

class ConformanceTest : public testing::TestWithParam<std::string> {};

TEST_P(ConformanceTest, PassesEveryCheck) {
  TakeLargestGradientError();
  for (const std::string& failure : CheckEverything(GetParam(), Registry::Builtin())) {
    ADD_FAILURE() << GetParam() << ": " << failure;
  }
  std::printf("%s: largest relative error of a gradient %.1e\n", GetParam().c_str(),
              TakeLargestGradientError());
}

INSTANTIATE_TEST_SUITE_P(Schemes, ConformanceTest, testing::ValuesIn(Specs()),
                         [](const auto& spec) {
                           std::string name = spec.param;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name;
                         });

TEST(ConformanceSuiteTest, RunsOnTheWholeRegistry) {
  EXPECT_GE(Registry::Builtin().entries().size(), 8u);
  EXPECT_GE(Specs().size(), Registry::Builtin().entries().size() + 14);
}

TEST(ConformanceSuiteTest, EveryClaimHasACheckOfItsName) {
  for (const ClaimText& claim : ClaimTexts()) {
    int checks = 0;
    for (const Check& check : Checks()) checks += std::string(check.name) == claim.name;
    EXPECT_EQ(checks, 1) << claim.name;
  }
}

}  // namespace
}  // namespace sextant::conformance
