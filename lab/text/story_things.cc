// Events about things: who gives, trades, takes, finds, hides, packs or paints what.
#include "lab/text/story_events.h"

namespace sextant::lab {
namespace {

StoryThing& Thing(StoryWorld& world, int thing) {
  return world.things[static_cast<std::size_t>(thing)];
}

bool Give(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {
      "{a} gave the {x} to {b}.", "{a} gave {b} the {x}.", "{b} was given the {x} by {a}.",
      "{b} got the {x} from {a}."};
  static constexpr std::string_view kFollows[] = {"So {b} had the {x}, and {a} did not.",
                                                  "Now the {x} was with {b} and not with {a}.",
                                                  "So the {x} of {a} was now the {x} of {b}."};
  const int x = world.AnyThing();
  if (x == kNone) return false;
  const int a = Thing(world, x).owner;
  const int b = world.Other(a);
  world.Gather(a);
  world.Gather(b);
  world.Fetch(x);
  world.Tell(kHappens, {.a = a, .b = b, .x = x});
  if (world.Chance(0.8)) world.Say(kFollows, {.a = a, .b = b, .x = x});
  world.Move(x, b);
  world.Remember(Deed::kGave, a, b, x);
  return true;
}

bool Bring(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {"{a} asked {b} to bring the {x} to {c}.",
                                                  "{a} sent {b} to {c} with the {x}.",
                                                  "{b} was sent to {c} with the {x} by {a}."};
  static constexpr std::string_view kFollows[] = {
      "So {b} took the {x} from {a} and gave the {x} to {c}.",
      "So {c} got the {x} of {a} from {b}.", "So {b} came to {c}, and now {c} had the {x}."};
  const auto [a, b, c] = world.Threesome();
  int x = kNone;
  for (std::size_t thing = 0; thing < world.things.size(); ++thing) {
    const StoryThing& one = world.things[thing];
    if (one.owner == a && one.promised_to == kNone) x = static_cast<int>(thing);
  }
  if (x == kNone) return false;
  for (const int being : {a, b, c}) world.Gather(being);
  world.Fetch(x);
  world.Tell(kHappens, {.a = a, .b = b, .c = c, .x = x});
  world.Say(kFollows, {.a = a, .b = b, .c = c, .x = x});
  world.Move(x, c);
  return true;
}

bool Trade(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {
      "{a} traded the {x} for the {y} of {b}.", "{a} gave the {x} to {b} and took the {y} for it.",
      "{b} traded the {y} for the {x} of {a}."};
  static constexpr std::string_view kFollows[] = {"So {a} had the {y}, and {b} had the {x}.",
                                                  "Now {b} had the {x}, and {a} had the {y}."};
  const int x = world.AnyThing();
  if (x == kNone) return false;
  const int a = Thing(world, x).owner;
  const int y = world.AnyThingNotOf(a);
  if (y == kNone) return false;
  const int b = Thing(world, y).owner;
  world.Gather(a);
  world.Gather(b);
  world.Fetch(x);
  world.Fetch(y);
  world.Tell(kHappens, {.a = a, .b = b, .x = x, .y = y});
  world.Say(kFollows, {.a = a, .b = b, .x = x, .y = y});
  world.Move(x, b);
  world.Move(y, a);
  return true;
}

bool Rob(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {"While {b} slept, {a} took the {x} of {b}.",
                                                  "{a} took the {x} of {b} while {b} slept.",
                                                  "The {x} of {b} was taken by {a}."};
  static constexpr std::string_view kFollows[] = {
      "So {b} looked for the {x}, but {a} had the {x}.",
      "So {a} had the {x}, and {b} was angry with {a}."};
  const int x = world.AnyThing();
  if (x == kNone) return false;
  const int b = Thing(world, x).owner;
  const int a = world.Other(b);
  world.Gather(b);
  world.Gather(a);
  world.Fetch(x);
  world.Tell(kHappens, {.a = a, .b = b, .x = x});
  world.Say(kFollows, {.a = a, .b = b, .x = x});
  world.Move(x, a);
  world.Remember(Deed::kRobbed, a, b, x);
  return true;
}

bool TellWhoHasIt(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {"{a} told {b} that {c} had the {x}.",
                                                  "{b} heard from {a} that {c} had the {x}.",
                                                  "{b} was told by {a} that {c} had the {x}."};
  static constexpr std::string_view kAsks[] = {"So {b} asked {c} for the {x}.",
                                               "So {b} went to {c}, not to {a}, for the {x}."};
  static constexpr std::string_view kGives[] = {"{c} gave the {x} to {b}, and now {b} had the {x}.",
                                                "{b} got the {x}, and {c} had to go without it."};
  static constexpr std::string_view kKeeps[] = {"{c} said no and kept the {x}.",
                                                "{b} did not get it, and {c} kept the {x}."};
  const auto [a, b, other] = world.Threesome();
  const int x = world.AnyThing();
  if (x == kNone) return false;
  const int c = Thing(world, x).owner;
  if (c == a || c == b) return false;
  for (const int being : {a, b, c}) world.Gather(being);
  world.Fetch(x);
  const StoryRoles roles{.a = a, .b = b, .c = c, .x = x};
  world.Tell(kHappens, roles);
  world.Say(kAsks, roles);
  if (world.Chance(0.5)) {
    world.Say(kGives, roles);
    world.Move(x, b);
  } else {
    world.Say(kKeeps, roles);
  }
  return true;
}

bool Find(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {
      "{a} found {X} at the {p}, but {b} found nothing.",
      "{b} saw {X} at the {p}, but {a} took it first.",
      "{a} found {X} at the {p} and did not let {b} "
      "have it."};
  static constexpr std::string_view kFollows[] = {"So the {x} was with {a}.",
                                                  "So {a} had the {x}, and {b} did not."};
  const auto [a, b, c] = world.Threesome();
  const int x = world.AddThing(a);
  if (x == kNone) return false;
  world.Gather(a);
  world.Gather(b);
  const StoryRoles roles{.a = a, .b = b, .x = x, .p = world.AnyPlace()};
  world.Tell(kHappens, roles);
  world.Say(kFollows, roles);
  return true;
}

bool Promise(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {"{a} promised the {x} to {b}.",
                                                  "{a} promised {b} the {x}.",
                                                  "{b} was promised the {x} by {a}."};
  static constexpr std::string_view kFollows[] = {"So {b} had to wait for {a}.",
                                                  "So {a} still had the {x}, and {b} waited."};
  const int x = world.AnyThing();
  if (x == kNone) return false;
  const int a = Thing(world, x).owner;
  const int b = world.Other(a);
  world.Gather(a);
  world.Gather(b);
  world.Fetch(x);
  world.Tell(kHappens, {.a = a, .b = b, .x = x});
  world.Say(kFollows, {.a = a, .b = b, .x = x});
  Thing(world, x).promised_to = b;
  return true;
}

bool Pack(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {
      "{a} put the {x} into the {m} and the {m} into the {n}.",
      "{a} put the {m} into the {n} and the {x} into the {m}.",
      "Into the {n} {a} put the {m}, and into the {m} the {x}."};
  static constexpr std::string_view kFollows[] = {
      "So the {n} held the {m}, and the {m} held the {x}.",
      "So the {x} was in the {m}, and the {m} was in the {n}."};
  static constexpr std::array<std::string_view, 4> kContainers = {"box", "bag", "basket", "chest"};
  const int x = world.AnyThing();
  if (x == kNone) return false;
  const int a = Thing(world, x).owner;
  const std::string_view m = world.OneOf(kContainers);
  std::string_view n = m;
  while (n == m) n = world.OneOf(kContainers);
  world.Gather(a);
  world.Fetch(x);
  const StoryRoles roles{.a = a, .x = x, .m = m, .n = n};
  world.Tell(kHappens, roles);
  world.Say(kFollows, roles);
  world.questions.push_back(
      {world.Fill("What was in the {n}?", roles), world.Fill("The {m}.", roles)});
  return true;
}

bool Paint(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {"{a} painted the {r} {x} {s}.",
                                                  "{a} turned the {x} from {r} to {s}.",
                                                  "The {r} {x} was painted {s} by {a}."};
  static constexpr std::string_view kFollows[] = {"So the {x} was {s} and not {r}.",
                                                  "So the {x} of {a} was now {s}."};
  const int x = world.AnyThing();
  if (x == kNone || Thing(world, x).colour == kNone) return false;
  const int a = Thing(world, x).owner;
  const int r = Thing(world, x).colour;
  const int colours = static_cast<int>(kStoryColours.size());
  const int s = (r + 1 + static_cast<int>(world.random.Below(kStoryColours.size() - 1))) % colours;
  world.Gather(a);
  world.Fetch(x);
  const StoryRoles roles{.a = a, .x = x, .r = r, .s = s};
  world.Tell(kHappens, roles);
  world.Say(kFollows, roles);
  Thing(world, x).colour = s;
  world.questions.push_back(
      {world.Fill("What colour was the {x} at last?", roles), world.Fill("{s}.", roles)});
  return true;
}

bool Hide(StoryWorld& world) {
  static constexpr std::string_view kHappens[] = {
      "{a} hid the {x} at the {p}, and {b} saw it, but {c} did not.",
      "{a} hid the {x} at the {p}, and {c} did not see it, but {b} did.",
      "{b} saw that {a} hid the {x} at the {p}, but {c} did not see it."};
  static constexpr std::string_view kFollows[] = {
      "So {b} knew where the {x} was, and {c} did not know.",
      "So {c} looked for the {x}, but {b} knew where it was."};
  const int x = world.AnyThing();
  const auto [one, two, three] = world.Threesome();
  if (x == kNone || Thing(world, x).owner != one || Thing(world, x).place != kHere) return false;
  for (const int being : {one, two, three}) world.Gather(being);
  const StoryRoles roles{.a = one, .b = two, .c = three, .x = x, .p = world.AnyPlace()};
  world.Tell(kHappens, roles);
  world.Say(kFollows, roles);
  Thing(world, x).place = roles.p;
  return true;
}

constexpr StoryEvent kEvents[] = {{Give, 3},         {Bring, 1}, {Trade, 1},   {Rob, 1},
                                  {TellWhoHasIt, 1}, {Find, 2},  {Promise, 1}, {Pack, 1},
                                  {Paint, 1},        {Hide, 1}};

}  // namespace

std::span<const StoryEvent> ThingEvents() { return kEvents; }

}  // namespace sextant::lab
