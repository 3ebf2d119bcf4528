// The built-in stories: pure, apart, of a small vocabulary, and decided by the order of their
// words.
#include "lab/text/stories.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "sextant/core/error.h"

namespace sextant::lab {
namespace {

std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    while (!word.empty() && std::ispunct(static_cast<unsigned char>(word.back()))) word.pop_back();
    for (char& letter : word) {
      letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    words.push_back(word);
  }
  return words;
}

std::vector<std::string> Sentences(const std::string& story) {
  std::vector<std::string> sentences;
  std::string sentence;
  for (const char letter : story) {
    if (sentence.empty() && (letter == ' ' || letter == '\n')) continue;
    sentence += letter;
    if (letter != '.' && letter != '?') continue;
    sentences.push_back(sentence);
    sentence.clear();
  }
  return sentences;
}

// The sentence without "Then" and the like, "The" written small.
std::string Plain(std::string sentence) {
  for (const std::string lead :
       {"Then ", "Later ", "After that ", "Soon ", "One day ", "Long ago "}) {
    if (sentence.starts_with(lead)) sentence.erase(0, lead.size());
  }
  if (sentence.starts_with("The ")) sentence[0] = 't';
  return sentence;
}

// The being named just before `words`: "the fox" or "Anna"; nothing where they do not occur.
std::optional<std::string> BeingBefore(const std::string& sentence, const std::string& words) {
  const std::size_t end = sentence.find(words);
  if (end == std::string::npos) return std::nullopt;
  std::size_t first = sentence.rfind(' ', end - 1) + 1;
  if (first >= 4 && sentence.compare(first - 4, 4, "the ") == 0) first -= 4;
  return sentence.substr(first, end - first);
}

std::vector<std::string> Bag(const std::string& sentence) {
  std::vector<std::string> bag = Words(sentence);
  std::sort(bag.begin(), bag.end());
  return bag;
}

const Corpus& Stories() {
  static const Corpus corpus = GenerateStories(11, 20000, 1000);
  return corpus;
}

TEST(Stories, IsTheSameInEveryRelease) {
  EXPECT_EQ(TellStory(0, 0),
            "Tom came with a drum, and the bear came with a green cake. The cow was a friend of "
            "Tom. The goat was a friend of Tom. The bear ran faster than the goat, and the goat "
            "ran faster than Tom. So Tom came last, and the bear won the race. Soon the bear liked "
            "Tom, but Tom did not like the bear. So the bear smiled at Tom, and Tom looked "
            "away.\nWho liked Tom? The bear. Who won the race? The bear.");
}

TEST(Stories, GivesEachSeedAndNumberItsStory) {
  EXPECT_EQ(TellStory(3, 17), TellStory(3, 17));
  EXPECT_NE(TellStory(3, 17), TellStory(3, 18));
  EXPECT_NE(TellStory(3, 17), TellStory(4, 17));
  const Corpus fewer = GenerateStories(11, 100, 10);
  EXPECT_TRUE(std::equal(fewer.train.begin(), fewer.train.end(), Stories().train.begin()));
  EXPECT_TRUE(std::equal(fewer.held_out.begin(), fewer.held_out.end(), Stories().held_out.begin()));
}

TEST(Stories, GivesTheCountsAskedForAllDifferent) {
  EXPECT_EQ(Stories().train.size(), 20000u);
  EXPECT_EQ(Stories().held_out.size(), 1000u);
  EXPECT_EQ(Stories().name, "stories");
  std::set<std::string> all(Stories().train.begin(), Stories().train.end());
  all.insert(Stories().held_out.begin(), Stories().held_out.end());
  EXPECT_EQ(all.size(), 21000u);
}

TEST(Stories, HoldsOutStoriesThatNoSeedTrainsOn) {
  for (const std::uint64_t seed : {11, 12, 13}) {
    const Corpus corpus = GenerateStories(seed, 300, 30);
    for (const std::string& story : corpus.train) EXPECT_FALSE(HeldOutByHash(story));
    for (const std::string& story : corpus.held_out) EXPECT_TRUE(HeldOutByHash(story));
  }
}

TEST(Stories, KeepsToAFewWordsAndALength) {
  std::set<std::string> vocabulary;
  std::size_t total = 0;
  for (const std::string& story : Stories().train) {
    const std::vector<std::string> words = Words(story);
    vocabulary.insert(words.begin(), words.end());
    EXPECT_GE(words.size(), 45u) << story;
    EXPECT_LE(words.size(), 200u) << story;
    total += words.size();
  }
  EXPECT_LT(vocabulary.size(), 300u);
  EXPECT_GT(vocabulary.size(), 150u);
  EXPECT_NEAR(static_cast<double>(total) / 20000, 100, 20);
}

TEST(Stories, IsCleanText) {
  for (const std::string& story : Stories().train) {
    EXPECT_EQ(story.find_first_of("{}"), std::string::npos) << story;
    EXPECT_EQ(story.find("  "), std::string::npos) << story;
    EXPECT_EQ(std::count(story.begin(), story.end(), '\n'), 1) << story;
    EXPECT_EQ(story.back(), '.') << story;
    for (const char letter : story) EXPECT_TRUE(letter == '\n' || (letter >= ' ' && letter <= 'z'));
    for (const std::string& sentence : Sentences(story)) {
      EXPECT_TRUE(std::isupper(static_cast<unsigned char>(sentence.front()))) << sentence;
    }
  }
}

// Who is named before some words in what follows an event: by the event's sentence, and by the bag
// of its words.
struct Outcomes {
  std::map<std::string, std::set<std::string>> by_sentence;
  std::map<std::vector<std::string>, std::set<std::string>> by_bag;
};

Outcomes OutcomesOf(const std::string& in_event, const std::string& words) {
  Outcomes outcomes;
  for (const std::string& story : Stories().train) {
    const std::vector<std::string> sentences = Sentences(story);
    for (std::size_t at = 0; at + 1 < sentences.size(); ++at) {
      if (sentences[at].find(in_event) == std::string::npos) continue;
      const std::optional<std::string> being = BeingBefore(sentences[at + 1], words);
      if (!being) continue;
      const std::string event = Plain(sentences[at]);
      outcomes.by_sentence[event].insert(*being);
      outcomes.by_bag[Bag(event)].insert(*being);
    }
  }
  return outcomes;
}

std::size_t Ambiguous(const auto& outcomes) {
  return static_cast<std::size_t>(
      std::count_if(outcomes.begin(), outcomes.end(),
                    [](const auto& outcome) { return outcome.second.size() > 1; }));
}

// The order of an event's words decides what follows, and its words without their order do not.
TEST(Stories, LetsTheOrderOfTheWordsDecide) {
  const std::pair<std::string, std::string> events[] = {{" ran faster than ", " won the race"},
                                                        {" stood ", " was last"},
                                                        {" in a game", " was sad"},
                                                        {" spoke ", " spoke first"}};
  for (const auto& [event, words] : events) {
    const Outcomes outcomes = OutcomesOf(event, words);
    EXPECT_GT(outcomes.by_sentence.size(), 100u) << event;
    EXPECT_EQ(Ambiguous(outcomes.by_sentence), 0u) << event;
    EXPECT_GT(Ambiguous(outcomes.by_bag), 20u) << event;
  }
}

TEST(Stories, GoesOnDifferentlyFromTheSameFirstWordsInAnotherOrder) {
  std::map<std::vector<std::string>, std::vector<const std::string*>> by_bag;
  for (const std::string& story : Stories().train) {
    by_bag[Bag(Sentences(story).front())].push_back(&story);
  }
  int pairs = 0;
  for (const auto& [bag, stories] : by_bag) {
    for (std::size_t at = 1; at < stories.size(); ++at) {
      const std::string first = Sentences(*stories[0]).front();
      const std::string other = Sentences(*stories[at]).front();
      if (first == other) continue;
      ++pairs;
      EXPECT_NE(stories[0]->substr(first.size()), stories[at]->substr(other.size()));
    }
  }
  EXPECT_GT(pairs, 20);
}

// What a sentence that starts as `form` does says: the first of each pair of its slots has, or is
// at, the second. $B stands for a being or a thing with its article, $A for a thing told of for the
// first time, $T for a word.
struct Rule {
  std::string form;
  std::vector<std::pair<std::size_t, std::size_t>> says;
};

// The letters from `at` on, which moves behind them.
std::string TakeWord(const std::string& text, std::size_t& at) {
  const std::size_t first = at;
  while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at]))) ++at;
  return text.substr(first, at - first);
}

bool TakePrefix(const std::string& text, const std::string& prefix, std::size_t& at) {
  if (text.compare(at, prefix.size(), prefix) != 0) return false;
  at += prefix.size();
  return true;
}

std::string TakeSlot(char slot, const std::string& text, std::size_t& at) {
  if (slot == 'B') {
    if (TakePrefix(text, "the ", at)) return "the " + TakeWord(text, at);
    const bool name = at < text.size() && std::isupper(static_cast<unsigned char>(text[at]));
    return name ? TakeWord(text, at) : "";
  }
  if (slot == 'A') {
    if (!TakePrefix(text, "a ", at) && !TakePrefix(text, "an ", at)) return "";
    for (const char* colour : {"red ", "blue ", "green ", "yellow ", "white ", "black "}) {
      TakePrefix(text, colour, at);
    }
  }
  return TakeWord(text, at);
}

// What the slots hold, numbered from 1, where the sentence starts as the form does; else nothing.
std::optional<std::vector<std::string>> Match(const std::string& form, const std::string& text) {
  std::vector<std::string> slots(1);
  std::size_t at = 0;
  for (std::size_t letter = 0; letter < form.size(); ++letter) {
    if (form[letter] == '$') {
      slots.push_back(TakeSlot(form[++letter], text, at));
      if (slots.back().empty()) return std::nullopt;
    } else if (at == text.size() || text[at++] != form[letter]) {
      return std::nullopt;
    }
  }
  return slots;
}

// After a sentence of that form, the being in `slot` is named just before `words`.
struct Consequence {
  std::string form;
  std::size_t slot;
  std::string words;
};

TEST(Stories, TellsWhatFollowsFromEachFormOfAnEvent) {
  const Consequence consequences[] = {
      {"$B ran faster than $B, and $B ran faster than $B.", 1, " won the race"},
      {"$B ran slower than $B, and $B ran slower than $B.", 4, " won the race"},
      {"$B ran faster than $B, but $B ran slower than $B.", 4, " won the race"},
      {"$B stood behind $B, and $B stood behind $B.", 1, " was last"},
      {"$B stood in front of $B, and $B stood in front of $B.", 4, " was last"},
      {"$B stood behind $B and in front of $B.", 3, " was last"},
      {"$B was older than $B, and $B was older than $B.", 4, " was the youngest"},
      {"$B was younger than $B, and $B was younger than $B.", 1, " was the youngest"},
      {"$B was older than $B but younger than $B.", 2, " was the youngest"},
      {"$B beat $B in a game.", 2, " was sad"},
      {"$B lost a game to $B.", 1, " was sad"},
      {"$B was beaten by $B in a game.", 1, " was sad"},
      {"$B spoke before $B.", 1, " spoke first"},
      {"$B spoke after $B.", 2, " spoke first"},
      {"Before $B spoke, $B spoke.", 2, " spoke first"},
      {"After $B spoke, $B spoke.", 1, " spoke first"},
      {"$B fell into the water, and $B pulled $B out.", 1, " was wet, and"},
      {"$B pulled $B out of the water.", 2, " was wet, and"},
      {"$B was pulled out of the water by $B.", 1, " was wet, and"},
      {"$B woke $B.", 2, " was tired"},
      {"$B was woken by $B.", 1, " was tired"},
      {"$B slept until $B woke $B.", 1, " was tired"},
      {"$B liked $B, but $B did not like $B.", 2, " looked away"},
      {"$B was liked by $B, but $B was not liked by $B.", 1, " looked away"},
      {"$B taught $B a song.", 2, " sang"},
      {"$B learned a song from $B.", 1, " sang"},
      {"$B was taught a song by $B.", 1, " sang"},
      {"$B followed $B to the $T.", 2, " came first"},
      {"$B was followed by $B to the $T.", 1, " came first"},
      {"$B went to the $T in front of $B.", 1, " came first"},
  };
  for (const auto& [form, slot, words] : consequences) {
    int met = 0;
    for (std::size_t number = 0; number < 1000; ++number) {
      const std::vector<std::string> sentences = Sentences(Stories().train[number]);
      for (std::size_t at = 0; at + 1 < sentences.size(); ++at) {
        const auto slots = Match(form, Plain(sentences[at]));
        const auto being = BeingBefore(sentences[at + 1], words);
        if (!slots || !being) continue;
        ++met;
        EXPECT_EQ(Plain(*being), (*slots)[slot]);
      }
    }
    EXPECT_GT(met, 5) << form;
  }
}

const std::vector<Rule>& PossessionRules() {
  static const std::vector<Rule> rules = {
      {"$B had $A, and $B had $A.", {{2, 1}, {4, 3}}},
      {"$B came with $A, and $B came with $A.", {{2, 1}, {4, 3}}},
      {"$B gave the $T to $B and took the $T for it", {{2, 3}, {4, 1}}},
      {"$B gave the $T to $B.", {{2, 3}}},
      {"$B gave $B the $T.", {{3, 2}}},
      {"$B was given the $T by $B.", {{2, 1}}},
      {"$B got the $T from $B.", {{2, 1}}},
      {"$B asked $B to bring the $T to $B.", {{3, 4}}},
      {"$B sent $B to $B with the $T.", {{4, 3}}},
      {"$B was sent to $B with the $T by $B.", {{3, 2}}},
      {"$B traded the $T for the $T of $B.", {{2, 4}, {3, 1}}},
      {"While $B slept, $B took the $T of $B.", {{3, 2}}},
      {"$B took the $T of $B while", {{2, 1}}},
      {"the $T of $B was taken by $B.", {{1, 3}}},
      {"$B gave the $T to $B, and now", {{2, 3}}},
      {"$B got the $T, and $B had to go", {{2, 1}}},
      {"$B found $A at", {{2, 1}}},
      {"$B saw $A at the $T, but $B took it first", {{2, 4}}},
      {"At last $B did not forget the promise and gave the $T to $B.", {{2, 3}}},
      {"At last $B got the $T from $B, and now", {{2, 1}}},
  };
  return rules;
}

const std::vector<Rule>& PlaceRules() {
  static const std::vector<Rule> rules = {
      {"$B chased $B, so $B ran away to the $T.", {{3, 4}}},
      {"$B was chased by $B, so $B ran away to the $T.", {{3, 4}}},
      {"$B ran from $B to the $T.", {{1, 3}}},
      {"$B ran after $B, so $B ran to the $T.", {{3, 4}}},
      {"$B followed $B to the $T.", {{1, 3}, {2, 3}}},
      {"$B was followed by $B to the $T.", {{1, 3}, {2, 3}}},
      {"$B went to the $T in front of $B.", {{1, 2}, {3, 2}}},
      {"First $B went to the $T and then to the $T.", {{1, 3}}},
      {"$B went to the $T, but before that $B went", {{1, 2}}},
      {"After $B went to the $T, $B went to the $T.", {{3, 4}}},
      {"$B went to the $T after $B went", {{1, 2}}},
      {"Before $B went to the $T, $B went", {{1, 2}}},
      {"$B hid $B at the $T, and", {{2, 3}}},
      {"$B saw that $B hid $B at the $T, but", {{3, 4}}},
  };
  return rules;
}

// Reads the stories as one who knows no more than English, notes what `rules` say, and compares the
// answers to the questions of the form `question` ($B or $T the key, then `before` and the value).
// The number of questions met.
int CompareAnswers(const std::vector<Rule>& rules, const std::string& question,
                   const std::string& before) {
  int asked = 0;
  for (std::size_t number = 0; number < 2000; ++number) {
    const std::string& story = Stories().train[number];
    const std::vector<std::string> sentences = Sentences(story);
    std::map<std::string, std::string> notes;
    for (std::size_t at = 0; at < sentences.size(); ++at) {
      const std::string plain = Plain(sentences[at]);
      if (const auto slots = Match(question, plain)) {
        ++asked;
        std::string answer = before + notes[(*slots)[1]] + ".";
        answer[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(answer[0])));
        EXPECT_EQ(sentences[at + 1], answer) << story;
      }
      for (const Rule& rule : rules) {
        const auto slots = Match(rule.form, plain);
        if (!slots) continue;
        for (const auto& [key, value] : rule.says) notes[(*slots)[key]] = (*slots)[value];
        break;
      }
    }
  }
  return asked;
}

TEST(Stories, AnswersWhoHasAThingAsAReaderWould) {
  EXPECT_GT(CompareAnswers(PossessionRules(), "Who had the $T at last?", ""), 300);
}

TEST(Stories, AnswersWhoChasedWhomAsAReaderWould) {
  const std::vector<Rule> rules = {{"$B chased $B, so $B ran away", {{2, 1}}},
                                   {"$B was chased by $B, so $B ran away", {{1, 2}}},
                                   {"$B ran from $B to the $T.", {{1, 2}}},
                                   {"$B ran after $B, so $B ran", {{2, 1}}}};
  EXPECT_GT(CompareAnswers(rules, "Who chased $B?", ""), 10);
}

TEST(Stories, AnswersColoursAsAReaderWould) {
  const std::vector<Rule> rules = {{"$B painted the $T $T $T.", {{3, 4}}},
                                   {"$B turned the $T from $T to $T.", {{2, 4}}},
                                   {"the $T $T was painted $T by $B.", {{2, 3}}}};
  EXPECT_GT(CompareAnswers(rules, "What colour was the $T at last?", ""), 20);
}

TEST(Stories, AnswersWhatIsInAContainerAsAReaderWould) {
  const std::vector<Rule> rules = {
      {"$B put the $T into the $T and the $T into the $T.", {{3, 2}, {5, 4}}},
      {"Into the $T $B put the $T, and", {{1, 3}}}};
  EXPECT_GT(CompareAnswers(rules, "What was in the $T?", "The "), 10);
}

TEST(Stories, AnswersWhereAllAreAsAReaderWould) {
  EXPECT_GT(CompareAnswers(PlaceRules(), "Where was $B at last?", "At the "), 50);
}

TEST(Stories, RefusesCountsOutOfRange) {
  const auto misuse = [](Index train, Index held_out) -> std::string {
    try {
      GenerateStories(1, train, held_out);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(misuse(0, 5), "stories: train_stories must be 1 .. 10000000, got 0");
  EXPECT_EQ(misuse(5, -1), "stories: held_out_stories must be 1 .. 10000000, got -1");
  EXPECT_EQ(misuse(kMostStories + 1, 1),
            "stories: train_stories must be 1 .. 10000000, got 10000001");
}

}  // namespace
}  // namespace sextant::lab
