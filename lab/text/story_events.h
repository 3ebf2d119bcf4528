// What can happen in a built-in story, and how a story ends.
#pragma once

#include <span>

#include "lab/text/story_world.h"

namespace sextant::lab {

// Something that happens: tells it and what follows from it, and changes the world. False, with
// nothing told, where it cannot happen now.
struct StoryEvent {
  bool (*happen)(StoryWorld& world);
  int most;  // times in one story
};

// Things that change hands, are hidden, painted or packed.
std::span<const StoryEvent> ThingEvents();

// Beings that do something to each other, go somewhere or form an order.
std::span<const StoryEvent> DeedEvents();

// Tells again of a deed at least two events old, if there is one.
void RecallDeed(StoryWorld& world);

// Keeps the promises made, then asks and answers two or three questions in a paragraph of their
// own.
void EndStory(StoryWorld& world);

}  // namespace sextant::lab
