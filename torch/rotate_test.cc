// The rotary kernel under autograd against ATen operations: every shape of a scheme, both ways.
#include "torch/rotate.h"

#include <gtest/gtest.h>

#include "sextant/schemes/spec.h"

namespace sextant::nn {
namespace {

using torch::Tensor;

void Compare(const std::string& spec, Tensor x) {
  SCOPED_TRACE(spec);
  const SchemePtr scheme = MakeScheme(spec, {{"head_dim", 16}});
  const RotaryShape shape = scheme->rotary_shape();
  const std::int64_t tokens = x.size(2), pairs = shape.rotated_dims / 2;
  const Tensor angle = torch::rand({tokens, pairs}) * 6;
  const Tensor cos = angle.cos() * 1.5, sin = angle.sin() * 1.5, d_out = torch::rand_like(x);
  std::vector<Tensor> results;
  for (const auto turn : {Rotate, RotateComposed}) {
    const Tensor leaf = x.detach().requires_grad_();
    const Tensor out = turn(leaf, cos, sin, shape);
    (out * d_out).sum().backward();
    results.push_back(out.detach());
    results.push_back(leaf.grad());
  }
  EXPECT_TRUE(torch::allclose(results[0], results[2], 1e-6, 1e-6));
  EXPECT_TRUE(torch::allclose(results[1], results[3], 1e-6, 1e-6));
}

TEST(RotateFunctionTest, AgreesWithAtenForthAndBack) {
  torch::manual_seed(3);
  const Tensor together = torch::randn({2, 3, 5, 16});
  const Tensor by_token = torch::randn({2, 5, 3, 3, 16}).permute({2, 0, 3, 1, 4})[1];
  const Tensor long_one = torch::randn({1, 4, 600, 16});
  for (const char* spec :
       {"rope", "rope:pairing=adjacent", "rope:pairing=adjacent_to_halves",
        "rope:rotated_dims=6,first_channel=4", "rope:rotated_dims=10,pairing=adjacent",
        "rope:axes=grid,blocks=each_axis", "rope:rotated_dims=2"}) {
    for (const Tensor& x : {together, by_token, long_one}) Compare(spec, x);
  }
}

TEST(RotateFunctionTest, SixteenBitTensorsAreRoundedOnce) {
  const RotaryShape shape = MakeScheme("rope", {{"head_dim", 16}})->rotary_shape();
  const Tensor angle = torch::rand({5, 8}) * 6, x = torch::randn({2, 3, 5, 16});
  for (const auto type : {torch::kBFloat16, torch::kHalf}) {
    const Tensor narrow = x.to(type);
    const Tensor right = RotateComposed(narrow.to(torch::kDouble), angle.cos().to(torch::kDouble),
                                        angle.sin().to(torch::kDouble), shape);
    const double unit = type == torch::kHalf ? 0x1p-11 : 0x1p-8;
    for (const auto turn : {Rotate, RotateComposed}) {
      const Tensor turned = turn(narrow, angle.cos(), angle.sin(), shape);
      EXPECT_EQ(turned.scalar_type(), type);
      EXPECT_TRUE(torch::allclose(turned.to(torch::kDouble), right, unit * 1.01, 1e-6));
    }
  }
}

TEST(RotateFunctionTest, TablesThatNeedGradientsGetThem) {
  const Tensor x = torch::randn({1, 2, 3, 16});
  const Tensor cos = torch::rand({3, 8}).requires_grad_(), sin = torch::rand({3, 8});
  Rotate(x, cos, sin, MakeScheme("rope", {{"head_dim", 16}})->rotary_shape()).sum().backward();
  EXPECT_TRUE(cos.grad().defined());
}

TEST(RotateFunctionTest, OtherTypesAndOrdersAreServedToo) {
  const RotaryShape shape = MakeScheme("rope", {{"head_dim", 16}})->rotary_shape();
  const Tensor cos = torch::ones({3, 8}), sin = torch::zeros({3, 8});
  const Tensor strided = torch::randn({1, 2, 16, 3}).transpose(2, 3);
  EXPECT_TRUE(torch::equal(Rotate(strided, cos, sin, shape), strided));
  const Tensor wide = torch::randn({1, 2, 3, 16}, torch::kDouble);
  EXPECT_TRUE(
      torch::equal(Rotate(wide, cos.to(torch::kDouble), sin.to(torch::kDouble), shape), wide));
}

}  // namespace
}  // namespace sextant::nn
