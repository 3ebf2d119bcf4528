// What a comparison found: means over seeds with their intervals, scheme by scheme.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/report/results.h"
#include "lab/report/statistics.h"

namespace sextant::lab {

inline constexpr const char* kNonOverlapping = "non-overlapping";

// One protocol at one length. `cannot` says why there is no loss, where a cell says so.
struct LengthSummary {
  std::string protocol;
  std::int64_t length = 0;
  double multiple = 0;
  std::optional<Estimate> loss, bits_per_byte;
  std::optional<Estimate> difference;  // loss - the baseline's, paired
  std::optional<Estimate> growth;      // loss - the same protocol's at 1x, paired
  std::string cannot;
};

struct PositionSummary {
  std::int64_t from = 0;
  std::int64_t to = 0;
  Estimate loss;
  std::optional<Estimate> difference;  // loss - the baseline's, paired
};

struct CurveSummary {
  std::int64_t step = 0;
  std::optional<double> tokens;
  Estimate loss;                       // held out
  std::optional<Estimate> difference;  // loss - the baseline's at this step, paired
};

// Over the finished cells of a scheme. Loss, bits and difference are those of non-overlapping
// windows of the training length.
struct SchemeSummary {
  std::string name;
  std::vector<std::int64_t> seeds;  // of the finished cells
  int unfinished = 0;
  int failed = 0;
  std::optional<double> parameters;
  std::optional<Estimate> loss, bits_per_byte, difference, tokens_per_second;
  std::optional<Estimate> norm_before, norm_after;  // of positions over that of tokens
  std::vector<LengthSummary> lengths;
  std::vector<PositionSummary> by_position;
  std::vector<CurveSummary> curve;
};

struct Summary {
  std::string baseline;
  bool baseline_finished = false;  // a finished cell of it has a loss
  int finished = 0;
  int unfinished = 0;
  int failed = 0;
  std::vector<SchemeSummary> schemes;  // as in the results
  std::optional<std::size_t> best;     // the scheme of lowest mean loss
  std::vector<std::size_t>
      level_with_best;  // the interval of loss - best's is not above 0, or none
};

Summary MakeSummary(const Results& results);

// The losses of finished cells under a protocol at a multiple of the training length.
std::vector<SeedValue> LossesAt(const SchemeResult& scheme, const std::string& protocol,
                                double multiple);

// Loss of `scheme` - loss of `other`, paired; none where they have no seed in common.
std::optional<Estimate> LossDifference(const SchemeResult& scheme, const SchemeResult& other,
                                       const std::string& protocol = kNonOverlapping,
                                       double multiple = 1);

// The greatest multiple of the training length at which some scheme has a loss; 0 for none.
double LongestMultiple(const Summary& summary);

// The row of a protocol at a multiple, null where there is none.
const LengthSummary* FindLength(const SchemeSummary& scheme, const std::string& protocol,
                                double multiple);

// The protocols of all schemes, in the order met.
std::vector<std::string> Protocols(const Summary& summary);

// The same as JSON, the "summary" of a results document. An estimate is {mean, low, high, least,
// greatest, seeds} with low and high null for one seed; what is not known is null:
//   {"baseline", "finished", "unfinished", "failed", "best", "level_with_best": [names],
//    "schemes": [{"scheme", "seeds": [...], "unfinished", "failed", "parameters",
//       "loss", "bits_per_byte", "difference", "tokens_per_second",
//       "position_to_token_norm": {"before", "after"},
//       "lengths": [{"protocol", "length", "multiple", "loss", "bits_per_byte", "difference",
//                    "growth"} or {.., "cannot"}],
//       "by_position": [{"from", "to", "loss", "difference"}],
//       "curve": [{"step", "tokens", "held_out_loss", "difference"}]}]}
nlohmann::ordered_json ToJson(const Summary& summary);

// ToJson(MakeSummary(ReadResults(results))); throws as ReadResults. A "summary" in `results` is not
// read.
nlohmann::ordered_json Summarize(const nlohmann::ordered_json& results);

}  // namespace sextant::lab
