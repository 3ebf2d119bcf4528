// Reference attention at its limits: nothing to attend to, and inputs that do not fit.
#include <gtest/gtest.h>

#include <cmath>

#include "sextant/attention/reference.h"
#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

struct Sizes {
  Index heads = 2, kv_heads = 2, queries = 3, keys = 4, head_dim = 4;
};

// Attention over zeros of the given sizes; returns the message of the Error, or "fine".
struct Attempt {
  explicit Attempt(const Sizes& sizes)
      : query({sizes.heads, sizes.queries, sizes.head_dim}),
        key({sizes.kv_heads, sizes.keys, sizes.head_dim}),
        value(key),
        query_positions(PositionList::Range(0, sizes.queries)),
        key_positions(PositionList::Range(0, sizes.keys)) {}

  AttentionInput Input() const {
    return {query, key, value, query_positions, key_positions, mask, 0};
  }
  std::string Run(const std::string& spec) const {
    const SchemePtr scheme = MakeScheme(spec);
    return Run(*scheme, ZeroWeights(*scheme));
  }
  std::string Run(const Scheme& scheme, Weights weights) const {
    std::string forward = "fine", backward = "fine";
    try {
      ReferenceAttention(scheme, weights, Input());
    } catch (const Error& error) {
      forward = error.what();
    }
    try {
      ReferenceAttentionBackward(scheme, weights, Input(), query.view());
    } catch (const Error& error) {
      backward = error.what();
    }
    EXPECT_EQ(forward, backward);
    return forward;
  }

  Array<double, 3> query, key, value;
  PositionList query_positions, key_positions;
  AttentionMask mask;
};

TEST(ReferenceLimitsTest, NoQueriesOrNoKeys) {
  int schemes = 0;
  for (const SchemeEntry& entry : Registry::Builtin().entries()) {
    const SchemePtr scheme =
        entry.make({}, {{"model_dim", 8}, {"heads", 2}, {"head_dim", 4}, {"context", 16}});
    const std::vector<std::vector<double>> weights = ZeroWeights(*scheme);
    for (const auto& [queries, keys] : {std::pair<Index, Index>{0, 4}, {3, 0}, {0, 0}}) {
      const Attempt at({.queries = queries, .keys = keys});
      const AttentionOutput got = ReferenceAttention(*scheme, weights, at.Input());
      EXPECT_EQ(got.out.shape(), (Shape<3>{2, queries, 4}));
      EXPECT_EQ(got.weights.shape(), (Shape<3>{2, queries, keys}));
      for (double out : got.out.values()) EXPECT_EQ(out, 0);
      for (double sum : got.log_sum_exp.values()) EXPECT_EQ(sum, -INFINITY);
      const AttentionGradients back =
          ReferenceAttentionBackward(*scheme, weights, at.Input(), at.query.view());
      EXPECT_EQ(back.key.shape(), at.key.shape());
      EXPECT_EQ(back.weights, weights);
    }
    ++schemes;
  }
  EXPECT_GE(schemes, 8);
}

TEST(ReferenceLimitsTest, ShapesThatDoNotFitAreRefused) {
  EXPECT_EQ(Attempt({}).Run("none"), "fine");
  Attempt values({});
  values.value = Array<double, 3>({2, 5, 4});
  EXPECT_EQ(values.Run("none"), "attention: key and value must have the same shape");
  Attempt widths({});
  widths.key = widths.value = Array<double, 3>({2, 4, 6});
  EXPECT_EQ(widths.Run("none"),
            "attention: query and key must have the same head_dim, got 4 and 6");
  EXPECT_EQ(Attempt({.heads = 3}).Run("none"),
            "attention: query heads must be a multiple of key heads, got 3 and 2");
  EXPECT_EQ(Attempt({.kv_heads = 0}).Run("none"),
            "attention: query heads must be a multiple of key heads, got 2 and 0");
  Attempt positions({});
  positions.key_positions = PositionList::Range(0, 3);
  EXPECT_EQ(positions.Run("none"),
            "attention: every query and key needs one position, got 3 for 3 queries and 3 for 4 "
            "keys");
}

TEST(ReferenceLimitsTest, SchemesOfOtherSizesAreRefused) {
  EXPECT_EQ(Attempt({}).Run("alibi:heads=4"),
            "attention: alibi has a bias for 4 heads, the queries have 2");
  EXPECT_EQ(Attempt({}).Run("rope:rotated_dims=6"),
            "rope: rotated_dims must be at most head_dim 4, got 6");
  EXPECT_EQ(Attempt({}).Run("sinusoidal:model_dim=6"),
            "sinusoidal: model_dim must be head_dim 4 or heads * head_dim 8, got 6");
  EXPECT_EQ(Attempt({}).Run("shaw:head_dim=6"),
            "attention: shaw has vectors for 1 heads of 6 channels, the queries have 2 of 4");
  EXPECT_EQ(Attempt({}).Run("transformer-xl:heads=3,head_dim=4"),
            "attention: transformer-xl has vectors for 3 heads of 4 channels, the queries have 2 "
            "of 4");
  // One projection would serve all heads, but its content and position biases do not.
  EXPECT_EQ(Attempt({}).Run("transformer-xl:heads=1,head_dim=4"),
            "attention: transformer-xl has bias vectors for 1 heads, the queries have 2");
  EXPECT_EQ(Attempt({}).Run("learned:model_dim=4,positions=3").find("learned: position 3 is out"),
            0u);
}

TEST(ReferenceLimitsTest, WeightsThatDoNotFitAreRefused) {
  const SchemePtr t5 = MakeScheme("t5:heads=2");
  const std::string refusal = "attention: t5 needs weights in the shapes it declares";
  EXPECT_EQ(Attempt({}).Run(*t5, {}), refusal);
  EXPECT_EQ(Attempt({}).Run(*t5, std::vector<std::vector<double>>(1)), refusal);
  EXPECT_EQ(Attempt({}).Run(*t5, std::vector<std::vector<double>>(2, std::vector<double>(64))),
            refusal);
  EXPECT_EQ(Attempt({}).Run(*t5, std::vector<std::vector<double>>(1, std::vector<double>(64))),
            "fine");
}

TEST(ReferenceLimitsTest, GradientsOfAnotherShapeAreRefused) {
  const Attempt at({});
  const Array<double, 3> d_out({2, 4, 4});
  EXPECT_THROW(ReferenceAttentionBackward(*MakeScheme("none"), {}, at.Input(), d_out.view()),
               Error);
  EXPECT_THROW(AdditiveScoreTerms(*MakeScheme("none"), {}, Attempt({.heads = 3}).Input()), Error);
}

TEST(ReferenceLimitsTest, MasksThatDoNotFitAreRefused) {
  Attempt at({});
  const std::vector<std::uint8_t> valid(3, 1);
  at.mask.key_valid = valid;
  EXPECT_EQ(at.Run("none"), "mask: key_valid must have 4 entries, got 3");
}

TEST(ReferenceLimitsTest, PositionsTooFarApartAreRefusedBeforeMemoryIsTaken) {
  Attempt at({.queries = 2});
  const std::vector<std::int64_t> far = {0, std::int64_t{1} << 40};
  at.query_positions = PositionList(far);
  EXPECT_EQ(at.Run("alibi:heads=2").find("attention: positions must lie within 2^26"), 0u);
}

}  // namespace
}  // namespace sextant
