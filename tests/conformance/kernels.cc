// Checks that the fused call and its gradients are those of the definition, for every mask.
#include <algorithm>
#include <cmath>

#include "tests/conformance/attention_case.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/float_heads.h"

namespace sextant::conformance {
namespace {

constexpr double kForward = 2e-6, kBackward = 4e-6, kOfWeights = 1e-5;

KernelErrors largest;

// A case with its mask's cells, and what to call it.
struct MaskedCase {
  std::string name;
  AttentionCase at;
  Array<std::uint8_t, 2> cells = {};

  AttentionInput Input() {
    AttentionInput input = at.Input();
    if (!cells.empty()) input.mask.cells = cells.view();
    return input;
  }
};

class Cases {
 public:
  Cases(const Scheme& scheme, const Model& model)
      : heads_(model.heads), kv_heads_(KeyHeads(scheme, model)), dim_(model.head_dim) {
    Add("no mask", Steps(4, 9), Steps(0, 13));
    // One past the edges of the kernel's blocks.
    Add("causal", Steps(7, 53), Steps(4, 56)).at.causal = true;
    MaskedCase& window = Add("a causal window over gaps", Steps(1, 20, 3), Steps(0, 21, 3));
    window.at.causal = true;
    window.at.window = 14;
    Add("a window of both sides", Steps(0, 17), Steps(2, 17)).at.window = 4;
    MaskedCase& packed = Add("packed sequences", Packed(), Packed());
    packed.at.causal = true;
    packed.at.query_sequence.assign(12, 5);
    packed.at.query_sequence.insert(packed.at.query_sequence.begin(), 7, 2);
    packed.at.key_sequence = packed.at.query_sequence;
    MaskedCase& padded = Add("padding", Steps(0, 11), Steps(0, 11));
    for (int n = 0; n < 11; ++n) padded.at.valid.push_back(n > 2);
    padded.at.causal = true;
    MaskedCase& cells = Add("cells", Steps(3, 10), {9, 2, 2, 40, 0, 17});
    cells.cells = Array<std::uint8_t, 2>({10, 6});
    Random random(5);
    for (std::uint8_t& cell : cells.cells.values()) cell = random.Below(3) > 0;
  }
  std::vector<MaskedCase>& all() { return all_; }

 private:
  static std::vector<std::int64_t> Packed() {
    std::vector<std::int64_t> positions = Steps(0, 7);
    for (std::int64_t position : Steps(0, 12)) positions.push_back(position);
    return positions;
  }
  MaskedCase& Add(const std::string& name, const std::vector<std::int64_t>& queries,
                  const std::vector<std::int64_t>& keys) {
    all_.reserve(16);
    all_.push_back({name, AttentionCase({heads_, Index(queries.size()), dim_},
                                        {kv_heads_, Index(keys.size()), dim_}, queries, keys, 64,
                                        all_.size() + 1)});
    return all_.back();
  }

  Index heads_, kv_heads_, dim_;
  std::vector<MaskedCase> all_;
};

double Largest(const std::vector<double>& values) {
  double most = 0;
  for (double value : values) KeepLargest(std::abs(value), most);
  return most;
}

double Difference(const std::vector<double>& got, const std::vector<double>& right) {
  double most = got.size() == right.size() ? 0 : NAN;
  for (std::size_t n = 0; n < right.size(); ++n) {
    KeepLargest(std::abs(got[n] - right[n]), most);
    ++largest.comparisons;
  }
  return most;
}

// One case in one storage: what the call gives against the definition over the same numbers.
class Comparison {
 public:
  Comparison(const Scheme& scheme, Weights weights, MaskedCase& masked, Storage storage,
             Failures& failures)
      : scheme_(scheme),
        weights_(weights),
        storage_(storage),
        name_(masked.name + (storage == Storage::kF32 ? "" : " in 16 bits")),
        failures_(failures),
        input_(masked.Input()),
        query_(Copy(input_.query), storage),
        key_(Copy(input_.key), storage),
        value_(Copy(input_.value), storage),
        exact_query_(query_.exact()),
        exact_key_(key_.exact()),
        exact_value_(value_.exact()) {
    input_.query = exact_query_;
    input_.key = exact_key_;
    input_.value = exact_value_;
  }

  void Run() {
    const AttentionOutput right = ReferenceAttention(scheme_, weights_, input_);
    StoredNumbers out(right.out.shape(), storage_);
    std::vector<float> sums(right.log_sum_exp.values().size());
    Attention(scheme_, weights_, Heads(), out.out(), sums.data());
    const double size = Largest(right.out.values());
    const double error = Difference(out.exact().values(), right.out.values());
    // Outputs in 16 bits are rounded once: by half a unit of their last place.
    const double rounding = Rounding() * size;
    Expect(error <= kForward * size + rounding, "out", error / size);
    if (storage_ == Storage::kF32 && size > 0) KeepLargest(error / size, largest.forward);
    for (std::size_t n = 0; n < sums.size(); ++n) {
      const double expected = right.log_sum_exp.values()[n], got = sums[n];
      const bool same = std::isinf(expected) ? got == expected
                                             : std::abs(got - expected) <=
                                                   kForward * std::max(1.0, std::abs(expected));
      Expect(same, "log_sum_exp", got - expected);
    }
    if (storage_ == Storage::kF32) RunBackward(out, sums);
  }

 private:
  static Array<double, 3> Copy(View<const double, 3> x) {
    Array<double, 3> copy(x.shape());
    std::copy(x.data(), x.data() + x.elements(), copy.values().data());
    return copy;
  }
  double Rounding() const {
    return storage_ == Storage::kF32 ? 0 : storage_ == Storage::kBf16 ? 0x1p-8 : 0x1p-11;
  }
  PositionedHeads Heads() const {
    return {query_.in(), key_.in(), value_.in(), input_.query_positions, input_.key_positions,
            input_.mask, 0};
  }
  void Expect(bool fine, const std::string& what, double by) {
    if (!fine) failures_.push_back(name_ + ": " + what + " differs by " + ToText(by));
  }

  void RunBackward(const StoredNumbers& out, const std::vector<float>& sums) {
    Random random(77);
    const StoredNumbers d_out(RandomHeads(input_.query.shape(), random), storage_);
    const Array<double, 3> exact = d_out.exact();
    const AttentionGradients right =
        ReferenceAttentionBackward(scheme_, weights_, input_, exact.view());
    StoredNumbers d_query(input_.query.shape(), storage_), d_key(input_.key.shape(), storage_),
        d_value(input_.key.shape(), storage_);
    std::vector<std::vector<double>> d_weights = ZeroWeights(scheme_);
    AttentionBackward(
        scheme_, weights_, Heads(),
        {out.in(), d_out.in(), sums.data(), d_query.out(), d_key.out(), d_value.out(), d_weights});
    const double size = std::max({Largest(right.query.values()), Largest(right.key.values()),
                                  Largest(right.value.values())});
    const auto check = [&](const std::string& what, const std::vector<double>& got,
                           const std::vector<double>& expected, double allowed, double& worst) {
      const double error = Difference(got, expected) / std::max(size, Largest(expected));
      Expect(error <= allowed, "the gradient of " + what, error);
      KeepLargest(error, worst);
    };
    check("queries", d_query.exact().values(), right.query.values(), kBackward, largest.backward);
    check("keys", d_key.exact().values(), right.key.values(), kBackward, largest.backward);
    check("values", d_value.exact().values(), right.value.values(), kBackward, largest.backward);
    const std::vector<WeightInfo> declared = scheme_.weights();
    for (std::size_t w = 0; w < declared.size(); ++w) {
      check(declared[w].name, d_weights[w], right.weights[w], kOfWeights, largest.of_weights);
    }
  }

  const Scheme& scheme_;
  Weights weights_;
  Storage storage_;
  std::string name_;
  Failures& failures_;
  AttentionInput input_;
  StoredNumbers query_, key_, value_;
  Array<double, 3> exact_query_, exact_key_, exact_value_;
};

}  // namespace

Failures CheckKernels(const SchemePtr& scheme, const Model& model) {
  Failures failures;
  const std::vector<std::vector<double>> weights = TrainedWeights(*scheme, model);
  Cases cases(*scheme, model);
  for (MaskedCase& masked : cases.all()) {
    Comparison(*scheme, weights, masked, Storage::kF32, failures).Run();
  }
  for (const Storage storage : {Storage::kBf16, Storage::kF16}) {
    Comparison(*scheme, weights, cases.all()[2], storage, failures).Run();
  }
  return failures;
}

KernelErrors TakeKernelErrors() { return std::exchange(largest, {}); }

}  // namespace sextant::conformance
