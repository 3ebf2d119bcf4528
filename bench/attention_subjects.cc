// Fused attention: forward, backward and both, without and with a bias by distance.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/buffer.h"
#include "bench/subject.h"
#include "sextant/kernels/attention.h"
#include "sextant/schemes/spec.h"

namespace sextant::bench {
namespace {

// Which scheme gives the bias by distance; empty: none.
struct Kind {
  std::string scheme;
  KernelMask mask = KernelMask::kNone;
};

// One sequence [tokens, heads, head_dim], its bias vectors and gradients.
class Problem {
 public:
  Problem(const Sizes& sizes, const Kind& kind)
      : n_(sizes.tokens),
        heads_(sizes.heads),
        dim_(sizes.head_dim),
        mask_(kind.mask),
        query_(n_ * heads_ * dim_),
        key_(query_.count()),
        value_(query_.count()),
        d_out_(query_.count()),
        out_(query_.count()),
        d_query_(query_.count()),
        d_key_(query_.count()),
        d_value_(query_.count()),
        log_sum_exp_(heads_ * n_) {
    FillNormal(query_, 1);
    FillNormal(key_, 2);
    FillNormal(value_, 3);
    FillNormal(d_out_, 4);
    if (kind.scheme.empty()) return;
    scheme_ = MakeScheme(kind.scheme, {{"heads", heads_}});
    Random random(5);
    weights_ = NormalWeights(scheme_->weights(), 1.0, random);
    d_weights_ = ZeroWeights(*scheme_);
    bias_ = std::make_unique<Buffer<float>>(heads_ * distances().count);
    d_bias_ = std::make_unique<Buffer<double>>(heads_ * distances().count);
    FillBias();
  }

  Distances distances() const { return {-(n_ - 1), 2 * n_ - 1}; }

  // The scheme's bias by distance, from its weights.
  void FillBias() {
    Array<double, 2> bias({heads_, distances().count});
    scheme_->FillDistanceBias(weights_, distances(), bias.view());
    std::copy_n(bias.values().data(), bias_->count(), bias_->data());
  }

  void Forward() { AttentionForward(Input(), Out(out_), log_sum_exp_.data(), DefaultExecutor()); }

  void Backward() {
    AttentionGradient gradient{In(out_),      In(d_out_),  log_sum_exp_.data(),
                               Out(d_query_), Out(d_key_), Out(d_value_)};
    if (bias_ != nullptr) gradient.d_bias = d_bias_->data();
    AttentionBackward(Input(), gradient, DefaultExecutor());
  }

  // From the gradient by distance to that of the scheme's weights.
  void BackToWeights() {
    scheme_->BackDistanceBias(weights_, distances(),
                              View<const double, 2>(d_bias_->data(), {heads_, distances().count}),
                              d_weights_);
  }

  // Floating-point operations of the products of a forward pass; hidden tiles count as not there.
  double forward_work() const {
    return 4.0 * double(n_) * double(n_ * heads_ * dim_) / (mask_ == KernelMask::kCausal ? 2 : 1);
  }
  // What forward and backward write: output, its sums, and the gradients.
  double output_bytes() const {
    const double biases = bias_ == nullptr ? 0 : d_bias_->bytes();
    return 4 * query_.bytes() + log_sum_exp_.bytes() + biases;
  }

 private:
  HeadsOf<const float> In(const Buffer<float>& x) const {
    return {x.data(), n_, heads_, dim_, heads_ * dim_, dim_};
  }
  HeadsOf<float> Out(const Buffer<float>& x) const {
    return {x.data(), n_, heads_, dim_, heads_ * dim_, dim_};
  }
  FusedAttention Input() const {
    FusedAttention in;
    in.query = In(query_);
    in.key = In(key_);
    in.value = In(value_);
    in.scale = 1 / std::sqrt(float(dim_));
    if (bias_ != nullptr) in.bias = bias_->data();
    in.bias_stride = distances().count;
    in.mask = mask_;
    return in;
  }

  Index n_, heads_, dim_;
  KernelMask mask_;
  Buffer<float> query_, key_, value_, d_out_, out_, d_query_, d_key_, d_value_, log_sum_exp_;
  SchemePtr scheme_;
  std::vector<std::vector<double>> weights_, d_weights_;
  std::unique_ptr<Buffer<float>> bias_;
  std::unique_ptr<Buffer<double>> d_bias_;
};

MakeSubject Forward(const Kind& kind) {
  return [kind](const Sizes& sizes) {
    auto problem = std::make_shared<Problem>(sizes, kind);
    return Repeated(problem->forward_work(), [problem] { problem->Forward(); });
  };
}

MakeSubject Backward(const Kind& kind) {
  return [kind](const Sizes& sizes) {
    auto problem = std::make_shared<Problem>(sizes, kind);
    problem->Forward();
    return Repeated(2.5 * problem->forward_work(), [problem] { problem->Backward(); });
  };
}

// Forward and backward; with a bias, as its vector is the trainable thing.
MakeSubject Train(const Kind& kind) {
  return [kind](const Sizes& sizes) {
    auto problem = std::make_shared<Problem>(sizes, kind);
    Subject subject = Repeated(3.5 * problem->forward_work(), [problem] {
      problem->Forward();
      problem->Backward();
    });
    subject.figures["output bytes"] = problem->output_bytes();
    return subject;
  };
}

// The same from the scheme's weights to their gradient.
MakeSubject TrainWeights(const Kind& kind) {
  return [kind](const Sizes& sizes) {
    auto problem = std::make_shared<Problem>(sizes, kind);
    Subject subject = Repeated(3.5 * problem->forward_work(), [problem] {
      problem->FillBias();
      problem->Forward();
      problem->Backward();
      problem->BackToWeights();
    });
    subject.figures["output bytes"] = problem->output_bytes();
    return subject;
  };
}

}  // namespace

void AddAttention(SubjectList& list) {
  const Kind none, causal{"", KernelMask::kCausal};
  const Kind t5{"t5:direction=bidirectional"}, t5_causal{"t5", KernelMask::kCausal};
  const Kind alibi{"alibi"}, alibi_causal{"alibi", KernelMask::kCausal};
  list["attention/none"] = Forward(none);
  list["attention/causal"] = Forward(causal);
  list["attention/t5"] = Forward(t5);
  list["attention/t5_causal"] = Forward(t5_causal);
  list["attention/alibi"] = Forward(alibi);
  list["attention/alibi_causal"] = Forward(alibi_causal);
  list["attention_backward/none"] = Backward(none);
  list["attention_backward/t5"] = Backward(t5);
  list["attention_train/none"] = Train(none);
  list["attention_train/causal"] = Train(causal);
  list["attention_train/bias"] = Train(t5);
  list["attention_train/t5"] = TrainWeights(t5);
  list["attention_train/t5_causal"] = TrainWeights(t5_causal);
}

}  // namespace sextant::bench
