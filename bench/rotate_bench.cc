// The rotary kernel beside its limit, reading and writing the same memory, and PyTorch's eager and
// complex forms, in interleaved rounds of one run.
#include <torch/torch.h>

#include <cstdlib>

#include "bench/rounds.h"
#include "sextant/kernels/rotate.h"
#include "torch/aten_executor.h"

namespace sextant::bench {
namespace {

using nn::AtenExecutor;
using torch::Tensor;
constexpr Index kHeads = 32, kWidth = 128;

// The llama form: x cos + rotate_half(x) sin.
Tensor Eager(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Tensor turned =
      torch::cat({-x.narrow(-1, kWidth / 2, kWidth / 2), x.narrow(-1, 0, kWidth / 2)}, -1);
  return x * cos + turned * sin;
}

void Bench(Index tokens, int rounds) {
  torch::NoGradGuard no_grad;
  const Tensor x = torch::randn({tokens, kHeads, kWidth});
  const Tensor half = torch::randn({tokens, kHeads, kWidth}).to(torch::kBFloat16);
  const Tensor angle = torch::arange(tokens, torch::kFloat).unsqueeze(1) *
                       torch::pow(1e4, -torch::arange(kWidth / 2, torch::kFloat) * 2 / kWidth);
  const Tensor cos = angle.cos().contiguous(), sin = angle.sin().contiguous();
  const Tensor cos_wide = torch::cat({cos, cos}, -1).unsqueeze(1),
               sin_wide = torch::cat({sin, sin}, -1).unsqueeze(1);
  const Tensor turns = torch::polar(torch::ones_like(angle), angle).unsqueeze(1);
  float* data = x.data_ptr<float>();
  auto* data16 = static_cast<Bf16*>(half.data_ptr());
  AtenExecutor executor;
  const TurnTable table{cos.data_ptr<float>(), sin.data_ptr<float>(), kWidth / 2};
  const auto turn = [&](PairOrder order) {
    Rotate(HeadsOf<const float>{data, tokens, kHeads, kWidth, kHeads * kWidth, kWidth},
           HeadsOf<float>{data, tokens, kHeads, kWidth, kHeads * kWidth, kWidth}, table,
           {0, kWidth, 1, order, order}, TurnDirection::kForth, executor);
  };
  const double bytes = double(tokens * kHeads * kWidth) * 8;
  std::vector<Measured> all = {
      {"limit: read, multiply, write in place", bytes,
       [&] {
         const Index step = 16384, all_floats = tokens * kHeads * kWidth;
         executor.Run((all_floats + step - 1) / step, [&](Index task) {
           const Index end = std::min(all_floats, (task + 1) * step);
           for (Index i = task * step; i < end; ++i) data[i] *= 1.0000001f;
         });
       }},
      {"sextant f32 in place, halves", bytes, [&] { turn(PairOrder::kHalves); }},
      {"sextant f32 in place, adjacent", bytes, [&] { turn(PairOrder::kAdjacent); }},
      {"sextant bf16 in place, halves", bytes / 2,
       [&] {
         Rotate(HeadsOf<const Bf16>{data16, tokens, kHeads, kWidth, kHeads * kWidth, kWidth},
                HeadsOf<Bf16>{data16, tokens, kHeads, kWidth, kHeads * kWidth, kWidth}, table,
                {0, kWidth, 1, PairOrder::kHalves, PairOrder::kHalves}, TurnDirection::kForth,
                executor);
       }},
      {"torch f32 eager, rotate_half", bytes, [&] { Eager(x, cos_wide, sin_wide); }},
      {"torch f32 complex, adjacent", bytes, [&] {
         torch::view_as_real(torch::view_as_complex(x.view({tokens, kHeads, kWidth / 2, 2})) *
                             turns);
       }}};
  RunRounds(rounds, all);
  PrintRounds(
      fmt::format("rotary, {} tokens x {} heads x {} ({:.1f} MB), {} threads, medians of {}",
                  tokens, kHeads, kWidth, bytes / 2e6, at::get_num_threads(), rounds),
      all);
}

}  // namespace
}  // namespace sextant::bench

int main(int argc, char** argv) {
  at::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 2);
  for (sextant::Index tokens : {1, 64, 512, 4096, 32768}) {
    sextant::bench::Bench(tokens, tokens > 4096 ? 7 : 15);
  }
}
