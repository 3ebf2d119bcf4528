// A story from its opening to its questions, and a corpus of them.
#include "lab/text/stories.h"

#include <fmt/core.h>

#include <unordered_set>
#include <utility>

#include "lab/text/story_events.h"
#include "sextant/core/error.h"

namespace sextant::lab {
namespace {

void Open(StoryWorld& world) {
  static constexpr std::string_view kOpenings[] = {
      "{a} had {X}, and {b} had {Y}.", "One day {a} had {X}, and {b} had {Y}.",
      "Long ago {a} had {X}, and {b} had {Y}.", "{a} came with {X}, and {b} came with {Y}."};
  static constexpr std::string_view kOthers[] = {
      "{c} had nothing.", "{c} came too.", "{c} was a friend of {a}.", "{c} was a friend of {b}."};
  world.Say(kOpenings, {.a = 0, .b = 1, .x = 0, .y = 1});
  for (std::size_t other = 2; other < world.beings.size(); ++other) {
    world.Say(kOthers, {.a = 0, .b = 1, .c = static_cast<int>(other)});
  }
}

void HaveEvents(StoryWorld& world) {
  constexpr int kFewestWords = 38;
  constexpr int kMoreWords = 52;
  const int enough = kFewestWords + static_cast<int>(world.random.Below(kMoreWords));
  std::vector<StoryEvent> events;
  for (const auto kind : {ThingEvents(), DeedEvents()}) {
    events.insert(events.end(), kind.begin(), kind.end());
  }
  while (world.words() < enough) {
    StoryEvent& event = events[world.random.Below(events.size())];
    if (event.most == 0 || !event.happen(world)) continue;
    --event.most;
    ++world.events;
    if (world.Chance(0.4)) RecallDeed(world);
  }
}

void CheckCount(const char* name, Index count) {
  if (count >= 1 && count <= kMostStories) return;
  throw Error("stories", fmt::format("{} must be 1 .. {}, got {}", name, kMostStories, count));
}

}  // namespace

std::string TellStory(std::uint64_t seed, std::uint64_t number) {
  StoryWorld world(Random::For(seed, number));
  Open(world);
  HaveEvents(world);
  RecallDeed(world);
  EndStory(world);
  return world.text();
}

Corpus GenerateStories(std::uint64_t seed, Index train_stories, Index held_out_stories) {
  CheckCount("train_stories", train_stories);
  CheckCount("held_out_stories", held_out_stories);
  Corpus corpus{{}, {}, "stories"};
  std::unordered_set<std::uint64_t> known;
  const auto train = static_cast<std::size_t>(train_stories);
  const auto held_out = static_cast<std::size_t>(held_out_stories);
  for (std::uint64_t number = 0; corpus.train.size() < train || corpus.held_out.size() < held_out;
       ++number) {
    std::string story = TellStory(seed, number);
    const bool holds_out = HeldOutByHash(story);
    std::vector<std::string>& side = holds_out ? corpus.held_out : corpus.train;
    if (side.size() == (holds_out ? held_out : train)) continue;
    if (known.insert(StoryHash(story)).second) side.push_back(std::move(story));
  }
  return corpus;
}

}  // namespace sextant::lab
