// Fused attention: forward, backward and both, by bias, mask and storage.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/buffer.h"
#include "bench/subject.h"
#include "sextant/kernels/attention.h"
#include "sextant/schemes/spec.h"

namespace sextant::bench {
namespace {

struct Kind {
  std::string scheme = {};  // gives the bias or the vectors by distance; empty: none
  KernelMask mask = {};
  TileSkip skip = TileSkip::kWhereProvable;
};

std::vector<float> Floats(const std::vector<double>& from) { return {from.begin(), from.end()}; }

// A scheme's tables by distance as float32, from weights drawn once.
class Tables {
 public:
  Tables(const Sizes& sizes, const Kind& kind)
      : distances_{1 - sizes.tokens, kind.mask.causal ? sizes.tokens : 2 * sizes.tokens - 1},
        heads_(sizes.heads) {
    if (kind.scheme.empty()) return;
    const ModelShape shape{{"heads", sizes.heads},
                           {"head_dim", sizes.head_dim},
                           {"model_dim", sizes.heads * sizes.head_dim},
                           {"context", sizes.tokens}};
    scheme_ = MakeScheme(kind.scheme, shape);
    Random random(5);
    weights_ = NormalWeights(scheme_->weights(), 1.0, random);
    d_weights_ = ZeroWeights(*scheme_);
    if (scheme_->offers(Hook::kDistanceVectors)) FillVectors();
    if (!scheme_->offers(Hook::kDistanceBias)) return;
    bias_ = std::make_unique<Buffer<float>>(heads_ * distances_.count);
    d_bias_ = std::make_unique<Buffer<double>>(heads_ * distances_.count);
    FillBias();
  }

  void FillBias() {
    Array<double, 2> bias({heads_, distances_.count});
    scheme_->FillDistanceBias(weights_, distances_, bias.view());
    std::copy_n(bias.values().data(), bias_->count(), bias_->data());
  }

  // From the gradient by distance to that of the scheme's weights.
  void BackToWeights() {
    scheme_->BackDistanceBias(weights_, distances_,
                              View<const double, 2>(d_bias_->data(), {heads_, distances_.count}),
                              d_weights_);
  }

  void SetInput(FusedAttention& in) const {
    in.first_distance = distances_.first;
    in.distances = distances_.count;
    if (bias_ != nullptr) in.bias = {bias_->data(), distances_.count};
    in.vectors = vectors_;
  }

  double* d_bias() const { return d_bias_ == nullptr ? nullptr : d_bias_->data(); }
  double d_bias_bytes() const { return d_bias_ == nullptr ? 0 : d_bias_->bytes(); }

 private:
  void FillVectors() {
    const DistanceVectorTables tables = scheme_->FillDistanceVectors(weights_, distances_);
    rows_of_distances_ = tables.row;
    vectors_.row = rows_of_distances_.data();
    for (const Array<double, 3>* table : {&tables.key, &tables.query, &tables.value}) {
      if (table->empty()) continue;
      vectors_.rows = table->extent(1);
      if (table->extent(0) > 1) vectors_.head_stride = table->extent(1) * table->extent(2);
    }
    vectors_.key = Keep(tables.key.values());
    vectors_.query = Keep(tables.query.values());
    vectors_.value = Keep(tables.value.values());
    vectors_.content_bias = Keep(tables.content_bias.values());
    vectors_.position_bias = Keep(tables.position_bias.values());
  }

  const float* Keep(const std::vector<double>& table) {
    if (table.empty()) return nullptr;
    kept_.push_back(std::make_unique<std::vector<float>>(Floats(table)));
    return kept_.back()->data();
  }

  Distances distances_;
  Index heads_;
  SchemePtr scheme_;
  std::vector<std::vector<double>> weights_, d_weights_;
  std::unique_ptr<Buffer<float>> bias_;
  std::unique_ptr<Buffer<double>> d_bias_;
  std::vector<std::int32_t> rows_of_distances_;
  VectorsByDistance vectors_;
  std::vector<std::unique_ptr<std::vector<float>>> kept_;
};

// One sequence [tokens, heads, head_dim] with its tables and gradients.
template <class T>
class Problem {
 public:
  Problem(const Sizes& sizes, const Kind& kind)
      : n_(sizes.tokens),
        heads_(sizes.heads),
        dim_(sizes.head_dim),
        kind_(kind),
        tables_(sizes, kind),
        query_(n_ * heads_ * dim_),
        key_(query_.count()),
        value_(query_.count()),
        d_out_(query_.count()),
        out_(query_.count()),
        d_query_(query_.count()),
        d_key_(query_.count()),
        d_value_(query_.count()),
        log_sum_exp_(heads_ * n_) {
    std::uint64_t seed = 1;
    for (const Buffer<T>* buffer : {&query_, &key_, &value_, &d_out_}) FillNormal(*buffer, seed++);
  }

  Tables& tables() { return tables_; }
  const Buffer<T>& out() const { return out_; }

  void Forward() { Forward(kind_.skip); }
  void Forward(TileSkip skip) {
    FusedAttention in = Input();
    in.skip = skip;
    AttentionForward(in, Heads(out_), log_sum_exp_.data(), DefaultExecutor());
  }

  void Backward() {
    AttentionGradient gradient;
    gradient.out = Heads(out_);
    gradient.d_out = Heads(d_out_);
    gradient.log_sum_exp = log_sum_exp_.data();
    gradient.d_query = Heads(d_query_);
    gradient.d_key = Heads(d_key_);
    gradient.d_value = Heads(d_value_);
    gradient.d_bias = tables_.d_bias();
    AttentionBackward(Input(), gradient, DefaultExecutor());
  }

  // Floating-point operations of a forward pass's products of queries, keys and values. What a
  // causal mask hides counts as not there, what is skipped beside that as done.
  double forward_work() const {
    return 4.0 * double(n_) * double(n_ * heads_ * dim_) / (kind_.mask.causal ? 2 : 1);
  }
  // What forward and backward write: output, its sums, and the gradients.
  double output_bytes() const {
    return 4 * query_.bytes() + log_sum_exp_.bytes() + tables_.d_bias_bytes();
  }

 private:
  HeadsOf<T> Heads(const Buffer<T>& x) const {
    return {x.data(), n_, heads_, dim_, heads_ * dim_, dim_};
  }
  FusedAttention Input() const {
    FusedAttention in;
    in.query = Heads(query_);
    in.key = Heads(key_);
    in.value = Heads(value_);
    in.scale = 1 / std::sqrt(float(dim_));
    in.mask = kind_.mask;
    in.skip = kind_.skip;
    tables_.SetInput(in);
    return in;
  }

  Index n_, heads_, dim_;
  Kind kind_;
  Tables tables_;
  Buffer<T> query_, key_, value_, d_out_, out_, d_query_, d_key_, d_value_;
  Buffer<float> log_sum_exp_;
};

template <class T = float>
MakeSubject Forward(const Kind& kind) {
  return [kind](const Sizes& sizes) {
    auto problem = std::make_shared<Problem<T>>(sizes, kind);
    return Repeated(problem->forward_work(), [problem] { problem->Forward(); });
  };
}

// Tiles left out, with the largest difference to leaving none out.
MakeSubject Skipping(const Kind& kind) {
  return [kind](const Sizes& sizes) {
    auto problem = std::make_shared<Problem<float>>(sizes, kind);
    problem->Forward(TileSkip::kNever);
    const Buffer<float>& out = problem->out();
    const std::vector<float> whole(out.data(), out.data() + out.count());
    problem->Forward();
    float largest = 0;
    for (Index i = 0; i < out.count(); ++i) {
      largest = std::max(largest, std::abs(out.data()[i] - whole[std::size_t(i)]));
    }
    Subject subject = Repeated(problem->forward_work(), [problem] { problem->Forward(); });
    subject.figures["difference to whole"] = double(largest);
    return subject;
  };
}

MakeSubject Backward(const Kind& kind) {
  return [kind](const Sizes& sizes) {
    auto problem = std::make_shared<Problem<float>>(sizes, kind);
    problem->Forward();
    return Repeated(2.5 * problem->forward_work(), [problem] { problem->Backward(); });
  };
}

// Forward and backward; with a bias, as its vector is the trainable thing.
MakeSubject Train(const Kind& kind) {
  return [kind](const Sizes& sizes) {
    auto problem = std::make_shared<Problem<float>>(sizes, kind);
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
    auto problem = std::make_shared<Problem<float>>(sizes, kind);
    Subject subject = Repeated(3.5 * problem->forward_work(), [problem] {
      problem->tables().FillBias();
      problem->Forward();
      problem->Backward();
      problem->tables().BackToWeights();
    });
    subject.figures["output bytes"] = problem->output_bytes();
    return subject;
  };
}

}  // namespace

void AddAttention(SubjectList& list) {
  const KernelMask causal{.causal = true};
  const Kind none, none_causal{"", causal};
  const Kind t5{"t5:direction=bidirectional"}, t5_causal{"t5", causal};
  list["attention/none"] = Forward(none);
  list["attention/causal"] = Forward(none_causal);
  list["attention/t5"] = Forward(t5);
  list["attention/t5_causal"] = Forward(t5_causal);
  list["attention/alibi"] = Forward({"alibi", {}, TileSkip::kNever});
  list["attention/alibi_causal"] = Forward({"alibi", causal, TileSkip::kNever});
  list["attention/alibi_causal_skip"] = Skipping({"alibi", causal});
  list["attention/shaw"] = Forward({"shaw"});
  list["attention/transformer-xl"] = Forward({"transformer-xl"});
  list["attention/deberta"] = Forward({"deberta:position_buckets=256,max_relative_positions=2048"});
  list["attention/none_bf16"] = Forward<Bf16>(none);
  list["attention/t5_bf16"] = Forward<Bf16>(t5);
  list["attention_backward/none"] = Backward(none);
  list["attention_backward/t5"] = Backward(t5);
  list["attention_train/none"] = Train(none);
  list["attention_train/causal"] = Train(none_causal);
  list["attention_train/bias"] = Train(t5);
  list["attention_train/t5"] = TrainWeights(t5);
  list["attention_train/t5_causal"] = TrainWeights(t5_causal);
}

}  // namespace sextant::bench
