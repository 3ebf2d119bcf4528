// The one call: storages, strides, executors, kept tables, tiles in parts, and refusals. Every
// scheme and mask is compared in tests/conformance.
#include "sextant/attention/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "sextant/attention/double_heads.h"
#include "sextant/attention/reference.h"
#include "sextant/core/error.h"
#include "sextant/core/half.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

using testing::HasSubstr;

const ModelShape kShape = {{"heads", 4}, {"head_dim", 8}, {"model_dim", 8}, {"context", 200}};

// Inputs and outputs of one call.
struct Case {
  Case(const std::string& spec, Index queries, Index keys, Index kv = 2)
      : scheme(MakeScheme(spec, kShape)),
        query(4 * 8 * queries),
        key(kv * 8 * keys),
        value(key.size()),
        d_out(query.size()),
        out(query.size()),
        sums(4 * queries),
        d_query(query.size()),
        d_key(key.size()),
        d_value(key.size()),
        d_weights(ZeroWeights(*scheme)),
        at_queries(PositionList::Range(keys - queries, queries)),
        at_keys(PositionList::Range(0, keys)) {
    Random random(3), initial(4);
    for (std::vector<float>* x : {&query, &key, &value, &d_out}) {
      for (float& number : *x) number = float(random.Normal());
    }
    weights = scheme->InitialWeights(initial);
    for (std::vector<double>& weight : weights) {
      for (double& number : weight) number += 0.1 * random.Normal();
    }
    in.query = DenseHeads(query.data(), queries, 4, 8);
    in.key = DenseHeads(key.data(), keys, kv, 8);
    in.value = DenseHeads(value.data(), keys, kv, 8);
    in.query_positions = at_queries;
    in.key_positions = at_keys;
    in.mask.causal = true;
  }
  HeadsOf<float> Out() { return DenseHeads(out.data(), in.query.tokens, 4, 8); }
  void Forward(const AttentionSettings& settings = {}) {
    Attention(*scheme, weights, in, Out(), sums.data(), settings);
  }
  PositionedGradients Gradients() {
    return {Out(),
            DenseHeads(d_out.data(), in.query.tokens, 4, 8),
            sums.data(),
            DenseHeads(d_query.data(), in.query.tokens, 4, 8),
            DenseHeads(d_key.data(), in.key.tokens, in.key.heads, 8),
            DenseHeads(d_value.data(), in.key.tokens, in.key.heads, 8),
            d_weights};
  }
  void Backward(const AttentionSettings& settings = {}) {
    AttentionBackward(*scheme, weights, in, Gradients(), settings);
  }
  void Run(const AttentionSettings& settings = {}) {
    d_weights = ZeroWeights(*scheme);
    Forward(settings);
    Backward(settings);
  }

  SchemePtr scheme;
  std::vector<std::vector<double>> weights;
  std::vector<float> query, key, value, d_out, out, sums, d_query, d_key, d_value;
  std::vector<std::vector<double>> d_weights;
  PositionList at_queries, at_keys;
  PositionedHeads in;
};

void ExpectClose(const std::vector<float>& got, const std::vector<float>& right, double tolerance) {
  ASSERT_EQ(got.size(), right.size());
  for (std::size_t n = 0; n < got.size(); ++n) ASSERT_NEAR(got[n], right[n], tolerance) << n;
}

constexpr const char* kSpecs[] = {"none",
                                  "alibi+fire",
                                  "rope+t5",
                                  "learned+shaw",
                                  "rope:frequencies=trainable+transformer-xl",
                                  "log-n+deberta"};

TEST(AttentionTest, TheSameBitsOnAnyExecutorAndWithKeptTables) {
  for (const char* spec : kSpecs) {
    SCOPED_TRACE(spec);
    Case one(spec, 100, 150), other(spec, 100, 150), kept(spec, 100, 150);
    TableCache tables(1 << 24);
    one.Run({.executor = &SerialExecutor()});
    other.Run();
    kept.Run({.tables = &tables});
    const std::int64_t misses = tables.usage().misses;
    kept.Run({.tables = &tables});
    EXPECT_EQ(tables.usage().misses, misses);
    EXPECT_EQ(tables.usage().hits > 0, std::string(spec) != "none");
    for (Case* same : {&other, &kept}) {
      EXPECT_EQ(one.out, same->out);
      EXPECT_EQ(one.sums, same->sums);
      EXPECT_EQ(one.d_query, same->d_query);
      EXPECT_EQ(one.d_key, same->d_key);
      EXPECT_EQ(one.d_value, same->d_value);
      EXPECT_EQ(one.d_weights, same->d_weights);
    }
  }
}

// A tile that does not fit is filled for some queries at a time; nothing else changes.
TEST(AttentionTest, TilesInPartsGiveTheWhole) {
  for (const char* spec :
       {"fire", "alibi+fire+temperature:floor_scale=8", "rope+swin:height=8,width=16"}) {
    SCOPED_TRACE(spec);
    Case whole(spec, 70, 90), parts(spec, 70, 90), rows(spec, 70, 90);
    whole.Run();
    parts.Run({.tile_bytes = 4 * 90 * 4 * 16});  // 16 queries
    rows.Run({.tile_bytes = 1});
    for (Case* cut : {&parts, &rows}) {
      ExpectClose(cut->out, whole.out, 1e-6);
      ExpectClose(cut->sums, whole.sums, 2e-6);
      ExpectClose(cut->d_query, whole.d_query, 2e-6);
      ExpectClose(cut->d_key, whole.d_key, 2e-6);
      ExpectClose(cut->d_value, whole.d_value, 2e-6);
      for (std::size_t w = 0; w < whole.d_weights.size(); ++w) {
        for (std::size_t n = 0; n < whole.d_weights[w].size(); ++n) {
          EXPECT_NEAR(cut->d_weights[w][n], whole.d_weights[w][n], 2e-5) << w << " " << n;
        }
      }
    }
  }
}

// Queries, keys and values side by side in one buffer, as one projection writes them, and each in
// another storage.
TEST(AttentionTest, TakesStridesAndMixedStorage) {
  constexpr Index kTokens = 21;
  Case dense("rope+alibi", kTokens, kTokens);
  std::vector<float> joint(std::size_t(kTokens * 8 * 8), 99), out(joint.size(), 99);
  const auto strided = [&](std::vector<float>& memory, Index first, Index heads) {
    return HeadsOf<float>{memory.data() + first * 8, kTokens, heads, 8, 64, 8};
  };
  const auto copy = [&](const std::vector<float>& from, Index first, Index heads) {
    for (Index n = 0; n < kTokens; ++n) {
      std::copy_n(from.begin() + n * heads * 8, heads * 8, joint.begin() + n * 64 + first * 8);
    }
  };
  copy(dense.query, 0, 4);
  copy(dense.key, 4, 2);
  copy(dense.value, 6, 2);
  Case apart = dense;
  dense.Forward();
  apart.in.query = strided(joint, 0, 4);
  apart.in.key = strided(joint, 4, 2);
  apart.in.value = strided(joint, 6, 2);
  apart.in.query_positions = apart.at_queries;
  apart.in.key_positions = apart.at_keys;
  Attention(*apart.scheme, {}, apart.in, strided(out, 2, 4));
  for (Index n = 0; n < kTokens; ++n) {
    for (Index c = 0; c < 64; ++c) {
      const float got = out[std::size_t(n * 64 + c)];
      EXPECT_EQ(got, c < 16 || c >= 48 ? 99 : dense.out[std::size_t(n * 32 + c - 16)]);
    }
  }
  std::vector<Bf16> key;
  std::vector<F16> value;
  for (float& x : dense.key)
    key.push_back({Bf16Bits(double(x))}), x = float(RoundToBf16(double(x)));
  for (float& x : dense.value)
    value.push_back({F16Bits(double(x))}), x = float(RoundToF16(double(x)));
  dense.Forward();
  apart.in.key = DenseHeads(key.data(), kTokens, 2, 8);
  apart.in.value = DenseHeads(value.data(), kTokens, 2, 8);
  std::vector<float> mixed(dense.out.size());
  Attention(*apart.scheme, {}, apart.in, DenseHeads(mixed.data(), kTokens, 4, 8));
  EXPECT_EQ(mixed, dense.out) << "16-bit keys and values are exact in float32";
}

TEST(AttentionTest, WeightGradientsAreAddedAndMayBeUnwanted) {
  Case once("t5", 20, 20), twice("t5", 20, 20), without("t5", 20, 20);
  once.Run();
  twice.Run();
  twice.Backward();
  for (std::size_t n = 0; n < once.d_weights[0].size(); ++n) {
    EXPECT_EQ(twice.d_weights[0][n], 2 * once.d_weights[0][n]);
  }
  without.Forward();
  PositionedGradients gradients = without.Gradients();
  gradients.d_weights = {};
  AttentionBackward(*without.scheme, without.weights, without.in, gradients);
  EXPECT_EQ(without.d_query, once.d_query);
  EXPECT_EQ(without.d_key, once.d_key);
}

TEST(AttentionTest, HiddenRowsAndMissingKeysGiveNothing) {
  for (const char* spec : kSpecs) {
    SCOPED_TRACE(spec);
    Case none(spec, 3, 0), hidden(spec, 3, 5), empty(spec, 0, 4);
    none.at_queries = PositionList::Range(0, 3);
    none.in.query_positions = none.at_queries;
    none.Run();
    EXPECT_THAT(none.out, testing::Each(0));
    EXPECT_THAT(none.sums, testing::Each(-std::numeric_limits<float>::infinity()));
    EXPECT_THAT(none.d_query, testing::Each(0));
    const std::vector<std::uint8_t> valid(5, 0);
    hidden.in.mask.key_valid = valid;
    hidden.Run();
    EXPECT_THAT(hidden.out, testing::Each(0));
    EXPECT_THAT(hidden.d_query, testing::Each(0));
    EXPECT_THAT(hidden.d_key, testing::Each(0));
    empty.d_key.assign(empty.d_key.size(), 7);
    empty.d_value = empty.d_key;
    empty.Run();
    EXPECT_THAT(empty.d_key, testing::Each(0));
    EXPECT_THAT(empty.d_value, testing::Each(0));
  }
}

// Far out, where float32 products of position and frequency are off by 1e-2.
TEST(AttentionTest, HoldsItsErrorAtPositionsOfAMillion) {
  for (const char* spec :
       {"rope:base=500000", "rope+alibi", "xpos:centre=1048576", "t5", "log-n"}) {
    SCOPED_TRACE(spec);
    Case far(spec, 40, 60);
    far.at_queries = PositionList::Range((1 << 20) + 20, 40);
    far.at_keys = PositionList::Range(1 << 20, 60);
    far.in.query_positions = far.at_queries;
    far.in.key_positions = far.at_keys;
    far.Forward();
    const Array<double, 3> query = ToDouble(far.in.query), key = ToDouble(far.in.key),
                           value = ToDouble(far.in.value);
    const AttentionOutput right = ReferenceAttention(
        *far.scheme, far.weights, {query, key, value, far.at_queries, far.at_keys, far.in.mask, 0});
    const Array<double, 3> out = ToDouble(far.Out());
    double error = 0, size = 0;
    for (std::size_t n = 0; n < out.values().size(); ++n) {
      error = std::max(error, std::abs(out.values()[n] - right.out.values()[n]));
      size = std::max(size, std::abs(right.out.values()[n]));
    }
    EXPECT_LE(error, 2e-6 * size);
  }
}

// Cells that are part of a larger matrix.
TEST(AttentionTest, CellsMayHaveGaps) {
  Case wide("alibi", 5, 7), together("alibi", 5, 7);
  Random random(6);
  std::vector<std::uint8_t> larger(5 * 11), cells;
  for (std::uint8_t& cell : larger) cell = random.Below(2) == 0;
  for (std::size_t i = 0; i < 5; ++i) {
    cells.insert(cells.end(), larger.begin() + std::ptrdiff_t(i * 11),
                 larger.begin() + std::ptrdiff_t(i * 11 + 7));
  }
  wide.in.mask.cells = {larger.data(), {5, 7}, {11, 1}};
  together.in.mask.cells = {cells.data(), {5, 7}};
  wide.Forward();
  together.Forward();
  EXPECT_EQ(wide.out, together.out);
}

// The message of what the call throws, having written nothing.
std::string Refusal(const std::string& spec, const std::function<void(Case&)>& change) {
  Case at(spec, 6, 9);
  change(at);
  at.out.assign(at.out.size(), 42);
  at.sums.assign(at.sums.size(), 42);
  try {
    at.Forward();
  } catch (const Error& error) {
    EXPECT_THAT(at.out, testing::Each(42)) << error.what();
    EXPECT_THAT(at.sums, testing::Each(42));
    return error.what();
  }
  return "accepted";
}

TEST(AttentionRefusalTest, NothingIsWrittenWhereInputsDoNotFit) {
  for (const std::string spec : {"rope+alibi", "forgetting"}) {
    SCOPED_TRACE(spec);
    EXPECT_EQ(Refusal(spec, [](Case&) {}), "accepted");
    EXPECT_THAT(Refusal(spec, [](Case& at) { at.in.value.tokens = 8; }),
                HasSubstr("key and value must have the same shape"));
    EXPECT_THAT(Refusal(spec, [](Case& at) { at.in.key.heads = at.in.value.heads = 3; }),
                HasSubstr("multiple of key heads, got 4 and 3"));
    EXPECT_THAT(Refusal(spec, [](Case& at) { at.in.key.head_dim = at.in.value.head_dim = 4; }),
                HasSubstr("same head_dim, got 8 and 4"));
    EXPECT_THAT(Refusal(spec, [](Case& at) { at.in.key_positions = at.at_queries; }),
                HasSubstr("one position, got 6 for 6 queries and 6 for 9 keys"));
    EXPECT_THAT(Refusal(spec, [](Case& at) { at.in.query.tokens = -1; }),
                HasSubstr("query must have no negative size or stride, got [-1, 4, 8]"));
    EXPECT_THAT(Refusal(spec, [](Case& at) { at.in.key.token_stride = -16; }),
                HasSubstr("key must have no negative size or stride"));
    EXPECT_THAT(
        Refusal(spec, [](Case& at) { at.in.value = DenseHeads<const float>(nullptr, 9, 2, 8); }),
        HasSubstr("value has no numbers"));
    EXPECT_THAT(Refusal(spec, [](Case& at) { at.in.mask.window = -1; }),
                HasSubstr("window must not be negative"));
    const std::vector<std::uint8_t> valid(8);
    EXPECT_THAT(Refusal(spec, [&](Case& at) { at.in.mask.key_valid = valid; }),
                HasSubstr("key_valid must have 9 entries, got 8"));
    EXPECT_THAT(Refusal(spec, [](Case& at) { at.weights.emplace_back(); }),
                HasSubstr("needs weights in the shapes it declares"));
  }
  Case other("rope", 6, 9);
  const auto refusal = [&](const HeadsOut& out) {
    try {
      Attention(*other.scheme, {}, other.in, out);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal(other.Out()), "accepted");
  EXPECT_THAT(refusal(DenseHeads(other.out.data(), 5, 4, 8)),
              HasSubstr("out must have the shape of the queries"));
  EXPECT_THAT(refusal(DenseHeads(other.query.data(), 6, 4, 8)),
              HasSubstr("out must not overlap an input"));
  EXPECT_THAT(Refusal("alibi:heads=2", [](Case&) {}), HasSubstr("a bias for 2 heads"));
  EXPECT_THAT(Refusal("learned:positions=8", [](Case&) {}),
              HasSubstr("position 8 is outside the table of 8 positions"));
  EXPECT_THAT(Refusal("swin:height=2,width=4", [](Case&) {}), HasSubstr("outside the window"));
  EXPECT_THAT(Refusal("layers:[rope],[none]", [](Case&) {}), HasSubstr("a model's layers differ"));
  EXPECT_THAT(Refusal("alibi",
                      [](Case& at) {
                        at.at_keys = PositionList(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7,
                                                                            std::int64_t{1} << 27});
                        at.in.key_positions = at.at_keys;
                        at.in.mask.causal = false;
                      }),
              HasSubstr("positions must lie within 2^26 of each other"));
}

// The part of a tile where a position is outside would come after others are written.
TEST(AttentionRefusalTest, ALaterPartsPositionIsFoundFirst) {
  Case at("swin:height=3,width=3", 6, 12);
  at.out.assign(at.out.size(), 42);
  EXPECT_THROW(at.Forward({.tile_bytes = 1}), Error);
  EXPECT_THAT(at.out, testing::Each(42));
}

TEST(AttentionRefusalTest, GradientsMustFit) {
  const auto refusal = [](const std::function<void(Case&, PositionedGradients&)>& change) {
    Case at("t5", 6, 9);
    at.Forward();
    PositionedGradients gradients = at.Gradients();
    change(at, gradients);
    at.d_query.assign(at.d_query.size(), 42);
    try {
      AttentionBackward(*at.scheme, at.weights, at.in, gradients);
    } catch (const Error& error) {
      EXPECT_THAT(at.d_query, testing::Each(42));
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal([](Case&, PositionedGradients&) {}), "accepted");
  EXPECT_THAT(refusal([](Case&, PositionedGradients& g) { g.d_out.tokens = 5; }),
              HasSubstr("d_out must have the shape"));
  EXPECT_THAT(refusal([](Case&, PositionedGradients& g) { g.out.heads = 2; }),
              HasSubstr("out must have the shape"));
  EXPECT_THAT(refusal([](Case&, PositionedGradients& g) { g.d_query.tokens = 5; }),
              HasSubstr("d_query must have the shape"));
  EXPECT_THAT(refusal([](Case&, PositionedGradients& g) { g.d_key.heads = 1; }),
              HasSubstr("d_key must have the shape"));
  EXPECT_THAT(refusal([](Case&, PositionedGradients& g) { g.d_value.head_dim = 1; }),
              HasSubstr("d_value must have the shape"));
  EXPECT_THAT(refusal([](Case&, PositionedGradients& g) { g.log_sum_exp = nullptr; }),
              HasSubstr("needs log_sum_exp"));
  EXPECT_THAT(refusal([](Case& at, PositionedGradients& g) {
                g.d_query = DenseHeads(at.query.data(), 6, 4, 8);
              }),
              HasSubstr("must not overlap an input"));
  EXPECT_THAT(refusal([](Case& at, PositionedGradients&) { at.d_weights[0].pop_back(); }),
              HasSubstr("d_weights must have the shapes of the weights of t5"));
}

}  // namespace
}  // namespace sextant
