// T5: a learned number a head for each bucket of distances, wider the farther.
#include <cmath>
#include <cstdlib>

#include "sextant/core/error.h"
#include "sextant/schemes/bias/t5_buckets.h"
#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct T5 {
  static constexpr SchemeInfo info{
      "t5", "T5 relative bias", "score(i, j) += table[bucket(j - i), h]",
      "Raffel et al. 2020, arXiv 1910.10683, section 2.1 and its released code",
      "T5, mT5, LongT5, UMT5 (a table a layer), MPNet"};
  static constexpr Choice<T5Direction> kDirections[] = {
      {"causal", T5Direction::kCausal}, {"bidirectional", T5Direction::kBidirectional}};
  int heads = 8;
  int buckets = 32;
  int max_distance = 128;
  T5Direction direction = T5Direction::kCausal;
  double init_std = 0.02;

  void fields(auto& field) {
    field("heads", heads, 1, 4096, "attention heads", "heads");
    field("buckets", buckets, 2, 65536, "numbers a head; bidirectional: half for each side, even");
    field("max_distance", max_distance, 2, 1 << 24, "from here on all distances share a bucket");
    field("direction", direction, kDirections, "whether keys after the query have buckets");
    field("init_std", init_std, 0, 10, "standard deviation of the initial values");
  }
  void check() const { Buckets(); }
  Claims claims() const {
    return {.relative = true, .keeps_norms = true, .learned = true, .any_length = true};
  }

  std::vector<WeightInfo> weights() const {
    return {{"table", {buckets, heads}, WeightScope::kModel, "a number a bucket and head"}};
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
