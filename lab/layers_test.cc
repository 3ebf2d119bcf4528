// Layers against the same made of ATen's operations in double.
#include "lab/layers.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "sextant/core/error.h"

namespace sextant::lab {
namespace {

using torch::Tensor;
using Layer = std::function<Tensor(const std::vector<Tensor>&)>;

Tensor Plain(const Tensor& x, const Norm& norm) {
  return torch::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias);
}

std::vector<Tensor> Random(const std::vector<std::vector<std::int64_t>>& shapes) {
  torch::manual_seed(7);
  std::vector<Tensor> made;
  for (const auto& shape : shapes) made.push_back(torch::randn(shape, torch::kDouble));
  return made;
}

// Copies of `values` as leaves of `type`, and what `layer` makes of them, with gradients of the
// sum of its products with fixed numbers.
struct Run {
  Run(const Layer& layer, const std::vector<Tensor>& values, at::ScalarType type) {
    for (const Tensor& value : values) {
      given.push_back(value.to(type).clone().set_requires_grad(true));
    }
    out = layer(given);
    const Tensor with = torch::linspace(-1, 2, out.numel(), torch::kDouble).view(out.sizes());
    (out * with.to(type)).sum().backward();
  }
  std::vector<Tensor> given;
  Tensor out;
};

double Difference(const Tensor& a, const Tensor& b) {
  return ((a.to(torch::kDouble) - b).abs().max() / b.abs().max()).item<double>();
}

void ExpectSame(const Layer& layer, const Layer& plain, const std::vector<Tensor>& values) {
  const Run right(plain, values, torch::kDouble);
  for (const at::ScalarType type : {torch::kFloat, torch::kDouble}) {
    SCOPED_TRACE(type);
    const double bound = type == torch::kFloat ? 2e-6 : 1e-14;
    const Run run(layer, values, type);
    EXPECT_EQ(run.out.sizes(), right.out.sizes());
    EXPECT_LE(Difference(run.out, right.out), bound);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_TRUE(run.given[i].grad().defined()) << "argument " << i;
      EXPECT_LE(Difference(run.given[i].grad(), right.given[i].grad()), bound) << "argument " << i;
    }
    torch::NoGradGuard no_grad;
    EXPECT_TRUE(torch::equal(layer(run.given), run.out));
  }
}

TEST(LayersTest, NormLinearIsThatOfAten) {
  ExpectSame(
      [](const auto& x) {
        return NormLinear(x[0], {x[1], x[2]}, {x[3], x[4]});
      },
      [](const auto& x) {
        return torch::linear(Plain(x[0], {x[1], x[2]}), x[3], x[4]);
      },
      Random({{3, 5, 24}, {24}, {24}, {17, 24}, {17}}));
  ExpectSame(
      [](const auto& x) {
        return NormLinear(x[0], {x[1], x[2]}, {x[3], {}});
      },
      [](const auto& x) {
        return torch::linear(Plain(x[0], {x[1], x[2]}), x[3]);
      },
      Random({{65, 16}, {16}, {16}, {48, 16}}));
}

TEST(LayersTest, AddLinearIsThatOfAten) {
  ExpectSame(
      [](const auto& x) {
        return AddLinear(x[0], x[1], {x[2], x[3]});
      },
      [](const auto& x) { return x[0] + torch::linear(x[1], x[2], x[3]); },
      Random({{3, 5, 17}, {3, 5, 24}, {17, 24}, {17}}));
  ExpectSame(
      [](const auto& x) {
        return AddLinear(x[0], x[1], {x[2], {}});
      },
      [](const auto& x) { return x[0] + torch::linear(x[1], x[2]); },
      Random({{1, 16}, {1, 16}, {16, 16}}));
}

TEST(LayersTest, AddMlpIsThatOfAten) {
  ExpectSame(
      [](const auto& x) {
        return AddMlp(x[0], {x[1], x[2]}, {x[3], x[4]}, {x[5], x[6]});
      },
      [](const auto& x) {
        const Tensor hidden = torch::linear(Plain(x[0], {x[1], x[2]}), x[3], x[4]);
        return x[0] + torch::linear(torch::gelu(hidden), x[5], x[6]);
      },
      Random({{3, 5, 24}, {24}, {24}, {96, 24}, {96}, {24, 96}, {24}}));
}

TEST(LayersTest, MeanCrossEntropyIsThatOfAten) {
  const Tensor targets = torch::tensor({3, 0, 18, 18, 7}, torch::kLong);
  ExpectSame([&](const auto& x) { return MeanCrossEntropy(x[0] + 0, targets); },
             [&](const auto& x) { return torch::cross_entropy_loss(x[0], targets); },
             Random({{5, 19}}));
}

// One target that is certain, one that is out of question: gradients stay numbers.
TEST(LayersTest, MeanCrossEntropyOfLargeLogits) {
  const Tensor logits = torch::tensor({{1e4f, 0.f}, {1e4f, 0.f}}).set_requires_grad(true);
  const Tensor loss = MeanCrossEntropy(logits + 0, torch::tensor({0, 1}, torch::kLong));
  EXPECT_FLOAT_EQ(loss.item<float>(), 5e3f);
  loss.backward();
  EXPECT_TRUE(torch::equal(logits.grad(), torch::tensor({{0.f, 0.f}, {.5f, -.5f}})));
}

// Gradients of 2 `made`, twice over the same graph.
std::vector<Tensor> GradientsTwice(const Tensor& made, const Tensor& of) {
  std::vector<Tensor> gradients;
  for (int time = 0; time < 2; ++time) {
    gradients.push_back(
        torch::autograd::grad({made.sum() * 2}, {of}, {}, /*retain_graph=*/true)[0].clone());
  }
  return gradients;
}

TEST(LayersTest, GoingBackTwiceGivesTheSameOrThrows) {
  const Tensor x = Random({{5, 19}})[0].to(torch::kFloat).set_requires_grad(true);
  const Tensor targets = torch::tensor({3, 0, 18, 18, 7}, torch::kLong);
  const Norm norm{torch::ones({19}), torch::zeros({19})};
  const Linear linear{torch::ones({19, 19}), {}};
  for (const Tensor& made : {MeanCrossEntropy(x + 0, targets), NormLinear(x * x, norm, linear),
                             AddLinear(x, x * x, linear)}) {
    const std::vector<Tensor> gradients = GradientsTwice(made, x);
    EXPECT_TRUE(torch::equal(gradients[0], gradients[1]));
    EXPECT_GT(gradients[0].abs().max().item<float>(), 0);
  }
  EXPECT_THROW(GradientsTwice(AddMlp(x * x, norm, linear, linear), x), Error);
}

}  // namespace
}  // namespace sextant::lab
