// Names, the filling of sentences, and comings and goings in a story's world.
#include "lab/text/story_world.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sextant::lab {
namespace {

constexpr std::array<std::string_view, 28> kBeings = {
    "the fox",  "the hen",   "the dog",  "the cat",  "the cow",   "the pig",  "the goat",
    "the duck", "the mouse", "the bear", "the frog", "the horse", "the wolf", "the rabbit",
    "the owl",  "the sheep", "Anna",     "Tom",      "Lily",      "Ben",      "Mia",
    "Sam",      "Nora",      "Max",      "Eva",      "Leo",       "Rosa",     "Paul"};
constexpr std::array<std::string_view, 22> kThings = {
    "apple", "ball", "book", "hat",  "key",  "cup",  "coin", "lamp",  "drum", "kite", "shell",
    "spoon", "rope", "bell", "pear", "doll", "ring", "cake", "flute", "coat", "map",  "egg"};
constexpr std::size_t kMostThings = 4;
constexpr double kColouredOneIn = 0.4;

bool StartsWithVowel(std::string_view word) {
  return std::string_view("aeiou").find(word.front()) != std::string_view::npos;
}

// `count` different numbers below `most`, in random order.
std::vector<int> Draw(Random& random, std::size_t count, std::size_t most) {
  std::vector<int> numbers(most);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::size_t at = 0; at < count; ++at) {
    std::swap(numbers[at], numbers[at + random.Below(most - at)]);
  }
  numbers.resize(count);
  return numbers;
}

void CapitalizeSentences(std::string& text, std::size_t from) {
  bool starts = true;
  for (std::size_t at = from; at < text.size(); ++at) {
    const char letter = text[at];
    if (letter == '.' || letter == '?') starts = true;
    if (letter == ' ' || letter == '\n' || letter == '.' || letter == '?') continue;
    if (starts && letter >= 'a' && letter <= 'z') text[at] = static_cast<char>(letter - 'a' + 'A');
    starts = false;
  }
}

}  // namespace

StoryWorld::StoryWorld(Random choices) : random(choices) {
  text_.reserve(1024);
  for (const int being : Draw(random, Chance(0.7) ? 3 : 4, kBeings.size())) {
    beings.push_back({kBeings[static_cast<std::size_t>(being)]});
  }
  AddThing(0);
  AddThing(1);
}

std::string StoryWorld::Fill(std::string_view sentence, const StoryRoles& roles) const {
  std::string filled;
  filled.reserve(sentence.size() + 48);
  for (std::size_t at = 0; at < sentence.size(); ++at) {
    if (sentence[at] == '{') {
      AppendRole(filled, sentence[at + 1], roles);
      at += 2;
    } else {
      filled += sentence[at];
    }
  }
  CapitalizeSentences(filled, 0);
  return filled;
}

void StoryWorld::AppendRole(std::string& out, char role, const StoryRoles& roles) const {
  const auto being = [&](int which) { out += beings[static_cast<std::size_t>(which)].name; };
  const auto thing = [&](int which) { out += things[static_cast<std::size_t>(which)].name; };
  const auto described = [&](int which) {
    const StoryThing& one = things[static_cast<std::size_t>(which)];
    if (one.colour == kNone) {
      out += StartsWithVowel(one.name) ? "an " : "a ";
    } else {
      out += "a ";
      out += kStoryColours[static_cast<std::size_t>(one.colour)];
      out += ' ';
    }
    out += one.name;
  };
  switch (role) {
    case 'a':
      return being(roles.a);
    case 'b':
      return being(roles.b);
    case 'c':
      return being(roles.c);
    case 'x':
      return thing(roles.x);
    case 'y':
      return thing(roles.y);
    case 'X':
      return described(roles.x);
    case 'Y':
      return described(roles.y);
    case 'p':
      out += kStoryPlaces[static_cast<std::size_t>(roles.p)];
      return;
    case 'q':
      out += kStoryPlaces[static_cast<std::size_t>(roles.q)];
      return;
    case 'r':
      out += kStoryColours[static_cast<std::size_t>(roles.r)];
      return;
    case 's':
      out += kStoryColours[static_cast<std::size_t>(roles.s)];
      return;
    case 'm':
      out += roles.m;
      return;
    case 'n':
      out += roles.n;
      return;
    default:
      return;
  }
}

void StoryWorld::Say(Wordings wordings, const StoryRoles& roles) {
  if (!text_.empty() && text_.back() != '\n') text_ += ' ';
  const std::size_t from = text_.size();
  text_ += Fill(wordings[random.Below(wordings.size())], roles);
  words_ += 1 + static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(from),
                                            text_.end(), ' '));
}

void StoryWorld::Tell(Wordings wordings, const StoryRoles& roles) {
  static constexpr std::array<std::string_view, 4> kLeads = {"Then", "Later", "After that", "Soon"};
  const std::string_view wording = wordings[random.Below(wordings.size())];
  if (events == 0 || wording.front() != '{' || !Chance(0.3)) {
    Say(std::array{wording}, roles);
    return;
  }
  std::string led(OneOf(kLeads));
  led += ' ';
  led += wording;
  Say(std::array<std::string_view, 1>{led}, roles);
}

void StoryWorld::Gather(int being) {
  static constexpr std::string_view kComesBack[] = {"{a} came back from the {p}.",
                                                    "{a} left the {p} and came back.",
                                                    "Soon {a} came back from the {p}."};
  int& place = beings[static_cast<std::size_t>(being)].place;
  if (place == kHere) return;
  Say(kComesBack, {.a = being, .p = place});
  place = kHere;
}

void StoryWorld::Fetch(int thing) {
  static constexpr std::string_view kFetches[] = {"{a} took the {x} back from the {p}.",
                                                  "{a} went to the {p} and took the {x} back."};
  StoryThing& hidden = things[static_cast<std::size_t>(thing)];
  if (hidden.place == kHere) return;
  Say(kFetches, {.a = hidden.owner, .x = thing, .p = hidden.place});
  hidden.place = kHere;
}

void StoryWorld::Move(int thing, int being) {
  StoryThing& moved = things[static_cast<std::size_t>(thing)];
  moved.owner = being;
  ++moved.moves;
}

void StoryWorld::Remember(Deed deed, int agent, int patient, int thing) {
  deeds.push_back({deed, agent, patient, thing, events});
}

std::array<int, 3> StoryWorld::Threesome() {
  const std::vector<int> drawn = Draw(random, 3, beings.size());
  return {drawn[0], drawn[1], drawn[2]};
}

int StoryWorld::Other(int being) {
  const int count = static_cast<int>(beings.size());
  return (being + 1 + static_cast<int>(random.Below(static_cast<std::uint64_t>(count - 1)))) %
         count;
}

int StoryWorld::AnyThing() { return AnyThingNotOf(kNone); }

int StoryWorld::AnyThingNotOf(int owner) {
  std::vector<int> free;
  for (std::size_t thing = 0; thing < things.size(); ++thing) {
    const StoryThing& one = things[thing];
    if (one.promised_to == kNone && one.owner != owner) free.push_back(static_cast<int>(thing));
  }
  return free.empty() ? kNone : free[random.Below(free.size())];
}

int StoryWorld::AnyPlace() { return static_cast<int>(random.Below(kStoryPlaces.size())); }

int StoryWorld::AddThing(int owner) {
  if (things.size() == kMostThings) return kNone;
  const auto known = [&](std::string_view name) {
    return std::any_of(things.begin(), things.end(),
                       [&](const StoryThing& thing) { return thing.name == name; });
  };
  std::string_view name;
  do {
    name = OneOf(kThings);
  } while (known(name));
  StoryThing thing{name, owner};
  if (Chance(kColouredOneIn)) thing.colour = static_cast<int>(random.Below(kStoryColours.size()));
  things.push_back(thing);
  return static_cast<int>(things.size()) - 1;
}

}  // namespace sextant::lab
