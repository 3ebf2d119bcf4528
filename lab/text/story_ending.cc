// What a story tells of earlier events: deeds recalled, promises kept, questions answered.
#include <algorithm>
#include <utility>

#include "lab/text/story_events.h"

namespace sextant::lab {
namespace {

constexpr int kOldDeed = 2;

struct DeedWords {
  std::array<std::string_view, 2> recall;
  std::string_view asks_agent;
  std::string_view asks_patient;
};

// In the order of Deed: a the agent, b the patient, x the thing.
constexpr DeedWords kDeedWords[] = {
    {{"{b} was still afraid of {a}.", "{b} did not forget that {a} had chased {b}."},
     "Who chased {b}?",
     "Who was chased by {a}?"},
    {{"{b} made a cake for {a}, because {a} had helped {b}.",
      "{b} was still wet, but {a} was dry."},
     "Who helped {b}?",
     "Who was helped by {a}?"},
    {{"{b} was still sad, because {a} had won the game.",
      "{b} asked {a} for a new game, because {a} had won."},
     "Who won the game?",
     "Who lost the game?"},
    {{"{b} was still tired, because {a} had woken {b}.", "{a} was sorry and let {b} sleep."},
     "Who woke {b}?",
     "Who was woken by {a}?"},
    {{"{a} still liked {b}, and {b} still did not like {a}.", "{a} smiled at {b} again."},
     "Who liked {b}?",
     "Who was liked by {a}?"},
    {{"{b} thanked {a} for the {x}.", "{a} did not forget the {x} and who got it, {b}."},
     "Who gave the {x} away?",
     "Who was given the {x}?"},
    {{"{b} sang the song again, and {a} was glad.", "{b} still knew the song of {a}."},
     "Who taught the song?",
     "Who learned the song?"},
    {{"{b} was still angry, because {a} had taken the {x}.",
      "{a} was sorry about the {x} and told {b} so."},
     "Who took the {x} away?",
     "Who lost the {x}?"},
    {{"{b} asked {a} why {a} had followed {b}.", "{b} did not forget that {a} had followed {b}."},
     "Who followed {b}?",
     "Who was followed by {a}?"}};

const DeedWords& WordsFor(const StoryDeed& deed) {
  return kDeedWords[static_cast<std::size_t>(deed.deed)];
}

StoryRoles RolesOf(const StoryDeed& deed) {
  return {.a = deed.agent, .b = deed.patient, .x = deed.thing};
}

// Whether the deed is the only answer to a question about its agent or patient.
bool IsPlain(const StoryWorld& world, const StoryDeed& deed) {
  if (deed.thing != kNone && world.things[static_cast<std::size_t>(deed.thing)].moves != 1) {
    return false;
  }
  return std::count_if(world.deeds.begin(), world.deeds.end(), [&](const StoryDeed& other) {
           return other.deed == deed.deed && other.thing == deed.thing;
         }) == 1;
}

void KeepPromises(StoryWorld& world) {
  static constexpr std::string_view kKeeps[] = {
      "At last {a} did not forget the promise and gave the {x} to {b}. So {b} had the {x}.",
      "At last {b} got the {x} from {a}, and now {b} had the {x}."};
  for (std::size_t thing = 0; thing < world.things.size(); ++thing) {
    const StoryThing promised = world.things[thing];
    if (promised.promised_to == kNone) continue;
    const int x = static_cast<int>(thing);
    world.Gather(promised.owner);
    world.Gather(promised.promised_to);
    world.Say(kKeeps, {.a = promised.owner, .b = promised.promised_to, .x = x});
    world.Move(x, promised.promised_to);
    world.things[thing].promised_to = kNone;
  }
}

void AddQuestions(StoryWorld& world) {
  const auto add = [&](std::string_view question, std::string_view answer,
                       const StoryRoles& roles) {
    world.questions.push_back({world.Fill(question, roles), world.Fill(answer, roles)});
  };
  for (std::size_t thing = 0; thing < world.things.size(); ++thing) {
    const StoryThing& one = world.things[thing];
    const StoryRoles roles{.a = one.owner, .x = static_cast<int>(thing), .p = one.place};
    if (one.place == kHere) {
      add("Who had the {x} at last?", "{a}.", roles);
    } else {
      add("Where was the {x} at last?", "At the {p}.", roles);
    }
  }
  for (std::size_t being = 0; being < world.beings.size(); ++being) {
    const int place = world.beings[being].place;
    if (place == kHere) continue;
    add("Where was {a} at last?", "At the {p}.", {.a = static_cast<int>(being), .p = place});
  }
  for (const StoryDeed& deed : world.deeds) {
    if (!IsPlain(world, deed)) continue;
    add(WordsFor(deed).asks_agent, "{a}.", RolesOf(deed));
    add(WordsFor(deed).asks_patient, "{b}.", RolesOf(deed));
  }
}

}  // namespace

void RecallDeed(StoryWorld& world) {
  for (StoryDeed& deed : world.deeds) {
    if (deed.recalled || deed.when + kOldDeed > world.events) continue;
    deed.recalled = true;
    world.Gather(deed.agent);
    world.Gather(deed.patient);
    world.Say(WordsFor(deed).recall, RolesOf(deed));
    return;
  }
}

void EndStory(StoryWorld& world) {
  KeepPromises(world);
  AddQuestions(world);
  world.StartParagraph();
  const std::size_t asked =
      std::min<std::size_t>(world.questions.size(), world.Chance(0.5) ? 2 : 3);
  for (std::size_t at = 0; at < asked; ++at) {
    const std::size_t left = world.questions.size() - at;
    std::swap(world.questions[at], world.questions[at + world.random.Below(left)]);
    const std::string pair = world.questions[at].question + ' ' + world.questions[at].answer;
    world.Say(std::array<std::string_view, 1>{pair}, {});
  }
}

}  // namespace sextant::lab
