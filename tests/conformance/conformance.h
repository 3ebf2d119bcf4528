// What every scheme must pass, as functions that return what failed: run them for one of your own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sextant/schemes/registry.h"
#include "sextant/schemes/scheme.h"

namespace sextant::conformance {

// A sentence for each failure; empty where all is well.
using Failures = std::vector<std::string>;

// The model around a scheme. Make the scheme with shape(), so that its sizes fit.
struct Model {
  Index heads = 4;
  Index kv_heads = 2;  // where heads are grouped
  Index head_dim = 6;
  std::int64_t context = 64;  // every scheme must serve the positions 0 .. context - 1
  double noise = 0.1;         // standard deviation of what training adds to initial weights
  const Registry* registry = &Registry::Builtin();  // where the scheme's specs are read

  ModelShape shape() const;
};

// Wider and longer, with few heads: what the claims are measured in.
Model WideModel(const Registry& registry = Registry::Builtin());

// Claims, each as ClaimTexts() says it is tested, and not made where it must be: a scheme that is
// relative to rounding, keeps norms, has weights or has no end has to say so.
Failures CheckRelative(const SchemePtr& scheme, const Model& model);
Failures CheckKeepsNorms(const SchemePtr& scheme, const Model& model);
Failures CheckAnyLength(const SchemePtr& scheme, const Model& model);
// Without the claim, measured only for single schemes without weights.
Failures CheckDecays(const SchemePtr& scheme, const Model& model);
// The gradients of every weight, as CheckGradients.
Failures CheckLearned(const SchemePtr& scheme, const Model& model);

// Gradients of queries, keys and values by central differences in double, relative 1e-6: without a
// mask, causal, and with grouped heads, padding and packed sequences.
Failures CheckGradients(const SchemePtr& scheme, const Model& model);
// The largest relative error of any gradient checked since the last call, for the log.
double TakeLargestGradientError();

// Reading back what SpecOf writes, as JSON, text and short text, makes an equal scheme.
Failures CheckSpec(const SchemePtr& scheme, const Model& model);

// Packed sequences attend as they do apart.
Failures CheckPacked(const SchemePtr& scheme, const Model& model);
// One query at a time against the keys so far gives the rows of the whole.
Failures CheckDecode(const SchemePtr& scheme, const Model& model);
// Queries in another order give their outputs in that order; keys in another order, the same
// outputs (a contextual bias sees no positions and counts keys in the order given: not for it).
Failures CheckOrder(const SchemePtr& scheme, const Model& model);
// No queries or no keys: zeros of the right shape.
Failures CheckEmpty(const SchemePtr& scheme, const Model& model);

// Attention and AttentionBackward (attention.h) are the definition: outputs within 2e-6 of the
// largest, gradients within 4e-6 of the largest (of weights 1e-5), for every mask and grouped
// heads; 16-bit storage rounds outputs once.
Failures CheckKernels(const SchemePtr& scheme, const Model& model);
// What was compared since the last call, and the largest relative errors, for the log.
struct KernelErrors {
  double forward = 0, backward = 0, of_weights = 0;
  std::int64_t comparisons = 0;
};
KernelErrors TakeKernelErrors();

// A cache (kv_cache.h) gives the definition over the tokens that are left, after appends,
// truncates, drops and shifts; a scheme that adds rows refuses to shift them.
Failures CheckCache(const SchemePtr& scheme, const Model& model);
struct CacheErrors {
  double f32 = 0, bf16 = 0;
  std::int64_t comparisons = 0;
};
CacheErrors TakeCacheErrors();

// Tables of any slice of positions are that slice of the whole, bit for bit, and written inside
// their view alone, whatever was there.
Failures CheckSlices(const SchemePtr& scheme, const Model& model);
// Weights have the declared shapes and names of their own; maps back add to what is there; hooks
// not offered throw; turns by frequencies are those of the table.
Failures CheckContract(const SchemePtr& scheme, const Model& model);

struct Check {
  const char* name;  // of a claim's check: the claim's own
  Failures (*run)(const SchemePtr& scheme, const Model& model);
  bool wide;  // measured in WideModel
};
std::span<const Check> Checks();

// Every check of the scheme that `spec` describes, in the model that suits the check; failures
// start with the name of their check.
Failures CheckEverything(const std::string& spec, const Registry& registry);

// Initial weights plus normal noise: what a little training would make.
std::vector<std::vector<double>> TrainedWeights(const Scheme& scheme, const Model& model);

}  // namespace sextant::conformance
