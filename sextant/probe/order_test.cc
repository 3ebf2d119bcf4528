// Why positions are needed: without them attention sees a set.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "sextant/attention/reference.h"
#include "sextant/core/random.h"
#include "sextant/probe/subject.h"
#include "sextant/schemes/spec.h"

namespace sextant {
namespace {

constexpr Index kHeadDim = 16;

Array<double, 3> RandomInput(Index heads, Index count, std::uint64_t seed) {
  Random random(seed);
  Array<double, 3> x({heads, count, kHeadDim});
  for (double& value : x.values()) value = random.Normal();
  return x;
}

TEST(Order, AttentionWithoutPositionsIsPermutationEquivariant) {
  constexpr Index kCount = 7;
  constexpr std::array<Index, kCount> kPermutation = {3, 0, 6, 1, 5, 2, 4};
  const SchemePtr none = MakeScheme("none");
  const Array<double, 3> q = RandomInput(2, kCount, 1), k = RandomInput(2, kCount, 2),
                         v = RandomInput(2, kCount, 3);
  const auto permuted = [&](const Array<double, 3>& x) {
    Array<double, 3> moved(x.shape());
    for (Index h = 0; h < 2; ++h) {
      for (Index n = 0; n < kCount; ++n) {
        for (Index c = 0; c < kHeadDim; ++c) {
          moved(h, n, c) = x(h, kPermutation[std::size_t(n)], c);
        }
      }
    }
    return moved;
  };
  const Array<double, 3> pq = permuted(q), pk = permuted(k), pv = permuted(v);
  const PositionList at = PositionList::Range(0, kCount);
  const auto attend = [&](const Scheme& scheme, const auto& query, const auto& key,
                          const auto& value) {
    AttentionInput input;
    input.query = query;
    input.key = key;
    input.value = value;
    input.query_positions = input.key_positions = at;
    return ReferenceAttention(scheme, {}, input).out;
  };
  const Array<double, 3> expected = permuted(attend(*none, q, k, v));
  const Array<double, 3> got = attend(*none, pq, pk, pv);
  for (std::size_t i = 0; i < got.values().size(); ++i) {
    EXPECT_NEAR(got.values()[i], expected.values()[i], 1e-14);
  }
  const SchemePtr rope = MakeScheme("rope", {{"head_dim", kHeadDim}});
  const Array<double, 3> turned = permuted(attend(*rope, q, k, v));
  const Array<double, 3> turned_got = attend(*rope, pq, pk, pv);
  double difference = 0;
  for (std::size_t i = 0; i < turned.values().size(); ++i) {
    difference = std::max(difference, std::abs(turned.values()[i] - turned_got.values()[i]));
  }
  EXPECT_GT(difference, 0.01);
}

struct Pair {
  double first = 0, second = 0;
};

// q(dogs) . k(animals) of head 0 in "all dogs are animals" (positions 1 and 3) and in "all animals
// are dogs" (3 and 1), with fixed vectors for the words.
Pair DogsAndAnimals(std::string_view spec) {
  const SchemePtr scheme = MakeScheme(spec, ProbeShape(kHeadDim));
  const Subject subject = MakeSubject(*scheme, 1);
  const std::vector<double> dogs = SeededQuery(kHeadDim, 1), animals = SeededKey(kHeadDim, 1);
  const std::vector<std::int64_t> last = {3}, second = {1};
  return {ScoresFrom(subject, dogs, 1, animals, last, 4)(0, 0),
          ScoresFrom(subject, dogs, 3, animals, second, 4)(0, 0)};
}

TEST(Order, WithoutPositionsBothSentencesScoreTheSame) {
  const Pair none = DogsAndAnimals("none");
  EXPECT_EQ(none.first, none.second);
}

TEST(Order, WithPositionsTheyDiffer) {
  for (const char* spec : {"sinusoidal", "learned", "hybrid", "rope", "t5",
                           "t5:direction=bidirectional", "shaw", "transformer-xl"}) {
    const Pair scores = DogsAndAnimals(spec);
    EXPECT_GT(std::abs(scores.first - scores.second), 1e-4) << spec;
  }
}

// |j - i| is 2 in both sentences, so a bias symmetric in distance cannot tell them apart: ALiBi
// leaves direction to the causal mask.
TEST(Order, SymmetricAlibiNeedsTheCausalMask) {
  const Pair alibi = DogsAndAnimals("alibi");
  EXPECT_EQ(alibi.first, alibi.second);

  const SchemePtr scheme = MakeScheme("alibi:heads=1");
  const Array<double, 3> words = RandomInput(1, 4, 1);
  const PositionList at = PositionList::Range(0, 4);
  AttentionInput input;
  input.query = input.key = input.value = words;
  input.query_positions = input.key_positions = at;
  input.mask.causal = true;
  const AttentionOutput output = ReferenceAttention(*scheme, {}, input);
  EXPECT_EQ(output.scores(0, 1, 3), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isfinite(output.scores(0, 3, 1)));
}

}  // namespace
}  // namespace sextant
