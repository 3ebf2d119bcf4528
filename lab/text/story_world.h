// The small world in which a built-in story happens, and the words it is told in.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sextant/core/random.h"

namespace sextant::lab {

// A being or a thing is "here" unless it is at one of kStoryPlaces.
inline constexpr int kHere = -1;
inline constexpr int kNone = -1;

inline constexpr std::array<std::string_view, 16> kStoryPlaces = {
    "barn", "river", "bridge", "well", "mill",   "market", "pond", "gate",
    "shop", "tower", "farm",   "lake", "school", "garden", "hill", "cave"};
inline constexpr std::array<std::string_view, 6> kStoryColours = {"red",    "blue",  "green",
                                                                  "yellow", "white", "black"};

struct StoryBeing {
  std::string_view name;  // "the fox", "Anna"
  int place = kHere;
};

struct StoryThing {
  std::string_view name;  // "apple"
  int owner = 0;
  int colour = kNone;
  int place = kHere;  // where it is hidden
  int promised_to = kNone;
  int moves = 0;  // how often it changed hands
};

// What one being did to another, to be told of again later.
enum class Deed { kChased, kHelped, kBeat, kWoke, kLiked, kGave, kTaught, kRobbed, kFollowed };

struct StoryDeed {
  Deed deed;
  int agent;
  int patient;
  int thing;  // kNone where there is none
  int when;   // the number of events before it
  bool recalled = false;
};

// A question whose answer the story holds.
struct StoryQuestion {
  std::string question;
  std::string answer;
};

// What the letters in braces of a sentence stand for: beings {a} {b} {c}, things {x} {y} ({X} and
// {Y} with their article and colour), places {p} {q}, colours {r} {s}, containers {m} {n}.
struct StoryRoles {
  int a = kNone, b = kNone, c = kNone;
  int x = kNone, y = kNone;
  int p = kNone, q = kNone;
  int r = kNone, s = kNone;
  std::string_view m = {}, n = {};
};

using Wordings = std::span<const std::string_view>;

// The state of one story and its text so far. A story draws all its choices from `random`.
class StoryWorld {
 public:
  // Chooses three or four beings and two things that two of them have.
  explicit StoryWorld(Random choices);

  // Adds one of the wordings as a sentence (or several): roles filled in, a capital after each full
  // stop. Tell may put "Then" or the like before it.
  void Say(Wordings wordings, const StoryRoles& roles);
  void Tell(Wordings wordings, const StoryRoles& roles);
  // A sentence with its roles filled in, and not added.
  std::string Fill(std::string_view sentence, const StoryRoles& roles) const;
  void StartParagraph() { text_ += '\n'; }

  // Says that the being (the thing's owner) comes back (fetches it) where it is elsewhere.
  void Gather(int being);
  void Fetch(int thing);

  // Hands a thing over: from now on `being` has it.
  void Move(int thing, int being);
  void Remember(Deed deed, int agent, int patient, int thing = kNone);

  // Random choices. Threesome: three beings in any order. AnyThing: one that is promised to nobody,
  // or kNone; the other form leaves out what `owner` has.
  std::array<int, 3> Threesome();
  int Other(int being);
  int AnyThing();
  int AnyThingNotOf(int owner);
  int AnyPlace();
  // A new thing that `owner` has from now on, or kNone where the story has its most.
  int AddThing(int owner);
  bool Chance(double probability) { return random.Uniform() < probability; }
  template <std::size_t count>
  std::string_view OneOf(const std::array<std::string_view, count>& choices) {
    return choices[random.Below(count)];
  }

  int words() const { return words_; }
  const std::string& text() const { return text_; }

  Random random;
  std::vector<StoryBeing> beings;
  std::vector<StoryThing> things;
  std::vector<StoryDeed> deeds;
  std::vector<StoryQuestion> questions;
  int events = 0;

 private:
  void AppendRole(std::string& out, char role, const StoryRoles& roles) const;

  std::string text_;
  int words_ = 0;
};

}  // namespace sextant::lab
