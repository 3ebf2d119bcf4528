// Both tokenizers: nothing is lost, the same in gives the same out, and every refusal.
#include "lab/text/tokenizer.h"

#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <thread>

#include "lab/text/bpe_tokenizer.h"
#include "lab/text/corpus.h"
#include "lab/text/stories.h"
#include "sextant/core/error.h"
#include "sextant/core/random.h"

namespace sextant::lab {
namespace {

using Tokens = std::vector<std::int32_t>;
using Stories = std::vector<std::string>;

const Tokenizer& StoryTokenizer() {
  static const std::unique_ptr<Tokenizer> tokenizer =
      TrainBpeTokenizer(GenerateStories(7, 2000, 1).train);
  return *tokenizer;
}

std::string RoundTrip(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.Decode(tokenizer.Encode(text));
}

template <class Action>
std::string Misuse(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string LoadRefusal(std::string_view saved) {
  try {
    LoadTokenizer(saved);
  } catch (const UnreadableInput& error) {
    return error.what();
  }
  return "";
}

const std::string kHardTexts[] = {
    "",
    " ",
    "\n",
    "  two  spaces \n\n and lines\n",
    "\ttab\r\nreturn\r",
    "The fox gave the apple to the hen.\nWho had the apple? The hen.",
    "\xe7\x8b\x90\xe7\x8b\xb8 na\xc3\xafve \xf0\x9f\xa6\x8a e\xcc\x81",
    "\xef\xac\x81 \xef\xbc\xa1 \xe2\x80\x83 \xc2\xa0 \xef\xbb\xbf \xef\xbf\xbd",
    "\xe2\x96\x81 the\xe2\x96\x81\xe2\x96\x81hen \xe2\x96\x85 \xe2\x81\x87",
    "<|endoftext|> </s> <s> <unk> <0x41>",
    std::string("nul \0 inside", 12),
    "stray \xff\xc3 \xe2\x96 bytes \xed\xa0\x80",
};

TEST(ByteTokenizer, GivesEachByteItsNumber) {
  const auto tokenizer = MakeByteTokenizer();
  EXPECT_EQ(tokenizer->Encode("A\xc3\xa9\n"), (Tokens{65, 0xc3, 0xa9, 10}));
  EXPECT_EQ(tokenizer->vocabulary(), 257);
  EXPECT_EQ(tokenizer->end_of_story(), 256);
  EXPECT_EQ(tokenizer->kind(), "bytes");
  EXPECT_EQ(tokenizer->Decode(Tokens{72, 105, 256, 33}), "Hi!");
  for (const std::string& text : kHardTexts) EXPECT_EQ(RoundTrip(*tokenizer, text), text);
}

TEST(BpeTokenizer, HasThePiecesAskedFor) {
  const Stories stories = GenerateStories(7, 2000, 1).train;
  for (const int pieces : {300, 512, 700}) {
    const auto tokenizer = TrainBpeTokenizer(stories, pieces);
    EXPECT_EQ(tokenizer->vocabulary(), pieces);
    EXPECT_EQ(tokenizer->kind(), "bpe");
    EXPECT_EQ(tokenizer->Bytes(tokenizer->end_of_story()), "");
  }
}

TEST(BpeTokenizer, LosesNothing) {
  for (const std::string& text : kHardTexts) {
    EXPECT_EQ(RoundTrip(StoryTokenizer(), text), text) << testing::PrintToString(text);
  }
  for (const std::string& story : GenerateStories(8, 200, 20).train) {
    EXPECT_EQ(RoundTrip(StoryTokenizer(), story), story);
  }
}

TEST(BpeTokenizer, LosesNothingOfRandomBytesAndCharacters) {
  const std::string parts[] = {" ",    "\n",   "the",  "\xe2\x96\x81", "\xe2\x96\x85", "\xc3\xa9",
                               "\xe2", "\x96", "\x81", "\xff",         "<0x0A>",       "hen"};
  Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    std::string text;
    for (int part = 0; part < 20; ++part) {
      if (random.Below(3) == 0) {
        text += static_cast<char>(random.Below(256));
      } else {
        text += parts[random.Below(std::size(parts))];
      }
    }
    EXPECT_EQ(RoundTrip(StoryTokenizer(), text), text) << testing::PrintToString(text);
  }
}

TEST(BpeTokenizer, NeverGivesTheEndOfAStory) {
  for (const std::string& text : kHardTexts) {
    const Tokens tokens = StoryTokenizer().Encode(text);
    EXPECT_EQ(std::count(tokens.begin(), tokens.end(), StoryTokenizer().end_of_story()), 0);
  }
}

TEST(BpeTokenizer, LearnsFrequentWordsAsOnePiece) {
  const auto pieces = [](std::string_view text) {
    std::vector<std::string> split;
    for (const std::int32_t token : StoryTokenizer().Encode(text)) {
      split.push_back(StoryTokenizer().Bytes(token));
    }
    return split;
  };
  EXPECT_EQ(pieces(" the had"), (std::vector<std::string>{" the", " had"}));
  EXPECT_EQ(pieces("\xe7"), (std::vector<std::string>{"\xe7"}));
}

TEST(BpeTokenizer, EncodesAsSentencePieceDoes) {
  const std::string saved = StoryTokenizer().Save();
  sentencepiece::SentencePieceProcessor processor;
  ASSERT_TRUE(processor.LoadFromSerializedProto(saved.substr(saved.find('\n') + 1)).ok());
  Stories texts = GenerateStories(9, 300, 1).train;
  for (const char* text :
       {"  the  hen ", " \n the\nhen", "a b\t c   ", "\xc3\xa9 Zebra queue 0123 "}) {
    texts.push_back(text);
  }
  for (const std::string& text : texts) {
    EXPECT_EQ(StoryTokenizer().Encode(text), processor.EncodeAsIds(text)) << text;
    EXPECT_EQ(StoryTokenizer().Encode(text), processor.EncodeAsIds(text)) << text;
  }
}

TEST(BpeTokenizer, ServesManyThreads) {
  const Stories stories = GenerateStories(9, 200, 1).train;
  const auto tokenizer = LoadTokenizer(StoryTokenizer().Save());
  std::vector<std::vector<Tokens>> encoded(4);
  std::vector<std::thread> threads;
  for (std::vector<Tokens>& result : encoded) {
    threads.emplace_back([&] {
      for (const std::string& story : stories) result.push_back(tokenizer->Encode(story));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Tokens>& result : encoded) EXPECT_EQ(result, encoded[0]);
}

TEST(BpeTokenizer, TrainsTheSameFromTheSameStories) {
  const Stories stories = GenerateStories(7, 500, 1).train;
  EXPECT_EQ(TrainBpeTokenizer(stories, 400)->Save(), TrainBpeTokenizer(stories, 400)->Save());
}

TEST(BpeTokenizer, SaysHowManyPiecesATextGives) {
  // 256 bytes, 2 special, the characters a, b and space, and the pairs ever met: a b, space a, and
  // space ab.
  EXPECT_EQ(Misuse([] { TrainBpeTokenizer(Stories{"ab ab ab ab"}, 512); }),
            "tokenizer: the text to train on gives 264 pieces, 512 were asked for; ask for at most "
            "264 pieces, or take the bytes");
}

TEST(BpeTokenizer, RefusesPiecesOutOfRangeAndNoText) {
  const Stories stories = {"ab ab ab ab"};
  EXPECT_EQ(Misuse([&] { TrainBpeTokenizer(stories, 299); }),
            "tokenizer: pieces must be 300 .. 32768, got 299");
  EXPECT_EQ(Misuse([&] { TrainBpeTokenizer(stories, 32769); }),
            "tokenizer: pieces must be 300 .. 32768, got 32769");
  EXPECT_EQ(Misuse([] { TrainBpeTokenizer({}, 512); }),
            "tokenizer: there is no text to learn pieces from");
  EXPECT_EQ(Misuse([] {
              TrainBpeTokenizer(Stories{"", ""}, 512);
            }),
            "tokenizer: there is no text to learn pieces from");
}

TEST(BpeTokenizer, TrainsOnMoreCharactersThanPieces) {
  std::string story;
  for (int first = 0; first < 40; ++first) {
    for (int last = 0; last < 64; ++last) {  // 2560 characters from U+4000 on, then some words
      story += {static_cast<char>(0xe4), static_cast<char>(0x80 + first),
                static_cast<char>(0x80 + last)};
      story += " the hen and the fox";
    }
  }
  const auto tokenizer = TrainBpeTokenizer(Stories{story}, 300);
  EXPECT_EQ(tokenizer->vocabulary(), 300);
  EXPECT_EQ(RoundTrip(*tokenizer, story), story);
}

TEST(BpeTokenizer, TrainsOnLongWordsAndMarksOfSentencePiece) {
  // A word of 200,000 characters is longer than SentencePiece can count.
  Random random(9);
  std::string story = "\xe2\x96\x85 \xe2\x96\x81\t";
  for (int count = 0; count < 200'000; ++count) {
    story += static_cast<char>('a' + random.Below(26));
  }
  const auto tokenizer = TrainBpeTokenizer(Stories{story}, 400);
  EXPECT_EQ(RoundTrip(*tokenizer, story), story);
}

TEST(BpeTokenizer, TrainsOnBytesThatAreNoText) {
  const std::string story = std::string(10'000, '\x80') + std::string(3, '\0') +
                            " the hen and the fox and the dog saw the other hen at the barn";
  const auto tokenizer = TrainBpeTokenizer(Stories{story}, 300);
  EXPECT_EQ(RoundTrip(*tokenizer, story), story);
}

TEST(Tokenizer, RefusesTokensOutsideItsVocabulary) {
  EXPECT_EQ(Misuse([] {
              MakeByteTokenizer()->Decode(Tokens{65, 257});
            }),
            "tokenizer: a token must be 0 .. 256, got 257");
  EXPECT_EQ(Misuse([] { StoryTokenizer().Bytes(-1); }),
            "tokenizer: a token must be 0 .. 511, got -1");
}

TEST(Tokenizer, LoadsWhatItSaved) {
  const auto bytes = LoadTokenizer(MakeByteTokenizer()->Save());
  EXPECT_EQ(bytes->kind(), "bytes");
  EXPECT_EQ(bytes->vocabulary(), 257);
  const std::string saved = StoryTokenizer().Save();
  const auto bpe = LoadTokenizer(saved);
  EXPECT_EQ(bpe->Save(), saved);
  EXPECT_EQ(bpe->vocabulary(), StoryTokenizer().vocabulary());
  EXPECT_EQ(bpe->end_of_story(), StoryTokenizer().end_of_story());
  for (const std::string& text : kHardTexts) {
    EXPECT_EQ(bpe->Encode(text), StoryTokenizer().Encode(text));
    EXPECT_EQ(RoundTrip(*bpe, text), text);
  }
}

TEST(Tokenizer, RefusesASavedFormOfAnotherKind) {
  EXPECT_NE(LoadRefusal("").find("does not start with"), std::string::npos);
  EXPECT_NE(LoadRefusal("sextant tokenizer 2 bytes 0 0\n").find("does not start with"),
            std::string::npos);
  EXPECT_NE(LoadRefusal("sextant tokenizer 1 bytes").find("first line"), std::string::npos);
  EXPECT_NE(LoadRefusal("sextant tokenizer 1 words 0 0\n").find("kind"), std::string::npos);
  EXPECT_NE(LoadRefusal(SealTokenizer("words", "")).find("kind"), std::string::npos);
  EXPECT_NE(LoadRefusal(SealTokenizer("bytes", "more")).find("has content"), std::string::npos);
}

TEST(Tokenizer, RefusesADamagedSavedForm) {
  const std::string saved = StoryTokenizer().Save();
  EXPECT_NE(LoadRefusal(saved.substr(0, saved.size() - 1)).find("damaged"), std::string::npos);
  EXPECT_NE(LoadRefusal(saved + "x").find("damaged"), std::string::npos);
  for (std::size_t at = 0; at < saved.size(); at += at < 80 ? 1 : 97) {
    std::string changed = saved;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_NE(LoadRefusal(changed), "") << at;
  }
}

std::string ForeignModel(const std::unordered_map<std::string, std::string>& more) {
  class Words final : public sentencepiece::SentenceIterator {
   public:
    bool done() const override { return left_ == 0; }
    void Next() override { --left_; }
    const std::string& value() const override { return words_; }
    sentencepiece::util::Status status() const override { return {}; }

   private:
    int left_ = 3;
    std::string words_ = "the hen and the fox";
  };
  std::unordered_map<std::string, std::string> settings = {{"model_type", "bpe"},
                                                           {"vocab_size", "300"},
                                                           {"hard_vocab_limit", "false"},
                                                           {"num_threads", "1"},
                                                           {"minloglevel", "3"}};
  settings.insert(more.begin(), more.end());
  Words words;
  std::string model;
  EXPECT_TRUE(sentencepiece::SentencePieceTrainer::Train(settings, &words, &model).ok());
  return model;
}

TEST(Tokenizer, RefusesModelsOfAnotherMaking) {
  EXPECT_NE(LoadRefusal(SealTokenizer("bpe", "")), "");
  EXPECT_NE(LoadRefusal(SealTokenizer("bpe", "no model")), "");
  EXPECT_NE(LoadRefusal(SealTokenizer("bpe", ForeignModel({}))).find("256 byte pieces"),
            std::string::npos);
  EXPECT_NE(LoadRefusal(SealTokenizer("bpe", ForeignModel({{"byte_fallback", "true"}})))
                .find("changes the text"),
            std::string::npos);
  EXPECT_NE(
      LoadRefusal(SealTokenizer("bpe", ForeignModel({{"byte_fallback", "true"}, {"eos_id", "-1"}})))
          .find("end of a story"),
      std::string::npos);
}

}  // namespace
}  // namespace sextant::lab
