// The schemes compared and the protocols they were measured by.
#include <fmt/format.h>

#include <algorithm>

#include "lab/report/number_text.h"
#include "lab/report/page_parts.h"
#include "lab/report/sections.h"

namespace sextant::lab {
namespace {

// "distance_bias" reads "distance bias".
std::string InWords(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string ClaimsText(const SchemeResult& scheme) {
  std::vector<std::string> made;
  for (const auto& [name, holds] : scheme.claims) {
    if (holds) made.push_back(InWords(name));
  }
  return made.empty() ? "none" : JoinNames(made, made.size());
}

void AddScheme(Html& html, const SchemeResult& scheme, std::size_t at) {
  const Html::Inside article = html.In("article");
  {
    const Html::Inside heading = html.In("h3");
    AddSeriesKey(html, at);
    html.Text(scheme.title.empty() ? scheme.name : scheme.name + ": " + scheme.title);
  }
  if (!scheme.formula.empty()) {
    const Html::Inside formula = html.In("pre");
    html.Element("code", scheme.formula);
  }
  std::string about = scheme.hooks.empty() ? "Enters attention nowhere."
                                           : fmt::format("Enters attention by: {}.",
                                                         InWords(JoinNames(scheme.hooks, 9)));
  about += fmt::format(" Claims: {}.", ClaimsText(scheme));
  if (!scheme.source.empty()) about += fmt::format(" Source: {}.", scheme.source);
  html.Element("p", {{"class", "about"}}, about);
  if (scheme.spec.empty()) return;
  const Html::Inside details = html.In("details");
  html.Element("summary", "Its settings");
  const Html::Inside spec = html.In("pre");
  html.Element("code", scheme.spec);
}

bool IsFixedProtocol(const std::string& name) {
  return name.starts_with("last-") && name.ends_with("-fixed");
}

std::string ProtocolText(const std::string& name) {
  if (name == kNonOverlapping) {
    return "The held-out text is cut into windows that share no target token, each of the stated "
           "length, and every token counts once. Short windows pay for tokens at their start, "
           "which have little before them, so the loss of a scheme that merely holds its ground "
           "falls a little with length.";
  }
  if (IsFixedProtocol(name)) {
    const std::string count = name.substr(5, name.size() - 11);
    return fmt::format(
        "The last {} tokens of each window are scored, and they are the same tokens "
        "at every length; only the context before them grows. It is the fairest "
        "curve: nothing changes but what the model may look back at.",
        count);
  }
  return "This version of the report has no explanation of this protocol.";
}

void AddProtocol(Html& html, const std::string& name, const std::string& text) {
  html.Element("dt", name);
  html.Element("dd", text);
}

}  // namespace

void AddSchemeSection(Html& html, const Report& report) {
  if (report.results.schemes.empty()) {
    html.Element("p", {{"class", "muted"}}, "The document names no scheme.");
  }
  const Html::Inside articles = html.In("div", {{"class", "figures"}});
  for (std::size_t at = 0; at < report.results.schemes.size(); ++at) {
    AddScheme(html, report.results.schemes[at], at);
  }
}

void AddProtocolSection(Html& html, const Report& report) {
  const Html::Inside list = html.In("dl", {{"class", "protocols"}});
  AddProtocol(html, "loss",
              "The mean of \u2212ln p over the scored tokens, in nats a token. exp(loss) is the "
              "perplexity.");
  AddProtocol(html, "bits per byte",
              "The same sum in bits, over the bytes the tokens stand for: comparable between "
              "different vocabularies.");
  for (const std::string& name : Protocols(report.summary)) {
    AddProtocol(html, name, ProtocolText(name));
  }
  AddProtocol(html, "by position",
              "Non-overlapping windows of the training length, the mean taken for each range of "
              "positions; ranges double, because what a token gains from context falls off.");
  AddProtocol(html, "cannot",
              "The scheme has no value for such positions, so no loss is reported; nothing is "
              "clamped or wrapped around.");
  AddProtocol(html, "pairs of the same seed",
              "Runs of one seed start with the same values in all weights that schemes share and "
              "read the same windows in the same order, so their difference holds less chance "
              "than two losses do.");
}

}  // namespace sextant::lab
