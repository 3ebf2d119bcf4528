// The stories that the trained models tell, side by side.
#include <fmt/format.h>

#include <algorithm>

#include "lab/report/page_parts.h"
#include "lab/report/sections.h"

namespace sextant::lab {
namespace {

struct Story {
  std::size_t scheme = 0;
  const Cell* cell = nullptr;
};

// Stories of the same seed, the order of seeds as in the document.
std::vector<std::pair<std::int64_t, std::vector<Story>>> StoriesBySeed(const Results& results) {
  std::vector<std::pair<std::int64_t, std::vector<Story>>> by_seed;
  for (std::int64_t seed : results.seeds) by_seed.push_back({seed, {}});
  for (std::size_t at = 0; at < results.schemes.size(); ++at) {
    for (const Cell& cell : results.schemes[at].cells) {
      if (!cell.finished() || (cell.story.empty() && cell.prompt.empty())) continue;
      auto group = std::ranges::find_if(
          by_seed, [&](const auto& entry) { return entry.first == cell.seed; });
      if (group == by_seed.end()) group = by_seed.insert(by_seed.end(), {cell.seed, {}});
      group->second.push_back({at, &cell});
    }
  }
  std::erase_if(by_seed, [](const auto& entry) { return entry.second.empty(); });
  return by_seed;
}

void AddStory(Html& html, const Results& results, const Story& story) {
  const Html::Inside card = html.In("article", {{"class", "story"}});
  {
    const Html::Inside heading = html.In("h3");
    AddSeriesKey(html, story.scheme);
    html.Text(results.schemes[story.scheme].name);
  }
  const std::string &prompt = story.cell->prompt, &text = story.cell->story;
  const Html::Inside paragraph = html.In("p");
  html.Element("b", prompt);
  html.Text(text.starts_with(prompt) ? text.substr(prompt.size()) : " " + text);
}

void AddStories(Html& html, const Results& results, const std::vector<Story>& stories) {
  const Html::Inside cards = html.In("div", {{"class", "stories"}});
  for (const Story& story : stories) AddStory(html, results, story);
}

}  // namespace

void AddStorySection(Html& html, const Report& report) {
  const auto by_seed = StoriesBySeed(report.results);
  if (by_seed.empty()) {
    html.Element("p", {{"class", "muted"}}, "No finished run holds a story.");
    return;
  }
  html.Element("p",
               "Every model continues the same prompt (bold) with the same sampling seed. A story "
               "is one draw: it shows what a loss looks like, it does not rank schemes.");
  html.Element("p", {{"class", "muted"}},
               fmt::format("Models of training seed {}.", by_seed.front().first));
  AddStories(html, report.results, by_seed.front().second);
  for (std::size_t at = 1; at < by_seed.size(); ++at) {
    const Html::Inside details = html.In("details");
    html.Element("summary", fmt::format("Stories of training seed {}", by_seed[at].first));
    AddStories(html, report.results, by_seed[at].second);
  }
}

}  // namespace sextant::lab
