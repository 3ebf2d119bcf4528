// The protocols of held-out loss.
#include "lab/evaluate.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "sextant/core/error.h"

namespace sextant::lab {
namespace {

using Json = nlohmann::ordered_json;
using torch::Tensor;
constexpr Index kFixedTargets = 128;
constexpr Index kTokensAtOnce = 4096;  // of one forward pass: bounds memory

// Tokens of equally long windows as inputs and targets, int64 [windows, length] each.
std::pair<Tensor, Tensor> Gather(const TokenStream& stream, std::span<const TokenWindow> windows) {
  const Index length = windows.front().inputs;
  Tensor tokens = torch::empty({static_cast<Index>(windows.size()), length + 1}, torch::kLong);
  std::int64_t* to = tokens.data_ptr<std::int64_t>();
  for (const TokenWindow& window : windows) {
    const auto from = stream.Tokens(window);
    to = std::copy(from.begin(), from.end(), to);
  }
  return {tokens.narrow(1, 0, length), tokens.narrow(1, 1, length)};
}

// Loss of each target, [windows, length], in double.
Tensor Losses(Gpt& model, const TokenStream& stream, std::span<const TokenWindow> windows) {
  torch::NoGradGuard no_grad;
  std::vector<Tensor> losses;
  const Index length = windows.front().inputs;
  const std::size_t at_once = static_cast<std::size_t>(std::max<Index>(1, kTokensAtOnce / length));
  for (std::size_t first = 0; first < windows.size(); first += at_once) {
    const auto [inputs, targets] =
        Gather(stream, windows.subspan(first, std::min(at_once, windows.size() - first)));
    const Tensor logits = model.Forward(inputs);
    losses.push_back(
        torch::cross_entropy_loss(logits.flatten(0, 1), targets.flatten(), {}, at::Reduction::None)
            .view(inputs.sizes())
            .to(torch::kDouble));
  }
  return torch::cat(losses);
}

struct Sum {
  double nats = 0;
  Index tokens = 0;
  Index bytes = 0;
};

Sum ScoredSum(Gpt& model, const TokenStream& stream, const std::vector<TokenWindow>& windows) {
  const Tensor losses = Losses(model, stream, windows);
  Sum sum;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    const TokenWindow& window = windows[w];
    sum.nats += losses[static_cast<Index>(w)]
                    .narrow(0, window.inputs - window.scored, window.scored)
                    .sum()
                    .item<double>();
    sum.tokens += window.scored;
    sum.bytes += stream.ScoredBytes(window);
  }
  return sum;
}

Json Row(const std::string& protocol, Index length, Index multiple) {
  return {{"protocol", protocol}, {"length", length}, {"multiple", multiple}};
}

void AddFigures(Json& row, Gpt& model, const TokenStream& stream,
                const std::vector<TokenWindow>& windows) {
  try {
    const Sum sum = ScoredSum(model, stream, windows);
    row["loss"] = sum.nats / double(sum.tokens);
    if (sum.bytes > 0) row["bits_per_byte"] = sum.nats / std::numbers::ln2 / double(sum.bytes);
    row["tokens"] = sum.tokens;
  } catch (const Error& error) {  // the scheme's table ends
    row["cannot"] = error.where() + ": " + error.rule();
  }
}

}  // namespace

double CurveLoss(Gpt& model, const Dataset& dataset, const Settings& settings) {
  const Index context = settings.context;
  const auto windows =
      dataset.held_out->Windows(context, std::max<Index>(1, settings.curve_tokens / context));
  return Losses(model, *dataset.held_out, windows).mean().item<double>();
}

Json EvaluateLengths(Gpt& model, const Dataset& dataset, const Settings& settings) {
  const TokenStream& stream = *dataset.held_out;
  const Index context = settings.context, longest = context * settings.longest;
  const Index fixed = std::min(kFixedTargets, context);
  // As many targets at every length as whole windows of the longest give.
  const Index groups = std::min<Index>(std::max<Index>(1, settings.final_tokens / longest),
                                       (stream.size() - 1) / longest);
  const Index ends = std::max<Index>(1, settings.final_tokens / longest);
  Json rows = Json::array();
  for (Index multiple = 1; multiple <= settings.longest; multiple *= 2) {
    Json row = Row("non-overlapping", context * multiple, multiple);
    AddFigures(row, model, stream,
               stream.Windows(context * multiple, groups * settings.longest / multiple));
    rows.push_back(row);
  }
  for (Index multiple = 1; multiple <= settings.longest; multiple *= 2) {
    Json row = Row("last-" + std::to_string(fixed) + "-fixed", context * multiple, multiple);
    AddFigures(row, model, stream, stream.FixedTargets(fixed, context * multiple, longest, ends));
    rows.push_back(row);
  }
  return rows;
}

Json EvaluateByPosition(Gpt& model, const Dataset& dataset, const Settings& settings) {
  const Index context = settings.context;
  const auto windows =
      dataset.held_out->Windows(context, std::max<Index>(1, settings.final_tokens / context));
  const Tensor by_position = Losses(model, *dataset.held_out, windows).mean(0);
  Json rows = Json::array();
  for (Index from = 0, to = 1; from < context; from = to, to = std::min(2 * to, context)) {
    rows.push_back({{"from", from},
                    {"to", to},
                    {"loss", by_position.narrow(0, from, to - from).mean().item<double>()}});
  }
  return rows;
}

}  // namespace sextant::lab
