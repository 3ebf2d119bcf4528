// The contract: what a positional scheme is, which tables it fills, and what it claims.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sextant/core/parameter.h"
#include "sextant/core/random.h"
#include "sextant/core/view.h"

namespace sextant {

// Who a scheme is. All text; `name` is what a spec calls it. The last five make its page; a
// sentence each, lines may be broken by "\n" into a list.
struct SchemeInfo {
  std::string_view name;
  std::string_view title;
  std::string_view formula;
  std::string_view source;            // paper, section or equation
  std::string_view known_models;      // released models that use it
  std::string_view conventions = "";  // layout, sign and order, with what peers call them
  std::string_view beyond = "";       // what happens in the trained length and past it
  std::string_view pitfalls = "";     // what ports get wrong
  std::string_view error = "";        // largest error of its tables, with the range
  std::string_view proof = "";        // which tests and peers prove which line
};

// What a scheme promises. The conformance suite tests each promise made, for every scheme.
struct Claims {
  bool relative = false;  // scores change with key - query alone: a shift of all positions is free
  bool keeps_norms = false;  // queries and keys keep their lengths
  bool learned = false;      // it has weights that training changes
  bool any_length = false;   // every position from 0 to 2^20 and beyond has a table
  bool decays = false;       // untrained, the score of equal vectors falls with distance
};

// Each claim as text, in the order of the struct: what is promised and how it is tested.
struct ClaimText {
  const char* name;
  bool Claims::*value;
  const char* meaning;
  const char* test;
};
std::span<const ClaimText> ClaimTexts();

// The places where a scheme can enter attention.
enum class Hook {
  kAdditive,         // rows added to embeddings
  kRotary,           // channel pairs of queries and keys turned
  kDistanceBias,     // a number by head and distance added to scores
  kTileBias,         // a number by head, query position and key position added to scores
  kDistanceVectors,  // vectors by distance in the query, key and value terms
  kContextual,       // a number computed from the queries and the scores themselves
  kQueryScale,       // a factor by query position
};
struct HookName {
  Hook hook;
  const char* name;
};
std::span<const HookName> HookNames();

// Integer positions [axes, n], and the length of the sequence they belong to. Rules that depend on
// the current length (dynamic NTK, LongRoPE) read `length`; nothing is remembered between calls.
// Axis 0 orders the sequence: causal masks and distances read it. A scheme of several axes (time,
// rows, columns) given one axis says what that means: text for M-RoPE, cells row by row for images.
struct Positions {
  View<const std::int64_t, 2> values;
  std::int64_t length = 0;

  Index axes() const { return values.extent(0); }
  Index count() const { return values.extent(1); }
};

// Positions that own their numbers.
class PositionList {
 public:
  // One axis; the length is the largest position plus one unless given.
  explicit PositionList(std::span<const std::int64_t> positions, std::int64_t length = 0);
  // Several axes [axes, n]; the length is the largest position of any axis plus one unless given.
  explicit PositionList(Array<std::int64_t, 2> positions, std::int64_t length = 0);
  // A copy of what may go away.
  explicit PositionList(const Positions& positions);
  // first, first + 1, ... (count of them)
  static PositionList Range(std::int64_t first, Index count);

  Positions positions() const { return {values_.view(), length_}; }
  operator Positions() const { return positions(); }  // NOLINT(google-explicit-constructor)

 private:
  Array<std::int64_t, 2> values_;
  std::int64_t length_ = 0;
};

// The distances key - query from `first` on, one by one.
struct Distances {
  std::int64_t first = 0;
  Index count = 0;
};

// Trainable numbers: one row-major vector for each declared weight, in the order declared.
using Weights = std::span<const std::vector<double>>;
using WeightGradients = std::span<std::vector<double>>;

// Whether all layers of a model share a weight or each has its own.
enum class WeightScope { kModel, kLayer };

struct WeightInfo {
  std::string name;
  std::vector<Index> shape;
  WeightScope scope = WeightScope::kModel;
  std::string help;

  Index elements() const;
};

// Which two channels turn together. Others call these NeoX, rotate-half, default (halves) and
// GPT-J, interleaved, traditional, NORM (adjacent).
//   kHalves            [c0 c1 .. | s0 s1 ..]  pair i is (i, i + rotated_dims / 2)
//   kAdjacent          [c0 s0 c1 s1 ..]       pair i is (2i, 2i + 1)
//   kAdjacentToHalves  reads adjacent, writes halves (DeepSeek): q . k as with adjacent
enum class Pairing { kHalves, kAdjacent, kAdjacentToHalves };

// How a rotary table is used: channels first .. first + rotated_dims - 1 of each head turn, the
// rest pass through. With several blocks each is rotated_dims / blocks channels wide and paired by
// itself.
struct RotaryShape {
  Index rotated_dims = 0;
  Pairing pairing = Pairing::kHalves;
  Index first = 0;
  Index blocks = 1;
};
enum class Side { kQuery, kKey };

// Turns that are known by a number a pair, of queries and keys alike:
//   cos[n, i] = magnitude cos(position[n] inv_freq[i]), sin likewise
struct TurnFrequencies {
  std::vector<double> inv_freq;  // [rotated_dims / 2]
  double magnitude = 1;

  bool operator==(const TurnFrequencies&) const = default;
};

// The channels of a head that pair i of a rotary table reads, (cosine, sine) part, and writes.
struct PairChannels {
  Index read0, read1, write0, write1;
};
PairChannels ChannelsOf(const RotaryShape& shape, Index pair);

// Which distance vectors a scheme offers. Scores gain
//   (q_i + v) . key[row(j - i)]  +  k_j . query[row(j - i)]  +  u . k_j
// and outputs gain  sum_j weight_ij value[row(j - i)],  u = content_bias, v = position_bias.
// All score terms are scaled like q . k.
struct DistanceVectorTables {
  std::vector<std::int32_t> row;       // [distances] the row of each distance
  Array<double, 3> key, query, value;  // [1 or heads, rows, head_dim], empty where not offered
  Array<double, 2> content_bias, position_bias;  // [heads, head_dim], empty where not offered
};

// What a contextual bias is computed from, for one head. `query` and `key` are encoded (rows added,
// pairs turned); keys are in the order given.
struct ContextualInput {
  Index head = 0;
  View<const double, 2> query;          // [n, head_dim]
  View<const double, 2> key;            // [m, head_dim]
  View<const double, 2> scores;         // [n, m], scaled, before this bias
  View<const std::uint8_t, 2> visible;  // [n, m], 0 or 1
  Positions query_positions, key_positions;
};
// Where its gradients are added, in the shapes of the input.
struct ContextualGradients {
  View<double, 2> query, key, scores;
  WeightGradients weights;
};

// A list of numbers people compare between programs: inv_freq, ramp, attention_factor, slopes.
struct Figure {
  std::string name;
  std::vector<double> values;
};

// The model's own sizes: a scheme's field that follows one takes it where the spec is silent.
// Keys: model_dim, heads, head_dim, context (the longest sequence trained on).
using ModelShape = std::map<std::string, std::int64_t>;

// A scheme with its type erased. Authors write plain structs (CONTRIBUTING.md); the registry turns
// them into this. Immutable; every method may be called from several threads at once. All fills
// overwrite their output; all maps back add to the gradients. Fills compute in double and throw
// Error on a position the scheme has no row for; calling a hook that is not offered throws Error.
class Scheme {
 public:
  virtual ~Scheme() = default;

  virtual const SchemeInfo& info() const = 0;
  virtual Claims claims() const = 0;
  virtual std::vector<Parameter> parameters() const = 0;
  virtual bool offers(Hook hook) const = 0;
  // Empty for a single scheme, else what it is composed of.
  virtual std::vector<std::shared_ptr<const Scheme>> parts() const { return {}; }
  // Empty where all layers use the scheme itself; else the part of layer l is parts()[pattern[l mod
  // pattern's length]], and the hooks of the whole are not to be called.
  virtual std::vector<std::size_t> layer_pattern() const { return {}; }
  // What people compare, for a sequence of `length`; empty where there is nothing of the kind.
  virtual std::vector<Figure> Figures(std::int64_t length) const;
  // A factor on the softmax scale.
  virtual double softmax_multiplier() const { return 1; }
  // "rope", "sinusoidal+learned".
  virtual std::string name() const { return std::string(info().name); }

  virtual std::vector<WeightInfo> weights() const { return {}; }
  // Initial values, drawn from `random` in the order of weights().
  virtual std::vector<std::vector<double>> InitialWeights(Random& random) const;

  // rows [n, model_dim]
  virtual Index model_dim() const;
  virtual void FillAdditive(Weights weights, const Positions& positions,
                            View<double, 2> rows) const;
  virtual void BackAdditive(Weights weights, const Positions& positions,
                            View<const double, 2> d_rows, WeightGradients d_weights) const;

  // cos, sin [n, rotated_dims / 2], magnitude folded in
  virtual RotaryShape rotary_shape() const;
  virtual void FillRotary(Weights weights, const Positions& positions, Side side,
                          View<double, 2> cos, View<double, 2> sin) const;
  // What FillRotary computes for positions of one axis in a sequence of `length`, where that is all
  // there is to it; else nothing.
  virtual std::optional<TurnFrequencies> turn_frequencies(Weights weights,
                                                          std::int64_t length) const;
  virtual void BackRotary(Weights weights, const Positions& positions, Side side,
                          View<const double, 2> d_cos, View<const double, 2> d_sin,
                          WeightGradients d_weights) const;

  // bias [heads, distances]
  virtual Index bias_heads() const;
  virtual void FillDistanceBias(Weights weights, Distances distances, View<double, 2> bias) const;
  virtual void BackDistanceBias(Weights weights, Distances distances, View<const double, 2> d_bias,
                                WeightGradients d_weights) const;

  // bias [heads, queries, keys]; heads as bias_heads()
  virtual void FillTileBias(Weights weights, const Positions& queries, const Positions& keys,
                            View<double, 3> bias) const;
  virtual void BackTileBias(Weights weights, const Positions& queries, const Positions& keys,
                            View<const double, 3> d_bias, WeightGradients d_weights) const;

  virtual DistanceVectorTables FillDistanceVectors(Weights weights, Distances distances) const;
  virtual void BackDistanceVectors(Weights weights, Distances distances,
                                   const DistanceVectorTables& d_tables,
                                   WeightGradients d_weights) const;

  // bias [n, m]. The map back also adds to the gradients of queries, keys and scores.
  virtual void FillContextual(Weights weights, const ContextualInput& input,
                              View<double, 2> bias) const;
  virtual void BackContextual(Weights weights, const ContextualInput& input,
                              View<const double, 2> d_bias,
                              const ContextualGradients& gradients) const;

  // scale [n], a factor on each query's scores of content and vectors (not on biases)
  virtual void FillQueryScale(Weights weights, const Positions& positions,
                              View<double, 1> scale) const;
  virtual void BackQueryScale(Weights weights, const Positions& positions,
                              View<const double, 1> d_scale, WeightGradients d_weights) const;

 protected:
  [[noreturn]] void NoHook(const char* hook) const;
};

using SchemePtr = std::shared_ptr<const Scheme>;

// Zeros in the shape of the scheme's weights.
std::vector<std::vector<double>> ZeroWeights(const Scheme& scheme);

// Normal numbers of standard deviation `std` in the shape of `weights`.
std::vector<std::vector<double>> NormalWeights(const std::vector<WeightInfo>& weights, double std,
                                               Random& random);

// to += from, element by element; as long as each other.
void AddTo(const std::vector<double>& from, std::vector<double>& to);

// A position a scheme has no row for: names it, the limit and a way out.
[[noreturn]] void FailPosition(std::string_view scheme, std::int64_t position, std::int64_t limit);

}  // namespace sextant
