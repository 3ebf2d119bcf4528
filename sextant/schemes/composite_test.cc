// Compositions: sums of tables, products of query factors, weights in order, claims of the whole.
#include "sextant/schemes/composite.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

// bias[h, i, j] = w (h + 1) i j
struct Tile {
  static constexpr SchemeInfo info{"tile", "", "", "", ""};
  int heads = 2;
  void fields(auto& field) { field("heads", heads, 1, 64, "heads", "heads"); }
  Claims claims() const { return {.learned = true, .any_length = true}; }
  std::vector<WeightInfo> weights() const { return {{"w", {1}, WeightScope::kModel, ""}}; }
  std::vector<std::vector<double>> initial_weights(Random&) const { return {{1}}; }
  void tile_bias(Weights w, const Positions& q, const Positions& k, View<double, 3> bias) const {
    for (Index h = 0; h < heads; ++h) {
      for (Index i = 0; i < q.count(); ++i) {
        for (Index j = 0; j < k.count(); ++j) {
          bias(h, i, j) = w[0][0] * double((h + 1) * q.values(0, i) * k.values(0, j));
        }
      }
    }
  }
  void tile_bias_back(Weights, const Positions& q, const Positions& k, View<const double, 3> d,
                      WeightGradients g) const {
    for (Index h = 0; h < heads; ++h) {
      for (Index i = 0; i < q.count(); ++i) {
        for (Index j = 0; j < k.count(); ++j) {
          g[0][0] += d(h, i, j) * double((h + 1) * q.values(0, i) * k.values(0, j));
        }
      }
    }
  }
};

// scale[n] = 1 + w p
struct Temperature {
  static constexpr SchemeInfo info{"temperature", "", "", "", ""};
  void fields(auto&) {}
  Claims claims() const { return {.learned = true, .any_length = true}; }
  std::vector<WeightInfo> weights() const { return {{"w", {1}, WeightScope::kModel, ""}}; }
  std::vector<std::vector<double>> initial_weights(Random&) const { return {{0.5}}; }
  void query_scale(Weights w, const Positions& p, View<double, 1> scale) const {
    for (Index n = 0; n < p.count(); ++n) scale(n) = 1 + w[0][0] * double(p.values(0, n));
  }
  void query_scale_back(Weights, const Positions& p, View<const double, 1> d,
                        WeightGradients g) const {
    for (Index n = 0; n < p.count(); ++n) g[0][0] += d(n) * double(p.values(0, n));
  }
};

SchemePtr MakeTile(int heads) { return EntryOf<Tile>().make({{"heads", std::int64_t{heads}}}, {}); }
SchemePtr MakeTemperature() { return EntryOf<Temperature>().make({}, {}); }

TEST(CompositeTest, RowsAddUp) {
  const SchemePtr both = MakeScheme("sinusoidal:model_dim=4+learned:model_dim=4,positions=5");
  const SchemePtr sinusoidal = MakeScheme("sinusoidal:model_dim=4");
  std::vector<std::vector<double>> table(1);
  for (int i = 0; i < 20; ++i) table[0].push_back(i);
  const PositionList at = PositionList::Range(1, 3);
  Array<double, 2> one({3, 4});
  sinusoidal->FillAdditive({}, at, one);
  // Rows 6 wide, of which the scheme sees 4: the rest must stay.
  Array<double, 2> wide({3, 6});
  std::fill(wide.values().begin(), wide.values().end(), -1e9);
  both->FillAdditive(table, at, View<double, 2>(wide.values().data() + 1, {3, 4}, {6, 1}));
  for (Index n = 0; n < 3; ++n) {
    EXPECT_EQ(wide(n, 0), -1e9);
    EXPECT_EQ(wide(n, 5), -1e9);
    for (Index c = 0; c < 4; ++c) {
      EXPECT_EQ(wide(n, 1 + c), one(n, c) + double(4 * (n + 1) + c));
    }
  }
  EXPECT_EQ(both->model_dim(), 4);
}

TEST(CompositeTest, BiasesAddUpAndGradientsReachEachPart) {
  const SchemePtr both = MakeScheme("alibi:heads=2+t5:heads=2,buckets=4,max_distance=8");
  std::vector<std::vector<double>> table = {{0, 1, 2, 3, 4, 5, 6, 7}};
  Array<double, 2> bias({2, 3});
  both->FillDistanceBias(table, {-2, 3}, bias);
  EXPECT_EQ(bias(0, 0), -2 * 0.0625 + 4);
  EXPECT_EQ(bias(1, 1), -1 * 0.00390625 + 3);
  EXPECT_EQ(bias(1, 2), 1);
  std::vector<std::vector<double>> gradients = ZeroWeights(*both);
  Array<double, 2> d_bias({2, 3});
  d_bias.values() = {1, 2, 3, 4, 5, 6};
  both->BackDistanceBias(table, {-2, 3}, d_bias, gradients);
  EXPECT_EQ(gradients[0], (std::vector<double>{3, 6, 2, 5, 1, 4, 0, 0}));
}

TEST(CompositeTest, TileAndDistanceBiasesStandSideBySide) {
  const SchemePtr both = Compose({MakeScheme("alibi:heads=2"), MakeTile(2), MakeTile(2)});
  EXPECT_TRUE(both->offers(Hook::kDistanceBias));
  EXPECT_TRUE(both->offers(Hook::kTileBias));
  EXPECT_EQ(both->bias_heads(), 2);
  const std::vector<std::vector<double>> weights = {{10}, {100}};
  Array<double, 3> tile({2, 1, 2});
  const PositionList query = PositionList::Range(3, 1), keys = PositionList::Range(1, 2);
  both->FillTileBias(weights, query, keys, tile);
  EXPECT_EQ(tile.values(), (std::vector<double>{330, 660, 660, 1320}));
  std::vector<std::vector<double>> gradients = ZeroWeights(*both);
  both->BackTileBias(weights, query, keys, tile, gradients);
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_EQ(gradients[0][0], 330 * 3 + 660 * 6 + 660 * 6 + 1320 * 12);
}

TEST(CompositeTest, QueryFactorsMultiplyAndShareTheirGradient) {
  const SchemePtr both = Compose({MakeTemperature(), MakeTemperature()});
  const std::vector<std::vector<double>> weights = {{0.5}, {0.25}};
  const PositionList at = PositionList::Range(2, 2);
  Array<double, 1> scale({2}), d_scale({2});
  both->FillQueryScale(weights, at, scale);
  EXPECT_EQ(scale(0), 2 * 1.5);
  EXPECT_EQ(scale(1), 2.5 * 1.75);
  d_scale.values() = {1, 10};
  std::vector<std::vector<double>> gradients = ZeroWeights(*both);
  both->BackQueryScale(weights, at, d_scale, gradients);
  EXPECT_EQ(gradients[0][0], 1 * 2 * 1.5 + 10 * 3 * 1.75);
  EXPECT_EQ(gradients[1][0], 1 * 2 * 2.0 + 10 * 3 * 2.5);
}

TEST(CompositeTest, WeightsAndParametersCarryTheirPartsName) {
  const SchemePtr both = MakeScheme("shaw:head_dim=2,clip=1+t5:heads=1");
  std::vector<std::string> names;
  for (const WeightInfo& weight : both->weights()) names.push_back(weight.name);
  EXPECT_EQ(names, (std::vector<std::string>{"shaw.key", "shaw.value", "t5.table"}));
  EXPECT_EQ(both->parameters().front().path, "shaw.head_dim");
  EXPECT_EQ(both->parameters().back().path, "t5.init_std");
  EXPECT_EQ(both->name(), "shaw+t5");
  EXPECT_EQ(both->info().name, "shaw+t5");
  Random random(4), again(4);
  const std::vector<std::vector<double>> weights = both->InitialWeights(random);
  ASSERT_EQ(weights.size(), 3u);
  for (std::size_t w = 0; w < 3; ++w) {
    EXPECT_EQ(Index(weights[w].size()), both->weights()[w].elements());
  }
  EXPECT_EQ(MakeScheme("shaw:head_dim=2,clip=1")->InitialWeights(again)[1], weights[1]);
}

TEST(CompositeTest, ClaimsHoldForTheWhole) {
  const Claims both = MakeScheme("sinusoidal+learned")->claims();
  EXPECT_FALSE(both.relative || both.any_length || both.decays || both.keeps_norms);
  EXPECT_TRUE(both.learned);
  const Claims turned = MakeScheme("rope+alibi")->claims();
  EXPECT_TRUE(turned.relative && turned.keeps_norms && turned.any_length && turned.decays);
  EXPECT_FALSE(turned.learned);
  // Rotated queries meet vectors that are not rotated: no longer relative.
  EXPECT_TRUE(MakeScheme("shaw+alibi")->claims().relative);
  EXPECT_FALSE(MakeScheme("rope+shaw")->claims().relative);
  EXPECT_FALSE(MakeScheme("transformer-xl+rope")->claims().relative);
}

TEST(CompositeTest, HeadCountsAgreeAcrossKindsOfBias) {
  EXPECT_THROW(Compose({MakeScheme("alibi:heads=4"), MakeTile(8)}), Error);
  EXPECT_THROW(Compose({MakeTile(8), MakeScheme("alibi:heads=4")}), Error);
  EXPECT_THROW(Compose({MakeTile(8), MakeTile(4)}), Error);
  EXPECT_THROW(Compose({}), Error);
}

TEST(CompositeTest, WhatNoPartOffersIsAnError) {
  const SchemePtr both = MakeScheme("none+alibi");
  EXPECT_FALSE(both->offers(Hook::kRotary));
  EXPECT_THROW(both->model_dim(), Error);
  EXPECT_THROW(both->rotary_shape(), Error);
  EXPECT_THROW(MakeScheme("none+rope")->bias_heads(), Error);
}

}  // namespace
}  // namespace sextant
