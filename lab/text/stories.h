// Built-in stories in which the order of the words decides what follows.
#pragma once

#include <cstdint>
#include <string>

#include "lab/text/corpus.h"
#include "sextant/core/view.h"

namespace sextant::lab {

// The most stories one corpus may ask for.
inline constexpr Index kMostStories = 10'000'000;

// Story `number` of a seed: a pure function, the same on every machine and in every release. 45 to
// 200 words of simple English, ASCII, in two paragraphs: linked events of three or four beings,
// then two or three questions with their answers. Who did what to whom, who stood behind whom and
// what came before what decide the sentences that follow, some of them many sentences later; the
// same words in another order go on differently ("the fox chased the hen, so the hen ran away").
std::string TellStory(std::uint64_t seed, std::uint64_t number);

// The first `train_stories` and `held_out_stories` different stories of a seed, in the order of
// their numbers. Which side a story belongs to follows from its text alone (HeldOutByHash), so no
// text that is held out for one seed is trained on for any other. Throws Error where a count is not
// in 1 .. kMostStories.
Corpus GenerateStories(std::uint64_t seed, Index train_stories, Index held_out_stories);

}  // namespace sextant::lab
