// Gathers figures by seed and takes means, differences and growth.
#include "lab/report/summary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

namespace sextant::lab {
namespace {

using Json = nlohmann::ordered_json;
using SeedValues = std::vector<SeedValue>;

// What `read` finds in each finished cell.
SeedValues Gather(const SchemeResult& scheme,
                  const std::function<std::optional<double>(const Cell&)>& read) {
  SeedValues values;
  for (const Cell& cell : scheme.cells) {
    if (!cell.finished()) continue;
    if (const std::optional<double> value = read(cell)) values.push_back({cell.seed, *value});
  }
  return values;
}

SeedValues Gather(const SchemeResult& scheme, std::optional<double> Cell::*member) {
  return Gather(scheme, [member](const Cell& cell) { return cell.*member; });
}

std::optional<Estimate> Mean(const SeedValues& values) {
  if (values.empty()) return std::nullopt;
  return MeanWithInterval(values);
}

std::optional<Estimate> Difference(const SeedValues& values, const SeedValues& baseline) {
  return Mean(DifferencesBySeed(values, baseline));
}

std::optional<Estimate> DifferenceTo(const SchemeResult* baseline, const SeedValues& values,
                                     const std::function<SeedValues(const SchemeResult&)>& read) {
  if (!baseline) return std::nullopt;
  return Difference(values, read(*baseline));
}

bool IsAt(const Evaluation& row, const std::string& protocol, double multiple) {
  return row.protocol == protocol && row.multiple == multiple;
}

SeedValues EvaluationsAt(const SchemeResult& scheme, const std::string& protocol, double multiple,
                         std::optional<double> Evaluation::*member) {
  return Gather(scheme, [&](const Cell& cell) -> std::optional<double> {
    for (const Evaluation& row : cell.evaluation) {
      if (IsAt(row, protocol, multiple) && row.*member) return row.*member;
    }
    return std::nullopt;
  });
}

std::string ReasonAt(const SchemeResult& scheme, const std::string& protocol, double multiple) {
  for (const Cell& cell : scheme.cells) {
    if (!cell.finished()) continue;
    for (const Evaluation& row : cell.evaluation) {
      if (IsAt(row, protocol, multiple) && !row.cannot.empty()) return row.cannot;
    }
  }
  return "";
}

std::vector<LengthSummary> SummarizeLengths(const SchemeResult& scheme,
                                            const SchemeResult* baseline) {
  std::vector<LengthSummary> lengths;
  for (const Cell& cell : scheme.cells) {
    if (!cell.finished()) continue;
    for (const Evaluation& row : cell.evaluation) {
      const bool known = std::ranges::any_of(lengths, [&](const LengthSummary& length) {
        return IsAt(row, length.protocol, length.multiple);
      });
      if (known) continue;
      LengthSummary length{row.protocol, row.length, row.multiple, {}, {}, {}, {}, ""};
      const SeedValues losses = LossesAt(scheme, row.protocol, row.multiple);
      length.loss = Mean(losses);
      length.bits_per_byte =
          Mean(EvaluationsAt(scheme, row.protocol, row.multiple, &Evaluation::bits_per_byte));
      length.difference = DifferenceTo(baseline, losses, [&](const SchemeResult& other) {
        return LossesAt(other, row.protocol, row.multiple);
      });
      length.growth = Difference(losses, LossesAt(scheme, row.protocol, 1));
      if (!length.loss) length.cannot = ReasonAt(scheme, row.protocol, row.multiple);
      lengths.push_back(std::move(length));
    }
  }
  return lengths;
}

SeedValues PositionLosses(const SchemeResult& scheme, std::int64_t from, std::int64_t to) {
  return Gather(scheme, [&](const Cell& cell) -> std::optional<double> {
    for (const PositionLoss& row : cell.by_position) {
      if (row.from == from && row.to == to) return row.loss;
    }
    return std::nullopt;
  });
}

std::vector<PositionSummary> SummarizePositions(const SchemeResult& scheme,
                                                const SchemeResult* baseline) {
  std::vector<PositionSummary> positions;
  for (const Cell& cell : scheme.cells) {
    if (!cell.finished()) continue;
    for (const PositionLoss& row : cell.by_position) {
      const bool known = std::ranges::any_of(positions, [&](const PositionSummary& position) {
        return position.from == row.from && position.to == row.to;
      });
      const SeedValues losses = PositionLosses(scheme, row.from, row.to);
      if (known || losses.empty()) continue;
      positions.push_back({row.from, row.to, MeanWithInterval(losses),
                           DifferenceTo(baseline, losses, [&](const SchemeResult& other) {
                             return PositionLosses(other, row.from, row.to);
                           })});
    }
  }
  std::ranges::sort(positions, {}, &PositionSummary::from);
  return positions;
}

SeedValues CurveLosses(const SchemeResult& scheme, std::int64_t step) {
  return Gather(scheme, [&](const Cell& cell) -> std::optional<double> {
    for (const CurvePoint& point : cell.curve) {
      if (point.step == step) return point.held_out_loss;
    }
    return std::nullopt;
  });
}

std::vector<CurveSummary> SummarizeCurve(const SchemeResult& scheme, const SchemeResult* baseline) {
  std::vector<CurveSummary> curve;
  for (const Cell& cell : scheme.cells) {
    if (!cell.finished()) continue;
    for (const CurvePoint& point : cell.curve) {
      const bool known = std::ranges::find(curve, point.step, &CurveSummary::step) != curve.end();
      const SeedValues losses = CurveLosses(scheme, point.step);
      if (known || losses.empty()) continue;
      curve.push_back({point.step, point.tokens, MeanWithInterval(losses),
                       DifferenceTo(baseline, losses, [&](const SchemeResult& other) {
                         return CurveLosses(other, point.step);
                       })});
    }
  }
  std::ranges::sort(curve, {}, &CurveSummary::step);
  return curve;
}

SchemeSummary SummarizeScheme(const SchemeResult& scheme, const SchemeResult* baseline) {
  SchemeSummary summary;
  summary.name = scheme.name;
  for (const Cell& cell : scheme.cells) {
    if (cell.finished()) summary.seeds.push_back(cell.seed);
    if (cell.finished() && !summary.parameters) summary.parameters = cell.parameters;
    summary.unfinished += cell.state == State::kUnfinished;
    summary.failed += cell.state == State::kFailed;
  }
  const SeedValues losses = LossesAt(scheme, kNonOverlapping, 1);
  summary.loss = Mean(losses);
  summary.bits_per_byte =
      Mean(EvaluationsAt(scheme, kNonOverlapping, 1, &Evaluation::bits_per_byte));
  summary.difference = DifferenceTo(baseline, losses, [](const SchemeResult& other) {
    return LossesAt(other, kNonOverlapping, 1);
  });
  summary.tokens_per_second = Mean(Gather(scheme, &Cell::tokens_per_second));
  summary.norm_before = Mean(Gather(scheme, &Cell::norm_before));
  summary.norm_after = Mean(Gather(scheme, &Cell::norm_after));
  summary.lengths = SummarizeLengths(scheme, baseline);
  summary.by_position = SummarizePositions(scheme, baseline);
  summary.curve = SummarizeCurve(scheme, baseline);
  return summary;
}

void FindBest(const Results& results, Summary& summary) {
  for (std::size_t at = 0; at < summary.schemes.size(); ++at) {
    const std::optional<Estimate>& loss = summary.schemes[at].loss;
    if (!loss) continue;
    if (!summary.best || loss->mean < summary.schemes[*summary.best].loss->mean) summary.best = at;
  }
  if (!summary.best) return;
  for (std::size_t at = 0; at < summary.schemes.size(); ++at) {
    if (at == *summary.best || !summary.schemes[at].loss) continue;
    const std::optional<Estimate> above =
        LossDifference(results.schemes[at], results.schemes[*summary.best]);
    if (!above || !above->HasInterval() || above->low <= 0) summary.level_with_best.push_back(at);
  }
}

Json EstimateJson(const std::optional<Estimate>& estimate) {
  if (!estimate) return nullptr;
  const auto bound = [&](double value) { return estimate->HasInterval() ? Json(value) : Json(); };
  return {{"mean", estimate->mean},         {"low", bound(estimate->low)},
          {"high", bound(estimate->high)},  {"least", estimate->least},
          {"greatest", estimate->greatest}, {"seeds", estimate->count}};
}

// Counts are whole numbers in JSON too.
Json CountJson(const std::optional<double>& count) {
  constexpr double kLargest = 9e15;
  if (!count) return nullptr;
  return std::abs(*count) < kLargest ? Json(std::llround(*count)) : Json(*count);
}

Json LengthJson(const LengthSummary& length) {
  Json json = {
      {"protocol", length.protocol}, {"length", length.length}, {"multiple", length.multiple}};
  if (!length.loss) {
    json["cannot"] = length.cannot;
    return json;
  }
  json["loss"] = EstimateJson(length.loss);
  json["bits_per_byte"] = EstimateJson(length.bits_per_byte);
  json["difference"] = EstimateJson(length.difference);
  json["growth"] = EstimateJson(length.growth);
  return json;
}

Json SchemeJson(const SchemeSummary& scheme) {
  Json lengths = Json::array(), positions = Json::array(), curve = Json::array();
  for (const LengthSummary& length : scheme.lengths) lengths.push_back(LengthJson(length));
  for (const PositionSummary& position : scheme.by_position) {
    positions.push_back({{"from", position.from},
                         {"to", position.to},
                         {"loss", EstimateJson(position.loss)},
                         {"difference", EstimateJson(position.difference)}});
  }
  for (const CurveSummary& point : scheme.curve) {
    curve.push_back({{"step", point.step},
                     {"tokens", CountJson(point.tokens)},
                     {"held_out_loss", EstimateJson(point.loss)},
                     {"difference", EstimateJson(point.difference)}});
  }
  return {
      {"scheme", scheme.name},
      {"seeds", scheme.seeds},
      {"unfinished", scheme.unfinished},
      {"failed", scheme.failed},
      {"parameters", CountJson(scheme.parameters)},
      {"loss", EstimateJson(scheme.loss)},
      {"bits_per_byte", EstimateJson(scheme.bits_per_byte)},
      {"difference", EstimateJson(scheme.difference)},
      {"tokens_per_second", EstimateJson(scheme.tokens_per_second)},
      {"position_to_token_norm",
       {{"before", EstimateJson(scheme.norm_before)}, {"after", EstimateJson(scheme.norm_after)}}},
      {"lengths", lengths},
      {"by_position", positions},
      {"curve", curve}};
}

}  // namespace

std::vector<SeedValue> LossesAt(const SchemeResult& scheme, const std::string& protocol,
                                double multiple) {
  return EvaluationsAt(scheme, protocol, multiple, &Evaluation::loss);
}

std::optional<Estimate> LossDifference(const SchemeResult& scheme, const SchemeResult& other,
                                       const std::string& protocol, double multiple) {
  return Difference(LossesAt(scheme, protocol, multiple), LossesAt(other, protocol, multiple));
}

double LongestMultiple(const Summary& summary) {
  double longest = 0;
  for (const SchemeSummary& scheme : summary.schemes) {
    for (const LengthSummary& length : scheme.lengths) {
      if (length.loss) longest = std::max(longest, length.multiple);
    }
  }
  return longest;
}

const LengthSummary* FindLength(const SchemeSummary& scheme, const std::string& protocol,
                                double multiple) {
  for (const LengthSummary& length : scheme.lengths) {
    if (length.protocol == protocol && length.multiple == multiple) return &length;
  }
  return nullptr;
}

std::vector<std::string> Protocols(const Summary& summary) {
  std::vector<std::string> protocols;
  for (const SchemeSummary& scheme : summary.schemes) {
    for (const LengthSummary& length : scheme.lengths) {
      if (std::ranges::find(protocols, length.protocol) == protocols.end()) {
        protocols.push_back(length.protocol);
      }
    }
  }
  return protocols;
}

Summary MakeSummary(const Results& results) {
  Summary summary;
  summary.baseline = results.baseline;
  const auto found = std::ranges::find(results.schemes, results.baseline, &SchemeResult::name);
  const SchemeResult* baseline = found == results.schemes.end() ? nullptr : &*found;
  summary.baseline_finished = baseline && !LossesAt(*baseline, kNonOverlapping, 1).empty();
  for (const SchemeResult& scheme : results.schemes) {
    summary.schemes.push_back(SummarizeScheme(scheme, baseline));
    summary.finished += static_cast<int>(summary.schemes.back().seeds.size());
    summary.unfinished += summary.schemes.back().unfinished;
    summary.failed += summary.schemes.back().failed;
  }
  FindBest(results, summary);
  return summary;
}

Json ToJson(const Summary& summary) {
  Json level = Json::array(), schemes = Json::array();
  for (std::size_t at : summary.level_with_best) level.push_back(summary.schemes[at].name);
  for (const SchemeSummary& scheme : summary.schemes) schemes.push_back(SchemeJson(scheme));
  return {{"baseline", summary.baseline},
          {"finished", summary.finished},
          {"unfinished", summary.unfinished},
          {"failed", summary.failed},
          {"best", summary.best ? Json(summary.schemes[*summary.best].name) : Json()},
          {"level_with_best", level},
          {"schemes", schemes}};
}

Json Summarize(const Json& results) { return ToJson(MakeSummary(ReadResults(results))); }

}  // namespace sextant::lab
