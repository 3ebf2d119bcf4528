// Events between beings: who chases, helps, beats or follows whom, who goes where, who is first.
#include "lab/text/story_events.h"

namespace sextant::lab {
namespace {

StoryBeing& Being(StoryWorld& world, int being) {
  return world.beings[static_cast<std::size_t>(being)];
}

// A deed between two beings that are here, what follows from it, and nothing else.
bool Simple(StoryWorld& world, Deed deed, Wordings happens, Wordings follows) {
  const auto [a, b, c] = world.Threesome();
  world.Gather(a);
  world.Gather(b);
  world.Tell(happens, {.a = a, .b = b});
  world.Say(follows, {.a = a, .b = b});
  world.Remember(deed, a, b);
  return true;
}

bool Help(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {
      "{b} fell into the water, and {a} pulled {b} out.", "{a} pulled {b} out of the water.",
      "{b} was pulled out of the water by {a}."};
  static constexpr std::string_view kFollows[] = {"So {b} was wet, and {b} thanked {a}.",
                                                  "So {a} was thanked by {b}, who was wet."};
  return Simple(world, Deed::kHelped, kHappens, kFollows);
}

bool Beat(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {
      "{a} beat {b} in a game.", "{b} lost a game to {a}.", "{b} was beaten by {a} in a game."};
  static constexpr std::string_view kFollows[] = {"So {a} was glad, and {b} was sad.",
                                                  "So {b} was sad, and {a} was glad."};
  return Simple(world, Deed::kBeat, kHappens, kFollows);
}

bool Wake(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {"{a} woke {b}.", "{b} was woken by {a}.",
                                                  "{b} slept until {a} woke {b}."};
  static constexpr std::string_view kFollows[] = {"So {b} told {a} to be quiet.",
                                                  "So {b} was tired, and {a} was sorry."};
  return Simple(world, Deed::kWoke, kHappens, kFollows);
}

bool Like(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {
      "{a} liked {b}, but {b} did not like {a}.",
      "{b} was liked by {a}, but {a} was not liked by {b}."};
  static constexpr std::string_view kFollows[] = {"So {a} smiled at {b}, and {b} looked away.",
                                                  "So {b} looked away when {a} smiled."};
  return Simple(world, Deed::kLiked, kHappens, kFollows);
}

bool Teach(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {
      "{a} taught {b} a song.", "{b} learned a song from {a}.", "{b} was taught a song by {a}."};
  static constexpr std::string_view kFollows[] = {"So {b} sang the song of {a}.",
                                                  "So {b} sang, and {a} listened to {b}."};
  return Simple(world, Deed::kTaught, kHappens, kFollows);
}

bool Chase(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {
      "{a} chased {b}, so {b} ran away to the {p}.",
      "{b} was chased by {a}, so {b} ran away to the {p}.", "{b} ran from {a} to the {p}.",
      "{a} ran after {b}, so {b} ran to the {p}."};
  static constexpr std::string_view kFollows[] = {"{a} looked for {b} but could not find {b}.",
                                                  "{b} hid there, and {a} did not see {b}.",
                                                  "{b} was afraid, and {a} was not."};
  const auto [a, b, c] = world.Threesome();
  world.Gather(a);
  world.Gather(b);
  const StoryRoles roles{.a = a, .b = b, .p = world.AnyPlace()};
  world.Tell(kHappens, roles);
  if (world.Chance(0.7)) world.Say(kFollows, roles);
  Being(world, b).place = roles.p;
  world.Remember(Deed::kChased, a, b);
  return true;
}

bool Follow(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {"{a} followed {b} to the {p}.",
                                                  "{b} was followed by {a} to the {p}.",
                                                  "{b} went to the {p} in front of {a}."};
  static constexpr std::string_view kFollows[] = {
      "So {b} came to the {p} first, and {a} came second.",
      "So {a} came to the {p} second, and {b} came first."};
  const auto [a, b, c] = world.Threesome();
  world.Gather(a);
  world.Gather(b);
  const StoryRoles roles{.a = a, .b = b, .p = world.AnyPlace()};
  world.Tell(kHappens, roles);
  world.Say(kFollows, roles);
  Being(world, a).place = roles.p;
  Being(world, b).place = roles.p;
  world.Remember(Deed::kFollowed, a, b);
  return true;
}

bool Travel(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {
      "First {a} went to the {p} and then to the {q}.",
      "{a} went to the {q}, but before that {a} went to the {p}.",
      "After {a} went to the {p}, {a} went to the {q}.",
      "{a} went to the {q} after {a} went to the {p}.",
      "Before {a} went to the {q}, {a} went to the {p}."};
  static constexpr std::string_view kFollows[] = {
      "So {a} was at the {q}, not at the {p}.", "So {a} was no longer at the {p} but at the {q}."};
  const auto [a, b, c] = world.Threesome();
  const int p = world.AnyPlace();
  int q = p;
  while (q == p) q = world.AnyPlace();
  world.Gather(a);
  world.Tell(kHappens, {.a = a, .p = p, .q = q});
  world.Say(kFollows, {.a = a, .p = p, .q = q});
  Being(world, a).place = q;
  return true;
}

struct Order {
  Wordings happens;
  Wordings follows;
  std::string_view question;
  std::string_view answer;
};

// Three beings in an order that two comparisons give.
bool Rank(StoryWorld& world, const Order& order) {
  const auto [a, b, c] = world.Threesome();
  for (const int being : {a, b, c}) world.Gather(being);
  const StoryRoles roles{.a = a, .b = b, .c = c};
  world.Tell(order.happens, roles);
  world.Say(order.follows, roles);
  world.questions.push_back({world.Fill(order.question, roles), world.Fill(order.answer, roles)});
  return true;
}

bool StandInRow(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {
      "{a} stood behind {b}, and {b} stood behind {c}.",
      "{c} stood in front of {b}, and {b} stood in front of {a}.",
      "{b} stood behind {c} and in front of {a}."};
  static constexpr std::string_view kFollows[] = {"So {c} was first in the row, and {a} was last.",
                                                  "So {a} was last in the row, and {c} was first."};
  return Rank(world, {kHappens, kFollows, "Who was first in the row?", "{c}."});
}

bool Race(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {
      "{a} ran faster than {b}, and {b} ran faster than {c}.",
      "{c} ran slower than {b}, and {b} ran slower than {a}.",
      "{b} ran faster than {c}, but {b} ran slower than {a}."};
  static constexpr std::string_view kFollows[] = {"So {a} won the race, and {c} came last.",
                                                  "So {c} came last, and {a} won the race."};
  return Rank(world, {kHappens, kFollows, "Who won the race?", "{a}."});
}

bool CompareAge(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {
      "{a} was older than {b}, and {b} was older than {c}.",
      "{c} was younger than {b}, and {b} was younger than {a}.",
      "{b} was older than {c} but younger than {a}."};
  static constexpr std::string_view kFollows[] = {
      "So {a} was the oldest, and {c} was the youngest.",
      "So {c} was the youngest, and {a} was the oldest."};
  return Rank(world, {kHappens, kFollows, "Who was the youngest?", "{c}."});
}

bool SitDown(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {"{a} sat on the left of {b}.",
                                                  "{b} sat on the right of {a}."};
  static constexpr std::string_view kFollows[] = {
      "So {b} saw {a} on the left, and {a} saw {b} on the right.",
      "So {a} saw {b} on the right, and {b} saw {a} on the left."};
  const auto [a, b, c] = world.Threesome();
  world.Gather(a);
  world.Gather(b);
  const StoryRoles roles{.a = a, .b = b};
  world.Tell(kHappens, roles);
  world.Say(kFollows, roles);
  world.questions.push_back({"Who sat on the left?", world.Fill("{a}.", roles)});
  return true;
}

bool Speak(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {"{a} spoke before {b}.", "{b} spoke after {a}.",
                                                  "Before {b} spoke, {a} spoke.",
                                                  "After {a} spoke, {b} spoke."};
  static constexpr std::string_view kFollows[] = {"So {a} spoke first, and {b} spoke second.",
                                                  "So {b} spoke second, and {a} spoke first."};
  const auto [a, b, c] = world.Threesome();
  world.Gather(a);
  world.Gather(b);
  const StoryRoles roles{.a = a, .b = b};
  world.Tell(kHappens, roles);
  world.Say(kFollows, roles);
  world.questions.push_back({"Who spoke first?", world.Fill("{a}.", roles)});
  return true;
}

constexpr StoryEvent kEvents[] = {
    {Help, 1},   {Beat, 1}, {Wake, 1},  {Like, 1},       {Teach, 1},      {Chase, 2},  {Follow, 1},
    {Travel, 2}, {Race, 1}, {Speak, 1}, {StandInRow, 1}, {CompareAge, 1}, {SitDown, 1}};

}  // namespace

std::span<const StoryEvent> DeedEvents() { return kEvents; }

}  // namespace sextant::lab
