// The model: what schemes share, what is causal, and where a table ends.
#include "lab/gpt.h"

#include <gtest/gtest.h>

#include "lab/adamw.h"
#include "sextant/core/error.h"
#include "sextant/schemes/spec.h"

namespace sextant::lab {
namespace {

using torch::Tensor;
constexpr std::int64_t kVocabulary = 20;

Settings Small() {
  Settings settings;
  settings.layers = 2;
  settings.width = 16;
  settings.heads = 2;
  settings.context = 8;
  return settings;
}

std::shared_ptr<Gpt> Make(const std::string& spec, std::uint64_t seed = 1) {
  const Settings settings = Small();
  return std::make_shared<Gpt>(settings, kVocabulary, MakeScheme(spec, settings.model_shape()),
                               seed);
}

Tensor Tokens(std::int64_t length) {
  return torch::arange(length, torch::kLong).remainder(7).unsqueeze(0);
}

std::vector<std::string> AllSpecs() {
  std::vector<std::string> specs = Registry::Builtin().names();
  specs.emplace_back("sinusoidal+learned");
  specs.emplace_back("rope+alibi");
  specs.emplace_back("layers:[rope],[none]");
  specs.emplace_back("layers:[t5]x2,[shaw]");
  return specs;
}

TEST(GptTest, SharedWeightsAreTheSameForEveryScheme) {
  const auto none = Make("none");
  const std::size_t shared = none->named_parameters().size();
  ASSERT_GT(shared, 20u);
  for (const std::string& spec : AllSpecs()) {
    SCOPED_TRACE(spec);
    const auto model = Make(spec);
    std::size_t same = 0;
    for (const auto& named : model->named_parameters()) {
      if (named.key().rfind("scheme_", 0) == 0) continue;
      ASSERT_TRUE(none->named_parameters().contains(named.key()));
      EXPECT_TRUE(torch::equal(named.value(), none->named_parameters()[named.key()]));
      ++same;
    }
    EXPECT_EQ(same, shared);
  }
  const auto other = Make("none", 2);
  EXPECT_FALSE(
      torch::equal(none->named_parameters()["embedding"], other->named_parameters()["embedding"]));
}

TEST(GptTest, LaterTokensNeverChangeEarlierLogits) {
  torch::NoGradGuard no_grad;
  for (const std::string& spec : AllSpecs()) {
    SCOPED_TRACE(spec);
    const auto model = Make(spec);
    const Tensor one = Tokens(8);
    Tensor other = one.clone();
    other[0][5] = 13;
    const Tensor a = model->Forward(one), b = model->Forward(other);
    EXPECT_TRUE(torch::equal(a.narrow(1, 0, 5), b.narrow(1, 0, 5)));
    EXPECT_GT((a[0][5] - b[0][5]).abs().max().item<double>(), 1e-4);
  }
}

// Without any hook, or with a factor by query alone, keys are not told apart.
bool SeesASet(const Scheme& scheme) {
  for (const HookName& hook : HookNames()) {
    if (hook.hook != Hook::kQueryScale && scheme.offers(hook.hook)) return false;
  }
  return scheme.layer_pattern().empty();
}

// The lecture's pair: with the causal mask alone, a set of earlier words is all that is seen.
TEST(GptTest, WithoutPositionsTheLastTokenSeesASet) {
  torch::NoGradGuard no_grad;
  const Tensor order = torch::tensor({{1, 2, 3, 4, 5}}, torch::kLong);
  const Tensor swapped = torch::tensor({{1, 4, 3, 2, 5}}, torch::kLong);
  const Settings settings = [] {
    Settings one_layer = Small();
    one_layer.layers = 1;  // deeper layers see order through what the causal mask hid before
    return one_layer;
  }();
  for (const std::string& spec : AllSpecs()) {
    SCOPED_TRACE(spec);
    const SchemePtr scheme = MakeScheme(spec, settings.model_shape());
    Gpt model(settings, kVocabulary, scheme, 1);
    // Some start from zeros and tell positions apart once they are trained.
    torch::manual_seed(1);
    for (const auto& named : model.named_parameters()) {
      if (named.key().rfind("scheme_", 0) == 0) {
        named.value().add_(torch::randn_like(named.value()), 0.1);
      }
    }
    const double change =
        (model.Forward(order)[0][4] - model.Forward(swapped)[0][4]).abs().max().item<double>();
    if (SeesASet(*scheme)) {
      EXPECT_LT(change, 1e-5);
    } else {
      EXPECT_GT(change, 1e-6);
    }
  }
}

TEST(GptTest, EveryWeightOfASchemeGetsAGradient) {
  for (const std::string& spec : AllSpecs()) {
    const auto model = Make(spec);
    AdamW optimizer(*model, {});
    optimizer.ZeroGradients();
    model->Forward(Tokens(8)).logsumexp(-1).sum().backward();
    for (const auto& named : model->named_parameters()) {
      EXPECT_GT(named.value().grad().abs().max().item<double>(), 0) << spec << " " << named.key();
    }
  }
}

// Losses of the first steps on one stream of tokens.
std::vector<double> Losses(const std::string& spec, nn::AttentionPath path) {
  Settings settings = Small();
  settings.context = 40;
  Gpt model(settings, kVocabulary, MakeScheme(spec, settings.model_shape()), 1, path);
  AdamW optimizer(model, {});
  std::vector<double> losses;
  torch::manual_seed(5);
  for (int step = 0; step < 20; ++step) {
    const Tensor tokens = torch::randint(kVocabulary, {3, settings.context + 1}).cumsum(1) % 11;
    optimizer.ZeroGradients();
    const Tensor logits = model.Forward(tokens.narrow(1, 0, settings.context));
    const Tensor loss = torch::cross_entropy_loss(logits.flatten(0, 1),
                                                  tokens.narrow(1, 1, settings.context).flatten());
    loss.backward();
    optimizer.Step(3e-3);
    losses.push_back(loss.item<double>());
  }
  return losses;
}

TEST(GptTest, TrainsTheSameByKernelsAndByAtenOperations) {
  for (const char* spec :
       {"none", "rope", "t5", "alibi", "shaw", "fire", "layers:[xlnet],[rope]"}) {
    SCOPED_TRACE(spec);
    const std::vector<double> fast = Losses(spec, nn::AttentionPath::kFastest);
    const std::vector<double> aten = Losses(spec, nn::AttentionPath::kAten);
    EXPECT_LT(fast.back(), fast.front() - 0.3);
    for (std::size_t step = 0; step < fast.size(); ++step) {
      EXPECT_NEAR(fast[step], aten[step], 1e-4) << "step " << step;
    }
  }
}

TEST(GptTest, ATableEndsWithAClearError) {
  const auto model = Make("learned");
  model->Forward(Tokens(8));
  try {
    model->Forward(Tokens(9));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.rule(), "position 8 is outside the table of 8 positions (0 to 7)");
  }
}

TEST(GptTest, RefusesASchemeOfAnotherWidth) {
  EXPECT_THROW(Make("sinusoidal:model_dim=32"), Error);
  EXPECT_THROW(Make("alibi:heads=3"), Error);
  EXPECT_THROW(Make("rope:rotated_dims=16"), Error);
}

TEST(GptTest, PositionToTokenNormIsThatOfTheRows) {
  // Rows of d/2 pairs of norm 1, tokens of about sqrt(width) * norm of width numbers of
  // 1/sqrt(width).
  const std::optional<double> ratio = Make("sinusoidal")->PositionToTokenNorm();
  ASSERT_TRUE(ratio.has_value());
  EXPECT_NEAR(*ratio, std::sqrt(8.0) / 4.0, 0.1);
  EXPECT_FALSE(Make("rope")->PositionToTokenNorm().has_value());
}

// Against the update written out from the paper, in double.
TEST(AdamWTest, FollowsTheFormula) {
  auto module = std::make_shared<torch::nn::Module>();
  const Tensor matrix = module->register_parameter("matrix", torch::tensor({{1.0f, -2.0f}}));
  const Tensor vector = module->register_parameter("vector", torch::tensor({3.0f}));
  const AdamWSettings settings{.beta1 = 0.9, .beta2 = 0.95, .weight_decay = 0.1, .clip = 0};
  AdamW optimizer(*module, settings);
  const double rate = 0.01;
  double w[] = {1, -2, 3}, m[3] = {}, v[3] = {};
  for (int step = 1; step <= 3; ++step) {
    const double g[] = {0.5 * step, -1.0, 2.0};
    optimizer.ZeroGradients();
    (matrix * torch::tensor({{g[0], g[1]}}, torch::kFloat)).sum().backward();
    (vector * float(g[2])).sum().backward();
    optimizer.Step(rate);
    for (int i = 0; i < 3; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.95 * v[i] + 0.05 * g[i] * g[i];
      if (i < 2) w[i] -= rate * 0.1 * w[i];
      w[i] -= rate * (m[i] / (1 - std::pow(0.9, step))) /
              (std::sqrt(v[i] / (1 - std::pow(0.95, step))) + 1e-8);
    }
  }
  EXPECT_NEAR(matrix[0][0].item<double>(), w[0], 1e-6);
  EXPECT_NEAR(matrix[0][1].item<double>(), w[1], 1e-6);
  EXPECT_NEAR(vector[0].item<double>(), w[2], 1e-6);
}

TEST(AdamWTest, LimitsTheNormOfTheGradient) {
  auto module = std::make_shared<torch::nn::Module>();
  const Tensor vector = module->register_parameter("vector", torch::zeros({2}));
  AdamW optimizer(*module, {.clip = 1.0});
  optimizer.ZeroGradients();
  (vector * torch::tensor({30.0f, 40.0f})).sum().backward();
  EXPECT_NEAR(optimizer.Step(0.1), 50, 1e-4);
  EXPECT_NEAR(vector.grad().norm().item<double>(), 1, 1e-5);
}

TEST(GptTest, APolicyByLayerIsItsSchemeInEachLayer) {
  torch::NoGradGuard no_grad;
  // Both layers rotary is rotary; one of them is neither it nor none.
  const Tensor tokens = Tokens(8);
  const Tensor rope = Make("rope")->Forward(tokens), none = Make("none")->Forward(tokens);
  EXPECT_TRUE(torch::equal(Make("layers:[rope]")->Forward(tokens), rope));
  const Tensor first = Make("layers:[rope],[none]")->Forward(tokens);
  const Tensor second = Make("layers:[none],[rope]")->Forward(tokens);
  for (const Tensor& other : {rope, none, second}) EXPECT_FALSE(torch::allclose(first, other));
}

TEST(GptTest, LayersOfAPolicyShareOrOwnWeightsAsTheSchemeSays) {
  const auto names = [](const std::string& spec) {
    std::vector<std::string> scheme;
    for (const auto& named : Make(spec)->named_parameters()) {
      if (named.key().rfind("scheme_", 0) == 0) scheme.push_back(named.key());
    }
    return scheme;
  };
  EXPECT_EQ(names("layers:[t5]").size(), 1u);               // one table for both layers
  EXPECT_EQ(names("layers:[t5],[none]").size(), 1u);        // the other layer has none
  EXPECT_EQ(names("layers:[shaw:terms=keys]").size(), 2u);  // a table a layer
}

}  // namespace
}  // namespace sextant::lab
