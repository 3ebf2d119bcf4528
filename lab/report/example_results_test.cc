// Plausible numbers by formula; the same at every call.
#include "lab/report/example_results.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/report/results.h"

namespace sextant::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kContext = 128;

struct Example {
  const char* name;
  const char* title;
  const char* formula;
  const char* source;
  const char* hook;   // "" for none
  double loss;        // at 1x
  double growth;      // at 8x, non-overlapping; < 0 falls
  double speed;       // tokens a second
  double norm;        // of positions over tokens; 0 where none are added
  const char* table;  // its kind, "" for none
};

const Example kExamples[] = {
    {"none", "No positions", "score(i, j) = q_i . k_j", "Haviv et al. 2022, arXiv 2203.16634", "",
     2.702, 0.45, 19400, 0, ""},
    {"sinusoidal", "Sinusoidal rows", "PE(p)[2i] = sin(p / base^(2i/d)), PE(p)[2i+1] = cos(same)",
     "Vaswani et al. 2017, arXiv 1706.03762, section 3.5", "additive", 2.645, 3.2, 19100, 0.71,
     "rows"},
    {"learned", "Learned table of positions", "x_p += table[p]",
     "Radford et al. 2019 (GPT-2); Devlin et al. 2018, arXiv 1810.04805", "additive", 2.651, NAN,
     19050, 0.02, "rows"},
    {"sinusoidal+learned", "Sinusoidal rows and a learned table", "x_p += PE(p) + table[p]",
     "the course page", "additive", 2.648, NAN, 18800, 0.71, "rows"},
    {"shaw", "Relative vectors of clipped distances", "score(i, j) += q_i . a_clip(j - i, k)",
     "Shaw et al. 2018, arXiv 1803.02155, section 3", "distance_vectors", 2.588, 0.06, 9800, 0,
     "key vectors"},
    {"transformer-xl", "Relative sinusoidal vectors with two biases",
     "score(i, j) = (q_i + u) . k_j + (q_i + v) . r_(i-j)", "Dai et al. 2019, arXiv 1901.02860",
     "distance_vectors", 2.601, 0.16, 8900, 0, "key vectors"},
    {"t5", "T5 relative bias", "score(i, j) += table[bucket(j - i), h]",
     "Raffel et al. 2020, arXiv 1910.10683, section 2.1 and its released code", "distance_bias",
     2.581, 0.0, 16900, 0, "bias"},
    {"alibi", "Attention with linear biases", "score(i, j) -= m_h |j - i|",
     "Press et al. 2022, arXiv 2108.12409, section 3", "distance_bias", 2.572, -0.04, 18600, 0,
     "bias"},
    {"rope", "Rotary position embedding",
     "y0 = x0 cos(p w_i) - x1 sin(p w_i), y1 = x0 sin(p w_i) + x1 cos(p w_i), w_i = base^(-2i/r)",
     "Su et al. 2021, arXiv 2104.09864, equation 15", "rotary", 2.569, 1.3, 17200, 0, "cos"},
    {"rope+alibi", "Rotary and linear biases", "both at once", "a composition", "rotary", 2.566,
     0.02, 16400, 0, "cos"},
};

// A number in -1 .. 1 that depends on its arguments alone.
double Noise(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
  std::uint64_t h = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + c * 0x94d049bb133111ebu + 1;
  for (int i = 0; i < 3; ++i) h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u;
  return static_cast<double>(h >> 11) / static_cast<double>(1ull << 52) - 1;
}

double FinalLoss(std::size_t scheme, int seed) {
  const auto s = static_cast<std::uint64_t>(seed);
  return kExamples[scheme].loss + 0.02 * Noise(1, s) + 0.006 * Noise(2, s, scheme);
}

Json ExampleCurve(std::size_t scheme, int seed) {
  Json curve = Json::array();
  for (int step = 0; step <= 400; step += 40) {
    const double left = std::exp(-step / 70.0);
    const double loss = FinalLoss(scheme, seed) * (1 - left) + 6.24 * left +
                        0.01 * Noise(3, scheme, static_cast<std::uint64_t>(step + seed));
    Json point = {{"step", step}, {"tokens", step * 16 * kContext}};
    if (step > 0) point["train_loss"] = loss - 0.03;
    point["held_out_loss"] = loss;
    curve.push_back(point);
  }
  return curve;
}

Json ExampleEvaluation(std::size_t scheme, int seed) {
  Json rows = Json::array();
  const Example& example = kExamples[scheme];
  for (const char* protocol : {"non-overlapping", "last-128-fixed"}) {
    for (int multiple = 1; multiple <= 8; multiple *= 2) {
      Json row = {{"protocol", protocol}, {"length", kContext * multiple}, {"multiple", multiple}};
      if (multiple > 1 && std::isnan(example.growth)) {
        row["cannot"] =
            fmt::format("{}: position 128 is outside the table of 128 positions", example.name);
      } else {
        const double part = multiple == 1 ? 0 : std::pow(std::log2(multiple) / 3, 1.5);
        const double growth = multiple == 1 ? 0 : example.growth * part;
        const auto place = static_cast<std::uint64_t>(10 * seed + multiple);
        const double loss = FinalLoss(scheme, seed) +
                            growth * (1 + 0.06 * Noise(4, scheme, place)) +
                            (protocol[0] == 'l' ? 0.02 : 0) + 0.003 * Noise(6, scheme, place);
        row["loss"] = loss;
        row["bits_per_byte"] = loss / std::log(2.0) / 2.9;
        row["tokens"] = 32768;
      }
      rows.push_back(row);
    }
  }
  return rows;
}

Json ExampleByPosition(std::size_t scheme, int seed) {
  Json rows = Json::array();
  for (int from = 0, to = 1; from < kContext; from = to, to *= 2) {
    const double early = 3.2 / std::sqrt(1.0 + from);
    const double gain = (FinalLoss(scheme, seed) - 2.7) * (1 - early / 3.2);
    rows.push_back(
        {{"from", from},
         {"to", to},
         {"loss",
          2.35 + early + gain + 0.01 * Noise(5, scheme, static_cast<std::uint64_t>(from + seed))}});
  }
  return rows;
}

Json ExampleCell(std::size_t scheme, int seed) {
  const Example& example = kExamples[scheme];
  Json norm;
  if (example.norm > 0) norm = {{"before", example.norm}, {"after", 0.8 * example.norm + 0.05}};
  const double speed = example.speed * (1 + 0.03 * Noise(7, scheme, static_cast<unsigned>(seed)));
  return {{"seed", seed},
          {"state", "finished"},
          {"reason", ""},
          {"steps", 400},
          {"tokens", 819200},
          {"seconds", 819200 / speed},
          {"tokens_per_second", speed},
          {"parameters", 859264 + 1000 * scheme},
          {"weights", fmt::format("{:016x}", 0x5851f42d4c957f2dull * (scheme * 31 + 7) +
                                                 static_cast<unsigned>(seed))},
          {"curve", ExampleCurve(scheme, seed)},
          {"evaluation", ExampleEvaluation(scheme, seed)},
          {"by_position", ExampleByPosition(scheme, seed)},
          {"position_to_token_norm", norm},
          {"sample",
           {{"prompt", "One day"},
            {"text", fmt::format("One day, Tom found a {} box under the old tree. He asked Mia to "
                                 "open it with him.\n\nInside was a small boat. \"We can share "
                                 "it,\" said Mia, and they ran to the pond.",
                                 seed % 2 == 0 ? "red" : "blue")}}}};
}

double ExampleScore(const std::string& name, double anchor, double offset) {
  double turned = 0;
  for (int i = 0; i < 32; ++i) {
    turned +=
        std::cos(offset * std::pow(1e4, -i / 32.0) + 0.9 * Noise(8, static_cast<unsigned>(i)));
  }
  if (name == "alibi") return 1.2 - 0.25 * offset;
  if (name == "t5") return 1.2 + 0.3 * Noise(9, static_cast<unsigned>(std::log2(1 + offset) * 4));
  if (name.starts_with("rope")) return turned / 16;
  if (name.starts_with("sin")) return turned / 14 + 0.5 * std::sin(0.4 * (anchor + offset));
  if (name == "learned") return 1.2 + 0.4 * Noise(10, static_cast<unsigned>(anchor + offset));
  if (name == "none") return 1.2;
  return 1.2 + 0.2 * Noise(11, static_cast<unsigned>(std::min(offset, 2.0)));
}

Json ExampleProbe(const Example& example) {
  const std::string name = example.name;
  const bool additive = std::string(example.hook) == "additive";
  Json offsets = Json::array(), scores = Json::array();
  for (int offset = 0; offset < 32; ++offset) offsets.push_back(offset);
  double least = 1e9, most = -1e9;
  for (int anchor : {0, 8, 24}) {
    Json row = Json::array();
    for (int offset = 0; offset < 32; ++offset) {
      row.push_back(ExampleScore(name, anchor, offset));
      least = std::min(least, row.back().get<double>());
      most = std::max(most, row.back().get<double>());
    }
    scores.push_back(row);
  }
  const bool none = name == "none";
  return {{"scheme", name},
          {"range", most - least},
          {"anchor_spread", additive ? 0.6 * (most - least)
                            : none   ? 0
                                     : 3e-15},
          {"norm_ratio", additive ? 1.003 : 1.0},
          {"relative", !additive},
          {"note", std::string(example.name) == "t5"
                       ? "learned weights have their initial values, drawn from seed 1"
                       : ""},
          {"offsets", offsets},
          {"anchors", {0, 8, 24}},
          {"scores", scores},
          {"requirements",
           {{"tells_apart",
             {{"holds", !none},
              {"number", none ? 1 : 32},
              {"meaning", "of 32 keys, told apart by the query after them"}}},
            {"any_length",
             {{"holds", !std::isnan(example.growth)},
              {"number", std::isnan(example.growth) ? 127 : 1048576},
              {"meaning", "the largest position it has a value for"}}},
            {"bounded",
             {{"holds", name != "alibi"},
              {"number", name == "alibi" ? 31.2 : 1.04},
              {"meaning", "times what content alone can reach, up to distance 1024"}}},
            {"decays",
             {{"holds", name == "alibi" || name.starts_with("rope")},
              {"number", name == "alibi" ? -1.0
                         : none          ? 0.0
                                         : -0.71},
              {"meaning", "rank correlation of offset and score of equal vectors"}}}}}};
}

Json ExampleTable(const Example& example) {
  const std::string kind = example.table;
  if (kind.empty()) return nullptr;
  const bool bias = kind == "bias", key = kind == "key vectors";
  const int rows = bias ? 4 : key ? 5 : 48;
  Json table = Json::array();
  for (int r = 0; r < rows; ++r) {
    Json row = Json::array();
    for (int c = 0; c < 32; ++c) {
      const double wave = r * std::pow(1e4, -(c / 2) / 16.0);
      const bool noise = key || std::string(example.name) == "learned";
      row.push_back(noise  ? Noise(12, static_cast<unsigned>(r), static_cast<unsigned>(c))
                    : bias ? -c * std::pow(2.0, -2 * r)
                           : std::sin(wave + (c % 2) * 1.5707963));
    }
    table.push_back(row);
  }
  return {{"kind", kind},
          {"row_label", bias  ? "head"
                        : key ? "distance"
                              : "position"},
          {"column_label", bias            ? "distance"
                           : kind == "cos" ? "pair of channels"
                                           : "channel"},
          {"rows", table}};
}

Json ExampleSpec(const std::string& name) {
  if (name == "rope") {
    return {{"scheme", "rope"},
            {"rotated_dims", 32},
            {"pairing", "halves"},
            {"frequencies", {{"rule", "default"}, {"base", 10000}}}};
  }
  const std::size_t plus = name.find('+');
  if (plus == std::string::npos) return {{"scheme", name}};
  return {{"compose", {{{"scheme", name.substr(0, plus)}}, {{"scheme", name.substr(plus + 1)}}}}};
}

Json ExampleScheme(std::size_t at, int seeds) {
  const Example& example = kExamples[at];
  Json hooks = Json::array(), cells = Json::array();
  if (*example.hook) hooks.push_back(example.hook);
  for (int seed = 1; seed <= seeds; ++seed) cells.push_back(ExampleCell(at, seed));
  const bool additive = std::string(example.hook) == "additive";
  return {{"scheme", example.name},
          {"spec", ExampleSpec(example.name)},
          {"title", example.title},
          {"formula", example.formula},
          {"source", example.source},
          {"hooks", hooks},
          {"claims",
           {{"relative", !additive},
            {"keeps_norms", !additive},
            {"learned", false},
            {"any_length", !std::isnan(example.growth)},
            {"decays", false}}},
          {"probe", ExampleProbe(example)},
          {"table", ExampleTable(example)},
          {"cells", cells}};
}

}  // namespace

Json ExampleResults(int seeds) {
  Json list = Json::array(), schemes = Json::array();
  for (int seed = 1; seed <= seeds; ++seed) list.push_back(seed);
  for (std::size_t at = 0; at < std::size(kExamples); ++at) {
    schemes.push_back(ExampleScheme(at, seeds));
  }
  return {{"format", kResultsFormat},
          {"version", "0.1.0"},
          {"command",
           fmt::format("sextant compare none sinusoidal learned sinusoidal+learned shaw "
                       "transformer-xl t5 alibi rope rope+alibi --seeds {} --out runs/example",
                       seeds)},
          {"baseline", "none"},
          {"settings",
           {{"layers", 4},
            {"width", 128},
            {"heads", 4},
            {"context", kContext},
            {"embed_scale", 0},
            {"tokens", "pieces"},
            {"pieces", 512},
            {"steps", 400},
            {"batch", 16},
            {"learning_rate", 2e-3},
            {"warmup", 40},
            {"final_rate", 0.1},
            {"prompt", ""}}},
          {"seeds", list},
          {"data",
           {{"name", "stories"},
            {"train_tokens", 1204331},
            {"held_out_tokens", 63110},
            {"vocabulary", 512},
            {"bytes_per_token", 2.9},
            {"fingerprint", "8d1f0c6a22b947e1"}}},
          {"environment",
           {{"version", "0.1.0"},
            {"compiler", "g++ 12.2.0"},
            {"torch", "2.7.1"},
            {"cpu", "an x86-64 processor with 2 cores"},
            {"threads", 1},
            {"jobs", 2}}},
          {"schemes", schemes}};
}

TEST(ExampleResults, IsReadInFull) {
  const Results results = ReadResults(ExampleResults(3));
  ASSERT_EQ(results.schemes.size(), std::size(kExamples));
  EXPECT_EQ(results.context, kContext);
  for (const SchemeResult& scheme : results.schemes) {
    ASSERT_EQ(scheme.cells.size(), 3u) << scheme.name;
    EXPECT_EQ(scheme.cells[0].curve.size(), 11u);
    EXPECT_EQ(scheme.cells[0].evaluation.size(), 8u);
    EXPECT_EQ(scheme.cells[0].by_position.size(), 8u);
    EXPECT_TRUE(scheme.probe.has_value());
  }
  EXPECT_EQ(results.schemes[3].parts, (std::vector<std::string>{"sinusoidal", "learned"}));
}

}  // namespace sextant::lab
