// Settings out of range and rules across settings of biases, contextual biases and query scales:
// what was given, what is allowed, and what is probably meant.
#include <gtest/gtest.h>

#include "sextant/core/error.h"
#include "sextant/schemes/refusal.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

struct Bad {
  const char* spec;
  const char* message;
};

class BadBiasTest : public testing::TestWithParam<Bad> {};

TEST_P(BadBiasTest, IsRefusedWithARuleAndTheValueGiven) {
  EXPECT_EQ(Refusal(GetParam().spec), GetParam().message);
}

constexpr Bad kAlibi[] = {
    {"alibi:heads=4097", "alibi: heads must be a whole number from 1 to 4096, got 4097"},
    {"alibi:max_bias=65", "alibi: max_bias must be a number from 0.125 to 64, got 65"},
    {"alibi:family=geometrical",
     "alibi: family must be one of reference, geometric, got \"geometrical\"; did you mean "
     "\"geometric\"?"},
    {"alibi:slopes=train_ed",
     "alibi: slopes must be one of fixed, trained, got \"train_ed\"; did you mean \"trained\"?"},
    {"alibi:applied=after_scale",
     "alibi: applied must be one of after_scaling, with_scores, got \"after_scale\"; did you mean "
     "\"after_scaling\"?"},
    {"alibi:head_dim=0", "alibi: head_dim must be a whole number from 1 to 4096, got 0"},
    {"alibi:rounding=fp16", "alibi: rounding must be one of none, bf16, got \"fp16\""},
    {"alibi:future_factor=17", "alibi: future_factor must be a number from -16 to 16, got 17"},
    {"alibi:heads_before=-1", "alibi: heads_before must be a whole number from 0 to 65536, got -1"},
    {"alibi:heads_after=65537",
     "alibi: heads_after must be a whole number from 0 to 65536, got 65537"},
};
INSTANTIATE_TEST_SUITE_P(Alibi, BadBiasTest, testing::ValuesIn(kAlibi));

constexpr Bad kTables[] = {
    {"t5:scope=layer", "t5: scope must be one of shared, per_layer, got \"layer\""},
    {"t5:scores=unscale",
     "t5: scores must be one of scaled, unscaled, got \"unscale\"; did you mean \"unscaled\"?"},
    {"t5:head_dim=4097", "t5: head_dim must be a whole number from 1 to 4096, got 4097"},
    {"t5:buckets=1", "t5: buckets must be a whole number from 2 to 65536, got 1"},
    {"t5:init_std=-1", "t5: init_std must be a number from 0 to 10, got -1"},
    {"t5:max_distance=16",
     "t5: max_distance must be above 16 with 32 buckets, got 16; the first "
     "half of the buckets holds one distance each"},
    {"learned-bias:heads=0", "learned-bias: heads must be a whole number from 1 to 4096, got 0"},
    {"learned-bias:max_distance=-1",
     "learned-bias: max_distance must be a whole number from 0 to 1048576, got -1"},
    {"learned-bias:direction=both",
     "learned-bias: direction must be one of causal, bidirectional, "
     "got \"both\""},
    {"learned-bias:scope=share",
     "learned-bias: scope must be one of shared, per_layer, got \"share\"; did you mean "
     "\"shared\"?"},
    {"learned-bias:init_std=11", "learned-bias: init_std must be a number from 0 to 10, got 11"},
    {"swin:heads=0", "swin: heads must be a whole number from 1 to 4096, got 0"},
    {"swin:height=0", "swin: height must be a whole number from 1 to 256, got 0"},
    {"swin:width=257", "swin: width must be a whole number from 1 to 256, got 257"},
    {"swin:scope=1", "swin: scope must be one of shared, per_layer, got 1"},
    {"swin:init_std=11", "swin: init_std must be a number from 0 to 10, got 11"},
    {"sam:head_dim=0", "sam: head_dim must be a whole number from 1 to 4096, got 0"},
    {"sam:height=4097", "sam: height must be a whole number from 1 to 4096, got 4097"},
    {"sam:width=0", "sam: width must be a whole number from 1 to 4096, got 0"},
    {"sam:scope=1", "sam: scope must be one of shared, per_layer, got 1"},
    {"sam:init_std=11", "sam: init_std must be a number from 0 to 10, got 11"},
};
INSTANTIATE_TEST_SUITE_P(Tables, BadBiasTest, testing::ValuesIn(kTables));

constexpr Bad kFunctions[] = {
    {"kerple:heads=0", "kerple: heads must be a whole number from 1 to 4096, got 0"},
    {"kerple:kernel=logs",
     "kerple: kernel must be one of log, power, got \"logs\"; did you mean \"log\"?"},
    {"kerple:scope=1", "kerple: scope must be one of shared, per_layer, got 1"},
    {"sandwich:heads=0", "sandwich: heads must be a whole number from 1 to 4096, got 0"},
    {"sandwich:dims=0", "sandwich: dims must be a whole number from 2 to 65536, got 0"},
    {"sandwich:dims=63",
     "sandwich: dims must be even because each frequency has a sine and a "
     "cosine, got 63; use 64"},
    {"sandwich:base=1", "sandwich: base must be a number from 1.001 to 1000000000000, got 1"},
    {"sandwich:terms=one", "sandwich: terms must be one of from_zero, from_one, got \"one\""},
    {"cpb:heads=0", "cpb: heads must be a whole number from 1 to 4096, got 0"},
    {"cpb:hidden_dim=0", "cpb: hidden_dim must be a whole number from 1 to 4096, got 0"},
    {"cpb:depth=0", "cpb: depth must be a whole number from 1 to 16, got 0"},
    {"cpb:distance=logs",
     "cpb: distance must be one of log, linear, got \"logs\"; did you mean \"log\"?"},
    {"cpb:scope=1", "cpb: scope must be one of shared, per_layer, got 1"},
    {"fire:heads=0", "fire: heads must be a whole number from 1 to 4096, got 0"},
    {"fire:hidden_dim=0", "fire: hidden_dim must be a whole number from 1 to 4096, got 0"},
    {"fire:length=0", "fire: length must be a number from 1 to 1000000000, got 0"},
    {"fire:initial_c=0", "fire: initial_c must be a number from 1e-06 to 1000000, got 0"},
    {"fire:epsilon=0", "fire: epsilon must be a number from 1e-12 to 1, got 0"},
    {"fire:scope=1", "fire: scope must be one of shared, per_layer, got 1"},
    {"swin-v2:heads=0", "swin-v2: heads must be a whole number from 1 to 4096, got 0"},
    {"swin-v2:height=1", "swin-v2: height must be a whole number from 2 to 256, got 1"},
    {"swin-v2:width=1", "swin-v2: width must be a whole number from 2 to 256, got 1"},
    {"swin-v2:trained_height=257",
     "swin-v2: trained_height must be a whole number from 0 to 256, got 257"},
    {"swin-v2:trained_width=-1",
     "swin-v2: trained_width must be a whole number from 0 to 256, got -1"},
    {"swin-v2:trained_height=1",
     "swin-v2: trained_height must be 0 or from 2 to 256, got 1; 0 stands for the window itself; "
     "differences are divided by the size minus one"},
    {"swin-v2:trained_width=1",
     "swin-v2: trained_width must be 0 or from 2 to 256, got 1; 0 stands for the window itself; "
     "differences are divided by the size minus one"},
    {"swin-v2:hidden_dim=4097",
     "swin-v2: hidden_dim must be a whole number from 1 to 4096, got 4097"},
    {"swin-v2:scope=1", "swin-v2: scope must be one of shared, per_layer, got 1"},
};
INSTANTIATE_TEST_SUITE_P(Functions, BadBiasTest, testing::ValuesIn(kFunctions));

constexpr Bad kContextual[] = {
    {"cope:head_dim=0", "cope: head_dim must be a whole number from 1 to 4096, got 0"},
    {"cope:max_positions=0", "cope: max_positions must be a whole number from 1 to 65536, got 0"},
    {"cope:scope=1", "cope: scope must be one of shared, per_layer, got 1"},
    {"cope:init_std=-1", "cope: init_std must be a number from 0 to 10, got -1"},
    {"forgetting:heads=0", "forgetting: heads must be a whole number from 1 to 4096, got 0"},
    {"forgetting:head_dim=0", "forgetting: head_dim must be a whole number from 1 to 4096, got 0"},
    {"forgetting:scope=1", "forgetting: scope must be one of shared, per_layer, got 1"},
    {"forgetting:initial_bias=31",
     "forgetting: initial_bias must be a number from -30 to 30, got 31"},
    {"forgetting:init_std=-1", "forgetting: init_std must be a number from 0 to 10, got -1"},
    {"temperature:form=llama",
     "temperature: form must be one of llama4, ministral, got \"llama\"; did you mean \"llama4\"?"},
    {"temperature:floor_scale=0",
     "temperature: floor_scale must be a whole number from 1 to 1073741824, got 0"},
    {"temperature:beta=-1", "temperature: beta must be a number from 0 to 100, got -1"},
    {"log-n:trained_length=1",
     "log-n: trained_length must be a whole number from 2 to 1073741824, got 1"},
};
INSTANTIATE_TEST_SUITE_P(Contextual, BadBiasTest, testing::ValuesIn(kContextual));

}  // namespace
}  // namespace sextant
