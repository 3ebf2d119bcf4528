// One query against a cache of keys and values, by storage, with and without a bias by distance.
#include <cmath>
#include <memory>
#include <type_traits>

#include "bench/buffer.h"
#include "bench/subject.h"
#include "sextant/kernels/decode.h"

namespace sextant::bench {
namespace {

enum class Bias { kNone, kByDistance };

// A cache as the peers hold it: all keys of a head one after the other.
template <class T>
class Decoding {
 public:
  Decoding(const Sizes& sizes, Bias bias)
      : query_(sizes.heads * sizes.head_dim),
        key_(sizes.kv_heads * sizes.tokens * sizes.head_dim),
        value_(key_.count()),
        out_(query_.count()),
        bias_(sizes.heads * sizes.tokens) {
    FillNormal(query_, 1);
    FillNormal(key_, 2);
    FillNormal(value_, 3);
    FillNormal(bias_, 4);
    const Index dim = sizes.head_dim, width = sizes.heads * dim;
    in_.query = HeadsOf<const float>{query_.data(), 1, sizes.heads, dim, width, dim};
    in_.key = Cache(sizes, key_);
    in_.value = Cache(sizes, value_);
    in_.scale = 1 / std::sqrt(float(dim));
    if (bias == Bias::kByDistance) {
      in_.bias = bias_.data();
      in_.bias_head_stride = in_.distances = sizes.tokens;
      in_.first_distance = 1 - sizes.tokens;
    }
    to_ = HeadsOf<float>{out_.data(), 1, sizes.heads, dim, width, dim};
  }

  void Run() const { AttentionDecode(in_, to_, nullptr, DefaultExecutor()); }
  double bytes() const { return key_.bytes() + value_.bytes(); }

 private:
  static HeadsOf<const T> Cache(const Sizes& sizes, const Buffer<T>& from) {
    const Index dim = sizes.head_dim;
    return {from.data(), sizes.tokens, sizes.kv_heads, dim, dim, sizes.tokens * dim};
  }
  Buffer<float> query_;
  Buffer<T> key_, value_;
  Buffer<float> out_, bias_;
  DecodeAttention in_;
  HeadsOut to_;
};

template <class T>
MakeSubject Decode(Bias bias) {
  return [bias](const Sizes& sizes) {
    auto decoding = std::make_shared<Decoding<T>>(sizes, bias);
    return Repeated(decoding->bytes(), [decoding] { decoding->Run(); });
  };
}

}  // namespace

void AddDecoding(SubjectList& list) {
  list["decode/f32"] = Decode<float>(Bias::kNone);
  list["decode/bf16"] = Decode<Bf16>(Bias::kNone);
  list["decode/f16"] = Decode<F16>(Bias::kNone);
  list["decode/f32_bias"] = Decode<float>(Bias::kByDistance);
  list["decode/bf16_bias"] = Decode<Bf16>(Bias::kByDistance);
}

}  // namespace sextant::bench
