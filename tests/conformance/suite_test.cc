// Runs every check on every scheme of the registry, its choices, and compositions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iterator>

#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"
#include "tests/conformance/conformance.h"

namespace sextant::conformance {

namespace {

// What the registry alone does not reach: settings without which a choice makes no scheme or a
// plain one, and compositions.
constexpr const char* kExtraSpecs[] = {
    "rope:rule=linear,factor=4",
    "rope:frequencies.rule=given,rotated_dims=6,inv_freq=[0.01,0.002,0.001]",
    "rope:rule=ntk,alpha=8",
    "rope:rule=ntk_fixed,factor=4",
    "rope:rule=ntk_mixed,factor=4",
    "rope:rule=dynamic,factor=2,alpha=3,original_length=32",
    "rope:rule=dynamic_linear,original_length=16",
    "rope:rule=ntk_by_parts,factor=2,ntk_factor=0.5,extrapolation_factor=0.75",
    "rope:rule=yarn,factor=40,mscale=1,mscale_all_dim=1,softmax=deepseek,ramp_ends=exact",
    "rope:rule=yarn,factor=4,pairing=adjacent_to_halves",
    "rope:rule=dynamic_yarn,original_length=8,numerics=as_trained",
    "rope:rule=llama3,factor=32,original_length=32",
    "rope:rule=longrope,factor=32,original_length=32,rotated_dims=6,short_factors=[1,1,2],"
    "long_factors=[1,3,20]",
    "rope:rule=proportional,fraction=0.5,factor=2",
    "rope:rotated_dims=4,first_channel=2",
    "rope:rotated_dims=2",
    "rope:rule=trainable,pairing=adjacent,rotated_dims=4,first_channel=1",
    // Three pairs decay over 256 positions only where they turn slowly.
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
    "sinusoidal-2d:form=mae,width=8",
    "rope:rule=longrope,factor=4,axes=interleaved",
    "rope:rule=trainable,axes=grid,first_channel=1,rotated_dims=4",
    "xpos:gamma=2,scale_base=64,centre=20,rotated_dims=4",
    "xpos+alibi",
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
    "alibi+forgetting",
};

bool Makes(const std::string& spec) {
  try {
    MakeScheme(spec, Model{}.shape());
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Whether an extra spec makes this choice: "rope:frequencies.rule=given".
bool ExtraCovers(const std::string& choice) {
  return std::any_of(std::begin(kExtraSpecs), std::end(kExtraSpecs), [&](const std::string& extra) {
    return extra.starts_with(choice + ",") && Makes(extra);
  });
}

// Every scheme of the registry, with each other value of each of its choices, and the extra specs.
// A choice that makes no scheme without more settings is left out where an extra spec has them.
std::vector<std::string> Specs() {
  std::vector<std::string> specs;
  for (const SchemeEntry& entry : Registry::Builtin().entries()) {
    const std::string name(entry.info.name);
    specs.push_back(name);
    for (const Parameter& parameter : entry.parameters) {
      for (const std::string& choice : parameter.choices) {
        if (ParameterValue(choice) == parameter.value) continue;
        const std::string spec = name + ":" + parameter.path + "=" + choice;
        if (Makes(spec) || !ExtraCovers(spec)) specs.push_back(spec);
      }
    }
  }
  specs.insert(specs.end(), std::begin(kExtraSpecs), std::end(kExtraSpecs));
  return specs;
}

class ConformanceTest : public testing::TestWithParam<std::string> {};

TEST_P(ConformanceTest, PassesEveryCheck) {
  TakeLargestGradientError();
  TakeKernelErrors();
  TakeCacheErrors();
  for (const std::string& failure : CheckEverything(GetParam(), Registry::Builtin())) {
    ADD_FAILURE() << GetParam() << ": " << failure;
  }
  const KernelErrors kernels = TakeKernelErrors();
  const CacheErrors cache = TakeCacheErrors();
  std::printf("%s: largest relative error of a gradient %.1e\n", GetParam().c_str(),
              TakeLargestGradientError());
  std::printf(
      "%s: kernels %.1e forth, %.1e back, %.1e of weights (%lld numbers); cache %.1e, bfloat16 "
      "%.1e (%lld)\n",
      GetParam().c_str(), kernels.forward, kernels.backward, kernels.of_weights,
      static_cast<long long>(kernels.comparisons), cache.f32, cache.bf16,
      static_cast<long long>(cache.comparisons));
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
  EXPECT_GE(Specs().size(), Registry::Builtin().entries().size() + std::size(kExtraSpecs));
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
