// T5: a learned number a head for each bucket of distances, wider the farther.
#include <cmath>

#include "sextant/core/error.h"
#include "sextant/schemes/bias/t5_buckets.h"
#include "sextant/schemes/erased.h"
#include "sextant/schemes/weight_scope.h"

namespace sextant {
namespace schemes {

struct T5 {
  static constexpr SchemeInfo info{
      .name = "t5",
      .title = "T5 relative bias",
      .formula = "score(i, j) += table[bucket(j - i), h]",
      .source = "Raffel et al. 2020, arXiv 1910.10683, section 2.1 and its released code",
      .known_models =
          "T5, mT5, LongT5, Switch (shared); UMT5 (per_layer); MPNet, WavLM (320 buckets "
          "to 800), CPM-Ant (512 to 2048)",
      .conventions =
          "The distance is key - query. Causal: keys after the query share bucket 0. "
          "Bidirectional: "
          "half the buckets for each side, the upper half for keys after the query; bucket 16 of "
          "32 "
          "is never used.\n"
          "The table is [buckets, heads], as in transformers.\n"
          "scores unscaled: T5 does not divide by sqrt(head_dim); the softmax multiplier "
          "sqrt(head_dim) undoes the division. The bias itself is never scaled. x-transformers "
          "multiplies its bias by sqrt(head_dim) instead.\n"
          "Cross-attention has no relative bias.",
      .beyond = "Distances from max_distance on share the last bucket, trained or not.",
      .pitfalls =
          "Bidirectional buckets in a decoder agree with the causal ones up to length 9, so short "
          "tests pass; at 64 they differ in 1540 of 2080 cells.\n"
          "max_distance of another model left at 128: with 64 buckets to 512, distance 100 is "
          "bucket "
          "45, not 30.\n"
          "The bias must also be added in cached decode steps, with the distances to all cached "
          "keys.",
      .error = "Buckets are integers found in extended precision: no rounding decides one.",
      .proof =
          "T5BucketsTest: golden lines, exact thresholds by whole numbers, the float formula of "
          "transformers for (32, 128), (320, 800), (512, 2048).\nT5Test; conformance suite: the "
          "gradient."};
  static constexpr Choice<T5Direction> kDirections[] = {
      {"causal", T5Direction::kCausal}, {"bidirectional", T5Direction::kBidirectional}};
  enum class Scores { kScaled, kUnscaled };
  static constexpr Choice<Scores> kScores[] = {{"scaled", Scores::kScaled},
                                               {"unscaled", Scores::kUnscaled}};
  int heads = 8;
  int buckets = 32;
  int max_distance = 128;
  T5Direction direction = T5Direction::kCausal;
  WeightScope scope = WeightScope::kModel;
  Scores scores = Scores::kScaled;
  int head_dim = 64;
  double init_std = 0.02;

  void fields(auto& field) {
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("buckets", buckets, 2, 65536, "numbers a head; bidirectional: half for each side, even");
    field("max_distance", max_distance, 2, 1 << 24, "from here on all distances share a bucket");
    field("direction", direction, kDirections, "whether keys after the query have buckets");
    field("scope", scope, kWeightScopes, "whether all layers share the table or each has its own");
    field("scores", scores, kScores, "whether q . k is divided by sqrt(head_dim); T5: unscaled");
    field("head_dim", head_dim, 1, 4096, "channels of a head, for scores=unscaled", "head_dim");
    field("init_std", init_std, 0, 10, "standard deviation of the initial values");
  }
  void check() const { Buckets(); }
  Claims claims() const {
    return {.relative = true, .keeps_norms = true, .learned = true, .any_length = true};
  }

  double softmax_multiplier() const {
    return scores == Scores::kScaled ? 1 : std::sqrt(double(head_dim));
  }
  // bucket_starts: the smallest distance of each bucket of one side.
  std::vector<Figure> figures(std::int64_t) const {
    const T5Buckets bucket = Buckets();
    return {{"bucket_starts", {bucket.starts().begin(), bucket.starts().end()}}};
  }

  std::vector<WeightInfo> weights() const {
    return {{"table", {buckets, heads}, scope, "a number a bucket and head"}};
  }
  std::vector<std::vector<double>> initial_weights(Random& random) const {
    return NormalWeights(weights(), init_std, random);
  }

  void distance_bias(Weights weights, Distances distances, View<double, 2> bias) const {
    const View<const double, 2> table(weights[0].data(), {buckets, heads});
    const T5Buckets bucket = Buckets();
    for (Index n = 0; n < distances.count; ++n) {
      const int b = bucket(distances.first + n);
      for (Index h = 0; h < heads; ++h) bias(h, n) = table(b, h);
    }
  }
  void distance_bias_back(Weights, Distances distances, View<const double, 2> d_bias,
                          WeightGradients d_weights) const {
    const View<double, 2> d_table(d_weights[0].data(), {buckets, heads});
    const T5Buckets bucket = Buckets();
    for (Index n = 0; n < distances.count; ++n) {
      const int b = bucket(distances.first + n);
      for (Index h = 0; h < heads; ++h) d_table(b, h) += d_bias(h, n);
    }
  }

 private:
  T5Buckets Buckets() const { return T5Buckets(buckets, max_distance, direction); }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::T5>();
}  // namespace sextant
