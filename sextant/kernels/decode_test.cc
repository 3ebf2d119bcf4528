// Decoding at every SIMD target of the machine against attention in double: odd sizes, storages,
// strides, misaligned with guard elements, masks, positions in any order, NaN and infinities.
#include "sextant/kernels/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "sextant/core/error.h"
#include "sextant/core/random.h"
#include "sextant/kernels/stored_number.h"

namespace sextant {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kGuard = 12345;

// The rounding of an output, relative to it.
template <class T>
constexpr double kRounding = 0;
template <>
constexpr double kRounding<Bf16> = 0x1p-8;
template <>
constexpr double kRounding<F16> = 0x1p-11;

// What lies next to each other: all keys of a head, or all heads of a key.
enum class Order { kByHead, kByToken };

// Heads one element past an aligned start, with NaN between the rows and nothing after the last.
template <class T>
struct Heads {
  Heads(Index tokens, Index heads, Index head_dim, Order order, Index gap, double scale,
        Random& random)
      : shape{nullptr, tokens, heads, head_dim, head_dim + gap, head_dim + gap} {
    (order == Order::kByHead ? shape.head_stride : shape.token_stride) =
        (order == Order::kByHead ? tokens : heads) * (head_dim + gap) + gap;
    std::size_t size = 1;
    if (tokens > 0 && heads > 0) {
      size += std::size_t((tokens - 1) * shape.token_stride + (heads - 1) * shape.head_stride +
                          head_dim);
    }
    data.resize(size);
    for (T& value : data) Set(std::nan(""), value);
    for (Index n = 0; n < tokens; ++n) {
      for (Index h = 0; h < heads; ++h) {
        for (Index c = 0; c < head_dim; ++c) Set(scale * random.Normal(), At(n, h, c));
      }
    }
  }
  T& At(Index n, Index h, Index c) {
    return data[std::size_t(1 + n * shape.token_stride + h * shape.head_stride + c)];
  }
  double Value(Index n, Index h, Index c) const {
    return ToDouble(data[std::size_t(1 + n * shape.token_stride + h * shape.head_stride + c)]);
  }
  HeadsOf<T> View() {
    HeadsOf<T> view = shape;
    view.data = data.data() + 1;
    return view;
  }

  HeadsOf<T> shape;
  std::vector<T> data;
};

struct Case {
  Index queries = 1, kv_heads = 1, group = 1, head_dim = 16, keys = 1;
  Order order = Order::kByHead;
  bool causal = true;
  std::int64_t window = 0;
  bool biased = false;
  bool scaled = false;  // each query with its own factor
  int invalid = 0;      // every so many keys are padding; 0: none
  enum { kLast, kGiven, kRing, kRepeated } positions = kLast;
  double size = 1;  // of the queries' numbers
};

// A case's tables and positions, and its softmax in double.
template <class K, class V>
struct Problem {
  Problem(const Case& c, std::uint64_t seed)
      : of(c),
        random(seed),
        query(c.queries, c.kv_heads * c.group, c.head_dim, Order::kByToken, 3, c.size, random),
        key(c.keys, c.kv_heads, c.head_dim, c.order, 5, 1, random),
        value(c.keys, c.kv_heads, c.head_dim, c.order, 2, 1, random) {
    Place();
    in.query = query.View();
    in.key = key.View();
    in.value = value.View();
    in.scale = float(1 / std::sqrt(double(c.head_dim)));
    in.causal = c.causal;
    in.window = c.window;
    for (Index j = 0; j < c.keys; ++j) {
      valid.push_back(c.invalid > 0 && (j + 1) % c.invalid == 0 ? 0 : 1);
    }
    if (c.invalid > 0) in.key_valid = valid.data();
    if (c.positions != Case::kLast) {
      in.query_position = query_position.data();
      in.key_position = key_position.data();
    }
    for (Index i = 0; i < c.queries; ++i) query_scale.push_back(float(0.5 + random.Uniform()));
    if (c.scaled) in.query_scale = query_scale.data();
    if (c.biased) AddBias();
  }

  void Place() {
    const std::int64_t start = of.positions == Case::kLast ? 0 : 1000000;
    for (Index j = 0; j < of.keys; ++j) {
      std::int64_t at = j;
      if (of.positions == Case::kRing) at = (j + of.keys / 3) % of.keys;
      if (of.positions == Case::kRepeated) at = j / 2;
      key_position.push_back(start + at);
    }
    for (Index i = 0; i < of.queries; ++i) {
      query_position.push_back(start + of.keys - of.queries + i);
    }
  }

  bool Sees(Index i, Index j) const {
    const std::int64_t distance = key_position[std::size_t(j)] - query_position[std::size_t(i)];
    return (!of.causal || distance <= 0) && (of.window == 0 || std::abs(distance) < of.window) &&
           valid[std::size_t(j)] != 0;
  }

  // Exactly the distances that are seen, with NaN on both sides.
  void AddBias() {
    std::int64_t least = 1, most = 0;
    for (Index i = 0; i < of.queries; ++i) {
      for (Index j = 0; j < of.keys; ++j) {
        if (!Sees(i, j)) continue;
        const std::int64_t d = key_position[std::size_t(j)] - query_position[std::size_t(i)];
        least = least > most ? d : std::min(least, d);
        most = std::max(least, std::max(most, d));
      }
    }
    first_distance = least;
    distances = most - least + 1;
    const Index stride = distances + 1;
    bias.assign(std::size_t(of.kv_heads * of.group * stride + 1), std::nanf(""));
    for (Index h = 0; h < of.kv_heads * of.group; ++h) {
      for (Index d = 0; d < distances; ++d) {
        bias[std::size_t(1 + h * stride + d)] = float(2 * random.Normal());
      }
    }
    in.bias = bias.data() + 1;
    in.bias_head_stride = stride;
    in.first_distance = first_distance;
    in.distances = distances;
  }

  double Score(Index h, Index i, Index j) const {
    double sum = 0;
    for (Index c = 0; c < of.head_dim; ++c) {
      sum += query.Value(i, h, c) * key.Value(j, h / of.group, c);
    }
    sum *= double(in.scale) * (of.scaled ? double(query_scale[std::size_t(i)]) : 1);
    if (!of.biased) return sum;
    const std::int64_t d = key_position[std::size_t(j)] - query_position[std::size_t(i)];
    return sum + double(in.bias[h * in.bias_head_stride + d - first_distance]);
  }

  // Of one query of one head: the output, and the log-sum-exp returned.
  double Right(Index h, Index i, std::vector<double>& out) const {
    out.assign(std::size_t(of.head_dim), 0);
    std::vector<double> scores;
    double most = -kInfinity, total = 0;
    for (Index j = 0; j < of.keys; ++j) {
      scores.push_back(Sees(i, j) ? Score(h, i, j) : -kInfinity);
      if (!(scores.back() <= most)) most = scores.back();
    }
    for (Index j = 0; j < of.keys; ++j) {
      if (!Sees(i, j)) continue;
      const double weight = std::exp(scores[std::size_t(j)] - most);
      total += weight;
      for (Index c = 0; c < of.head_dim; ++c) {
        out[std::size_t(c)] += weight * value.Value(j, h / of.group, c);
      }
    }
    if (total == 0) return -kInfinity;
    for (double& x : out) x /= total;
    return most + std::log(total);
  }

  Case of;
  Random random;
  Heads<float> query;
  Heads<K> key;
  Heads<V> value;
  std::vector<std::uint8_t> valid;
  std::vector<std::int64_t> query_position, key_position;
  std::vector<float> query_scale, bias;
  std::int64_t first_distance = 0;
  Index distances = 0;
  DecodeAttention in;
};

struct Compared {
  Index numbers = 0;
  double largest = 0;  // error, relative to the largest value
};

// Runs a case and compares it; the first `rows` of guards must stay.
template <class K, class V, class Out>
void Expect(const Case& c, std::uint64_t seed, double tolerance, Compared& compared) {
  SCOPED_TRACE(testing::Message() << c.queries << " queries, " << c.kv_heads << " x " << c.group
                                  << " heads of " << c.head_dim << ", " << c.keys
                                  << " keys, window " << c.window << ", positions " << c.positions
                                  << (c.biased ? ", biased" : "") << ", invalid " << c.invalid);
  Problem<K, V> p(c, seed);
  const Index heads = c.kv_heads * c.group;
  Random random(1);
  Heads<Out> out(c.queries, heads, c.head_dim, Order::kByToken, 4, 1, random);
  for (Out& x : out.data) Set(kGuard, x);
  std::vector<float> lse(std::size_t(heads * c.queries + 2), float(kGuard));
  AttentionDecode(p.in, out.View(), lse.data() + 1, DefaultExecutor());
  double largest = 1e-30;
  for (Index j = 0; j < c.keys; ++j) {
    for (Index h = 0; h < c.kv_heads; ++h) {
      for (Index x = 0; x < c.head_dim; ++x) {
        largest = std::max(largest, std::abs(p.value.Value(j, h, x)));
      }
    }
  }
  std::vector<double> right;
  for (Index h = 0; h < heads; ++h) {
    for (Index i = 0; i < c.queries; ++i) {
      const double sum = p.Right(h, i, right);
      const double got = lse[std::size_t(1 + h * c.queries + i)];
      if (sum == -kInfinity) {
        ASSERT_EQ(got, sum) << h << " " << i;
      } else {
        ASSERT_NEAR(got, sum, tolerance * std::max(1.0, std::abs(sum))) << h << " " << i;
      }
      for (Index x = 0; x < c.head_dim; ++x) {
        const double error = std::abs(out.Value(i, h, x) - right[std::size_t(x)]);
        const double rounding = kRounding<Out> * std::abs(right[std::size_t(x)]) * 1.01;
        ASSERT_LE(error, tolerance * largest + rounding) << h << " " << i << " " << x;
        compared.largest = std::max(compared.largest, (error - rounding) / largest);
        ++compared.numbers;
        Set(kGuard, out.At(i, h, x));
      }
    }
  }
  Out guard;
  Set(kGuard, guard);
  for (const Out& x : out.data) ASSERT_EQ(ToDouble(x), ToDouble(guard));
  ASSERT_EQ(lse.front(), float(kGuard));
  ASSERT_EQ(lse.back(), float(kGuard));
}

constexpr double kTolerance = 2e-6;

class DecodeTest : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }

  void Print(const Compared& compared) {
    std::printf("%s: %lld numbers compared, largest error %.2g of the largest value\n",
                hwy::TargetName(GetParam()), static_cast<long long>(compared.numbers),
                compared.largest);
  }
};

TEST_P(DecodeTest, AgreesWithDoubleAtOddSizes) {
  Compared compared;
  const Index dims[] = {1, 3, 7, 8, 15, 16, 17, 33, 40, 64, 80, 100, 128, 130, 144};
  std::uint64_t seed = 0;
  for (Index keys :
       {0, 1, 2, 3, 5, 13, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257, 512, 513, 523}) {
    for (int variant = 0; variant < 2; ++variant) {
      Case c;
      c.keys = keys;
      c.head_dim = dims[seed % std::size(dims)];
      c.group = Index(1 + seed % 8);
      c.kv_heads = Index(1 + seed % 3);
      c.queries = variant == 0 ? 1 : Index(1 + seed % 5);
      c.order = seed % 2 == 1 ? Order::kByToken : Order::kByHead;
      c.biased = seed % 2 == 0;
      c.scaled = seed % 5 == 0;
      c.causal = seed % 7 != 0;
      Expect<float, float, float>(c, ++seed, kTolerance, compared);
      if (HasFatalFailure()) return;
    }
  }
  Print(compared);
  EXPECT_GT(compared.numbers, 40000);
}

TEST_P(DecodeTest, EveryStorageIsReadExactlyAndRoundedOnce) {
  Compared compared;
  for (Index head_dim : {24, 64, 7}) {
    Case c;
    c.queries = 2;
    c.kv_heads = 2;
    c.group = 3;
    c.head_dim = head_dim;
    c.keys = 70;
    c.biased = true;
    Expect<Bf16, Bf16, float>(c, 1, kTolerance, compared);
    Expect<F16, F16, float>(c, 2, kTolerance, compared);
    Expect<Bf16, float, float>(c, 3, kTolerance, compared);
    Expect<float, F16, Bf16>(c, 4, kTolerance, compared);
    Expect<F16, Bf16, F16>(c, 5, kTolerance, compared);
    Expect<Bf16, Bf16, Bf16>(c, 6, kTolerance, compared);
    if (HasFatalFailure()) return;
  }
  Print(compared);
}

TEST_P(DecodeTest, MasksAndPositionsInAnyOrder) {
  Compared compared;
  std::uint64_t seed = 100;
  for (auto positions : {Case::kLast, Case::kGiven, Case::kRing, Case::kRepeated}) {
    for (std::int64_t window : {0, 1, 5, 40, 100000}) {
      for (int invalid : {0, 1, 2, 9}) {
        Case c;
        c.positions = positions;
        c.window = window;
        c.invalid = invalid;
        c.queries = seed % 4 == 0 ? 16 : Index(1 + seed % 6);
        c.kv_heads = 2;
        c.group = Index(1 + seed % 3);
        c.head_dim = 20;
        c.keys = seed % 3 == 0 ? 11 : 150;
        c.causal = seed % 5 != 0;
        c.biased = seed % 8 < 5;
        c.order = seed % 2 == 0 ? Order::kByHead : Order::kByToken;
        Expect<float, float, float>(c, ++seed, kTolerance, compared);
        if (HasFatalFailure()) return;
      }
    }
  }
  Print(compared);
}

TEST_P(DecodeTest, LargeScoresStayWithinTheStatedError) {
  Compared compared;
  for (double size : {1e-30, 3.0, 12.0}) {  // scores of up to about 50 with the last
    Case c;
    c.queries = 3;
    c.group = 4;
    c.head_dim = 64;
    c.keys = 600;
    c.size = size;
    Expect<float, float, float>(c, 7, kTolerance, compared);
  }
  Print(compared);
}

// One key with a score far above all others takes the whole weight, whatever the scores' size.
TEST_P(DecodeTest, HugeScoresGiveTheLargestKeysValue) {
  for (float factor : {300.0f, 1e6f, 1e30f}) {
    std::vector<float> q(8, 1), k(300 * 8), v(300 * 8), out(8);
    for (std::size_t j = 0; j < 300; ++j) {
      std::fill_n(k.begin() + std::ptrdiff_t(j * 8), 8, j == 270 ? factor : -factor);
      std::fill_n(v.begin() + std::ptrdiff_t(j * 8), 8, j == 270 ? 2.5f : 1e30f);
    }
    DecodeAttention in;
    in.query = HeadsOf<float>{q.data(), 1, 1, 8, 8, 8};
    in.key = HeadsOf<float>{k.data(), 300, 1, 8, 8, 8};
    in.value = HeadsOf<float>{v.data(), 300, 1, 8, 8, 8};
    float lse = 0;
    AttentionDecode(in, HeadsOf<float>{out.data(), 1, 1, 8, 8, 8}, &lse, SerialExecutor());
    EXPECT_EQ(out, std::vector<float>(8, 2.5f)) << factor;
    EXPECT_NEAR(lse / (8 * factor), 1, 1e-6);
  }
}

TEST_P(DecodeTest, NanAndInfinitiesReachTheRowsThatSeeThemAndNoOthers) {
  for (double bad : {std::nan(""), kInfinity, -kInfinity}) {
    for (bool in_value : {true, false}) {
      Case c;
      c.queries = 4;
      c.kv_heads = 2;
      c.group = 3;
      c.head_dim = 19;
      c.keys = 70;
      c.window = 30;
      c.invalid = 9;
      Problem<float, float> p(c, 3), clean(c, 3);
      // Of kv head 1: key 38 is seen by queries 0 and 1 (at 66 and 67), key 69 by query 3, keys 62
      // and 5 by none.
      for (Index j : {38, 69, 62, 5}) Set(bad, (in_value ? p.value : p.key).At(j, 1, 15));
      std::vector<float> out(std::size_t(4 * 6 * 19)), right(out.size()), lse(4 * 6);
      std::vector<double> expected;
      const HeadsOf<float> view{out.data(), 4, 6, 19, 6 * 19, 19};
      HeadsOf<float> right_view = view;
      right_view.data = right.data();
      AttentionDecode(p.in, view, lse.data(), SerialExecutor());
      AttentionDecode(clean.in, right_view, nullptr, SerialExecutor());
      for (Index i = 0; i < 4; ++i) {
        for (Index h = 0; h < 6; ++h) {
          const bool reached = h >= 3 && (p.Sees(i, 38) || p.Sees(i, 69));
          EXPECT_EQ(reached, h >= 3 && i != 2);
          const double sum = p.Right(h, i, expected);
          for (Index x = 0; x < 19; ++x) {
            const auto at = std::size_t(i * 6 * 19 + h * 19 + x);
            if (!reached) {
              EXPECT_EQ(out[at], right[at]) << i << " " << h << " " << x;
            } else if (std::isfinite(expected[std::size_t(x)])) {
              EXPECT_NEAR(out[at], expected[std::size_t(x)], 1e-5) << i << " " << h << " " << x;
            } else {
              EXPECT_FALSE(std::isfinite(out[at])) << i << " " << h << " " << x;
            }
          }
          const double got = lse[std::size_t(h * 4 + i)];
          EXPECT_TRUE(std::isnan(sum) ? std::isnan(got) : std::abs(got - sum) < 1e-5);
        }
      }
    }
  }
}

// A table's -inf hides a key; where it hides all of them there is nothing to see.
TEST_P(DecodeTest, ABiasOfMinusInfinityHides) {
  Case c;
  c.keys = 40;
  c.group = 2;
  c.biased = true;
  Problem<float, float> p(c, 5);
  std::fill(p.bias.begin(), p.bias.begin() + 1 + p.in.bias_head_stride,
            -std::numeric_limits<float>::infinity());
  p.bias[std::size_t(1 + p.in.bias_head_stride + 17)] = -std::numeric_limits<float>::infinity();
  std::vector<float> out(32, 1), lse(2);
  AttentionDecode(p.in, HeadsOf<float>{out.data(), 1, 2, 16, 32, 16}, lse.data(), SerialExecutor());
  std::vector<double> right;
  EXPECT_EQ(double(lse[0]), -kInfinity);
  EXPECT_NEAR(double(lse[1]), p.Right(1, 0, right), 1e-5);
  for (std::size_t x = 0; x < 16; ++x) {
    EXPECT_EQ(out[x], 0);
    EXPECT_NEAR(out[16 + x], right[x], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DecodeTest,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) { return hwy::TargetName(target.param); });

// Threads of its own, the last piece first.
class FourThreads final : public Executor {
 public:
  void Run(Index count, const std::function<void(Index)>& task) override {
    runs += 1;
    pieces += count;
    std::vector<std::thread> threads;
    for (Index t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (Index i = count - 1 - t; i >= 0; i -= 4) task(i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  Index runs = 0, pieces = 0;
};

TEST(DecodeExecutorTest, TheSameBitsOnAnyExecutor) {
  for (Order order : {Order::kByHead, Order::kByToken}) {
    Case c;
    c.queries = 3;
    c.kv_heads = 3;
    c.group = 5;
    c.head_dim = 48;
    c.keys = 1500;
    c.order = order;
    c.biased = true;
    Problem<Bf16, float> p(c, 11);
    const Index heads = 15;
    std::vector<std::vector<float>> results;
    FourThreads four;
    for (Executor* executor : {&SerialExecutor(), &DefaultExecutor(), static_cast<Executor*>(&four),
                               &DefaultExecutor(), static_cast<Executor*>(&four)}) {
      std::vector<float> out(std::size_t(3 * heads * 48 + 3 * heads));
      AttentionDecode(p.in, HeadsOf<float>{out.data(), 3, heads, 48, heads * 48, 48},
                      out.data() + 3 * heads * 48, *executor);
      results.push_back(out);
    }
    EXPECT_EQ(four.runs, 2);
    EXPECT_GE(four.pieces, 2 * 6);
    for (const std::vector<float>& other : results) {
      EXPECT_EQ(std::memcmp(results[0].data(), other.data(), other.size() * sizeof(float)), 0);
    }
  }
}

TEST(DecodeExecutorTest, SmallWorkWakesNoThread) {
  Case c;
  c.head_dim = 64;
  c.keys = 127;  // 65024 bytes
  Problem<float, float> small(c, 1);
  c.keys = 128;
  Problem<float, float> large(c, 1);
  FourThreads four;
  std::vector<float> out(64);
  const HeadsOf<float> view{out.data(), 1, 1, 64, 64, 64};
  AttentionDecode(small.in, view, nullptr, four);
  EXPECT_EQ(four.runs, 0);
  AttentionDecode(large.in, view, nullptr, four);
  EXPECT_EQ(four.runs, 1);
}

class DecodeRefusalTest : public testing::Test {
 protected:
  DecodeRefusalTest() : problem(Shape(), 1), out(64, 7) {}
  static Case Shape() {
    Case c;
    c.queries = 2;
    c.group = 2;
    c.keys = 10;
    c.biased = true;
    return c;
  }
  std::string Refusal(const DecodeAttention& in) { return Refusal(in, View()); }
  std::string Refusal(const DecodeAttention& in, const HeadsOut& to) {
    try {
      AttentionDecode(in, to, nullptr, SerialExecutor());
    } catch (const Error& error) {
      EXPECT_EQ(out, std::vector<float>(64, 7));
      return error.what();
    }
    return "accepted";
  }
  HeadsOf<float> View() { return {out.data(), 2, 2, 16, 32, 16}; }

  Problem<float, float> problem;
  std::vector<float> out;
};

TEST_F(DecodeRefusalTest, ShapesThatDoNotFit) {
  using testing::HasSubstr;
  const HeadsOf<float> key = problem.key.View(), query = problem.query.View();
  const auto with = [&](auto change) {
    DecodeAttention in = problem.in;
    change(in);
    return Refusal(in);
  };
  const auto keys = [](HeadsOf<float> heads, Index HeadsOf<float>::*member, Index value) {
    heads.*member = value;
    return heads;
  };
  using H = HeadsOf<float>;
  EXPECT_THAT(with([&](auto& in) { in.value = keys(problem.value.View(), &H::tokens, 9); }),
              HasSubstr("same shape"));
  EXPECT_THAT(with([&](auto& in) {
                in.key = keys(key, &H::head_dim, 15);
                in.value = keys(key, &H::head_dim, 15);
              }),
              HasSubstr("same head_dim from 1 to 4096, got 16 and 15"));
  EXPECT_THAT(with([&](auto& in) { in.query = keys(query, &H::heads, 0), in.key = in.value = {}; }),
              HasSubstr("same head_dim"));
  EXPECT_THAT(with([&](auto& in) {
                in.key = keys(key, &H::heads, 3);
                in.value = keys(key, &H::heads, 3);
              }),
              HasSubstr("multiple of key heads, got 2 and 3"));
  EXPECT_THAT(with([&](auto& in) { in.query = keys(query, &H::tokens, 17); }),
              HasSubstr("at most 16 queries, got 17"));
  EXPECT_THAT(with([&](auto& in) { in.query = keys(query, &H::tokens, 1); }),
              HasSubstr("shape of the queries"));
  EXPECT_THAT(with([&](auto& in) { in.query = keys(query, &H::tokens, -1); }),
              HasSubstr("must not be negative"));
  EXPECT_THAT(with([&](auto& in) { in.key = keys(key, &H::token_stride, -16); }),
              HasSubstr("strides of the key"));
  EXPECT_THAT(with([&](auto& in) {
                HeadsOf<float> none = key;
                none.data = nullptr;
                in.key = none;
              }),
              HasSubstr("the key has no data"));
  EXPECT_THAT(with([&](auto& in) { in.window = -1; }), HasSubstr("window"));
  EXPECT_THAT(Refusal(problem.in, keys(View(), &H::heads, 1)), HasSubstr("shape of the queries"));
}

TEST_F(DecodeRefusalTest, AnOutputOverAnInput) {
  DecodeAttention in = problem.in;
  in.key = HeadsOf<float>{out.data(), 10, 1, 16, 0, 0};
  EXPECT_THAT(Refusal(in), testing::HasSubstr("overlap"));
}

TEST_F(DecodeRefusalTest, TablesAndPositionsThatDoNotReach) {
  using testing::HasSubstr;
  DecodeAttention in = problem.in;
  ASSERT_EQ(in.first_distance, -9);
  in.distances -= 1;
  EXPECT_THAT(Refusal(in), HasSubstr("cover distances -9 to 0, got 9 from -9 on"));
  in = problem.in;
  in.first_distance += 1;
  EXPECT_THAT(Refusal(in), HasSubstr("cover distances -9 to 0, got 10 from -8 on"));
  in.first_distance = std::numeric_limits<std::int64_t>::min();
  in.distances = std::numeric_limits<Index>::max();
  EXPECT_THAT(Refusal(in), HasSubstr("cover distances"));
  in = problem.in;
  in.window = 9;  // leaves out what the table does not hold
  in.first_distance += 1;
  in.distances -= 1;
  out.assign(64, 7);
  AttentionDecode(in, View(), nullptr, SerialExecutor());
  out.assign(64, 7);

  in = problem.in;
  std::vector<std::int64_t> at(10), query_at = {8, 9};
  std::iota(at.begin(), at.end(), 0);
  in.key_position = at.data();
  EXPECT_THAT(Refusal(in), HasSubstr("queries must have them too"));
  in.query_position = query_at.data();
  at[3] = -11;
  EXPECT_THAT(Refusal(in), HasSubstr("cover distances -20 to 0"));
  at[3] = 9 - (std::int64_t{1} << 30);
  EXPECT_THAT(Refusal(in), HasSubstr("less than 2^30 apart"));
  at[3] = std::numeric_limits<std::int64_t>::min();
  query_at[1] = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(Refusal(in), HasSubstr("less than 2^30 apart"));
}

TEST(DecodeEmptyTest, NoQueriesAndNoHeadsAreNothingToDo) {
  std::vector<float> x(64), out(64, 7);
  DecodeAttention in;
  in.key = in.value = HeadsOf<float>{x.data(), 2, 1, 16, 16, 16};
  in.query = HeadsOf<float>{x.data(), 0, 2, 16, 32, 16};
  AttentionDecode(in, HeadsOf<float>{out.data(), 0, 2, 16, 32, 16}, nullptr, SerialExecutor());
  in.query = HeadsOf<float>{x.data(), 2, 0, 16, 32, 16};
  AttentionDecode(in, HeadsOf<float>{out.data(), 2, 0, 16, 32, 16}, nullptr, SerialExecutor());
  EXPECT_EQ(out, std::vector<float>(64, 7));
}

}  // namespace
}  // namespace sextant
